"""Processes that are killed and started again."""

import signal

import pytest

from tests.conversations.conftest import OpenWorld
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.replies import accept, reject
from tests.world.world import World

pytestmark = pytest.mark.slow

SHORT = {"ASSAY_LEASE": "2", "ASSAY_HOLD": "2", "ASSAY_GITHUB_TIMEOUT": "1", "ASSAY_SWEEP": "0.3"}


def test_worker_killed_during_judging_leaves_one_verdict(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    held_reply, pull = world.open_and_hold_model(reject("weak_test", RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.product.kill("work")
    world.wait_after(world.product.start("work"))
    held_reply.release()

    assert pull.conclusions == ["success"]


def test_delivery_without_a_worker_is_judged_later(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.create_repository(PROJECT)
    world.product.kill("work")
    pull = world.agent.open_pull_request(STUB)
    world.github.settle()
    assert world.repository.checks == []
    world.wait_after(world.product.start("work"))

    assert pull.conclusions == ["failure"]


def test_restarted_web_server_accepts_the_next_delivery(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.create_repository(PROJECT)
    world.github.settle()
    world.product.kill("serve")
    world.start_processes("serve")
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"


def test_redis_restart_during_judging_loses_nothing(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.expected_errors = ("edis",)
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.github.settle()
    world.redis.kill()
    held_reply.release()
    world.wait_after(world.redis.start())

    assert pull.conclusions == ["success"]


def test_processes_wait_for_redis_at_start(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.expected_errors = ("Waiting for it, at most 60 s",)
    world.create_repository(PROJECT)
    world.github.settle()
    world.product.kill("serve", "work")
    world.redis.kill()
    for command in ("serve", "work"):
        world.product.start(command)
    world.wait_until(lambda: is_waiting(world, "serve") and is_waiting(world, "work"))
    world.redis.start()
    world.product.wait_until_ready()
    world.github.control("hooks", url=world.product.webhook_url)
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"


def is_waiting(world: World, command: str) -> bool:
    return any(line.source == command and "Waiting for it" in line.text for line in world.product.log.lines)


def run_conversation(world: World) -> None:
    pull = world.open_and_judge(files=STUB)
    assert pull.check.conclusion == "failure"
    assert not world.alice.merge(pull).is_merged
    world.model.reply_with_error(401).reply_with(accept(RETRY_AT))
    world.push_and_judge(pull, RETRY)
    assert pull.check.conclusion == "action_required"
    world.comment_and_wait(pull, "/rejudge")
    assert pull.check.conclusion == "success"
    assert world.alice.merge(pull).is_merged


def test_assay_up_runs_everything_and_ends_with_one_signal(open_world: OpenWorld) -> None:
    world = open_world({}, ["up"])
    run_conversation(world)
    [up] = world.product.processes

    assert up.stop(signal.SIGINT) in {0, 130, -signal.SIGINT}
    world.product.processes.clear()


def test_assay_up_starts_its_own_redis(open_world: OpenWorld) -> None:
    world = open_world({"REDIS_URL": "", "ASSAY_STORE_KEYS": ""}, ["up"])
    run_conversation(world)
