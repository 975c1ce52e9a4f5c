"""When errands that failed because GitHub was away are tried again: each ever later, and one after the other.

Kept in memory, by the one dispatcher that leads: whoever takes over begins with short waits again. Does not wait. Invariant: of
one installation no two come within the gap, however many failed at once; and what is not heard of again is let go.
"""

from collections.abc import Hashable
from typing import Final

MOST_KEPT: Final = 10_000
"""How many errands are remembered; whoever is older begins anew."""


class Apart:
    """Times on one clock, in seconds."""

    def __init__(self, gap_s: float) -> None:
        self._gap_s = gap_s
        self._failures: dict[Hashable, int] = {}
        self._taken: dict[int, list[float]] = {}

    def failed(self, errand: Hashable) -> int:
        """Count a failure; how many in a row that makes."""
        self._failures[errand] = failures = self._failures.pop(errand, 0) + 1
        if len(self._failures) > MOST_KEPT:
            del self._failures[next(iter(self._failures))]
        return failures

    def over(self, errand: Hashable) -> None:
        """It was done, or is given up."""
        self._failures.pop(errand, None)

    def place(self, installation: int, at: float, now: float) -> float:
        """The first time from *at* on that is nobody else's of this installation."""
        self._taken = {
            one: kept for one, times in self._taken.items() if (kept := [time for time in times if time > now])
        }
        taken = self._taken.setdefault(installation, [])
        for time in sorted(taken):
            if abs(time - at) < self._gap_s:
                at = time + self._gap_s
        taken.append(at)
        return at
