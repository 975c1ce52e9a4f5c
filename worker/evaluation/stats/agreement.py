"""Agreement of verdicts with each other and with outcomes, and calibration of confidence.

Verdicts are compared on one subject only, each pair once; outcomes of each strength are counted apart.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from worker.domain.verdict.outcomes import Strength
from worker.evaluation.stats import tables
from worker.evaluation.stats.counters import SIDE, Counters, CountersByValue, merge_counters
from worker.evaluation.stats.figures import share_of, wilson_interval
from worker.evaluation.stats.stats_query import StatsQuery
from worker.evaluation.stats.stream_entries import SHARE_UNITS

STRENGTH_NAMES: Final = tuple(strength.value for strength in Strength)
BINS: Final = 10


def agreement_answer(question: StatsQuery, counted: Mapping[str, CountersByValue]) -> dict[str, Any]:
    return {
        "agreement_window": question.tolerance / SHARE_UNITS,
        "data": [
            {"between": name.partition(":")[2], "pair": pair, **_pairs(cell, question.tolerance)}
            for name in tables.AGREEMENTS
            for pair, cell in sorted(counted.get(name, {}).items())
        ],
        "people": [
            _strength_row(strength, counted.get(tables.outcome_table(strength), {})) for strength in STRENGTH_NAMES
        ],
    }


def _pairs(counters: Counters, within: int) -> dict[str, Any]:
    agreed = sum(times for packed, times in counters.pairs.items() if packed % SIDE <= within)
    count = counters.get("n")
    return {
        "count": count,
        "agreed": agreed,
        "share": share_of(agreed, count),
        "interval": wilson_interval(agreed, count),
        "same_decision": counters.get("same_decision"),
    }


def _strength_row(strength: str, cells: CountersByValue) -> dict[str, Any]:
    total = Counters()
    for counter in merge_counters([cells]).values():
        total.add(counter)
    rows = [{"value": kind, **_agreement_row(cells[kind])} for kind in sorted(cells)]
    return {"strength": strength, **_agreement_row(total), "by_judge_kind": rows, "calibration": list(_bins(total))}


def _agreement_row(counters: Counters) -> dict[str, Any]:
    count, agreed = counters.get("n"), counters.get("agreed")
    return {
        "count": count,
        "agreed": agreed,
        "share": share_of(agreed, count),
        "interval": wilson_interval(agreed, count),
    }


def _bins(total: Counters) -> Iterator[dict[str, Any]]:
    """Verdicts by confidence, and the part of each bin that outcomes bear out."""
    counts, hits, confidences = [0] * BINS, [0] * BINS, [0] * BINS
    for packed, times in total.pairs.items():
        confidence, is_right = divmod(packed, SIDE)
        at = min(confidence * BINS // SHARE_UNITS, BINS - 1)
        counts[at] += times
        hits[at] += times * is_right
        confidences[at] += times * confidence
    for at in range(BINS):
        if counts[at]:
            yield {
                "confidence_from": at / BINS,
                "confidence_to": (at + 1) / BINS,
                "mean_confidence": share_of(confidences[at], counts[at] * SHARE_UNITS),
                "count": counts[at],
                "share": share_of(hits[at], counts[at]),
                "interval": wilson_interval(hits[at], counts[at]),
            }
