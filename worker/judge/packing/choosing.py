"""What is shown of a change in one question: whole files as far as they fit, by urgency, then whole pieces.

Does not render. Invariant: what is chosen never takes more than the room, and depends on the sheets alone, not on their order.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby

from worker.domain.value import Value
from worker.judge.packing.sheets import NOTE_BYTES, Sheet, overhead_of

Stretch = tuple[int, int]
"""The first of a file's pieces, and the one behind the last."""


class Choice(Value):
    """`shown`: of each file, by its position in the diff, the pieces that are shown. `size`: what they take."""

    shown: Mapping[int, Stretch]
    size: int


def choose(sheets: Iterable[Sheet], room: int) -> Choice:
    """Fill the *room*. The *sheets* come by urgency."""
    shown: dict[int, Stretch] = {}
    left = room
    for _, same in groupby(sheets, key=lambda one: one.rank):
        large: list[Sheet] = []
        for sheet in same:
            if sheet.is_all and sheet.size <= left:
                shown[sheet.position] = (0, len(sheet.pieces))
                left -= sheet.size if sheet.pieces else 0
            else:
                large.append(sheet)
        for sheet in large:
            count, size = _fitting(sheet, left)
            if count:
                shown[sheet.position] = (0, count)
                left -= size
    return Choice(shown, room - left)


def _fitting(sheet: Sheet, room: int) -> tuple[int, int]:
    """How many of the first pieces fit, and what they take."""
    size = overhead_of(sheet.file.path) + NOTE_BYTES
    count = 0
    for piece in sheet.pieces:
        if size + piece.size > room:
            break
        size, count = size + piece.size, count + 1
    return count, size


def is_complete(sheets: Iterable[Sheet], choices: Iterable[Choice]) -> bool:
    """Whether the *choices* together show every piece of every file."""
    seen = [choice.shown for choice in choices]
    return all(is_shown(sheet, seen) for sheet in sheets)


def is_shown(sheet: Sheet, seen: Iterable[Mapping[int, Stretch]]) -> bool:
    """Whether all of one file is in what was *seen*. No piece is in two of them."""
    stretches = [shown[sheet.position] for shown in seen if sheet.position in shown]
    return sheet.is_all and sum(end - first for first, end in stretches) == len(sheet.pieces)


def is_begun(sheet: Sheet, seen: Iterable[Mapping[int, Stretch]]) -> bool:
    return any(sheet.position in shown for shown in seen)
