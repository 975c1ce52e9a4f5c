"""What happened at GitHub and nobody looked into yet: noted down by the door, taken up by the dispatcher.

Does not know what it means (`worker.outcomes` does): that takes a ledger, and the door has no keys. Invariant: what was
noted stays until it is `done`; one that is looked into and not done comes again after the hold.
"""

from datetime import timedelta

from worker.domain import keys
from worker.domain.happenings import Happening
from worker.domain.value import Value
from worker.settings import Timing
from worker.store.door import Outcome, happen, milliseconds
from worker.store.lua import Script, run
from worker.store.reading import read_or_leave
from worker.store.wire import Wire, items, text, whole


class OpenHappening(Value):
    """A happening to look into; *attempt* counts from 1."""

    happening: Happening
    attempt: int


class Happenings:
    """The happenings in Redis. Kept as commands are."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def put(self, happening: Happening) -> Outcome:
        """Note it down; the same delivery again changes nothing."""
        return happen(self._wire, happening)

    def next(self) -> OpenHappening | None:
        """The oldest one, for a while."""
        on = [keys.HAPPENINGS, keys.HAPPENING_TEXTS, keys.HAPPENING_TRIES]
        reply = items(run(self._wire, Script.ASK_NEXT, on, milliseconds(self._timing.open_hold)))
        found = read_or_leave(Happening, text(reply[0])) if reply else None
        return OpenHappening(found, whole(reply[1])) if found else None

    def later(self, happening: Happening, delay: timedelta) -> None:
        """Look into it again after a while."""
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        run(self._wire, Script.ASK_LATER, [keys.HAPPENINGS], happening.delivery_id, delay_ms)

    def done(self, happening: Happening) -> None:
        on = [keys.HAPPENINGS, keys.HAPPENING_TEXTS, keys.HAPPENING_TRIES]
        run(self._wire, Script.ASK_DONE, on, happening.delivery_id)
