"""Comments and reviews. Invariant: our own text is never a command, and an edit gives only the command that it adds."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.comments import (
    MAX_COMMENT_LENGTH,
    MAX_WORD_LENGTH,
    SLASH_LINE,
    CommandError,
    ParsedCommand,
    paragraphs,
    parse_command,
)
from app.ingest.event_types import CommandIssued, Event, Ignored, PersonCommented
from tests.app.ingest.deliveries import (
    ABOUT,
    ALICE,
    BOT,
    OUR_APP,
    REPOSITORY,
    SHA,
    comment,
    comment_delivery,
    translate_payload,
)
from worker.domain.judge_request import LONGEST_REASON, CommandName, ReviewRef

MALLORY = {"login": "mallory", "type": "User"}
ANOTHER_APP: dict[str, Any] = {"performed_via_github_app": {"id": OUR_APP + 1}}


def edit_comment(body: str, before: str | None, by: dict[str, str] | None = ALICE, **changes: Any) -> Event | Ignored:
    replaced = {} if before is None else {"body": {"from": before}}
    about = {**ABOUT, "action": "edited", "sender": by}
    return translate_payload("issue_comment", {**about, **comment_delivery(body, **changes), "changes": replaced})


def comment_at_line(body: str, action: str = "created", before: str = "", **changes: Any) -> Event | Ignored:
    comment = {"id": 66, "body": body, "user": ALICE, **changes}
    pull = {"number": 3, "state": changes.pop("state", "open")}
    about = {"pull_request": pull, "comment": comment, "sender": ALICE, "changes": {"body": {"from": before}}}
    return translate_payload("pull_request_review_comment", {**ABOUT, "action": action, **about})


REVIEW = ReviewRef(id=77, login="alice", node_id="PRR_77")


def review(body: str | None = None, state: str = "commented", **changes: Any) -> Event | Ignored:
    pull = {"number": 3, "state": changes.pop("pull_state", "open")}
    about = {**ABOUT, "action": changes.pop("action", "submitted"), "sender": changes.pop("by", ALICE)}
    about["changes"] = changes.pop("was", {})
    review_fields = {
        "id": 77,
        "node_id": "PRR_77",
        "body": body,
        "user": ALICE,
        "commit_id": SHA,
        "state": state,
        **changes,
    }
    return translate_payload("pull_request_review", {**about, "pull_request": pull, "review": review_fields})


def edit_review(body: str | None, before: str | None = "", **changes: Any) -> Event | Ignored:
    return review(body, "approved", action="edited", was={"body": {"from": before}}, **changes)


def dismiss_review(**changes: Any) -> Event | Ignored:
    return review("Fine\n\n/override Mine.", "dismissed", action="dismissed", **changes)


def issued_command(command: CommandName = CommandName.REJUDGE, **fields: Any) -> CommandIssued:
    """A command of alice in the conversation."""
    values: dict[str, Any] = {**REPOSITORY, "comment_id": 55, "login": "alice", **fields}
    return CommandIssued(**values, command=command)


AT_A_LINE = issued_command(comment_id=66, in_review=True)
IN_REVIEW: dict[str, Any] = {"comment_id": None, "in_review": True, "head_sha": SHA, "review": REVIEW}
BY_BOT: dict[str, Any] = {"login": "copilot[bot]", "is_bot": True}
OF_GHOST: dict[str, Any] = {**IN_REVIEW, "review": ReviewRef(id=77, login="ghost", node_id="PRR_77")}
OF_BOT: dict[str, Any] = {**IN_REVIEW, "review": ReviewRef(id=77, login="copilot[bot]", node_id="PRR_77")}
DISMISSED, APPROVED = CommandName.DISMISSED, CommandName.APPROVED
EVENTS: dict[str, tuple[Event | Ignored, Event]] = {
    "a command with its reason": (
        comment("/override It is fine"),
        issued_command(CommandName.OVERRIDE, reason="It is fine"),
    ),
    "on a draft": (comment("/rejudge", issue={"draft": True}), issued_command()),
    "misspelt by a person, with the nearest command": (comment("/rejuge"), issued_command(misspelt="rejuge")),
    "of a bot, as a bot": (comment("/rejudge", user=BOT), issued_command(**BY_BOT)),
    "through another App in a person's name": (comment("/rejudge", **ANOTHER_APP), issued_command()),
    "of another App as itself": (comment("/rejudge", user=BOT, **ANOTHER_APP), issued_command(**BY_BOT)),
    "text of a person": (comment("Nice"), PersonCommented(**REPOSITORY)),
    "a command as code": (comment("```\n/rejudge\n```"), PersonCommented(**REPOSITORY)),
    "put there by an edit": (edit_comment("/rejudge", ""), issued_command()),
    "instead of a request in prose": (edit_comment("/rejudge", "Please judge again"), issued_command()),
    "instead of a misspelt command": (edit_comment("/rejudge", "/rejuge"), issued_command()),
    "at a line": (comment_at_line("/rejudge"), AT_A_LINE),
    "at a line, by an edit": (comment_at_line("/rejudge", "edited", "Hm"), AT_A_LINE),
    "in a review's text": (review("/rejudge"), issued_command(**IN_REVIEW)),
    "in a review's text, by an edit": (edit_review("/rejudge"), issued_command(**IN_REVIEW)),
    "in a review that had no text": (edit_review("/rejudge", None), issued_command(**IN_REVIEW)),
    "a review without a command": (review(), PersonCommented(**REPOSITORY)),
    "a review that approves": (review(state="approved"), issued_command(APPROVED, **IN_REVIEW)),
    "a review that requests changes": (
        review(state="changes_requested"),
        issued_command(CommandName.CHANGES, **IN_REVIEW),
    ),
    "a review that commands and decides": (
        review("/rejudge", "approved"),
        issued_command(**IN_REVIEW, decides=APPROVED),
    ),
    "a review that decides beside a misspelt command": (
        review("/rejuge", "approved"),
        issued_command(**IN_REVIEW, decides=APPROVED, misspelt="rejuge"),
    ),
    "a bot's review, which decides nothing": (
        review("/rejudge", "approved", user=BOT),
        issued_command(**BY_BOT, **OF_BOT),
    ),
    "a dismissed review of a deleted account": (dismiss_review(user=None), issued_command(DISMISSED, **OF_GHOST)),
}


@pytest.mark.parametrize(("event", "expected"), EVENTS.values(), ids=EVENTS)
def test_comment_or_review_becomes_an_event(event: Event | Ignored, expected: Event) -> None:
    assert event == expected


@pytest.mark.parametrize(
    ("updated_at", "said_at"),
    [
        ("2026-11-20T12:00:00Z", datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("soon", None),
        ("9999-12-31T23:59:59-23:00", None),
    ],
)
def test_command_has_the_time_that_github_names(updated_at: str, said_at: datetime | None) -> None:
    commands = (comment_at_line("/rejudge", updated_at=updated_at), review("/rejudge", submitted_at=updated_at))
    assert [isinstance(command, CommandIssued) and command.said_at for command in commands] == [said_at, said_at]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (comment("/rejudge", issue={"pull_request": None}), "not_a_pull_request"),
        (comment("/rejudge", issue={"state": "closed"}), "pull_request_closed"),
        (comment("/rejudge", user=None), "no_author"),
        (comment("/rejudge", performed_via_github_app={"id": OUR_APP}), "own_comment"),
        (comment("Nice", user=BOT), "bot_comment"),
        (comment("/rejuge", user=BOT), "bot_comment"),
        (comment("/rejuge", user=BOT, **ANOTHER_APP), "bot_comment"),
        (edit_comment("/override It is fine", "Nice", None), "edited_by_another"),
        (edit_comment("/override It is fine", "Nice", BOT), "edited_by_another"),
        (edit_comment("/override It is fine", "Nice", MALLORY), "edited_by_another"),
        (edit_comment("/rejudge", "/rejudge"), "no_new_command"),
        (edit_comment("/rejudge\n\nSorry for the typo.", "/rejudge"), "no_new_command"),
        (edit_comment("Nice", "/rejudge"), "no_new_command"),
        (edit_comment("/rejudge", None), "no_new_command"),
        (edit_comment("/rejudge", "", issue={"pull_request": None}), "not_a_pull_request"),
        (comment_at_line("Why?"), "part_of_a_review"),
        (comment_at_line("/rejudge", user=None), "no_author"),
        (comment_at_line("/rejudge", "edited", "/rejudge"), "no_new_command"),
        (comment_at_line("/rejudge", "edited", user=None), "no_author"),
        (review("/rejudge", pull_state="closed"), "pull_request_closed"),
        (review("/rejudge", user=None), "no_author"),
        (review(user=BOT), "bot_comment"),
        (review(state="approved", user=BOT), "bot_comment"),
        (dismiss_review(commit_id=None), "no_commit"),
        (edit_review("/rejudge", "/rejudge"), "no_new_command"),
        (edit_review(None, "/rejudge"), "no_new_command"),
        (review("/rejudge", action="edited"), "no_new_command"),
        (edit_review("/rejudge", by=MALLORY), "edited_by_another"),
        (edit_review("/rejudge", user=None), "no_author"),
        (edit_review("/rejudge", pull_state="closed"), "pull_request_closed"),
    ],
)
def test_irrelevant_comment_is_ignored_with_its_reason(event: Event | Ignored, reason: str) -> None:
    assert event == Ignored(reason)


@pytest.mark.parametrize("by", [ALICE, BOT, None], ids=["a person", "a bot", "no account"])
@pytest.mark.parametrize("state", ["open", "closed"])
def test_dismissed_review_names_who_dismissed_it_and_its_author(by: dict[str, str] | None, state: str) -> None:
    actor: dict[str, Any] = {"login": by["login"] if by else "ghost", "is_bot": by == BOT}
    assert dismiss_review(by=by, pull_state=state) == issued_command(DISMISSED, **actor, **IN_REVIEW)


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
