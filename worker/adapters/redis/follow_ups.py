"""Verdicts about which something is still to be done, one line for each kind of it.

Does not do it. Invariant: one of them stays until it is `done`; a newer one of the same pull request takes its place, and is not
done with the older.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire
from worker.adapters.redis.delayed_queue import Waiting
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.waiting_keys import Line
from worker.domain.check.follow_up import FollowUp
from worker.domain.request.judge_request import PullRef
from worker.settings import Timing

F = TypeVar("F", bound=FollowUp)


@dataclass(frozen=True, slots=True)
class Opened(Generic[F]):
    """One to see to; *attempt* counts from 1. *written*: its text, of which another version may make other words."""

    follow_up: F
    attempt: int
    written: str


class FollowUps(Generic[F]):
    """One line of them, in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: Wire, timing: Timing, kind: type[F], line: Line) -> None:
        self._waiting = Waiting(wire, timing, kind, line)

    def put(self, follow_up: F) -> None:
        self._run(Script.FOLLOW_UP_PUT, follow_up, follow_up.model_dump_json())

    def next(self) -> Opened[F] | None:
        found = self._waiting.next_written()
        return Opened(*found) if found else None

    def is_waiting(self, pull: PullRef) -> bool:
        """Whether there is one of this pull request that was not done yet: somebody may be at it."""
        return self._waiting.wire.call("HEXISTS", self._waiting.line.texts.name, keys.pull(pull).name) == 1

    def later(self, follow_up: F, delay: timedelta) -> None:
        self._waiting.later(_name(follow_up), delay)

    def done(self, opened: Opened[F]) -> None:
        self._run(Script.FOLLOW_UP_DONE, opened.follow_up, opened.written)

    def _run(self, script: Script, follow_up: F, written: str) -> None:
        run(self._waiting.wire, script, self._waiting.line.keys, _name(follow_up), written)


def _name(follow_up: FollowUp) -> str:
    return keys.pull(follow_up.pull).name
