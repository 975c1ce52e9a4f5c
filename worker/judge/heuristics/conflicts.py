"""Merge-conflict markers that were committed.

Does not look at removed lines. Invariant: a fact needs the markers in their order, in added lines of code or
configuration, outside of any string, comment, test or text about conflicts.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.verdict import Category, Finding
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.paths import Role, role_of

MARKER: Final = "conflict_marker"
SUSPECT: Final = "conflict_suspected"

_OURS: Final = re.compile(r"<{7}( \S.*)?\r?")
_MIDDLE: Final = re.compile(r"={7}\r?")
_THEIRS: Final = re.compile(r">{7}( \S.*)?\r?")
_ABOUT: Final = re.compile(r"conflict", re.IGNORECASE)
_PROSE: Final = re.compile(
    r"\.(md|mdx|markdown|rst|txt|adoc|asciidoc|tex|html?|diff|patch|rej|orig|snap|golden|expected|out|ipynb)$",
    re.IGNORECASE,
)


def conflicts(change: Change) -> Iterator[Finding]:
    """Find the first conflict that each file was committed with."""
    for file in change.files:
        lines = _markers(file)
        if lines is None or all(text in change.removed_texts for text in _texts(file, lines)):
            continue
        sure = _is_sure(file, lines)
        first, last = lines
        yield Finding(
            signal=MARKER if sure else SUSPECT,
            category=Category.HALF_FINISHED,
            fact=sure,
            path=file.path,
            line=first,
            end_line=last,
            note="a merge conflict was committed" if sure else "these lines read like a merge conflict",
        )


def _markers(file: ChangedFile) -> tuple[int, int] | None:
    """The first and last line of the first conflict: `<<<<<<<`, `=======` and `>>>>>>>`, in this order."""
    ours = middle = 0
    for line in file.diff.added:
        number = line.head_line or 0
        if _OURS.fullmatch(line.text):
            ours, middle = number, 0
        elif ours and _MIDDLE.fullmatch(line.text):
            middle = number
        elif middle and _THEIRS.fullmatch(line.text):
            return ours, number
    return None


def _texts(file: ChangedFile, lines: tuple[int, int]) -> list[str]:
    return [line.text.strip() for line in file.diff.added if line.head_line in lines]


def _is_sure(file: ChangedFile, lines: tuple[int, int]) -> bool:
    if role_of(file.path) is not Role.PRODUCTION or _PROSE.search(file.path) or _ABOUT.search(file.path):
        return False
    if file.is_quoted(lines[0]):
        return False
    if any(source.whole for source in file.sources):
        return True
    # where no grammar can tell a string, a text that speaks of conflicts may quote one
    return not any(_ABOUT.search(line.text) for line in file.diff.lines() if not _THEIRS.fullmatch(line.text))
