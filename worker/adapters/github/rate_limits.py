"""Remaining requests of an installation, the reserve of the last ones, and secondary limits.

While the remainder is known, publishing a pull request's state has a reserve, and a sweep leaves what a pull request
needs. During a secondary limit only calls more urgent than the refused one are sent.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from worker.domain.model import InstallationId
from worker.domain.ports import Clock, RateLimit, RateLimits
from worker.errors import RateLimited


class RequestPriority(StrEnum):
    """Purpose of a request; more urgent ones may use the reserve."""

    STATE = "state"
    JUDGING = "judging"
    SWEEP = "sweep"


RESERVED_REQUESTS: Final[Mapping[RequestPriority, int]] = {
    RequestPriority.STATE: 0,
    RequestPriority.JUDGING: 50,
    RequestPriority.SWEEP: 1000,
}
"""Requests to leave for others: an hour has at least 5,000, and a judging takes about five."""

NOTE_EACH_BELOW: Final = 1500
"""Above this, the remainder is not shared with other processes."""

GITHUB: Final = "GitHub"

SECONDARY: Final = "secondary"
"""Name under which a secondary limit is recorded: too many concurrent requests, or too much created content."""


class RequestBudget:
    """Remaining requests of one installation, shared by all processes through `RateLimits`."""

    def __init__(self, installation: InstallationId, limits: RateLimits, clock: Clock) -> None:
        self._installation = installation
        self._limits = limits
        self._clock = clock
        self._left: dict[str, RateLimit] = dict(limits.find_limits(installation))

    def admit(self, resource: str, need: RequestPriority) -> None:
        """Raise RateLimited if the rest is reserved for more urgent requests."""
        for name in (resource, SECONDARY):
            left = self._left.get(name)
            if left is not None and left.remaining <= RESERVED_REQUESTS[need] and left.reset_at > self._clock.now():
                raise RateLimited(GITHUB, left.reset_at)

    def note_throttled(self, need: RequestPriority, until: datetime) -> None:
        """Record a secondary limit of GitHub until then: an App that continues to send is banned."""
        limit, least = self._left.get(SECONDARY), RESERVED_REQUESTS[need]
        if limit is not None and limit.reset_at > self._clock.now():
            until, least = max(until, limit.reset_at), min(least, limit.remaining)
        self._left[SECONDARY] = left = RateLimit(least, until)
        self._limits.put(self._installation, SECONDARY, left)

    def note_headers(self, headers: Mapping[str, str]) -> None:
        """Record the remainder from an answer's headers. A server without limits sends none."""
        fresh = read_left(headers)
        if fresh is None:
            return
        resource, left = fresh
        limit = self._left.get(resource)
        self._left[resource] = left
        was_noted = limit is not None and limit.remaining < NOTE_EACH_BELOW and limit.reset_at == left.reset_at
        if left.remaining < NOTE_EACH_BELOW and not (
            was_noted and limit and limit.remaining - left.remaining < notable_change(left)
        ):
            self._limits.put(self._installation, resource, left)


def notable_change(left: RateLimit) -> int:
    """Change that is worth recording: every request near the end, else every fiftieth."""
    return 1 if left.remaining < 2 * RESERVED_REQUESTS[RequestPriority.JUDGING] else 50


def read_left(headers: Mapping[str, str]) -> tuple[str, RateLimit] | None:
    """Budget and remainder from the headers of an answer."""
    lower = {name.lower(): value for name, value in headers.items()}
    values = [lower.get(f"x-ratelimit-{name}", "") for name in ("remaining", "reset")]
    if not all(value.isascii() and value.isdecimal() and len(value) < 12 for value in values):  # noqa: PLR2004 - a time in seconds has ten
        return None
    remaining, reset = (int(value) for value in values)
    return lower.get("x-ratelimit-resource", "core"), RateLimit(remaining, datetime.fromtimestamp(reset, UTC))
