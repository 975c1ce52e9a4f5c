"""Unified diffs as git prints them: files, hunks, and exact line numbers on both sides, in linear time.

Lines are made when they are asked for; at most CACHED_LINES are kept.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

from worker.domain.pattern import pattern
from worker.dossier.diff_header import (
    FILE_START,
    ChangeKind,
    DiffError,
    DiffReader,
    decode_text,
    format_line,
    read_header,
)

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


class _HunkShape(NamedTuple):
    base_start: int
    base_count: int
    head_start: int
    head_count: int
    cache: DiffCache
    start: int
    end: int


class Hunk(_HunkShape):
    """`body` is its lines as they are in the diff: `cache.raw` from *start* to *end*.

    A tuple without a text of its own: a diff has thousands of hunks, and copying their lines took as long as checking them.
    Two hunks with the same numbers, section and body are equal.
    """

    __slots__ = ()

    @property
    def section(self) -> str:
        """What git prints behind the second @@. A part of a hunk has that of the whole: no line in between starts with @@."""
        raw = self.cache.raw
        at = raw.rfind(b"\n@@", 0, self.start) + 1
        header = raw[at : raw.find(b"\n", at)]
        return decode_text(header.split(b"@@", 2)[2].removeprefix(b" "))

    @property
    def body(self) -> bytes:
        return self.cache.raw[self.start : self.end]

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Hunk) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return (*self[:4], self.section, self.body)

    @property
    def lines(self) -> Lines:
        return self.cache.cached_items(
            (self.start, self.end), lambda: number_lines(self.body, self.base_start, self.head_start)
        )

    def iterate_lines(self) -> Iterator[DiffLine]:
        """The lines for a single pass: those of a long hunk are not kept."""
        if not self.is_long:
            return iter(self.lines)
        return iterate_lines(self.cache.raw, self.start, self.end, self.base_start, self.head_start)

    def passages(self) -> Iterator[str]:
        """All of its lines with their marks: a long hunk in pieces of whole lines."""
        raw = self.cache.raw
        return (
            raw[begin:behind].decode("utf-8", "replace") for begin, behind in split_pieces(raw, self.start, self.end)
        )

    @property
    def is_long(self) -> bool:
        return self.end - self.start > LONG_HUNK_BYTES

    @property
    def head_text(self) -> str:
        """Its part of the text after the change."""
        if not self.base_count:  # all of it was added, as in a new file: no line needs to be made
            text, _, rest = self.body.decode("utf-8", "replace").partition("\n\\")
            if rest.find("\n") == len(rest) - 1:
                return text[1:].replace("\n+", "\n")
        return "".join(
            line.text + "\n" * line.has_newline for line in self.iterate_lines() if line.head_line is not None
        )

    def texts(self, kind: LineKind) -> tuple[str, ...]:
        """The texts of its added or removed lines."""
        return list_texts(self.cache.raw, ((self.start, self.end),), kind)


LONG_HUNK_BYTES: Final = 500_000
"""A longer hunk, more than people write, is not kept as lines."""

_MakeHunk = Callable[[type[Hunk], tuple[int, int, int, int, DiffCache, int, int]], Hunk]


@dataclass(frozen=True)
class FileDiff:
    """One file. `path` is where it is now (for a deleted one: where it was); `old_path` only for renames and copies.

    `blobs` are the abbreviated object ids of both sides: what tells two versions of a binary file apart.
    """

    path: str
    old_path: str | None
    change: ChangeKind
    old_mode: str | None
    new_mode: str | None
    is_binary: bool
    hunks: tuple[Hunk, ...]
    blobs: tuple[str, str] | None = None

    @property
    def is_submodule(self) -> bool:
        return "160000" in {self.old_mode, self.new_mode}

    @property
    def is_symlink(self) -> bool:
        return "120000" in {self.old_mode, self.new_mode}

    def lines(self) -> Iterator[DiffLine]:
        return (line for hunk in self.hunks for line in hunk.iterate_lines())

    @property
    def added_lines(self) -> Lines:
        return self._lines_of(LineKind.ADDED)

    @property
    def removed_lines(self) -> Lines:
        return self._lines_of(LineKind.REMOVED)

    @property
    def added_texts(self) -> tuple[str, ...]:
        """The texts of the added lines: of a large change far cheaper than the lines."""
        return self._texts_of(LineKind.ADDED)

    @property
    def removed_texts(self) -> tuple[str, ...]:
        return self._texts_of(LineKind.REMOVED)

    def added_passages(self) -> Iterator[str]:
        """The same in pieces of many lines, each with its newline: a tenth of the work."""
        return split_passages(self._join_texts(LineKind.ADDED))

    @property
    def head_side(self) -> str:
        """The texts of the added and the context lines, each with a newline."""
        shown = join_head_lines(self.hunks[0].cache.raw, self._spans()) if self.hunks else b""
        return shown.decode("utf-8", "replace")

    def added_lines_matching(self, look: Callable[[str], object]) -> Lines:
        """The added lines whose text *look* accepts: of most files none, and then no line is made."""
        indexes = [at for at, text in enumerate(self.added_texts) if look(text)]
        if indexes and any(hunk.is_long for hunk in self.hunks):
            wanted = frozenset(indexes)
            added = (line for line in self.lines() if line.kind is LineKind.ADDED)
            return tuple([line for at, line in enumerate(added) if at in wanted])
        lines = self.added_lines if indexes else ()
        return tuple([lines[at] for at in indexes])

    def _texts_of(self, kind: LineKind) -> tuple[str, ...]:
        if not self.hunks:
            return ()
        first = self.hunks[0]
        return first.cache.cached_items((list_texts, kind, first.start), lambda: split_lines(self._join_texts(kind)))

    def _join_texts(self, kind: LineKind) -> bytes:
        if not self.hunks:
            return b""
        first = self.hunks[0]
        return first.cache.cached_bytes((kind, first.start), lambda: join_texts(first.cache.raw, self._spans(), kind))

    def _spans(self) -> Iterator[tuple[int, int]]:
        return ((hunk.start, hunk.end) for hunk in self.hunks)

    def _lines_of(self, kind: LineKind) -> Lines:
        if not self.hunks:
            return ()
        first = self.hunks[0]
        return first.cache.cached_items(
            (kind, first.start), lambda: tuple(line for line in self.lines() if line.kind is kind)
        )


@dataclass(frozen=True)
class Diff:
    files: tuple[FileDiff, ...]

    @cached_property
    def by_path(self) -> dict[str, FileDiff]:
        """The last entry of each path (git prints a file that became a link twice: deleted, then added)."""
        return {file.path: file for file in self.files}


@lru_cache(maxsize=1)
def diff_of(text: str) -> Diff:
    """The diff of a dossier; cached, since judge, evidence and signals read the same one in turn."""
    return parse_diff(text.encode())


def diff_or_empty(text: str) -> Diff:
    """The diff of a dossier; an empty one if it can't be read, which the verdict says."""
    try:
        return diff_of(text)
    except DiffError:
        return Diff(())


def parse_diff(raw: bytes) -> Diff:
    """Parse what `git diff` prints. Bytes that are not UTF-8 become U+FFFD in their line.

    Raises DiffError for a hunk whose lines do not match its header, and for a line where git prints none; never anything else.
    """
    reader = DiffReader(raw)
    cache = DiffCache(reader.raw)
    files: list[FileDiff] = []
    while reader.line is not None:
        header = read_header(reader)
        files.append(FileDiff(*header[:-1], _hunks(reader, cache), header.blobs))
    return Diff(files=tuple(files))


def base_text(head: str, file: FileDiff) -> str:
    """The text before the change, from the text after it. Raises DiffError where the two do not belong together."""
    return _rebuild(head, file, LineKind.ADDED)


def head_text(base: str, file: FileDiff) -> str:
    """The text after the change, from the text before it. Raises DiffError where the two do not belong together."""
    return _rebuild(base, file, LineKind.REMOVED)


def text_lines(text: str) -> list[str]:
    """Lines as git counts them: only a line feed ends one, and a line feed at the end starts no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _rebuild(text: str, file: FileDiff, dropped: LineKind) -> str:
    """Build the other side of *text*, which holds the *dropped* and the context lines."""
    lines = text.split("\n")
    pieces = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    result: list[str] = []
    done = 0
    for hunk in file.hunks:
        start = _begin(hunk)[dropped is not LineKind.REMOVED]
        if not done <= start <= len(pieces):
            raise DiffError(f"{file.path}: a hunk starts at line {start + 1}, the text has {len(pieces)} lines")
        result += pieces[done:start]
        done = start
        for line in hunk.lines:
            piece = line.text + ("\n" if line.has_newline else "")
            if line.kind in {dropped, LineKind.CONTEXT}:
                if done >= len(pieces) or pieces[done] != piece:
                    raise DiffError(f"{file.path}: line {done + 1} of the text is not the one in the diff")
                done += 1
            if line.kind is not dropped:
                result.append(piece)
    return "".join(result + pieces[done:])


def _hunks(reader: DiffReader, cache: DiffCache) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    _usual_hunks(reader, cache, hunks)
    while reader.raw.startswith(b"@@", reader.at):
        hunk = _hunk(reader, cache)
        above, begin = _end(hunks[-1]) if hunks else (0, 0), _begin(hunk)
        if begin[0] < above[0] or begin[1] < above[1]:
            raise reader.build_error("the hunk begins before the one above it ends")
        hunks.append(hunk)
        _usual_hunks(reader, cache, hunks)
    if not reader.starts(FILE_START) and reader.line is not None:
        raise reader.build_error(f'expected the next hunk or file, found "{format_line(reader.line)}"')
    return tuple(hunks)


def _begin(hunk: Hunk) -> tuple[int, int]:
    """How many lines precede it on each side: a side without lines starts behind the line in its header, not at it."""
    return hunk.base_start - (hunk.base_count > 0), hunk.head_start - (hunk.head_count > 0)


def _end(hunk: Hunk) -> tuple[int, int]:
    base, head = _begin(hunk)
    return base + hunk.base_count, head + hunk.head_count


def _usual_hunks(reader: DiffReader, cache: DiffCache, hunks: list[Hunk]) -> None:
    """Read hunks that match their headers and have no odd line, up to the first other one, which is for `_hunk`.

    One long function, since a small hunk takes no longer than a few calls.
    """
    raw, at, match, count = reader.raw, reader.at, _USUAL.match, reader.raw.count
    make: _MakeHunk = vars(tuple)["__new__"]
    base_end, head_end = _end(hunks[-1]) if hunks else (0, 0)
    while (hit := match(raw, at)) is not None:
        old, olds, new, news, _, _ = hit.groups()
        base_start, head_start = int(old), int(new)
        base_count = int(olds or 1)
        head_count = base_count if news == olds else int(news or 1)
        base, head = base_start - (base_count > 0), head_start - (head_count > 0)
        if base < base_end or head < head_end:
            break
        start, end = hit.start(_BODY), hit.end()
        lines, above = count(b"\n", start, end), hit.start(_CHANGED) - 1
        if lines != base_count + (count(b"\n+", above, end) if head_count else 0):
            break
        if lines != head_count + (count(b"\n-", above, end) if base_count else 0):
            break
        hunks.append(make(Hunk, (base_start, base_count, head_start, head_count, cache, start, end)))
        at, base_end, head_end = end, base + base_count, head + head_count
    reader.at = at


def _hunk(reader: DiffReader, cache: DiffCache) -> Hunk:
    raw = reader.raw
    match = _HUNK.match(raw, reader.at)
    if match is None:
        raise reader.build_error(f'a hunk header can\'t be read: "{format_line(reader.line)}"')
    base, bases, head, heads, framed = match.groups()  # each line in `framed` is after its newline
    base_start, head_start = int(base), int(head)
    base_count, head_count = 1 if bases is None else int(bases), 1 if heads is None else int(heads)
    if (base_count and not base_start) or (head_count and not head_start):
        raise reader.build_error("a hunk with lines starts at line 0")
    end, marks, is_odd = match.end(), 0, False
    if raw.startswith(_ODD_STARTS, end):
        after = _ENDS_BODY.search(raw, end - 1)
        end = len(raw) if after is None else after.end()
        framed = raw[match.start(_FRAMED) : end]
        # how many lines mark the one above as without newline; one may mark no line, or be worded otherwise
        marks = framed.count(b"\n\\")
        is_odd = marks != framed.count(b"\n\\ ") or framed.startswith(b"\n\\") or bool(_TWO_MARKS.search(framed))
    lines = framed.count(b"\n") - 1 - marks  # counting takes a tenth of the time of a loop
    added = framed.count(b"\n+") if head_count else 0
    removed = framed.count(b"\n-") if base_count else 0
    if is_odd or not lines == base_count + added == head_count + removed:
        reader.at = match.start(_FRAMED) + 1
        _raise_mismatch(reader, base_count, head_count)
    reader.at = end
    return Hunk(base_start, base_count, head_start, head_count, cache, match.start(_FRAMED) + 1, end)


def _raise_mismatch(reader: DiffReader, base_left: int, head_left: int) -> NoReturn:
    """Read a hunk that does not match its header, up to the line where that shows."""
    while base_left or head_left:
        if reader.line is None:
            raise reader.build_error(
                f"the diff ends inside a hunk, {base_left} old and {head_left} new lines are missing"
            )
        kind = _KINDS.get(reader.line[:1])
        if kind is None:
            raise reader.build_error(f'expected a line of the hunk, found "{format_line(reader.line)}"')
        in_base, in_head = kind is not LineKind.ADDED, kind is not LineKind.REMOVED
        if (in_base and not base_left) or (in_head and not head_left):
            raise reader.build_error("the hunk has more lines than its header says")
        base_left, head_left = base_left - in_base, head_left - in_head
        reader.take()
        if reader.starts(b"\\ "):
            reader.take()
    raise reader.build_error(f'expected the next hunk or file, found "{format_line(reader.line)}"')


_HUNK: Final = pattern(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@.*+(\n(?:[-+ ].*+\n)*+)")
"""A header with the lines below it that have a mark."""
_FRAMED: Final = 5
_USUAL: Final = pattern(
    rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@.*+\n()(?: .*+\n)*+()(?:[-+ ].*+\n)*+"
    rb"(?=@@ |diff --git |\Z)"
)
"""A hunk with nothing odd in it, before the next one, the next file or the end."""
_BODY, _CHANGED = 5, 6
"""The groups where its lines begin, and where the first one begins that is not context."""
_ODD_STARTS: Final = (b"\n", b"\\")
"""How the other lines of a hunk begin: one that a mail program emptied, and the mark of a line without a newline."""
_ENDS_BODY: Final = pattern(rb"\n(?![-+ \\\n])")
"""Before the first line that no hunk has: each of its lines has a mark, or is empty."""
_TWO_MARKS: Final = pattern(rb"\n\\[^\n]*\n\\")
_KINDS: Final = {b"+": LineKind.ADDED, b"-": LineKind.REMOVED, b" ": LineKind.CONTEXT, b"": LineKind.CONTEXT}


HASHED_LINES: Final = 5_000
"""Most changed lines of one head whose hashes are kept; a bigger change keeps none (it is one surface)."""

_SHORTEST_ID: Final = 7
"""git abbreviates object ids to this or more, depending on the size of the repository."""


def hash_changed_lines(diff: Diff) -> dict[str, tuple[str, ...]]:
    """Per path, a hash of each added, then of each removed line; empty for a change of more than HASHED_LINES lines."""
    if sum(len(file.added_lines) + len(file.removed_lines) for file in diff.files) > HASHED_LINES:
        return {}
    hashes: dict[str, tuple[str, ...]] = {}
    for file in diff.files:  # a file that became a link is in a diff twice
        hashes[file.path] = (*hashes.get(file.path, ()), *(line_hash for _, line_hash in hash_file(file)))
    return hashes


def hash_file(file: FileDiff) -> list[tuple[DiffLine | None, str]]:
    """Each changed line with its hash; of a file without any, one hash of what did change (its mode, its content)."""
    lines = [*file.added_lines, *file.removed_lines]
    if lines:
        return [(line, hash_line(line.kind, line.text)) for line in lines]
    blobs = [blob[:_SHORTEST_ID] for blob in file.blobs or ()]
    return [(None, hash_line("", repr((file.change.value, file.old_path, file.old_mode, file.new_mode, blobs))))]


def hash_line(kind: str, text: str) -> str:
    """*kind* is the line's mark in a diff."""
    return hashlib.sha256(f"{kind}{text}".encode()).hexdigest()[:16]
