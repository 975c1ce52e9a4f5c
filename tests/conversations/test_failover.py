"""Managed Redis: TLS, failover, full memory and several servers."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.conversations.conftest import OpenWorld, wait_for_sweep
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.fake_anthropic import HeldReply
from tests.world.fake_github import FakeGitHub
from tests.world.managed_redis import SERVERS, ManagedRedis
from tests.world.product import ASSAY, Process
from tests.world.pull_requests import PullRequest
from tests.world.redis import RedisServer
from tests.world.replies import accept
from tests.world.world import World
from worker.adapters.redis import keys
from worker.domain.judge_request import PullRef

pytestmark = pytest.mark.slow
SHORT = {"ASSAY_LEASE": "4", "ASSAY_HOLD": "4", "ASSAY_CATCH_UP": "1"}


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    """A separate GitHub, because the sweep also finds what other tests left open."""
    fake = FakeGitHub.start()
    yield fake
    fake.stop()


@pytest.fixture(params=SERVERS)
def managed_redis(request: pytest.FixtureRequest) -> Iterator[ManagedRedis]:
    made = ManagedRedis(request.param)
    yield made
    made.end()


@pytest.fixture
def world(managed_redis: ManagedRedis, open_world: OpenWorld) -> World:
    changes = {"REDIS_URL": managed_redis.url, "SSL_CERT_FILE": str(managed_redis.certificate.chain)}
    made = open_world({**SHORT, **changes})
    made.redis = managed_redis.primary
    made.expected_errors = ("edis",)
    made.model.reply_by(lambda _: accept(RETRY_AT))
    made.create_repository(PROJECT)
    made.github.settle()
    return made


@pytest.fixture
def held_judging(world: World, managed_redis: ManagedRedis) -> tuple[HeldReply, PullRequest]:
    """A judging that waits for its reply, and that the replica knows."""
    under_way = world.open_and_hold_model(accept(RETRY_AT))
    world.github.settle()
    managed_redis.wait_for_replica()
    return under_way


def promote_replica(world: World, managed_redis: ManagedRedis) -> None:
    managed_redis.fail_over()
    read_from(world, managed_redis.replica)


def read_from(world: World, redis: RedisServer) -> None:
    """Have the test read from *redis*."""
    world.close()
    world.__dict__.pop("_client", None)
    world.redis = redis


def assert_accepted(world: World, *pulls: PullRequest) -> None:
    world.wait_until(lambda: all(pull.check_runs_of(pull.head) for pull in pulls), "each has a check run", 90)
    world.wait_until_idle(90)
    assert [pull.conclusions for pull in pulls] == [["success"]] * len(pulls)


def test_dying_primary_loses_no_judging(
    world: World, managed_redis: ManagedRedis, held_judging: tuple[HeldReply, PullRequest]
) -> None:
    held_reply, pull = held_judging
    managed_redis.primary.kill()
    missed = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="missed")
    assert read_statuses(world, missed) == [503]
    held_reply.release()
    promote_replica(world, managed_redis)
    assert_accepted(world, pull, missed)
    assert count_verdicts(world, pull) == 1


def test_demoted_primary_keeps_no_connection(
    world: World, managed_redis: ManagedRedis, held_judging: tuple[HeldReply, PullRequest]
) -> None:
    held_reply, pull = held_judging
    managed_redis.demote()
    held_reply.release()
    read_from(world, managed_redis.replica)
    later = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="later")
    assert_accepted(world, pull, later)
    assert count_verdicts(world, pull) == 1


def test_sweep_finds_head_that_never_reached_the_replica(world: World, managed_redis: ManagedRedis) -> None:
    judged = world.agent.open_pull_request(RETRY)
    assert_accepted(world, judged)
    wait_for_sweep(world)
    managed_redis.wait_for_replica()
    managed_redis.cut_off_replica()
    held_reply, lost = world.open_and_hold_model(accept(RETRY_AT), by=world.bob, branch="lost", title="Retry once more")
    assert read_statuses(world, lost) == [202]
    assert [check.status for check in lost.checks_of(lost.head)] == ["in_progress"]
    managed_redis.primary.kill()
    promote_replica(world, managed_redis)
    held_reply.release()
    assert_accepted(world, judged, lost)


def test_verdict_that_never_reached_the_replica_is_made_again(
    world: World, managed_redis: ManagedRedis, held_judging: tuple[HeldReply, PullRequest]
) -> None:
    held_reply, pull = held_judging
    managed_redis.cut_off_replica()
    held_reply.release()
    world.wait_until(lambda: not world.pending_keys())
    managed_redis.primary.kill()
    promote_replica(world, managed_redis)
    world.wait_until(lambda: count_verdicts(world, pull) == 1)
    assert_accepted(world, pull)
    assert len(world.model.requests) == 2


def test_nothing_is_confirmed_before_the_replica_has_it(managed_redis: ManagedRedis, open_world: OpenWorld) -> None:
    settings = {"REDIS_URL": managed_redis.url, "SSL_CERT_FILE": str(managed_redis.certificate.chain)}
    world = open_world({**SHORT, **settings, "ASSAY_REDIS_REPLICAS": "1"})
    world.redis = managed_redis.primary
    world.expected_errors = ("edis",)
    world.create_repository(PROJECT)
    held_reply = world.model.hold_reply(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    held_reply.wait_for_request(90)
    world.github.settle()
    managed_redis.cut_off_replica()
    refused = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="refused")
    assert read_statuses(world, refused) == [503]
    held_reply.release()
    world.wait_until(lambda: any("judging postponed" in line.text for line in world.product.log.lines))
    assert pull.conclusions == [None]
    managed_redis.primary.kill()
    managed_redis.fail_over()
    managed_redis.replace_replica()
    promote_replica(world, managed_redis)
    assert_accepted(world, pull, refused)
    assert count_verdicts(world, pull) == 1


def test_full_memory_leaves_nothing_half_written(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.expected_errors = ("edis", "OOM")
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.github.settle()
    world.redis.execute("CONFIG", "SET", "maxmemory", 1)
    held_reply.release()
    missed = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="missed")
    assert read_statuses(world, missed) == [503]
    assert world.redis.execute("EXISTS", keys.pull(build_pull_ref(world, missed)).name) == 0
    world.redis.execute("CONFIG", "SET", "maxmemory", 0)
    assert_accepted(world, pull, missed)
    assert count_verdicts(world, pull) == 1


def read_statuses(world: World, pull: PullRequest) -> list[object]:
    """The statuses of its deliveries."""
    world.github.settle()
    deliveries = world.github.state(world.repository.name, "deliveries")["deliveries"]
    return [
        delivery["status"]
        for delivery in deliveries
        if delivery["event"] == "pull_request" and f'"number":{pull.number},' in delivery["body"]
    ]


def count_verdicts(world: World, pull: PullRequest) -> int:
    return int(world.redis.execute("HLEN", keys.ledger(build_pull_ref(world, pull)).name))


def build_pull_ref(world: World, pull: PullRequest) -> PullRef:
    numbers = {"repository_id": pull.repository.id, "number": pull.number}
    return PullRef.model_validate({"installation_id": world.installation, **numbers})


@pytest.fixture
def west() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.fixture
def moving_world(west: RedisServer, open_world: OpenWorld) -> World:
    cells = {"ASSAY_CELLS": f"west={west.url}", "ASSAY_REDIS_TIMEOUT": "1"}
    made = open_world({**SHORT, **cells})
    process = Process.start("work", {**made.product.environment, "ASSAY_CELL": "west"}, made.product.log)
    made.product.processes.append(process)
    made.model.reply_by(lambda _: accept(RETRY_AT))
    made.create_repository(PROJECT)
    made.github.settle()
    return made


def test_moving_installation_loses_no_delivery(moving_world: World, west: RedisServer) -> None:
    world = moving_world
    judged = world.agent.open_pull_request(RETRY)
    assert_accepted(world, judged)
    main = world.redis
    held_reply, running = world.open_and_hold_model(
        accept(RETRY_AT), by=world.bob, branch="running", title="Retry once more"
    )
    world.github.settle()

    command = [str(ASSAY), "move", str(world.installation), "--to", "west"]
    with subprocess.Popen(command, env=dict(world.product.environment), stderr=subprocess.PIPE, text=True) as moving:
        assert moving.stderr is not None
        assert moving.stderr.readline().startswith("west moving main")
        refused = world.alice.open_pull_request(ONLY_DOCUMENTATION, branch="refused")
        assert set(read_statuses(world, refused)) == {503}
        held_reply.release()
        assert moving.wait(120) == 0, moving.stderr.read()
    read_from(world, west)
    assert_accepted(world, judged, running, refused)
    later = world.agent.open_pull_request(ONLY_DOCUMENTATION, branch="later")
    assert_accepted(world, later)
    assert [count_verdicts(world, pull) for pull in (judged, running, refused, later)] == [1, 1, 1, 1]
    assert len(world.model.requests) == 2
    assert not main.execute("KEYS", f"assay:{world.installation}:*")
