"""What `assay doctor` reports of Redis, above all whether it keeps its data."""

import re
from dataclasses import dataclass

from worker.adapters.redis.client import RedisRefused, text
from worker.adapters.redis.store import Store
from worker.errors import Unavailable


@dataclass(frozen=True, slots=True)
class StoreReport:
    """`persistence`: how data survive a restart; "": they do not. `eviction`: the policy when memory is full."""

    version: str
    persistence: str
    eviction: str
    lacks_key: bool = False


def examine_store(store: Store) -> StoreReport:
    """Read version, persistence and eviction policy. Raises Unavailable."""
    info = text(store.client.call("INFO", "everything"))
    return StoreReport(
        version=_field(info, "valkey_version") or _field(info, "redis_version"),
        persistence="AOF" if _field(info, "aof_enabled") == "1" else _snapshots(store),
        eviction=_field(info, "maxmemory_policy"),
        lacks_key=store.is_key_missing(),
    )


def _snapshots(store: Store) -> str:
    """Whether RDB snapshots are configured. A hosted Redis may refuse CONFIG: its host takes care of that."""
    try:
        reply = store.client.call("CONFIG", "GET", "save")
    except (RedisRefused, Unavailable):  # the client reports NOPERM as an outage
        return "by its host"
    return "RDB" if isinstance(reply, list) and len(reply) > 1 and reply[1] else ""


def _field(info: str, name: str) -> str:
    match = re.search(rf"^{name}:(.*?)\r?$", info, re.MULTILINE)
    return match[1] if match else ""
