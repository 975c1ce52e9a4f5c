"""Merge-conflict markers that were committed.

The markers count in their order, in added lines of code or configuration, outside of strings, comments, tests and texts about
conflicts.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, has_more_than_documents, signal

_OURS: Final = pattern(r"<{7}( \S.*)?\r?")
_MIDDLE: Final = pattern(r"={7}\r?")
_THEIRS: Final = pattern(r">{7}( \S.*)?\r?")
_ABOUT: Final = pattern(r"conflict", re.IGNORECASE)
_TEXT_FILE: Final = pattern(
    r"\.(md|mdx|markdown|rst|txt|adoc|asciidoc|tex|html?|diff|patch|rej|orig|snap|golden|expected|out|ipynb)$",
    re.IGNORECASE,
)
_FIXTURE: Final = pattern(
    r"fixture|testdata|test-data|golden|snapshot|expected|inputs?/|resources?/|cases?/|git|merge|diff|patch", 2
)


@signal(
    Category.HALF_FINISHED,
    SignalKind.FACT,
    SignalScope.ANYTHING,
    "Resolve the merge conflict at {place}: keep the lines that are right, and delete the markers.",
    only_if=has_more_than_documents,
)
def conflict_marker(change: CodeChange) -> Iterator[SignalMatch]:
    """A merge conflict that was committed: its three markers, in added lines of code or configuration.

    Why it matters: The file does not parse, or ships both sides of the conflict.
    Example: `<<<<<<< HEAD`, `=======` and `>>>>>>> main` in added lines of a source file.
    False alarms: 0 of 30214 clean changes with anything (0.0 %, at most 0.01 %).
    """
    for file in change.files:
        conflicts = list(_find_conflicts(file, change))
        if not conflicts or not _is_sure(file, conflicts[0][0]):
            continue
        note, step = "a merge conflict was committed", ""
        if len(conflicts) > 1:
            starts = [str(first) for first, _ in conflicts]
            lines = f"{', '.join(starts[:-1])} and {starts[-1]}"
            note = f"{len(starts)} merge conflicts were committed, at lines {lines}"
            step = f"Resolve all {len(starts)} merge conflicts in {file.path}, at lines {lines}: keep the lines that are right, and delete the markers."
        yield SignalMatch(note, file.path, *conflicts[0], step=step)


def _find_conflicts(file: AnalyzedFile, change: CodeChange) -> Iterator[tuple[int, int]]:
    """The first and last line of each new conflict: `<<<<<<<`, `=======` and `>>>>>>>`, in this order."""
    if not any(b"<<<<<<<" in hunk.body for hunk in file.diff.hunks):
        return
    ours, is_divided = None, False
    for line in file.diff.added_lines:
        if _OURS.fullmatch(line.text):
            ours, is_divided = line, False
        elif ours and _MIDDLE.fullmatch(line.text):
            is_divided = True
        elif ours and is_divided and _THEIRS.fullmatch(line.text):
            if not change.removed_texts.issuperset((ours.text.strip(), line.text.strip())):
                yield ours.head_line or 0, line.head_line or 0
            ours, is_divided = None, False


def _is_sure(file: AnalyzedFile, first_line: int) -> bool:
    if _TEXT_FILE.search(file.path) or _ABOUT.search(file.path) or file.is_quoted(first_line):
        return False
    is_whole, role = any(source.is_whole for source in file.sources), role_of(file.path)
    if role is not FileRole.PRODUCTION:  # programs, too, but fixtures of any language may be about conflicts
        return is_whole and role in {FileRole.TEST, FileRole.EXAMPLE} and _FIXTURE.search(file.path) is None
    if is_whole:
        return True
    # where no grammar tells what is a string, a text about conflicts may quote one
    return not any(_ABOUT.search(line.text) for line in file.diff.lines() if not _THEIRS.fullmatch(line.text))
