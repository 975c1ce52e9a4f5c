"""What failed because GitHub was away comes again one after the other, however much of it failed at once."""

from datetime import timedelta
from itertools import count

import pytest

from worker.scheduling import retry
from worker.scheduling.retry import RetrySlot, TaskBackoff

NAMES = count()


def turn(installation: int = 1, errand: str = "") -> RetrySlot:
    return RetrySlot(installation, errand or f"errand {next(NAMES)}", lambda _: None)


def test_of_one_installation_no_two_come_within_the_gap() -> None:
    times = TaskBackoff(5.0, 2.0)
    placed = [times.reserve(turn(), at, now=0.0) for at in (15.0, 15.0, 16.0, 45.0, 15.0, 41.0)]
    assert placed == [15.0, 20.0, 25.0, 45.0, 30.0, 50.0]
    assert len([one for one in placed if one < 60]) * 5 <= 60


def test_installations_do_not_wait_for_each_other() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.reserve(turn(one), 15.0, now=0.0) for one in (1, 2)] == [15.0, 15.0]


def test_what_is_past_is_nobodys_place_any_more() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.reserve(turn(), 15.0, now=0.0), times.reserve(turn(), 18.0, now=16.0)] == [15.0, 18.0]


def test_an_errand_has_one_place() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.reserve(turn(errand="a"), 15.0, now=0.0) for _ in range(2)] == [15.0, 15.0]


def test_failures_are_counted_in_a_row() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.count_failure("a"), times.count_failure("a"), times.count_failure("b")] == [1, 2, 1]
    assert (times.forget("a"), times.forget("a"), times.forget("c")) == (True, False, False)
    assert times.count_failure("a") == 1


def test_what_is_not_heard_of_again_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "MAX_REMEMBERED", 2)
    times = TaskBackoff(5.0, 2.0)
    assert [times.count_failure(one) for one in ("a", "b", "a", "c", "b", "c", "a")] == [1, 1, 2, 1, 1, 2, 1]


def test_a_few_follow_one_that_went_well_and_as_many_each_of_them() -> None:
    times = TaskBackoff(5.0, 2.0)
    turns = [turn(errand=name) for name in "abcdef"]
    for number, one in enumerate(turns):
        times.reserve(one, 600.0 + 5 * number, now=0.0)
    assert [(one.task, at) for one, at in times.release(1, 2, now=10.0)] == [("a", 12.0), ("b", 14.0)]
    assert [(one.task, at) for one, at in times.release(1, 3, now=12.0)] == [("c", 16.0), ("d", 18.0), ("e", 20.0)]
    assert [one.task for one, _ in times.release(1, 3, now=12.0)] == ["f"]
    assert times.release(1, 3, now=30.0) == []


def test_nobody_follows_in_another_installation() -> None:
    times = TaskBackoff(5.0, 2.0)
    times.reserve(turn(2), 600.0, now=0.0)
    assert times.release(1, 2, now=10.0) == []


def test_whose_time_comes_anyway_is_left_alone() -> None:
    times = TaskBackoff(5.0, 2.0)
    put_off = list[timedelta]()
    times.reserve(RetrySlot(1, "soon", put_off.append), 11.0, now=0.0)
    times.reserve(RetrySlot(1, "late", put_off.append), 600.0, now=0.0)
    ((late, at),) = times.release(1, 2, now=10.0)
    late.postpone(timedelta(seconds=at - 10))
    assert (late.task, put_off) == ("late", [timedelta(seconds=4)])
