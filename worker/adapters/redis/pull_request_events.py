"""What happened at GitHub and nobody looked into yet: noted down by the door, taken up by the dispatcher.

Does not know what it means (`worker.scheduling.outcomes` does): that takes a ledger, and the door has no keys. Invariant: what was
noted stays until it is `done`.
"""

from datetime import timedelta

from worker.adapters.redis.client import RedisClient
from worker.adapters.redis.delayed_queue import DelayedQueue
from worker.adapters.redis.intake import IntakeOutcome, queue_event
from worker.adapters.redis.queue_keys import PULL_REQUEST_EVENTS
from worker.domain.request.pull_request_events import PullRequestEvent
from worker.domain.value import Value
from worker.settings import Timing


class QueuedPullRequestEvent(Value):
    """A happening to look into; *attempt* counts from 1."""

    event: PullRequestEvent
    attempt: int


class RedisPullRequestEventQueue:
    """The happenings in Redis."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._waiting = DelayedQueue(wire, timing, PullRequestEvent, PULL_REQUEST_EVENTS)

    def put(self, happening: PullRequestEvent) -> IntakeOutcome:
        """Note it down; the same delivery again changes nothing."""
        return queue_event(self._wire, happening)

    def next(self) -> QueuedPullRequestEvent | None:
        event = self._waiting.next()
        return QueuedPullRequestEvent(*event) if event else None

    def postpone(self, happening: PullRequestEvent, delay: timedelta) -> None:
        self._waiting.postpone(happening.delivery_id, delay)

    def complete(self, happening: PullRequestEvent) -> None:
        self._waiting.complete(happening.delivery_id)
