"""A cell of a rollup: counters by name, and how often each pair of two figures occurred.

Adding cells in any order and grouping gives the same cell.
"""

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from operator import add
from typing import Final, cast

from pydantic_core import from_json, to_json

VERSION: Final = 3
ORDER: Final = sys.byteorder
"""The byte order of the arrays: a rollup with the other one is counted again."""

SIDE: Final = 10_001
"""Pairs are packed into one number: the first times this, plus the second."""


class CountersError(ValueError):
    """A rollup that can't be read: malformed, or of another version."""


class Counters:
    """`counts` by name; `pairs` of packed figures with their numbers: `tally`, and one more for each in `each`."""

    __slots__ = ("counts", "each", "tally")

    def __init__(self, counts: dict[str, int] | None = None, pairs: dict[int, int] | None = None) -> None:
        self.counts = counts or {}
        self.tally: Counter[int] = Counter(pairs) if pairs else Counter()
        self.each: list[int] = []

    @property
    def pairs(self) -> Counter[int]:
        if self.each:
            self.tally.update(self.each)
            self.each = []
        return self.tally

    def sorted_pairs(self) -> list[int] | None:
        """Every pair as often as it occurred, the smallest first; None where they are tallied."""
        return None if self.tally else sorted(self.each)

    def add_pairs(self, each: Iterable[int]) -> None:
        """Add one occurrence of each of these packed pairs."""
        self.each.extend(each)

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def add_pair(self, first: int, second: int, times: int = 1) -> None:
        self.tally[first * SIDE + second] += times

    def add(self, other: "Counters") -> None:
        for name, by in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + by
        self.tally.update(other.tally)
        self.each.extend(other.each)

    def get(self, name: str) -> int:
        return self.counts.get(name, 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counters) and (self._counted, self.pairs) == (other._counted, other.pairs)

    @property
    def _counted(self) -> dict[str, int]:
        return {name: count for name, count in self.counts.items() if count}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Cell({self.counts}, {dict(self.pairs)})"


CountersByValue = dict[str, Counters]
"""The cells of one table in one bucket, by their value."""


def get_or_add(cells: CountersByValue, value: str) -> Counters:
    """The cell of this value, added if missing."""
    cell = cells.get(value)
    if cell is None:
        cell = cells[value] = Counters()
    return cell


def merge_counters(many: Iterable[Mapping[str, Counters]], into: CountersByValue | None = None) -> CountersByValue:
    """The sums of all, in new cells; or added *into* these."""
    total: CountersByValue = {} if into is None else into
    for cells in many:
        for value, cell in cells.items():
            get_or_add(total, value).add(cell)
    return total


MOST_REPEATED: Final = 3
"""The mean number of occurrences of a pair from which pairs are tallied instead of listed."""


def dump_counters(cells: Mapping[str, Counters]) -> bytes:
    """Serialise cells by columns, which compresses well and is read fast: tens of thousands are read together.

    A line of JSON: version, order of the bytes, kind of array; the values; the names of counters, and a column for each; how
    many of the pairs below belong to each cell; and of cells with many repetitions their pairs, as differences, with their
    numbers. Then the pairs of all others, as often as they occurred: the first bytes of all, the second of all ...
    """
    values, each = sorted(cells), array("I")
    names = sorted({name for cell in cells.values() for name, count in cell.counts.items() if count})
    columns = [[cells[value].get(name) for value in values] for name in names]
    sizes: list[int] = []
    counted: dict[str, tuple[list[int], list[int]]] = {}
    for value in values:
        pairs, before = cells[value].pairs, len(each)
        if pairs.total() > MOST_REPEATED * len(pairs) or min(pairs.values(), default=1) < 1:
            seen = sorted(packed for packed, times in pairs.items() if times)
            counted[value] = _differences(seen), [pairs[packed] for packed in seen]
        else:
            each.extend(sorted(pairs.elements()))
        sizes.append(len(each) - before)
    kind = "H" if max(each, default=0) < 1 << 16 else "I"
    return b"%b\n%b" % (
        to_json([VERSION, ORDER, kind, values, names, columns, sizes, counted]),
        _planes(array(kind, each)),
    )


def _differences(packed: list[int]) -> list[int]:
    return [*packed[:1], *(b - a for a, b in pairwise(packed))]


def _planes(each: "array[int]") -> bytes:
    raw = each.tobytes()
    return b"".join(raw[byte :: each.itemsize] for byte in range(each.itemsize))


def _each(kind: str, planes: bytes) -> list[int]:
    """Read an array of this kind from what `_planes` wrote."""
    each: array[int] = array({"H": "H", "I": "I"}[kind])
    raw, count = bytearray(len(planes)), len(planes) // each.itemsize
    for byte in range(each.itemsize):
        raw[byte :: each.itemsize] = planes[byte * count : (byte + 1) * count]
    each.frombytes(raw)
    return each.tolist()


def load_counters(raw: bytes) -> CountersByValue:
    """Read what `dump_counters` wrote. Raises CountersError."""
    return load_and_add([raw])


def load_and_add(many: Iterable[bytes]) -> CountersByValue:
    """Read and add up what `dump_counters` wrote of many. Raises CountersError."""
    adding = _CountersSum()
    try:
        for raw in many:
            adding.add(raw)
        return adding.total()
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise CountersError(str(error)) from error


class _CountersSum:
    """Adds many cells row by row, without a dictionary for each of them."""

    def __init__(self) -> None:
        self._cells: CountersByValue = {}
        self._each: dict[str, list[int]] = {}
        self._counts: dict[tuple[str, ...], dict[str, tuple[int, ...]]] = {}

    def add(self, raw: bytes) -> None:
        line, _, planes = raw.partition(b"\n")
        version, order, *rest = from_json(line)
        if (version, order) != (VERSION, ORDER):
            raise CountersError(f"version {version!r}")
        kind, values, names, columns, sizes, counted = rest
        rows = list(zip(*columns, strict=True)) or [()] * len(values)
        each, at = _each(kind, planes), 0
        counts, mine = self._counts.setdefault(tuple(names), {}), self._each
        for value, row, size in zip(values, rows, sizes, strict=True):
            before = counts.get(value)
            counts[value] = row if before is None else tuple(map(add, before, row))
            if size:
                mine.setdefault(value, []).extend(each[at : at + size])
                at += size
        if at != len(each) or len(names) != len(columns):
            raise CountersError("more columns or pairs than belong to its cells")
        for value, (steps, times) in cast("dict[str, list[list[int]]]", counted).items():
            pairs = get_or_add(self._cells, value).pairs
            for packed, seen in zip(accumulate(steps), times, strict=True):
                pairs[packed] += seen

    def total(self) -> CountersByValue:
        for value, each in self._each.items():
            get_or_add(self._cells, value).add_pairs(each)
        for names, counts in self._counts.items():
            for value, row in counts.items():
                mine = get_or_add(self._cells, value)
                for name, count in zip(names, row, strict=True):
                    mine.count(name, count)
        return self._cells
