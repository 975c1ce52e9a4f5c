"""The JSON block of a check run, and the API that agrees with it."""

from typing import Any

import pytest

from tests.conversations.conftest import open_rejected, read_wait_answer
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest, read_check_json
from tests.world.replies import accept
from tests.world.world import World

SHARED = ("state", "reason", "superseded_by", "overridden_by")


def read_check(pull: PullRequest) -> dict[str, Any]:
    """The check run's JSON, which agrees with its title and conclusion."""
    block = pull.check_json
    assert (block["check_version"], block["why"], block["conclusion"]) == (1, pull.check.title, pull.check.conclusion)
    return block


def assert_api_agrees(world: World, pull: PullRequest, sha: str | None = None) -> None:
    answer = read_wait_answer(world, pull.repository.name, sha or pull.head)
    block = read_check_json(pull.check_runs_of(sha or pull.head)[-1])
    assert {name: answer[name] for name in SHARED} == {name: block[name] for name in SHARED}
    assert answer["verdict"] is None or answer["verdict"]["decision"] == block["decision"]
    assert answer["verdict"] is None or answer["verdict"]["eval_id"] == block["eval_id"]


def test_check_json_tells_draft_pending_ci_and_model_outage_apart(world: World) -> None:
    world.model.fail_from_now_on()
    pull = world.agent.open_pull_request(RETRY, draft=True)
    tests = world.wait_after(world.repository.start_ci(pull.head, "unit tests"))
    block = read_check(pull)
    assert (block["state"], block["reason"], block["decision"]) == ("none", "draft", None)
    assert_api_agrees(world, pull)

    world.agent.mark_ready(pull)
    world.wait_until(lambda: pull.check_json["reason"] == "waiting_for_ci")
    assert (read_check(pull)["state"], pull.check_json["decision"]) == ("pending", None)
    assert pull.check_json["until"]
    world.wait_until(lambda: read_wait_answer(world, pull.repository.name, pull.head)["reason"] == "waiting_for_ci")
    for _ in range(5):
        assert_api_agrees(world, pull)

    world.wait_after(tests.complete("success"))
    block = read_check(pull)
    assert (block["state"], block["decision"], block["reason"]) == ("done", "abstain", "judge_unavailable")
    assert (block["conclusion"], block["eval_id"]) == ("action_required", pull.verdict["eval_id"])
    assert_api_agrees(world, pull)


@pytest.mark.slow
def test_check_json_names_reject_and_override(world: World) -> None:
    pull = open_rejected(world)
    block = read_check(pull)
    assert (block["state"], block["decision"], block["reason"]) == ("done", "reject", "weak_test")
    assert (block["eval_id"], block["overridden_by"]) == (pull.verdict["eval_id"], None)
    assert_api_agrees(world, pull)

    world.comment_and_wait(pull, "/override The fix is urgent.", by=world.alice)
    block = read_check(pull)
    assert (block["decision"], block["overridden_by"], block["conclusion"]) == ("reject", "alice", "neutral")
    assert_api_agrees(world, pull)


@pytest.mark.slow
def test_check_json_of_superseded_commit_names_the_newer_one(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    first = pull.head
    world.model.reply_with(accept(RETRY_AT))
    world.agent.push(pull, {"upload.py": RETRY["upload.py"].replace("range(3)", "range(4)")})
    world.wait_after(held_reply.release())

    block = read_check_json(pull.check_runs_of(first)[-1])
    assert (block["state"], block["reason"], block["superseded_by"]) == ("superseded", "newer_commit", pull.head)
    assert (block["decision"], block["conclusion"]) == (None, "cancelled")
    assert_api_agrees(world, pull, first)
    assert (read_check(pull)["decision"], pull.check_json["reason"]) == ("accept", None)


@pytest.mark.slow
def test_check_json_says_skipped(world: World) -> None:
    world.create_repository({**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"})
    pull = world.open_and_judge(by=world.bob)
    block = read_check(pull)
    assert (block["state"], block["reason"], block["conclusion"]) == ("none", "skipped", "skipped")


@pytest.mark.slow
def test_check_json_of_merge_group_repeats_its_pull_request(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT))
    group = world.repository.add_to_merge_queue(pull)
    world.wait_until(lambda: any(check.status == "completed" for check in group.checks))
    block = group.check_json
    assert (block["state"], block["decision"], block["conclusion"]) == ("done", "accept", "success")
    assert block["eval_id"] == pull.verdict["eval_id"]
