"""Commands in comments. Invariant: a command is plain rendered text at the start of a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.slash_commands import (
    MAX_COMMENT_LENGTH,
    MAX_WORD_LENGTH,
    SLASH_LINE,
    CommandError,
    ParsedCommand,
    paragraphs,
    parse_command,
)
from worker.domain.judge_request import LONGEST_REASON, CommandName


@pytest.mark.parametrize(
    "comment",
    [
        "/rejudge",
        "/rejudge\n",
        "  /rejudge  ",
        "/Rejudge",
        "/rejudge please, the test was flaky",
        "/rejudge.",
        "Thanks!\n\n/rejudge",
        "Thanks!\n/rejudge\nBob",
        "Thanks!\r\n/rejudge\r\nBob",
        "Thanks!\r/rejudge",
        "Thanks!  \n   /rejudge",
        "> quoted\n\n/rejudge",
        "```\ncode\n```\n/rejudge",
        "/rejudge `now`",
        "/rejudgd\n/rejudge",
        "/usr/bin/env\n/rejudge",
        "\u00a0/rejudge",
    ],
)
def test_command_at_the_start_of_a_text_line_is_parsed(comment: str) -> None:
    parsed = parse_command(comment)
    assert isinstance(parsed, ParsedCommand)
    assert parsed.name is CommandName.REJUDGE


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/rejudge force", ParsedCommand(CommandName.FORCE)),
        ("/rejudge --force", ParsedCommand(CommandName.FORCE)),
        ("/Rejudge FORCE, the model was wrong", ParsedCommand(CommandName.FORCE, "the model was wrong")),
        ("/rejudge forced", ParsedCommand(CommandName.REJUDGE, "forced")),
        ("/rejudge for the last commit", ParsedCommand(CommandName.REJUDGE, "for the last commit")),
        ("/contest the cap is in `limits.py`", ParsedCommand(CommandName.CONTEST, "the cap is in limits.py")),
        ("/contest: wrong file", ParsedCommand(CommandName.CONTEST, "wrong file")),
        ("/contest", ParsedCommand(CommandName.CONTEST)),
        ("/override a hotfix", ParsedCommand(CommandName.OVERRIDE, "a hotfix")),
        ("/assay", ParsedCommand(CommandName.HELP)),
        ("/assay help", ParsedCommand(CommandName.HELP)),
        ("/assay help!", ParsedCommand(CommandName.HELP)),
        ("/Assay Pause for 2h a release", ParsedCommand(CommandName.PAUSE, "for 2h a release")),
        ("/assay resume", ParsedCommand(CommandName.RESUME)),
        ("/assay rejudge", ParsedCommand(CommandName.REJUDGE)),
        ("/assay rejudge force", ParsedCommand(CommandName.FORCE)),
        ("/assay contest it is met", ParsedCommand(CommandName.CONTEST, "it is met")),
        ("/assay override a hotfix", ParsedCommand(CommandName.OVERRIDE, "a hotfix")),
    ],
)
def test_text_after_a_command_is_its_reason(line: str, command: ParsedCommand) -> None:
    assert parse_command(line) == command


def test_reason_ends_with_its_paragraph() -> None:
    comment = "Hello\n/contest the first\n  and **the** second line\n\nand another paragraph"
    assert parse_command(comment) == ParsedCommand(CommandName.CONTEST, "the first\nand the second line")


def test_reason_ends_at_the_next_command() -> None:
    assert parse_command("/contest wrong\n/overide it\n/rejudge") == ParsedCommand(
        CommandName.CONTEST, "wrong\n/overide it"
    )


def test_reason_may_begin_on_the_next_line() -> None:
    assert parse_command("/override\na hotfix") == ParsedCommand(CommandName.OVERRIDE, "a hotfix")


def test_reason_is_cut_at_its_limit() -> None:
    parsed = parse_command(f"/contest {'é' * 2_000}")
    assert parsed == ParsedCommand(CommandName.CONTEST, "é" * LONGEST_REASON)


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "Looks good to me.",
        "please /rejudge",
        "```\n/rejudge\n```",
        "~~~ text\n/rejudge\n~~~",
        "```\n/rejudge",
        "    /rejudge",
        "\t/rejudge",
        "> /rejudge",
        "> said\n/rejudge",  # Markdown continues the quote
        "- /rejudge",
        "1. /rejudge",
        "- said\n\n  /rejudge",
        "# /rejudge",
        "/rejudge\n---",  # a heading
        "`/rejudge`",
        "see `code\n/rejudge`",
        "<!-- /rejudge -->",
        "<!--\n/rejudge\n-->",
        "text <!--\n/rejudge\n-->",
        "<details>\n/rejudge\n</details>",
        "<b>/rejudge</b>",
        "**/rejudge**",
        "~~/rejudge~~",
        "[/rejudge](https://example.org)",
        "\\/rejudge",
        "&#47;rejudge",
        "a | b\n--- | ---\n/rejudge | x",
        "[a]:\n/rejudge",
        "/ rejudge",
        "//rejudge",
        "/rejudge/now",
        "/rejudge_now",
        "/rejudgé",
        "/usr/bin/rejudge",
        "/lgtm",
        "/retest",
        "/rebase",
        "/review",
        "/label bug",
        "/assign @bob",
        "/test all",
        "/context",
        "/content",
        "/essay",
        "/approve",
        "/hold",
        "/cc @bob",
        "/assay-lab start",
        "/override-quota",
        "x" * MAX_COMMENT_LENGTH + "\n\n/rejudge",
    ],
)
def test_text_that_does_not_render_as_a_command_is_none(comment: str) -> None:
    assert parse_command(comment) is None
    assert parse_command(f"{comment}\n\n/usr/bin/env") is None  # gets past the quick look


@pytest.mark.parametrize("misspelt", ["rejudgd", "rejuge", "re-judge", "judge", "REJUDGEE", "rejudges"])
def test_misspelt_rejudge_has_rejudge_as_nearest_command(misspelt: str) -> None:
    assert parse_command(f"Hello\n/{misspelt} now") == CommandError(misspelt, CommandName.REJUDGE)


@pytest.mark.parametrize(
    ("line", "typed", "nearest"),
    [
        ("/contets it", "contets", CommandName.CONTEST),
        ("/overide it", "overide", CommandName.OVERRIDE),
        ("/asay pause", "asay", CommandName.HELP),
        ("/assay paus", "assay paus", CommandName.PAUSE),
        ("/assay rejuge", "assay rejuge", CommandName.REJUDGE),
        ("/assay frobnicate", "assay frobnicate", CommandName.HELP),
        ("/assay " + "x" * 99, "assay " + "x" * MAX_WORD_LENGTH, CommandName.HELP),
        ("/assay-rejudge now", "assay-rejudge", CommandName.REJUDGE),
        ("/assay-paus", "assay-paus", CommandName.PAUSE),
        ("/assay unpause", "assay unpause", CommandName.RESUME),
        ("/assay force", "assay force", CommandName.FORCE),
        ("/rejudge-force", "rejudge-force", CommandName.FORCE),
        ("/rejudge froce, the model was wrong", "rejudge froce", CommandName.FORCE),
        ("/assay rejudge Forc", "rejudge Forc", CommandName.FORCE),
    ],
)
def test_misspelt_command_has_its_nearest_command(line: str, typed: str, nearest: CommandName) -> None:
    assert parse_command(line) == CommandError(typed, nearest)


def test_long_word_is_no_misspelling() -> None:
    assert parse_command("/" + "rejudge" * 40) is None


PIECES = st.sampled_from(
    [
        *"/\\`~>-*_[]()<!&#|: \t\n\r",
        "/rejudge",
        "/contest",
        "/assay",
        "force",
        "/overide",
        "```",
        "<!--",
        "-->",
        "rejudge",
        "\n\n",
        "    ",
        "é",
        "\0",
        "\ud800",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_any_text_parses_and_the_prefilter_misses_no_command(comment: str) -> None:
    parsed = parse_command(comment)
    assert not isinstance(parsed, ParsedCommand) or len(parsed.reason) <= LONGEST_REASON
    assert not isinstance(parsed, CommandError) or parsed.typed.strip()
    rendered = [line for lines in paragraphs(comment.replace("\r\n", "\n").replace("\r", "\n")) for line in lines]
    letters = [line.text[1:2] for line in rendered if line.is_command]
    is_kept = SLASH_LINE.search(comment.replace("\r", "\n"))
    assert is_kept or not any(letter.isascii() and letter.isalpha() for letter in letters)


@given(st.text(max_size=200))
def test_fence_hides_its_content(inside: str) -> None:
    assert parse_command("`" * (inside.count("`") + 3) + f"\n{inside}\n/rejudge\n") is None


@given(st.text(alphabet=st.characters(exclude_characters="\r\n"), max_size=50))
def test_command_in_its_own_paragraph_is_parsed_after_any_text(text: str) -> None:
    plain = "".join(letter for letter in text if letter.isalnum()) or "x"
    assert parse_command(f"Note {plain}\n\n/contest {plain}") == ParsedCommand(CommandName.CONTEST, plain)


def test_nested_quotes_in_a_long_comment_are_read_as_blank_lines() -> None:
    """A Markdown parser would take four seconds for the long comment."""
    for lines, expected in ((30, None), (3_000, ParsedCommand(CommandName.REJUDGE))):
        assert parse_command("> " * 100 + "a\n" + "b\n" * lines + "/rejudge\n") == expected
