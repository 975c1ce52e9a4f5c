"""The statistics of the bench, against values worked out elsewhere."""

from itertools import pairwise
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.evaluation.bench.measures import (
    CalibrationBin,
    CurvePoint,
    RankedRow,
    Share,
    calibration_bins,
    pairs_lift,
    pairs_won,
    roc_area,
    roc_curve,
)

SCORES = st.lists(st.floats(0, 1), max_size=30)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (1, 10, 0.017876, 0.404150),
        (81, 263, 0.255308, 0.366216),  # Newcombe 1998, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.161125),
    ],
)
def test_an_interval_of_a_share_is_wilsons(hits: int, of: int, low: float, high: float) -> None:
    share = Share(hits, of)
    assert (share.rate, share.low, share.high) == pytest.approx((hits / of, low, high), abs=5e-5)


def test_a_share_of_nothing_says_nothing() -> None:
    assert (Share(0, 0).rate, Share(0, 0).low, Share(0, 0).high) == (0.0, 0.0, 1.0)


@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_an_interval_holds_its_rate(hits: int, more: int) -> None:
    share = Share(hits, hits + more)
    assert 0 <= share.low <= share.rate <= share.high <= 1


@given(SCORES, SCORES)
def test_the_area_is_the_share_of_pairs_that_the_good_one_wins(good: list[float], bad: list[float]) -> None:
    found = roc_area(good, bad)
    if found is None:
        assert not good or not bad
        return
    pairs = [1.0 if one > other else 0.5 if one == other else 0.0 for one in good for other in bad]
    assert found.value == pytest.approx(sum(pairs) / len(pairs))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.good, found.bad) == (len(good), len(bad))


@pytest.mark.parametrize(("good", "bad"), [(60, 60), (200, 20), (20, 200)])
def test_an_interval_of_an_area_is_hanley_and_mcneils(good: int, bad: int) -> None:
    found = roc_area([one / good + 0.4 for one in range(good)], [one / bad for one in range(bad)])
    assert found is not None
    value = found.value
    first, second = value / (2 - value), 2 * value**2 / (1 + value)
    squared = value * (1 - value) + (good - 1) * (first - value**2) + (bad - 1) * (second - value**2)
    error = sqrt(squared / (good * bad))
    assert (value - found.low) / 1.959964 == pytest.approx(error, rel=0.01)


def test_a_perfect_order_of_few_is_not_certain() -> None:
    few, many = roc_area([0.9] * 2, [0.1] * 2), roc_area([0.9] * 200, [0.1] * 200)
    assert few is not None
    assert many is not None
    assert few.low < 0.7
    assert 0.99 < many.low < 1
    assert few.high == many.high == 1.0


def entries(*groups: tuple[str, list[float], list[float]]) -> list[RankedRow]:
    return [
        RankedRow(name, is_good, score)
        for name, good, bad in groups
        for is_good, scores in ((True, good), (False, bad))
        for score in scores
    ]


def test_only_rows_of_one_group_are_compared() -> None:
    won = pairs_won(entries(("a", [0.3], [0.2]), ("b", [0.9], [0.8]), ("alone", [0.0], []), ("bad alone", [], [1.0])))
    assert won is not None
    assert (won.rate, won.pairs, won.groups) == (1.0, 2, 2)


def test_a_group_weighs_as_many_pairs_as_it_holds() -> None:
    won = pairs_won(entries(("a", [0.9, 0.9, 0.9], [0.1]), ("b", [0.1], [0.9])))
    assert won is not None
    assert (won.rate, won.pairs) == (0.75, 4)


def test_nothing_is_won_where_no_group_has_both_sorts() -> None:
    assert pairs_won(entries(("a", [0.9], []), ("b", [], [0.1]))) is None
    assert pairs_lift([]) is None


def test_groups_that_disagree_are_drawn_for_the_interval_and_always_alike() -> None:
    rows = entries(*((f"g{one}", [0.9], [0.1 if one % 4 else 0.95]) for one in range(40)))
    won = pairs_won(rows)
    assert won is not None
    assert won.rate == 0.75
    assert 0.5 < won.low < 0.7
    assert 0.8 < won.high < 0.95
    assert pairs_won(list(reversed(rows))) == won


def test_groups_that_all_agree_promise_no_more_than_wilson() -> None:
    won = pairs_won(entries(*((f"g{one}", [0.9], [0.1]) for one in range(10))))
    assert won is not None
    assert (won.low, won.high) == (pytest.approx(Share(10, 10).low), 1.0)


def test_few_groups_promise_no_more_than_wilson_either() -> None:
    won = pairs_won(entries(*((f"g{one}", [0.9], [0.1 if one else 0.95]) for one in range(9))))
    assert won is not None
    assert (won.low, won.high) == pytest.approx((Share(8, 9).low, Share(8, 9).high))


def test_a_lift_is_what_the_score_wins_beyond_the_baseline() -> None:
    rows = [
        RankedRow("a", good=True, score=0.9, baseline=1.0),
        RankedRow("a", good=False, score=0.1, baseline=2.0),
        RankedRow("b", good=True, score=0.9, baseline=2.0),
        RankedRow("b", good=False, score=0.1),
    ]
    found = pairs_lift(rows)
    assert found is not None
    assert (found.rate, found.pairs) == (0.5, 2)
    assert found.low < found.rate < found.high


def test_a_lift_that_never_varies_may_still_lie_on_either_side() -> None:
    found = pairs_lift(
        [RankedRow("a", good=True, score=0.9, baseline=0.9), RankedRow("a", good=False, score=0.1, baseline=0.1)]
    )
    assert found is not None
    assert (found.rate, found.low < -0.7, found.high > 0.7) == (0.0, True, True)
    losing = pairs_lift(
        [RankedRow("a", good=True, score=0.1, baseline=0.9), RankedRow("a", good=False, score=0.9, baseline=0.1)]
    )
    assert losing is not None
    assert (losing.rate, losing.low) == (-1.0, -1.0)


def test_a_curve_goes_from_none_to_all_through_every_score() -> None:
    assert roc_curve([0.9, 0.5], [0.5, 0.1]) == (
        CurvePoint(0, 0),
        CurvePoint(0, 0.5),
        CurvePoint(0.5, 1),
        CurvePoint(1, 1),
    )


def test_a_curve_of_one_side_stays_at_its_edge() -> None:
    assert roc_curve([0.5], []) == (CurvePoint(0, 0), CurvePoint(0, 1))
    assert roc_curve([], [0.5]) == (CurvePoint(0, 0), CurvePoint(1, 0))


@given(SCORES.filter(bool), SCORES.filter(bool))
def test_the_area_under_the_curve_is_the_area(good: list[float], bad: list[float]) -> None:
    points, found = roc_curve(good, bad), roc_area(good, bad)
    assert found is not None
    under = sum((b.x - a.x) * (a.y + b.y) / 2 for a, b in pairwise(points))
    assert under == pytest.approx(found.value)


def test_a_calibrated_score_of_a_tenth_is_good_in_a_tenth() -> None:
    rows = [(0.72, True), (0.78, False), (1.0, True), (0.0, False)]
    assert calibration_bins(rows) == (
        CalibrationBin(0.0, 0.1, 0.0, Share(0, 1)),
        CalibrationBin(0.7, 0.8, 0.75, Share(1, 2)),
        CalibrationBin(0.9, 1.0, 1.0, Share(1, 1)),
    )
