"""Unified diffs as values that can be edited and printed again.

Knows no language. Invariant: a diff that was parsed and not edited prints as it was, byte for byte.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Literal

CONTEXT: Final = 3
SECTION_LENGTH: Final = 80
HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)", re.DOTALL)
NO_NEWLINE: Final = "\\ No newline at end of file"

Mark = Literal[" ", "+", "-"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diff. `ends` is False for a last line without a newline."""

    mark: Mark
    text: str
    ends: bool = True

    def printed(self) -> Iterator[str]:
        yield f"{self.mark}{self.text}"
        if not self.ends:
            yield NO_NEWLINE


@dataclass(frozen=True, slots=True)
class Hunk:
    """Consecutive lines. The starts are as git prints them: 0 where a side has no line."""

    base_start: int
    head_start: int
    section: str
    lines: tuple[Line, ...]

    def count(self, side: Mark) -> int:
        return sum(line.mark in {" ", side} for line in self.lines)

    def printed(self) -> Iterator[str]:
        base, head = self.count("-"), self.count("+")
        yield f"@@ -{_range(self.base_start, base)} +{_range(self.head_start, head)} @@{self.section}"
        for line in self.lines:
            yield from line.printed()


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One file's part of a diff; `header` are its lines before the first hunk. A path is None where it is not."""

    header: tuple[str, ...]
    base_path: str | None
    head_path: str | None
    hunks: tuple[Hunk, ...]

    @property
    def path(self) -> str:
        return self.head_path or self.base_path or ""

    @property
    def is_new(self) -> bool:
        return any(line.startswith("new file mode ") for line in self.header)

    @property
    def is_deleted(self) -> bool:
        return any(line.startswith("deleted file mode ") for line in self.header)

    def lines(self) -> Iterator[Line]:
        return (line for hunk in self.hunks for line in hunk.lines)

    def added(self) -> list[str]:
        return [line.text for line in self.lines() if line.mark == "+"]

    def removed(self) -> list[str]:
        return [line.text for line in self.lines() if line.mark == "-"]

    def printed(self) -> Iterator[str]:
        yield from self.header
        for hunk in self.hunks:
            yield from hunk.printed()


def parse(diff: str) -> tuple[FilePatch, ...]:
    """The files of what `git diff` prints. Raises ValueError on anything else."""
    lines = diff.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    starts = [index for index, line in enumerate(lines) if line.startswith("diff --git ")]
    if not lines:
        return ()
    if starts[:1] != [0]:
        raise ValueError(f"not a diff: {lines[0][:80]}")
    return tuple(_file(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True))


def print_diff(files: Iterable[FilePatch]) -> str:
    return "".join(f"{line}\n" for file in files for line in file.printed())


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _file(lines: Sequence[str]) -> FilePatch:
    first = next((index for index, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    header = tuple(lines[:first])
    base, head = _paths(header)
    return FilePatch(header, base, head, tuple(_hunks(lines, first)))


def _paths(header: Sequence[str]) -> tuple[str | None, str | None]:
    named = {line[:4]: _path(line[4:]) for line in header if line[:4] in {"--- ", "+++ "}}
    moved = {
        word: line.removeprefix(word) for line in header for word in ("rename from ", "rename to ") if word in line
    }
    if named:
        return named.get("--- "), named.get("+++ ")
    if moved:
        return moved.get("rename from "), moved.get("rename to ")
    both = header[0].removeprefix("diff --git a/").partition(" b/")[0]
    return both, both


def _path(name: str) -> str | None:
    name = name.removesuffix("\t").strip('"')
    return None if name == "/dev/null" else name[2:]


def _hunks(lines: Sequence[str], start: int) -> Iterator[Hunk]:
    index = start
    while index < len(lines):
        found = HUNK.fullmatch(lines[index])
        if found is None:
            raise ValueError(f"not a hunk: {lines[index][:80]}")
        left = [int(found[2] or 1), int(found[4] or 1)]
        body: list[Line] = []
        index += 1
        while index < len(lines) and (left != [0, 0] or lines[index].startswith("\\")):
            body = _taken(body, lines[index], left)
            index += 1
        yield Hunk(int(found[1]), int(found[3]), found[5], tuple(body))


def _taken(body: list[Line], printed: str, left: list[int]) -> list[Line]:
    mark, text = printed[:1], printed[1:]
    if mark == "\\":
        return [*body[:-1], replace(body[-1], ends=False)]
    if mark == "+":
        left[1] -= 1
        body.append(Line("+", text))
    elif mark == "-":
        left[0] -= 1
        body.append(Line("-", text))
    else:
        left[0] -= 1
        left[1] -= 1
        body.append(Line(" ", text))
    return body


def tidy(lines: Iterable[Line]) -> list[Line]:
    """Removed lines before added ones in each run, as git prints them; a line put back is context."""
    made: list[Line] = []
    for is_context, run in groupby(lines, key=lambda line: line.mark == " "):
        block = list(run)
        made += block if is_context else _ordered(block)
    return made


def _ordered(block: Sequence[Line]) -> list[Line]:
    removed = [line for line in block if line.mark == "-"]
    added = [line for line in block if line.mark == "+"]
    head: list[Line] = []
    while removed and added and _same(removed[0], added[0]):
        head.append(replace(added.pop(0), mark=" "))
        removed.pop(0)
    tail: list[Line] = []
    while removed and added and _same(removed[-1], added[-1]):
        tail.insert(0, replace(added.pop(), mark=" "))
        removed.pop()
    return [*head, *removed, *added, *tail]


def _same(removed: Line, added: Line) -> bool:
    return (removed.text, removed.ends) == (added.text, added.ends)


def folded(lines: Sequence[Line]) -> tuple[Hunk, ...]:
    """Hunks with three lines of context, out of all the lines of a file."""
    changed = [index for index, line in enumerate(lines) if line.mark != " "]
    spans: list[list[int]] = []
    for index in changed:
        first, last = max(0, index - CONTEXT), min(len(lines), index + CONTEXT + 1)
        if spans and first <= spans[-1][1]:
            spans[-1][1] = last
        else:
            spans.append([first, last])
    return tuple(_hunk_at(lines, first, last) for first, last in spans)


def _hunk_at(lines: Sequence[Line], first: int, last: int) -> Hunk:
    before = lines[:first]
    own = tuple(lines[first:last])
    base = sum(line.mark != "+" for line in before)
    head = sum(line.mark != "-" for line in before)
    base += any(line.mark != "+" for line in own)
    head += any(line.mark != "-" for line in own)
    return Hunk(base, head, _section(before), own)


def _section(before: Sequence[Line]) -> str:
    """The last line above that looks like a heading of a function, as git finds it without a language."""
    for line in reversed(before):
        if line.mark != "+" and (line.text[:1].isalpha() or line.text[:1] in {"_", "$"}):
            return f" {line.text[:SECTION_LENGTH].rstrip()}"
    return ""
