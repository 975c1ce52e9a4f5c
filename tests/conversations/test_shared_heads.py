"""Several pull requests that share one head SHA."""

import pytest

from tests.conversations.conftest import read_wait_answer
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest, Repository
from tests.world.replies import accept, reject
from tests.world.world import World

LAX = {**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"}


def create_with_release(world: World, files: dict[str, str] = PROJECT) -> Repository:
    repository = world.create_repository(files)
    repository.push("release", {"NEWS.md": "Soon.\n"})
    return repository


def read_states(pull: PullRequest) -> list[str | None]:
    """Conclusion or status of each check run of the head."""
    return [run["conclusion"] or run["status"] for run in pull.check_runs_of(pull.head)]


def test_shared_head_passes_only_when_both_pull_requests_are_accepted(world: World) -> None:
    create_with_release(world)
    first = world.open_and_judge(reject("weak_test", RETRY_AT), accept(RETRY_AT))
    second = world.wait_after(world.agent.open_from_branch("fix", "release", title="Again"))

    assert read_states(first) == ["failure", "failure"]
    assert not world.alice.merge(first).is_merged
    assert second.check.title == f"Accepted here, but #{first.number} of the same commit is rejected"
    assert second.verdict["decision"] == "accept"

    world.comment_and_wait(first, "/rejudge force", accept(RETRY_AT), by=world.alice)
    assert read_states(first) == ["success", "success"]
    assert second.check.title.startswith("Accepted")
    assert world.alice.merge(first).is_merged


@pytest.mark.slow
def test_skipped_pull_request_does_not_pass_a_rejected_shared_head(world: World) -> None:
    repository = create_with_release(world, LAX)
    world.model.reply_with(reject("weak_test", RETRY_AT))
    repository.push("fix", RETRY, **{"as": "bob"})
    first = world.wait_after(world.agent.open_from_branch("fix", title="Again"))
    second = world.wait_after(world.bob.open_from_branch("fix", "release", title="Again"))
    assert read_states(first) == ["failure", "failure"]
    assert not world.alice.merge(first).is_merged
    assert second.check.title == f"Skipped here, but #{first.number} of the same commit is rejected"

    world.wait_after(world.agent.close(first))
    assert read_states(second) == ["skipped", "skipped"]
    assert second.check.title == "Skipped: written by a person"


@pytest.mark.slow
def test_pull_request_that_leaves_a_shared_head_counts_there_no_longer(world: World) -> None:
    repository = create_with_release(world)
    first = world.open_and_judge(accept(RETRY_AT), reject("weak_test", RETRY_AT))
    path, ref = f"/repos/{repository.name}/git/refs", "refs/heads/copy"
    repository.github.request_as(world.alice.login, "POST", path, ref=ref, sha=first.head)
    second = world.wait_after(world.agent.open_from_branch("copy", "release", title="Again"))
    assert read_states(first) == ["failure", "failure"]

    world.push_and_judge(second, {"more.py": "MORE = 1\n"}, accept(RETRY_AT))
    assert read_states(first) == ["success", "success"]
    assert world.alice.merge(first).is_merged


@pytest.mark.slow
def test_draft_of_a_shared_head_blocks_nothing_until_it_is_ready(world: World) -> None:
    create_with_release(world)
    first = world.open_and_judge(accept(RETRY_AT))
    second = world.wait_after(world.agent.open_from_branch("fix", "release", title="Again", draft=True))
    assert read_states(first) == ["success", "success"]
    assert second.check.title == f"As #{first.number}, which is accepted"

    world.model.reply_with(reject("weak_test", RETRY_AT))
    world.wait_after(world.agent.mark_ready(second))
    assert read_states(first) == ["failure", "failure"]
    assert not world.alice.merge(first).is_merged


@pytest.mark.slow
def test_pull_request_closed_during_a_pause_is_not_reported_to_waiters(world: World) -> None:
    repository = create_with_release(world)
    world.model.reply_with(accept(RETRY_AT))
    people = world.product.environment
    assert run_assay(people, "pause", repository.name, "--reason", "moving", "--by", "olga").returncode == 0
    first = world.open_and_judge()
    second = world.wait_after(world.agent.open_from_branch("fix", "release", title="Again"))
    assert read_states(first) == ["neutral", "neutral"]
    world.wait_after(world.agent.close(first))

    assert run_assay(people, "resume", repository.name).returncode == 0
    world.wait_until(lambda: second.check.conclusion == "success")
    world.wait_until_idle()
    answer = read_wait_answer(world, repository.name, second.head)
    assert (answer["state"], answer["verdict"]["decision"], answer["number"]) == ("done", "accept", second.number)
