"""The lines around a change that it can't be understood without: the functions that it is in, or the whole file.

Does not choose whether there is room for them. Invariant: every line that is added stands unchanged in the file at head, and
stretches neither overlap nor leave the file's order.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from worker.dossier.diff.parser import ChangeKind, DiffLine, Hunk, LineKind, text_lines
from worker.judge.llm.line_numbers import Stretch
from worker.signals.analysis.change import AnalyzedFile, Source
from worker.signals.analysis.functions import Function, find_functions

FUNCTION_LINES: Final = 60
"""A longer function is shown by its first line."""

MOST_HUNKS: Final = 60
MOST_FUNCTIONS: Final = 3_000
"""A file of more is shown without its functions: whoever reads so many places reads them one by one."""

MOST_CHARACTERS: Final = 400_000


class FunctionSpan(NamedTuple):
    """A function: its first and last line, and the line of its name."""

    first_line: int
    last_line: int
    name_line: int


def whole_file(file: AnalyzedFile) -> tuple[Stretch, ...] | None:
    """The change inside of all other lines; None where they are not known."""
    lines = _other_lines(file)
    if not lines:
        return None
    return tuple(_cut_stretches(file.diff.hunks, [(1, len(lines))], lines))


def with_functions(file: AnalyzedFile) -> tuple[Stretch, ...] | None:
    """Each hunk with the function that it is in; None where that adds nothing, or nobody knows it."""
    lines = _other_lines(file)
    if not lines or len(file.diff.hunks) > MOST_HUNKS:
        return None
    spans = _spans(file.sources)
    if not spans or len(spans) > MOST_FUNCTIONS:
        return None
    ranges = [line_range for hunk in file.diff.hunks for line_range in _ranges_around(hunk, spans, lines)]
    return tuple(_cut_stretches(file.diff.hunks, _merge_ranges(ranges), lines))


def _other_lines(file: AnalyzedFile) -> list[str] | None:
    """The file at head, if the diff leaves any of it out and both are of the same file."""
    if file.diff.change is ChangeKind.ADDED or not file.diff.hunks or file.head_text is None:
        return None
    if len(file.head_text) > MOST_CHARACTERS:
        return None
    lines = text_lines(file.head_text)
    return lines if all(_fits(hunk, lines) for hunk in file.diff.hunks) else None


def _fits(hunk: Hunk, lines: Sequence[str]) -> bool:
    """Whether the hunk's lines stand in the file, but for secrets, which are found in one and may be missed in the other."""
    return all(
        line.head_line is None
        or (line.head_line <= len(lines) and _are_equal_but_for_secrets(line.text, lines[line.head_line - 1]))
        for line in hunk.lines
    )


def _are_equal_but_for_secrets(line: str, other: str) -> bool:
    return line == other or "[redacted: " in line or "[redacted: " in other


def _spans(sources: Iterable[Source]) -> list[FunctionSpan]:
    """By their first lines."""
    functions = (function for source in sources if source.is_whole for function in find_functions(source))
    return sorted(FunctionSpan(_start(function), function.last_line, function.first_line) for function in functions)


def _start(function: Function) -> int:
    """The first line, decorators included."""
    outer = function.node.parent
    is_decorated = outer is not None and outer.type == "decorated_definition"
    return function.line_of(outer if outer is not None and is_decorated else function.node)


Range = tuple[int, int]


def _ranges_around(hunk: Hunk, spans: Sequence[FunctionSpan], lines: Sequence[str]) -> Iterator[Range]:
    """The hunk's lines at head with those of the functions that its changes are in; of a long one, its first line."""
    low, high = _lines_of(hunk, len(lines))
    for number in _ends_of_change(hunk):
        inside = [span for span in spans[: bisect_right(spans, (number, _NO_LIMIT))] if span.last_line >= number]
        small = [span for span in inside if span.last_line - span.first_line < FUNCTION_LINES]
        if small:
            low, high = min(low, small[0].first_line), max(high, small[0].last_line)
        elif inside and not _is_named(hunk, lines[inside[-1].name_line - 1]):
            yield inside[-1].name_line, inside[-1].name_line
    yield max(1, low), min(high, len(lines))


_NO_LIMIT: Final = 1 << 62


def _is_named(hunk: Hunk, line: str) -> bool:
    """Whether git named the function in the hunk's heading already, as far as it shows it."""
    return bool(hunk.section.strip()) and line.strip().startswith(hunk.section.strip())


def _lines_of(hunk: Hunk, count: int) -> Range:
    """The hunk's lines at head; where it leaves none, those that it lay between."""
    if hunk.head_count:
        return hunk.head_start, hunk.head_start + hunk.head_count - 1
    return max(1, hunk.head_start), min(hunk.head_start + 1, count)


def _ends_of_change(hunk: Hunk) -> Range:
    """The lines at head where the change begins and ends, without the lines around it."""
    at = hunk.head_start if hunk.head_count else hunk.head_start + 1
    places: list[int] = []
    for line in hunk.lines:
        if line.kind is not LineKind.CONTEXT:
            places.append(at)
        at += line.kind is not LineKind.REMOVED
    return min(places, default=at), max(places, default=at)


def _merge_ranges(ranges: Iterable[Range]) -> list[Range]:
    """Ranges that touch become one."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _cut_stretches(hunks: Sequence[Hunk], ranges: Iterable[Range], lines: Sequence[str]) -> Iterator[Stretch]:
    """The file's lines in each range, with what the hunks changed among them. Each hunk lies in one of the ranges."""
    left = list(reversed(hunks))
    shift = 0
    for low, high in ranges:
        rows: list[DiffLine] = []
        at = low
        section = left[-1].section if left and low == left[-1].head_start else ""
        while left and _line_before(left[-1]) < high + (not left[-1].head_count):
            hunk = left.pop()
            rows += _unchanged_lines(at, _line_before(hunk) + 1, shift, lines)
            rows += hunk.lines
            at = _line_before(hunk) + hunk.head_count + 1
            shift += hunk.base_count - hunk.head_count
        rows += _unchanged_lines(at, high + 1, shift, lines)
        yield Stretch(section, tuple(rows))


def _line_before(hunk: Hunk) -> int:
    """The line at head right before the hunk."""
    return hunk.head_start - 1 if hunk.head_count else hunk.head_start


def _unchanged_lines(first: int, end: int, shift: int, lines: Sequence[str]) -> Iterator[DiffLine]:
    return (DiffLine(LineKind.CONTEXT, lines[at - 1], at + shift, at) for at in range(first, end))
