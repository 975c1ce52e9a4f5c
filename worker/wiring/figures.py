"""Figures of a store: how this host counts them, in the background or at a question; and a pull request's whole history."""

import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from worker.adapters.redis.records import find_repositories
from worker.adapters.redis.store import Store, open_store, with_store_url
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId
from worker.domain.verdict.ledger import LedgerEntry
from worker.evaluation.stats.answers import list_outcomes
from worker.evaluation.stats.cache import MOST_ENTRIES, FiguresCache
from worker.process import SystemClock
from worker.settings import Settings, child_environment, load_settings

NICENESS: Final = 10


@dataclass(frozen=True)
class PullRequestHistory:
    """`entries`: oldest first, re-evaluations included; `outcomes`: oldest first."""

    entries: tuple[LedgerEntry, ...]
    outcomes: tuple[Mapping[str, Any], ...]


def open_figures_cache(settings: Settings, store: Store) -> FiguresCache:
    return FiguresCache(settings.figures_folder, store.events, store.event_retention)


def read_history(
    store: Store,
    figures: FiguresCache,
    repository: str,
    number: int,
    within: Collection[InstallationId] | None = None,
    at_most: int = MOST_ENTRIES,
) -> PullRequestHistory:
    """The history of a pull request *within* these installations (None: all). Empty if nothing is on record.

    At most *at_most* entries of each stream are counted first.
    """
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

    def __init__(self, settings: Settings, store: Store, figures: FiguresCache) -> None:
        self._environ = child_environment(with_store_url(settings, store))
        self._figures = figures
        self.child: subprocess.Popen[bytes] | None = None

    def start(self, installations: Iterable[InstallationId]) -> None:
        """Count all new entries of these, unless a process counts already."""
        if self.child is not None and self.child.poll() is None:
            return
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
    os.nice(NICENESS)
    with open_store(load_settings()) as store:
        figures = FiguresCache(Path(folder), store.events, store.event_retention)
        for installation in installations:
            is_behind = True
            while is_behind and os.getppid() == int(parent):
                is_behind = figures.catch_up(InstallationId(int(installation)), waits=True).is_behind


if __name__ == "__main__":
    main(*sys.argv[1:])
