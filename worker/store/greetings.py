"""Repositories that the App may see since a moment, and whose open pull requests nobody looked at yet.

Does not look (`worker.greeting` does). Invariant: one stays until it is `done`; one that was looked at and is not done comes
again after the hold.
"""

from datetime import timedelta

from worker.domain import keys
from worker.domain.greeting import Greeting
from worker.domain.value import Value
from worker.settings import Timing
from worker.store.door import greet, milliseconds
from worker.store.lua import Script, run
from worker.store.reading import read_or_leave
from worker.store.wire import Wire, items, text, whole


class OpenGreeting(Value):
    """A repository to look at; *attempt* counts from 1."""

    greeting: Greeting
    attempt: int


class Greetings:
    """The repositories in Redis. Kept as commands are."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def goes_on(self, greeting: Greeting, delay: timedelta) -> None:
        """As many of it as may be at once were looked at: the others after a while."""
        rest = greeting.model_copy(update={"page": greeting.page + 1})
        greet(self._wire, [rest])
        self.later(rest, delay)

    def next(self) -> OpenGreeting | None:
        """The one that waits for longest, for a while."""
        on = [keys.GREETINGS, keys.GREETING_TEXTS, keys.GREETING_TRIES]
        reply = items(run(self._wire, Script.ASK_NEXT, on, milliseconds(self._timing.open_hold)))
        found = read_or_leave(Greeting, text(reply[0])) if reply else None
        return OpenGreeting(found, whole(reply[1])) if found else None

    def later(self, greeting: Greeting, delay: timedelta) -> None:
        """Look at it again after a while."""
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        run(self._wire, Script.ASK_LATER, [keys.GREETINGS], greeting.id, delay_ms)

    def done(self, greeting: Greeting) -> None:
        run(self._wire, Script.ASK_DONE, [keys.GREETINGS, keys.GREETING_TEXTS, keys.GREETING_TRIES], greeting.id)
