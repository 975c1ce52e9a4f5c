"""When errands that failed because GitHub was away are tried again: each ever later, and one after the other.

Those that a rate limit put off have times of their own, one after the other from its end on. Once one of them went well others
follow at once, as fast as GitHub lets us write. Kept in memory, by the one dispatcher that leads: whoever takes over begins with
short waits again. Does not wait. Invariant: of one installation no two come within the gap, however many failed at once; no more
are tried too early than went well, a few for each; and what is not heard of again is let go.
"""

from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Final

from worker.domain.request.judge_request import MANUAL_TRIGGERS, JudgeRequest, PullRef, Trigger
from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject

MAX_REMEMBERED: Final = 10_000
"""How many errands are remembered; whoever is older begins anew."""


class RetrySlot(Value):
    """An errand that waits, and how it is put off."""

    installation: int
    task: Hashable
    postpone: Callable[[timedelta], None]


class TaskBackoff:
    """Times on one clock, in seconds. *follow_s*: the gap between those that follow one that went well."""

    def __init__(self, gap_s: float, follow_s: float) -> None:
        self._gap_s = gap_s
        self._follow_s = follow_s
        self._failures: dict[Hashable, int] = {}
        self._slots: dict[int, dict[Hashable, tuple[float, RetrySlot]]] = {}

    def count_failure(self, task: Hashable) -> int:
        """Count a failure; how many in a row that makes."""
        self._failures[task] = failures = self._failures.pop(task, 0) + 1
        if len(self._failures) > MAX_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        return failures

    def forget(self, task: Hashable) -> bool:
        """It was done, or is given up; whether it had failed before."""
        return self._failures.pop(task, 0) > 0

    def reserve(self, slot: RetrySlot, at: float, now: float) -> float:
        """The first time from *at* on that is nobody else's of this installation."""
        self._drop_passed(now)
        slots = self._slots.setdefault(slot.installation, {})
        slots.pop(slot.task, None)
        for time, _ in sorted(slots.values(), key=lambda entry: entry[0]):
            if abs(time - at) < self._gap_s:
                at = time + self._gap_s
        slots[slot.task] = (at, slot)
        return at

    def release(self, installation: int, most: int, now: float) -> list[tuple[RetrySlot, float]]:
        """The next few that wait, each with the earlier time that it gets."""
        self._drop_passed(now)
        slots = self._slots.get(installation, {})
        moved, at = list[tuple[RetrySlot, float]](), now
        for time, slot in sorted(slots.values(), key=lambda entry: entry[0]):
            if len(moved) == most:
                break
            at += self._follow_s
            if time > at:
                slots[slot.task] = (at, slot)
                moved.append((slot, at))
        return moved

    def _drop_passed(self, now: float) -> None:
        """Who came to its time may be tried right now."""
        self._slots = {
            installation: kept
            for installation, turns in self._slots.items()
            if (kept := {task: (time, slot) for task, (time, slot) in turns.items() if time > now})
        }


BY_HAND_SHARE: Final = 0.25
"""How much of the time is kept for what somebody asked for by hand."""

GOLDEN_RATIO: Final = 0.6180339887498949
"""Multiples of this, without their whole part, lie evenly between 0 and 1 however many they are: here, of the numbers in a row that
pull requests mostly have.
"""

PLASTIC_RATIO: Final = 0.7548776662466927
"""The same for repositories, so that number 7 of one does not meet number 7 of another."""


class RetrySchedule(Value):
    """*gap*: how far apart they come on average."""

    gap: timedelta
    longest_delay: timedelta

    def retry_at(self, limit: datetime, request: JudgeRequest, waiting_count: int) -> datetime:
        """When this one of *crowd* is judged, after a limit that ends at *limit*."""
        window = min(self.longest_delay, (waiting_count - 1) * self.gap)
        position, share = _position(request.pull), BY_HAND_SHARE
        if request.trigger in MANUAL_TRIGGERS:
            return limit + window * (share * position)
        return limit + window * (share + (1 - share) * position)


def _position(pull: PullRef) -> float:
    """From 0 to less than 1."""
    return (pull.number * GOLDEN_RATIO + pull.repository_id * PLASTIC_RATIO) % 1


class OutageRetries(Value):
    """How often to try again, and after how long; each wait is twice as long as the one before."""

    max_retries: int = 0
    delay: timedelta = timedelta(0)

    def wait(self, request: JudgeRequest, verdict: Accept | Reject | Abstain) -> timedelta | None:
        """How long until this request is worth another try; None: it is not."""
        is_outage = isinstance(verdict, Abstain) and verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE
        if not is_outage or request.outages >= self.max_retries:
            return None
        return self.delay * 2**request.outages


def retry_after_outage(request: JudgeRequest, at: datetime) -> JudgeRequest:
    """The request that is judged after the wait: for whatever head is the newest then."""
    changes = {"head_sha": None, "trigger": Trigger.OUTAGE, "requested_at": at, "outages": request.outages + 1}
    return request.model_copy(update=changes)
