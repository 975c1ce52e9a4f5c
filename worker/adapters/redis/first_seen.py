"""Since when the App sees each repository: what was opened there before is not new, however late it is looked at.

Does not look at any. Invariant: whoever says so first is right, until the App does not see the repository any more.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text
from worker.adapters.redis.intake import stamp
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.open_pulls import Repository

SINCE: Final = "since"


class RedisFirstSeen:
    """What is noted in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def record_seen(
        self, installation: InstallationId, repositories: Sequence[Repository], installed_at: datetime, now: datetime
    ) -> Mapping[RepositoryId, datetime]:
        """Since when each of them is seen: from now on, if nobody noted it."""
        if not repositories:
            return {}
        on = [
            key
            for repository in repositories
            for key in (keys.first_seen(installation, repository.id), keys.repository_numbers(repository.name))
        ]
        members = [f"{installation}:{repository.id}" for repository in repositories]
        stamps = items(run_script(self._wire, Script.ARRIVE, on, stamp(now), stamp(installed_at), *members))
        return {repository.id: parse_stamp(text(since)) for repository, since in zip(repositories, stamps, strict=True)}

    def remove(self, installation: InstallationId, repositories: Collection[RepositoryId]) -> None:
        """The App does not see them any more."""
        if repositories:
            run_script(
                self._wire, Script.DEPART, [keys.first_seen(installation, repository) for repository in repositories]
            )

    def seen_since(self, installation: InstallationId, repository: RepositoryId) -> datetime | None:
        stored = self._wire.call("HGET", keys.first_seen(installation, repository).name, SINCE)
        return parse_stamp(text(stored)) if stored else None


def parse_stamp(stamped: str) -> datetime:
    return datetime.fromtimestamp(int(stamped), UTC)
