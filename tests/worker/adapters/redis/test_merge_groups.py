"""Merge groups wait in Redis until they are answered: no death loses one, and what GitHub tells last counts."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, expire_hold, judge_request, pull_ref, start_judging
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store
from worker.domain.check.merge_group import GroupEnd, MergeGroup
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import LeasedGroup, PendingGroup, QueuedGroup
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


PLACE = merge_group().commit


def expire_group(store: Store) -> None:
    """The hold on every group ends."""
    for name in items(store.client.call("ZRANGE", GROUPS.order.name, 0, -1)):
        expire_hold(store, GROUPS.order, text(name))


def seen(store: Store) -> PendingGroup:
    pending = store.groups.next()
    assert pending is not None
    return pending


def leased(store: Store) -> LeasedGroup:
    """The only group has a judge."""
    store.groups.put(merge_group())
    taken = store.groups.take_lease(merge_group().id, store.groups.dispatch(merge_group()) or "")
    assert taken is not None
    return taken


def test_a_group_comes_once_and_again_only_after_its_hold(store: Store) -> None:
    assert [store.groups.put(merge_group()) for _ in range(2)] == [IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE]
    assert (seen(store).group, store.groups.next()) == (merge_group(), None)
    expire_group(store)
    assert seen(store).attempt == 2


def test_a_group_is_known_while_it_waits_and_afterwards_as_what_became_of_it(store: Store) -> None:
    assert store.groups.find_group(PLACE) is None
    for known in (merge_group(), merge_group("two", ended=GroupEnd.INVALIDATED)):
        store.groups.put(known)
        assert store.groups.find_group(PLACE) == known
        store.groups.complete(known)
        assert store.groups.find_group(PLACE) == known


def test_what_is_done_leaves_nothing_until_another_delivery_is_about_it(store: Store) -> None:
    store.groups.put(merge_group())
    store.groups.dispatch(seen(store).group)
    store.groups.complete(merge_group())
    left = [key.name for key in (GROUPS.order, GROUPS.texts, GROUPS.tries, keys.GROUP_HOLDS)]
    assert store.client.call("EXISTS", *left) == 0
    store.groups.put(merge_group())
    assert store.groups.next() is None
    store.groups.put(merge_group("two"))
    assert seen(store).group.delivery_id == "two"


def test_whoever_presses_re_run_has_it_looked_at_again_unless_it_is_no_group_any_more(store: Store) -> None:
    later, outcomes = REQUESTED_AT + timedelta(hours=1), list[IntakeOutcome]()
    outcomes.append(store.groups.reopen(PLACE, DeliveryId("early"), REQUESTED_AT))
    store.groups.put(merge_group())
    store.groups.complete(merge_group())
    outcomes += [store.groups.reopen(PLACE, DeliveryId("pressed"), later) for _ in range(2)]
    again = seen(store).group
    assert (again.at, again.model_copy(update={"at": REQUESTED_AT, "delivery_id": "one"})) == (later, merge_group())
    store.groups.put(merge_group("gone", ended=GroupEnd.MERGED))
    outcomes.append(store.groups.reopen(PLACE, DeliveryId("late"), REQUESTED_AT))
    unknown = IntakeOutcome.UNKNOWN
    assert outcomes == [unknown, IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE, unknown]


def test_only_deaths_count_as_tries_and_what_it_says_is_kept(store: Store) -> None:
    store.groups.put(merge_group())
    assert seen(store).attempt == 1
    expire_group(store)
    assert seen(store).attempt == 2
    store.groups.postpone(QueuedGroup(group=merge_group(), waits=True), NOW)
    again = seen(store)
    assert (again.attempt, again.queued.waits) == (1, True)
    store.groups.postpone(again.queued, timedelta(hours=1))
    assert store.groups.next() is None


def test_that_it_was_given_up_outlives_what_was_under_way(store: Store) -> None:
    store.groups.put(merge_group())
    under_way = seen(store)
    store.groups.put(merge_group("two", ended=GroupEnd.DEQUEUED))
    store.groups.postpone(under_way.queued, NOW)
    store.groups.complete(under_way.group)
    assert store.groups.dispatch(under_way.group) is None
    assert seen(store).group.ended is GroupEnd.DEQUEUED


def test_what_was_heard_last_of_a_pull_request_is_known_unless_somebody_is_to_judge_it(store: Store) -> None:
    settled = [store.groups.settled_at(pull_ref())]
    for _ in range(2):
        store.pulls.request_judging(judge_request())
        assert store.groups.settled_at(pull_ref()) is None
        store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.JUDGED)
        settled.append(store.groups.settled_at(pull_ref()))
    first, second, third = settled
    assert first == 0 < (second or 0) < (third or 0)


# The job that judges one


def test_a_job_that_waits_for_its_turn_is_submitted_again_by_its_name(store: Store) -> None:
    store.groups.put(merge_group())
    seen(store)
    token = store.groups.dispatch(merge_group())
    expire_group(store)
    assert (seen(store).attempt, store.groups.dispatch(merge_group())) == (2, token)
    expire_group(store)
    assert seen(store).attempt == 1, "waiting for a worker is no failure"


def test_what_github_gave_up_is_nobodys_to_judge_and_its_judge_learns_it(store: Store) -> None:
    lease = leased(store).lease
    expire_group(store)
    lease.renew()
    assert store.groups.next() is None, "a judge that prolongs its lease is not disturbed"
    store.groups.put(merge_group("two", ended=GroupEnd.INVALIDATED))
    with pytest.raises(LeaseLost):
        lease.renew()
    token = store.groups.dispatch(merge_group("two")) or ""
    assert store.groups.take_lease(merge_group().id, token) is None
