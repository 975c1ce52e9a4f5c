"""How a change is shown to a model: lines with their numbers, stretches of a file, and the list of what changed.

Does not fence (`worker.judge.llm.prompt` does) and does not choose (`worker.judge.llm` does). Invariant: every number shown is
the number of that line in the file, and `size_of_hunk` is never less than what a hunk takes when it is shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from worker.domain.value import Value
from worker.dossier.diff.parser import DiffLine, FileDiff, Hunk, LineKind
from worker.judge.llm.fencing import escape_hidden, shown_path

NO_NEWLINE: Final = "  [no newline at the end of the file]"
STRETCHES_CUT: Final = "[cut here: {} of the {} stretches of this file are not shown]"


class Stretch(Value):
    """Lines of one file that follow each other on both sides. `section`: what git says of the place."""

    section: str
    lines: tuple[DiffLine, ...]


def stretch_of(hunk: Hunk) -> Stretch:
    return Stretch(hunk.section, hunk.lines)


def render_stretches(stretches: Iterable[Stretch]) -> str:
    """The stretches as they are shown: the number of a line in the head version, of a removed one (`-`) in the base."""
    whole = tuple(stretches)
    texts = iter(escape_hidden("\n".join(line.text for stretch in whole for line in stretch.lines)).split("\n"))
    return "\n".join(row for stretch in whole for row in _rows(stretch, texts))


def _rows(stretch: Stretch, texts: Iterator[str]) -> Iterator[str]:
    yield f"@@ {escape_hidden(stretch.section)}".rstrip()
    for line in stretch.lines:
        number = line.base_line if line.kind is LineKind.REMOVED else line.head_line
        yield f"{number} {line.kind.value}{next(texts)}{'' if line.has_newline else NO_NEWLINE}"


def size_of_hunk(hunk: Hunk) -> int:
    """The most bytes that a hunk takes when it is shown, with its last line break. Makes no lines, and keeps nothing."""
    digits = len(str(max(hunk.base_start + hunk.base_count, hunk.head_start + hunk.head_count)))
    count = hunk.body.count(b"\n")
    text = len(escape_hidden(hunk.body.decode("utf-8", "replace")).encode())
    section = len(escape_hidden(hunk.section).encode())
    return text + count * (digits + 2) + section + 4 + len(NO_NEWLINE) * hunk.body.count(b"\n\\")


def describe_file(file: FileDiff, state: str) -> str:
    """A changed file in the list of all."""
    moved = f', was "{shown_path(file.old_path)}"' if file.old_path else ""
    mode = f", mode {file.old_mode} -> {file.new_mode}" if _changes_mode(file) else ""
    return f'"{shown_path(file.path)}": {file.change}{moved}{mode}, {_counts(file.hunks)}, {state}'


def _changes_mode(file: FileDiff) -> bool:
    return bool(file.old_mode and file.new_mode and file.old_mode != file.new_mode)


def _counts(hunks: Sequence[Hunk]) -> str:
    """Counted in the bytes: of most files of a large change nobody reads the lines."""
    added = sum(hunk.body.count(b"\n+") + hunk.body.startswith(b"+") for hunk in hunks)
    removed = sum(hunk.body.count(b"\n-") + hunk.body.startswith(b"-") for hunk in hunks)
    return f"+{added} -{removed}"
