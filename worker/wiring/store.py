"""The store that commands and the web process open: the configured Redis, or the embedded one.

A module that one of its parts alone needs is imported with that part.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from worker.adapters.redis.connection.encryption import LACKS_KEY, RESTORE_HINT
from worker.adapters.redis.embedded.embedded_server import FolderRole
from worker.adapters.redis.store import Store, open_store, wait_for_redis, with_store_url
from worker.domain.check.wait_status import WaitStatus, find_wait_status
from worker.domain.ids import InstallationId, Sha
from worker.domain.verdict.rubric import VersionedRubric

if TYPE_CHECKING:
    from worker.adapters.redis.records.records import RepositoryHoldings

__all__ = [
    "LACKS_KEY",
    "RESTORE_HINT",
    "FolderRole",
    "RepositoryHoldings",
    "Store",
    "is_version_reused",
    "open_store",
    "read_wait_status",
    "wait_for_redis",
    "with_store_url",
]


def read_wait_status(
    store: Store, repository: str, sha: Sha, within: Collection[InstallationId] | None = None
) -> WaitStatus:
    """The verdict on a commit, or what it waits for; *within* these installations, None: all. Raises Unavailable."""
    from worker.adapters.redis.judging.wait_status import find_seen_pulls

    return find_wait_status(find_seen_pulls(store, repository, sha, within), sha)


def is_version_reused(first: VersionedRubric, other: VersionedRubric) -> bool:
    """Whether two rubrics have one version and are not the same."""
    from worker.adapters.redis.records import documents

    return documents.is_version_reused(first, other)
