"""Which lines of a change are new since it was last judged, by their hashes.

A line that moved, within its file or to another, is not new, and neither is a line that a rebase changed around. Of equal lines,
those in the old order are the old ones.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from worker.domain.verdict.verdict import EvidencePointer, Side
from worker.dossier.diff.line_hashes import hash_file, hash_line
from worker.dossier.diff.parser import Diff, DiffLine, FileDiff, LineKind

LineKey = tuple[str, Side, int]
ChangedLine = tuple[FileDiff, DiffLine | None, str]


@dataclass(frozen=True)
class ChangedLines:
    """`new_lines`: the text of each new line; `files`: changed ones without lines; `lost_hashes`: of lines gone from each path."""

    new_lines: Mapping[LineKey, str]
    files: frozenset[str]
    lost_hashes: Mapping[str, frozenset[str]]

    def new_part(self, pointer: EvidencePointer) -> EvidencePointer | None:
        """The first consecutive new lines of a pointer; None if none is new."""
        if pointer.line is None:
            return pointer if pointer.path in self.files else None
        numbers = range(pointer.line, (pointer.end_line or pointer.line) + 1)
        is_new = [(pointer.path, pointer.side, number) in self.new_lines for number in numbers]
        if True not in is_new or all(is_new):
            return pointer if True in is_new else None
        start = is_new.index(True)
        count = [*is_new[start:], False].index(False)
        quote = self.new_lines[pointer.path, pointer.side, numbers[start]]
        end = numbers[start + count - 1] if count > 1 else None
        return pointer.model_copy(update={"line": numbers[start], "end_line": end, "quote": quote})

    def is_lost(self, pointer: EvidencePointer) -> bool:
        """Whether the changed line that an earlier pointer names is gone."""
        marks = (hash_line(kind, pointer.quote or "") for kind in (LineKind.ADDED, LineKind.REMOVED))
        return any(mark in self.lost_hashes.get(pointer.path, ()) for mark in marks)

    def ranges(self) -> dict[tuple[str, Side], tuple[str, ...]]:
        """The new lines per file and side, as `3-7` and `12`."""
        numbers: dict[tuple[str, Side], list[int]] = {}
        for path, side, number in sorted(self.new_lines):
            numbers.setdefault((path, side), []).append(number)
        return {key: _ranges(lines) for key, lines in numbers.items()}


def find_changed_lines(before: Mapping[str, Sequence[str]], diff: Diff) -> ChangedLines:
    """Compare the diff with *before*: per path, the hashes of the lines that were changed then, in the order of the ledger."""
    now: dict[str, list[ChangedLine]] = {}
    for file in diff.files:
        now.setdefault(file.path, []).extend((file, line, mark) for line, mark in hash_file(file))
    missing = {path: Counter(marks) - Counter(mark for *_, mark in now.get(path, ())) for path, marks in before.items()}
    gone = sum(missing.values(), Counter[str]())
    new_lines: dict[LineKey, str] = {}
    files: set[str] = set()
    for file, line, mark in (new for path, lines in now.items() for new in _new_lines(before.get(path, ()), lines)):
        if gone[mark] > 0:  # it moved here from another file
            gone[mark] -= 1
        elif line is None:
            files.add(file.path)
        elif line.head_line is not None:
            new_lines[file.path, Side.HEAD, line.head_line] = line.text
        else:
            for path in {file.path, file.old_path or file.path}:
                new_lines[path, Side.BASE, line.base_line or 0] = line.text
    lost = {path: frozenset(mark for mark in marks if gone[mark]) for path, marks in missing.items()}
    return ChangedLines(new_lines, frozenset(files), lost)


def _new_lines(before: Sequence[str], lines: list[ChangedLine]) -> Iterable[ChangedLine]:
    """The lines whose text occurs more often than before; of equal ones, those out of the old order."""
    marks = [mark for *_, mark in lines]
    had, has = Counter(before), Counter(marks)
    grown = {mark for mark in has if has[mark] > had[mark]}
    aligned = _align(before, marks) if any(had[mark] for mark in grown) else frozenset[int]()
    return (line for at, line in enumerate(lines) if line[2] in grown and at not in aligned)


def _align(before: Sequence[str], now: Sequence[str]) -> frozenset[int]:
    """The positions of *now* that are in the same order in both."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - 1 ms that only a second round with repeated lines needs

    blocks = SequenceMatcher(None, before, now).get_matching_blocks()
    return frozenset(at for block in blocks for at in range(block.b, block.b + block.size))


def _ranges(numbers: list[int]) -> tuple[str, ...]:
    unique = set(numbers)
    starts = [number for number in numbers if number - 1 not in unique]
    ends = [number for number in numbers if number + 1 not in unique]
    return tuple(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
