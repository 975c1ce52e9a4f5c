"""A changed file taken apart into pieces that are shown whole or not at all.

Does not choose. Invariant: the pieces of a file are its lines, each once and in order; a piece is a hunk, or where a hunk is
larger than a piece may be, some of its lines. Of a file that fits no question at all, only what might be shown is taken apart.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.value import Value
from worker.dossier.diff.parser import Hunk
from worker.judge.llm.line_numbers import size_of_hunk

PIECE_BYTES: Final = 8_000
"""A larger hunk is taken apart: what does not fit whole is still shown as far as it fits."""


class Piece(Value):
    """`size`: the most bytes that it takes when it is shown."""

    hunk: Hunk
    size: int


def pieces_of(hunks: tuple[Hunk, ...], most: int) -> tuple[tuple[Piece, ...], bool]:
    """The pieces up to *most* bytes, and whether they are all that there are."""
    pieces: list[Piece] = []
    for part in (part for hunk in hunks for part in _split_hunk(hunk)):
        piece = Piece(part, size_of_hunk(part))
        most -= piece.size
        if most < 0:
            return tuple(pieces), False
        pieces.append(piece)
    return tuple(pieces), True


def _split_hunk(hunk: Hunk) -> Iterator[Hunk]:
    """The hunk in parts of about so many bytes, cut between lines; a line alone is never cut."""
    whole = hunk.body
    if len(whole) <= PIECE_BYTES:
        yield hunk
        return
    base, head, start = _first_line(hunk.base_start, hunk.base_count), _first_line(hunk.head_start, hunk.head_count), 0
    while start < len(whole):
        end = _cut(whole, start)
        body = whole[start:end]
        lines, added, removed = (_count(body, mark) for mark in (b"", b"+", b"-"))
        lines -= _count(body, b"\\")
        yield hunk._replace(
            base_start=base,
            base_count=lines - added,
            head_start=head,
            head_count=lines - removed,
            start=hunk.start + start,
            end=hunk.start + end,
        )
        base, head, start = base + lines - added, head + lines - removed, end


def _first_line(start: int, count: int) -> int:
    """The first line on a side; a side without lines names the line before."""
    return start if count else start + 1


def _count(body: bytes, mark: bytes) -> int:
    """How many lines begin so."""
    return body.startswith(mark) + body.count(b"\n" + mark) - (not mark)


def _cut(body: bytes, start: int) -> int:
    """Where the line ends that the limit falls into, with the note that may belong to it."""
    end = body.find(b"\n", start + PIECE_BYTES) + 1 or len(body)
    while body.startswith(b"\\", end):
        end = body.find(b"\n", end) + 1 or len(body)
    return end
