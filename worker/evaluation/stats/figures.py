"""The arithmetic of answers: means, percentiles, intervals, of exact integers."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import ceil, sqrt
from typing import Final, NamedTuple

Z: Final = 1.959963984540054
"""Two-sided 95 %."""

DIGITS: Final = 6


class ConfidenceInterval(NamedTuple):
    low: float
    high: float

    def is_apart_from(self, other: "ConfidenceInterval") -> bool:
        return self.high < other.low or other.high < self.low


def wilson_interval(hits: int, of: int) -> ConfidenceInterval | None:
    """The 95 % interval of a share (Wilson 1927). None for a share of nothing."""
    if of == 0:
        return None
    share, spread = hits / of, Z * Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    return ConfidenceInterval(round(max(0.0, middle - half), DIGITS), round(min(1.0, middle + half), DIGITS))


def share_of(hits: int, of: int) -> float | None:
    return round(hits / of, DIGITS) if of else None


def mean_of(times: Mapping[int, int], whole: int) -> float | None:
    """The mean of figures with their numbers, as a part of *whole*."""
    count = sum(times.values())
    return round(sum(figure * n for figure, n in times.items()) / (count * whole), DIGITS) if count else None


class FigureSums(NamedTuple):
    """The number of figures, their sum, and the sum of their squares."""

    times: int
    total: int
    squares: int


def mean_interval(sums: FigureSums, whole: int) -> ConfidenceInterval | None:
    """The 95 % interval of a mean between 0 and 1, by the normal approximation. None for fewer than two."""
    count, total, squares = sums
    if count < 2:  # noqa: PLR2004 - one figure has no spread
        return None
    half = Z * sqrt((count * squares - total * total) / (count * (count - 1)) / count)
    middle = total / count
    return ConfidenceInterval(
        round(max(0.0, (middle - half) / whole), DIGITS), round(min(1.0, (middle + half) / whole), DIGITS)
    )


def percentiles(times: Mapping[int, int], parts: Sequence[float], whole: int) -> list[float | None]:
    """By nearest rank: the smallest figure that at least this part of all does not exceed."""
    ordered = sorted(times)
    passed = list(accumulate(map(times.__getitem__, ordered)))
    count = passed[-1] if passed else 0
    if not count:
        return [None for _ in parts]
    return [ordered[bisect_left(passed, max(1, ceil(part * count)))] / whole for part in parts]


def percentiles_in_order(ordered: Sequence[int], parts: Sequence[float], whole: int) -> list[float | None]:
    """As percentiles, of figures listed one by one, the smallest first."""
    count = len(ordered)
    return [ordered[max(1, ceil(part * count)) - 1] / whole if count else None for part in parts]
