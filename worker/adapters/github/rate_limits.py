"""How many requests an installation has left, for what the last ones are kept, and until when GitHub wants none at all.

Does not send anything and never waits. Invariant: as long as the last answers of GitHub are known, a pull request's state can
still be told when nothing else can be asked, a sweep never takes what a pull request needs, and while a secondary limit lasts
nothing is asked that is no more urgent than what it refused.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from worker.domain.ids import InstallationId
from worker.domain.ports import Clock, RateLimit, RateLimits
from worker.errors import RateLimited


class RequestPriority(StrEnum):
    """What a request is for; the more urgent ones may take the last that is left."""

    STATE = "state"
    JUDGING = "judging"
    SWEEP = "sweep"


RESERVED_REQUESTS: Final[Mapping[RequestPriority, int]] = {
    RequestPriority.STATE: 0,
    RequestPriority.JUDGING: 50,
    RequestPriority.SWEEP: 1000,
}
"""How many have to be left for others: an hour has 5,000 at least, and a judging takes about five."""

NOTE_EACH_BELOW: Final = 1500
"""Above this, other processes need not be told."""

GITHUB: Final = "GitHub"

SECONDARY: Final = "secondary"
"""What the limit is noted as that is of no budget: too many requests at once, or too many that create content. It ends by itself."""


class RequestBudget:
    """What one installation has left, as GitHub's answers say; shared by all processes through the book."""

    def __init__(self, installation: InstallationId, book: RateLimits, clock: Clock) -> None:
        self._installation = installation
        self._book = book
        self._clock = clock
        self._left: dict[str, RateLimit] = dict(book.find_limits(installation))

    def admit(self, resource: str, need: RequestPriority) -> None:
        """Raises RateLimited when what is left is kept for something more urgent."""
        for name in (resource, SECONDARY):
            left = self._left.get(name)
            if left is not None and left.remaining <= RESERVED_REQUESTS[need] and left.reset_at > self._clock.now():
                raise RateLimited(GITHUB, left.reset_at)

    def note_throttled(self, need: RequestPriority, until: datetime) -> None:
        """GitHub refuses this by its secondary limit until then: who goes on asking is banned in the end."""
        limit, least = self._left.get(SECONDARY), RESERVED_REQUESTS[need]
        if limit is not None and limit.reset_at > self._clock.now():
            until, least = max(until, limit.reset_at), min(least, limit.remaining)
        self._left[SECONDARY] = left = RateLimit(least, until)
        self._book.put(self._installation, SECONDARY, left)

    def note_headers(self, headers: Mapping[str, str]) -> None:
        """Note what an answer says. An answer without such words, as of a server without limits, says nothing."""
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
            self._book.put(self._installation, resource, left)


def notable_change(left: RateLimit) -> int:
    """How much it has to change to be worth noting: every request near the end, else every fiftieth."""
    return 1 if left.remaining < 2 * RESERVED_REQUESTS[RequestPriority.JUDGING] else 50


def read_left(headers: Mapping[str, str]) -> tuple[str, RateLimit] | None:
    """Of which budget an answer tells, and how much of it is left."""
    lower = {name.lower(): value for name, value in headers.items()}
    values = [lower.get(f"x-ratelimit-{name}", "") for name in ("remaining", "reset")]
    if not all(value.isascii() and value.isdecimal() and len(value) < 12 for value in values):  # noqa: PLR2004 - a time in seconds has ten
        return None
    remaining, reset = (int(value) for value in values)
    return lower.get("x-ratelimit-resource", "core"), RateLimit(remaining, datetime.fromtimestamp(reset, UTC))
