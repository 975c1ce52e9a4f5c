"""A change laid out for reading: of each file what it takes to show it, and how soon it is shown.

Does not choose what fits. Invariant: the rank and the size of a file depend on the file, on what is suspected of it and on
which paths changed, never on the order of anything.
"""

import re
from collections.abc import Collection, Iterator
from enum import IntEnum
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.dossier.diff.parser import Diff, FileDiff
from worker.judge.llm.fencing import shown_path
from worker.judge.llm.generated_files import summarize_generated
from worker.judge.llm.pieces import Piece, pieces_of
from worker.signals.analysis.file_roles import FileRole, role_of

FENCE_BYTES: Final = 60
"""What a fence takes around a text, without its label."""

NOTE_BYTES: Final = 80
"""What it takes to say that a file is shown in part."""

_DATA: Final = pattern(
    r"(?:\.(?:md|mdx|rst|txt|adoc|json|ya?ml|toml|cfg|ini|csv|tsv|svg|xml|snap|lock|sum|html?|ipynb|po)|(?:^|[./-])lock(?:\.\w+)?)$",
    re.IGNORECASE,
)


class FileRank(IntEnum):
    """What is shown first. Tests are what the validators ran; a suspicion wants its place looked at."""

    TESTS_AND_SUSPECTS = 0
    CODE = 1
    DATA = 2
    FOREIGN = 3


class FileView(Value):
    """One file of a diff. `position`: where it stands there; `is_complete`: whether `pieces` are the whole change.

    `summary`: what is said instead of showing it.
    """

    position: int
    file: FileDiff
    rank: FileRank
    pieces: tuple[Piece, ...]
    is_complete: bool = True
    summary: str | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes to show all of it."""
        return overhead_of(self.file.path) + sum(piece.size for piece in self.pieces)


def label_of(path: str) -> str:
    return f'diff of "{shown_path(path)}"'


def overhead_of(path: str) -> int:
    return len(label_of(path).encode()) + FENCE_BYTES


def file_views_of(diff: Diff, suspected: Collection[str], withheld: Collection[str], most: int) -> tuple[FileView, ...]:
    """Every file whose lines can be shown or summed up, the most urgent first; of none more than *most* bytes are looked at."""
    return tuple(sorted(_file_views(diff, suspected, withheld, most), key=_urgency))


def _file_views(diff: Diff, suspected: Collection[str], withheld: Collection[str], most: int) -> Iterator[FileView]:
    paths = frozenset(file.path for file in diff.files)
    for position, file in enumerate(diff.files):
        if file.path in withheld or not file.hunks:
            continue
        is_suspect = file.path in suspected
        summary = None if is_suspect else summarize_generated(file, paths)
        pieces, is_all = ((), True) if summary else pieces_of(file.hunks, most)
        yield FileView(
            position, file, FileRank.TESTS_AND_SUSPECTS if is_suspect else rank_of(file.path), pieces, is_all, summary
        )


def rank_of(path: str) -> FileRank:
    role = role_of(path)
    if role is FileRole.FOREIGN:
        return FileRank.FOREIGN
    if _DATA.search(path):
        return FileRank.DATA
    return FileRank.TESTS_AND_SUSPECTS if role is FileRole.TEST else FileRank.CODE


def _urgency(view: FileView) -> tuple[int, bool, int, str, int]:
    return view.rank, not view.is_complete, view.size, view.file.path, view.position
