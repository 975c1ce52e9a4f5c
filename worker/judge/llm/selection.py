"""What is shown of a change in one question: whole files as far as they fit, by urgency, then whole pieces.

Does not render. Invariant: what is chosen never takes more than the room, and depends on the sheets alone, not on their order.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby

from worker.domain.value import Value
from worker.judge.llm.diff_view import NOTE_BYTES, FileView, overhead_of


class FileSelection(Value):
    """`shown_pieces`: of each file, by its position in the diff, how many of its first pieces are shown. `size`: what they take."""

    shown_pieces: Mapping[int, int]
    size: int


def select_pieces(sheets: Iterable[FileView], room: int) -> FileSelection:
    """Fill the *room*. The *sheets* come by urgency."""
    shown: dict[int, int] = {}
    left = room
    for _, same in groupby(sheets, key=lambda one: one.rank):
        large: list[FileView] = []
        for sheet in same:
            if sheet.is_complete and sheet.size <= left:
                shown[sheet.position] = len(sheet.pieces)
                left -= sheet.size if sheet.pieces else 0
            else:
                large.append(sheet)
        for sheet in large:
            count, size = _count_fitting(sheet, left)
            if count:
                shown[sheet.position] = count
                left -= size
    return FileSelection(shown, room - left)


def _count_fitting(sheet: FileView, room: int) -> tuple[int, int]:
    """How many of the first pieces fit, and what they take."""
    size = overhead_of(sheet.file.path) + NOTE_BYTES
    count = 0
    for piece in sheet.pieces:
        if size + piece.size > room:
            break
        size, count = size + piece.size, count + 1
    return count, size


def is_shown(sheet: FileView, choice: FileSelection) -> bool:
    """Whether the *choice* shows all of one file."""
    return sheet.is_complete and choice.shown_pieces.get(sheet.position, 0) == len(sheet.pieces)
