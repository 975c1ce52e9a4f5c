"""The times that are counted: whole UTC hours, and the days and quarters of days that they fill.

A window is rounded outward to whole hours, and its buckets cover it exactly once.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

HOUR_MS: Final = 3_600_000
DAY_HOURS: Final = 24
GRAINS: Final = {"d": DAY_HOURS, "q": 6, "h": 1}
"""How many hours a bucket has, the largest first: a week that begins at one o'clock is six days, three quarters and six hours."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""The latest time that an entry may have."""

LATEST_MS: Final = (LATEST - EPOCH) // timedelta(milliseconds=1)


class TimeBucket(NamedTuple):
    """A whole day, quarter of a day or hour since 1970. `name` is what it is stored under."""

    grain: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.grain}{self.number}"


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

    @property
    def start_ms(self) -> int:
        return self.start * HOUR_MS

    @property
    def end_ms(self) -> int:
        return self.end * HOUR_MS

    def not_before(self, hour: int) -> "HourWindow":
        start = max(self.start, hour)
        return HourWindow(start, max(self.end, start))

    def not_after(self, hour: int) -> "HourWindow":
        return HourWindow(self.start, max(self.start, min(self.end, hour)))

    def to_midnight(self) -> "HourWindow":
        """Extended to the end of its last day."""
        return HourWindow(self.start, -(-self.end // DAY_HOURS) * DAY_HOURS)


def make_window(since: datetime, until: datetime) -> HourWindow:
    """The window of two times, rounded outward."""
    return HourWindow(to_milliseconds(since) // HOUR_MS, -(-to_milliseconds(until) // HOUR_MS))


def to_milliseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def buckets_of(hour: int) -> Iterator[TimeBucket]:
    """Every bucket that an hour is a part of."""
    return (TimeBucket(grain, hour // hours) for grain, hours in GRAINS.items())


def first_kept_hour(now_ms: int, kept_ms: int) -> int:
    """The first hour of which every entry is kept; *kept_ms* 0: all are."""
    return -(-max(0, now_ms - kept_ms) // HOUR_MS) if kept_ms else 0


def is_covering_bucket(bucket: TimeBucket, over: HourWindow) -> bool:
    """Whether a bucket is one of those that cover the window: it lies in it, and no larger one that holds it does."""
    first = bucket.number * GRAINS[bucket.grain]
    larger = (hours for hours in GRAINS.values() if hours >= GRAINS[bucket.grain])
    within = [over.start <= first // hours * hours and (first // hours + 1) * hours <= over.end for hours in larger]
    return within[-1] and not any(within[:-1])


def buckets_covering(over: HourWindow) -> Iterator[TimeBucket]:
    """The fewest buckets that cover the window."""
    at = over.start
    while at < over.end:
        grain, hours = next(
            grain_hours
            for grain_hours in GRAINS.items()
            if at % grain_hours[1] == 0 and at + grain_hours[1] <= over.end
        )
        yield TimeBucket(grain, at // hours)
        at += hours
