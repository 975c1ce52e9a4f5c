"""A change without a change.

Does not weigh small changes. Invariant: silent as soon as one file is known to have
changed, be it one that could not be read.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.verdict import Category, Finding
from worker.judge.heuristics.change import Change

EMPTY: Final = "empty_diff"


def emptiness(change: Change) -> Iterator[Finding]:
    """The one fact that has no place."""
    if not change.files and not change.dossier.files_unread:
        yield Finding(
            signal=EMPTY, category=Category.ACCEPTANCE_GAP, fact=True, note="the diff against the merge base is empty"
        )
