"""Commands in comments. Invariant: what a reader does not see as plain text at a line's start is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.commands import LONGEST, MAYBE, Command, CommandError, command_lines, parse_command
from worker.domain.request import CommandName

REJUDGE = Command(CommandName.REJUDGE)


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
def test_a_command_at_the_start_of_a_line_of_text_is_seen(comment: str) -> None:
    assert parse_command(comment) == REJUDGE


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
        "x" * LONGEST + "\n\n/rejudge",
    ],
)
def test_what_a_reader_does_not_see_as_a_command_is_none(comment: str) -> None:
    assert parse_command(comment) is None
    assert parse_command(f"{comment}\n\n/usr/bin/env") is None  # gets past the quick look


@pytest.mark.parametrize("misspelt", ["rejudgd", "rejuge", "re-judge", "judge", "REJUDGEE", "rejudges"])
def test_a_misspelt_command_is_answered_with_the_nearest_one(misspelt: str) -> None:
    assert parse_command(f"Hello\n/{misspelt} now") == CommandError(misspelt, CommandName.REJUDGE)


PIECES = st.sampled_from(
    [*"/\\`~>-*_[]()<!&#|: \t\n\r", "/rejudge", "```", "<!--", "-->", "rejudge", "\n\n", "    ", "é", "\0", "\ud800"]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_no_text_makes_it_raise_and_the_quick_look_misses_no_command(comment: str) -> None:
    parse_command(comment)
    lines = list(command_lines(comment.replace("\r\n", "\n").replace("\r", "\n")))
    assert not any(line[1:2].isascii() and line[1:2].isalpha() for line in lines) or MAYBE.search(
        comment.replace("\r", "\n")
    )


@given(st.text(max_size=200))
def test_a_fence_hides_all_it_holds(inside: str) -> None:
    assert parse_command("`" * (inside.count("`") + 3) + f"\n{inside}\n/rejudge\n") is None


@given(st.text(alphabet=st.characters(exclude_characters="\r\n"), max_size=50))
def test_a_paragraph_of_its_own_is_seen_after_any_plain_paragraph(words: str) -> None:
    plain = "".join(letter for letter in words if letter.isalnum()) or "x"
    assert parse_command(f"Note {plain}\n\n/rejudge {plain}") == REJUDGE
