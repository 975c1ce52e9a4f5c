"""The lines of a diff's hunks with their numbers on both sides, made when they are asked for; at most CACHED_LINES are kept."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from worker.domain.pattern import pattern

if TYPE_CHECKING:
    import re


class LineKind(StrEnum):
    ADDED = "+"
    REMOVED = "-"
    CONTEXT = " "


class DiffLine(NamedTuple):
    """One line without its newline (a carriage return stays). A side's number is None where it has no such line."""

    kind: LineKind
    text: str
    base_line: int | None
    head_line: int | None
    has_newline: bool = True


T = TypeVar("T")
Lines = tuple[DiffLine, ...]
_MakeLine = Callable[[type[DiffLine], tuple[LineKind, str, int | None, int | None, bool]], DiffLine]

CACHED_LINES: Final = 20_000
"""Lines of one diff that are kept, more than most changes have: a line takes eight times the memory of its text.

Of a larger change each hunk's lines are made again; those of one file that is read repeatedly stay.
"""


class DiffCache:
    """The bytes of one diff, and what was made of them last."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._kept: dict[object, tuple[Any, ...]] = {}
        self._order: deque[object] = deque()
        self._count = 0
        self._bytes: dict[object, bytes] = {}

    def cached_bytes(self, key: object, make: Callable[[], bytes]) -> bytes:
        """The result of *make*, kept as long as the diff: all results take no more memory than that."""
        if key not in self._bytes:
            self._bytes[key] = make()
        return self._bytes[key]

    def cached_items(self, key: object, make: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        """The result of *make*, kept until more than CACHED_LINES were made since."""
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = make()
            self._order.append(key)
            self._count += len(kept)
            while self._count > CACHED_LINES and len(self._order) > 1:
                self._count -= len(self._kept.pop(self._order.popleft()))
        return kept


def number_lines(body: bytes, base: int, head: int) -> Lines:
    """The lines of a hunk's *body* that begins at these numbers. The tuples are made bare, which takes half as long."""
    added, removed, context = LineKind.ADDED, LineKind.REMOVED, LineKind.CONTEXT
    make: _MakeLine = vars(tuple)["__new__"]
    lines: list[DiffLine] = []
    for text in body.decode("utf-8", "replace").split("\n")[:-1]:
        match text[:1]:
            case "+":
                lines.append(make(DiffLine, (added, text[1:], None, head, True)))
                head += 1
            case "-":
                lines.append(make(DiffLine, (removed, text[1:], base, None, True)))
                base += 1
            case "\\":
                lines[-1] = lines[-1]._replace(has_newline=False)
            case _:  # git apply takes an empty line for an empty context line, since mail programs eat the space
                lines.append(make(DiffLine, (context, text[1:], base, head, True)))
                base, head = base + 1, head + 1
    return tuple(lines)


PIECE_BYTES: Final = 65_536
"""Bytes of a long hunk that are read together."""


def iterate_lines(raw: bytes, start: int, end: int, base: int, head: int) -> Iterator[DiffLine]:
    """`number_lines` of *raw* from *start* to *end*, piece by piece: one pass never holds all of them."""
    for begin, behind in split_pieces(raw, start, end):
        lines = number_lines(raw[begin:behind], base, head)
        yield from lines
        base += sum(line.base_line is not None for line in lines)
        head += sum(line.head_line is not None for line in lines)


def split_pieces(raw: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Pieces of whole lines; the mark of a line without a newline stays with that line."""
    while start < end:
        behind = start + PIECE_BYTES
        while behind < end and (raw[behind - 1] != _NEWLINE or raw[behind] == _BACKSLASH):
            behind = raw.find(b"\n", behind, end) + 1 or end
        yield start, min(behind, end)
        start = behind


_NEWLINE, _BACKSLASH = b"\n\\"


def list_texts(raw: bytes, spans: Iterable[tuple[int, int]], kind: LineKind) -> tuple[str, ...]:
    """The texts of the lines of this kind, in hunks with these *spans* of the diff: a fifth of the work of `number_lines`."""
    return split_lines(join_texts(raw, spans, kind))


def join_texts(raw: bytes, spans: Iterable[tuple[int, int]], kind: LineKind) -> bytes:
    """The same as one text, in which each line ends with a newline: a fifth of the memory."""
    return _join_marked(raw, spans, _MARKED_LINES[kind])


def join_head_lines(raw: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """The texts of the added and the context lines, each with a newline: all of the head's text that the diff shows."""
    return _join_marked(raw, spans, _OF_HEAD)


def split_lines(lines: bytes) -> tuple[str, ...]:
    """The lines of such a text."""
    made: list[str] = []
    for passage in split_passages(lines):
        made += passage.split("\n")[:-1]
    return tuple(made)


def split_passages(lines: bytes) -> Iterator[str]:
    """Such a text in pieces of whole lines, so that folding the case of a large one does not copy all of it."""
    return (lines[begin:behind].decode("utf-8", "replace") for begin, behind in split_pieces(lines, 0, len(lines)))


def _join_marked(raw: bytes, spans: Iterable[tuple[int, int]], marked: "re.Pattern[bytes]") -> bytes:
    made: list[bytes] = []
    texts: list[bytes] = []
    for start, end in spans:
        for begin, behind in split_pieces(raw, start, end):
            texts += marked.findall(raw, begin - 1, behind)
            if len(texts) > _BATCH_LINES:
                made.append(b"\n".join((*texts, b"")))
                texts = []
    if texts:
        made.append(b"\n".join((*texts, b"")))
    return b"".join(made)


_BATCH_LINES: Final = 4_000
"""Lines that are held apart before they are joined."""

_MARKED_LINES: Final = {LineKind.ADDED: pattern(rb"\n\+([^\n]*)"), LineKind.REMOVED: pattern(rb"\n-([^\n]*)")}
_OF_HEAD: Final = pattern(rb"\n(?![-\\])[+ ]?([^\n]*)(?=\n)")
"""Without a mark a line is an empty one of context."""
