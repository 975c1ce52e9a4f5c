"""What a diff alone shows of whole files: how many lines they have, or all of their text.

Git prints three lines around a change, and fewer only where the file begins or ends. Does not read code. Invariant: where
some hunk shows that more or fewer lines were asked for, nothing is known.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Final

from worker.dossier.diff.parser import ChangeKind, DiffLine, Hunk
from worker.signals.analysis.change import AnalyzedFile, CodeChange

_CONTEXT_LINES: Final = 3


def find_lengths(change: CodeChange) -> Mapping[str, int]:
    """How many lines files have after the change: those whose end some hunk shows."""
    return change.cached(_select_lengths)


def find_whole_texts(change: CodeChange) -> Mapping[str, str]:
    """The texts after the change of those of them that one hunk shows from their first line."""
    return change.cached(_select_whole_texts)


def _select_lengths(change: CodeChange) -> dict[str, int]:
    return {file.path: hunk.head_start + hunk.head_count - 1 for file, hunk in _find_last_hunks(change)}


def _select_whole_texts(change: CodeChange) -> dict[str, str]:
    alone = (
        (file, hunk) for file, hunk in _find_last_hunks(change) if len(file.diff.hunks) == 1 and hunk.head_start == 1
    )
    return {
        file.path: "".join(f"{line.text}\n" for line in hunk.lines if line.head_line is not None)
        for file, hunk in alone
    }


def _find_last_hunks(change: CodeChange) -> Iterator[tuple[AnalyzedFile, Hunk]]:
    """Files with the hunk that ends at their end."""
    modified = [file for file in change.files if file.diff.change is ChangeKind.MODIFIED and file.diff.hunks]
    before = {_count_leading_lines(hunk.lines) for file in modified for hunk in file.diff.hunks if hunk.base_start > 1}
    for file in modified if before == {_CONTEXT_LINES} else ():
        last = file.diff.hunks[-1]
        if last.head_count and _count_leading_lines(last.lines[::-1]) < _CONTEXT_LINES:
            yield file, last


def _count_leading_lines(lines: tuple[DiffLine, ...]) -> int:
    """How many lines stand there before the first that changed."""
    return sum(1 for _ in takewhile(lambda line: line.base_line is not None and line.head_line is not None, lines))
