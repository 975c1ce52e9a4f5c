"""A pause of judging: who set it, since when, until when, and why. Without an end it lasts until it is resumed."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import Field

from worker.domain.model import Frozen, RepositoryName
from worker.domain.time_range import DURATION_PATTERN, DURATION_UNITS

LONGEST_REASON: Final = 500
LONGEST_NAME: Final = 100
EXPECTED_FORMAT: Final = "Expected: how long, like 90m, 2h or 3d, or a time like 2026-11-20T15:00Z."


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
            raise UntilError(f'"{text}" is no time. {EXPECTED_FORMAT}') from error
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
