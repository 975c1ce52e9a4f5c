"""What people write. Invariant: our own words are never a command, and an edit gives only what it put there."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.ingest.event_types import CommandIssued, Event, Ignored, PersonCommented
from tests.app.ingest.deliveries import ABOUT, ALICE, BOT, HERE, OUR_APP, SHA, comment, commented, seen
from worker.domain.judge_request import CommandName, ReviewRef

REJUDGE: dict[str, Any] = {"login": "alice", "command": CommandName.REJUDGE}


def edited(body: str, before: str | None, by: dict[str, str] | None = ALICE, **changes: Any) -> Event | Ignored:
    replaced = {} if before is None else {"body": {"from": before}}
    about = {**ABOUT, "action": "edited", "sender": by}
    return seen("issue_comment", {**about, **commented(body, **changes), "changes": replaced})


def at_a_line(body: str, action: str = "created", before: str = "", **changes: Any) -> Event | Ignored:
    said = {"id": 66, "body": body, "user": ALICE, **changes}
    pull = {"number": 3, "state": changes.pop("state", "open")}
    about = {"pull_request": pull, "comment": said, "sender": ALICE, "changes": {"body": {"from": before}}}
    return seen("pull_request_review_comment", {**ABOUT, "action": action, **about})


REVIEW = ReviewRef(id=77, login="alice", node_id="PRR_77")


def review(body: str | None = None, state: str = "commented", **changes: Any) -> Event | Ignored:
    pull = {"number": 3, "state": changes.pop("pull_state", "open")}
    about = {**ABOUT, "action": changes.pop("action", "submitted"), "sender": changes.pop("by", ALICE)}
    about["changes"] = changes.pop("was", {})
    said = {"id": 77, "node_id": "PRR_77", "body": body, "user": ALICE, "commit_id": SHA, "state": state, **changes}
    return seen("pull_request_review", {**about, "pull_request": pull, "review": said})


def review_edited(body: str | None, before: str | None = "", **changes: Any) -> Event | Ignored:
    return review(body, "approved", action="edited", was={"body": {"from": before}}, **changes)


def dismissed(**changes: Any) -> Event | Ignored:
    return review("Fine\n\n/override Mine.", "dismissed", action="dismissed", **changes)


def test_a_command_is_an_event_with_its_author_and_its_reason() -> None:
    given = CommandIssued(**HERE, comment_id=55, login="alice", command=CommandName.OVERRIDE, reason="It is fine")
    assert comment("/override It is fine") == given


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


def test_a_command_on_a_draft_counts() -> None:
    assert isinstance(comment("/rejudge", issue={"draft": True}), CommandIssued)


def test_a_misspelt_command_of_a_person_is_told_with_what_was_meant() -> None:
    assert comment("/rejuge") == CommandIssued(**HERE, comment_id=55, **REJUDGE, misspelt="rejuge")


def test_a_bots_command_says_that_it_is_one() -> None:
    given = CommandIssued(**HERE, comment_id=55, login="copilot[bot]", command=CommandName.REJUDGE, is_bot=True)
    assert comment("/rejudge", user=BOT) == given


def test_what_another_app_writes_in_a_persons_name_is_theirs_and_as_itself_a_bots() -> None:
    through: dict[str, Any] = {"performed_via_github_app": {"id": OUR_APP + 1}}
    assert comment("/rejudge", **through) == CommandIssued(**HERE, comment_id=55, **REJUDGE)
    found = comment("/rejudge", user=BOT, **through)
    assert isinstance(found, CommandIssued)
    assert found.is_bot
    assert comment("/rejuge", user=BOT, **through) == Ignored("bot_comment"), "and is not told what it misspelt"


@pytest.mark.parametrize("body", ["Nice", "```\n/rejudge\n```"])
def test_what_a_person_writes_is_something_that_happened(body: str) -> None:
    assert comment(body) == PersonCommented(**HERE)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (comment("/rejudge", issue={"pull_request": None}), "not_a_pull_request"),
        (comment("/rejudge", issue={"state": "closed"}), "pull_request_closed"),
        (comment("/rejudge", user=None), "no_author"),
        (comment("/rejudge", performed_via_github_app={"id": OUR_APP}), "own_comment"),
        (comment("Nice", user=BOT), "bot_comment"),
        (comment("/rejuge", user=BOT), "bot_comment"),
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
        (review_edited("/rejudge", by={"login": "mallory", "type": "User"}), "edited_by_another"),
        (review_edited("/rejudge", user=None), "no_author"),
        (review_edited("/rejudge", pull_state="closed"), "pull_request_closed"),
    ],
)
def test_what_asks_us_nothing_is_ignored_with_its_reason(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)


@pytest.mark.parametrize("before", ["", "Please judge again", "/rejuge"])
def test_a_command_that_an_edit_put_there_counts(before: str) -> None:
    assert edited("/rejudge", before) == CommandIssued(**HERE, comment_id=55, **REJUDGE)


@pytest.mark.parametrize("by", [None, BOT, {"login": "mallory", "type": "User"}], ids=["nobody", "a bot", "another"])
def test_who_edits_somebody_elses_comment_speaks_for_nobody(by: dict[str, str] | None) -> None:
    assert edited("/override It is fine", "Nice", by) == Ignored("edited_by_another")


@pytest.mark.parametrize("given", [at_a_line("/rejudge"), at_a_line("/rejudge", "edited", "Hm")])
def test_a_command_at_a_line_says_where_it_stands(given: Event | Ignored) -> None:
    assert given == CommandIssued(**HERE, comment_id=66, **REJUDGE, in_review=True)


@pytest.mark.parametrize("given", [review("/rejudge"), review_edited("/rejudge"), review_edited("/rejudge", None)])
def test_a_command_in_a_reviews_own_text_says_in_which(given: Event | Ignored) -> None:
    where: dict[str, Any] = {"comment_id": None, "in_review": True, "head_sha": SHA, "review": REVIEW}
    assert given == CommandIssued(**HERE, **REJUDGE, **where)


def test_a_review_without_a_command_is_something_that_happened() -> None:
    assert review() == PersonCommented(**HERE)


@pytest.mark.parametrize(
    ("state", "command"), [("approved", CommandName.APPROVED), ("changes_requested", CommandName.CHANGES)]
)
def test_a_decision_in_a_review_is_told_with_its_commit(state: str, command: CommandName) -> None:
    who: dict[str, Any] = {"comment_id": None, "login": "alice", "review": REVIEW}
    assert review(state=state) == CommandIssued(**HERE, **who, command=command, in_review=True, head_sha=SHA)


@pytest.mark.parametrize("body", ["/rejudge", "/rejuge"])
def test_a_review_that_commands_and_decides_says_both(body: str) -> None:
    found = review(body, "approved")
    assert isinstance(found, CommandIssued)
    assert (found.command, found.decides) == (CommandName.REJUDGE, CommandName.APPROVED)


def test_a_bots_review_commands_at_most_and_decides_nothing() -> None:
    found = review("/rejudge", "approved", user=BOT)
    assert isinstance(found, CommandIssued)
    assert found.decides is None


@pytest.mark.parametrize("by", [ALICE, BOT, None], ids=["a person", "a bot", "nobody"])
@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_dismissed_review_is_told_with_who_did_it_and_whose_it_was(by: dict[str, str] | None, state: str) -> None:
    who: dict[str, Any] = {"comment_id": None, "login": by["login"] if by else "ghost", "is_bot": by == BOT}
    where: dict[str, Any] = {"in_review": True, "head_sha": SHA, "review": REVIEW}
    given = CommandIssued(**HERE, **who, **where, command=CommandName.DISMISSED)
    assert dismissed(by=by, pull_state=state) == given


def test_a_dismissed_review_of_an_account_that_is_gone_is_told_all_the_same() -> None:
    found = dismissed(user=None)
    assert isinstance(found, CommandIssued)
    assert found.review == ReviewRef(id=77, login="ghost", node_id="PRR_77")
