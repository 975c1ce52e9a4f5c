"""Ids sort by time, and after what is known already."""

from datetime import UTC, datetime, timedelta

from worker.domain.ids import EvalId, eval_id_after, new_eval_id

AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def test_an_id_sorts_by_when_it_was_made() -> None:
    assert new_eval_id(AT) < new_eval_id(AT + timedelta(milliseconds=1))


def test_an_id_comes_after_those_of_a_machine_whose_clock_is_ahead() -> None:
    ahead = new_eval_id(AT + timedelta(minutes=5))
    made = eval_id_after(AT, [new_eval_id(AT - timedelta(days=1)), ahead])
    assert ahead < made < new_eval_id(AT + timedelta(minutes=6))
    assert eval_id_after(AT, []) < ahead


def test_an_id_that_holds_no_time_and_one_at_the_end_of_time_stop_nobody() -> None:
    assert eval_id_after(AT, [EvalId("somebody's own")]) < new_eval_id(AT + timedelta(minutes=1))
    last = EvalId("ffffffff-ffff-7fff-bfff-ffffffffffff")
    assert eval_id_after(AT, [last]).startswith("ffffffff-ffff-7")
