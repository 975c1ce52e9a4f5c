"""The store that commands and the web process open: the configured Redis, or the embedded one.

A module that one of its parts alone needs is imported with that part.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from worker.adapters.redis.connection.embedded_server import FolderRole
from worker.adapters.redis.encryption_and_tokens import LACKS_KEY, RESTORE_HINT
from worker.adapters.redis.store import Store, open_store, wait_for_redis, with_store_url
from worker.domain.check.check_run import WaitStatus, find_wait_status
from worker.domain.model import InstallationId, Sha
from worker.domain.verdict.verdict import VersionedRubric
from worker.settings import Settings

if TYPE_CHECKING:
    from worker.adapters.redis.records import RepositoryHoldings

__all__ = [
    "LACKS_KEY",
    "RESTORE_HINT",
    "FolderRole",
    "RepositoryHoldings",
    "Store",
    "is_version_reused",
    "move_installation",
    "open_cells",
    "open_store",
    "read_wait_status",
    "wait_for_redis",
    "with_store_url",
]


def read_wait_status(
    store: Store, repository: str, sha: Sha, within: Collection[InstallationId] | None = None
) -> WaitStatus:
    """The verdict on a commit, or what it waits for; *within* these installations, None: all. Raises Unavailable."""
    from worker.adapters.redis.records import find_seen_pulls

    return find_wait_status(find_seen_pulls(store, repository, sha, within), sha)


def open_cells(settings: Settings, store: Store) -> dict[str, Store]:
    """The store of each cell by name; of the first, too. None of them has to answer yet."""
    from worker.adapters.redis.cells import in_cell

    return {name: store if url == store.url else in_cell(store, url) for name, url in settings.cells.items()}


def move_installation(
    settings: Settings, store: Store, installation: InstallationId, target: str, report: Callable[[str], object]
) -> bool:
    """Move an installation to another cell, or go on with that. False: it is there. Raises InputError and Unavailable."""
    from worker.adapters.redis.cells import CellMove

    cells = open_cells(settings, store)
    try:
        return CellMove(cells, installation, report).run(target)
    finally:
        for cell in cells.values():
            cell.close()


def is_version_reused(first: VersionedRubric, other: VersionedRubric) -> bool:
    """Whether two rubrics have one version and are not the same."""
    from worker.adapters.redis import documents

    return documents.is_version_reused(first, other)
