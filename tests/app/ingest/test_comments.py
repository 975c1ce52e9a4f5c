"""Comments and reviews. Invariant: our own text is never a command, and an edit gives only the command that it adds."""

from datetime import UTC, datetime
from typing import Any

import pytest

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
from worker.domain.judge_request import CommandName, ReviewRef

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
