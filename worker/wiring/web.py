"""The store's parts for deliveries, which the web process alone takes in: its own client for the event loop, and all writes.

It loads no queue and no SDK.
"""

from worker.adapters.redis import keys
from worker.adapters.redis.cells import Residence
from worker.adapters.redis.connection.async_client import AsyncRedisClient
from worker.adapters.redis.judging import intake
from worker.adapters.redis.judging.merge_groups import RedisMergeGroups
from worker.adapters.redis.queues import append_delivery
from worker.adapters.redis.records import add_repositories
from worker.domain.model import InstallationId

__all__ = [
    "AsyncRedisClient",
    "RedisMergeGroups",
    "add_repositories",
    "append_delivery",
    "find_residence",
    "intake",
    "keys",
]


async def find_residence(table: AsyncRedisClient, installation: InstallationId) -> Residence:
    """Where an installation is. Raises Unavailable."""
    return Residence.parse(await table.call("HGET", keys.CELLS.name, installation))
