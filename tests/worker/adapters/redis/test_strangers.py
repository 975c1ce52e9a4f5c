"""Pull requests that strangers open from forks: what they take of what others need, and when their turn comes."""

from itertools import count

import pytest

from tests.worker.adapters.redis.played import HEAD, NEWER, pull, wish
from tests.worker.adapters.redis.test_triggers import HERE, field_of, wanted_of
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text, whole
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.work import DispatchLimits, PendingCheckRun
from worker.settings import WRITES_AN_HOUR, WRITES_EACH, Timing

CALLS = count(1)


def given(store: Store) -> int | None:
    found = store.pulls.next_due(f"call-{next(CALLS)}", DispatchLimits(3000, 3000, 3000))
    return None if found is None else found.request.pull.number


NOW = Timing(quiet_window=0, quiet_max=0)


def test_a_hundred_strangers_delay_nobody_else(store: Store) -> None:
    for number in range(1, 101):
        intake.request_judging(store.client, wish(number, outside=True), NOW)
    intake.request_judging(store.client, wish(101), NOW)
    intake.request_judging(store.client, wish(102), NOW)
    assert [store.pulls.next_to_open() for _ in range(2)] == [
        PendingCheckRun(HEAD, wanted_of(store, number), field_of(store, number, "seq")) for number in (101, 102)
    ]
    assert [given(store) for _ in range(4)] == [101, 102, 1, 2]


def test_a_stranger_for_whom_somebody_asked_waits_no_longer_than_others(store: Store) -> None:
    for number in (1, 2):
        intake.request_judging(store.client, wish(number, outside=True), NOW)
    intake.request_judging(store.client, wish(2, trigger=Trigger.COMMAND, head_sha=None), NOW)
    intake.request_judging(store.client, wish(3), NOW)
    assert [given(store) for _ in range(4)] == [2, 3, 1, None]


def test_strangers_take_no_place_of_others_and_no_more_than_their_own(store: Store) -> None:
    def given(limits: DispatchLimits) -> tuple[int, bool] | None:
        found = store.pulls.next_due(f"call-{next(CALLS)}", limits)
        return found and (found.request.pull.number, found.is_outside)

    for number in (1, 2, 3):
        intake.request_judging(store.client, wish(number, outside=True), NOW)
    one_of_each = DispatchLimits(per_installation=1, total=1, outside=1)
    assert [given(one_of_each), given(one_of_each)] == [(1, True), None]
    for number in (4, 5):
        intake.request_judging(store.client, wish(number), NOW)
    assert [given(one_of_each), given(one_of_each)] == [(4, False), None]
    two_strangers = DispatchLimits(per_installation=1, total=1, outside=2)
    assert [given(two_strangers), given(two_strangers)] == [(2, True), None]
    for number, limits, follows in ((1, one_of_each, None), (2, one_of_each, (3, True)), (4, one_of_each, (5, False))):
        assert store.pulls.requeue_dead(
            pull(number), whole(store.client.call("HGET", keys.pull(pull(number)).name, "fence"))
        )
        store.pulls.withdraw(wanted_of(store, number))
        assert given(limits) == follows


def test_of_strangers_no_more_check_runs_are_opened_than_there_is_room_for(store: Store) -> None:
    intake.request_judging(store.client, wish(1, outside=True), NOW)
    assert store.pulls.next_to_open(0) is None
    intake.request_judging(store.client, wish(2), NOW)
    opened = [store.pulls.next_to_open(0), store.pulls.next_to_open(0), store.pulls.next_to_open(1)]
    assert [one and (one.request.pull.number, one.is_outside) for one in opened] == [(2, False), None, (1, True)]


def test_heads_of_strangers_have_turns_that_leave_half_of_githubs_writes_to_others(store: Store) -> None:
    def comes_in(number: int) -> list[float]:
        lines = (keys.due_outside(HERE[0]), keys.pending_checks_outside(HERE[0]))
        found = [text(store.client.call("ZSCORE", line.name, keys.pull(pull(number)).name)) for line in lines]
        return [float(one) / 1000 - int(text(items(store.client.call("TIME"))[0])) for one in found]

    gap = NOW.outside_gap
    assert WRITES_EACH * 3600 / gap == pytest.approx(WRITES_AN_HOUR / 2)
    last = intake.OUTSIDE_BURST
    for number in range(1, last + 5):
        intake.request_judging(store.client, wish(number, outside=True), NOW)
    intake.request_judging(
        store.client, wish(last + 1, outside=True, head_sha=NEWER), NOW
    )  # its turn is its, whatever it pushes
    intake.request_judging(store.client, wish(last + 5, outside=True), NOW)
    waits = [comes_in(last + later) for later in range(6)]
    assert waits == [[pytest.approx(gap * later, abs=2)] * 2 for later in range(6)]
    intake.request_judging(store.client, wish(100), NOW)
    intake.request_judging(store.client, wish(last + 4, trigger=Trigger.COMMAND, head_sha=None), NOW)
    assert [given(store) for _ in range(last + 3)] == [100, last + 4, *range(1, last + 1), None]
    opened = [store.pulls.next_to_open() for _ in range(last + 3)]
    assert [one and one.request.pull.number for one in opened] == [100, last + 4, *range(1, last + 1), None]


def test_a_strangers_judging_that_died_waits_among_strangers_again(store: Store) -> None:
    intake.request_judging(store.client, wish(1, outside=True), NOW)
    fence = store.pulls.next_due("call", DispatchLimits(1, 1, 1))
    assert fence is not None
    assert store.pulls.requeue_dead(pull(1), fence.fence)
    intake.request_judging(store.client, wish(2), NOW)
    assert [given(store) for _ in range(3)] == [2, 1, None]
