"""Leases of pull requests and merge groups: one judge holds one, and a lost judge is replaced."""

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
def test_job_gives_one_lease(store: Store, subject_kind: SubjectKind) -> None:
    job = dispatch_subject(store, subject_kind)
    assert take_lease(store, another_job(job)) is None
    take_valid_lease(store, job).lease.renew()
    assert take_lease(store, job) is None, "the job has a judge"
    assert subject_kind.dispatch(store) is None, "the subject is leased"


@for_both_kinds
def test_finished_subject_is_not_judged_again(store: Store, subject_kind: SubjectKind) -> None:
    job = dispatch_subject(store, subject_kind)
    finish(store, take_valid_lease(store, job))
    subject_kind.expire(store)
    assert (take_lease(store, job), subject_kind.dispatch(store), requeue_dead(store, job)) == (None, None, False)


@for_both_kinds
def test_expired_lease_is_given_to_another_judge(store: Store, subject_kind: SubjectKind) -> None:
    lost = take_valid_lease(store, dispatch_subject(store, subject_kind))
    subject_kind.expire(store)
    newer = take_valid_lease(store, next_job(store, subject_kind))
    assert newer.attempt == 2
    with pytest.raises(LeaseLost):
        lost.lease.renew()
    newer.lease.renew()


@for_both_kinds
def test_killed_judge_is_replaced_immediately_and_counts(store: Store, subject_kind: SubjectKind) -> None:
    job = dispatch_subject(store, subject_kind)
    take_valid_lease(store, job)
    assert requeue_dead(store, job)
    assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 2


@for_both_kinds
def test_postponed_judging_counts_as_no_attempt(store: Store, subject_kind: SubjectKind) -> None:
    leased = take_valid_lease(store, dispatch_subject(store, subject_kind))
    postpone(store, leased)
    with pytest.raises(LeaseLost):
        leased.lease.renew()
    subject_kind.expire(store)
    assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 1


def restart(server: RedisServer) -> None:
    server.kill()
    server.start()


@for_both_kinds
def test_judging_that_a_restart_interrupts_counts_as_no_attempt(
    own_server: RedisServer, subject_kind: SubjectKind
) -> None:
    with open_store(settings_for(own_server.url)) as store:
        subject_kind.queue(store)
        for _ in range(2):
            take_valid_lease(store, next_job(store, subject_kind))
            restart(own_server)
            subject_kind.expire(store)
        assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 1
        subject_kind.expire(store)
        assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 2, "the judge was lost while Redis ran"


@for_both_kinds
def test_judging_that_stops_redis_each_time_counts_at_last(own_server: RedisServer, subject_kind: SubjectKind) -> None:
    with open_store(settings_for(own_server.url)) as store:
        leased = take_valid_lease(store, dispatch_subject(store, subject_kind))
        store.client.call("HSET", *subject_kind.spared_attempts, MOST_SPARE_ATTEMPTS)
        restart(own_server)
        subject_kind.expire(store)
        newer = take_valid_lease(store, next_job(store, subject_kind))
        assert newer.attempt == leased.attempt + 1
        postpone(store, newer)
        subject_kind.expire(store)
        take_valid_lease(store, next_job(store, subject_kind))
        restart(own_server)
        subject_kind.expire(store)
        assert take_valid_lease(store, next_job(store, subject_kind)).attempt == 1, (
            "the end of a judging resets the count"
        )
