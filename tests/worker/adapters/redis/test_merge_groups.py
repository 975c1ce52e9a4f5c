"""Merge groups in Redis: they wait until they are answered, survive a lost judge, and follow GitHub's last delivery."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.store_samples import (
    REQUESTED_AT,
    expire_hold,
    judge_request,
    pull_ref,
    require,
    start_judging,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store
from worker.domain.github_events import GroupEnd, MergeGroup
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import PendingGroup, QueuedGroup
from worker.domain.model import DeliveryId, InstallationId, RepositoryId
from worker.errors import LeaseLost

HEAD, BASE = "a" * 40, "b" * 40
NOW = timedelta(0)


def merge_group(delivery: str = "one", head: str = HEAD, ended: GroupEnd | None = None) -> MergeGroup:
    return MergeGroup(
        installation_id=InstallationId(100),
        repository_id=RepositoryId(7),
        repository="acme/widgets",
        head_sha=head,
        base_sha=BASE,
        base_ref="refs/heads/main",
        head_ref=f"refs/heads/gh-readonly-queue/main/pr-7-{BASE}",
        delivery_id=DeliveryId(delivery),
        at=REQUESTED_AT,
        ended=ended,
    )


COMMIT = merge_group().commit


def expire_group(store: Store) -> None:
    for name in items(store.client.call("ZRANGE", GROUPS.order.name, 0, -1)):
        expire_hold(store, GROUPS.order, text(name))


def next_group(store: Store) -> PendingGroup:
    return require(store.groups.next())


def test_group_is_returned_once_until_its_hold_ends(store: Store) -> None:
    assert [store.groups.put(merge_group()) for _ in range(2)] == [IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE]
    assert (next_group(store).group, store.groups.next()) == (merge_group(), None)
    expire_group(store)
    assert next_group(store).attempt == 2


def test_group_is_found_while_it_waits_and_after_it_is_completed(store: Store) -> None:
    assert store.groups.find_group(COMMIT) is None
    for group in (merge_group(), merge_group("two", ended=GroupEnd.INVALIDATED)):
        store.groups.put(group)
        assert store.groups.find_group(COMMIT) == group
        store.groups.complete(group)
        assert store.groups.find_group(COMMIT) == group


def test_completed_group_leaves_no_keys_and_returns_with_a_new_delivery(store: Store) -> None:
    store.groups.put(merge_group())
    store.groups.dispatch(next_group(store).group)
    store.groups.complete(merge_group())
    left = [key.name for key in (GROUPS.order, GROUPS.texts, GROUPS.tries, keys.GROUP_HOLDS)]
    assert store.client.call("EXISTS", *left) == 0
    store.groups.put(merge_group())
    assert store.groups.next() is None
    store.groups.put(merge_group("two"))
    assert next_group(store).group.delivery_id == "two"


def test_rerun_reopens_a_group_unless_it_has_ended(store: Store) -> None:
    later, outcomes = REQUESTED_AT + timedelta(hours=1), list[IntakeOutcome]()
    outcomes.append(store.groups.reopen(COMMIT, DeliveryId("early"), REQUESTED_AT))
    store.groups.put(merge_group())
    store.groups.complete(merge_group())
    outcomes += [store.groups.reopen(COMMIT, DeliveryId("pressed"), later) for _ in range(2)]
    again = next_group(store).group
    assert (again.at, again.model_copy(update={"at": REQUESTED_AT, "delivery_id": "one"})) == (later, merge_group())
    store.groups.put(merge_group("gone", ended=GroupEnd.MERGED))
    outcomes.append(store.groups.reopen(COMMIT, DeliveryId("late"), REQUESTED_AT))
    unknown = IntakeOutcome.UNKNOWN
    assert outcomes == [unknown, IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE, unknown]


def test_lost_holds_count_as_attempts_and_postponing_does_not(store: Store) -> None:
    store.groups.put(merge_group())
    assert next_group(store).attempt == 1
    expire_group(store)
    assert next_group(store).attempt == 2
    store.groups.postpone(QueuedGroup(group=merge_group(), waits=True), NOW)
    again = next_group(store)
    assert (again.attempt, again.queued.waits) == (1, True)
    store.groups.postpone(again.queued, timedelta(hours=1))
    assert store.groups.next() is None


def test_end_of_a_group_overrides_the_work_in_progress(store: Store) -> None:
    store.groups.put(merge_group())
    pending = next_group(store)
    store.groups.put(merge_group("two", ended=GroupEnd.DEQUEUED))
    store.groups.postpone(pending.queued, NOW)
    store.groups.complete(pending.group)
    assert store.groups.dispatch(pending.group) is None
    assert next_group(store).group.ended is GroupEnd.DEQUEUED


def test_settled_time_is_unknown_while_the_pull_request_is_queued(store: Store) -> None:
    settled = [store.groups.settled_at(pull_ref())]
    for _ in range(2):
        store.pulls.request_judging(judge_request())
        assert store.groups.settled_at(pull_ref()) is None
        store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.JUDGED)
        settled.append(store.groups.settled_at(pull_ref()))
    first, second, third = settled
    assert first == 0 < (second or 0) < (third or 0)


def test_waiting_job_keeps_its_token(store: Store) -> None:
    store.groups.put(merge_group())
    next_group(store)
    token = store.groups.dispatch(merge_group())
    expire_group(store)
    assert (next_group(store).attempt, store.groups.dispatch(merge_group())) == (2, token)
    expire_group(store)
    assert next_group(store).attempt == 1, "waiting for a worker counts as no attempt"


def test_ended_group_revokes_its_lease(store: Store) -> None:
    store.groups.put(merge_group())
    token = store.groups.dispatch(merge_group()) or ""
    lease = require(store.groups.take_lease(merge_group().id, token)).lease
    expire_group(store)
    lease.renew()
    assert store.groups.next() is None, "its lease was renewed"
    store.groups.put(merge_group("two", ended=GroupEnd.INVALIDATED))
    with pytest.raises(LeaseLost):
        lease.renew()
    token = store.groups.dispatch(merge_group("two")) or ""
    assert store.groups.take_lease(merge_group().id, token) is None
