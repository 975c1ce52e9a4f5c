"""Real processes, started and killed as users and machines do it."""

import signal

import pytest

from tests.conversations.conftest import OpenWorld
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.replies import accept, reject
from tests.world.world import World

pytestmark = pytest.mark.slow

SHORT = {"ASSAY_LEASE": "2", "ASSAY_HOLD": "2", "ASSAY_GITHUB_TIMEOUT": "1", "ASSAY_SWEEP": "0.3"}


def test_a_worker_killed_while_judging_leaves_one_verdict(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    never, pull = world.open_and_hold_model(reject("weak_test", RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.product.kill("work")
    world.product.start("work")
    world.wait_until_idle()
    never.release()

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


def test_an_event_that_comes_while_no_worker_lives_is_judged_later(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.create_repository(PROJECT)
    world.product.kill("work")
    pull = world.agent.open_pull_request(STUB)
    world.github.settle()
    assert world.repository.checks == []
    world.product.start("work")
    world.wait_until_idle()

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["failure"]


def test_a_door_killed_and_started_again_takes_the_next_delivery(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.create_repository(PROJECT)
    world.github.settle()  # what was told of that arrives
    world.product.kill("serve")
    world.start_processes("serve")
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"


def test_redis_killed_while_judging_and_started_again_loses_nothing(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.expected_errors = ("edis",)
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.github.settle()
    world.redis.kill()
    late.release()
    world.redis.start()
    world.wait_until_idle()

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


def test_what_is_started_while_redis_is_away_waits_for_it(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.expected_errors = ("Waiting for it, at most 60 s",)
    world.create_repository(PROJECT)
    world.github.settle()
    for command in ("serve", "work"):
        world.product.kill(command)
    world.redis.kill()
    for command in ("serve", "work"):
        world.product.start(command)
    for command in ("serve", "work"):
        world.wait_until(lambda: _waits(world, command), f"`assay {command}` waits")  # noqa: B023 - asked before the next one
    world.redis.start()
    world.product.wait_until_ready()
    world.github.control("hooks", url=world.product.webhook_url)
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"


def _waits(world: World, command: str) -> bool:
    return any(line.source == command and "Waiting for it" in line.text for line in world.product.log.lines)


def story(world: World) -> None:
    pull = world.open_and_judge(files=STUB)
    assert pull.check.conclusion == "failure"
    assert not world.alice.merge(pull).is_merged
    world.model.reply_with_error(401).reply_with(accept(RETRY_AT))
    world.push_and_judge(pull, RETRY)
    assert pull.check.conclusion == "action_required"
    world.comment_and_wait(pull, "/rejudge")
    assert pull.check.conclusion == "success"
    assert world.alice.merge(pull).is_merged


def test_assay_up_does_it_all_and_ends_with_one_signal(open_world: OpenWorld) -> None:
    world = open_world({}, ["up"])
    story(world)
    [up] = world.product.processes

    assert up.stop(signal.SIGINT) in {0, 130, -signal.SIGINT}
    world.product.processes.clear()


def test_assay_up_brings_its_own_redis(open_world: OpenWorld) -> None:
    world = open_world({"REDIS_URL": "", "ASSAY_STORE_KEYS": ""}, ["up"])
    story(world)
