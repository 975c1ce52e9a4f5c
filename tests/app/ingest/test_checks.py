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
    OLD,
    REPOSITORY,
    SHA,
    SOMEWHERE,
    button_delivery,
    check_run,
    check_suite,
    head_seen,
    listed,
)
from worker.domain.judge_request import CommandName

ANOTHER = {"id": 1}
PASSED: dict[str, Any] = {"app": ANOTHER, "head_sha": SHA, "conclusion": "success"}
PRESSED: dict[str, Any] = {**REPOSITORY, "comment_id": None, "login": "alice", "head_sha": SHA}
DONE, FAILED = CiChanged(**SOMEWHERE, head_sha=SHA), CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True)


def status(state: str) -> Event | Ignored:
    return head_seen("status", {**ABOUT, "sha": SHA, "state": state})


@pytest.mark.parametrize("action", ["created", "completed"])
@pytest.mark.parametrize(
    ("conclusion", "event"),
    [("failure", FAILED), ("timed_out", FAILED), ("startup_failure", FAILED), ("success", DONE), ("cancelled", DONE)],
)
def test_anothers_check_that_is_done_names_its_commit(action: str, conclusion: str, event: Event) -> None:
    assert check_run(action, app=ANOTHER, conclusion=conclusion) == event


SEVERAL = [listed(9, base_repository=8), listed(3, sha=OLD), listed(4)]
RERUN, RERUN_OF_ALL = RerunRequested(**REPOSITORY, head_sha=SHA), HeadRerunRequested(**SOMEWHERE, head_sha=SHA)
HEARD: dict[str, tuple[Event | Ignored, Event]] = {
    "a suite": (check_suite("completed", app=1), DONE),
    "a suite that passed": (
        head_seen("check_suite", {**ABOUT, "action": "completed", "check_suite": PASSED}),
        CiChanged(**SOMEWHERE, head_sha=SHA, is_green=True),
    ),
    "a workflow": (
        head_seen("workflow_run", {**ABOUT, "action": "completed", "workflow_run": {"head_sha": SHA}}),
        DONE,
    ),
    "a status": (status("success"), DONE),
    "a status that failed": (status("failure"), FAILED),
    "one of an error": (status("error"), FAILED),
    "a thumb": (button_delivery("helpful"), FeedbackGiven(**REPOSITORY, head_sha=SHA, is_helpful=True)),
    "a thumb down": (button_delivery("not_helpful"), FeedbackGiven(**REPOSITORY, head_sha=SHA, is_helpful=False)),
    "the button Re-judge": (button_delivery("rejudge"), CommandIssued(**PRESSED, command=CommandName.REJUDGE)),
    "the button Contest": (button_delivery("contest"), CommandIssued(**PRESSED, command=CommandName.CONTEST)),
    "Re-run, by the external id": (check_run("rerequested"), RERUN),
    "Re-run of a fork's, which GitHub does not list": (
        check_run("rerequested", pull_requests=[]),
        RerunRequested(**REPOSITORY, head_sha=None),
    ),
    "Re-run without our external id, by the first that is listed of this repository": (
        check_run("rerequested", external_id="", pull_requests=SEVERAL),
        RerunRequested(**REPOSITORY, head_sha=OLD),
    ),
    "Re-run where several share the commit, with the head of its own": (
        check_run("rerequested", pull_requests=[listed(4, sha=OLD), listed(3)]),
        RERUN,
    ),
    "Re-run at an old commit, which is not passed for the head": (
        check_run("rerequested", head_sha=OLD, pull_requests=[]),
        RerunRequested(**REPOSITORY, head_sha=None),
    ),
    "Re-run that names no pull request, of all with that head": (
        check_run("rerequested", external_id=None, pull_requests=[]),
        RERUN_OF_ALL,
    ),
    "Re-run that names another repository's": (
        check_run("rerequested", external_id=None, pull_requests=[listed(9, base_repository=8)]),
        RERUN_OF_ALL,
    ),
    "Re-run all": (check_suite("rerequested"), RERUN_OF_ALL),
}


@pytest.mark.parametrize(("event", "expected"), HEARD.values(), ids=HEARD)
def test_what_is_heard_of_checks_is_an_event(event: Event | Ignored, expected: Event) -> None:
    assert event == expected


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
        (button_delivery("helpful", app=ANOTHER), "other_apps_check_run"),
        (button_delivery("merge_it"), "unknown_button"),
        (check_run("requested_action"), "unknown_button"),
        (button_delivery("rejudge", {"sender": BOT}), "bot_pressed"),
        (button_delivery("helpful", {"sender": None}), "bot_pressed"),
        (button_delivery("helpful", external_id=None, pull_requests=[]), "no_pull_request"),
    ],
)
def test_what_is_not_for_us_is_ignored_with_its_reason(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)
