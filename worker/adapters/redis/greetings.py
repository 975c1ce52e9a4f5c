"""Repositories that the App may see since a moment, and whose open pull requests nobody looked at yet.

Does not look (`worker.publishing.initial_status` does). Invariant: one stays until it is `done`.
"""

from datetime import timedelta

from worker.adapters.redis.arrivals import Arrivals
from worker.adapters.redis.client import Wire, items, text
from worker.adapters.redis.delayed_queue import Waiting
from worker.adapters.redis.intake import greet
from worker.adapters.redis.versioned_json import read_or_leave
from worker.adapters.redis.waiting_keys import GREETINGS
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.greeting import Greeting
from worker.domain.value import Value
from worker.settings import Timing


class OpenGreeting(Value):
    """A repository to look at; *attempt* counts from 1."""

    greeting: Greeting
    attempt: int


class Greetings:
    """The repositories in Redis."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._wire = wire
        self._waiting = Waiting(wire, timing, Greeting, GREETINGS)
        self._arrivals = Arrivals(wire)

    def repositories(self, installation: InstallationId) -> frozenset[RepositoryId]:
        """Those of an installation that wait."""
        told = (read_or_leave(Greeting, text(one)) for one in items(self._wire.call("HVALS", GREETINGS.texts.name)))
        return frozenset(one.repository_id for one in told if one and one.installation_id == installation)

    def goes_on(self, greeting: Greeting, delay: timedelta) -> None:
        """As many of it as may be at once were looked at: the others after a while."""
        rest = greeting.model_copy(update={"page": greeting.page + 1})
        greet(self._wire, [rest])
        self.later(rest, delay)

    def next(self) -> OpenGreeting | None:
        """The one that waits for longest, with the moment since when the App really sees it."""
        found = self._waiting.next()
        if found is None:
            return None
        greeting, attempt = found
        since = self._arrivals.since(greeting.installation_id, greeting.repository_id) or greeting.since
        return OpenGreeting(greeting.model_copy(update={"since": since}), attempt)

    def later(self, greeting: Greeting, delay: timedelta) -> None:
        self._waiting.later(greeting.id, delay)

    def done(self, greeting: Greeting) -> None:
        self._waiting.done(greeting.id)
