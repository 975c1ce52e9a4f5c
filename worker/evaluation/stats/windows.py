"""The times that are asked about: whole UTC hours, a window rounded outward to them."""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

HOUR_MS: Final = 3_600_000
DAY_HOURS: Final = 24
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""The latest time that an entry may have."""

LATEST_MS: Final = (LATEST - EPOCH) // timedelta(milliseconds=1)


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


def first_kept_hour(now_ms: int, kept_ms: int) -> int:
    """The first hour of which every entry is kept; *kept_ms* 0: all are."""
    return -(-max(0, now_ms - kept_ms) // HOUR_MS) if kept_ms else 0
