"""Retry times: background tasks after an outage, judgings after a rate limit, and judgings without a reachable model.

Tasks of one installation keep a gap between each other, however many failed together; after a success a few waiting ones are brought
forward. Their times live in the memory of the leading dispatcher. Judgings after a rate limit are spread over a window after its end, at
positions that are stable for a pull request, with those requested by hand first.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from worker.domain.judge_request import MANUAL_TRIGGERS, JudgeRequest, Trigger

NO_RESULT: Final = "Assay tried {tries} times and came to no end."
"""Shown where the attempts are used up."""

MAX_REMEMBERED: Final = 10_000
"""Tasks whose failures are counted; the oldest start over."""


@dataclass(frozen=True)
class RetrySlot:
    """A waiting task and how to postpone it."""

    installation: int
    task: Hashable
    postpone: Callable[[timedelta], None]


class TaskBackoff:
    """Retry times in seconds of one clock. *follow_s*: the gap between tasks that are brought forward."""

    def __init__(self, gap_s: float, follow_s: float) -> None:
        self._gap_s = gap_s
        self._follow_s = follow_s
        self._failures: dict[Hashable, int] = {}
        self._slots: dict[int, dict[Hashable, tuple[float, RetrySlot]]] = {}

    def count_failure(self, task: Hashable) -> int:
        """Count a failure; the number of failures in a row."""
        self._failures[task] = failures = self._failures.pop(task, 0) + 1
        if len(self._failures) > MAX_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        return failures

    def forget(self, task: Hashable) -> bool:
        """Drop a finished task; whether it had failed before."""
        return self._failures.pop(task, 0) > 0

    def reserve(self, slot: RetrySlot, at: float, now: float) -> float:
        """The first time from *at* that keeps the gap to other tasks of this installation."""
        self._drop_passed(now)
        slots = self._slots.setdefault(slot.installation, {})
        slots.pop(slot.task, None)
        for time, _ in sorted(slots.values(), key=lambda entry: entry[0]):
            if abs(time - at) < self._gap_s:
                at = time + self._gap_s
        slots[slot.task] = (at, slot)
        return at

    def release(self, installation: int, most: int, now: float) -> list[tuple[RetrySlot, float]]:
        """The next *most* waiting tasks that can run earlier, each with its new time."""
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
        """Drop tasks whose time has passed."""
        self._slots = {
            installation: kept
            for installation, turns in self._slots.items()
            if (kept := {task: (time, slot) for task, (time, slot) in turns.items() if time > now})
        }


BY_HAND_SHARE: Final = 0.25
"""The first part of the window, kept for judgings requested by hand."""

GOLDEN_RATIO: Final = 0.6180339887498949
"""The fractional parts of its multiples are evenly spread for any run of consecutive pull request numbers."""

PLASTIC_RATIO: Final = 0.7548776662466927
"""The same for repositories, so that equal numbers of two repositories differ."""


@dataclass(frozen=True)
class RetrySchedule:
    """Spreads judgings after a rate limit. *gap*: their average distance."""

    gap: timedelta
    longest_delay: timedelta

    def retry_at(self, limit: datetime, request: JudgeRequest, waiting_count: int) -> datetime:
        """When this request of *waiting_count* is judged, at the earliest at *limit*; a single one does not wait."""
        window = min(self.longest_delay, (waiting_count - 1) * self.gap)
        pull, share = request.pull, BY_HAND_SHARE
        position = (pull.number * GOLDEN_RATIO + pull.repository_id * PLASTIC_RATIO) % 1  # stable for a pull request
        if request.trigger in MANUAL_TRIGGERS:
            return limit + window * (share * position)
        return limit + window * (share + (1 - share) * position)


@dataclass(frozen=True)
class OutageRetries:
    """Retries while no model can be reached, with exponential backoff. Manual requests and pushes start over."""

    max_retries: int = 0
    delay: timedelta = timedelta(0)

    def wait(self, request: JudgeRequest) -> timedelta | None:
        """The wait until the next retry; None: none is due."""
        return None if request.outages >= self.max_retries else self.delay * 2**request.outages


def retry_after_outage(request: JudgeRequest, at: datetime) -> JudgeRequest:
    """The request after the wait, for the newest head."""
    changes = {"head_sha": None, "trigger": Trigger.OUTAGE, "requested_at": at, "outages": request.outages + 1}
    return request.model_copy(update=changes)
