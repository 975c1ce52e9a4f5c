"""All that is on record of one pull request, found by its name. The caller names the installations that may be read."""

from collections.abc import Collection
from dataclasses import dataclass

from worker.adapters.redis.records import find_repositories
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.ledger import LedgerEntry
from worker.evaluation.stats.pulls import PullStats
from worker.evaluation.stats.rollups import MOST_ENTRIES, open_rollups


@dataclass(frozen=True)
class PullRequestHistory:
    """`entries`: oldest first, re-evaluations included. `pulls`: outcomes, by installation."""

    entries: tuple[LedgerEntry, ...]
    pulls: tuple[PullStats, ...]


def read_history(
    store: Store,
    repository: str,
    number: int,
    within: Collection[InstallationId] | None = None,
    at_most: int = MOST_ENTRIES,
) -> PullRequestHistory:
    """The history of a pull request *within* these installations (None: all). Empty if nothing is on record.

    At most *at_most* entries of each stream are counted first.
    """
    rollups = open_rollups(store)
    entries: list[LedgerEntry] = []
    pulls: list[PullStats] = []
    for installation, repository_id in find_repositories(store.client, repository):
        ref = PullRef(installation_id=installation, repository_id=repository_id, number=number)
        recorded = store.ledger.entries(ref) if within is None or installation in within else ()
        if recorded:
            entries += recorded
            pulls += [pull for pull in (rollups.catch_up_pull(ref, at_most),) if pull is not None]
    return PullRequestHistory(tuple(sorted(entries, key=lambda entry: (entry.created_at, entry.eval_id))), tuple(pulls))
