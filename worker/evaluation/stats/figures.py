"""The arithmetic of answers: whole UTC hours; sums of counted rows, means, percentiles, intervals, of exact integers."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil, sqrt
from typing import Final, NamedTuple

from pydantic_core import from_json

HOUR_MS: Final = 3_600_000
DAY_HOURS: Final = 24
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""The latest time that an entry may have."""

LATEST_MS: Final = (LATEST - EPOCH) // timedelta(milliseconds=1)

Z: Final = 1.959963984540054
"""Two-sided 95 %."""

DIGITS: Final = 6


class HourWindow(NamedTuple):
    """From an hour on, and before another: hours since 1970."""

    start: int
    end: int

    @property
    def since(self) -> datetime:
        return EPOCH + timedelta(hours=self.start)

    @property
    def until(self) -> datetime:
        return EPOCH + timedelta(hours=self.end)


def make_window(since: datetime, until: datetime) -> HourWindow:
    """The window of two times, rounded outward."""
    return HourWindow(to_milliseconds(since) // HOUR_MS, -(-to_milliseconds(until) // HOUR_MS))


def to_milliseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def format_time(at_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")


def first_kept_hour(now_ms: int, kept_ms: int) -> int:
    """The first hour of which every entry is kept; *kept_ms* 0: all are."""
    return -(-max(0, now_ms - kept_ms) // HOUR_MS) if kept_ms else 0


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


def percentiles(ordered: Sequence[int], parts: Sequence[float], whole: int) -> list[float | None]:
    """By nearest rank: the smallest figure that at least this part of all does not exceed. *ordered*: the smallest first."""
    count = len(ordered)
    return [ordered[max(1, ceil(part * count)) - 1] / whole if count else None for part in parts]


class CountedStream(NamedTuple):
    """What was counted of one installation's stream, in the tables of `figures.sql`.

    `since_ms`: the first time of which every entry is kept; `until_ms`: of the last counted entry, 0 without one; `is_behind`: there
    are more entries.
    """

    db: sqlite3.Connection
    since_ms: int
    until_ms: int
    is_behind: bool

    def select(self, query: str, window: HourWindow, **parameters: object) -> sqlite3.Cursor:
        """Run a query about `:since` to before `:before`."""
        since = max(window.start * HOUR_MS, self.since_ms)
        return self.db.execute(query, {"since": since, "before": window.end * HOUR_MS, **parameters})


class Sums:
    """Sums by name, and `each`: figures that are listed one by one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.each: list[int] = []

    def __getitem__(self, name: str) -> int:
        return self.counts[name]

    def add(self, figures: Iterable[tuple[str, int | str | None]]) -> None:
        """Add a row: its numbers to the sums of their columns, and each number of a text like `1,2,3`."""
        for name, figure in figures:
            if isinstance(figure, str):
                self.each += from_json(f"[{figure}]")
            elif figure:
                self.counts[name] += figure


def sum_rows(
    streams: Iterable[CountedStream], query: str, window: HourWindow, **parameters: object
) -> dict[str | None, Sums]:
    """The rows of a query, summed over all streams by their first column."""
    sums: dict[str | None, Sums] = {}
    for stream in streams:
        rows = stream.select(query, window, **parameters)
        names = [column[0] for column in rows.description][1:]
        for value, *figures in rows:
            sums.setdefault(value, Sums()).add(zip(names, figures, strict=True))
    return sums
