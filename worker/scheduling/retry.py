"""When errands that failed because GitHub was away are tried again: each ever later, and one after the other.

Those that a rate limit put off have times of their own, one after the other from its end on. Once one of them went well others
follow at once, as fast as GitHub lets us write. Kept in memory, by the one dispatcher that leads: whoever takes over begins with
short waits again. Does not wait. Invariant: of one installation no two come within the gap, however many failed at once; no more
are tried too early than went well, a few for each; and what is not heard of again is let go.
"""

from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Final

from worker.domain.value import Value

MOST_KEPT: Final = 10_000
"""How many errands are remembered; whoever is older begins anew."""


class Turn(Value):
    """An errand that waits, and how it is put off."""

    installation: int
    errand: Hashable
    later: Callable[[timedelta], None]


class Apart:
    """Times on one clock, in seconds. *follow_s*: the gap between those that follow one that went well."""

    def __init__(self, gap_s: float, follow_s: float) -> None:
        self._gap_s = gap_s
        self._follow_s = follow_s
        self._failures: dict[Hashable, int] = {}
        self._taken: dict[int, dict[Hashable, tuple[float, Turn]]] = {}

    def failed(self, errand: Hashable) -> int:
        """Count a failure; how many in a row that makes."""
        self._failures[errand] = failures = self._failures.pop(errand, 0) + 1
        if len(self._failures) > MOST_KEPT:
            del self._failures[next(iter(self._failures))]
        return failures

    def over(self, errand: Hashable) -> bool:
        """It was done, or is given up; whether it had failed before."""
        return self._failures.pop(errand, 0) > 0

    def place(self, turn: Turn, at: float, now: float) -> float:
        """The first time from *at* on that is nobody else's of this installation."""
        self._let_go(now)
        taken = self._taken.setdefault(turn.installation, {})
        taken.pop(turn.errand, None)
        for time, _ in sorted(taken.values(), key=lambda one: one[0]):
            if abs(time - at) < self._gap_s:
                at = time + self._gap_s
        taken[turn.errand] = (at, turn)
        return at

    def follow(self, installation: int, most: int, now: float) -> list[tuple[Turn, float]]:
        """The next few that wait, each with the earlier time that it gets."""
        self._let_go(now)
        taken = self._taken.get(installation, {})
        moved, at = list[tuple[Turn, float]](), now
        for time, turn in sorted(taken.values(), key=lambda one: one[0]):
            if len(moved) == most:
                break
            at += self._follow_s
            if time > at:
                taken[turn.errand] = (at, turn)
                moved.append((turn, at))
        return moved

    def _let_go(self, now: float) -> None:
        """Who came to its time may be tried right now."""
        self._taken = {
            one: kept
            for one, turns in self._taken.items()
            if (kept := {errand: (time, turn) for errand, (time, turn) in turns.items() if time > now})
        }
