"""A cell of a rollup: counters by name, and how often each pair of two figures was seen.

Does not know what they mean. Invariant: adding cells up in any order and grouping gives the same cell; what was written
reads back as it was.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from operator import add
from typing import Final, cast

from pydantic_core import from_json, to_json

VERSION: Final = 2
SIDE: Final = 10_001
"""Pairs are packed into one number: the first times this, plus the second."""


class CellError(ValueError):
    """A rollup that can't be read: broken, or of another version."""


class Cell:
    """`counts` by name; `pairs` of packed figures with how often each was seen."""

    __slots__ = ("counts", "pairs")

    def __init__(self, counts: dict[str, int] | None = None, pairs: dict[int, int] | None = None) -> None:
        self.counts = counts or {}
        self.pairs: Counter[int] = Counter(pairs or {})

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def see(self, first: int, second: int, times: int = 1) -> None:
        self.pairs[first * SIDE + second] += times

    def add(self, other: "Cell") -> None:
        for name, by in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + by
        self.pairs.update(other.pairs)

    def get(self, name: str) -> int:
        return self.counts.get(name, 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and (self._counted, self.pairs) == (other._counted, other.pairs)

    @property
    def _counted(self) -> dict[str, int]:
        return {name: count for name, count in self.counts.items() if count}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Cell({self.counts}, {dict(self.pairs)})"


Cells = dict[str, Cell]
"""The cells of one table in one bucket, by what they are about."""


def cell(cells: Cells, value: str) -> Cell:
    """The cell of this value, made where there is none."""
    found = cells.get(value)
    if found is None:
        found = cells[value] = Cell()
    return found


def merged(many: Iterable[Mapping[str, Cell]]) -> Cells:
    """All of them added up, in cells of their own."""
    total: Cells = {}
    for cells in many:
        for value, one in cells.items():
            cell(total, value).add(one)
    return total


def dumped(cells: Mapping[str, Cell]) -> bytes:
    """As JSON: [version, names of counters, cells], small once it is compressed, and soon read: tens of thousands are at once.

    A cell: its counters in the order of the names, and its pairs in theirs, as differences: those seen once, which most are,
    then the others with how often each was.
    """
    names = sorted({name for one in cells.values() for name, count in one.counts.items() if count})
    return to_json([VERSION, names, {value: _written(cells[value], names) for value in sorted(cells)}])


def _written(one: Cell, names: Sequence[str]) -> list[list[int]]:
    counts = [one.get(name) for name in names]
    once = sorted(packed for packed, times in one.pairs.items() if times == 1)
    others = sorted(packed for packed, times in one.pairs.items() if times not in {0, 1})
    if others:
        return [counts, _steps(once), _steps(others), [one.pairs[packed] for packed in others]]
    return [counts, _steps(once)] if once else [counts]


def _steps(packed: list[int]) -> list[int]:
    return [*packed[:1], *(b - a for a, b in pairwise(packed))]


def loaded(raw: bytes) -> Cells:
    """What `dumped` wrote. Raises CellError."""
    return gathered([raw])


def gathered(many: Iterable[bytes]) -> Cells:
    """All that `dumped` wrote of many, added up. Raises CellError."""
    adding = _Adding()
    try:
        for raw in many:
            adding.take(raw)
        return adding.total()
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise CellError(str(error)) from error


class _Adding:
    """Many cells added up row by row, without a dictionary for each of them."""

    def __init__(self) -> None:
        self._cells: Cells = {}
        self._counts: dict[tuple[str, ...], dict[str, list[int]]] = {}
        self._once: dict[str, list[int]] = {}

    def take(self, raw: bytes) -> None:
        version, names, written = from_json(raw)
        if version != VERSION:
            raise CellError(f"version {version!r}")
        counts = self._counts.setdefault(tuple(names), {})
        for value, one in cast("dict[str, list[list[int]]]", written).items():
            before = counts.get(value)
            counts[value] = one[0] if before is None else list(map(add, before, one[0]))
            if len(one) > 1:
                self._once.setdefault(value, []).extend(accumulate(one[1]))
            if len(one) > 2:  # noqa: PLR2004 - pairs that were seen more than once
                pairs = cell(self._cells, value).pairs
                for packed, times in zip(accumulate(one[2]), one[3], strict=True):
                    pairs[packed] += times

    def total(self) -> Cells:
        for names, counts in self._counts.items():
            for value, row in counts.items():
                mine = cell(self._cells, value)
                for name, count in zip(names, row, strict=True):
                    mine.count(name, count)
        for value, once in self._once.items():
            self._cells[value].pairs.update(once)
        return self._cells
