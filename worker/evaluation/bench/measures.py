"""Statistics of the bench, of plain numbers: shares with intervals, areas under curves, calibration."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from math import sqrt
from random import Random
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

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
    """The 95 % interval of a rate of *of*; 0 to 1 where *of* is 0."""
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
    """How often a good score exceeds a bad one; ties count half. None where one side is empty."""
    if not good or not bad:
        return None
    order, pairs = sorted(bad), len(good) * len(bad)
    wins = sum(bisect_left(order, score) + bisect_right(order, score) for score in good) / 2
    value, half = wins / pairs, Z * _standard_error(wins, len(good), len(bad))
    return RocArea(value, max(0.0, value - half), min(1.0, value + half), len(good), len(bad))


def _standard_error(wins: float, good: int, bad: int) -> float:
    """Standard error of the area. Half a pair is moved towards chance: else a perfect score would have an error of 0."""
    value = (wins + 0.5) / (good * bad + 1)
    above, twice = value / (2 - value), 2 * value * value / (1 + value)
    squared = value * (1 - value) + (good - 1) * (above - value * value) + (bad - 1) * (twice - value * value)
    return sqrt(squared / (good * bad))


class CurvePoint(NamedTuple):
    """A point of a curve."""

    x: float
    y: float


def roc_curve(good: Sequence[float], bad: Sequence[float]) -> tuple[CurvePoint, ...]:
    """The share of good scores (y) and of bad ones (x) at or above each score, from none to all."""
    ups, downs = sorted(good), sorted(bad)
    points = (
        CurvePoint(_share_from(downs, score), _share_from(ups, score)) for score in sorted({*good, *bad}, reverse=True)
    )
    return (CurvePoint(0.0, 0.0), *points)


def _share_from(order: list[float], score: float) -> float:
    return (len(order) - bisect_left(order, score)) / len(order) if order else 0.0


class RankedRow(NamedTuple):
    """A row to compare with those of its group, by *score* and by the *baseline*'s score."""

    group: str
    good: bool
    score: float
    baseline: float = 0.0


class PairsWon(NamedTuple):
    """Of *pairs* of a good and a bad row of one group, the share in which the good one scored higher (a tie: half).

    The interval is the middle 95 % of RESAMPLES draws of whole groups, since pairs of one group are not independent.
    Where all groups have the same share or are fewer than FEWEST_GROUPS, draws vary too little: Wilson's over groups.
    """

    rate: float
    low: float
    high: float
    pairs: int
    groups: int


RESAMPLES: Final = 500
TAIL_DRAWS: Final = RESAMPLES // 40
"""Draws beyond each end of a 95 % interval."""

FEWEST_GROUPS: Final = 10

WonOfPairs = tuple[float, int]
"""Pairs won in a group, of how many."""


def pairs_won(rows: Iterable[RankedRow]) -> PairsWon | None:
    """Pairs won by score. None where no group has good and bad rows."""
    return _pairs_interval([(ours, pairs) for ours, _, pairs in _groups(rows)], floor=0.0)


def pairs_lift(rows: Iterable[RankedRow]) -> PairsWon | None:
    """Pairs won by score less pairs won by the baseline, from -1 to 1. None where no group has good and bad rows."""
    return _pairs_interval([(ours - rival, pairs) for ours, rival, pairs in _groups(rows)], floor=-1.0)


def _groups(rows: Iterable[RankedRow]) -> Iterator[tuple[float, float, int]]:
    """Pairs won by score and by baseline, and how many pairs there are, of each group with good and bad rows."""
    for _, members in groupby(sorted(rows), key=lambda row: row.group):
        sides: tuple[list[RankedRow], list[RankedRow]] = ([], [])
        for row in members:
            sides[row.good].append(row)
        bad, good = sides
        ours = roc_area([row.score for row in good], [row.score for row in bad])
        rival = roc_area([row.baseline for row in good], [row.baseline for row in bad])
        if ours is not None and rival is not None:
            yield ours.value * ours.good * ours.bad, rival.value * rival.good * rival.bad, len(good) * len(bad)


def _pairs_interval(groups: list[WonOfPairs], floor: float) -> PairsWon | None:
    if not groups:
        return None
    rate = _pairs_rate(groups)
    low, high = _resampled_interval(groups, _pairs_rate)
    if low == high or len(groups) < FEWEST_GROUPS:
        low, high = (floor + (1 - floor) * end for end in wilson_interval((rate - floor) / (1 - floor), len(groups)))
    return PairsWon(rate, low, high, sum(pairs for _, pairs in groups), len(groups))


def _pairs_rate(groups: Sequence[WonOfPairs]) -> float:
    return sum(won for won, _ in groups) / sum(pairs for _, pairs in groups)


def _resampled_interval(rows: Sequence[T], figure: Callable[[Sequence[T]], float]) -> tuple[float, float]:
    """The middle 95 % of a figure over draws of the rows."""
    random = Random(0)  # noqa: S311 - the same rows give the same interval; nothing is secret here
    drawn = sorted(figure(random.choices(rows, k=len(rows))) for _ in range(RESAMPLES))
    return drawn[TAIL_DRAWS], drawn[-TAIL_DRAWS - 1]


class CalibrationBin(NamedTuple):
    """Rows whose score lies in [low, high), and how many of them were good."""

    low: float
    high: float
    mean: float
    good: Share


ScoredRow = tuple[float, bool]
"""A row's score, and whether the row is good."""


def calibration_bins(rows: Iterable[ScoredRow], bins: int = 10) -> tuple[CalibrationBin, ...]:
    """Ten bins of the score without the empty ones: a calibrated score of 0.7 is good in 70 %."""
    held: list[list[ScoredRow]] = [[] for _ in range(bins)]
    for score, good in rows:
        held[min(bins - 1, int(score * bins))].append((score, good))
    return tuple(
        CalibrationBin(
            at / bins,
            (at + 1) / bins,
            sum(score for score, _ in part) / len(part),
            Share(sum(good for _, good in part), len(part)),
        )
        for at, part in enumerate(held)
        if part
    )


class CalibrationError(NamedTuple):
    """The expected calibration error of the score, and the middle 95 % of draws of the rows."""

    value: float
    low: float
    high: float


def calibration_error(rows: Sequence[ScoredRow]) -> CalibrationError | None:
    """By how much the score differs from the share of good rows, over ten bins, weighted. None without rows."""
    return CalibrationError(_gap(rows), *_resampled_interval(rows, _gap)) if rows else None


def _gap(rows: Sequence[ScoredRow]) -> float:
    return sum(part.good.of * abs(part.mean - part.good.rate) for part in calibration_bins(rows)) / len(rows)
