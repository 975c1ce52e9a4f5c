"""How scores order good and bad rows, beside what costs nothing: the size of the change, and always the same.

Does not count decisions (`decisions.py`). Invariant: rows of different files are never compared, for what made their
truth known differs; rows of the label `weak` stand apart.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from worker.evaluation.bench.decisions import category_key, count_by
from worker.evaluation.bench.expectations import RowOutcome
from worker.evaluation.bench.measures import (
    CurvePoint,
    PairsWon,
    RankedRow,
    RocArea,
    pairs_lift,
    pairs_won,
    roc_area,
    roc_curve,
)

WEAK_LABEL: Final = "weak"
CONSTANT_SCORE: Final = 0.5
"""The area under the curve of a score that is always the same."""


class ScoreRanking(NamedTuple):
    """The score against the size. The last three compare within a task or repository; None where that can't be."""

    ours: RocArea
    size: RocArea
    constant: float
    within: PairsWon | None
    within_size: PairsWon | None
    lift: PairsWon | None
    curve: tuple[CurvePoint, ...]
    size_curve: tuple[CurvePoint, ...]


class PairRanking(NamedTuple):
    """Defects against the row like each but for the defect."""

    ours: PairsWon | None
    size: PairsWon | None


def rank_files(outcomes: Sequence[RowOutcome]) -> dict[str, ScoreRanking]:
    """By file, where it has good and bad rows."""
    ranked = ((name, _ranking(rows)) for name, rows in _row_groups(outcomes))
    return {name: ranking for name, ranking in ranked if ranking is not None}


def _row_groups(outcomes: Sequence[RowOutcome]) -> Iterator[tuple[str, list[RowOutcome]]]:
    """Rows that may be compared: each file's, and its good ones again with those of the label `weak`."""
    rated = [row for row in outcomes if row.expect.good is not None]
    for name, rows in count_by(rated, lambda row: row.traits.file, list).items():
        yield name, [row for row in rows if row.expect.label != WEAK_LABEL]
        yield f"{name}, weak", [row for row in rows if (row.expect.label == WEAK_LABEL) is not row.expect.good]


def _ranking(rows: Sequence[RowOutcome]) -> ScoreRanking | None:
    good, bad = [row for row in rows if row.expect.good], [row for row in rows if not row.expect.good]
    ours = roc_area(_scores(good), _scores(bad))
    size = roc_area(_sizes(good), _sizes(bad))
    if ours is None or size is None:
        return None
    entries = [RankedRow(_task(row), bool(row.expect.good), row.verdict.score, _smallness(row)) for row in rows]
    return ScoreRanking(
        ours,
        size,
        CONSTANT_SCORE,
        pairs_won(entries),
        pairs_won(_by_baseline(entries)),
        pairs_lift(entries),
        curve=roc_curve(_scores(good), _scores(bad)),
        size_curve=roc_curve(_sizes(good), _sizes(bad)),
    )


def _scores(rows: Sequence[RowOutcome]) -> list[float]:
    return [row.verdict.score for row in rows]


def _sizes(rows: Sequence[RowOutcome]) -> list[float]:
    return [_smallness(row) for row in rows]


def _smallness(outcome: RowOutcome) -> float:
    """The baseline that costs nothing: the smaller the change, the better."""
    return -float(outcome.traits.lines)


def _task(outcome: RowOutcome) -> str:
    return outcome.expect.instance or outcome.traits.repository


def _by_baseline(entries: Sequence[RankedRow]) -> list[RankedRow]:
    return [entry._replace(score=entry.baseline) for entry in entries]


def rank_pairs(strong: Sequence[RowOutcome]) -> dict[str, PairRanking]:
    """By the category of the defects whose other row is there."""
    twins = {row.traits.id: row for row in strong}
    paired = [row for row in strong if row.expect.category and row.expect.pair in twins]

    def won(defects: Sequence[RowOutcome]) -> PairRanking:
        entries = [
            RankedRow(defect.traits.id, side is not defect, side.verdict.score, _smallness(side))
            for defect in defects
            for side in (defect, twins[defect.expect.pair or ""])
        ]
        return PairRanking(pairs_won(entries), pairs_won(_by_baseline(entries)))

    return count_by(paired, category_key, won)
