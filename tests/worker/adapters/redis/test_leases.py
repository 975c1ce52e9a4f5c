"""One judge at a time, whatever is judged: a job admits one, a lost lease is learned, and no death loses a subject."""

from collections.abc import Iterator

import pytest

from tests.worker.adapters.redis.store_samples import settings_for
from tests.worker.adapters.redis.subject_kinds import (
    SubjectKind,
    another_job,
    dispatch_subject,
    finish,
    for_both_kinds,
    next_job,
    postpone,
    requeue_dead,
    take_lease,
    take_valid_lease,
)
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store
from worker.domain.lifecycle.judging import MOST_SPARE_ATTEMPTS
from worker.errors import LeaseLost


@for_both_kinds
def test_a_job_admits_one_judge(store: Store, subject_kind: SubjectKind) -> None:
    job = dispatch_subject(store, subject_kind)
    assert take_lease(store, another_job(job)) is None
    take_valid_lease(store, job).lease.renew()
    assert take_lease(store, job) is None, "a job that was started twice"
    assert subject_kind.dispatch(store) is None, "a judge has it"


@for_both_kinds
def test_what_is_finished_is_nobodys_to_judge(store: Store, subject_kind: SubjectKind) -> None:
    job = dispatch_subject(store, subject_kind)
    finish(store, take_valid_lease(store, job))
    subject_kind.expire(store)
    assert (take_lease(store, job), subject_kind.dispatch(store), requeue_dead(store, job)) == (None, None, False)


@for_both_kinds
def test_a_judge_that_was_not_heard_of_is_replaced_and_learns_it(store: Store, subject_kind: SubjectKind) -> None:
    lost = take_valid_lease(store, dispatch_subject(store, subject_kind))
    subject_kind.expire(store)
    newer = take_valid_lease(store, next_job(store, subject_kind))
    assert newer.attempt == 2
    with pytest.raises(LeaseLost):
        lost.lease.renew()
    newer.lease.renew()


@for_both_kinds
def test_a_killed_judge_is_replaced_immediately_and_counts(store: Store, subject_kind: SubjectKind) -> None:
    job = dispatch_subject(store, subject_kind)
    take_valid_lease(store, job)
    assert requeue_dead(store, job)
    assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 2


@for_both_kinds
def test_what_is_given_back_counts_as_no_attempt(store: Store, subject_kind: SubjectKind) -> None:
    given = take_valid_lease(store, dispatch_subject(store, subject_kind))
    postpone(store, given)
    with pytest.raises(LeaseLost):
        given.lease.renew()
    subject_kind.expire(store)
    assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 1


# On a server of their own


@pytest.fixture
def own() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


def starts_over(redis: RedisServer) -> None:
    redis.kill()
    redis.start()


@for_both_kinds
def test_a_judging_that_the_end_of_redis_cut_short_counts_as_no_attempt(
    own: RedisServer, subject_kind: SubjectKind
) -> None:
    with open_store(settings_for(own.url)) as store:
        subject_kind.queue(store)
        for _ in range(2):
            take_valid_lease(store, next_job(store, subject_kind))
            starts_over(own)
            subject_kind.expire(store)
        assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 1
        subject_kind.expire(store)
        assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 2, "its judge died while Redis ran"


@for_both_kinds
def test_what_brings_redis_down_each_time_is_not_tried_for_ever(own: RedisServer, subject_kind: SubjectKind) -> None:
    with open_store(settings_for(own.url)) as store:
        given = take_valid_lease(store, dispatch_subject(store, subject_kind))
        store.client.call("HSET", *subject_kind.spared_attempts, MOST_SPARE_ATTEMPTS)
        starts_over(own)
        subject_kind.expire(store)
        newer = take_valid_lease(store, next_job(store, subject_kind))
        assert newer.attempt == given.attempt + 1
        postpone(store, newer)
        subject_kind.expire(store)
        take_valid_lease(store, next_job(store, subject_kind))
        starts_over(own)
        subject_kind.expire(store)
        assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 1, (
            "the end of a judging begins the count again"
        )
