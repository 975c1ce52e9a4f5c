"""Which lines of a change are new since it was judged the last time, by their hashes.

Does not decide what may be said of them (`worker.judge.rounds.convergence` does). Invariant: a line that only moved, within its
file or to another, is not new, and neither is any line of a rebase; of lines alike, those in the old order are the old ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from worker.domain.value import Value
from worker.domain.verdict.verdict import EvidencePointer, Side
from worker.dossier.diff.line_hashes import hash_file, hash_line
from worker.dossier.diff.parser import Diff, DiffLine, FileDiff, LineKind

LineKey = tuple[str, Side, int]
ChangedLine = tuple[FileDiff, DiffLine | None, str]


class ChangedLines(Value):
    """What is new. `new_lines`: the text of each new line; `files`: those without lines that changed anew.

    `lost_hashes`: what each path has no more, as hashes.
    """

    new_lines: Mapping[LineKey, str]
    files: frozenset[str]
    lost_hashes: Mapping[str, frozenset[str]]

    def new_part(self, pointer: EvidencePointer) -> EvidencePointer | None:
        """The first lines of a pointer that are new, in a row; None if none of it is."""
        if pointer.line is None:
            return pointer if pointer.path in self.files else None
        numbers = range(pointer.line, (pointer.end_line or pointer.line) + 1)
        new = list(_first_row(number for number in numbers if (pointer.path, pointer.side, number) in self.new_lines))
        if not new or len(new) == len(numbers):
            return pointer if new else None
        quote = self.new_lines[pointer.path, pointer.side, new[0]]
        end = new[-1] if len(new) > 1 else None
        return pointer.model_copy(update={"line": new[0], "end_line": end, "quote": quote})

    def is_lost(self, pointer: EvidencePointer) -> bool:
        """Whether the changed line that was pointed at then is gone."""
        marks = (hash_line(kind, pointer.quote or "") for kind in (LineKind.ADDED, LineKind.REMOVED))
        return any(mark in self.lost_hashes.get(pointer.path, ()) for mark in marks)

    def ranges(self) -> dict[tuple[str, Side], tuple[str, ...]]:
        """The new lines per file and side, as `3-7` and `12`."""
        numbers: dict[tuple[str, Side], list[int]] = {}
        for path, side, number in sorted(self.new_lines):
            numbers.setdefault((path, side), []).append(number)
        return {key: tuple(_ranges(lines)) for key, lines in numbers.items()}


def find_changed_lines(before: Mapping[str, Sequence[str]], diff: Diff) -> ChangedLines:
    """Hold the diff against the hashes of *before*, per path: of each changed line, in the order of the ledger."""
    now: dict[str, list[ChangedLine]] = {}
    for file in diff.files:
        now.setdefault(file.path, []).extend((file, line, mark) for line, mark in hash_file(file))
    missing = {path: Counter(marks) - Counter(mark for *_, mark in now.get(path, ())) for path, marks in before.items()}
    gone = sum(missing.values(), Counter[str]())
    new = _without_moved(
        [line for path, lines in now.items() for line in _new_lines(before.get(path, ()), lines)], gone
    )
    return _changed_lines(
        new, {path: frozenset(mark for mark in marks if gone[mark]) for path, marks in missing.items()}
    )


def _new_lines(before: Sequence[str], lines: list[ChangedLine]) -> Iterable[ChangedLine]:
    """The lines whose text occurs more often than before; of several alike, those that the order tells to be new."""
    marks = [mark for *_, mark in lines]
    had, has = Counter(before), Counter(marks)
    grown = {mark for mark in has if has[mark] > had[mark]}
    aligned = _align(before, marks) if any(had[mark] for mark in grown) else frozenset[int]()
    return (line for at, line in enumerate(lines) if line[2] in grown and at not in aligned)


def _align(before: Sequence[str], now: Sequence[str]) -> frozenset[int]:
    """The positions of *now* that stand in the same order in both."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - 1 ms that only a second round with repeated lines needs

    blocks = SequenceMatcher(None, before, now).get_matching_blocks()
    return frozenset(at for block in blocks for at in range(block.b, block.b + block.size))


def _without_moved(new: Iterable[ChangedLine], gone: Counter[str]) -> list[ChangedLine]:
    """Those that no other file has lost. What moved is taken out of *gone*, too."""
    fresh: list[ChangedLine] = []
    for line in new:
        if gone[line[2]] > 0:
            gone[line[2]] -= 1
        else:
            fresh.append(line)
    return fresh


def _changed_lines(new: Iterable[ChangedLine], lost: Mapping[str, frozenset[str]]) -> ChangedLines:
    fresh: dict[LineKey, str] = {}
    files: set[str] = set()
    for file, line, _ in new:
        if line is None:
            files.add(file.path)
        elif line.head_line is not None:
            fresh[file.path, Side.HEAD, line.head_line] = line.text
        else:
            for path in {file.path, file.old_path or file.path}:
                fresh[path, Side.BASE, line.base_line or 0] = line.text
    return ChangedLines(fresh, frozenset(files), lost)


def _first_row(numbers: Iterable[int]) -> Iterator[int]:
    """The numbers up to the first gap."""
    last = None
    for number in numbers:
        if last is not None and number != last + 1:
            return
        yield number
        last = number


def _ranges(numbers: list[int]) -> Iterable[str]:
    unique = set(numbers)
    starts = [number for number in numbers if number - 1 not in unique]
    ends = [number for number in numbers if number + 1 not in unique]
    return (str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))
