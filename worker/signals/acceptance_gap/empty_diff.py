"""A change without a change."""

from collections.abc import Iterator
from typing import Final

from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_MOST_NAMED: Final = 10


@signal(
    Category.ACCEPTANCE_GAP,
    SignalKind.FACT,
    SignalScope.ANYTHING,
    "Commit and push the change: this branch differs from its base in nothing.",
)
def empty_diff(change: CodeChange) -> Iterator[SignalMatch]:
    """No file differs from the merge base: the one fact that has no place.

    Why it matters: There is nothing to judge or to merge: the commits were not pushed, or they undo one another.
    Example: A branch whose commits end in the very files of its base.
    False alarms: 0 of 30214 clean changes with anything (0.0 %, at most 0.01 %).
    """
    if not change.files and not change.dossier.files_unread:
        criteria = (change.dossier.criteria or ())[:_MOST_NAMED]
        asked = ", ".join(criterion.id for criterion in criteria if not criterion.inferred)
        step = f"Commit and push the change that does what is asked for ({asked}): this branch differs from its base in nothing."
        yield SignalMatch("the diff against the merge base is empty", step=step if asked else "")
