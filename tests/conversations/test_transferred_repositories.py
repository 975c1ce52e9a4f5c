"""A repository goes to another owner while its pull requests are open: to one who has installed the App, too, or to none.

All of it is slow: the played GitHub has two organizations, and each story a product of its own.
"""

import time
from collections.abc import Iterator
from datetime import datetime
from http import HTTPStatus

import pytest

from tests.conversations.conftest import OpenWorld, wait_for_sweep
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
"""By the judge, by whom says why that failed, and by the watchdog."""


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    bench = FakeGitHub.start({"globex": OTHER})
    yield bench
    bench.stop()


def went_to_globex(world: World, pull: PullRequest) -> PullRequest:
    """Later than it was opened: GitHub tells whole seconds."""
    opened = datetime.fromisoformat(pull.view["created_at"]).timestamp()
    world.wait_until(lambda: time.time() >= opened + 1, "the second in which it was opened is over")
    return pull.in_repository(world.move_repository(world.repository, installation=OTHER, owner="globex"))


def written(github: FakeGitHub, *names: str) -> list[Exchange]:
    """What the installation that it left tried to write under these names."""
    asked = [one for name in names for one in github.requests(name)]
    return [one for one in asked if one["method"] in {"POST", "PATCH"} and not one["operation"]]


def test_a_transferred_repository_keeps_its_checks_and_is_judged_by_the_installation_of_its_new_owner(
    open_world: OpenWorld,
) -> None:
    world = open_world(HASTY)
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(files=STUB)
    was = pull.check_run["id"], pull.check
    assert was[1].conclusion == "failure"

    pull = went_to_globex(world, pull)
    there, before = pull.repository.name, len(written(world.github, here.name))
    world.wait_until_idle()
    wait_for_sweep(world)
    world.wait_until_idle()
    assert (pull.check_run["id"], pull.check) == was, "what was said of it stays"
    assert read_state(world, here.name, pull.head) == ("done", "reject")
    assert read_state(world, there, pull.head)[0] == "none", "the new owner's installation remembers nothing of it"

    world.person("bob").comment(pull, "/rejudge")
    world.wait_until_idle()
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["failure"]
    assert read_state(world, there, pull.head) == ("done", "reject")

    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.person("copilot-swe-agent[bot]").push(pull, BETTER)
    world.wait_until_idle()
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]
    assert read_state(world, there, pull.head) == ("done", "accept")
    assert len(written(world.github, here.name, there)) == before, "the old owner's installation wrote nothing more"


def test_a_check_that_was_open_as_its_repository_was_transferred_is_ended_by_the_new_installation(
    open_world: OpenWorld,
) -> None:
    world = open_world(HASTY)
    world.expected_errors = ("check run not updated",)  # whose installation lost the permission is told so
    here = world.create_repository(PROJECT)
    wait_for_sweep(world)
    thought, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = went_to_globex(world, pull)
    thought.release()
    world.wait_until_idle()
    assert [(one.conclusion, one.title[: len(OLDER)]) for one in pull.checks_of(pull.head)] == [
        ("action_required", OLDER)
    ]
    refused = {one["status"] for one in written(world.github, pull.repository.name)}
    assert refused == {HTTPStatus.FORBIDDEN}, "who lost it passes nothing there"
    assert read_state(world, here.name, pull.head) == ("done", "accept")

    world.person("copilot-swe-agent[bot]").push(pull, BETTER)
    world.wait_until_idle()
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


def test_a_repository_that_went_where_the_app_is_not_installed_is_let_go(open_world: OpenWorld) -> None:
    short = {"ASSAY_CHECK_DEADLINE": "4", "ASSAY_CI_WAIT": "1", "ASSAY_ASKING": "2"}
    world = open_world(HASTY | short)
    world.expected_errors = ("check run not updated",)
    here = world.create_repository(PROJECT)
    wait_for_sweep(world)
    thought, pull = world.open_and_hold_model(accept(RETRY_AT))
    moved = world.move_repository(here, owner="bob")
    pull = pull.in_repository(moved)
    thought.release()
    world.wait_until(lambda: not world.pending_keys(), "the judging has ended")
    world.wait_until(lambda: LATE in world.product.log.tail(), "its deadline is over")
    wait_for_sweep(world)
    asked = len(written(world.github, moved.name))
    wait_for_sweep(world)
    wait_for_sweep(world)
    assert len(written(world.github, moved.name)) == asked <= MOST_TRIED, "it is not tried again and again"
    assert {one["status"] for one in written(world.github, moved.name)} == {HTTPStatus.FORBIDDEN}
    assert read_state(world, here.name, pull.head) == ("done", "accept"), "the API answers with the recorded state"
    assert len(world.model.requests) == 1
    world.forget_repository(moved)  # nobody may end its check any more
