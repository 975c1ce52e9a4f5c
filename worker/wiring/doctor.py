"""What `assay doctor` asks Redis, GitHub and the model's API. Their SDKs are loaded where they are asked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from worker.adapters.redis.connection.client import RedisRefused, text
from worker.adapters.redis.store import Store
from worker.domain.config.github_app import RepositoryProtection
from worker.errors import Unavailable
from worker.process import SystemClock
from worker.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from worker.adapters.github.doctor import AppReport, RepositoryNumbers


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


def examine_app(settings: Settings, subscribed: Iterable[str]) -> "AppReport":
    """What each of the App's keys opens at GitHub. *subscribed*: events that the App needs."""
    from worker.adapters.github import doctor

    return doctor.examine_app(settings, SystemClock(), subscribed)


def read_branch_protection(settings: Settings, repository: str) -> RepositoryProtection:
    """Read a repository's protection as the App. Raises AssayError."""
    from worker.adapters.github import doctor

    return doctor.read_branch_protection(settings, SystemClock(), repository)


def find_numbers(settings: Settings, repository: str) -> "RepositoryNumbers | None":
    """The ids of a repository at GitHub. None: the App does not see it. Raises AssayError."""
    from worker.adapters.github import doctor

    return doctor.find_numbers(settings, SystemClock(), repository)


def count_opened_this_week(settings: Settings, repository: str) -> int:
    """Pull requests that were opened in a week, as GITHUB_TOKEN may see them. Raises AssayError."""
    from worker.adapters.github import doctor

    return doctor.count_opened_this_week(settings, SystemClock(), repository)


def price_model(name: str) -> Decimal | str:
    """What a typical verdict costs in dollars; a clause that says why that is not known."""
    from worker.adapters.model_prices import typical_cost, unpriced_text

    return typical_cost(name) or unpriced_text(name)


def find_model_problem(access: ModelAccess) -> str | None:
    """Why the model can't be asked, as a clause."""
    from worker.adapters.anthropic import check_key

    price = price_model(access.name)
    return price if isinstance(price, str) else check_key(access)
