"""`python -m worker` as it runs in production, with scripted handlers."""

import signal
from functools import partial

import pytest

from tests.worker.adapters.redis.lanes import Lane, on_both
from tests.worker.adapters.redis.played import HEAD, becomes, pull, settings, wish
from tests.worker.scheduling.scripted_judging import NO_PULL, World
from tests.worker.scheduling.worker_processes import Working, harm
from tests.world.redis import Redis
from worker.adapters.redis.connection.client import blob, items, text, whole
from worker.adapters.redis.store import Store, open_store
from worker.scheduling.queue import KEEP_FAILURES

pytestmark = pytest.mark.slow
CHECK = f"100/1 {HEAD}"


def test_a_request_is_judged_in_a_process_of_its_own_and_all_end_on_request(
    redis_server: Redis, store: Store, world: World
) -> None:
    with Working.on(redis_server.url) as working:
        store.pulls.request_judging(wish())
        assert becomes(lambda: world.checks().get(CHECK) == "failure: judged")
        parent = world.story("began")[0]["parent"]
        assert parent in working.hands
        assert working.stop() == 0
        assert '"level": "error"' not in working.log


def test_the_only_worker_is_free_for_others_whatever_strangers_have_judged(
    redis_server: Redis, store: Store, world: World
) -> None:
    world.order(pull(), "think 600")
    with Working.on(redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600"):
        for number in (1, 3):
            store.pulls.request_judging(wish(number, outside=True))
        assert becomes(lambda: world.story("began"))
        store.pulls.request_judging(wish(2))
        assert becomes(lambda: world.checks().get(f"100/2 {HEAD}") == "failure: judged")
        assert len(world.story("began")) == 2


@on_both
def test_a_killed_judge_is_replaced_long_before_its_lease_ends(
    redis_server: Redis, store: Store, world: World, lane: Lane
) -> None:
    world.order(NO_PULL, "hand over", "hand over")
    world.order(pull(lane.orders), "think 600")
    with Working.on(redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600") as working:
        lane.queue(store)
        assert becomes(lambda: world.story(lane.story))
        harm(working.horses[0], signal.SIGKILL)
        assert becomes(lambda: len(world.story(lane.story)) == 2)
        assert becomes(lambda: lane.is_over(store))
        assert '"a judge was killed"' in working.log


def test_a_job_leaves_nothing_behind_in_redis_but_a_failure_without_its_words(
    redis_server: Redis, store: Store, world: World
) -> None:
    world.order(pull(2), "bug a_line_of_a_private_source")
    with Working.on(redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600") as working:
        store.pulls.request_judging(wish())
        assert becomes(lambda: world.checks().get(CHECK) == "failure: judged")
        assert becomes(lambda: left_by_jobs(store) == [])
        store.pulls.request_judging(wish(2))
        assert becomes(lambda: "rq:failed:judge" in left_by_jobs(store))
        assert becomes(lambda: len(failed := jobs_of(store)) == 1 and failed[0].startswith("rq:job:judge-"))
        assert becomes(lambda: not any(key.startswith("rq:execution") for key in left_by_jobs(store)))
        assert '"a judge was killed"' not in working.log
    [job] = jobs_of(store)
    assert text(store.client.call("HGET", job, "status")) == "failed"
    assert 0 < whole(store.client.call("TTL", job)) <= KEEP_FAILURES.total_seconds()
    for key in left_by_jobs(store):
        assert b"private" not in blob(store.client.call("DUMP", key))


def jobs_of(store: Store) -> list[str]:
    """Those that wait, are at work or failed: what is looked at beside a judging is over at its own time."""
    return [key for key in left_by_jobs(store) if key.startswith("rq:job:")]


def left_by_jobs(store: Store) -> list[str]:
    """RQ's keys but those that say which queues and workers there are."""
    found = [text(key) for key in items(store.client.call("KEYS", "rq:*"))]
    return sorted(key for key in found if key != "rq:queues" and not key.startswith(("rq:worker", "rq:clean_")))


@pytest.mark.parametrize("grace_s", ["0", "1.5"])
def test_what_was_judged_when_all_was_stopped_is_judged_at_the_next_start(
    redis_server: Redis, store: Store, world: World, grace_s: str
) -> None:
    start = partial(Working.on, redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600", ASSAY_STOP_GRACE=grace_s)
    world.order(pull(), "think 600")
    with start() as working:
        store.pulls.request_judging(wish())
        assert becomes(lambda: world.story("began"))
        assert working.stop() == 0
    with start():
        assert becomes(lambda: world.checks().get(CHECK) == "failure: judged")


def test_a_dossier_that_kills_every_judge_is_given_up(redis_server: Redis, store: Store, world: World) -> None:
    world.order(pull(), *["crash"] * 20)
    with Working.on(redis_server.url, ASSAY_RETRIES="2"):
        store.pulls.request_judging(wish())
        assert becomes(lambda: world.checks().get(CHECK, "").startswith("action_required"))
    assert len(world.story("began")) == 3


def test_jobs_die_with_their_machine_and_are_done_by_the_next(redis_server: Redis, store: Store, world: World) -> None:
    world.order(pull(), "think 600")
    with Working.on(redis_server.url) as working:
        store.pulls.request_judging(wish())
        assert becomes(lambda: world.story("began"))
        assert working.horses
        working.kill()
    assert store.pulls.find_request(pull()) is not None
    with Working.on(redis_server.url):
        assert becomes(lambda: world.checks().get(CHECK) == "failure: judged")


def test_an_outage_of_redis_is_outlived() -> None:
    redis = Redis.started()
    try:
        with Working.on(redis.url) as working, open_store(settings(redis.url)) as store:
            redis.kill()
            redis.start()
            store.pulls.request_judging(wish())
            assert becomes(lambda: World(store).checks().get(CHECK) == "failure: judged", 60), working.log
    finally:
        redis.end()
