"""Unified diffs as git prints them: files, hunks, and exact line numbers on both sides.

Does not read repositories. Invariant: a hunk has exactly the lines its header promises, and parsing
never takes more than linear time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final


class LineKind(StrEnum):
    ADDED = "+"
    REMOVED = "-"
    CONTEXT = " "


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line without its newline (a carriage return stays). A side's number is None where it has no such line."""

    kind: LineKind
    text: str
    base_line: int | None
    head_line: int | None
    has_newline: bool = True


@dataclass(frozen=True, slots=True)
class Hunk:
    """`section` is what git prints behind the second @@."""

    base_start: int
    base_count: int
    head_start: int
    head_count: int
    section: str
    lines: tuple[DiffLine, ...]


class ChangeKind(StrEnum):
    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"


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
        return (line for hunk in self.hunks for line in hunk.lines)

    @cached_property
    def added(self) -> tuple[DiffLine, ...]:
        return tuple(line for line in self.lines() if line.kind is LineKind.ADDED)

    @cached_property
    def removed(self) -> tuple[DiffLine, ...]:
        return tuple(line for line in self.lines() if line.kind is LineKind.REMOVED)


@dataclass(frozen=True)
class Diff:
    files: tuple[FileDiff, ...]

    @cached_property
    def by_path(self) -> dict[str, FileDiff]:
        """The last entry of each path (git prints a file that became a link twice: deleted, then added)."""
        return {file.path: file for file in self.files}


class DiffError(ValueError):
    """A text that is not a diff as git prints it; the message names the line of the diff."""


def parse_diff(raw: bytes) -> Diff:
    """Parse what `git diff` prints. Bytes that are not UTF-8 become U+FFFD in their line.

    Raises DiffError for a hunk whose lines do not match its header, and for a line that stands where
    git prints none; never anything else.
    """
    reader = _Reader(raw)
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


class _Reader:
    """The lines of a diff, one at a time; `line` is the next one, None at the end."""

    def __init__(self, raw: bytes) -> None:
        self._lines = raw.split(b"\n")
        if self._lines[-1] == b"":
            self._lines.pop()
        self._at = 0
        self.line: bytes | None = self._lines[0] if self._lines else None

    def take(self) -> bytes:
        line = self._lines[self._at]
        self._at += 1
        self.line = self._lines[self._at] if self._at < len(self._lines) else None
        return line

    def starts(self, *prefixes: bytes) -> bool:
        return self.line is not None and self.line.startswith(prefixes)

    def wrong(self, problem: str) -> DiffError:
        return DiffError(f"Diff refused at line {self._at + 1}: {problem}")


@dataclass(slots=True)
class _Header:
    """What the lines between `diff --git` and the first hunk said."""

    paths: tuple[bytes, bytes] | None
    old_mode: str | None = None
    new_mode: str | None = None
    change: ChangeKind = ChangeKind.MODIFIED
    is_binary: bool = False
    blobs: tuple[str, str] | None = None
    moved: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def read(self, key: bytes, value: bytes) -> None:
        mode = _text(value)
        match key:
            case b"old mode":
                self.old_mode = mode
            case b"new mode":
                self.new_mode = mode
            case b"new file mode":
                self.change, self.new_mode = ChangeKind.ADDED, mode
            case b"deleted file mode":
                self.change, self.old_mode = ChangeKind.DELETED, mode
            case b"rename from" | b"rename to" | b"copy from" | b"copy to":
                self.change = ChangeKind.RENAMED if key.startswith(b"rename") else ChangeKind.COPIED
                self.moved[key.rpartition(b" ")[2]] = _unquoted(value)
            case b"index":
                self._index(value)
            case _:  # similarity and dissimilarity say nothing that the lines do not say
                pass

    def _index(self, value: bytes) -> None:
        ids, _, mode = value.partition(b" ")
        old, _, new = _text(ids).partition("..")
        self.blobs = (old, new)
        if mode:
            self.old_mode = self.new_mode = _text(mode)


_KEYS: Final = re.compile(
    rb"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to"
    rb"|similarity index|dissimilarity index|index) (.*)",
    re.DOTALL,
)
_HUNK: Final = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)", re.DOTALL)
_START: Final = b"diff --git "
_NO_PATH: Final = b"/dev/null"


def _file(reader: _Reader) -> FileDiff:
    if not reader.starts(_START):
        raise reader.wrong(f'expected "diff --git", found "{_shown(reader.line)}"')
    start = reader.take()
    header = _Header(paths=_both_names(start.removeprefix(_START)))
    while reader.line is not None and (found := _KEYS.fullmatch(reader.line)):
        header.read(found[1], found[2])
        reader.take()
    _names(reader, header)
    _binary(reader, header)
    old, new = _paths(reader, header)
    return FileDiff(
        path=_text(old if header.change is ChangeKind.DELETED else new),
        old_path=_text(old) if header.change in {ChangeKind.RENAMED, ChangeKind.COPIED} else None,
        change=header.change,
        old_mode=header.old_mode if header.change is not ChangeKind.ADDED else None,
        new_mode=header.new_mode if header.change is not ChangeKind.DELETED else None,
        is_binary=header.is_binary,
        hunks=_hunks(reader),
        blobs=header.blobs,
    )


def _names(reader: _Reader, header: _Header) -> None:
    """Read `---` and `+++`, which say the paths without doubt, and /dev/null for the side that is not there."""
    if not reader.starts(b"--- "):
        return
    old = _named(reader, b"--- ", b"a/")
    if not reader.starts(b"+++ "):
        raise reader.wrong('expected "+++" after "---"')
    new = _named(reader, b"+++ ", b"b/")
    if old is None and new is None:
        raise reader.wrong("a file that is on neither side")
    if old is None:
        header.change = ChangeKind.ADDED
    elif new is None:
        header.change = ChangeKind.DELETED
    header.paths = (old or new or b"", new or old or b"")


def _named(reader: _Reader, prefix: bytes, side: bytes) -> bytes | None:
    name = _unquoted(reader.take().removeprefix(prefix))
    if name == _NO_PATH:
        return None
    if not name.startswith(side) or name == side:
        wanted = _text(side)
        raise reader.wrong(f'the path "{_shown(name)}" does not start with "{wanted}"; let git print its own prefixes')
    return name.removeprefix(side)


def _binary(reader: _Reader, header: _Header) -> None:
    if reader.starts(b"Binary files "):
        header.is_binary = True
        reader.take()
    elif reader.starts(b"GIT binary patch"):
        header.is_binary = True
        # base 85 has no space in its alphabet, so no line of the patch looks like the next file
        while reader.line is not None and not reader.starts(_START):
            reader.take()


def _paths(reader: _Reader, header: _Header) -> tuple[bytes, bytes]:
    if header.change in {ChangeKind.RENAMED, ChangeKind.COPIED}:
        if header.moved.keys() != {b"from", b"to"}:
            raise reader.wrong("a rename or copy needs both of its paths")
        return header.moved[b"from"], header.moved[b"to"]
    if header.paths is None:
        raise reader.wrong("the two paths of the file can't be told apart")
    return header.paths


def _both_names(names: bytes) -> tuple[bytes, bytes] | None:
    """Split `a/x b/x`. Where both paths are not the same, only later header lines can say which they are."""
    if names.startswith(b'"'):
        quoted = _QUOTED.match(names)
        old, new = (_unquoted(quoted[0]), _unquoted(names[quoted.end() + 1 :])) if quoted else (b"", b"")
    else:
        middle = len(names) // 2
        old, new = names[:middle], names[middle + 1 :]
    if not old.startswith(b"a/") or not new.startswith(b"b/") or old[2:] != new[2:] or not old[2:]:
        return None
    return old[2:], new[2:]


def _hunks(reader: _Reader) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    while reader.starts(b"@@"):
        hunk = _hunk(reader)
        if hunks and not _follows(hunks[-1], hunk):
            raise reader.wrong("the hunk begins before the one above it ends")
        hunks.append(hunk)
    if reader.line is not None and not reader.starts(_START):
        raise reader.wrong(f'expected the next hunk or file, found "{_shown(reader.line)}"')
    return tuple(hunks)


def _follows(above: Hunk, hunk: Hunk) -> bool:
    return all(
        _offset(hunk, side) >= _offset(above, side) + count
        for side, count in ((LineKind.REMOVED, above.base_count), (LineKind.ADDED, above.head_count))
    )


def _hunk(reader: _Reader) -> Hunk:
    found = _HUNK.fullmatch(reader.line or b"")
    if found is None:
        raise reader.wrong(f'a hunk header can\'t be read: "{_shown(reader.line)}"')
    base_start, base_count, head_start, head_count = (int(found[n]) if found[n] else 1 for n in range(1, 5))
    if (base_count and not base_start) or (head_count and not head_start):
        raise reader.wrong("a hunk with lines starts at line 0")
    reader.take()
    left = [base_count, head_count]
    at = [base_start, head_start]
    lines: list[DiffLine] = []
    while any(left):
        lines.append(_line(reader, left, at))
    return Hunk(base_start, base_count, head_start, head_count, _text(found[5]), tuple(lines))


def _line(reader: _Reader, left: list[int], at: list[int]) -> DiffLine:
    """Take one line of a hunk; *left* is how many lines the header still promises, *at* the next line numbers."""
    if reader.line is None:
        raise reader.wrong(f"the diff ends inside a hunk, {left[0]} old and {left[1]} new lines are missing")
    kind = _KINDS.get(reader.line[:1])
    if kind is None:
        raise reader.wrong(f'expected a line of the hunk, found "{_shown(reader.line)}"')
    in_base, in_head = kind is not LineKind.ADDED, kind is not LineKind.REMOVED
    if (in_base and not left[0]) or (in_head and not left[1]):
        raise reader.wrong("the hunk has more lines than its header says")
    text = _text(reader.take()[1:])
    line = DiffLine(
        kind, text, at[0] if in_base else None, at[1] if in_head else None, has_newline=not reader.starts(b"\\ ")
    )
    if not line.has_newline:
        reader.take()
    left[0], left[1] = left[0] - in_base, left[1] - in_head
    at[0], at[1] = at[0] + in_base, at[1] + in_head
    return line


# git apply takes an empty line for an empty context line, since mail programs eat the space
_KINDS: Final = {b"+": LineKind.ADDED, b"-": LineKind.REMOVED, b" ": LineKind.CONTEXT, b"": LineKind.CONTEXT}

_QUOTED: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES: Final = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


def _unquoted(name: bytes) -> bytes:
    """Undo git's quoting of a path, and drop the tab that it puts behind one with a space."""
    quoted = _QUOTED.match(name)
    if quoted is None:
        return name.removesuffix(b"\t")
    return _ESCAPE.sub(_unescaped, quoted[0][1:-1])


def _unescaped(found: re.Match[bytes]) -> bytes:
    code: bytes = found[1]
    return bytes([int(code, 8) & 0xFF]) if code.isdigit() and len(code) == _OCTAL else _ESCAPES.get(code, code)


_OCTAL: Final = 3


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_SHOWN: Final = 60


def _shown(raw: bytes | None) -> str:
    return "the end" if raw is None else _text(raw[:_SHOWN])
