"""One number from the scores: the weakest criterion decides first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.verdict.verdict import Score
from worker.judge.scoring import DECISION_LINE, composite, is_accepting, strength, verdict_score

SCORES = st.lists(st.integers(1, 10), min_size=1, max_size=8)


def scored(numbers: list[int]) -> list[Score]:
    return [Score(criterion=f"c{n}", score=number, reasoning="", improvement="") for n, number in enumerate(numbers)]


@pytest.mark.parametrize(
    ("numbers", "mean", "score"),
    [
        ([1], 1.0, 0.0),
        ([10, 10], 10.0, 1.0),
        ([8, 8, 8, 8], 8.0, 0.778),
        ([6, 6, 6, 6], 6.0, 0.556),
        ([10, 10, 10, 3], 8.3, 0.419),
        ([5, 6, 6, 8], 6.3, 0.493),
        ([5, 7, 7, 7], 6.5, 0.5),
        ([6, 6, 7], 6.3, 0.567),
    ],
    ids=str,
)
def test_composite_and_score_follow_from_the_scores(numbers: list[int], mean: float, score: float) -> None:
    assert composite(scored(numbers)) == mean
    assert verdict_score(scored(numbers)) == score


@given(SCORES)
def test_the_score_is_in_range_and_on_the_side_that_the_strength_is_on(numbers: list[int]) -> None:
    score = verdict_score(scored(numbers))
    assert 0 <= score <= 1
    assert (score >= 0.5) is (strength(scored(numbers)) >= DECISION_LINE) is is_accepting(scored(numbers))


@given(SCORES)
def test_the_two_rules_that_the_model_is_told_are_enough(numbers: list[int]) -> None:
    lowest = min(numbers)
    if lowest <= 3:
        assert not is_accepting(scored(numbers))
    if lowest >= 6:
        assert is_accepting(scored(numbers))


@given(SCORES, st.integers(0, 7))
def test_a_better_score_never_lowers_the_verdict(numbers: list[int], position: int) -> None:
    better = list(numbers)
    better[position % len(better)] = min(10, better[position % len(better)] + 1)
    assert verdict_score(scored(better)) >= verdict_score(scored(numbers))
