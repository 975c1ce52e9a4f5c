"""A cell of a rollup: counters by name, and how often each pair of two figures was seen.

Does not know what they mean. Invariant: adding cells up in any order and grouping gives the same cell; what was written
reads back as it was.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Any, Final, cast

VERSION: Final = 1
SIDE: Final = 10_001
"""Pairs are packed into one number: the first times this, plus the second."""


class CellError(ValueError):
    """A rollup that can't be read: broken, or of another version."""


class Cell:
    """`counts` by name; `pairs` of packed figures with how often each was seen."""

    __slots__ = ("counts", "pairs")

    def __init__(self, counts: dict[str, int] | None = None, pairs: dict[int, int] | None = None) -> None:
        self.counts = counts or {}
        self.pairs = pairs or {}

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def see(self, first: int, second: int, times: int = 1) -> None:
        packed = first * SIDE + second
        self.pairs[packed] = self.pairs.get(packed, 0) + times

    def add(self, other: "Cell") -> None:
        for name, by in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + by
        if self.pairs:
            mine, get = self.pairs, self.pairs.get
            for packed, times in other.pairs.items():
                mine[packed] = get(packed, 0) + times
        else:
            self.pairs = dict(other.pairs)

    def get(self, name: str) -> int:
        return self.counts.get(name, 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and (self.counts, self.pairs) == (other.counts, other.pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Cell({self.counts}, {self.pairs})"


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
    """As JSON: small once it is compressed, since pairs are written in their order as differences."""
    written = {value: _written(cells[value]) for value in sorted(cells)}
    return json.dumps([VERSION, written], separators=(",", ":")).encode()


def _written(one: Cell) -> list[Any]:
    counts = dict(sorted(one.counts.items()))
    if not one.pairs:
        return [counts]
    packed = sorted(one.pairs)
    return [counts, [packed[0], *(b - a for a, b in pairwise(packed))], [one.pairs[key] for key in packed]]


def loaded(raw: bytes) -> Cells:
    """What `dumped` wrote. Raises CellError."""
    return gathered([raw])


def gathered(many: Iterable[bytes]) -> Cells:
    """All that `dumped` wrote of many, added up. Raises CellError."""
    total: Cells = {}
    try:
        for raw in many:
            _gather(total, raw)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise CellError(str(error)) from error
    return total


def _gather(total: Cells, raw: bytes) -> None:
    """Without cells in between: a question looks through tens of thousands of them."""
    version, written = json.loads(raw)
    if version != VERSION:
        raise CellError(f"version {version!r}")
    for value, one in cast("dict[str, list[Any]]", written).items():
        mine = cell(total, value)
        counts = mine.counts
        for name, by in cast("dict[str, int]", one[0]).items():
            counts[name] = counts.get(name, 0) + by
        if len(one) > 1:
            pairs, get = mine.pairs, mine.pairs.get
            steps, times = cast("list[int]", one[1]), cast("list[int]", one[2])
            for packed, n in zip(accumulate(steps), times, strict=True):
                pairs[packed] = get(packed, 0) + n
