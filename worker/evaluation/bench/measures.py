"""Statistics of the bench: shares with intervals, areas under curves, calibration.

Does not know verdicts. Invariant: an interval never promises more than its sample holds; nothing divides by zero.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import sqrt
from random import Random
from typing import Final, NamedTuple

Z: Final = 1.959964
"""Two-sided 95 %."""


class Share(NamedTuple):
    """*hits* of *of*, and the 95 % interval after Wilson (1927)."""

    hits: int
    of: int

    @property
    def rate(self) -> float:
        return self.hits / self.of if self.of else 0.0

    @property
    def low(self) -> float:
        return wilson_interval(self.rate, self.of)[0]

    @property
    def high(self) -> float:
        return wilson_interval(self.rate, self.of)[1]


def wilson_interval(rate: float, of: int) -> tuple[float, float]:
    """The 95 % interval of a rate; all that is possible where it is one of nothing."""
    if not of:
        return 0.0, 1.0
    centre = rate + Z * Z / (2 * of)
    half = Z * sqrt(rate * (1 - rate) / of + Z * Z / (4 * of * of))
    whole = 1 + Z * Z / of
    return (rate and (centre - half) / whole, 1.0 if rate == 1 else (centre + half) / whole)


class RocArea(NamedTuple):
    """The area under a ROC curve with its 95 % interval after Hanley and McNeil (1982); 0.5 is chance."""

    value: float
    low: float
    high: float
    good: int
    bad: int


def roc_area(good: Sequence[float], bad: Sequence[float]) -> RocArea | None:
    """How often a good one scores above a bad one; ties count half. None where one side is empty."""
    if not good or not bad:
        return None
    order = sorted(bad)
    wins = sum(bisect_left(order, score) + bisect_right(order, score) for score in good) / 2
    value, half = wins / (len(good) * len(bad)), Z * _standard_error(wins, len(good), len(bad))
    return RocArea(value, max(0.0, value - half), min(1.0, value + half), len(good), len(bad))


def _standard_error(wins: float, good: int, bad: int) -> float:
    """Standard error of the area. Half a pair is drawn towards chance: else a perfect score would claim to be certain."""
    value = (wins + 0.5) / (good * bad + 1)
    above, twice = value / (2 - value), 2 * value * value / (1 + value)
    squared = value * (1 - value) + (good - 1) * (above - value * value) + (bad - 1) * (twice - value * value)
    return sqrt(squared / (good * bad))


class RankedRow(NamedTuple):
    """A row to compare with those of its group, by *score*; *baseline* is what a rival says of it."""

    group: str
    good: bool
    score: float
    baseline: float = 0.0


class PairsWon(NamedTuple):
    """Of *pairs* of a good and a bad row of one group, the share in which the good one scored higher (a tie: half).

    The interval is the middle 95 % of RESAMPLES draws of whole groups, since pairs of one group are not independent.
    Where all groups say the same or they are fewer than FEWEST, draws tell too little, and it is Wilson's over groups.
    """

    rate: float
    low: float
    high: float
    pairs: int
    groups: int


RESAMPLES: Final = 500
FEWEST_PAIRS: Final = 10
TAIL_DRAWS: Final = RESAMPLES // 40
"""How many draws lie beyond each end of the interval."""

RateAndWeight = tuple[float, int]
"""What the pairs of one group sum up to, and how many they are."""


def pairs_won(rows: Iterable[RankedRow]) -> PairsWon | None:
    """Pairs won by score. None where no group holds both sorts."""
    return _pairs_interval([(sum_of(ours), pairs) for ours, _, pairs in _groups(rows)], floor=0.0)


def pairs_lift(rows: Iterable[RankedRow]) -> PairsWon | None:
    """Pairs won by score less pairs won by the baseline, from -1 to 1. None where no group holds both sorts."""
    return _pairs_interval([(sum_of(ours) - sum_of(rival), pairs) for ours, rival, pairs in _groups(rows)], floor=-1.0)


def sum_of(area_of_group: RocArea) -> float:
    return area_of_group.value * area_of_group.good * area_of_group.bad


def _groups(rows: Iterable[RankedRow]) -> Iterator[tuple[RocArea, RocArea, int]]:
    """By score and by baseline, for each group with good and bad rows; and how many pairs it makes."""
    for _, members in groupby(sorted(rows), key=lambda row: row.group):
        sides: tuple[list[RankedRow], list[RankedRow]] = ([], [])
        for row in members:
            sides[row.good].append(row)
        bad, good = sides
        ours = roc_area([row.score for row in good], [row.score for row in bad])
        theirs = roc_area([row.baseline for row in good], [row.baseline for row in bad])
        if ours is not None and theirs is not None:
            yield ours, theirs, len(good) * len(bad)


def _pairs_interval(held: list[RateAndWeight], floor: float) -> PairsWon | None:
    if not held:
        return None
    rate = _rate(held)
    drawn = sorted(_rate(draw) for draw in _resample(held))
    low, high = drawn[TAIL_DRAWS], drawn[-TAIL_DRAWS - 1]
    if low == high or len(held) < FEWEST_PAIRS:
        low, high = (floor + (1 - floor) * end for end in wilson_interval((rate - floor) / (1 - floor), len(held)))
    return PairsWon(rate, low, high, sum(pairs for _, pairs in held), len(held))


def _rate(held: Sequence[RateAndWeight]) -> float:
    return sum(won for won, _ in held) / sum(pairs for _, pairs in held)


def _resample(held: list[RateAndWeight]) -> Iterator[list[RateAndWeight]]:
    random = Random(0)  # noqa: S311 - the same rows give the same interval; nothing is secret here
    return (random.choices(held, k=len(held)) for _ in range(RESAMPLES))


class CurvePoint(NamedTuple):
    """A point of a curve."""

    x: float
    y: float


def roc_curve(good: Sequence[float], bad: Sequence[float]) -> tuple[CurvePoint, ...]:
    """The share of good ones (y) and of bad ones (x) at or above each score, from none to all."""
    ups, downs = sorted(good), sorted(bad)
    scores = sorted({*good, *bad}, reverse=True)
    points = (CurvePoint(_share(downs, score), _share(ups, score)) for score in scores)
    return (CurvePoint(0.0, 0.0), *points)


def _share(order: list[float], score: float) -> float:
    """The share of these at or above the score."""
    return (len(order) - bisect_left(order, score)) / len(order) if order else 0.0


class CalibrationBin(NamedTuple):
    """Rows whose score lies in [low, high), and how many of them were good."""

    low: float
    high: float
    mean: float
    good: Share


def calibration_bins(rows: Iterable[tuple[float, bool]], bins: int = 10) -> tuple[CalibrationBin, ...]:
    """Ten bins of the score, empty ones left out: a calibrated score of 0.7 is good in 70 %."""
    held: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for score, good in rows:
        held[min(bins - 1, int(score * bins))].append((score, good))
    return tuple(
        CalibrationBin(
            at / bins,
            (at + 1) / bins,
            sum(score for score, _ in rows_in_bin) / len(rows_in_bin),
            Share(sum(g for _, g in rows_in_bin), len(rows_in_bin)),
        )
        for at, rows_in_bin in enumerate(held)
        if rows_in_bin
    )
