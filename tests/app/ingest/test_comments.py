"""What people write. Invariant: our own words are never a command, and an edit gives only what it put there."""

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
    head_seen,
)
from worker.domain.judge_request import CommandName, ReviewRef

MALLORY = {"login": "mallory", "type": "User"}
ANOTHER_APP: dict[str, Any] = {"performed_via_github_app": {"id": OUR_APP + 1}}


def edited(body: str, before: str | None, by: dict[str, str] | None = ALICE, **changes: Any) -> Event | Ignored:
    replaced = {} if before is None else {"body": {"from": before}}
    about = {**ABOUT, "action": "edited", "sender": by}
    return head_seen("issue_comment", {**about, **comment_delivery(body, **changes), "changes": replaced})


def at_a_line(body: str, action: str = "created", before: str = "", **changes: Any) -> Event | Ignored:
    said = {"id": 66, "body": body, "user": ALICE, **changes}
    pull = {"number": 3, "state": changes.pop("state", "open")}
    about = {"pull_request": pull, "comment": said, "sender": ALICE, "changes": {"body": {"from": before}}}
    return head_seen("pull_request_review_comment", {**ABOUT, "action": action, **about})


REVIEW = ReviewRef(id=77, login="alice", node_id="PRR_77")


def review(body: str | None = None, state: str = "commented", **changes: Any) -> Event | Ignored:
    pull = {"number": 3, "state": changes.pop("pull_state", "open")}
    about = {**ABOUT, "action": changes.pop("action", "submitted"), "sender": changes.pop("by", ALICE)}
    about["changes"] = changes.pop("was", {})
    said = {"id": 77, "node_id": "PRR_77", "body": body, "user": ALICE, "commit_id": SHA, "state": state, **changes}
    return head_seen("pull_request_review", {**about, "pull_request": pull, "review": said})


def review_edited(body: str | None, before: str | None = "", **changes: Any) -> Event | Ignored:
    return review(body, "approved", action="edited", was={"body": {"from": before}}, **changes)


def dismissed(**changes: Any) -> Event | Ignored:
    return review("Fine\n\n/override Mine.", "dismissed", action="dismissed", **changes)


def issued(command: CommandName = CommandName.REJUDGE, **fields: Any) -> CommandIssued:
    """By alice, in the conversation, where nothing else is said."""
    said: dict[str, Any] = {**REPOSITORY, "comment_id": 55, "login": "alice", **fields}
    return CommandIssued(**said, command=command)


AT_A_LINE = issued(comment_id=66, in_review=True)
IN_REVIEW: dict[str, Any] = {"comment_id": None, "in_review": True, "head_sha": SHA, "review": REVIEW}
BY_BOT: dict[str, Any] = {"login": "copilot[bot]", "is_bot": True}
OF_GHOST: dict[str, Any] = {**IN_REVIEW, "review": ReviewRef(id=77, login="ghost", node_id="PRR_77")}
OF_BOT: dict[str, Any] = {**IN_REVIEW, "review": ReviewRef(id=77, login="copilot[bot]", node_id="PRR_77")}
DISMISSED, APPROVED = CommandName.DISMISSED, CommandName.APPROVED
HEARD: dict[str, tuple[Event | Ignored, Event]] = {
    "a command with its reason": (
        comment("/override It is fine"),
        issued(CommandName.OVERRIDE, reason="It is fine"),
    ),
    "on a draft": (comment("/rejudge", issue={"draft": True}), issued()),
    "misspelt by a person, with what was meant": (comment("/rejuge"), issued(misspelt="rejuge")),
    "of a bot, which says so": (comment("/rejudge", user=BOT), issued(**BY_BOT)),
    "through another App in a person's name": (comment("/rejudge", **ANOTHER_APP), issued()),
    "of another App as itself": (comment("/rejudge", user=BOT, **ANOTHER_APP), issued(**BY_BOT)),
    "what a person writes": (comment("Nice"), PersonCommented(**REPOSITORY)),
    "a command as code": (comment("```\n/rejudge\n```"), PersonCommented(**REPOSITORY)),
    "put there by an edit": (edited("/rejudge", ""), issued()),
    "instead of a request in words": (edited("/rejudge", "Please judge again"), issued()),
    "instead of a misspelt one": (edited("/rejudge", "/rejuge"), issued()),
    "at a line": (at_a_line("/rejudge"), AT_A_LINE),
    "at a line, by an edit": (at_a_line("/rejudge", "edited", "Hm"), AT_A_LINE),
    "in a review's text": (review("/rejudge"), issued(**IN_REVIEW)),
    "in a review's text, by an edit": (review_edited("/rejudge"), issued(**IN_REVIEW)),
    "in a review that had no text": (review_edited("/rejudge", None), issued(**IN_REVIEW)),
    "a review without a command": (review(), PersonCommented(**REPOSITORY)),
    "a review that approves": (review(state="approved"), issued(APPROVED, **IN_REVIEW)),
    "one that requests changes": (review(state="changes_requested"), issued(CommandName.CHANGES, **IN_REVIEW)),
    "one that commands and decides": (review("/rejudge", "approved"), issued(**IN_REVIEW, decides=APPROVED)),
    "one that decides beside a misspelt command": (
        review("/rejuge", "approved"),
        issued(**IN_REVIEW, decides=APPROVED, misspelt="rejuge"),
    ),
    "a bot's review, which decides nothing": (
        review("/rejudge", "approved", user=BOT),
        issued(**BY_BOT, **OF_BOT),
    ),
    "a dismissed review of an account that is gone": (dismissed(user=None), issued(DISMISSED, **OF_GHOST)),
}


@pytest.mark.parametrize(("event", "expected"), HEARD.values(), ids=HEARD)
def test_what_people_write_is_an_event(event: Event | Ignored, expected: Event) -> None:
    assert event == expected


@pytest.mark.parametrize(
    ("told", "said_at"),
    [
        ("2026-11-20T12:00:00Z", datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("soon", None),
        ("9999-12-31T23:59:59-23:00", None),
    ],
)
def test_a_command_says_when_it_was_written_if_github_does(told: str, said_at: datetime | None) -> None:
    written = (at_a_line("/rejudge", updated_at=told), review("/rejudge", submitted_at=told))
    assert [isinstance(one, CommandIssued) and one.said_at for one in written] == [said_at, said_at]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (comment("/rejudge", issue={"pull_request": None}), "not_a_pull_request"),
        (comment("/rejudge", issue={"state": "closed"}), "pull_request_closed"),
        (comment("/rejudge", user=None), "no_author"),
        (comment("/rejudge", performed_via_github_app={"id": OUR_APP}), "own_comment"),
        (comment("Nice", user=BOT), "bot_comment"),
        (comment("/rejuge", user=BOT), "bot_comment"),
        (comment("/rejuge", user=BOT, **ANOTHER_APP), "bot_comment"),
        (edited("/override It is fine", "Nice", None), "edited_by_another"),
        (edited("/override It is fine", "Nice", BOT), "edited_by_another"),
        (edited("/override It is fine", "Nice", MALLORY), "edited_by_another"),
        (edited("/rejudge", "/rejudge"), "no_new_command"),
        (edited("/rejudge\n\nSorry for the typo.", "/rejudge"), "no_new_command"),
        (edited("Nice", "/rejudge"), "no_new_command"),
        (edited("/rejudge", None), "no_new_command"),
        (edited("/rejudge", "", issue={"pull_request": None}), "not_a_pull_request"),
        (at_a_line("Why?"), "part_of_a_review"),
        (at_a_line("/rejudge", user=None), "no_author"),
        (at_a_line("/rejudge", "edited", "/rejudge"), "no_new_command"),
        (at_a_line("/rejudge", "edited", user=None), "no_author"),
        (review("/rejudge", pull_state="closed"), "pull_request_closed"),
        (review("/rejudge", user=None), "no_author"),
        (review(user=BOT), "bot_comment"),
        (review(state="approved", user=BOT), "bot_comment"),
        (dismissed(commit_id=None), "no_commit"),
        (review_edited("/rejudge", "/rejudge"), "no_new_command"),
        (review_edited(None, "/rejudge"), "no_new_command"),
        (review("/rejudge", action="edited"), "no_new_command"),
        (review_edited("/rejudge", by=MALLORY), "edited_by_another"),
        (review_edited("/rejudge", user=None), "no_author"),
        (review_edited("/rejudge", pull_state="closed"), "pull_request_closed"),
    ],
)
def test_what_asks_us_nothing_is_ignored_with_its_reason(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)


@pytest.mark.parametrize("by", [ALICE, BOT, None], ids=["a person", "a bot", "nobody"])
@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_dismissed_review_is_told_with_who_did_it_and_whose_it_was(by: dict[str, str] | None, state: str) -> None:
    who: dict[str, Any] = {"login": by["login"] if by else "ghost", "is_bot": by == BOT}
    assert dismissed(by=by, pull_state=state) == issued(DISMISSED, **who, **IN_REVIEW)
