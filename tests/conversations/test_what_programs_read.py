"""An agent reads its check: whether its work was rejected, nobody could judge it, or it is to wait; and the API says the same."""

from typing import Any

import pytest

from tests.conversations.conftest import read_wait_answer
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest, read_check_json
from tests.world.replies import accept, reject
from tests.world.world import World

SHARED = ("state", "reason", "superseded_by", "overridden_by")


def read(pull: PullRequest) -> dict[str, Any]:
    """What the check says, which is what the page says, too."""
    block = pull.check_json
    assert (block["check_version"], block["why"], block["conclusion"]) == (1, pull.check.title, pull.check.conclusion)
    return block


def assert_api_agrees(world: World, pull: PullRequest, sha: str | None = None) -> None:
    """`assay wait` has the same words for it."""
    answer, block = (
        read_wait_answer(world, pull.repository.name, sha or pull.head),
        read_check_json(pull.check_runs_of(sha or pull.head)[-1]),
    )
    assert {name: answer[name] for name in SHARED} == {name: block[name] for name in SHARED}
    assert answer["verdict"] is None or answer["verdict"]["decision"] == block["decision"]
    assert answer["verdict"] is None or answer["verdict"]["eval_id"] == block["eval_id"]


def test_an_agent_tells_a_draft_running_ci_and_a_judge_that_is_away_apart(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.model.fail_from_now_on()
    pull = world.agent.open_pull_request(RETRY, draft=True)
    tests = here.start_ci(pull.head, "unit tests")
    world.wait_until_idle()
    assert (read(pull)["state"], pull.check_json["reason"], pull.check_json["decision"]) == ("none", "draft", None)
    assert_api_agrees(world, pull)

    world.agent.mark_ready(pull)
    world.wait_until(lambda: pull.check_json["reason"] == "waiting_for_ci", "the check waits for CI")
    assert (read(pull)["state"], pull.check_json["decision"]) == ("pending", None)
    assert pull.check_json["until"], "and says until when"
    world.wait_until(
        lambda: read_wait_answer(world, pull.repository.name, pull.head)["reason"] == "waiting_for_ci",
        "the state that was shown is recorded",
    )
    for _ in range(5):
        assert_api_agrees(world, pull)

    tests.complete("success")
    world.wait_until_idle()
    block = read(pull)
    assert (block["state"], block["decision"], block["reason"]) == ("done", "abstain", "judge_unavailable")
    assert (block["conclusion"], block["eval_id"]) == ("action_required", pull.verdict["eval_id"])
    assert_api_agrees(world, pull)


@pytest.mark.slow
def test_an_agent_reads_that_it_was_rejected_and_then_that_a_person_let_it_pass(world: World) -> None:
    pull = world.open_and_judge(reject("weak_test", RETRY_AT))
    block = read(pull)
    assert (block["state"], block["decision"], block["reason"]) == ("done", "reject", "weak_test")
    assert (block["eval_id"], block["overridden_by"]) == (pull.verdict["eval_id"], None)
    assert_api_agrees(world, pull)

    world.comment_and_wait(pull, "/override The fix is urgent.", by=world.alice)
    block = read(pull)
    assert (block["decision"], block["overridden_by"], block["conclusion"]) == ("reject", "alice", "neutral")
    assert_api_agrees(world, pull)


@pytest.mark.slow
def test_a_commit_that_was_pushed_over_names_the_newer_one(world: World) -> None:
    thought, pull = world.open_and_hold_model(accept(RETRY_AT))
    first = pull.head
    world.model.reply_with(accept(RETRY_AT))
    world.agent.push(pull, {"upload.py": RETRY["upload.py"].replace("range(3)", "range(4)")})
    thought.release()
    world.wait_until_idle()

    block = read_check_json(pull.check_runs_of(first)[-1])
    assert (block["state"], block["reason"], block["superseded_by"]) == ("superseded", "newer_commit", pull.head)
    assert (block["decision"], block["conclusion"]) == (None, "cancelled")
    assert_api_agrees(world, pull, first)
    assert (read(pull)["decision"], pull.check_json["reason"]) == ("accept", None)


@pytest.mark.slow
def test_who_is_left_alone_is_told_so_in_a_word(world: World) -> None:
    world.create_repository({**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"})
    pull = world.open_and_judge(by=world.bob)
    block = read(pull)
    assert (block["state"], block["reason"], block["conclusion"]) == ("none", "skipped", "skipped")


@pytest.mark.slow
def test_a_merge_group_says_what_its_pull_request_says(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(accept(RETRY_AT))
    group = here.add_to_merge_queue(pull)
    world.wait_until(lambda: any(one.status == "completed" for one in group.checks), "the merge group is answered")
    block = group.check_json
    assert (block["state"], block["decision"], block["conclusion"]) == ("done", "accept", "success")
    assert block["eval_id"] == pull.verdict["eval_id"]
