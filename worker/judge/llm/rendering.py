"""What was chosen of a change, as it is shown: the changed tests first, then the rest.

Does not choose and does not fence. Invariant: what is spent on the lines around a change is what the choice left, and a file
that is not shown whole says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from worker.domain.value import Value
from worker.judge.llm.choosing import Choice
from worker.judge.llm.diff_view import Rank, Sheet, label_of
from worker.judge.llm.line_numbers import LEFT_OUT, Stretch, numbered, of_hunk
from worker.judge.llm.surroundings import whole_file, with_functions
from worker.signals.analysis.change import ChangedFile
from worker.signals.analysis.file_roles import Role, role_of

WHOLE: Final = " in the whole file"
WHOLE_TEST_BYTES: Final = 12_000
"""A longer test file is shown by the functions that the change touches."""

CONTEXT_BYTES: Final = 16_000
"""What is spent on unchanged lines in one question, at most."""


class Text(Value):
    """One file as it is shown. `label`: ours, and the path in it safe to show."""

    label: str
    text: str
    is_test: bool


def rendered(sheets: Sequence[Sheet], choice: Choice, files: Sequence[ChangedFile], room: int) -> tuple[Text, ...]:
    """The chosen files by their paths. *room*: as in choosing; what the choice left of it goes to the lines around."""
    slack = min(CONTEXT_BYTES, room - choice.size)
    texts: list[tuple[str, int, Text]] = []
    for sheet in sheets:
        if sheet.position not in choice.shown or not sheet.pieces:
            continue
        text, spent = _text(sheet, choice, files[sheet.position], slack)
        slack -= spent
        texts.append((sheet.file.path, sheet.position, text))
    return tuple(text for *_, text in sorted(texts, key=lambda one: one[:2]))


def _text(sheet: Sheet, choice: Choice, file: ChangedFile, slack: int) -> tuple[Text, int]:
    """How the file is shown, and what its unchanged lines take."""
    shown = sheet.pieces[: choice.shown[sheet.position]]
    is_test = role_of(file.path) is Role.TEST and sheet.rank is Rank.TESTS_AND_SUSPECTS
    label = label_of(file.path)
    plain = numbered(of_hunk(piece.hunk) for piece in shown)
    left_out = len(sheet.pieces) - len(shown)
    if left_out or not sheet.is_all:
        return Text(label, f"{plain}\n{_note(sheet, left_out)}", is_test), 0
    for suffix, text in _fuller(sheet, file, is_test=is_test):
        more = len(text.encode()) + len(suffix) - len(plain.encode())
        if more <= slack:
            return Text(label + suffix, text, is_test), more
    return Text(label, plain, is_test), 0


def _note(sheet: Sheet, left_out: int) -> str:
    if sheet.is_all:
        return LEFT_OUT.format(left_out, len(sheet.pieces))
    return "[cut here: the rest of this file is not shown]"


def _fuller(sheet: Sheet, file: ChangedFile, *, is_test: bool) -> Iterator[tuple[str, str]]:
    """The file with what is around the change, the fullest first."""
    if sheet.rank is Rank.FOREIGN or sheet.rank is Rank.DATA:
        return
    if is_test and file.head is not None and len(file.head) <= WHOLE_TEST_BYTES:
        yield from _shown(WHOLE, whole_file(file))
    yield from _shown("", with_functions(file))


def _shown(suffix: str, stretches: Iterable[Stretch] | None) -> Iterator[tuple[str, str]]:
    if stretches is not None:
        yield suffix, numbered(stretches)
