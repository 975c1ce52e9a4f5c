"""Check runs in Redis: their states, their creation by one process, and the search for expired and orphaned ones."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    expire_hold,
    judge_request,
    pull_ref,
    require,
    settings_for,
    start_judging,
    start_judging_new,
)
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.store import Store, open_store
from worker.domain.check.check_run import CheckContent
from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.check_runs import CREATION_STARTED, CheckRunState
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import ExpiredCheckRun
from worker.domain.model import CheckRunId, DeliveryId
from worker.errors import Unavailable
from worker.settings import Timing

CHECK = CheckRunId(77)
EXPIRED = ExpiredCheckRun(pull=pull_ref(), head_sha=HEAD, check=CHECK)
OPEN = CheckRunState(CHECK, None, CHECK, 1)
LOST = CheckRunState(open_check=CREATION_STARTED)


def read_state(store: Store) -> CheckRunState:
    """The state recorded for HEAD, with its deadline reduced to 1."""
    recorded = store.checks().find(pull_ref(), HEAD)
    deadline = None if recorded.deadline is None else 1
    if recorded.deadline is not None:
        assert recorded.deadline / 1000 == pytest.approx(time.time() + store.timing.check_deadline, abs=60)
    assert store.client.call("ZCARD", keys.DEADLINES.name) == (deadline or 0)
    assert store.client.call("HLEN", keys.DEADLINE_NOTES.name) == (deadline or 0)
    return recorded._replace(deadline=deadline)


def test_each_change_of_a_check_run_is_read_back(store: Store) -> None:
    checks, ids = store.checks(), (pull_ref(), HEAD)
    assert checks.claim(*ids) is None
    assert checks.is_first(*ids)
    assert (checks.is_claim_held(*ids), store.checks().is_claim_held(*ids)) == (True, False)
    assert (checks.list_unfinished_heads(pull_ref()), checks.open_checks(pull_ref())) == ((HEAD,), {})
    store.checks().release(*ids)
    assert read_state(store).creator is not None
    checks.release(*ids)
    assert read_state(store) == LOST
    assert checks.claim(*ids) is None
    assert not checks.is_first(*ids)
    checks.record_opened(*ids, CHECK)
    assert read_state(store) == OPEN
    assert (checks.list_unfinished_heads(pull_ref()), checks.open_checks(pull_ref())) == ((), {HEAD: CHECK})
    checks.record_waiting(*ids, CHECK, is_watched=True, is_deferred=True)
    assert read_state(store) == OPEN._replace(is_idle=True, is_deferred=True)
    checks.record_waiting(*ids, CHECK, is_watched=False)
    assert read_state(store) == OPEN._replace(is_idle=True, deadline=None)
    checks.mark_reopened(*ids)
    assert checks.list_overwritten_heads(pull_ref()) == ()
    assert checks.record_still_waiting(*ids, CHECK, CheckContent("", ""))
    assert read_state(store) == OPEN._replace(is_reopening=True)
    assert checks.list_overwritten_heads(pull_ref()) == (HEAD,)
    assert not checks.record_still_waiting(*ids, CHECK, CheckContent("", ""))
    checks.clear_reopened(*ids)
    checks.mark_expiring(*ids)
    assert read_state(store) == OPEN._replace(is_expiring=True)
    assert not checks.record_concluded(*ids)
    assert checks.record_concluded(*ids)
    assert read_state(store) == CheckRunState(CHECK)
    assert checks.claim(*ids) == CHECK
    checks.record_opened(*ids, CHECK)
    assert [checks.record_expired(*ids, check) for check in (CheckRunId(1), CHECK, CHECK)] == [False, True, False]
    assert read_state(store) == CheckRunState(CHECK, is_expiring=True)
    checks.mark_unwritable(*ids)
    assert read_state(store) == LOST


def test_one_process_creates_the_check_run_of_a_head(store: Store) -> None:
    registries = [store.checks() for _ in range(4)]
    creator = registries[0]
    assert [creator.claim(pull_ref(), HEAD) for _ in range(2)] == [None, None], "a claim may be repeated"
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(registry.claim, pull_ref(), HEAD) for registry in registries[1:]]
        creator.record_opened(pull_ref(), HEAD, CHECK)
        assert [claim.result() for claim in waiting] == [77, 77, 77]
    assert store.checks().claim(pull_ref(), NEWER) is None


def test_dead_creator_is_replaced_and_a_slow_one_is_an_outage(store: Store) -> None:
    for _ in range(2):
        assert RedisCheckRegistry(store.client, Timing(open_hold=0.1, tick=0.01)).claim(pull_ref(), HEAD) is None
    store.client.call("SET", keys.check(pull_ref(), HEAD).name, "making another")
    with pytest.raises(Unavailable, match="has not created the check run of 1111111"):
        RedisCheckRegistry(store.client, Timing(open_hold=0.01, tick=0.001)).claim(pull_ref(), HEAD)


def test_newest_head_is_the_last_requested_one(store: Store) -> None:
    assert store.checks().newest_head(pull_ref()) is None
    store.pulls.request_judging(judge_request())
    store.pulls.request_judging(judge_request(head_sha=None))
    assert store.checks().newest_head(pull_ref()) == HEAD


def open_overdue_check(store: Store) -> None:
    store.checks().record_opened(pull_ref(), HEAD, CHECK)
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)


def test_expired_check_run_is_returned_until_it_is_concluded(redis_server: RedisServer, store: Store) -> None:
    store.checks().record_opened(pull_ref(2), HEAD, CheckRunId(79))
    with open_store(settings_for(redis_server.url, Timing(check_deadline=0))) as late:
        late.checks().record_opened(pull_ref(), HEAD, CHECK)
    assert [store.checks().take_expired() for _ in range(2)] == [(EXPIRED,), ()]
    expire_hold(store, keys.DEADLINES, keys.check(pull_ref(), HEAD).name)
    assert store.checks().take_expired() == (EXPIRED,)
    store.checks().record_concluded(pull_ref(), HEAD)
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)
    assert store.checks().take_expired() == (), "a deadline without a note is deleted"
    assert store.client.call("ZCARD", keys.DEADLINES.name) == 1


def test_expired_check_run_of_a_forgotten_pull_request_is_dropped(store: Store) -> None:
    open_overdue_check(store)
    store.client.call("DEL", keys.checks(pull_ref()).name)  # it has expired
    assert store.checks().take_expired() == ()
    assert read_state(store) == CheckRunState(CHECK)


def test_expired_check_run_is_left_to_a_waiting_judging(store: Store) -> None:
    store.pulls.finish(start_judging_new(store).lease, Finish.AWAY, timedelta(hours=1))
    open_overdue_check(store)
    assert store.checks().take_expired() == store.checks().take_orphaned() == ()


def test_expired_check_run_can_be_postponed(store: Store) -> None:
    open_overdue_check(store)
    name = keys.check(pull_ref(), HEAD).name
    [late] = store.checks().take_expired()
    store.checks().postpone_expired(late, timedelta(hours=1))
    assert float(text(store.client.call("ZSCORE", keys.DEADLINES.name, name))) > (time.time() + 3500) * 1000
    store.checks().record_concluded(pull_ref(), HEAD)
    store.checks().postpone_expired(late, timedelta(hours=1))
    assert store.client.call("ZSCORE", keys.DEADLINES.name, name) is None, "a concluded check run stays concluded"


def open_old_check(store: Store, ref: PullRef, head_sha: str = HEAD) -> None:
    store.checks().record_opened(ref, head_sha, CHECK)
    store.client.call("ZINCRBY", keys.DEADLINES.name, -Timing().lease * 2000, keys.check(ref, head_sha).name)


def test_orphaned_check_run_is_found_after_the_longest_lease(store: Store) -> None:
    store.pulls.finish(start_judging_new(store).lease, Finish.JUDGED)
    store.checks().record_opened(pull_ref(), HEAD, CHECK)
    assert store.checks().take_orphaned() == (), "its writer may still be alive"
    open_old_check(store, pull_ref())
    assert store.checks().take_orphaned() == (EXPIRED,)


def test_orphaned_check_run_requeues_its_pull_request_once(store: Store) -> None:
    assert not store.pulls.requeue_orphaned(pull_ref(), CHECK), "the pull request is unknown"
    store.pulls.finish(start_judging_new(store).lease, Finish.JUDGED)
    assert store.pulls.requeue_orphaned(pull_ref(), CHECK)
    again = start_judging(store)
    assert (again.request.trigger, again.request.head_sha) == (Trigger.LATE, None)
    store.pulls.finish(again.lease, Finish.JUDGED)
    assert not store.pulls.requeue_orphaned(pull_ref(), CHECK)


def test_orphaned_check_run_of_a_merge_group_is_found(store: Store) -> None:
    store.groups.put(merge_group())
    open_old_check(store, pull_ref(0), merge_group().head_sha)
    assert store.checks().take_orphaned() == (), "the group is still waiting"
    store.groups.complete(merge_group())
    assert store.checks().take_orphaned() == (
        ExpiredCheckRun(pull=pull_ref(0), head_sha=merge_group().head_sha, check=CHECK),
    )


def test_merge_group_with_an_orphaned_check_run_is_reopened_once(store: Store) -> None:
    delivery_id, later = DeliveryId("late-check-77"), REQUESTED_AT + timedelta(hours=1)
    reopen = partial(store.groups.reopen, merge_group().commit, delivery_id, later, is_orphaned=True)
    assert reopen() is IntakeOutcome.UNKNOWN
    store.groups.put(merge_group())
    store.groups.put(merge_group("two", ended=GroupEnd.DEQUEUED))
    store.groups.complete(merge_group("two"))
    assert reopen() is IntakeOutcome.QUEUED
    pending = require(store.groups.next())
    assert (pending.group.ended, pending.group.at) == (GroupEnd.DEQUEUED, later)
    store.groups.complete(pending.group)
    assert reopen() is IntakeOutcome.DUPLICATE
    assert store.groups.next() is None
