"""CI decides whether a pull request is judged at all."""

import time
from collections.abc import Iterable

import pytest

from tests.conversations.conftest import OpenWorld, pause_deliveries
from tests.world.changes import FOR_EVERYONE, PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest, Repository
from tests.world.replies import accept
from tests.world.world import World


def wait_for_ci(world: World, pull: PullRequest, name: str) -> None:
    """Mark the pull request ready, and wait until its check run waits for *name*."""
    world.agent.mark_ready(pull)
    title = f"Waiting for CI: {name}"
    world.wait_until(lambda: bool(world.repository.checks) and pull.check.title == title)
    assert pull.check.status == "in_progress"


def test_failed_ci_is_the_feedback_and_no_model_is_asked(world: World) -> None:
    pull = world.agent.open_pull_request(RETRY, draft=True)
    world.repository.report_ci(pull.head, "unit tests", "failure", "E   assert 503 == 200 in tests/test_retry.py")
    world.wait_after(world.agent.mark_ready(pull))

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_failed")
    assert pull.check.title == "Not judged: CI failed (unit tests)"
    assert "assert 503 == 200" in pull.text
    assert world.model.requests == []


def test_pull_request_is_judged_after_pending_ci(world: World) -> None:
    pull = world.agent.open_pull_request(RETRY, draft=True)
    tests = world.repository.start_ci(pull.head, "unit tests")
    wait_for_ci(world, pull, "unit tests")
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(tests.complete("success"))
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_commit_status_counts_like_a_ci_check_run(world: World) -> None:
    pull = world.agent.open_pull_request(RETRY, draft=True)

    def report_status(state: str, description: str = "") -> None:
        path = f"/repos/{world.repository.name}/statuses/{pull.head}"
        world.github.request_as("alice", "POST", path, state=state, context="jenkins", description=description)

    report_status("pending")
    wait_for_ci(world, pull, "jenkins")
    world.wait_after(report_status("failure", "assert 503 == 200"))
    assert (pull.check.title, pull.verdict["abstain_reason"]) == ("Not judged: CI failed (jenkins)", "ci_failed")
    assert "assert 503 == 200" in pull.text
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    report_status("success")
    world.wait_until(lambda: pull.check.conclusion == "success")
    assert len(world.repository.checks) == 1


def test_prompt_names_green_ci(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT), ci={"unit tests": "success", "lint": "skipped"})

    assert pull.check.conclusion == "success"
    assert "unit tests" in world.model.requests[0].text


def test_pain_11_silenced_ci_is_never_green(world: World) -> None:
    repository = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(RETRY, message="Retry\n\n\nskip-checks: true", draft=True)
    world.wait_after(world.agent.mark_ready(pull))

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_pending")
    assert 'CI did not run on this head: its commit message says "skip-checks: true".' in pull.text
    assert world.model.requests == []
    assert repository.open_checks == []


@pytest.mark.slow
def test_pain_11_green_check_of_another_app_does_not_replace_silenced_ci(world: World) -> None:
    repository = world.create_repository(PROJECT)
    repository.github.control("ci", repo=repository.name, branch="main", name="unit tests")
    pull = world.agent.open_pull_request(RETRY, message="Retry [skip ci]", draft=True)
    repository.report_ci(pull.head, "license/cla", "success", app="cla-assistant")
    world.wait_after(world.agent.mark_ready(pull))
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_pending")
    assert 'CI did not run on this head: its commit message says "[skip ci]".' in pull.text.replace("\\", "")
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    repository.report_ci(pull.head, "unit tests", "success")
    world.wait_until(lambda: pull.check.conclusion == "success")


def test_pain_25_fork_ci_that_awaits_approval_has_not_run(world: World) -> None:
    repository = world.create_repository({**PROJECT, **FOR_EVERYONE})
    pull = world.mallory.open_from_fork(RETRY, draft=True)
    repository.hold_workflow(pull.head, "tests.yml")
    world.wait_after(world.alice.mark_ready(pull))
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "ci_pending")
    assert "a maintainer has to approve it first (tests.yml)" in pull.text

    world.model.reply_with(accept(RETRY_AT))
    repository.approve_workflow(pull.head, "unit tests").complete("success")
    world.wait_until(lambda: pull.check.conclusion == "success")


@pytest.mark.slow
def test_ignored_ci_check_is_not_waited_for(world: World) -> None:
    config = "ci_ignore: [all green]\nci_expect: [unit tests]\n"
    repository = world.create_repository({**PROJECT, ".github/assay.yml": config})
    pull = world.agent.open_pull_request(RETRY, draft=True)
    repository.start_ci(pull.head, "all green")
    wait_for_ci(world, pull, "unit tests")

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(repository.report_ci(pull.head, "unit tests", "success"))
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_concern_names_failed_tests_from_the_job_log(world: World) -> None:
    pull = world.agent.open_pull_request(RETRY, draft=True)
    log = "2026-11-20T20:00:00.0000000Z \x1b[31mFAILED tests/test_retry.py::test_503 - assert 503 == 200\x1b[0m\n"
    world.repository.report_ci(pull.head, "unit tests", "failure", "Process completed with exit code 1.", log=log)
    world.wait_after(world.agent.mark_ready(pull))

    assert "tests/test_retry.py::test_503" in pull.verdict["concern"]


@pytest.mark.slow
def test_required_ci_check_has_a_longer_wait_than_other_checks(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_CI_WAIT": "1", "ASSAY_CI_REQUIRED_WAIT": "600", "ASSAY_CHECK_DEADLINE": "2"})
    repository = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(RETRY, draft=True)
    tests = repository.start_ci(pull.head, "unit tests")
    wait_for_ci(world, pull, "unit tests")
    time.sleep(4)  # longer than both short limits
    assert (pull.check.status, pull.check.title) == ("in_progress", "Waiting for CI: unit tests")
    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(tests.complete("success"))
    assert pull.check.conclusion == "success"

    other = world.create_repository(PROJECT)
    other_pull = world.person("copilot-swe-agent[bot]").open_pull_request(RETRY, draft=True)
    other.start_ci(other_pull.head, "unit tests")
    world.wait_after(world.person("copilot-swe-agent[bot]").mark_ready(other_pull))
    assert other_pull.verdict["abstain_reason"] == "ci_pending"


TEN_FILES = {**RETRY, **{f"lib/part{number}.py": f"PART = {number}\n" for number in range(8)}}
MOST_READS = 3
MATRIX = tuple(f"matrix ({number})" for number in range(299))


def report_green_ci(world: World, repository: Repository, sha: str, names: Iterable[str]) -> None:
    with pause_deliveries(world):
        for name in names:
            repository.report_ci(sha, name, "success")
        world.github.settle()


def read_operations(repository: Repository) -> list[str]:
    """The methods or query names of the requests about a repository."""
    return [exchange["operation"] or exchange["method"] for exchange in repository.requests]


@pytest.mark.slow  # the fake GitHub is slow with that many
def test_required_ci_check_on_last_page_is_waited_for_by_name(world: World) -> None:
    repository = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(TEN_FILES, draft=True)
    report_green_ci(world, repository, pull.head, MATRIX)
    tests = world.wait_after(repository.start_ci(pull.head, "unit tests"))
    world.agent.mark_ready(pull)
    world.wait_until(lambda: pull.check.title == "Waiting for CI: unit tests")
    assert world.model.requests == []
    before = len(read_operations(repository))

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(tests.complete("success"))
    assert pull.check.conclusion == "success"
    assert read_operations(repository)[before:].count("AssayPull") <= MOST_READS


@pytest.mark.slow  # the fake GitHub is slow with that many
def test_failed_ci_check_on_last_page_is_listed_first(world: World) -> None:
    repository = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.open_pull_request(TEN_FILES, draft=True)
    report_green_ci(world, repository, pull.head, MATRIX)
    repository.report_ci(pull.head, "unit tests", "failure", "E   assert 503 == 200 in tests/test_retry.py")
    world.wait_after(world.agent.mark_ready(pull))
    assert pull.check == ("completed", "action_required", "Not judged: CI failed (unit tests)")
    assert pull.verdict["abstain_reason"] == "ci_failed"
    assert "assert 503 == 200" in pull.text
    assert "CI: failed: unit tests (failure, required), matrix (0) (success)" in pull.text
    assert world.model.requests == []


@pytest.mark.slow  # the fake GitHub is slow with that many
def test_each_further_hundred_ci_checks_takes_one_more_request(world: World) -> None:
    repository = world.create_repository(PROJECT, protect=["Assay", "unit tests"])
    world.model.reply_with(accept(RETRY_AT))
    pull = world.agent.open_pull_request(TEN_FILES, draft=True)
    report_green_ci(world, repository, pull.head, (*MATRIX[1:], "unit tests"))  # 300 with Assay's own
    world.wait_until_idle()
    before = len(read_operations(repository))
    world.wait_after(world.agent.mark_ready(pull))
    assert pull.check.conclusion == "success"
    prompt = world.model.requests[0].text
    assert prompt.count("matrix (") == len(MATRIX) - 1
    assert prompt.index("unit tests") < prompt.index("matrix (")
    operations = [name for name in read_operations(repository)[before:] if name != "AssayHead"]
    assert operations[operations.index("GET") :] == ["GET", "AssayPull", "AssayChecks", "AssayChecks", "PATCH"]
