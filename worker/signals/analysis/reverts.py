"""Whether a change takes back an earlier one, by its words and by the history below it.

Looks nothing up: the dossier says what the history showed. Invariant: words alone, or history alone, leave a suspicion.
"""

from worker.dossier.issue_links import is_declared_revert
from worker.signals.analysis.change import CodeChange


def is_revert(change: CodeChange) -> bool:
    """Whether the change says that it reverts something, or is the exact inverse of an earlier commit."""
    return change.dossier.reverts is not None or _is_declared(change)


def is_certain_revert(change: CodeChange) -> bool:
    """Whether it says so and is one: then its tests are those of before."""
    return change.dossier.reverts is not None and _is_declared(change)


def _is_declared(change: CodeChange) -> bool:
    pull = change.dossier.pull_request
    return is_declared_revert(pull.title, pull.body, [commit.message for commit in pull.commits])
