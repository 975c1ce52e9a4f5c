"""One changed file, open for edits by line numbers of the head side.

Keeps diff and text in step. Invariant: after any edit, the diff taken back on the text gives the base text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from bench.seeding.patch import FilePatch, Line, folded, tidy


class Edit(NamedTuple):
    """Head lines `first` to `last` (from 1, both included) become `lines`; `last` = `first` - 1 inserts before."""

    first: int
    last: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """All lines of one file, of both sides. Only files whose whole text is known can be opened."""

    patch: FilePatch
    lines: tuple[Line, ...]
    is_edited: bool = False

    @property
    def path(self) -> str:
        return self.patch.path

    @cached_property
    def head(self) -> tuple[str, ...]:
        return tuple(line.text for line in self._head_lines)

    @cached_property
    def text(self) -> str:
        return _joined(line for line in self.lines if line.mark != "-")

    @cached_property
    def base_text(self) -> str:
        return _joined(line for line in self.lines if line.mark != "+")

    def is_added(self, first: int, last: int) -> bool:
        """Every head line from *first* to *last* is new (empty ones may be context)."""
        own = [line for line in self._head_lines[first - 1 : last] if line.text.strip()]
        return bool(own) and all(line.mark == "+" for line in own)

    def is_old(self, first: int, last: int) -> bool:
        own = self._head_lines[first - 1 : last]
        return bool(own) and all(line.mark == " " for line in own)

    def base_line(self, head_line: int) -> int:
        """Where a context line stands on the base side; for a new line, where it would stand."""
        base = head = 0
        for line in self.lines:
            base += line.mark != "+"
            head += line.mark != "-"
            if line.mark != "-" and head == head_line:
                return base + (line.mark == "+")
        return base

    def edited(self, edits: Iterable[Edit]) -> "Sheet":
        """The sheet behind *edits*, which name lines of this sheet and do not overlap."""
        made = list(self.lines)
        places = [index for index, line in enumerate(self.lines) if line.mark != "-"]
        for edit in sorted(map(self._trimmed, edits), reverse=True):
            start = places[edit.first - 1] if edit.first <= len(places) else len(made)
            end = places[edit.last - 1] + 1 if edit.last >= edit.first else start
            if end > start or edit.first > len(places):
                made = _all_end(made, start)
            kept = [replace(line, mark="-") if line.mark == " " else line for line in made[start:end]]
            kept = [line for line in kept if line.mark == "-"]
            made[start:end] = [*kept, *(Line("+", text) for text in edit.lines)]
        return replace(self, lines=tuple(tidy(made)), is_edited=True)

    def _trimmed(self, edit: Edit) -> Edit:
        """Without the lines at its start and end that stay as they are."""
        first, last, lines = edit
        while lines and first <= last and self.head[first - 1] == lines[0]:
            first, lines = first + 1, lines[1:]
        while lines and first <= last and self.head[last - 1] == lines[-1]:
            last, lines = last - 1, lines[:-1]
        return Edit(first, last, lines)

    def runs(self) -> list[tuple[int, int]]:
        """Where lines change: first and last index, in `lines`, of each run between two context lines."""
        found: list[tuple[int, int]] = []
        for index, line in enumerate(self.lines):
            if line.mark == " ":
                continue
            if found and found[-1][1] == index - 1:
                found[-1] = (found[-1][0], index)
            else:
                found.append((index, index))
        return found

    def reverted(self, first: int, last: int) -> "Sheet":
        """As it was before the change, between two indexes of `lines`."""
        kept = [replace(line, mark=" ") for line in self.lines[first : last + 1] if line.mark != "+"]
        return replace(self, lines=tuple(tidy([*self.lines[:first], *kept, *self.lines[last + 1 :]])), is_edited=True)

    def head_line(self, index: int) -> int:
        """The head line at or behind an index of `lines`."""
        return 1 + sum(line.mark != "-" for line in self.lines[:index])

    def printed(self) -> FilePatch | None:
        """The file's part of the diff; None where nothing is left of the change."""
        if not self.is_edited:
            return self.patch
        hunks = folded(self.lines)
        if self.patch.is_new and not any(line.strip() for line in self.head):
            return None
        kept = {(hunk.base_start, hunk.lines): hunk.section for hunk in self.patch.hunks}
        starts = {hunk.base_start: hunk.section for hunk in self.patch.hunks}
        sections = [
            kept.get((hunk.base_start, hunk.lines), starts.get(hunk.base_start, hunk.section)) for hunk in hunks
        ]
        made = [replace(hunk, section=section) for hunk, section in zip(hunks, sections, strict=True)]
        return replace(self.patch, hunks=tuple(made)) if made or self._is_moved() else None

    def _is_moved(self) -> bool:
        return any(line.startswith(("rename ", "old mode ")) for line in self.patch.header)

    @cached_property
    def _head_lines(self) -> list[Line]:
        return [line for line in self.lines if line.mark != "-"]


def _all_end(lines: list[Line], start: int) -> list[Line]:
    """What stands before an insertion at the end must end with a newline of its own."""
    if start < len(lines) or not lines or lines[-1].ends:
        return lines
    return [*lines[:-1], replace(lines[-1], ends=True)]


def _joined(lines: Iterable[Line]) -> str:
    return "".join(line.text + ("\n" if line.ends else "") for line in lines)


def open_sheet(patch: FilePatch, text: str | None) -> Sheet | None:
    """The file with all its lines. None where its text is not known, or does not fit the diff."""
    if patch.head_path is None or not patch.hunks or patch.is_deleted:
        return None
    if text is None:
        return Sheet(patch, tuple(patch.lines())) if patch.is_new else None
    head = _lines_of(text)
    made: list[Line] = []
    done = 0
    for hunk in patch.hunks:
        start = hunk.head_start - 1 if hunk.count("+") else hunk.head_start
        own = [(line.text, line.ends) for line in hunk.lines if line.mark != "-"]
        if start < done or [(line.text, line.ends) for line in head[start : start + len(own)]] != own:
            return None
        made += [*head[done:start], *hunk.lines]
        done = start + len(own)
    return Sheet(patch, (*made, *head[done:]))


def _lines_of(text: str) -> Sequence[Line]:
    if not text:
        return ()
    parts = text.split("\n")
    if parts[-1] == "":
        return [Line(" ", part) for part in parts[:-1]]
    return [*(Line(" ", part) for part in parts[:-1]), Line(" ", parts[-1], ends=False)]
