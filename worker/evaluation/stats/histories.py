"""All that is on record of one pull request, found by its name.

Does not decide who may see it: whoever asks says of which installations. Invariant: only the ledger and what figures remember
are read, no key is looked for among others.
"""

from collections.abc import Collection

from worker.adapters.redis.records import find_repositories
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.request.judge_request import PullRef
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry
from worker.evaluation.stats.pulls import PullStats
from worker.evaluation.stats.rollups import MOST_ENTRIES, open_rollups


class PullRequestHistory(Value):
    """`entries`: oldest first, judgings anew among them. `pulls`: what was done about them, by installation."""

    entries: tuple[LedgerEntry, ...]
    pulls: tuple[PullStats, ...]


def read_history(
    store: Store,
    repository: str,
    number: int,
    within: Collection[InstallationId] | None = None,
    at_most: int = MOST_ENTRIES,
) -> PullRequestHistory:
    """Of a pull request, *within* these installations (None: all; a laptop's is one of them). Empty: nothing is on record.

    *at_most* so many entries of each are counted first.
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
