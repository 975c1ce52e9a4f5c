"""What a diff alone shows of whole files: how many lines they have, or all of their text.

Git prints three lines around a change, and fewer only where the file begins or ends. Does not read code. Invariant: where
some hunk shows that more or fewer lines were asked for, nothing is known.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Final

from worker.dossier.diff.parser import ChangeKind, DiffLine, Hunk
from worker.signals.analysis.change import Change, ChangedFile

_AROUND: Final = 3


def lengths(change: Change) -> Mapping[str, int]:
    """How many lines files have after the change: those whose end some hunk shows."""
    return change.once(_lengths)


def shown_whole(change: Change) -> Mapping[str, str]:
    """The texts after the change of those of them that one hunk shows from their first line."""
    return change.once(_shown_whole)


def _lengths(change: Change) -> dict[str, int]:
    return {file.path: hunk.head_start + hunk.head_count - 1 for file, hunk in _ended(change)}


def _shown_whole(change: Change) -> dict[str, str]:
    alone = ((file, hunk) for file, hunk in _ended(change) if len(file.diff.hunks) == 1 and hunk.head_start == 1)
    return {
        file.path: "".join(f"{line.text}\n" for line in hunk.lines if line.head_line is not None)
        for file, hunk in alone
    }


def _ended(change: Change) -> Iterator[tuple[ChangedFile, Hunk]]:
    """Files with the hunk that ends at their end."""
    modified = [file for file in change.files if file.diff.change is ChangeKind.MODIFIED and file.diff.hunks]
    before = {_kept(hunk.lines) for file in modified for hunk in file.diff.hunks if hunk.base_start > 1}
    for file in modified if before == {_AROUND} else ():
        last = file.diff.hunks[-1]
        if last.head_count and _kept(last.lines[::-1]) < _AROUND:
            yield file, last


def _kept(lines: tuple[DiffLine, ...]) -> int:
    """How many lines stand there before the first that changed."""
    return sum(1 for _ in takewhile(lambda line: line.base_line is not None and line.head_line is not None, lines))
