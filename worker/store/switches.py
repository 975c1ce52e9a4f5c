"""Repositories in which somebody stopped all judging.

Does not know why. Invariant: a switch stays as it was set until it is set again.
"""

from worker.domain import keys
from worker.domain.ids import InstallationId, RepositoryId
from worker.store.wire import Wire


class Switches:
    """The switches in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def is_paused(self, installation: InstallationId, repository: RepositoryId) -> bool:
        return bool(self._wire.call("EXISTS", keys.paused(installation, repository).name))

    def pause(self, installation: InstallationId, repository: RepositoryId) -> None:
        self._wire.call("SET", keys.paused(installation, repository).name, 1)

    def resume(self, installation: InstallationId, repository: RepositoryId) -> None:
        self._wire.call("DEL", keys.paused(installation, repository).name)
