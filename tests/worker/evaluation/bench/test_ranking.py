"""Scores against sizes: which rows are compared, and which never."""

import pytest

from tests.worker.evaluation.bench.made import GOOD, WEAK_TEST, judged, scored
from tests.worker.judge.verdicts import unjudged
from worker.evaluation.bench.expectations import RowOutcome
from worker.evaluation.bench.ranking import rank_files, rank_pairs


def test_the_score_stands_beside_the_size_and_the_constant() -> None:
    rows = [scored(0.9, good=True, name="a", lines=50), scored(0.2, good=False, name="b", lines=10)]
    found = rank_files(rows)["rows.jsonl"]
    assert (found.ours.value, found.size.value, found.constant) == (1.0, 0.0, 0.5)
    assert found.lift is not None
    assert found.lift.rate == 1.0
    assert [(one.x, one.y) for one in found.curve] == [(0, 0), (0, 1), (1, 1)]
    assert [(one.x, one.y) for one in found.size_curve] == [(0, 0), (1, 0), (1, 1)]


def test_files_are_never_compared_with_each_other() -> None:
    rows = [
        scored(0.9, good=True, name="a", file="a.jsonl"),
        scored(0.1, good=False, name="b", file="b.jsonl"),
        scored(0.5, good=True, name="c", file="b.jsonl"),
    ]
    assert list(rank_files(rows)) == ["b.jsonl"]


def test_what_is_only_known_to_have_been_a_fault_stands_apart() -> None:
    weak = judged(unjudged(score=0.9), {"decision": "reject", "label": "weak"}, "w")
    rows = [scored(0.5, good=True, name="a"), scored(0.1, good=False, name="b"), weak]
    found = rank_files(rows)
    assert {name: (one.ours.value, one.ours.bad) for name, one in found.items()} == {
        "rows.jsonl": (1.0, 1),
        "rows.jsonl, weak": (0.0, 1),
    }


def test_rows_that_answer_one_task_are_compared_within_it_else_those_of_a_repository() -> None:
    def answer(score: float, name: str, task: str, *, resolved: bool) -> RowOutcome:
        return judged(unjudged(score=score), {"resolved": resolved, "instance": task}, name)

    tasks = [
        answer(0.9, "a", "t1", resolved=True),
        answer(0.1, "b", "t1", resolved=False),
        answer(0.0, "c", "t2", resolved=True),
    ]
    found = rank_files(tasks)["rows.jsonl"]
    assert found.within is not None
    assert found.within_size is not None
    assert (found.ours.value, found.within.rate, found.within.pairs, found.within_size.rate) == (0.5, 1.0, 1, 0.5)
    apart = [scored(0.9, good=True, name="a", repository="a/a"), scored(0.1, good=False, name="b", repository="b/b")]
    assert rank_files(apart)["rows.jsonl"].within is None


def test_rows_whose_truth_is_not_known_are_left_out() -> None:
    assert rank_files([judged(unjudged(), {}), judged(unjudged(), {"decision": "not_accept"}, "b")]) == {}


@pytest.mark.parametrize(("twin", "rate"), [(0.6, 1.0), (0.3, 0.5), (0.1, 0.0)])
def test_a_defect_is_compared_with_the_row_like_it(twin: float, rate: float) -> None:
    seed = judged(unjudged(score=0.3), {**WEAK_TEST, "pair": "t"}, "s", lines=10)
    other = judged(unjudged(score=twin), GOOD, "t", lines=30)
    alone = judged(unjudged(), {**WEAK_TEST, "pair": "gone"}, "x")
    without_category = judged(unjudged(), {"decision": "reject", "pair": "t"}, "y")
    (found,) = rank_pairs([seed, other, alone, without_category]).values()
    assert found.ours is not None
    assert found.size is not None
    assert (found.ours.rate, found.ours.pairs, found.size.rate) == (rate, 1, 0.0)
