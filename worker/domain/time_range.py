"""Times and windows as people write them, and a pause of judging, which is one: who set it, since when, until when, and why.

A time is `7d`, `24h`, or a date with or without a time; without a zone it is UTC. Without an end a pause lasts until it is resumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import Field

from worker.domain.model import Frozen, RepositoryName
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


LONGEST_REASON: Final = 500
LONGEST_NAME: Final = 100
EXPECTED_END: Final = "Expected: how long, like 90m, 2h or 3d, or a time like 2026-11-20T15:00Z."


class UntilError(ValueError):
    """No time, or one that is over. The message is for people."""


class JudgingPause(Frozen):
    """`by`: who paused; may be empty. `until` None: until it is resumed. `repository` None: everywhere."""

    by: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    at: datetime | None = None
    until: datetime | None = None
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""
    repository: RepositoryName | None = None


def parse_end(text: str, now: datetime) -> datetime:
    """The moment that *text* names, seen from *now*. Raises UntilError."""
    if span := DURATION_PATTERN.fullmatch(text):
        until = now + timedelta(**{DURATION_UNITS[span[2]]: int(span[1])})
    else:
        try:
            at = datetime.fromisoformat(text)
            until = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        except (ValueError, OverflowError) as error:  # the last minutes of the year 9999, west of here
            raise UntilError(f'"{text}" is no time. {EXPECTED_END}') from error
    if until <= now:
        raise UntilError(f'"{text}" is over already: it is {now:%Y-%m-%d %H:%M} UTC.')
    return until


def format_time(at: datetime) -> str:
    """`2026-11-20 15:00 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def pause_to_signals(pause: JudgingPause) -> dict[str, str]:
    """The pause as signals of a verdict."""
    until = pause.until.isoformat() if pause.until else ""
    named = {"paused_name": pause.by, "paused_until": until, "paused_for": pause.reason}
    return {name: value for name, value in named.items() if value}


def pause_from_signals(signals: Mapping[str, object]) -> JudgingPause | None:
    """The pause that `pause_to_signals` put into a verdict; None: none."""
    by, until, reason = (str(signals.get(name, "")) for name in ("paused_name", "paused_until", "paused_for"))
    if not (by or until or reason):
        return None
    return JudgingPause(by=by, until=datetime.fromisoformat(until) if until else None, reason=reason)
