"""Whether a change takes back an earlier one, by its words and by the history below it.

Looks nothing up: the dossier says what the history showed. Invariant: words alone, or history alone, leave a suspicion.
"""

from worker.dossier.mending import says_it_reverts
from worker.signals.analysis.change import Change


def is_revert(change: Change) -> bool:
    """Whether the change says that it reverts something, or is the exact inverse of an earlier commit."""
    return change.dossier.reverts is not None or _says_so(change)


def is_certain_revert(change: Change) -> bool:
    """Whether it says so and is one: then its tests are those of before."""
    return change.dossier.reverts is not None and _says_so(change)


def _says_so(change: Change) -> bool:
    pull = change.dossier.pull_request
    return says_it_reverts(pull.title, pull.body, [commit.message for commit in pull.commits])
