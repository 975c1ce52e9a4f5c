"""What failed because GitHub was away comes again one after the other, however much of it failed at once."""

import pytest

from worker import apart
from worker.apart import Apart


def test_of_one_installation_no_two_come_within_the_gap() -> None:
    times = Apart(5.0)
    placed = [times.place(1, at, now=0.0) for at in (15.0, 15.0, 16.0, 45.0, 15.0, 41.0)]
    assert placed == [15.0, 20.0, 25.0, 45.0, 30.0, 50.0]
    assert len([one for one in placed if one < 60]) * 5 <= 60


def test_installations_do_not_wait_for_each_other() -> None:
    times = Apart(5.0)
    assert [times.place(one, 15.0, now=0.0) for one in (1, 2)] == [15.0, 15.0]


def test_what_is_past_is_nobodys_place_any_more() -> None:
    times = Apart(5.0)
    assert [times.place(1, 15.0, now=0.0), times.place(1, 18.0, now=16.0)] == [15.0, 18.0]


def test_failures_are_counted_in_a_row() -> None:
    times = Apart(5.0)
    assert [times.failed("a"), times.failed("a"), times.failed("b")] == [1, 2, 1]
    times.over("a")
    assert times.failed("a") == 1


def test_what_is_not_heard_of_again_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "MOST_KEPT", 2)
    times = Apart(5.0)
    assert [times.failed(one) for one in ("a", "b", "a", "c", "b", "c", "a")] == [1, 1, 2, 1, 1, 2, 1]
