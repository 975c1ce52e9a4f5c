"""Agreement: of verdicts with each other, and with what became of the change; and whether confidence means what it says.

Does not say who was right where people say nothing. Invariant: verdicts are compared on one subject only, each pair once; each
kind of outcome (said, done, merely happened) is counted apart.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from worker.domain.verdict.outcomes import Strength
from worker.evaluation.stats import tables
from worker.evaluation.stats.asking import Question
from worker.evaluation.stats.cells import SIDE, Cell, Cells, merged
from worker.evaluation.stats.figures import share, wilson
from worker.evaluation.stats.reading import WHOLE

STRENGTHS: Final = tuple(one.value for one in Strength)
BINS: Final = 10


def agreement(question: Question, found: Mapping[str, Cells]) -> dict[str, Any]:
    return {
        "agreement_window": question.within / WHOLE,
        "data": [
            {"between": name.partition(":")[2], "pair": pair, **_pairs(one, question.within)}
            for name in tables.AGREEMENTS
            for pair, one in sorted(found.get(name, {}).items())
        ],
        "people": [_heard(strength, found.get(tables.people(strength), {})) for strength in STRENGTHS],
    }


def _pairs(one: Cell, within: int) -> dict[str, Any]:
    agreed = sum(times for packed, times in one.pairs.items() if packed % SIDE <= within)
    count = one.get("n")
    return {
        "count": count,
        "agreed": agreed,
        "share": share(agreed, count),
        "interval": wilson(agreed, count),
        "same_decision": one.get("same_decision"),
    }


def _heard(strength: str, cells: Cells) -> dict[str, Any]:
    total = Cell()
    for one in merged([cells]).values():
        total.add(one)
    rows = [{"value": kind, **_agreed(cells[kind])} for kind in sorted(cells)]
    return {"strength": strength, **_agreed(total), "by_judge_kind": rows, "calibration": list(_bins(total))}


def _agreed(one: Cell) -> dict[str, Any]:
    count, agreed = one.get("n"), one.get("agreed")
    return {"count": count, "agreed": agreed, "share": share(agreed, count), "interval": wilson(agreed, count)}


def _bins(total: Cell) -> Iterator[dict[str, Any]]:
    """Verdicts by how confident they were, and the part of each that was borne out."""
    counts, hits, confidences = [0] * BINS, [0] * BINS, [0] * BINS
    for packed, times in total.pairs.items():
        confidence, is_right = divmod(packed, SIDE)
        at = min(confidence * BINS // WHOLE, BINS - 1)
        counts[at] += times
        hits[at] += times * is_right
        confidences[at] += times * confidence
    for at in range(BINS):
        if counts[at]:
            yield {
                "confidence_from": at / BINS,
                "confidence_to": (at + 1) / BINS,
                "mean_confidence": share(confidences[at], counts[at] * WHOLE),
                "count": counts[at],
                "share": share(hits[at], counts[at]),
                "interval": wilson(hits[at], counts[at]),
            }
