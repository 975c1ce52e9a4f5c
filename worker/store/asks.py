"""Commands from comments that nobody has checked or answered yet.

Does not check who may give one. Invariant: a command stays until it is `done`; one that is looked at and not done comes
again after the hold.
"""

from datetime import timedelta

from worker.domain import keys
from worker.domain.request import Ask
from worker.domain.value import Value
from worker.settings import Timing
from worker.store.door import Outcome, ask, milliseconds
from worker.store.lua import Script, run
from worker.store.wire import Wire, items, text, whole


class OpenAsk(Value):
    """A command to answer; *attempt* counts from 1."""

    ask: Ask
    attempt: int


class Asks:
    """The commands in Redis."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def put(self, command: Ask) -> Outcome:
        """Take down a command; the same delivery again changes nothing."""
        return ask(self._wire, command)

    def next(self) -> OpenAsk | None:
        on = [keys.ASKS, keys.ASK_TEXTS, keys.ASK_TRIES]
        reply = items(run(self._wire, Script.ASK_NEXT, on, milliseconds(self._timing.open_hold)))
        return OpenAsk(Ask.model_validate_json(text(reply[0])), whole(reply[1])) if reply else None

    def later(self, command: Ask, delay: timedelta) -> None:
        """Look at it again after a while."""
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        run(self._wire, Script.ASK_LATER, [keys.ASKS], command.delivery_id, delay_ms)

    def done(self, command: Ask) -> None:
        run(self._wire, Script.ASK_DONE, [keys.ASKS, keys.ASK_TEXTS, keys.ASK_TRIES], command.delivery_id)
