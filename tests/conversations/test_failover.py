"""Redis as a managed service runs it: TLS, a replica that takes over, `noeviction` at the limit of its memory, several servers."""

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
    """One of its own: a sweep finds what other stories left open, too."""
    bench = FakeGitHub.start()
    yield bench
    bench.stop()


@pytest.fixture(params=SERVERS)
def managed(request: pytest.FixtureRequest) -> Iterator[ManagedRedis]:
    made = ManagedRedis(request.param)
    yield made
    made.end()


@pytest.fixture
def world(managed: ManagedRedis, open_world: OpenWorld) -> World:
    changes = {"REDIS_URL": managed.url, "SSL_CERT_FILE": str(managed.certificate.chain)}
    made = open_world({**SHORT, **changes})
    made.redis = managed.primary
    made.expected_errors = ("edis",)
    made.model.reply_by(lambda _: accept(RETRY_AT))
    made.create_repository(PROJECT)
    made.github.settle()
    return made


@pytest.fixture
def thought(world: World, managed: ManagedRedis) -> tuple[HeldReply, PullRequest]:
    """The model thinks about a pull request, and the replica has heard of it."""
    under_way = world.open_and_hold_model(accept(RETRY_AT))
    world.github.settle()
    managed.wait_for_replica()
    return under_way


def takes_over(world: World, managed: ManagedRedis) -> None:
    managed.fail_over()
    looks_at(world, managed.replica)


def looks_at(world: World, redis: RedisServer) -> None:
    """The tests themselves, from now on."""
    world.close()
    world.__dict__.pop("_client", None)
    world.redis = redis


def is_concluded(world: World, *pulls: PullRequest) -> None:
    """Each has one check run with a verdict, and nothing is left to do."""
    world.wait_until(lambda: all(pull.check_runs_of(pull.head) for pull in pulls), "each has its check run", 90)
    world.wait_until_idle(90)
    assert [[one.conclusion for one in pull.checks_of(pull.head)] for pull in pulls] == [["success"]] * len(pulls)


def test_a_primary_that_dies_in_the_middle_of_a_judging_loses_nothing(
    world: World, managed: ManagedRedis, thought: tuple[HeldReply, PullRequest]
) -> None:
    late, pull = thought
    managed.primary.kill()
    missed = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="missed")
    assert statuses(world, missed) == [503]
    late.release()
    takes_over(world, managed)
    is_concluded(world, pull, missed)
    assert verdicts(world, pull) == 1


def test_a_primary_that_steps_down_keeps_no_connection_of_ours(
    world: World, managed: ManagedRedis, thought: tuple[HeldReply, PullRequest]
) -> None:
    late, pull = thought
    managed.demote()
    late.release()
    looks_at(world, managed.replica)
    later = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="later")
    is_concluded(world, pull, later)
    assert verdicts(world, pull) == 1


def test_what_the_replica_never_heard_of_is_found_by_the_sweep(world: World, managed: ManagedRedis) -> None:
    judged = world.agent.open_pull_request(RETRY)
    is_concluded(world, judged)
    wait_for_sweep(world)
    managed.wait_for_replica()
    managed.cut_off_replica()
    thinking, lost = world.open_and_hold_model(
        accept(RETRY_AT), by=world.bob, branch="lost", title="Retry uploads once more"
    )
    assert statuses(world, lost) == [202]
    assert [one.status for one in lost.checks_of(lost.head)] == ["in_progress"]
    managed.primary.kill()
    takes_over(world, managed)
    thinking.release()
    is_concluded(world, judged, lost)


def test_a_verdict_that_the_replica_never_heard_of_is_made_again(
    world: World, managed: ManagedRedis, thought: tuple[HeldReply, PullRequest]
) -> None:
    late, pull = thought
    managed.cut_off_replica()
    late.release()
    world.wait_until(lambda: not world.pending_keys(), "the judging has ended")
    managed.primary.kill()
    takes_over(world, managed)
    world.wait_until(lambda: verdicts(world, pull) == 1, "the replica has a verdict, too")
    is_concluded(world, pull)
    assert len(world.model.requests) == 2


def test_nothing_counts_that_the_replica_lacks_where_it_has_to_have_it(
    managed: ManagedRedis, open_world: OpenWorld
) -> None:
    """So a failover loses nothing: the delivery is refused, and the verdict is shown only with its entry in the ledger."""
    certificate = str(managed.certificate.chain)
    world = open_world({**SHORT, "REDIS_URL": managed.url, "SSL_CERT_FILE": certificate, "ASSAY_REDIS_REPLICAS": "1"})
    world.redis = managed.primary
    world.expected_errors = ("edis",)
    world.create_repository(PROJECT)
    late = world.model.hold_reply(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    late.wait_for_request(90)
    world.github.settle()
    managed.cut_off_replica()
    refused = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="refused")
    assert statuses(world, refused) == [503]
    late.release()
    world.wait_until(
        lambda: any("judging postponed" in line.text for line in world.product.log.lines), "the judging is put off"
    )
    assert [one.conclusion for one in pull.checks_of(pull.head)] == [None]
    managed.primary.kill()
    managed.fail_over()
    managed.replace_replica()
    takes_over(world, managed)
    is_concluded(world, pull, refused)
    assert verdicts(world, pull) == 1


def test_at_the_limit_of_its_memory_nothing_is_half_written_and_work_goes_on_afterwards(
    open_world: OpenWorld,
) -> None:
    world = open_world(SHORT)
    world.expected_errors = ("edis", "OOM")
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.github.settle()
    world.redis.execute("CONFIG", "SET", "maxmemory", 1)
    late.release()
    missed = world.bob.open_pull_request(ONLY_DOCUMENTATION, branch="missed")
    assert statuses(world, missed) == [503]
    assert world.redis.execute("EXISTS", keys.pull(ref_of(world, missed)).name) == 0
    world.redis.execute("CONFIG", "SET", "maxmemory", 0)
    is_concluded(world, pull, missed)
    assert verdicts(world, pull) == 1


def statuses(world: World, pull: PullRequest) -> list[object]:
    """What was answered to the deliveries about it so far."""
    world.github.settle()
    every = world.github.state(world.repository.name, "deliveries")["deliveries"]
    return [
        one["status"] for one in every if one["event"] == "pull_request" and f'"number":{pull.number},' in one["body"]
    ]


def verdicts(world: World, pull: PullRequest) -> int:
    """In its ledger."""
    return int(world.redis.execute("HLEN", keys.ledger(ref_of(world, pull)).name))


def ref_of(world: World, pull: PullRequest) -> PullRef:
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


def test_an_installation_moves_while_deliveries_arrive_and_none_is_lost(moving_world: World, west: RedisServer) -> None:
    world = moving_world
    judged = world.agent.open_pull_request(RETRY)
    is_concluded(world, judged)
    main = world.redis
    thinking, running = world.open_and_hold_model(
        accept(RETRY_AT), by=world.bob, branch="running", title="Retry uploads once more"
    )
    world.github.settle()

    command = [str(ASSAY), "move", str(world.installation), "--to", "west"]
    with subprocess.Popen(command, env=dict(world.product.environment), stderr=subprocess.PIPE, text=True) as moving:
        assert moving.stderr is not None
        assert moving.stderr.readline().startswith("west moving main")
        refused = world.alice.open_pull_request(ONLY_DOCUMENTATION, branch="refused")
        assert set(statuses(world, refused)) == {503}
        thinking.release()
        assert moving.wait(120) == 0, moving.stderr.read()
    looks_at(world, west)
    is_concluded(world, judged, running, refused)
    later = world.agent.open_pull_request(ONLY_DOCUMENTATION, branch="later")
    is_concluded(world, later)
    assert [verdicts(world, pull) for pull in (judged, running, refused, later)] == [1, 1, 1, 1]
    assert len(world.model.requests) == 2
    assert not main.execute("KEYS", f"assay:{world.installation}:*")
