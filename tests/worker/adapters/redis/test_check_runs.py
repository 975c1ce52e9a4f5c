"""Check runs in Redis: each state is read as it was written, one process creates, and the watchdog finds what is left open."""

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
    settings_for,
    start_judging,
)
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.store import Store, open_store
from worker.domain.check.check_run import CheckContent
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import CheckRunId, DeliveryId
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.check_runs import CREATION_STARTED, CheckRunState
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import ExpiredCheckRun
from worker.errors import Unavailable
from worker.settings import Timing

CHECK = CheckRunId(77)
EXPIRED = ExpiredCheckRun(pull=pull_ref(), head_sha=HEAD, check=CHECK)
OPEN = CheckRunState(CHECK, None, CHECK, 1)
LOST = CheckRunState(open_check=CREATION_STARTED)


def state(store: Store) -> CheckRunState:
    """What is recorded of HEAD, without the time of its deadline."""
    found = store.checks().find(pull_ref(), HEAD)
    deadline = None if found.deadline is None else 1
    if found.deadline is not None:
        assert found.deadline / 1000 == pytest.approx(time.time() + store.timing.check_deadline, abs=60)
    assert store.client.call("ZCARD", keys.DEADLINES.name) == (deadline or 0)
    assert store.client.call("HLEN", keys.DEADLINE_NOTES.name) == (deadline or 0)
    return found._replace(deadline=deadline)


def test_each_change_of_a_check_run_is_recorded(store: Store) -> None:
    checks, about = store.checks(), (pull_ref(), HEAD)
    assert checks.claim(*about) is None
    assert (checks.is_first(*about), checks.is_claim_held(*about), store.checks().is_claim_held(*about)) == (
        True, True, False,
    )  # fmt: skip
    assert (checks.list_unfinished_heads(pull_ref()), checks.open_checks(pull_ref())) == ((HEAD,), {})
    store.checks().release(*about)
    assert state(store).creator is not None
    checks.release(*about)
    assert state(store) == LOST
    assert checks.claim(*about) is None
    assert not checks.is_first(*about)
    checks.record_opened(*about, CHECK)
    assert state(store) == OPEN
    assert (checks.list_unfinished_heads(pull_ref()), checks.open_checks(pull_ref())) == ((), {HEAD: CHECK})
    checks.record_waiting(*about, CHECK, is_watched=True, is_deferred=True)
    assert state(store) == OPEN._replace(is_idle=True, is_deferred=True)
    checks.record_waiting(*about, CHECK, is_watched=False)
    assert state(store) == OPEN._replace(is_idle=True, deadline=None)
    checks.mark_reopened(*about)
    assert checks.list_overwritten_heads(pull_ref()) == ()
    assert checks.record_still_waiting(*about, CHECK, CheckContent("", ""))
    assert state(store) == OPEN._replace(is_reopening=True)
    assert checks.list_overwritten_heads(pull_ref()) == (HEAD,)
    assert not checks.record_still_waiting(*about, CHECK, CheckContent("", ""))
    checks.clear_reopened(*about)
    checks.mark_expiring(*about)
    assert state(store) == OPEN._replace(is_expiring=True)
    assert not checks.record_concluded(*about)
    assert checks.record_concluded(*about)
    assert state(store) == CheckRunState(CHECK)
    assert checks.claim(*about) == CHECK
    checks.record_opened(*about, CHECK)
    assert [checks.record_expired(*about, check) for check in (CheckRunId(1), CHECK, CHECK)] == [False, True, False]
    assert state(store) == CheckRunState(CHECK, is_expiring=True)
    checks.mark_unwritable(*about)
    assert state(store) == LOST


# Creation


def test_one_process_creates_the_check_run_of_a_head(store: Store) -> None:
    registries = [store.checks() for _ in range(4)]
    maker = registries[0]
    assert [maker.claim(pull_ref(), HEAD) for _ in range(2)] == [None, None], "the same claim, sent twice"
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(registry.claim, pull_ref(), HEAD) for registry in registries[1:]]
        maker.record_opened(pull_ref(), HEAD, CHECK)
        assert [claim.result() for claim in waiting] == [77, 77, 77]
    assert store.checks().claim(pull_ref(), NEWER) is None


def test_a_maker_that_died_is_replaced_and_one_that_takes_for_ever_is_an_outage(store: Store) -> None:
    for _ in range(2):
        assert RedisCheckRegistry(store.client, Timing(open_hold=0.1, tick=0.01)).claim(pull_ref(), HEAD) is None
    store.client.call("SET", keys.check(pull_ref(), HEAD).name, "making somebody else")
    with pytest.raises(Unavailable, match="has not created the check run of 1111111"):
        RedisCheckRegistry(store.client, Timing(open_hold=0.01, tick=0.001)).claim(pull_ref(), HEAD)


def test_the_newest_head_is_the_one_of_the_newest_event(store: Store) -> None:
    assert store.checks().newest_head(pull_ref()) is None
    store.pulls.request_judging(judge_request())
    store.pulls.request_judging(judge_request(head_sha=None))
    assert store.checks().newest_head(pull_ref()) == HEAD


# Expired ones


def overdue(store: Store) -> None:
    """Of HEAD, whose check run is open."""
    store.checks().record_opened(pull_ref(), HEAD, CHECK)
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)


def test_a_check_older_than_its_deadline_is_told_until_concluded(redis_server: RedisServer, store: Store) -> None:
    store.checks().record_opened(pull_ref(2), HEAD, CheckRunId(79))
    with open_store(settings_for(redis_server.url, Timing(check_deadline=0))) as late:
        late.checks().record_opened(pull_ref(), HEAD, CHECK)
    assert [store.checks().take_expired() for _ in range(2)] == [(EXPIRED,), ()]
    expire_hold(store, keys.DEADLINES, keys.check(pull_ref(), HEAD).name)
    assert store.checks().take_expired() == (EXPIRED,)
    store.checks().record_concluded(pull_ref(), HEAD)
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)
    assert store.checks().take_expired() == (), "one without a note is forgotten"
    assert store.client.call("ZCARD", keys.DEADLINES.name) == 1


def test_an_overdue_check_of_a_pull_request_of_which_nothing_is_known_any_more_is_let_go(store: Store) -> None:
    overdue(store)
    store.client.call("DEL", keys.checks(pull_ref()).name)  # its month is over
    assert store.checks().take_expired() == ()
    assert state(store) == CheckRunState(CHECK)


def test_an_overdue_check_is_left_to_a_judging_that_waits(store: Store) -> None:
    store.pulls.request_judging(judge_request())
    store.pulls.finish(start_judging(store).lease, Finish.AWAY, timedelta(hours=1))
    overdue(store)
    assert store.checks().take_expired() == store.checks().take_orphaned() == ()


def test_an_overdue_check_that_can_not_be_closed_now_comes_again_later(store: Store) -> None:
    overdue(store)
    name = keys.check(pull_ref(), HEAD).name
    [late] = store.checks().take_expired()
    store.checks().postpone_expired(late, timedelta(hours=1))
    assert float(text(store.client.call("ZSCORE", keys.DEADLINES.name, name))) > (time.time() + 3500) * 1000
    store.checks().record_concluded(pull_ref(), HEAD)
    store.checks().postpone_expired(late, timedelta(hours=1))
    assert store.client.call("ZSCORE", keys.DEADLINES.name, name) is None, "one that was concluded stays so"


# Orphaned ones


def opened_long_ago(store: Store, ref: PullRef, head_sha: str = HEAD) -> None:
    store.checks().record_opened(ref, head_sha, CHECK)
    store.client.call("ZINCRBY", keys.DEADLINES.name, -Timing().lease * 2000, keys.check(ref, head_sha).name)


def judged(store: Store) -> None:
    store.pulls.request_judging(judge_request())
    store.pulls.finish(start_judging(store).lease, Finish.JUDGED)


def test_an_open_check_that_nobody_would_conclude_is_found_once_every_judge_that_lives_would_have(store: Store) -> None:
    judged(store)
    store.checks().record_opened(pull_ref(), HEAD, CHECK)
    assert store.checks().take_orphaned() == (), "whoever writes it may still be at it"
    opened_long_ago(store, pull_ref())
    assert store.checks().take_orphaned() == (EXPIRED,)


def test_it_is_asked_for_once_and_not_for_ever(store: Store) -> None:
    assert not store.pulls.requeue_orphaned(pull_ref(), CHECK), "nobody ever asked for this pull request"
    judged(store)
    assert store.pulls.requeue_orphaned(pull_ref(), CHECK)
    again = start_judging(store)
    assert (again.request.trigger, again.request.head_sha) == (Trigger.LATE, None)
    store.pulls.finish(again.lease, Finish.JUDGED)
    assert not store.pulls.requeue_orphaned(pull_ref(), CHECK)


def test_the_check_of_a_merge_group_that_nobody_waits_for_any_more_is_found(store: Store) -> None:
    store.groups.put(merge_group())
    opened_long_ago(store, pull_ref(0), merge_group().head_sha)
    assert store.checks().take_orphaned() == (), "it is to be answered"
    store.groups.complete(merge_group())
    assert store.checks().take_orphaned() == (
        ExpiredCheckRun(pull=pull_ref(0), head_sha=merge_group().head_sha, check=CHECK),
    )


def test_a_group_whose_check_was_left_open_is_looked_at_once_more_as_what_it_is_by_now(store: Store) -> None:
    name, later = DeliveryId("late-check-77"), REQUESTED_AT + timedelta(hours=1)
    reopen = partial(store.groups.reopen, merge_group().commit, name, later, is_orphaned=True)
    assert reopen() is IntakeOutcome.UNKNOWN
    store.groups.put(merge_group())
    store.groups.put(merge_group("two", ended=GroupEnd.DEQUEUED))
    store.groups.complete(merge_group("two"))
    assert reopen() is IntakeOutcome.QUEUED
    found = store.groups.next()
    assert found is not None
    assert (found.group.ended, found.group.at) == (GroupEnd.DEQUEUED, later)
    store.groups.complete(found.group)
    assert reopen() is IntakeOutcome.DUPLICATE
    assert store.groups.next() is None
