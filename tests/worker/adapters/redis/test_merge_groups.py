"""Merge groups wait in Redis until they are answered: no death loses one, and what GitHub tells last counts."""

from datetime import timedelta
from itertools import count

import pytest

from tests.worker.adapters.redis.played import AT, becomes_due, pull, wish
from worker.adapters.redis import keys
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store
from worker.domain.check.merge_group import GroupEnd, MergeGroup
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, PendingGroup, QueuedGroup
from worker.errors import LeaseLost

HEAD, BASE = "a" * 40, "b" * 40
NOW = timedelta(0)
CALLS = count(1)


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


def runs_out(store: Store) -> None:
    """The hold on every group ends."""
    script = "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 0, id) end"
    store.client.call("EVAL", script, 1, GROUPS.order.name)


def seen(store: Store) -> PendingGroup:
    found = store.groups.next()
    assert found is not None
    return found


def test_a_group_comes_once_and_again_only_after_its_hold(store: Store) -> None:
    assert store.groups.put(group()) is IntakeOutcome.QUEUED
    assert (seen(store).group, store.groups.next()) == (group(), None)
    runs_out(store)
    assert seen(store).attempt == 2


def test_a_group_is_known_while_it_waits_and_afterwards_as_what_became_of_it(store: Store) -> None:
    place = (group().installation_id, group().repository_id, HEAD)
    assert store.groups.find_group(place) is None
    store.groups.put(group())
    assert store.groups.find_group(place) == group()
    store.groups.complete(seen(store).group)
    assert store.groups.find_group(place) == group()
    gone = group("two", ended=GroupEnd.INVALIDATED)
    store.groups.put(gone)
    assert store.groups.find_group(place) == gone
    store.groups.complete(gone)
    assert store.groups.find_group(place) == gone


def test_the_same_delivery_again_changes_nothing(store: Store) -> None:
    store.groups.put(group())
    store.groups.complete(seen(store).group)
    assert store.groups.put(group()) is IntakeOutcome.DUPLICATE
    assert store.groups.next() is None


def test_another_delivery_about_an_answered_group_has_it_looked_at_again(store: Store) -> None:
    store.groups.put(group())
    store.groups.complete(group())
    store.groups.put(group("two"))
    assert seen(store).group.delivery_id == "two"


def test_whoever_presses_re_run_has_it_looked_at_again(store: Store) -> None:
    store.groups.put(group())
    store.groups.complete(group())
    place = (InstallationId(100), RepositoryId(7), HEAD)
    later = AT + timedelta(hours=1)
    assert store.groups.reopen(place, DeliveryId("pressed"), later) is IntakeOutcome.QUEUED
    assert store.groups.reopen(place, DeliveryId("pressed"), later) is IntakeOutcome.DUPLICATE
    found = seen(store).group
    assert (found.at, found.model_copy(update={"at": AT, "delivery_id": "one"})) == (later, group())


def test_re_run_at_what_is_no_group_any_more_does_nothing(store: Store) -> None:
    place = (InstallationId(100), RepositoryId(7), HEAD)
    assert store.groups.reopen(place, DeliveryId("early"), AT) is IntakeOutcome.UNKNOWN
    store.groups.put(group())
    store.groups.put(group("gone", ended=GroupEnd.MERGED))
    assert store.groups.reopen(place, DeliveryId("late"), AT) is IntakeOutcome.UNKNOWN


def test_what_is_done_leaves_nothing(store: Store) -> None:
    store.groups.put(group())
    store.groups.dispatch(seen(store).group)
    store.groups.complete(group())
    left = [key.name for key in (GROUPS.order, GROUPS.texts, GROUPS.tries, keys.GROUP_HOLDS)]
    assert store.client.call("EXISTS", *left) == 0


def test_only_deaths_count_as_tries_and_what_it_says_is_kept(store: Store) -> None:
    store.groups.put(group())
    assert seen(store).attempt == 1
    runs_out(store)
    died = seen(store)
    assert died.attempt == 2
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
    assert store.groups.settled_at(pull()) == 0
    store.pulls.request_judging(wish())
    assert store.groups.settled_at(pull()) is None
    ended(store)
    first = store.groups.settled_at(pull())
    store.pulls.request_judging(wish())
    ended(store)
    second = store.groups.settled_at(pull())
    assert first is not None
    assert second is not None
    assert 0 < first < second


def ended(store: Store) -> None:
    """Whoever is to judge it has."""
    becomes_due(store, pull())
    job = store.pulls.next_due(f"group-{next(CALLS)}", DispatchLimits(10, 10))
    taken = store.pulls.take_lease(pull(), job.fence) if job else None
    assert taken is not None
    store.pulls.finish(taken.lease, Finish.JUDGED)


# The job that judges one


def test_a_job_that_waits_for_its_turn_is_submitted_again_by_its_name(store: Store) -> None:
    store.groups.put(group())
    seen(store)
    token = store.groups.dispatch(group())
    runs_out(store)
    assert (seen(store).attempt, store.groups.dispatch(group())) == (2, token)
    runs_out(store)
    assert seen(store).attempt == 1, "waiting for a worker is no failure"


def test_what_github_gave_up_is_nobodys_to_judge(store: Store) -> None:
    store.groups.put(group())
    token = store.groups.dispatch(group()) or ""
    store.groups.put(group("two", ended=GroupEnd.MERGED))
    assert store.groups.take_lease(group().id, token) is None


def test_a_judge_learns_that_its_group_was_given_up(store: Store) -> None:
    store.groups.put(group())
    taken = store.groups.take_lease(group().id, store.groups.dispatch(group()) or "")
    assert taken
    store.groups.put(group("two", ended=GroupEnd.INVALIDATED))
    with pytest.raises(LeaseLost):
        taken.lease.renew()


def test_a_judge_that_prolongs_its_lease_is_not_disturbed(store: Store) -> None:
    store.groups.put(group())
    taken = store.groups.take_lease(group().id, store.groups.dispatch(group()) or "")
    assert taken
    runs_out(store)
    taken.lease.renew()
    assert store.groups.next() is None
