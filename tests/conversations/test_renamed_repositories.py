"""Repositories that are renamed while pull requests are open."""

from http import HTTPStatus
from typing import Any

import pytest

from tests.conversations.conftest import OpenWorld, read_wait_answer, wait_for_sweep
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World

BETTER = {**RETRY, "README.md": "# Widgets\n\nAn upload is sent three times at most.\n"}


def read_state(world: World, repository: str, sha: str) -> tuple[str, Any]:
    """State and decision."""
    answer = read_wait_answer(world, repository, sha)
    return answer["state"], answer["verdict"] and answer["verdict"]["decision"]


def rename_repository(world: World, pull: PullRequest) -> PullRequest:
    return pull.in_repository(
        world.move_repository(world.repository, name=f"{world.repository.name.partition('/')[2]}-renamed")
    )


def test_renamed_repository_keeps_its_verdicts_and_is_judged_under_its_new_name(world: World) -> None:
    repository = world.create_repository(PROJECT)
    pull = world.open_and_judge(files=STUB)
    first, check = pull.verdict["eval_id"], pull.check_run["id"]

    pull = world.wait_after(rename_repository(world, pull))
    assert (pull.check_run["id"], pull.check.conclusion) == (check, "failure")

    comment = world.wait_after(world.person("bob").comment(pull, "/rejudge"))
    assert ("assay[bot]", "eyes") in pull.repository.reactions(comment.id)
    assert pull.verdict["subject"]["repository"] == pull.repository.name
    assert pull.verdict["carried_from"] == first
    assert pull.conclusions == ["failure"]
    assert read_state(world, pull.repository.name, pull.head) == ("done", "reject")
    assert read_state(world, repository.name, pull.head) == ("done", "reject")

    world.model.reply_by(lambda _: accept(RETRY_AT))
    before = pull.head
    world.wait_after(world.person("copilot-swe-agent[bot]").push(pull, BETTER))
    assert pull.conclusions == ["success"]
    assert read_state(world, pull.repository.name, pull.head) == ("done", "accept")
    assert read_state(world, pull.repository.name, before)[0] == "superseded"


def test_verdict_is_published_after_a_rename_during_judging(world: World) -> None:
    repository = world.create_repository(PROJECT)
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    pull = rename_repository(world, pull)
    world.wait_after(held_reply.release())
    assert pull.conclusions == ["success"]
    assert len(world.model.requests) == 1
    redirected = [exchange for exchange in repository.requests if exchange["status"] == HTTPStatus.TEMPORARY_REDIRECT]
    assert [exchange["method"] for exchange in redirected] == ["PATCH"]


@pytest.mark.slow
def test_sweep_learns_a_rename_without_judging_again(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_CATCH_UP": "0.5", "ASSAY_TIER": "heuristic"})
    world.create_repository(PROJECT)
    wait_for_sweep(world)
    pull = world.open_and_judge(files=STUB)
    was = pull.check_run["id"], pull.verdict["eval_id"]
    pull = rename_repository(world, pull)
    name, head = pull.repository.name, pull.head
    world.wait_until(lambda: read_state(world, name, head) == ("done", "reject"))
    wait_for_sweep(world)
    world.wait_until_idle()
    assert (pull.check_run["id"], pull.verdict["eval_id"]) == was


@pytest.mark.slow
def test_sweep_finds_head_whose_old_repository_name_was_taken(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_CATCH_UP": "0.5"})
    repository = world.create_repository(PROJECT)
    wait_for_sweep(world)
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = rename_repository(world, pull)
    world.github.control("repo", name=repository.name.partition("/")[2], files=PROJECT)
    held_reply.release()
    world.wait_until(lambda: pull.check.conclusion == "success")
    world.wait_until_idle()
    assert len(pull.checks_of(pull.head)) == 1
