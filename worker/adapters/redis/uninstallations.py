"""Installations that the App was taken out of: when all about them is forgotten.

Does not forget (`worker.adapters.redis.records` does). Invariant: an installation that came back before its time is left alone, and
one whose forgetting broke off comes again.
"""

from datetime import timedelta

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, whole
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.ids import InstallationId


class RedisUninstallations:
    """The list in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, grace: timedelta) -> None:
        self._wire = wire
        self._grace_ms = int(grace.total_seconds() * 1000)

    def record_uninstalled(self, installation: InstallationId) -> None:
        """It was uninstalled: forgotten after the grace, counted from the first time that this was said."""
        run_script(self._wire, Script.LEAVES, [keys.UNINSTALLATIONS], installation, self._grace_ms)

    def record_installed(self, installation: InstallationId) -> None:
        self._wire.call("ZREM", keys.UNINSTALLATIONS.name, installation)

    def list_due(self) -> tuple[InstallationId, ...]:
        """Those to forget now. Each stays on the list until it is forgotten."""
        reply = items(run_script(self._wire, Script.LEFT, [keys.UNINSTALLATIONS]))
        return tuple(InstallationId(whole(installation)) for installation in reply)
