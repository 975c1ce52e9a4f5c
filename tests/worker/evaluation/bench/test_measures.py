"""Shares, ROC areas, pairs and calibration, against reference values."""

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
    calibration_error,
    pairs_lift,
    pairs_won,
    roc_area,
    roc_curve,
)

SCORES = st.lists(st.floats(0, 1), max_size=30)
Groups = list[tuple[str, list[float], list[float]]]
"""Names, scores of good rows and scores of bad ones."""


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (1, 10, 0.017876, 0.404150),
        (81, 263, 0.255308, 0.366216),  # Newcombe 1998, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.161125),
        (0, 0, 0.0, 1.0),
    ],
)
def test_share_has_a_wilson_interval(hits: int, of: int, low: float, high: float) -> None:
    share = Share(hits, of)
    assert (share.rate, share.low, share.high) == pytest.approx((hits / of if of else 0.0, low, high), abs=5e-5)


@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_share_interval_contains_its_rate(hits: int, more: int) -> None:
    share = Share(hits, hits + more)
    assert 0 <= share.low <= share.rate <= share.high <= 1


@given(SCORES, SCORES)
def test_roc_area_is_the_share_of_won_pairs_and_the_area_under_the_curve(good: list[float], bad: list[float]) -> None:
    area, points = roc_area(good, bad), roc_curve(good, bad)
    if area is None:
        assert not good or not bad
        return
    pairs = [1.0 if score > other else 0.5 if score == other else 0.0 for score in good for other in bad]
    assert area.value == pytest.approx(sum(pairs) / len(pairs))
    assert 0 <= area.low <= area.value <= area.high <= 1
    assert (area.good, area.bad) == (len(good), len(bad))
    assert sum((b.x - a.x) * (a.y + b.y) / 2 for a, b in pairwise(points)) == pytest.approx(area.value)


@pytest.mark.parametrize(("good", "bad"), [(60, 60), (200, 20), (20, 200)])
def test_roc_area_has_a_hanley_mcneil_interval(good: int, bad: int) -> None:
    area = roc_area([number / good + 0.4 for number in range(good)], [number / bad for number in range(bad)])
    assert area is not None
    value = area.value
    first, second = value / (2 - value), 2 * value**2 / (1 + value)
    squared = value * (1 - value) + (good - 1) * (first - value**2) + (bad - 1) * (second - value**2)
    assert (value - area.low) / 1.959964 == pytest.approx(sqrt(squared / (good * bad)), rel=0.01)


@pytest.mark.parametrize(("rows", "least", "most"), [(2, 0.0, 0.7), (200, 0.99, 0.9999)])
def test_perfect_ranking_of_few_rows_has_a_wide_interval(rows: int, least: float, most: float) -> None:
    area = roc_area([0.9] * rows, [0.1] * rows)
    assert area is not None
    assert least < area.low < most
    assert area.high == 1.0


@pytest.mark.parametrize(
    ("good", "bad", "points"),
    [
        ([0.9, 0.5], [0.5, 0.1], [(0, 0), (0, 0.5), (0.5, 1), (1, 1)]),
        ([0.5], [], [(0, 0), (0, 1)]),
        ([], [0.5], [(0, 0), (1, 0)]),
    ],
)
def test_roc_curve_passes_each_score(good: list[float], bad: list[float], points: list[tuple[float, float]]) -> None:
    assert roc_curve(good, bad) == tuple(CurvePoint(*point) for point in points)


def ranked(groups: Groups) -> list[RankedRow]:
    return [
        RankedRow(name, is_good, score)
        for name, good, bad in groups
        for is_good, scores in ((True, good), (False, bad))
        for score in scores
    ]


GROUPS: list[tuple[Groups, tuple[float, int, int] | None]] = [
    ([("a", [0.3], [0.2]), ("b", [0.9], [0.8]), ("good", [0.0], []), ("bad", [], [1.0])], (1.0, 2, 2)),
    ([("a", [0.9, 0.9, 0.9], [0.1]), ("b", [0.1], [0.9])], (0.75, 4, 2)),
    ([("a", [0.9], []), ("b", [], [0.1])], None),
    ([], None),
]


@pytest.mark.parametrize(
    ("groups", "won"), GROUPS, ids=["pairs of one group", "a group counts by its pairs", "no group with both", "no row"]
)
def test_only_rows_of_the_same_group_are_paired(groups: Groups, won: tuple[float, int, int] | None) -> None:
    share = pairs_won(ranked(groups))
    assert (share and (share.rate, share.pairs, share.groups)) == won


def test_pairs_interval_is_bootstrapped_over_groups_deterministically() -> None:
    rows = ranked([(f"g{number}", [0.9], [0.1 if number % 4 else 0.95]) for number in range(40)])
    won = pairs_won(rows)
    assert won is not None
    assert won.rate == 0.75
    assert 0.5 < won.low < 0.7
    assert 0.8 < won.high < 0.95
    assert pairs_won(list(reversed(rows))) == won


@pytest.mark.parametrize(("groups", "lost"), [(10, 0), (9, 1)], ids=["all agree", "few"])
def test_pairs_interval_of_uniform_groups_is_wilson(groups: int, lost: int) -> None:
    won = pairs_won(ranked([(f"g{number}", [0.9], [0.95 if number < lost else 0.1]) for number in range(groups)]))
    share = Share(groups - lost, groups)
    assert won is not None
    assert (won.low, won.high) == pytest.approx((share.low, share.high))


@pytest.mark.parametrize(
    ("rows", "rate", "low", "high"),
    [
        ([("a", 0.9, 1.0, 0.1, 2.0), ("b", 0.9, 2.0, 0.1, 0.0)], 0.5, (-1, 0.5), (0.5, 1)),
        ([("a", 0.9, 0.9, 0.1, 0.1)], 0.0, (-1, -0.7), (0.7, 1)),
        ([("a", 0.1, 0.9, 0.9, 0.1)], -1.0, (-1, -1), (-1, 1)),
    ],
    ids=["one of two", "alike, on either side", "losing"],
)
def test_lift_is_the_gain_over_the_baseline(
    rows: list[tuple[str, float, float, float, float]], rate: float, low: tuple[float, float], high: tuple[float, float]
) -> None:
    lift = pairs_lift(
        row
        for name, good, good_baseline, bad, bad_baseline in rows
        for row in (RankedRow(name, True, good, good_baseline), RankedRow(name, False, bad, bad_baseline))  # noqa: FBT003 - a row
    )
    assert lift is not None
    assert (lift.rate, lift.pairs) == (rate, len(rows))
    assert low[0] <= lift.low <= low[1]
    assert high[0] <= lift.high <= high[1]
    assert pairs_lift([]) is None


def test_calibration_bins_hold_mean_score_and_share_of_good_rows() -> None:
    rows = [(0.72, True), (0.78, False), (1.0, True), (0.0, False)]
    assert calibration_bins(rows) == (
        CalibrationBin(0.0, 0.1, 0.0, Share(0, 1)),
        CalibrationBin(0.7, 0.8, 0.75, Share(1, 2)),
        CalibrationBin(0.9, 1.0, 1.0, Share(1, 1)),
    )


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([(0.0, False)] * 10 + [(1.0, True)] * 10, 0.0),
        ([(1.0, False)] * 20, 1.0),
        ([(0.75, True)] * 15 + [(0.75, False)] * 5, 0.0),
        ([(0.95, True)] * 10 + [(0.95, False)] * 10, 0.45),
    ],
)
def test_calibration_error_is_the_gap_between_score_and_share(rows: list[tuple[float, bool]], error: float) -> None:
    measured = calibration_error(rows)
    assert measured is not None
    assert measured.value == pytest.approx(error, abs=1e-9)
    assert measured.low <= measured.high
    assert calibration_error([]) is None
