"""Redis as a managed service runs it: TLS, a replica that takes over, `noeviction` at the limit of its memory, several servers."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.conversations.conftest import Open, is_seen
from tests.world.anthropic import Held
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.github_bench import GitHub
from tests.world.managed_redis import SERVERS, ManagedRedis
from tests.world.product import ASSAY, Process
from tests.world.pulls import Pull
from tests.world.redis import Redis
from tests.world.replies import accept
from tests.world.tester import World
from worker.adapters.redis import keys
from worker.domain.judge_request import PullRef

pytestmark = pytest.mark.slow
SHORT = {"ASSAY_LEASE": "4", "ASSAY_HOLD": "4", "ASSAY_CATCH_UP": "1"}


@pytest.fixture
def github() -> Iterator[GitHub]:
    """One of its own: a sweep finds what other stories left open, too."""
    bench = GitHub.start()
    yield bench
    bench.stop()


@pytest.fixture(params=SERVERS)
def managed(request: pytest.FixtureRequest) -> Iterator[ManagedRedis]:
    made = ManagedRedis(request.param)
    yield made
    made.end()


@pytest.fixture
def world(managed: ManagedRedis, another_world: Open) -> World:
    changes = {"REDIS_URL": managed.url, "SSL_CERT_FILE": str(managed.certificate.chain)}
    made = another_world({**SHORT, **changes})
    made.redis = managed.primary
    made.expected_errors = ("edis",)
    made.model.decides(lambda _: accept(RETRY_AT))
    made.repository(PROJECT)
    made.github.settle()
    return made


@pytest.fixture
def thought(world: World, managed: ManagedRedis) -> tuple[Held, Pull]:
    """The model thinks about a pull request, and the replica has heard of it."""
    under_way = world.judging(accept(RETRY_AT))
    world.github.settle()
    managed.replicates()
    return under_way


def takes_over(world: World, managed: ManagedRedis) -> None:
    managed.fails_over()
    looks_at(world, managed.replica)


def looks_at(world: World, redis: Redis) -> None:
    """The tests themselves, from now on."""
    world.close()
    world.__dict__.pop("_client", None)
    world.redis = redis


def is_concluded(world: World, *pulls: Pull) -> None:
    """Each has one check run with a verdict, and nothing is left to do."""
    world.until(lambda: all(pull.runs_of(pull.head) for pull in pulls), "each has its check run", 90)
    world.settles(90)
    assert [[one.conclusion for one in pull.checks_of(pull.head)] for pull in pulls] == [["success"]] * len(pulls)


def test_a_primary_that_dies_in_the_middle_of_a_judging_loses_nothing(
    world: World, managed: ManagedRedis, thought: tuple[Held, Pull]
) -> None:
    late, pull = thought
    managed.primary.kill()
    missed = world.bob.opens(ONLY_DOCUMENTATION, branch="missed")
    assert statuses(world, missed) == [503]
    late.arrives()
    takes_over(world, managed)
    is_concluded(world, pull, missed)
    assert verdicts(world, pull) == 1


def test_a_primary_that_steps_down_keeps_no_connection_of_ours(
    world: World, managed: ManagedRedis, thought: tuple[Held, Pull]
) -> None:
    late, pull = thought
    managed.demotes()
    late.arrives()
    looks_at(world, managed.replica)
    later = world.bob.opens(ONLY_DOCUMENTATION, branch="later")
    is_concluded(world, pull, later)
    assert verdicts(world, pull) == 1


def test_what_the_replica_never_heard_of_is_found_by_the_sweep(world: World, managed: ManagedRedis) -> None:
    judged = world.agent.opens(RETRY)
    is_concluded(world, judged)
    is_seen(world)
    managed.replicates()
    managed.cuts_off()
    thinking, lost = world.judging(accept(RETRY_AT), by=world.bob, branch="lost", title="Retry uploads once more")
    assert statuses(world, lost) == [202]
    assert [one.status for one in lost.checks_of(lost.head)] == ["in_progress"]
    managed.primary.kill()
    takes_over(world, managed)
    thinking.arrives()
    is_concluded(world, judged, lost)


def test_a_verdict_that_the_replica_never_heard_of_is_made_again(
    world: World, managed: ManagedRedis, thought: tuple[Held, Pull]
) -> None:
    late, pull = thought
    managed.cuts_off()
    late.arrives()
    world.until(lambda: not world.busy(), "the judging has ended")
    managed.primary.kill()
    takes_over(world, managed)
    world.until(lambda: verdicts(world, pull) == 1, "the replica has a verdict, too")
    is_concluded(world, pull)
    assert len(world.model.asked) == 2


def test_nothing_counts_that_the_replica_lacks_where_it_has_to_have_it(
    managed: ManagedRedis, another_world: Open
) -> None:
    """So a failover loses nothing: the delivery is refused, and the verdict is shown only with its entry in the ledger."""
    certificate = str(managed.certificate.chain)
    world = another_world(
        {**SHORT, "REDIS_URL": managed.url, "SSL_CERT_FILE": certificate, "ASSAY_REDIS_REPLICAS": "1"}
    )
    world.redis = managed.primary
    world.expected_errors = ("edis",)
    world.repository(PROJECT)
    late = world.model.thinks_about(accept(RETRY_AT))
    world.model.decides(lambda _: accept(RETRY_AT))
    pull = world.agent.opens(RETRY)
    late.was_asked(90)
    world.github.settle()
    managed.cuts_off()
    refused = world.bob.opens(ONLY_DOCUMENTATION, branch="refused")
    assert statuses(world, refused) == [503]
    late.arrives()
    world.until(lambda: any("tried again" in line.text for line in world.product.log.lines), "the judging is put off")
    assert [one.conclusion for one in pull.checks_of(pull.head)] == [None]
    managed.primary.kill()
    managed.fails_over()
    managed.replaces_the_replica()
    takes_over(world, managed)
    is_concluded(world, pull, refused)
    assert verdicts(world, pull) == 1


def test_at_the_limit_of_its_memory_nothing_is_half_written_and_work_goes_on_afterwards(another_world: Open) -> None:
    world = another_world(SHORT)
    world.expected_errors = ("edis", "OOM")
    late, pull = world.judging(accept(RETRY_AT))
    world.model.decides(lambda _: accept(RETRY_AT))
    world.github.settle()
    world.redis.tell("CONFIG", "SET", "maxmemory", 1)
    late.arrives()
    missed = world.bob.opens(ONLY_DOCUMENTATION, branch="missed")
    assert statuses(world, missed) == [503]
    assert world.redis.tell("EXISTS", keys.pull(ref_of(world, missed)).name) == 0
    world.redis.tell("CONFIG", "SET", "maxmemory", 0)
    is_concluded(world, pull, missed)
    assert verdicts(world, pull) == 1


def statuses(world: World, pull: Pull) -> list[object]:
    """What was answered to the deliveries about it so far."""
    world.github.settle()
    every = world.github.state(world.here.name, "deliveries")["deliveries"]
    return [
        one["status"] for one in every if one["event"] == "pull_request" and f'"number":{pull.number},' in one["body"]
    ]


def verdicts(world: World, pull: Pull) -> int:
    """In its ledger."""
    return int(world.redis.tell("HLEN", keys.ledger(ref_of(world, pull)).name))


def ref_of(world: World, pull: Pull) -> PullRef:
    numbers = {"repository_id": pull.repository.id, "number": pull.number}
    return PullRef.model_validate({"installation_id": world.installation, **numbers})


@pytest.fixture
def west() -> Iterator[Redis]:
    server = Redis.started()
    yield server
    server.end()


@pytest.fixture
def moving_world(west: Redis, another_world: Open) -> World:
    cells = {"ASSAY_CELLS": f"west={west.url}", "ASSAY_REDIS_TIMEOUT": "1"}
    made = another_world({**SHORT, **cells})
    process = Process.start("work", {**made.product.environment, "ASSAY_CELL": "west"}, made.product.log)
    made.product.processes.append(process)
    made.model.decides(lambda _: accept(RETRY_AT))
    made.repository(PROJECT)
    made.github.settle()
    return made


def test_an_installation_moves_while_deliveries_arrive_and_none_is_lost(moving_world: World, west: Redis) -> None:
    world = moving_world
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
    looks_at(world, west)
    is_concluded(world, judged, running, refused)
    later = world.agent.opens(ONLY_DOCUMENTATION, branch="later")
    is_concluded(world, later)
    assert [verdicts(world, pull) for pull in (judged, running, refused, later)] == [1, 1, 1, 1]
    assert len(world.model.asked) == 2
    assert not main.tell("KEYS", f"assay:{world.installation}:*")
