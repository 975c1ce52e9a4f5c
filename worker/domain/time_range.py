"""A window of time as people write it: `7d`, `24h`, or a date with or without a time; without a zone it is UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from worker.domain.pattern import pattern

DURATION_PATTERN: Final = pattern(r"(\d{1,5})([mhdw])")
DURATION_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
NO_END_MS: Final = 2**53
"""The end of a window without one: the last entry's clock may have been ahead of ours."""

EXPECTED_FORMAT: Final = (
    "Expected: a date like 2026-11-20, a time like 2026-11-20T15:00Z, or how long ago like 7d, 24h, 90m."
)


class WindowError(ValueError):
    """Not a time, or a window that ends before it begins. The message is for people."""


@dataclass(frozen=True)
class Window:
    """Milliseconds since 1970, UTC; the end is exclusive."""

    since_ms: int
    until_ms: int

    def contains(self, at_ms: int) -> bool:
        return self.since_ms <= at_ms < self.until_ms


def parse_window(since: str, until: str | None, now: datetime) -> Window:
    """The window that these texts name; without *until* it ends behind the last entry. Raises WindowError."""
    begin, end = parse_moment_ms(since, now), parse_moment_ms(until or "0m", now)
    if end <= begin:
        raise WindowError(f'The window ends ("{until or "now"}") before it begins ("{since}").')
    return Window(begin, end if until is not None else NO_END_MS)


def parse_moment_ms(text: str, now: datetime) -> int:
    """The moment that *text* names, seen from *now*. Raises WindowError."""
    if ago := DURATION_PATTERN.fullmatch(text):
        return to_milliseconds(now - timedelta(**{DURATION_UNITS[ago[2]]: int(ago[1])}))
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise WindowError(f'"{text}" is no time. {EXPECTED_FORMAT}') from error
    return to_milliseconds(at if at.tzinfo else at.replace(tzinfo=UTC))


def to_milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)
