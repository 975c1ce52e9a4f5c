"""The times that are counted: whole UTC hours, and the days that they fill.

Does not read a clock. Invariant: a window is rounded outward to whole hours, and its buckets cover it exactly once.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

HOUR_MS: Final = 3_600_000
DAY_HOURS: Final = 24
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Bucket(NamedTuple):
    """A whole hour or a whole day since 1970. `name` is what it is stored under."""

    grain: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.grain}{self.number}"


class Window(NamedTuple):
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

    def not_before(self, hour: int) -> "Window":
        start = max(self.start, hour)
        return Window(start, max(self.end, start))

    def not_after(self, hour: int) -> "Window":
        return Window(self.start, max(self.start, min(self.end, hour)))

    def to_midnight(self) -> "Window":
        """Until the end of its last day."""
        return Window(self.start, -(-self.end // DAY_HOURS) * DAY_HOURS)


def window(since: datetime, until: datetime) -> Window:
    """Rounded outward."""
    return Window(ms(since) // HOUR_MS, -(-ms(until) // HOUR_MS))


def ms(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def hour_of(at_ms: int) -> Bucket:
    return Bucket("h", at_ms // HOUR_MS)


def day_of(at_ms: int) -> Bucket:
    return Bucket("d", at_ms // (HOUR_MS * DAY_HOURS))


def first_kept(now_ms: int, kept_ms: int) -> int:
    """The first hour of which every entry is still there; *kept_ms* 0: for good."""
    return -(-max(0, now_ms - kept_ms) // HOUR_MS) if kept_ms else 0


def buckets(over: Window) -> Iterator[Bucket]:
    """Whole days where the window holds them, hours at its ends."""
    first_day, last_day = -(-over.start // DAY_HOURS), over.end // DAY_HOURS
    if first_day >= last_day:
        yield from (Bucket("h", hour) for hour in range(over.start, over.end))
        return
    yield from (Bucket("h", hour) for hour in range(over.start, first_day * DAY_HOURS))
    yield from (Bucket("d", day) for day in range(first_day, last_day))
    yield from (Bucket("h", hour) for hour in range(last_day * DAY_HOURS, over.end))
