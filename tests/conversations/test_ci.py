"""Validators first: what other checks say decides whether anybody judges."""

import pytest

from tests.conversations.conftest import Open
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.replies import accept
from tests.world.tester import World


def test_failing_ci_is_the_feedback_and_no_model_is_asked(world: World) -> None:
    here = world.repository(PROJECT)
    pull = world.agent.opens(RETRY, draft=True)
    here.reports_ci(pull.head, "unit tests", "failure", "E   assert 503 == 200 in tests/test_retry.py")
    world.agent.marks_ready(pull)
    world.settles()

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_failed")
    assert pull.check.title == "Not judged: CI failed (unit tests)"
    assert "assert 503 == 200" in pull.text
    assert world.model.asked == []


def test_pending_ci_is_waited_for_and_then_judged(world: World) -> None:
    here = world.repository(PROJECT)
    pull = world.agent.opens(RETRY, draft=True)
    tests = here.starts_ci(pull.head, "unit tests")
    world.agent.marks_ready(pull)
    world.until(lambda: bool(here.checks) and "Waiting for CI" in pull.check.title, "the check waits for CI")
    assert (pull.check.status, pull.check.title) == ("in_progress", "Waiting for CI: unit tests")
    assert world.model.asked == []

    world.model.answers(accept(RETRY_AT))
    tests.finishes("success")
    world.settles()
    assert pull.check.conclusion == "success"


def test_ci_that_fails_while_we_wait_is_reported(world: World) -> None:
    here = world.repository(PROJECT)
    pull = world.agent.opens(RETRY, draft=True)
    tests = here.starts_ci(pull.head, "unit tests")
    world.agent.marks_ready(pull)
    world.until(lambda: bool(here.checks) and "Waiting for CI" in pull.check.title, "the check waits for CI")
    tests.finishes("failure")
    world.settles()

    assert pull.verdict["abstain_reason"] == "ci_failed"


def test_green_ci_is_told_to_the_judge(world: World) -> None:
    world.repository(PROJECT)
    world.model.answers(accept(RETRY_AT))
    pull = world.agent.opens(RETRY, ci={"unit tests": "success", "lint": "skipped"})
    world.settles()

    assert pull.check.conclusion == "success"
    assert "unit tests" in world.model.asked[0].text


@pytest.mark.slow
def test_ci_that_never_ends_is_an_abstain(another_world: Open) -> None:
    world = another_world({"ASSAY_CI_WAIT": "0.5"})
    here = world.repository(PROJECT)
    pull = world.agent.opens(RETRY, draft=True)
    here.starts_ci(pull.head, "unit tests")
    world.agent.marks_ready(pull)
    world.settles()

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_pending")
    assert world.model.asked == []
