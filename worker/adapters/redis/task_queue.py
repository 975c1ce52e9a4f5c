"""Verdicts about which something is still to be done, one line for each kind of it.

Does not do it. Invariant: one of them stays until it is `done`; a newer one of the same pull request takes its place, and is not
done with the older.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient
from worker.adapters.redis.delayed_queue import DelayedQueue
from worker.adapters.redis.queue_keys import QueueKeys
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.check.verdict_task import VerdictTask
from worker.domain.request.judge_request import PullRef
from worker.settings import Timing

F = TypeVar("F", bound=VerdictTask)


@dataclass(frozen=True, slots=True)
class QueuedFollowUp(Generic[F]):
    """One to see to; *attempt* counts from 1. *text*: its text, of which another version may make other words."""

    follow_up: F
    attempt: int
    text: str


class RedisTaskQueue(Generic[F]):
    """One line of them, in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, timing: Timing, kind: type[F], line: QueueKeys) -> None:
        self._waiting = DelayedQueue(wire, timing, kind, line)

    def put(self, follow_up: F) -> None:
        self._run(Script.FOLLOW_UP_PUT, follow_up, follow_up.model_dump_json())

    def next(self) -> QueuedFollowUp[F] | None:
        task = self._waiting.next_with_text()
        return QueuedFollowUp(*task) if task else None

    def is_waiting(self, pull: PullRef) -> bool:
        """Whether there is one of this pull request that was not done yet: somebody may be at it."""
        return self._waiting.wire.call("HEXISTS", self._waiting.queue_keys.texts.name, keys.pull(pull).name) == 1

    def postpone(self, follow_up: F, delay: timedelta) -> None:
        self._waiting.postpone(_name(follow_up), delay)

    def complete(self, opened: QueuedFollowUp[F]) -> None:
        self._run(Script.FOLLOW_UP_DONE, opened.follow_up, opened.text)

    def _run(self, script: Script, follow_up: F, written: str) -> None:
        run_script(self._waiting.wire, script, self._waiting.queue_keys.keys, _name(follow_up), written)


def _name(follow_up: VerdictTask) -> str:
    return keys.pull(follow_up.pull).name
