"""The store that commands and the web process open: the configured Redis, or the embedded one; and the figures of it.

This host counts figures in the background or at a question. A module that one of its parts alone needs is imported with that part.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worker.adapters.redis.connection.embedded_server import FolderRole
from worker.adapters.redis.encryption_and_tokens import LACKS_KEY, RESTORE_HINT
from worker.adapters.redis.store import Store, open_store, wait_for_redis, with_store_url
from worker.domain.check.check_run import WaitStatus, find_wait_status
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, Sha
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import VersionedRubric
from worker.process import SystemClock
from worker.settings import Settings, child_environment, load_settings

if TYPE_CHECKING:
    import subprocess

    from worker.adapters.redis.records import RepositoryHoldings
    from worker.evaluation.stats.cache import FiguresCache

NICENESS: Final = 10
"""Of the process that counts figures."""

__all__ = [
    "LACKS_KEY",
    "RESTORE_HINT",
    "FiguresBuilder",
    "FolderRole",
    "PullRequestHistory",
    "RepositoryHoldings",
    "Store",
    "is_version_reused",
    "move_installation",
    "open_cells",
    "open_figures_cache",
    "open_store",
    "read_history",
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


@dataclass(frozen=True)
class PullRequestHistory:
    """`entries`: oldest first, re-evaluations included; `outcomes`: oldest first."""

    entries: tuple[LedgerEntry, ...]
    outcomes: tuple[Mapping[str, Any], ...]


def open_figures_cache(settings: Settings, store: Store) -> "FiguresCache":
    from worker.evaluation.stats.cache import FiguresCache

    return FiguresCache(settings.figures_folder, store.events, store.event_retention)


def read_history(
    store: Store,
    figures: "FiguresCache",
    repository: str,
    number: int,
    at_most: int,
    within: Collection[InstallationId] | None = None,
) -> PullRequestHistory:
    """The history of a pull request *within* these installations (None: all). Empty if nothing is on record.

    At most *at_most* entries of each stream are counted first.
    """
    from worker.adapters.redis.records import find_repositories
    from worker.evaluation.stats.answers import list_outcomes

    now, entries, outcomes = SystemClock().now(), list[LedgerEntry](), list[Mapping[str, Any]]()
    for installation, repository_id in find_repositories(store.client, repository):
        pull = PullRef(installation_id=installation, repository_id=repository_id, number=number)
        recorded = store.ledger.entries(pull) if within is None or installation in within else ()
        if recorded:
            entries += recorded
            outcomes += figures.query(
                [installation], now, lambda streams, pull=pull: list_outcomes(streams[0], pull), at_most
            )
    return PullRequestHistory(
        tuple(sorted(entries, key=lambda entry: (entry.created_at, entry.eval_id))),
        tuple(sorted(outcomes, key=lambda outcome: outcome["at"])),
    )


class FiguresBuilder:
    """Counts streams in a process of its own, so that the web process stays free; one at a time."""

    def __init__(self, settings: Settings, store: Store, figures: "FiguresCache") -> None:
        self._environ = child_environment(with_store_url(settings, store))
        self._figures = figures
        self.child: subprocess.Popen[bytes] | None = None

    def start(self, installations: Iterable[InstallationId]) -> None:
        """Count all new entries of these, unless a process counts already."""
        if self.child is not None and self.child.poll() is None:
            return
        import subprocess

        arguments = (str(os.getpid()), str(self._figures.folder), *map(str, installations))
        command = [sys.executable, "-I", "-m", __name__, *arguments]
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=self._environ)  # noqa: S603 - our own program

    def refresh(self) -> None:
        """Count all new entries of what is counted here, and forget what was forgotten since."""
        if installations := self._figures.cached_installations():
            self.start(installations)

    def stop(self) -> None:
        """End the process that counts. What it has committed stays."""
        if self.child is not None:
            self.child.kill()
            self.child.wait()

    def run(self, installations: Iterable[InstallationId]) -> None:
        """Count all new entries of these and of what is counted here, and wait for it."""
        self.start({*installations, *self._figures.cached_installations()})
        if self.child is not None:
            self.child.wait()


def main(parent: str, folder: str, *installations: str) -> None:
    """Count all new entries of these installations, as long as the process *parent* lives."""
    from worker.evaluation.stats.cache import FiguresCache

    os.nice(NICENESS)
    with open_store(load_settings()) as store:
        figures = FiguresCache(Path(folder), store.events, store.event_retention)
        for installation in installations:
            is_behind = True
            while is_behind and os.getppid() == int(parent):
                is_behind = figures.catch_up(InstallationId(int(installation)), waits=True).is_behind


if __name__ == "__main__":
    main(*sys.argv[1:])
