"""Several Redis servers share the work, and an installation moves from one to another while people go on."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.conversations.conftest import Open
from tests.conversations.test_failover import SHORT, is_concluded, statuses, verdicts
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.github_bench import GitHub
from tests.world.product import ASSAY, Process
from tests.world.redis import Redis
from tests.world.replies import accept
from tests.world.tester import World

pytestmark = pytest.mark.slow


@pytest.fixture
def github() -> Iterator[GitHub]:
    """One of its own: a sweep finds what other stories left open, too."""
    bench = GitHub.start()
    yield bench
    bench.stop()


@pytest.fixture
def west() -> Iterator[Redis]:
    server = Redis.started()
    yield server
    server.end()


@pytest.fixture
def world(west: Redis, another_world: Open) -> World:
    cells = {"ASSAY_CELLS": f"west={west.url}", "ASSAY_REDIS_TIMEOUT": "1"}
    made = another_world({**SHORT, **cells})
    process = Process.start("work", {**made.product.environment, "ASSAY_CELL": "west"}, made.product.log)
    made.product.processes.append(process)
    made.repository(PROJECT)
    made.github.settle()
    return made


def test_an_installation_moves_while_deliveries_arrive_and_none_is_lost(world: World, west: Redis) -> None:
    world.model.decides(lambda _: accept(RETRY_AT))
    judged = world.agent.opens(RETRY)
    is_concluded(world, judged)
    main = world.redis
    thinking, running = world.judging(accept(RETRY_AT), by=world.bob, branch="running", title="Retry uploads once more")
    world.github.settle()

    command = [str(ASSAY), "move", str(world.installation), "--to", "west"]
    with subprocess.Popen(command, env=dict(world.product.environment), stderr=subprocess.PIPE, text=True) as moving:
        assert moving.stderr is not None
        assert moving.stderr.readline().startswith("west moving main")
        refused = world.alice.opens(ONLY_DOCUMENTATION, branch="refused")
        assert set(statuses(world, refused)) == {503}
        thinking.arrives()
        assert moving.wait(120) == 0, moving.stderr.read()
    world.close()
    world.__dict__.pop("_client", None)
    world.redis = west
    is_concluded(world, judged, running, refused)
    later = world.agent.opens(ONLY_DOCUMENTATION, branch="later")
    is_concluded(world, later)
    assert [verdicts(world, pull) for pull in (judged, running, refused, later)] == [1, 1, 1, 1]
    assert len(world.model.asked) == 2
    assert not main.tell("KEYS", f"assay:{world.installation}:*")
