"""Validators first: what other checks say decides whether anybody judges."""

import time
from collections.abc import Iterable

import pytest

from tests.conversations.conftest import OpenWorld, pause_deliveries
from tests.world.changes import FOR_EVERYONE, PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest, Repository
from tests.world.replies import accept
from tests.world.world import World


def waits(world: World, pull: PullRequest, name: str) -> None:
    """It is ready, and its check waits for this one of CI."""
    world.agent.mark_ready(pull)
    title = f"Waiting for CI: {name}"
    world.wait_until(lambda: bool(world.repository.checks) and pull.check.title == title, "the check waits for CI")
    assert pull.check.status == "in_progress"


def test_failing_ci_is_the_feedback_and_no_model_is_asked(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY, draft=True)
    here.report_ci(pull.head, "unit tests", "failure", "E   assert 503 == 200 in tests/test_retry.py")
    world.agent.mark_ready(pull)
    world.wait_until_idle()

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_failed")
    assert pull.check.title == "Not judged: CI failed (unit tests)"
    assert "assert 503 == 200" in pull.text
    assert world.model.requests == []


def test_pending_ci_is_waited_for_and_then_judged(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY, draft=True)
    tests = here.start_ci(pull.head, "unit tests")
    waits(world, pull, "unit tests")
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    tests.complete("success")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_ci_that_sets_commit_statuses_is_waited_for_told_and_wakes_like_one_with_check_runs(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY, draft=True)

    def says(state: str, description: str = "") -> None:
        path = f"/repos/{here.name}/statuses/{pull.head}"
        world.github.request_as("alice", "POST", path, state=state, context="jenkins", description=description)

    says("pending")
    waits(world, pull, "jenkins")
    says("failure", "assert 503 == 200")
    world.wait_until_idle()
    assert (pull.check.title, pull.verdict["abstain_reason"]) == ("Not judged: CI failed (jenkins)", "ci_failed")
    assert "assert 503 == 200" in pull.text
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    says("success")
    world.wait_until(lambda: pull.check.conclusion == "success", "the green status woke it")
    assert len(here.checks) == 1


def test_green_ci_is_told_to_the_judge(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT), ci={"unit tests": "success", "lint": "skipped"})

    assert pull.check.conclusion == "success"
    assert "unit tests" in world.model.requests[0].text


def test_pain_11_ci_that_the_author_silenced_is_never_green(world: World) -> None:
    here = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(RETRY, message="Retry\n\n\nskip-checks: true", draft=True)
    world.agent.mark_ready(pull)
    world.wait_until_idle()

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_pending")
    assert 'CI did not run on this head: its commit message says "skip-checks: true".' in pull.text
    assert world.model.requests == []
    assert here.open_checks == []


@pytest.mark.slow
def test_pain_11_another_apps_green_check_does_not_stand_for_ci_that_the_author_silenced(world: World) -> None:
    here = world.create_repository(PROJECT)
    here.github.control("ci", repo=here.name, branch="main", name="unit tests")
    pull = world.agent.open_pull_request(RETRY, message="Retry [skip ci]", draft=True)
    here.report_ci(pull.head, "license/cla", "success", app="cla-assistant")
    world.agent.mark_ready(pull)
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_pending")
    assert 'CI did not run on this head: its commit message says "[skip ci]".' in pull.text.replace("\\", "")
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    here.report_ci(pull.head, "unit tests", "success")
    world.wait_until(lambda: pull.check.conclusion == "success", "CI that runs all the same is seen")


def test_pain_25_ci_of_a_fork_that_waits_for_approval_is_not_run(world: World) -> None:
    here = world.create_repository({**PROJECT, **FOR_EVERYONE})
    pull = world.mallory.open_from_fork(RETRY, draft=True)
    here.hold_workflow(pull.head, "tests.yml")
    world.alice.mark_ready(pull)
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_pending")
    assert "a maintainer has to approve it first (tests.yml)" in pull.text

    world.model.reply_with(accept(RETRY_AT))
    here.approve_workflow(pull.head, "unit tests").complete("success")
    world.wait_until(lambda: pull.check.conclusion == "success", "the approved run is seen")


@pytest.mark.slow
def test_a_check_that_waits_for_ours_is_not_waited_for(world: World) -> None:
    config = "ci_ignore: [all green]\nci_expect: [unit tests]\n"
    here = world.create_repository({**PROJECT, ".github/assay.yml": config})
    pull = world.agent.open_pull_request(RETRY, draft=True)
    here.start_ci(pull.head, "all green")
    waits(world, pull, "unit tests")

    world.model.reply_with(accept(RETRY_AT))
    here.report_ci(pull.head, "unit tests", "success")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_the_end_of_a_failing_jobs_log_names_the_tests(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY, draft=True)
    log = "2026-11-20T20:00:00.0000000Z \x1b[31mFAILED tests/test_retry.py::test_503 - assert 503 == 200\x1b[0m\n"
    here.report_ci(pull.head, "unit tests", "failure", "Process completed with exit code 1.", log=log)
    world.agent.mark_ready(pull)
    world.wait_until_idle()

    assert "tests/test_retry.py::test_503" in pull.verdict["concern"]


@pytest.mark.slow
def test_a_required_check_is_waited_for_longer_than_others_and_than_a_check_may_stay_open(
    open_world: OpenWorld,
) -> None:
    world = open_world({"ASSAY_CI_WAIT": "1", "ASSAY_CI_REQUIRED_WAIT": "600", "ASSAY_CHECK_DEADLINE": "2"})
    here = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(RETRY, draft=True)
    tests = here.start_ci(pull.head, "unit tests")
    waits(world, pull, "unit tests")
    time.sleep(4)  # what must not happen takes both of the shorter limits
    assert (pull.check.status, pull.check.title) == ("in_progress", "Waiting for CI: unit tests")
    world.model.reply_with(accept(RETRY_AT))
    tests.complete("success")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"

    other = world.create_repository(PROJECT)
    late = world.person("copilot-swe-agent[bot]").open_pull_request(RETRY, draft=True)
    other.start_ci(late.head, "unit tests")
    world.person("copilot-swe-agent[bot]").mark_ready(late)
    world.wait_until_idle()
    assert late.verdict["abstain_reason"] == "ci_pending"


TEN = {**RETRY, **{f"lib/part{number}.py": f"PART = {number}\n" for number in range(8)}}
MOST_LOOKS = 3
"""Of the news that it ended, and of what may have come while that was looked at."""

MATRIX = tuple(f"matrix ({number})" for number in range(299))


def green(world: World, here: Repository, sha: str, names: Iterable[str]) -> None:
    with pause_deliveries(world):
        for name in names:
            here.report_ci(sha, name, "success")
        world.github.settle()


def asked(world: World, here: Repository) -> list[str]:
    """What GitHub was asked about it, in order: a query by its name."""
    return [one["operation"] or one["method"] for one in world.github.requests(here.name)]


@pytest.mark.slow  # who plays GitHub takes a while to make as many
def test_a_required_one_on_the_last_page_is_waited_for_by_name_and_the_wait_ends_with_it(world: World) -> None:
    here = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(TEN, draft=True)
    green(world, here, pull.head, MATRIX)
    tests = here.start_ci(pull.head, "unit tests")
    world.wait_until_idle()
    world.agent.mark_ready(pull)
    world.wait_until(
        lambda: pull.check.title == "Waiting for CI: unit tests", "the check waits for the one that is not done"
    )
    assert world.model.requests == []
    before = len(asked(world, here))

    world.model.reply_with(accept(RETRY_AT))
    tests.complete("success")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert asked(world, here)[before:].count("AssayPull") <= MOST_LOOKS, "one look serves three hundred checks"


@pytest.mark.slow  # who plays GitHub takes a while to make as many
def test_the_one_that_failed_on_the_last_page_is_the_evidence_and_comes_first(world: World) -> None:
    here = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(TEN, draft=True)
    green(world, here, pull.head, MATRIX)
    here.report_ci(pull.head, "unit tests", "failure", "E   assert 503 == 200 in tests/test_retry.py")
    world.agent.mark_ready(pull)
    world.wait_until_idle()
    assert pull.check == ("completed", "action_required", "Not judged: CI failed (unit tests)")
    assert pull.verdict["abstain_reason"] == "ci_failed"
    assert "assert 503 == 200" in pull.text
    assert "CI: failed: unit tests (failure, required), matrix (0) (success)" in pull.text
    assert world.model.requests == []


@pytest.mark.slow  # who plays GitHub takes a while to make as many
def test_a_first_verdict_takes_one_request_more_for_each_further_hundred(world: World) -> None:
    here = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    world.model.reply_with(accept(RETRY_AT))
    pull = world.agent.open_pull_request(TEN, draft=True)
    green(world, here, pull.head, (*MATRIX[1:], "unit tests"))  # and our own: three hundred
    world.wait_until_idle()  # the check run of the draft is open
    before = len(asked(world, here))
    world.agent.mark_ready(pull)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    words = world.model.requests[0].text
    assert words.count("matrix (") == len(MATRIX) - 1
    assert words.index("unit tests") < words.index("matrix ("), "what is required comes first"
    asks = [one for one in asked(world, here)[before:] if one != "AssayHead"]  # where the last page has changed
    assert asks[asks.index("GET") :] == ["GET", "AssayPull", "AssayChecks", "AssayChecks", "PATCH"]
