"""Changed lines with their numbers, as the model reads them.

Every number shown is that of its line in the file, and `size_of_hunk` is never less than what a hunk takes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from worker.dossier.diff.parser import DiffLine, FileDiff, Hunk, LineKind
from worker.judge.llm.fencing import escape_hidden, shown_path

NO_NEWLINE: Final = "  [no newline at the end of the file]"
STRETCHES_CUT: Final = "[cut here: {} of the {} stretches of this file are not shown]"


@dataclass(frozen=True)
class Stretch:
    """Consecutive lines of one file. `section`: git's heading of the place."""

    section: str
    lines: tuple[DiffLine, ...]


def stretch_of(hunk: Hunk) -> Stretch:
    return Stretch(hunk.section, hunk.lines)


def render_stretches(stretches: Iterable[Stretch]) -> str:
    """Lines with their numbers at head; a removed line (`-`) has its number in the base."""
    whole = tuple(stretches)
    texts = iter(escape_hidden("\n".join(line.text for stretch in whole for line in stretch.lines)).split("\n"))
    rows: list[str] = []
    for stretch in whole:
        rows.append(f"@@ {escape_hidden(stretch.section)}".rstrip())
        for line in stretch.lines:
            number = line.base_line if line.kind is LineKind.REMOVED else line.head_line
            rows.append(f"{number} {line.kind.value}{next(texts)}{'' if line.has_newline else NO_NEWLINE}")
    return "\n".join(rows)


def size_of_hunk(hunk: Hunk) -> int:
    """The most bytes that a hunk takes with its last line break, counted without splitting it into lines."""
    digits = len(str(max(hunk.base_start + hunk.base_count, hunk.head_start + hunk.head_count)))
    count = hunk.body.count(b"\n")
    text = len(escape_hidden(hunk.body.decode("utf-8", "replace")).encode())
    section = len(escape_hidden(hunk.section).encode())
    return text + count * (digits + 2) + section + 4 + len(NO_NEWLINE) * hunk.body.count(b"\n\\")


def describe_file(file: FileDiff, state: str) -> str:
    """A changed file's line in the list of all; lines are counted in the raw bytes."""
    moved = f', was "{shown_path(file.old_path)}"' if file.old_path else ""
    has_new_mode = file.old_mode and file.new_mode and file.old_mode != file.new_mode
    mode = f", mode {file.old_mode} -> {file.new_mode}" if has_new_mode else ""
    added, removed = (
        sum(hunk.body.count(b"\n" + mark) + hunk.body.startswith(mark) for hunk in file.hunks) for mark in (b"+", b"-")
    )
    return f'"{shown_path(file.path)}": {file.change}{moved}{mode}, +{added} -{removed}, {state}'
