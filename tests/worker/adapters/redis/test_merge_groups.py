"""Merge groups wait in Redis until they are answered: no death loses one, and what GitHub tells last counts."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, comes_again, pull, starts, wish
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


def group(delivery: str = "one", head: str = HEAD, ended: GroupEnd | None = None) -> MergeGroup:
    return MergeGroup(
        installation_id=InstallationId(100),
        repository_id=RepositoryId(7),
        repository="acme/widgets",
        head_sha=head,
        base_sha=BASE,
        base_ref="refs/heads/main",
        head_ref=f"refs/heads/gh-readonly-queue/main/pr-7-{BASE}",
        delivery_id=DeliveryId(delivery),
        at=AT,
        ended=ended,
    )


PLACE = group().commit


def runs_out(store: Store) -> None:
    """The hold on every group ends."""
    for name in items(store.client.call("ZRANGE", GROUPS.order.name, 0, -1)):
        comes_again(store, GROUPS.order, text(name))


def seen(store: Store) -> PendingGroup:
    pending = store.groups.next()
    assert pending is not None
    return pending


def leased(store: Store) -> LeasedGroup:
    """The only group has a judge."""
    store.groups.put(group())
    taken = store.groups.take_lease(group().id, store.groups.dispatch(group()) or "")
    assert taken is not None
    return taken


def test_a_group_comes_once_and_again_only_after_its_hold(store: Store) -> None:
    assert [store.groups.put(group()) for _ in range(2)] == [IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE]
    assert (seen(store).group, store.groups.next()) == (group(), None)
    runs_out(store)
    assert seen(store).attempt == 2


def test_a_group_is_known_while_it_waits_and_afterwards_as_what_became_of_it(store: Store) -> None:
    assert store.groups.find_group(PLACE) is None
    for known in (group(), group("two", ended=GroupEnd.INVALIDATED)):
        store.groups.put(known)
        assert store.groups.find_group(PLACE) == known
        store.groups.complete(known)
        assert store.groups.find_group(PLACE) == known


def test_what_is_done_leaves_nothing_until_another_delivery_is_about_it(store: Store) -> None:
    store.groups.put(group())
    store.groups.dispatch(seen(store).group)
    store.groups.complete(group())
    left = [key.name for key in (GROUPS.order, GROUPS.texts, GROUPS.tries, keys.GROUP_HOLDS)]
    assert store.client.call("EXISTS", *left) == 0
    store.groups.put(group())
    assert store.groups.next() is None
    store.groups.put(group("two"))
    assert seen(store).group.delivery_id == "two"


def test_whoever_presses_re_run_has_it_looked_at_again_unless_it_is_no_group_any_more(store: Store) -> None:
    later, outcomes = AT + timedelta(hours=1), list[IntakeOutcome]()
    outcomes.append(store.groups.reopen(PLACE, DeliveryId("early"), AT))
    store.groups.put(group())
    store.groups.complete(group())
    outcomes += [store.groups.reopen(PLACE, DeliveryId("pressed"), later) for _ in range(2)]
    again = seen(store).group
    assert (again.at, again.model_copy(update={"at": AT, "delivery_id": "one"})) == (later, group())
    store.groups.put(group("gone", ended=GroupEnd.MERGED))
    outcomes.append(store.groups.reopen(PLACE, DeliveryId("late"), AT))
    unknown = IntakeOutcome.UNKNOWN
    assert outcomes == [unknown, IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE, unknown]


def test_only_deaths_count_as_tries_and_what_it_says_is_kept(store: Store) -> None:
    store.groups.put(group())
    assert seen(store).attempt == 1
    runs_out(store)
    assert seen(store).attempt == 2
    store.groups.postpone(QueuedGroup(group=group(), waits=True), NOW)
    again = seen(store)
    assert (again.attempt, again.queued.waits) == (1, True)
    store.groups.postpone(again.queued, timedelta(hours=1))
    assert store.groups.next() is None


def test_that_it_was_given_up_outlives_what_was_under_way(store: Store) -> None:
    store.groups.put(group())
    under_way = seen(store)
    store.groups.put(group("two", ended=GroupEnd.DEQUEUED))
    store.groups.postpone(under_way.queued, NOW)
    store.groups.complete(under_way.group)
    assert store.groups.dispatch(under_way.group) is None
    assert seen(store).group.ended is GroupEnd.DEQUEUED


def test_what_was_heard_last_of_a_pull_request_is_known_unless_somebody_is_to_judge_it(store: Store) -> None:
    settled = [store.groups.settled_at(pull())]
    for _ in range(2):
        store.pulls.request_judging(wish())
        assert store.groups.settled_at(pull()) is None
        store.pulls.finish(starts(store, pull()).lease, Finish.JUDGED)
        settled.append(store.groups.settled_at(pull()))
    first, second, third = settled
    assert first == 0 < (second or 0) < (third or 0)


# The job that judges one


def test_a_job_that_waits_for_its_turn_is_submitted_again_by_its_name(store: Store) -> None:
    store.groups.put(group())
    seen(store)
    token = store.groups.dispatch(group())
    runs_out(store)
    assert (seen(store).attempt, store.groups.dispatch(group())) == (2, token)
    runs_out(store)
    assert seen(store).attempt == 1, "waiting for a worker is no failure"


def test_what_github_gave_up_is_nobodys_to_judge_and_its_judge_learns_it(store: Store) -> None:
    lease = leased(store).lease
    runs_out(store)
    lease.renew()
    assert store.groups.next() is None, "a judge that prolongs its lease is not disturbed"
    store.groups.put(group("two", ended=GroupEnd.INVALIDATED))
    with pytest.raises(LeaseLost):
        lease.renew()
    token = store.groups.dispatch(group("two")) or ""
    assert store.groups.take_lease(group().id, token) is None
