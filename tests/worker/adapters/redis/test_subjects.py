"""One judge at a time, whatever is judged: a job admits one, a lost lease is learned, and no death loses a subject."""

from collections.abc import Iterator

import pytest

from tests.worker.adapters.redis.lanes import (
    Lane,
    another,
    dispatched,
    finish,
    give_back,
    next_job,
    on_both,
    requeue_dead,
    take,
    taken,
)
from tests.worker.adapters.redis.played import settings
from tests.world.redis import Redis
from worker.adapters.redis.store import Store, open_store
from worker.domain.lifecycle.judging import MOST_SPARE_ATTEMPTS
from worker.errors import LeaseLost


@on_both
def test_a_job_admits_one_judge(store: Store, lane: Lane) -> None:
    job = dispatched(store, lane)
    assert take(store, another(job)) is None
    taken(store, job).lease.renew()
    assert take(store, job) is None, "a job that was started twice"
    assert lane.dispatch(store) is None, "a judge has it"


@on_both
def test_what_is_finished_is_nobodys_to_judge(store: Store, lane: Lane) -> None:
    job = dispatched(store, lane)
    finish(store, taken(store, job))
    lane.expire(store)
    assert (take(store, job), lane.dispatch(store), requeue_dead(store, job)) == (None, None, False)


@on_both
def test_a_judge_that_was_not_heard_of_is_replaced_and_learns_it(store: Store, lane: Lane) -> None:
    lost = taken(store, dispatched(store, lane))
    lane.expire(store)
    newer = taken(store, next_job(store, lane))
    assert newer.attempt == 2
    with pytest.raises(LeaseLost):
        lost.lease.renew()
    newer.lease.renew()


@on_both
def test_a_killed_judge_is_replaced_immediately_and_counts(store: Store, lane: Lane) -> None:
    job = dispatched(store, lane)
    taken(store, job)
    assert requeue_dead(store, job)
    assert taken(store, next_job(store, lane)).attempt == 2


@on_both
def test_what_is_given_back_counts_as_no_attempt(store: Store, lane: Lane) -> None:
    given = taken(store, dispatched(store, lane))
    give_back(store, given)
    with pytest.raises(LeaseLost):
        given.lease.renew()
    lane.expire(store)
    assert taken(store, next_job(store, lane)).attempt == 1


# On a server of their own


@pytest.fixture
def own() -> Iterator[Redis]:
    server = Redis.started()
    yield server
    server.end()


def starts_over(redis: Redis) -> None:
    redis.kill()
    redis.start()


@on_both
def test_a_judging_that_the_end_of_redis_cut_short_counts_as_no_attempt(own: Redis, lane: Lane) -> None:
    with open_store(settings(own.url)) as store:
        lane.queue(store)
        for _ in range(2):
            taken(store, next_job(store, lane))
            starts_over(own)
            lane.expire(store)
        assert taken(store, next_job(store, lane)).attempt == 1
        lane.expire(store)
        assert taken(store, next_job(store, lane)).attempt == 2, "its judge died while Redis ran"


@on_both
def test_what_brings_redis_down_each_time_is_not_tried_for_ever(own: Redis, lane: Lane) -> None:
    with open_store(settings(own.url)) as store:
        given = taken(store, dispatched(store, lane))
        store.client.call("HSET", *lane.spared, MOST_SPARE_ATTEMPTS)
        starts_over(own)
        lane.expire(store)
        newer = taken(store, next_job(store, lane))
        assert newer.attempt == given.attempt + 1
        give_back(store, newer)
        lane.expire(store)
        taken(store, next_job(store, lane))
        starts_over(own)
        lane.expire(store)
        assert taken(store, next_job(store, lane)).attempt == 1, "the end of a judging begins the count again"
