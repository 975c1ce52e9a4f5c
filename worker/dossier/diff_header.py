"""The lines of a diff before a file's first hunk: which file it is, and what happened to it besides its lines.

A path is the bytes that git meant, unquoted and without its prefix.
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from worker.domain.pattern import pattern


class ChangeKind(StrEnum):
    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"


class DiffError(ValueError):
    """A text that is no diff as git prints it; the message names the line of the diff."""


class DiffReader:
    """A position in a diff, each of whose lines ends in a newline; `line` is the next one, None at the end."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw if raw.endswith(b"\n") or not raw else raw + b"\n"
        self.at = 0

    @property
    def line(self) -> bytes | None:
        end = self.raw.find(b"\n", self.at)
        return self.raw[self.at : end] if end >= 0 else None

    def take(self) -> bytes:
        line = self.line or b""
        self.at += len(line) + 1
        return line

    def starts(self, prefix: bytes) -> bool:
        return self.raw.startswith(prefix, self.at)

    def build_error(self, problem: str) -> DiffError:
        lines = self.raw.count(b"\n", 0, self.at)
        return DiffError(f"Diff refused at line {lines + 1}: {problem}")


class FileHeader(NamedTuple):
    """The fields of `worker.dossier.diff.FileDiff` besides its hunks."""

    path: str
    old_path: str | None
    change: ChangeKind
    old_mode: str | None
    new_mode: str | None
    is_binary: bool
    blobs: tuple[str, str] | None


class _HeaderLines:
    """The header lines read so far. `paths` are empty while the two can't be told apart."""

    def __init__(self, paths: tuple[bytes, bytes]) -> None:
        self.paths = paths
        self.old_mode: str | None = None
        self.new_mode: str | None = None
        self.change = ChangeKind.MODIFIED
        self.is_binary = False
        self.blobs: tuple[str, str] | None = None
        self.moved: dict[bytes, bytes] = {}

    def read(self, key: bytes, value: bytes) -> None:
        mode = decode_text(value)
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
                self.moved[key.rpartition(b" ")[2]] = _unquote(value)
            case b"index":
                ids, _, mode = mode.partition(" ")
                old, _, new = ids.partition("..")
                self.blobs = (old, new)
                if mode:
                    self.old_mode = self.new_mode = mode
            case _:  # similarity and dissimilarity add nothing to the lines
                pass

    @property
    def is_moved(self) -> bool:
        return self.change in {ChangeKind.RENAMED, ChangeKind.COPIED}

    def header(self) -> FileHeader:
        old, new = self.paths
        return FileHeader(
            decode_text(old if self.change is ChangeKind.DELETED else new),
            decode_text(old) if self.is_moved else None,
            self.change,
            self.old_mode if self.change is not ChangeKind.ADDED else None,
            self.new_mode if self.change is not ChangeKind.DELETED else None,
            self.is_binary,
            self.blobs,
        )


_KEYS: Final = pattern(
    rb"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to"
    rb"|similarity index|dissimilarity index|index) ([^\n]*)\n"
)
FILE_START: Final = b"diff --git "
_NO_PATH: Final = b"/dev/null"


def read_header(reader: DiffReader) -> FileHeader:
    """Read the lines up to the first hunk. Raises DiffError."""
    match = _USUAL.match(reader.raw, reader.at)
    if match is None:
        return _read_slowly(reader)
    reader.at = match.end()
    path, added, old, new, mode = (None if raw is None else decode_text(raw) for raw in match.groups())
    change = ChangeKind.MODIFIED if added is None else ChangeKind.ADDED
    blobs = (old or "", new or "")
    return FileHeader(path or "", None, change, None if added else mode, added or mode, is_binary=False, blobs=blobs)


_USUAL: Final = pattern(
    rb'diff --git a/([^\s"]+) b/\1\n(?:new file mode (\d+)\n)?index ([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d+))?\n'
    rb"--- (?(2)/dev/null|a/\1)\n\+\+\+ b/\1\n(?=@@)"
)
"""Nine files in ten: changed or added, with lines, under a path that needs no quotes. All others are read line by line."""


def _read_slowly(reader: DiffReader) -> FileHeader:
    if not reader.starts(FILE_START):
        raise reader.build_error(f'expected "diff --git", found "{format_line(reader.line)}"')
    start = reader.take()
    lines = _HeaderLines(paths=_both_names(start.removeprefix(FILE_START)))
    while (match := _KEYS.match(reader.raw, reader.at)) is not None:
        lines.read(match[1], match[2])
        reader.at = match.end()
    _read_names(reader, lines)
    if reader.starts(b"Binary files "):
        lines.is_binary = True
        reader.take()
    elif reader.starts(b"GIT binary patch"):
        lines.is_binary = True
        # base 85 has no space in its alphabet, so no line of the patch looks like the next file
        end = reader.raw.find(b"\n" + FILE_START, reader.at)
        reader.at = len(reader.raw) if end < 0 else end + 1
    if lines.is_moved:
        if lines.moved.keys() != {b"from", b"to"}:
            raise reader.build_error("a rename or copy needs both of its paths")
        lines.paths = (lines.moved[b"from"], lines.moved[b"to"])
    elif not lines.paths[0]:
        raise reader.build_error("the two paths of the file can't be told apart")
    return lines.header()


def _read_names(reader: DiffReader, lines: _HeaderLines) -> None:
    """Read `---` and `+++`, which name the paths without doubt, and /dev/null for a side without the file."""
    if not reader.starts(b"--- "):
        return
    old = _read_name(reader, b"--- ", b"a/")
    if not reader.starts(b"+++ "):
        raise reader.build_error('expected "+++" after "---"')
    new = _read_name(reader, b"+++ ", b"b/")
    if old is None and new is None:
        raise reader.build_error("a file that is on neither side")
    if old is None:
        lines.change = ChangeKind.ADDED
    elif new is None:
        lines.change = ChangeKind.DELETED
    lines.paths = (old or new or b"", new or old or b"")


def _read_name(reader: DiffReader, prefix: bytes, side: bytes) -> bytes | None:
    name = _unquote(reader.take().removeprefix(prefix))
    if name == _NO_PATH:
        return None
    if not name.startswith(side) or name == side:
        wanted = decode_text(side)
        raise reader.build_error(
            f'the path "{format_line(name)}" does not start with "{wanted}"; let git print its own prefixes'
        )
    return name.removeprefix(side)


def _both_names(names: bytes) -> tuple[bytes, bytes]:
    """Split `a/x b/x`. Where both paths are not the same, only later header lines can name them."""
    if names.startswith(b'"'):
        quoted = _QUOTED.match(names)
        old, new = (_unquote(quoted[0]), _unquote(names[quoted.end() + 1 :])) if quoted else (b"", b"")
    else:
        middle = len(names) // 2
        old, new = names[:middle], names[middle + 1 :]
    if not old.startswith(b"a/") or not new.startswith(b"b/") or old[2:] != new[2:] or not old[2:]:
        return b"", b""
    return old[2:], new[2:]


_QUOTED: Final = pattern(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE: Final = pattern(rb"\\(?:([0-7]{3})|(.))", re.DOTALL)
_ESCAPES: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def _unquote(name: bytes) -> bytes:
    """Undo git's quoting of a path, and drop the tab that it puts behind one with a space."""
    quoted = _QUOTED.match(name)
    if quoted is None:
        return name.removesuffix(b"\t")
    return _ESCAPE.sub(
        lambda match: bytes([int(match[1], 8) & 0xFF]) if match[1] else _ESCAPES.get(match[2], match[2]),
        quoted[0][1:-1],
    )


def decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_MOST_SHOWN: Final = 60


def format_line(raw: bytes | None) -> str:
    return "the end" if raw is None else decode_text(raw[:_MOST_SHOWN])
