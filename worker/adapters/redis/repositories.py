"""The numbers under which a repository is on record."""

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text
from worker.domain.ids import InstallationId, RepositoryId


def find_repositories(wire: RedisClient, name: str) -> list[tuple[InstallationId, RepositoryId]]:
    """Installation and repository numbers of a name; several where another installation or repository had it before."""
    pairs = (text(entry).split(":") for entry in items(wire.call("SMEMBERS", keys.repository_numbers(name).name)))
    return sorted(
        (InstallationId(int(installation)), RepositoryId(int(repository))) for installation, repository in pairs
    )
