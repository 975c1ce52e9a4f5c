"""Repositories that the App may see since a moment, and whose open pull requests nobody looked at yet.

Does not look (`worker.publishing.initial_status` does). Invariant: one stays until it is `done`.
"""

from datetime import timedelta

from worker.adapters.redis.client import RedisClient, items, text
from worker.adapters.redis.delayed_queue import DelayedQueue
from worker.adapters.redis.first_seen import RedisFirstSeen
from worker.adapters.redis.intake import add_repositories
from worker.adapters.redis.queue_keys import ADDED_REPOSITORIES
from worker.adapters.redis.versioned_json import read_json_or_none
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.repository_added import RepositoryAdded
from worker.domain.value import Value
from worker.settings import Timing


class QueuedAddedRepository(Value):
    """A repository to look at; *attempt* counts from 1."""

    added: RepositoryAdded
    attempt: int


class AddedRepositoryQueue:
    """The repositories in Redis."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._waiting = DelayedQueue(wire, timing, RepositoryAdded, ADDED_REPOSITORIES)
        self._arrivals = RedisFirstSeen(wire)

    def repositories(self, installation: InstallationId) -> frozenset[RepositoryId]:
        """Those of an installation that wait."""
        entries = (
            read_json_or_none(RepositoryAdded, text(entry_text))
            for entry_text in items(self._wire.call("HVALS", ADDED_REPOSITORIES.texts.name))
        )
        return frozenset(entry.repository_id for entry in entries if entry and entry.installation_id == installation)

    def continue_later(self, greeting: RepositoryAdded, delay: timedelta) -> None:
        """As many of it as may be at once were looked at: the others after a while."""
        rest = greeting.model_copy(update={"page": greeting.page + 1})
        add_repositories(self._wire, [rest])
        self.postpone(rest, delay)

    def next(self) -> QueuedAddedRepository | None:
        """The one that waits for longest, with the moment since when the App really sees it."""
        entry = self._waiting.next()
        if entry is None:
            return None
        greeting, attempt = entry
        since = self._arrivals.seen_since(greeting.installation_id, greeting.repository_id) or greeting.since
        return QueuedAddedRepository(greeting.model_copy(update={"since": since}), attempt)

    def postpone(self, greeting: RepositoryAdded, delay: timedelta) -> None:
        self._waiting.postpone(greeting.id, delay)

    def complete(self, greeting: RepositoryAdded) -> None:
        self._waiting.complete(greeting.id)
