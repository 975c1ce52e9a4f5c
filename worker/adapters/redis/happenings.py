"""What happened at GitHub and nobody looked into yet: noted down by the door, taken up by the dispatcher.

Does not know what it means (`worker.scheduling.outcomes` does): that takes a ledger, and the door has no keys. Invariant: what was
noted stays until it is `done`.
"""

from datetime import timedelta

from worker.adapters.redis.client import Wire
from worker.adapters.redis.delayed_queue import Waiting
from worker.adapters.redis.intake import Outcome, happen
from worker.adapters.redis.waiting_keys import HAPPENINGS
from worker.domain.request.pull_request_events import Happening
from worker.domain.value import Value
from worker.settings import Timing


class OpenHappening(Value):
    """A happening to look into; *attempt* counts from 1."""

    happening: Happening
    attempt: int


class Happenings:
    """The happenings in Redis."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._wire = wire
        self._waiting = Waiting(wire, timing, Happening, HAPPENINGS)

    def put(self, happening: Happening) -> Outcome:
        """Note it down; the same delivery again changes nothing."""
        return happen(self._wire, happening)

    def next(self) -> OpenHappening | None:
        found = self._waiting.next()
        return OpenHappening(*found) if found else None

    def later(self, happening: Happening, delay: timedelta) -> None:
        self._waiting.later(happening.delivery_id, delay)

    def done(self, happening: Happening) -> None:
        self._waiting.done(happening.delivery_id)
