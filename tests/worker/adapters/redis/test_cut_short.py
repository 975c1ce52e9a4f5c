"""Judgings of pull requests and of merge groups that the end of Redis cut short, on a server of their own."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count

import pytest

from tests.worker.adapters.redis.played import lease_runs_out, pull, settings, wish
from tests.worker.adapters.redis.test_merge_groups import group, runs_out
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store, open_store
from worker.domain.lifecycle.judging import MOST_SPARE_ATTEMPTS
from worker.domain.lifecycle.work import DispatchLimits, LeasedJob, PendingGroup, QueuedGroup

QUEUE = "rq:queue:judge"
CALLS = count(1)


@pytest.fixture
def own() -> Iterator[Redis]:
    server = Redis.started()
    yield server
    server.end()


def taken(store: Store) -> LeasedJob:
    """The judging that comes next, begun."""
    job = store.pulls.next_due(f"call-{next(CALLS)}", DispatchLimits(10, 100))
    assert job is not None
    begun = store.pulls.take_lease(job.request.pull, job.fence)
    assert begun is not None
    return begun


def starts_anew(redis: Redis) -> None:
    redis.kill()
    redis.start()


def test_a_judging_that_the_end_of_redis_cut_short_counts_as_no_try(own: Redis) -> None:
    with open_store(settings(own.url)) as store:
        store.pulls.request_judging(wish())
        for _ in range(2):
            taken(store)
            starts_anew(own)
            lease_runs_out(store, pull())
            assert store.pulls.requeue_lost(QUEUE) == 1
        assert taken(store).attempt == 1


def test_a_judging_that_was_cut_short_while_redis_ran_counts(own: Redis) -> None:
    with open_store(settings(own.url)) as store:
        store.pulls.request_judging(wish())
        starts_anew(own)
        taken(store)
        lease_runs_out(store, pull())
        assert store.pulls.requeue_lost(QUEUE) == 1
        assert taken(store).attempt == 2


def test_what_brings_redis_down_each_time_is_not_tried_for_ever(own: Redis) -> None:
    with open_store(settings(own.url)) as store:
        store.pulls.request_judging(wish())
        store.client.call("HSET", keys.pull(pull()).name, "spared", MOST_SPARE_ATTEMPTS)
        taken(store)
        starts_anew(own)
        lease_runs_out(store, pull())
        assert store.pulls.requeue_lost(QUEUE) == 1
        assert taken(store).attempt == 2


def looked_at(store: Store) -> PendingGroup:
    """The group, when its next turn comes."""
    runs_out(store)
    found = store.groups.next()
    assert found is not None
    return found


def test_a_look_at_a_merge_group_that_the_end_of_redis_cut_short_counts_as_no_try(own: Redis) -> None:
    with open_store(settings(own.url)) as store:
        store.groups.put(group())
        for _ in range(2):
            assert looked_at(store).attempt == 1
            assert store.groups.take_lease(group().id, store.groups.dispatch(group()) or "") is not None
            starts_anew(own)
        assert looked_at(store).attempt == 1
        assert looked_at(store).attempt == 2, "somebody died while it ran"
        store.groups.complete(group())
        assert store.client.call("EXISTS", *[one.name for one in GROUPS.keys]) == 0


def test_a_merge_group_that_brings_redis_down_each_time_is_not_tried_for_ever(own: Redis) -> None:
    with open_store(settings(own.url)) as store:
        store.groups.put(group())
        looked_at(store)
        store.client.call("HSET", GROUPS.tries.name, f"{group().id} spared", MOST_SPARE_ATTEMPTS)
        starts_anew(own)
        assert looked_at(store).attempt == 2
        store.groups.postpone(QueuedGroup(group=group()), timedelta(0))
        starts_anew(own)
        assert looked_at(store).attempt == 1
