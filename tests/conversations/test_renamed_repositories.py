"""A repository gets another name while its pull requests are open."""

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
    """How it stands, and what was decided."""
    answer = read_wait_answer(world, repository, sha)
    return answer["state"], answer["verdict"] and answer["verdict"]["decision"]


def renamed(world: World, pull: PullRequest) -> PullRequest:
    return pull.in_repository(
        world.move_repository(world.repository, name=f"{world.repository.name.partition('/')[2]}-renamed")
    )


def test_a_renamed_repository_keeps_its_verdicts_and_is_judged_and_commanded_under_its_new_name(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(files=STUB)
    first, check = pull.verdict["eval_id"], pull.check_run["id"]

    pull = renamed(world, pull)
    world.wait_until_idle()
    assert (pull.check_run["id"], pull.check.conclusion) == (check, "failure"), "what was said of it stays"

    comment = world.person("bob").comment(pull, "/rejudge")
    world.wait_until_idle()
    assert ("assay[bot]", "eyes") in pull.repository.reactions(comment.id)
    assert pull.verdict["subject"]["repository"] == pull.repository.name
    assert pull.verdict["carried_from"] == first, "the same content, by what is on record"
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["failure"]
    assert read_state(world, pull.repository.name, pull.head) == ("done", "reject")
    assert read_state(world, here.name, pull.head) == ("done", "reject"), "by its old name, too"

    world.model.reply_by(lambda _: accept(RETRY_AT))
    before = pull.head
    world.person("copilot-swe-agent[bot]").push(pull, BETTER)
    world.wait_until_idle()
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]
    assert read_state(world, pull.repository.name, pull.head) == ("done", "accept")
    assert read_state(world, pull.repository.name, before)[0] == "superseded"


def test_a_verdict_is_shown_though_the_repository_was_renamed_while_it_was_made(world: World) -> None:
    here = world.create_repository(PROJECT)
    thought, pull = world.open_and_hold_model(accept(RETRY_AT))
    pull = renamed(world, pull)
    thought.release()
    world.wait_until_idle()
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]
    assert len(world.model.requests) == 1
    led_on = [one for one in world.github.requests(here.name) if one["status"] == HTTPStatus.TEMPORARY_REDIRECT]
    assert [one["method"] for one in led_on] == ["PATCH"], "what was said goes where GitHub leads"


@pytest.mark.slow
def test_a_rename_of_which_nobody_told_us_is_learnt_by_the_sweep_and_nothing_is_judged_for_it(
    open_world: OpenWorld,
) -> None:
    world = open_world({"ASSAY_CATCH_UP": "0.5", "ASSAY_TIER": "heuristic"})
    world.create_repository(PROJECT)
    wait_for_sweep(world)
    pull = world.open_and_judge(files=STUB)
    was = pull.check_run["id"], pull.verdict["eval_id"]
    pull = renamed(world, pull)
    name, head = pull.repository.name, pull.head
    world.wait_until(lambda: read_state(world, name, head) == ("done", "reject"), "it is known by its new name")
    wait_for_sweep(world)
    world.wait_until_idle()
    assert (pull.check_run["id"], pull.verdict["eval_id"]) == was


@pytest.mark.slow
def test_what_was_judged_while_another_repository_took_the_old_name_is_found_by_the_sweep(
    open_world: OpenWorld,
) -> None:
    world = open_world({"ASSAY_CATCH_UP": "0.5"})
    here = world.create_repository(PROJECT)
    wait_for_sweep(world)
    thought, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = renamed(world, pull)
    world.github.control("repo", name=here.name.partition("/")[2], files=PROJECT)
    thought.release()
    world.wait_until(lambda: pull.check.conclusion == "success", "it is judged under its new name")
    world.wait_until_idle()
    assert len(pull.checks_of(pull.head)) == 1
