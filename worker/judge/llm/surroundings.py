"""The lines around a change that it can't be understood without: the functions that it is in, or the whole file.

Does not choose whether there is room for them. Invariant: every line that is added stands unchanged in the file at head, and
stretches neither overlap nor leave the file's order.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from worker.dossier.diff.parser import ChangeKind, DiffLine, Hunk, LineKind, text_lines
from worker.judge.llm.line_numbers import Stretch
from worker.signals.analysis.change import ChangedFile, Source
from worker.signals.analysis.functions import Function, functions_of

FUNCTION_LINES: Final = 60
"""A longer function is shown by its first line."""

MOST_HUNKS: Final = 60
MOST_FUNCTIONS: Final = 3_000
"""A file of more is shown without its functions: whoever reads so many places reads them one by one."""

MOST_CHARACTERS: Final = 400_000


class Span(NamedTuple):
    """A function: its first and last line, and the line of its name."""

    first: int
    last: int
    named: int


def whole_file(file: ChangedFile) -> tuple[Stretch, ...] | None:
    """The change inside of all other lines; None where they are not known."""
    lines = _other_lines(file)
    if not lines:
        return None
    return tuple(_stretched(file.diff.hunks, [(1, len(lines))], lines))


def with_functions(file: ChangedFile) -> tuple[Stretch, ...] | None:
    """Each hunk with the function that it is in; None where that adds nothing, or nobody knows it."""
    lines = _other_lines(file)
    if not lines or len(file.diff.hunks) > MOST_HUNKS:
        return None
    spans = _spans(file.sources)
    if not spans or len(spans) > MOST_FUNCTIONS:
        return None
    ranges = [one for hunk in file.diff.hunks for one in _around(hunk, spans, lines)]
    return tuple(_stretched(file.diff.hunks, _merged(ranges), lines))


def _other_lines(file: ChangedFile) -> list[str] | None:
    """The file at head, if the diff leaves any of it out and both are of the same file."""
    if file.diff.change is ChangeKind.ADDED or not file.diff.hunks or file.head is None:
        return None
    if len(file.head) > MOST_CHARACTERS:
        return None
    lines = text_lines(file.head)
    return lines if all(_fits(hunk, lines) for hunk in file.diff.hunks) else None


def _fits(hunk: Hunk, lines: Sequence[str]) -> bool:
    """Whether the hunk's lines stand in the file, but for secrets, which are found in one and may be missed in the other."""
    return all(
        line.head_line is None or (line.head_line <= len(lines) and _alike(line.text, lines[line.head_line - 1]))
        for line in hunk.lines
    )


def _alike(one: str, other: str) -> bool:
    return one == other or "[redacted: " in one or "[redacted: " in other


def _spans(sources: Iterable[Source]) -> list[Span]:
    """By their first lines."""
    functions = (function for source in sources if source.whole for function in functions_of(source))
    return sorted(Span(_start(function), function.last, function.first) for function in functions)


def _start(function: Function) -> int:
    """The first line, decorators included."""
    outer = function.node.parent
    is_decorated = outer is not None and outer.type == "decorated_definition"
    return function.line_of(outer if outer is not None and is_decorated else function.node)


Range = tuple[int, int]


def _around(hunk: Hunk, spans: Sequence[Span], lines: Sequence[str]) -> Iterator[Range]:
    """The hunk's lines at head with those of the functions that its changes are in; of a long one, its first line."""
    low, high = _lines_of(hunk, len(lines))
    for place in _ends_of_change(hunk):
        inside = [one for one in spans[: bisect_right(spans, (place, _ENDLESS))] if one.last >= place]
        small = [one for one in inside if one.last - one.first < FUNCTION_LINES]
        if small:
            low, high = min(low, small[0].first), max(high, small[0].last)
        elif inside and not _is_named(hunk, lines[inside[-1].named - 1]):
            yield inside[-1].named, inside[-1].named
    yield max(1, low), min(high, len(lines))


_ENDLESS: Final = 1 << 62


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


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """Ranges that touch become one."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _stretched(hunks: Sequence[Hunk], ranges: Iterable[Range], lines: Sequence[str]) -> Iterator[Stretch]:
    """The file's lines in each range, with what the hunks changed among them. Each hunk lies in one of the ranges."""
    left = list(reversed(hunks))
    shift = 0
    for low, high in ranges:
        rows: list[DiffLine] = []
        at = low
        section = left[-1].section if left and low == left[-1].head_start else ""
        while left and _before(left[-1]) < high + (not left[-1].head_count):
            hunk = left.pop()
            rows += _unchanged(at, _before(hunk) + 1, shift, lines)
            rows += hunk.lines
            at = _before(hunk) + hunk.head_count + 1
            shift += hunk.base_count - hunk.head_count
        rows += _unchanged(at, high + 1, shift, lines)
        yield Stretch(section, tuple(rows))


def _before(hunk: Hunk) -> int:
    """The line at head right before the hunk."""
    return hunk.head_start - 1 if hunk.head_count else hunk.head_start


def _unchanged(first: int, end: int, shift: int, lines: Sequence[str]) -> Iterator[DiffLine]:
    return (DiffLine(LineKind.CONTEXT, lines[at - 1], at + shift, at) for at in range(first, end))
