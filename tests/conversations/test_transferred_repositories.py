"""Repositories that are transferred to another owner while pull requests are open."""

from collections.abc import Iterator
from http import HTTPStatus

import pytest

from tests.conversations.conftest import OpenWorld, wait_for_next_second, wait_for_sweep
from tests.conversations.test_renamed_repositories import BETTER, read_state
from tests.world.changes import PROJECT, RETRY_AT, STUB
from tests.world.fake_github import Exchange, FakeGitHub
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World

pytestmark = pytest.mark.slow
OTHER = 200
"""The installation of another organization."""

HASTY = {"ASSAY_CATCH_UP": "0.5"}
OLDER = "Opened before Assay"
LATE = "check run expired"
MOST_TRIED = 3
"""By the judge, the failure report and the watchdog."""


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    fake = FakeGitHub.start({"globex": OTHER})
    yield fake
    fake.stop()


def transfer_to_globex(world: World, pull: PullRequest) -> PullRequest:
    """Transfer it in a later second than its opening."""
    wait_for_next_second(world, pull)
    return pull.in_repository(world.move_repository(world.repository, installation=OTHER, owner="globex"))


def read_writes(github: FakeGitHub, *names: str) -> list[Exchange]:
    """Writes of the old installation under these names."""
    asked = [exchange for name in names for exchange in github.requests(name)]
    return [exchange for exchange in asked if exchange["method"] in {"POST", "PATCH"} and not exchange["operation"]]


def test_transferred_repository_is_judged_by_the_new_owners_installation(open_world: OpenWorld) -> None:
    world = open_world(HASTY)
    repository = world.create_repository(PROJECT)
    pull = world.open_and_judge(files=STUB)
    was = pull.check_run["id"], pull.check
    assert was[1].conclusion == "failure"

    pull = transfer_to_globex(world, pull)
    there, before = pull.repository.name, len(read_writes(world.github, repository.name))
    world.wait_until_idle()
    wait_for_sweep(world)
    world.wait_until_idle()
    assert (pull.check_run["id"], pull.check) == was
    assert read_state(world, repository.name, pull.head) == ("done", "reject")
    assert read_state(world, there, pull.head)[0] == "none", "the new installation has no record of it"

    world.wait_after(world.person("bob").comment(pull, "/rejudge"))
    assert pull.conclusions == ["failure"]
    assert read_state(world, there, pull.head) == ("done", "reject")

    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.wait_after(world.person("copilot-swe-agent[bot]").push(pull, BETTER))
    assert pull.conclusions == ["success"]
    assert read_state(world, there, pull.head) == ("done", "accept")
    assert len(read_writes(world.github, repository.name, there)) == before


def test_new_installation_ends_a_check_run_left_open_by_a_transfer(open_world: OpenWorld) -> None:
    world = open_world(HASTY)
    world.expected_errors = ("check run not updated",)  # the old installation lost its permission
    repository = world.create_repository(PROJECT)
    wait_for_sweep(world)
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = transfer_to_globex(world, pull)
    world.wait_after(held_reply.release())
    [check] = pull.checks_of(pull.head)
    assert (check.conclusion, check.title[: len(OLDER)]) == ("action_required", OLDER)
    refused = {exchange["status"] for exchange in read_writes(world.github, pull.repository.name)}
    assert refused == {HTTPStatus.FORBIDDEN}
    assert read_state(world, repository.name, pull.head) == ("done", "accept")

    world.wait_after(world.person("copilot-swe-agent[bot]").push(pull, BETTER))
    assert pull.conclusions == ["success"]


def test_repository_transferred_out_of_reach_is_given_up(open_world: OpenWorld) -> None:
    short = {"ASSAY_CHECK_DEADLINE": "4", "ASSAY_CI_WAIT": "1", "ASSAY_ASKING": "2"}
    world = open_world(HASTY | short)
    world.expected_errors = ("check run not updated",)
    repository = world.create_repository(PROJECT)
    wait_for_sweep(world)
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    moved = world.move_repository(repository, owner="bob")
    pull = pull.in_repository(moved)
    held_reply.release()
    world.wait_until(lambda: not world.pending_keys())
    world.wait_until(lambda: LATE in world.product.log.tail())
    wait_for_sweep(world)
    asked = len(read_writes(world.github, moved.name))
    wait_for_sweep(world)
    wait_for_sweep(world)
    assert len(read_writes(world.github, moved.name)) == asked <= MOST_TRIED
    assert {exchange["status"] for exchange in read_writes(world.github, moved.name)} == {HTTPStatus.FORBIDDEN}
    assert read_state(world, repository.name, pull.head) == ("done", "accept")
    assert len(world.model.requests) == 1
    world.forget_repository(moved)  # its check run stays open
