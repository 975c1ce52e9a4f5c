"""What a delivery means to us. Invariant: one row of the table, one fact."""

import json
from typing import Any

import pytest

from app.events import (
    SUBSCRIBED,
    TABLE,
    CiFailed,
    CommandGiven,
    CommitsReverted,
    Event,
    Ignored,
    PersonSpoke,
    PullClosed,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    RerunPressed,
    ThumbGiven,
    translate,
)
from app.payloads import Delivery, Envelope, Malformed, read
from tests.world.examples import Example, examples
from worker.domain.check import external_id
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.request import CommandName, PullRef
from worker.github.examine import REQUIRED_EVENTS

OUR_APP = 4242
SHA, OLD = "1" * 40, "2" * 40
PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)
ABOUT: dict[str, Any] = {"installation": {"id": 1}, "repository": {"id": 7, "full_name": "acme/widgets"}}


ALICE, BOT = {"login": "alice", "type": "User"}, {"login": "copilot[bot]", "type": "Bot"}
REVERTING = f'Revert "Retry uploads"\n\nThis reverts commit {OLD}.\n'


def seen(event_name: str, payload: dict[str, Any]) -> Event | Ignored:
    body = json.dumps(payload).encode()
    return translate(Delivery(DeliveryId("d1"), event_name, OUR_APP, read(Envelope, body), body))


def pull_request(action: str, **changes: Any) -> Event | Ignored:
    pull = {"number": 3, "draft": False, "head": {"sha": SHA}, **changes}
    return seen("pull_request", {**ABOUT, "action": action, "pull_request": pull})


def comment(body: str, issue: dict[str, Any] | None = None, **changes: Any) -> Event | Ignored:
    on = {"number": 3, "state": "open", "pull_request": {"url": "x"}, **(issue or {})}
    said = {"id": 55, "body": body, "user": {"login": "alice", "type": "User"}, **changes}
    return seen("issue_comment", {**ABOUT, "action": "created", "issue": on, "comment": said})


def listed(number: int, sha: str = SHA, base_repository: int = 7) -> dict[str, Any]:
    return {
        "number": number,
        "head": {"sha": sha, "repo": {"id": 7}},
        "base": {"sha": OLD, "repo": {"id": base_repository}},
    }


def check_run(action: str, **changes: Any) -> Event | Ignored:
    run = {
        "app": {"id": OUR_APP},
        "head_sha": SHA,
        "external_id": external_id(3),
        "pull_requests": [listed(3)],
        **changes,
    }
    return seen("check_run", {**ABOUT, "action": action, "check_run": run})


def pressed(identifier: str, sender: dict[str, Any] | None = None, **changes: Any) -> Event | Ignored:
    run = {"app": {"id": OUR_APP}, "head_sha": SHA, "external_id": external_id(3), **changes}
    what = {"action": "requested_action", "check_run": run, "requested_action": {"identifier": identifier}}
    return seen("check_run", {**ABOUT, **what, "sender": sender or ALICE})


def push(*messages: str, ref: str = "refs/heads/main") -> Event | Ignored:
    repository = {**ABOUT["repository"], "default_branch": "main"}
    commits = [{"message": message} for message in messages]
    return seen("push", {**ABOUT, "repository": repository, "ref": ref, "commits": commits})


def closed(sender: dict[str, Any] | None = None, **changes: Any) -> Event | Ignored:
    pull = {"number": 3, "head": {"sha": SHA, "ref": "fix"}, "title": "Retry", "body": None, **changes}
    return seen("pull_request", {**ABOUT, "action": "closed", "pull_request": pull, "sender": sender})


@pytest.mark.parametrize(
    ("action", "event"),
    [
        ("opened", PullOpened),
        ("synchronize", PullPushed),
        ("reopened", PullReopened),
        ("ready_for_review", PullReady),
    ],
)
def test_a_pull_request_that_changed_is_an_event_with_its_head(action: str, event: type[PullOpened]) -> None:
    assert pull_request(action) == event(pull=PULL, repository="acme/widgets", head_sha=SHA)


@pytest.mark.parametrize("action", ["opened", "synchronize", "reopened"])
def test_a_draft_waits_until_it_is_ready(action: str) -> None:
    assert pull_request(action, draft=True) == Ignored("draft")


def test_a_command_on_a_pull_request_is_an_event_with_its_author() -> None:
    assert comment("/rejudge") == CommandGiven(
        pull=PULL, repository="acme/widgets", comment_id=55, login="alice", command=CommandName.REJUDGE
    )


@pytest.mark.parametrize(
    ("sender", "opener", "by_another"),
    [
        (ALICE, BOT, True),
        (ALICE, {"login": "bob", "type": "User"}, True),
        (ALICE, None, True),
        (ALICE, ALICE, False),
        (BOT, ALICE, False),
        (None, BOT, False),
    ],
)
def test_a_push_by_a_person_who_did_not_open_the_pull_request_says_so(
    sender: Any, opener: Any, *, by_another: bool
) -> None:
    pull = {"number": 3, "head": {"sha": SHA}, "user": opener}
    event = seen("pull_request", {**ABOUT, "action": "synchronize", "pull_request": pull, "sender": sender})
    assert event == PullPushed(pull=PULL, repository="acme/widgets", head_sha=SHA, by_another=by_another)


def test_who_reopens_a_pull_request_is_a_person_or_not() -> None:
    pull = {"number": 3, "head": {"sha": SHA}}
    events = [
        seen("pull_request", {**ABOUT, "action": "reopened", "pull_request": pull, "sender": sender})
        for sender in (ALICE, BOT)
    ]
    assert [isinstance(one, PullReopened) and one.by_person for one in events] == [True, False]


def test_a_close_without_a_merge_says_nothing_of_other_pull_requests() -> None:
    named = {"title": "Fix it", "body": "Reverts acme/widgets#12", "head": {"sha": SHA, "ref": "revert-12-fix"}}
    event = closed(ALICE, merge_commit_sha=OLD, **named)
    assert event == PullClosed(pull=PULL, repository="acme/widgets", head_sha=SHA, by_person=True)


def test_a_merge_names_its_commit_and_what_it_says_of_others() -> None:
    named = {"title": "Fix it", "body": "Reverts acme/widgets#12", "head": {"sha": SHA, "ref": "revert-12-fix"}}
    event = closed(BOT, merged=True, merge_commit_sha=OLD, **named)
    assert event == PullClosed(
        pull=PULL, repository="acme/widgets", head_sha=SHA, by_person=False, merge_sha=OLD, mends=True, reverts=(12,)
    )


def test_a_merge_without_a_commit_of_its_own_is_its_head() -> None:
    event = closed(merged=True)
    assert isinstance(event, PullClosed)
    assert (event.merge_sha, event.mends, event.reverts) == (SHA, False, ())


def test_a_draft_that_is_closed_is_closed() -> None:
    assert isinstance(closed(draft=True), PullClosed)


@pytest.mark.parametrize("body", ["Nice", "```\n/rejudge\n```"])
def test_what_a_person_writes_is_something_that_happened(body: str) -> None:
    assert comment(body) == PersonSpoke(pull=PULL, repository="acme/widgets")


@pytest.mark.parametrize(("identifier", "is_helpful"), [("helpful", True), ("not_helpful", False)])
def test_a_button_at_our_check_is_a_thumb_about_that_head(identifier: str, *, is_helpful: bool) -> None:
    assert pressed(identifier) == ThumbGiven(pull=PULL, repository="acme/widgets", head_sha=SHA, is_helpful=is_helpful)


@pytest.mark.parametrize("conclusion", ["failure", "timed_out", "startup_failure"])
def test_anothers_check_that_failed_names_its_commit(conclusion: str) -> None:
    event = check_run("completed", app={"id": 1}, conclusion=conclusion)
    assert event == CiFailed(installation_id=InstallationId(1), repository_id=RepositoryId(7), head_sha=SHA)


def test_a_push_to_the_default_branch_that_takes_commits_back_names_each_once() -> None:
    event = push("Docs", REVERTING, REVERTING)
    assert event == CommitsReverted(installation_id=InstallationId(1), repository_id=RepositoryId(7), shas=(OLD,))


def test_a_command_on_a_draft_counts() -> None:
    assert isinstance(comment("/rejudge", issue={"draft": True}), CommandGiven)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (comment("/rejuge"), "unknown_command"),
        (comment("/rejudge", issue={"pull_request": None}), "not_a_pull_request"),
        (comment("/rejudge", issue={"state": "closed"}), "pull_request_closed"),
        (comment("/rejudge", user={"login": "assay[bot]", "type": "Bot"}), "bot_comment"),
        (comment("/rejudge", user=None), "no_author"),
    ],
)
def test_a_comment_that_asks_us_nothing_is_ignored_with_its_reason(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)


def test_rerun_of_our_check_finds_the_pull_request_by_its_external_id() -> None:
    assert check_run("rerequested") == RerunPressed(pull=PULL, repository="acme/widgets", head_sha=SHA)


def test_rerun_on_a_fork_works_though_github_lists_no_pull_request() -> None:
    event = check_run("rerequested", pull_requests=[])
    assert event == RerunPressed(pull=PULL, repository="acme/widgets", head_sha=None)


def test_rerun_without_an_external_id_of_ours_takes_the_first_listed_pull_request_of_this_repository() -> None:
    pulls = [listed(9, base_repository=8), listed(3, sha=OLD), listed(4)]
    event = check_run("rerequested", external_id="", pull_requests=pulls)
    assert event == RerunPressed(pull=PULL, repository="acme/widgets", head_sha=OLD)


def test_rerun_takes_the_head_of_its_own_pull_request_where_several_share_the_commit() -> None:
    event = check_run("rerequested", pull_requests=[listed(4, sha=OLD), listed(3)])
    assert event == RerunPressed(pull=PULL, repository="acme/widgets", head_sha=SHA)


def test_rerun_at_an_old_commit_does_not_pass_that_commit_for_the_head() -> None:
    event = check_run("rerequested", head_sha=OLD, pull_requests=[])
    assert isinstance(event, RerunPressed)
    assert event.head_sha is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (check_run("created"), "own_check_run"),
        (check_run("completed"), "own_check_run"),
        (check_run("completed", app={"id": 1}), "unhandled:check_run.completed"),
        (check_run("completed", app=None), "unhandled:check_run.completed"),
        (check_run("rerequested", app={"id": 1}), "other_apps_check_run"),
        (check_run("rerequested", external_id=None, pull_requests=[]), "no_pull_request"),
        (check_run("rerequested", external_id="", pull_requests=[listed(9, base_repository=8)]), "no_pull_request"),
        (pressed("helpful", app={"id": 1}), "other_apps_check_run"),
        (pressed("merge_it"), "unknown_button"),
        (check_run("requested_action"), "unknown_button"),
        (pressed("helpful", sender=BOT), "bot_pressed"),
        (pressed("helpful", external_id=None, pull_requests=[]), "no_pull_request"),
        (check_run("completed", app={"id": 1}, conclusion="success"), "unhandled:check_run.completed"),
        (check_run("completed", app={"id": 1}, conclusion="failure", head_sha=None), "unhandled:check_run.completed"),
        (push(REVERTING, ref="refs/heads/fix"), "not_the_default_branch"),
        (push("Retry uploads"), "nothing_reverted"),
        (seen("check_suite", {**ABOUT, "action": "completed"}), "unhandled:check_suite.completed"),
        (seen("ping", {"zen": "Keep it logically awesome."}), "unhandled:ping"),
        (seen("pull_request", {"action": "opened"}), "no_installation"),
    ],
)
def test_what_is_not_for_us_is_ignored_with_its_reason(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)


def test_one_of_ours_that_can_not_be_read_is_malformed_not_ignored() -> None:
    with pytest.raises(Malformed, match='"repository": expected a value, found nothing'):
        seen("pull_request", {"action": "opened", "installation": {"id": 1}})


def test_the_parts_of_what_is_not_ours_are_not_looked_at() -> None:
    strange: dict[str, Any] = {"action": "labeled", "pull_request": 5, "installation": "x", "repository": []}
    assert seen("pull_request", strange) == Ignored("unhandled:pull_request.labeled")


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_each_published_payload_is_an_event_or_ignored(example: Example) -> None:
    event = seen(example.name, {**example.payload, "installation": {"id": 1}})
    is_ours = (example.name, example.payload.get("action", "")) in TABLE
    assert is_ours or event == Ignored(f"unhandled:{name(example)}")


def name(example: Example) -> str:
    action = example.payload.get("action")
    return f"{example.name}.{action}" if action else example.name


def test_the_table_knows_exactly_the_events_that_the_app_must_subscribe_to() -> None:
    assert set(SUBSCRIBED) == {"pull_request", "issue_comment", "check_run", "push"} == set(REQUIRED_EVENTS)
