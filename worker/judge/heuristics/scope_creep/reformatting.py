"""Files in which only the layout of the code changed.

Does not parse: what is the same without white space is the same. Invariant: lines that were moved, and blocks that were
put into another one (a line around them is new), are no reformatting.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.diff import ChangeKind, Hunk, LineKind
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.relatedness import stems_in
from worker.judge.heuristics.scope_creep.unrelated import asked_by, is_code
from worker.judge.heuristics.signal import Kind, Looks, Place, signal

_FEWEST_LINES: Final = 8
_SHARE: Final = 0.6
_ABOUT: Final = """
format formats formatter reformat style styles lint linter indent indentation whitespace prettier black ruff eslint gofmt
rustfmt spotless checkstyle isort cosmetic tidy cleanup spacing tabs wrap editorconfig
"""


@signal(Category.SCOPE_CREEP, Kind.SUSPICION, Looks.ANYTHING)
def reformatted(change: Change) -> Iterator[Place]:
    """Most of what changed in a code file is white space and line breaks, eight lines or more, and nobody asked for it.

    False alarms: 87 of 30214 clean changes with anything (0.3 %, at most 0.36 %).
    """
    if change.once(asked_by).words & stems_in(_ABOUT):
        return
    for file in change.files:
        if is_code(file) and file.diff.change is ChangeKind.MODIFIED:
            yield from _in_file(file)


def _in_file(file: ChangedFile) -> Iterator[Place]:
    laid_out = [hunk for hunk in file.diff.hunks if _is_layout(hunk) and not _is_text(hunk, file)]
    lines = sum(map(_changed, laid_out))
    if lines >= _FEWEST_LINES and lines >= _SHARE * sum(map(_changed, file.diff.hunks)):
        first = next(line.head_line for line in laid_out[0].lines if line.kind is LineKind.ADDED)
        yield Place(f"{lines} changed lines differ from what they were only in layout", file.path, first)


def _is_text(hunk: Hunk, file: ChangedFile) -> bool:
    """Its lines stand in a string: there white space is content."""
    return all(
        file.is_quoted(line.head_line) for line in hunk.lines if line.base_line is None and line.head_line is not None
    )


def _changed(hunk: Hunk) -> int:
    return len(hunk.texts(LineKind.ADDED)) + len(hunk.texts(LineKind.REMOVED))


def _is_layout(hunk: Hunk) -> bool:
    before, after = ("".join(hunk.texts(kind)) for kind in (LineKind.REMOVED, LineKind.ADDED))
    return before != after and "".join(before.split()) == "".join(after.split()) != ""
