"""Evaluation ids sort by time and after the existing ones."""

from datetime import UTC, datetime, timedelta

from worker.domain.ids import EvalId, eval_id_after, new_eval_id

AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def test_eval_ids_sort_by_time() -> None:
    assert new_eval_id(AT) < new_eval_id(AT + timedelta(milliseconds=1))


def test_eval_id_follows_those_of_a_clock_that_is_ahead() -> None:
    ahead = new_eval_id(AT + timedelta(minutes=5))
    made = eval_id_after(AT, [new_eval_id(AT - timedelta(days=1)), ahead])
    assert ahead < made < new_eval_id(AT + timedelta(minutes=6))
    assert eval_id_after(AT, []) < ahead


def test_eval_id_is_created_after_one_without_a_valid_time() -> None:
    assert eval_id_after(AT, [EvalId("a foreign id")]) < new_eval_id(AT + timedelta(minutes=1))
    last = EvalId("ffffffff-ffff-7fff-bfff-ffffffffffff")
    assert eval_id_after(AT, [last]).startswith("ffffffff-ffff-7")
