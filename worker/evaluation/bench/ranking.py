"""How scores order good and bad rows, beside what costs nothing: the size of the change, and always the same.

Does not count decisions (`decisions.py`). Invariant: rows of different files are never compared, for what made their
truth known differs; rows of the label `weak` stand apart.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from worker.evaluation.bench.decisions import category, each
from worker.evaluation.bench.expectations import Outcome
from worker.evaluation.bench.measures import Area, Entry, Point, Won, area, lift, roc, within

WEAK: Final = "weak"
CONSTANT: Final = 0.5
"""The area under the curve of a score that is always the same."""


class Ranking(NamedTuple):
    """The score against the size. The last three compare within a task or repository; None where that can't be."""

    ours: Area
    size: Area
    constant: float
    within: Won | None
    within_size: Won | None
    lift: Won | None
    curve: tuple[Point, ...]
    size_curve: tuple[Point, ...]


class Pairs(NamedTuple):
    """Defects against the row like each but for the defect."""

    ours: Won | None
    size: Won | None


def rankings(outcomes: Sequence[Outcome]) -> dict[str, Ranking]:
    """By file, where it has good and bad rows."""
    ranked = ((name, _ranking(rows)) for name, rows in _questions(outcomes))
    return {name: one for name, one in ranked if one is not None}


def _questions(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    """Rows that may be compared: each file's, and its good ones again with those of the label `weak`."""
    known = [one for one in outcomes if one.expect.good is not None]
    for name, rows in each(known, lambda one: one.traits.file, list).items():
        yield name, [one for one in rows if one.expect.label != WEAK]
        yield f"{name}, weak", [one for one in rows if (one.expect.label == WEAK) is not one.expect.good]


def _ranking(rows: Sequence[Outcome]) -> Ranking | None:
    good, bad = [one for one in rows if one.expect.good], [one for one in rows if not one.expect.good]
    ours = area(_scores(good), _scores(bad))
    size = area(_sizes(good), _sizes(bad))
    if ours is None or size is None:
        return None
    entries = [Entry(_task(one), bool(one.expect.good), one.verdict.score, _smallness(one)) for one in rows]
    return Ranking(
        ours,
        size,
        CONSTANT,
        within(entries),
        within(_by_baseline(entries)),
        lift(entries),
        curve=roc(_scores(good), _scores(bad)),
        size_curve=roc(_sizes(good), _sizes(bad)),
    )


def _scores(rows: Sequence[Outcome]) -> list[float]:
    return [one.verdict.score for one in rows]


def _sizes(rows: Sequence[Outcome]) -> list[float]:
    return [_smallness(one) for one in rows]


def _smallness(one: Outcome) -> float:
    """The baseline that costs nothing: the smaller the change, the better."""
    return -float(one.traits.lines)


def _task(one: Outcome) -> str:
    return one.expect.instance or one.traits.repository


def _by_baseline(entries: Sequence[Entry]) -> list[Entry]:
    return [one._replace(score=one.baseline) for one in entries]


def pairs(strong: Sequence[Outcome]) -> dict[str, Pairs]:
    """By the category of the defects whose other row is there."""
    twins = {one.traits.id: one for one in strong}
    paired = [one for one in strong if one.expect.category and one.expect.pair in twins]

    def won(defects: Sequence[Outcome]) -> Pairs:
        entries = [
            Entry(one.traits.id, side is not one, side.verdict.score, _smallness(side))
            for one in defects
            for side in (one, twins[one.expect.pair or ""])
        ]
        return Pairs(within(entries), within(_by_baseline(entries)))

    return each(paired, category, won)
