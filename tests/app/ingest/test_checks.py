"""Deliveries about checks. Invariant: of our own checks only buttons and re-runs count."""

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
    button_pressed,
    check_run,
    check_suite,
    listed_pull,
    translate_payload,
)
from worker.domain.judge_request import CommandName

ANOTHER = {"id": 1}
PASSED: dict[str, Any] = {"app": ANOTHER, "head_sha": SHA, "conclusion": "success"}
PRESSED: dict[str, Any] = {**REPOSITORY, "comment_id": None, "login": "alice", "head_sha": SHA}
DONE, FAILED = CiChanged(**SOMEWHERE, head_sha=SHA), CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True)


def status(state: str) -> Event | Ignored:
    return translate_payload("status", {**ABOUT, "sha": SHA, "state": state})


@pytest.mark.parametrize("action", ["created", "completed"])
@pytest.mark.parametrize(
    ("conclusion", "event"),
    [("failure", FAILED), ("timed_out", FAILED), ("startup_failure", FAILED), ("success", DONE), ("cancelled", DONE)],
)
def test_completed_foreign_check_run_is_a_ci_change(action: str, conclusion: str, event: Event) -> None:
    assert check_run(action, app=ANOTHER, conclusion=conclusion) == event


PULLS_WITH_OTHER_HEADS = [listed_pull(9, base_repository=8), listed_pull(3, sha=OLD), listed_pull(4)]
RERUN, RERUN_OF_ALL = RerunRequested(**REPOSITORY, head_sha=SHA), HeadRerunRequested(**SOMEWHERE, head_sha=SHA)
EVENTS: dict[str, tuple[Event | Ignored, Event]] = {
    "a suite": (check_suite("completed", app=1), DONE),
    "a suite that passed": (
        translate_payload("check_suite", {**ABOUT, "action": "completed", "check_suite": PASSED}),
        CiChanged(**SOMEWHERE, head_sha=SHA, is_green=True),
    ),
    "a workflow": (
        translate_payload("workflow_run", {**ABOUT, "action": "completed", "workflow_run": {"head_sha": SHA}}),
        DONE,
    ),
    "a status": (status("success"), DONE),
    "a status that failed": (status("failure"), FAILED),
    "a status of an error": (status("error"), FAILED),
    "a thumb up": (button_pressed("helpful"), FeedbackGiven(**REPOSITORY, head_sha=SHA, is_helpful=True)),
    "a thumb down": (button_pressed("not_helpful"), FeedbackGiven(**REPOSITORY, head_sha=SHA, is_helpful=False)),
    "the button Re-judge": (button_pressed("rejudge"), CommandIssued(**PRESSED, command=CommandName.REJUDGE)),
    "the button Contest": (button_pressed("contest"), CommandIssued(**PRESSED, command=CommandName.CONTEST)),
    "Re-run, by the external id": (check_run("rerequested"), RERUN),
    "Re-run in a fork, without listed pull requests": (
        check_run("rerequested", pull_requests=[]),
        RerunRequested(**REPOSITORY, head_sha=None),
    ),
    "Re-run without our external id, by the first listed pull request of this repository": (
        check_run("rerequested", external_id="", pull_requests=PULLS_WITH_OTHER_HEADS),
        RerunRequested(**REPOSITORY, head_sha=OLD),
    ),
    "Re-run of a shared commit, with the head of its own pull request": (
        check_run("rerequested", pull_requests=[listed_pull(4, sha=OLD), listed_pull(3)]),
        RERUN,
    ),
    "Re-run at an old commit, without a head": (
        check_run("rerequested", head_sha=OLD, pull_requests=[]),
        RerunRequested(**REPOSITORY, head_sha=None),
    ),
    "Re-run without a pull request, of all with that head": (
        check_run("rerequested", external_id=None, pull_requests=[]),
        RERUN_OF_ALL,
    ),
    "Re-run with a pull request of another repository": (
        check_run("rerequested", external_id=None, pull_requests=[listed_pull(9, base_repository=8)]),
        RERUN_OF_ALL,
    ),
    "Re-run all": (check_suite("rerequested"), RERUN_OF_ALL),
}


@pytest.mark.parametrize(("event", "expected"), EVENTS.values(), ids=EVENTS)
def test_check_delivery_becomes_an_event(event: Event | Ignored, expected: Event) -> None:
    assert event == expected


@pytest.mark.parametrize(
    ("event", "reason"),
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
        (button_pressed("helpful", app=ANOTHER), "other_apps_check_run"),
        (button_pressed("merge_it"), "unknown_button"),
        (check_run("requested_action"), "unknown_button"),
        (button_pressed("rejudge", {"sender": BOT}), "bot_pressed"),
        (button_pressed("helpful", {"sender": None}), "bot_pressed"),
        (button_pressed("helpful", external_id=None, pull_requests=[]), "no_pull_request"),
    ],
)
def test_irrelevant_check_delivery_is_ignored_with_its_reason(event: Event | Ignored, reason: str) -> None:
    assert event == Ignored(reason)
