"""Recorded expectations that were recorded anew.

Does not read what they hold. Invariant: silent as soon as any code that could explain it changed as well.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.diff import ChangeKind
from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.paths import Role, role_of
from worker.judge.heuristics.signal import Kind, Looks, Place, signal

_RECORDED: Final = pattern(
    r"(?:^|/)(?:__snapshots__|snapshots|goldens?)/|\.(?:snap|ambr|golden|approved\.\w+|snapshot)$"
)


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.ANYTHING)
def snapshot_rewritten(change: Change) -> Iterator[Place]:
    """A recorded expectation was recorded anew, although no code changed that could have changed the result.

    False alarms: 2 of 30214 clean changes with anything (0.0 %, at most 0.02 %).
    """
    recorded = [file for file in change.files if _is_rewritten(file)]
    if recorded and not any(_could_explain(file) for file in change.files):
        for file in recorded:
            line = file.diff.added[0].head_line
            yield Place("an expectation was recorded anew, and no code changed", file.path, line)


def _is_rewritten(file: ChangedFile) -> bool:
    is_kept = file.diff.change is ChangeKind.MODIFIED
    return is_kept and _RECORDED.search(file.path) is not None and bool(file.diff.added and file.diff.removed)


def _could_explain(file: ChangedFile) -> bool:
    """Anything but tests and what they recorded: also a dependency, or a resource."""
    return _RECORDED.search(file.path) is None and role_of(file.path) is not Role.TEST
