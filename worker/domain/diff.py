"""Unified diffs as git prints them: files, hunks, and exact line numbers on both sides.

Does not read repositories. Invariant: a hunk has exactly the lines its header promises, and parsing
never takes more than linear time.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Final, NamedTuple, NoReturn

from worker.domain.diff_header import START, ChangeKind, DiffError, Reader, read_header, shown, text_of
from worker.domain.pattern import pattern
from worker.domain.value import Value


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


class Hunk(Value):
    """`section` is what git prints behind the second @@, `body` the lines as they stand in the diff."""

    base_start: int
    base_count: int
    head_start: int
    head_count: int
    section: str
    body: bytes

    def __init__(  # noqa: PLR0913, PLR0917 - its fields; there are thousands of hunks, and this takes a third of the time
        self, base_start: int, base_count: int, head_start: int, head_count: int, section: str, body: bytes
    ) -> None:
        fields = self.__dict__
        fields["base_start"], fields["base_count"] = base_start, base_count
        fields["head_start"], fields["head_count"] = head_start, head_count
        fields["section"], fields["body"] = section, body

    @cached_property
    def lines(self) -> tuple[DiffLine, ...]:
        """Made when first asked for: of most files of a large change nobody reads the lines."""
        texts = self.body.decode("utf-8", "replace").split("\n")
        return tuple(_numbered(texts[:-1], self.base_start, self.head_start))


_MakeLine = Callable[[type[DiffLine], tuple[LineKind, str, int | None, int | None, bool]], DiffLine]


def _numbered(texts: list[str], base: int, head: int) -> list[DiffLine]:
    """The lines of a hunk, each with its mark still before it. The tuples are made bare, which takes half as long."""
    added, removed, context = LineKind.ADDED, LineKind.REMOVED, LineKind.CONTEXT
    make: _MakeLine = vars(tuple)["__new__"]
    lines: list[DiffLine] = []
    for text in texts:
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
    return lines


class FileDiff(Value):
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
        return (line for hunk in self.hunks for line in hunk.lines)

    @cached_property
    def added(self) -> tuple[DiffLine, ...]:
        return tuple(line for line in self.lines() if line.kind is LineKind.ADDED)

    @cached_property
    def removed(self) -> tuple[DiffLine, ...]:
        return tuple(line for line in self.lines() if line.kind is LineKind.REMOVED)


class Diff(Value):
    files: tuple[FileDiff, ...]

    @cached_property
    def by_path(self) -> dict[str, FileDiff]:
        """The last entry of each path (git prints a file that became a link twice: deleted, then added)."""
        return {file.path: file for file in self.files}


@lru_cache(maxsize=1)
def diff_of(text: str) -> Diff:
    """The diff of a dossier: its court, its evidence and its signals ask for the same one, one after the other."""
    return parse_diff(text.encode())


def parse_diff(raw: bytes) -> Diff:
    """Parse what `git diff` prints. Bytes that are not UTF-8 become U+FFFD in their line.

    Raises DiffError for a hunk whose lines do not match its header, and for a line that stands where
    git prints none; never anything else.
    """
    reader = Reader(raw)
    files: list[FileDiff] = []
    while reader.line is not None:
        files.append(_file(reader))
    return Diff(files=tuple(files))


def base_text(head: str, file: FileDiff) -> str:
    """The text before the change, from the text after it. Raises DiffError where the two do not belong together."""
    return _rebuild(head, file, LineKind.ADDED)


def head_text(base: str, file: FileDiff) -> str:
    """The text after the change, from the text before it. Raises DiffError where the two do not belong together."""
    return _rebuild(base, file, LineKind.REMOVED)


def text_lines(text: str) -> list[str]:
    """Lines as git counts them: only a line feed ends one, and one at the end starts no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _rebuild(text: str, file: FileDiff, dropped: LineKind) -> str:
    """Walk over *text*, which holds the *dropped* and the context lines, and put the other side together."""
    known = text.split("\n")
    pieces = [f"{line}\n" for line in known[:-1]] + ([known[-1]] if known[-1] else [])
    result: list[str] = []
    done = 0
    for hunk in file.hunks:
        start = _offset(hunk, dropped)
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


def _offset(hunk: Hunk, side: LineKind) -> int:
    """How many lines stand before the hunk, on the side that has lines of this kind."""
    base = side is LineKind.REMOVED
    start, count = (hunk.base_start, hunk.base_count) if base else (hunk.head_start, hunk.head_count)
    return start - 1 if count else start


def _file(reader: Reader) -> FileDiff:
    header = read_header(reader)
    return FileDiff(
        header.path,
        header.old_path,
        header.change,
        header.old_mode,
        header.new_mode,
        header.is_binary,
        _hunks(reader),
        header.blobs,
    )


def _hunks(reader: Reader) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    base_end = head_end = 0
    while reader.raw.startswith(b"@@", reader.at):
        hunk = _hunk(reader)
        # a side without lines starts behind the line that is named, not at it
        base, head = hunk.base_start - (hunk.base_count > 0), hunk.head_start - (hunk.head_count > 0)
        if base < base_end or head < head_end:
            raise reader.wrong("the hunk begins before the one above it ends")
        base_end, head_end = base + hunk.base_count, head + hunk.head_count
        hunks.append(hunk)
    if not reader.starts(START) and reader.line is not None:
        raise reader.wrong(f'expected the next hunk or file, found "{shown(reader.line)}"')
    return tuple(hunks)


def _hunk(reader: Reader) -> Hunk:
    raw = reader.raw
    found = _HUNK.match(raw, reader.at)
    if found is None:
        raise reader.wrong(f'a hunk header can\'t be read: "{shown(reader.line)}"')
    base, bases, head, heads, section, framed = found.groups()
    base_start, head_start = int(base), int(head)
    base_count, head_count = 1 if bases is None else int(bases), 1 if heads is None else int(heads)
    if (base_count and not base_start) or (head_count and not head_start):
        raise reader.wrong("a hunk with lines starts at line 0")
    end, marks = found.end(), 0
    if raw.startswith(_ODD, end):
        end = _end_of_body(raw, end)
        framed = raw[found.start(_FRAMED) : end]
        marks = _marks_in(framed)
    if marks is None or not _is_as_promised(framed, marks, base_count, head_count):
        reader.at = found.start(_FRAMED) + 1
        _refuse(reader, base_count, head_count)
    reader.at = end
    return Hunk(base_start, base_count, head_start, head_count, text_of(section) if section else "", framed[1:])


def _end_of_body(raw: bytes, start: int) -> int:
    """Where the first line starts that no hunk has: each of its lines has a mark, or is empty."""
    found = _ENDS_BODY.search(raw, start - 1)
    return len(raw) if found is None else found.end()


def _marks_in(framed: bytes) -> int | None:
    """How many lines say that the one above has no newline; None where one says it of no line, or in other words."""
    marks = framed.count(b"\n\\")
    if marks and (framed.startswith(b"\n\\") or marks != framed.count(b"\n\\ ") or _TWO_MARKS.search(framed)):
        return None
    return marks


def _is_as_promised(framed: bytes, marks: int, base_count: int, head_count: int) -> bool:
    """Whether the lines, each with its newline before it, are as many as the header says.

    They are counted all at once, which takes a tenth of the time of a walk over them.
    """
    lines = framed.count(b"\n") - 1 - marks
    added = framed.count(b"\n+") if head_count else 0
    removed = framed.count(b"\n-") if base_count else 0
    return lines == base_count + added == head_count + removed


def _refuse(reader: Reader, base_left: int, head_left: int) -> NoReturn:
    """Walk over a hunk that is not as its header says, to the line where that shows."""
    while base_left or head_left:
        if reader.line is None:
            raise reader.wrong(f"the diff ends inside a hunk, {base_left} old and {head_left} new lines are missing")
        kind = _KINDS.get(reader.line[:1])
        if kind is None:
            raise reader.wrong(f'expected a line of the hunk, found "{shown(reader.line)}"')
        in_base, in_head = kind is not LineKind.ADDED, kind is not LineKind.REMOVED
        if (in_base and not base_left) or (in_head and not head_left):
            raise reader.wrong("the hunk has more lines than its header says")
        base_left, head_left = base_left - in_base, head_left - in_head
        reader.take()
        if reader.starts(b"\\ "):
            reader.take()
    raise reader.wrong(f'expected the next hunk or file, found "{shown(reader.line)}"')


_HUNK: Final = pattern(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?([^\n]*)(\n(?:[-+ ][^\n]*\n)*+)")
"""A header with the lines below it, as far as each is of one side or both."""
_FRAMED: Final = 6
_ODD: Final = (b"\n", b"\\")
"""How the other lines of a hunk begin: one that a mail program emptied, and what says that the one above has no newline."""
_ENDS_BODY: Final = pattern(rb"\n(?![-+ \\\n])")
_TWO_MARKS: Final = pattern(rb"\n\\[^\n]*\n\\")
_KINDS: Final = {b"+": LineKind.ADDED, b"-": LineKind.REMOVED, b" ": LineKind.CONTEXT, b"": LineKind.CONTEXT}
