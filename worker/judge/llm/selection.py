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


def select_pieces(views: Iterable[FileView], budget: int) -> FileSelection:
    """Fill the *room*. The *sheets* come by urgency."""
    shown: dict[int, int] = {}
    left = budget
    for _, same in groupby(views, key=lambda view: view.rank):
        large: list[FileView] = []
        for view in same:
            if view.is_complete and view.size <= left:
                shown[view.position] = len(view.pieces)
                left -= view.size if view.pieces else 0
            else:
                large.append(view)
        for view in large:
            count, size = _count_fitting(view, left)
            if count:
                shown[view.position] = count
                left -= size
    return FileSelection(shown, budget - left)


def _count_fitting(view: FileView, budget: int) -> tuple[int, int]:
    """How many of the first pieces fit, and what they take."""
    size = overhead_of(view.file.path) + NOTE_BYTES
    count = 0
    for piece in view.pieces:
        if size + piece.size > budget:
            break
        size, count = size + piece.size, count + 1
    return count, size


def is_shown(view: FileView, choice: FileSelection) -> bool:
    """Whether the *choice* shows all of one file."""
    return view.is_complete and choice.shown_pieces.get(view.position, 0) == len(view.pieces)
