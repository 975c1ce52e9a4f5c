"""What is heard of checks. Invariant: of our own only what people press counts."""

from typing import Any

import pytest

from app.ingest.event_types import (
    CiChanged,
    CommandIssued,
    Event,
    FeedbackGiven,
    HeadRerunRequested,
    Ignored,
    RerunRequested,
)
from tests.app.ingest.deliveries import (
    ABOUT,
    BOT,
    HERE,
    OLD,
    SHA,
    SOMEWHERE,
    check_run,
    check_suite,
    listed,
    pressed,
    seen,
)
from worker.domain.judge_request import CommandName

ANOTHER = {"id": 1}


def status(state: str) -> Event | Ignored:
    return seen("status", {**ABOUT, "sha": SHA, "state": state})


@pytest.mark.parametrize("action", ["created", "completed"])
@pytest.mark.parametrize(
    ("conclusion", "has_failed"),
    [("failure", True), ("timed_out", True), ("startup_failure", True), ("success", False), ("cancelled", False)],
)
def test_anothers_check_that_is_done_names_its_commit(action: str, conclusion: str, *, has_failed: bool) -> None:
    event = check_run(action, app=ANOTHER, conclusion=conclusion)
    assert event == CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=has_failed)


@pytest.mark.parametrize(
    "event",
    [
        check_suite("completed", app=1),
        seen("workflow_run", {**ABOUT, "action": "completed", "workflow_run": {"head_sha": SHA}}),
        status("success"),
    ],
)
def test_a_suite_a_workflow_and_a_status_name_their_commit_too(event: Event | Ignored) -> None:
    assert event == CiChanged(**SOMEWHERE, head_sha=SHA)


def test_a_suite_that_passed_says_so() -> None:
    suite = {"app": {"id": 1}, "head_sha": SHA, "conclusion": "success"}
    event = seen("check_suite", {**ABOUT, "action": "completed", "check_suite": suite})
    assert event == CiChanged(**SOMEWHERE, head_sha=SHA, is_green=True)


@pytest.mark.parametrize("state", ["failure", "error"])
def test_a_status_that_failed_says_so(state: str) -> None:
    assert status(state) == CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True)


@pytest.mark.parametrize(("identifier", "is_helpful"), [("helpful", True), ("not_helpful", False)])
def test_a_thumb_is_about_the_head_that_it_stood_at(identifier: str, *, is_helpful: bool) -> None:
    assert pressed(identifier) == FeedbackGiven(**HERE, head_sha=SHA, is_helpful=is_helpful)


@pytest.mark.parametrize(
    ("identifier", "command"), [("rejudge", CommandName.REJUDGE), ("contest", CommandName.CONTEST)]
)
def test_a_button_may_be_a_command_at_that_head(identifier: str, command: CommandName) -> None:
    given = CommandIssued(**HERE, comment_id=None, login="alice", command=command, head_sha=SHA)
    assert pressed(identifier) == given


def test_rerun_of_our_check_finds_the_pull_request_by_its_external_id() -> None:
    assert check_run("rerequested") == RerunRequested(**HERE, head_sha=SHA)


def test_rerun_on_a_fork_works_though_github_lists_no_pull_request() -> None:
    assert check_run("rerequested", pull_requests=[]) == RerunRequested(**HERE, head_sha=None)


def test_rerun_without_an_external_id_of_ours_takes_the_first_listed_pull_request_of_this_repository() -> None:
    pulls = [listed(9, base_repository=8), listed(3, sha=OLD), listed(4)]
    event = check_run("rerequested", external_id="", pull_requests=pulls)
    assert event == RerunRequested(**HERE, head_sha=OLD)


def test_rerun_takes_the_head_of_its_own_pull_request_where_several_share_the_commit() -> None:
    event = check_run("rerequested", pull_requests=[listed(4, sha=OLD), listed(3)])
    assert event == RerunRequested(**HERE, head_sha=SHA)


def test_rerun_at_an_old_commit_does_not_pass_that_commit_for_the_head() -> None:
    event = check_run("rerequested", head_sha=OLD, pull_requests=[])
    assert isinstance(event, RerunRequested)
    assert event.head_sha is None


@pytest.mark.parametrize("nobodys", [{"pull_requests": []}, {"pull_requests": [listed(9, base_repository=8)]}])
def test_rerun_that_names_no_pull_request_at_all_is_about_everybody_with_that_head(nobodys: dict[str, Any]) -> None:
    assert check_run("rerequested", external_id=None, **nobodys) == HeadRerunRequested(**SOMEWHERE, head_sha=SHA)


def test_rerun_all_is_about_everybody_with_that_head() -> None:
    assert check_suite("rerequested") == HeadRerunRequested(**SOMEWHERE, head_sha=SHA)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (check_run("created"), "own_check_run"),
        (check_run("completed"), "own_check_run"),
        (check_run("created", app=ANOTHER), "not_done"),
        (check_run("completed", app=ANOTHER, conclusion="failure", head_sha=None), "no_commit"),
        (check_run("rerequested", app=ANOTHER), "other_apps_check_run"),
        (check_run("rerequested", app=None), "other_apps_check_run"),
        (check_run("rerequested", external_id=None, head_sha=None, pull_requests=[]), "no_commit"),
        (check_suite("completed"), "own_check_suite"),
        (check_suite("rerequested", app=1), "other_apps_check_suite"),
        (status("pending"), "not_done"),
        (pressed("helpful", app=ANOTHER), "other_apps_check_run"),
        (pressed("merge_it"), "unknown_button"),
        (check_run("requested_action"), "unknown_button"),
        (pressed("rejudge", {"sender": BOT}), "bot_pressed"),
        (pressed("helpful", {"sender": None}), "bot_pressed"),
        (pressed("helpful", external_id=None, pull_requests=[]), "no_pull_request"),
    ],
)
def test_what_is_not_for_us_is_ignored_with_its_reason(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)
