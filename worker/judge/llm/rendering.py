"""What was chosen of a change, as it is shown: the changed tests first, then the rest.

Does not choose and does not fence. Invariant: what is spent on the lines around a change is what the choice left, and a file
that is not shown whole says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from worker.domain.value import Value
from worker.judge.llm.diff_view import FileRank, FileView, label_of
from worker.judge.llm.line_numbers import STRETCHES_CUT, Stretch, render_stretches, stretch_of
from worker.judge.llm.selection import FileSelection
from worker.judge.llm.surroundings import whole_file, with_functions
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.file_roles import FileRole, role_of

WHOLE_FILE_LABEL: Final = " in the whole file"
WHOLE_TEST_BYTES: Final = 12_000
"""A longer test file is shown by the functions that the change touches."""

CONTEXT_BYTES: Final = 16_000
"""What is spent on unchanged lines in one question, at most."""


class RenderedFile(Value):
    """One file as it is shown. `label`: ours, and the path in it safe to show."""

    label: str
    text: str
    is_test: bool


def render_files(
    views: Sequence[FileView], choice: FileSelection, files: Sequence[AnalyzedFile], budget: int
) -> tuple[RenderedFile, ...]:
    """The chosen files by their paths. *room*: as in choosing; what the choice left of it goes to the lines around."""
    slack = min(CONTEXT_BYTES, budget - choice.size)
    texts: list[tuple[str, int, RenderedFile]] = []
    for view in views:
        if view.position not in choice.shown_pieces or not view.pieces:
            continue
        text, spent = _render_file(view, choice, files[view.position], slack)
        slack -= spent
        texts.append((view.file.path, view.position, text))
    return tuple(text for *_, text in sorted(texts, key=lambda entry: entry[:2]))


def _render_file(view: FileView, choice: FileSelection, file: AnalyzedFile, slack: int) -> tuple[RenderedFile, int]:
    """How the file is shown, and what its unchanged lines take."""
    shown = view.pieces[: choice.shown_pieces[view.position]]
    is_test = role_of(file.path) is FileRole.TEST and view.rank is FileRank.TESTS_AND_SUSPECTS
    label = label_of(file.path)
    plain = render_stretches(stretch_of(piece.hunk) for piece in shown)
    left_out = len(view.pieces) - len(shown)
    if left_out or not view.is_complete:
        return RenderedFile(label, f"{plain}\n{_note(view, left_out)}", is_test), 0
    for suffix, text in _with_surroundings(view, file, is_test=is_test):
        more = len(text.encode()) + len(suffix) - len(plain.encode())
        if more <= slack:
            return RenderedFile(label + suffix, text, is_test), more
    return RenderedFile(label, plain, is_test), 0


def _note(view: FileView, left_out: int) -> str:
    if view.is_complete:
        return STRETCHES_CUT.format(left_out, len(view.pieces))
    return "[cut here: the rest of this file is not shown]"


def _with_surroundings(view: FileView, file: AnalyzedFile, *, is_test: bool) -> Iterator[tuple[str, str]]:
    """The file with what is around the change, the fullest first."""
    if view.rank is FileRank.FOREIGN or view.rank is FileRank.DATA:
        return
    if is_test and file.head_text is not None and len(file.head_text) <= WHOLE_TEST_BYTES:
        yield from _labelled(WHOLE_FILE_LABEL, whole_file(file))
    yield from _labelled("", with_functions(file))


def _labelled(suffix: str, stretches: Iterable[Stretch] | None) -> Iterator[tuple[str, str]]:
    if stretches is not None:
        yield suffix, render_stretches(stretches)
