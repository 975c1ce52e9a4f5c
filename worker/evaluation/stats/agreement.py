"""Agreement of verdicts with each other and with outcomes, and calibration of confidence.

Verdicts are compared on one subject only, each pair once; outcomes of each strength are counted apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from worker.domain.verdict.outcomes import OutcomeKind, Strength
from worker.evaluation.stats.figures import CountedStream, Sums, share_of, sum_rows, wilson_interval
from worker.evaluation.stats.stats_query import StatsQuery
from worker.evaluation.stats.stream_entries import SHARE_UNITS

BINS: Final = 10
DIFFERENCES: Final = ("rubric", "tier", "same", "opinions")
PAIR_SUMS: Final = """
SELECT pair, count(*) AS n, sum(distance <= :tolerance) AS agreed, sum(is_same_decision) AS same_decision
FROM pairs WHERE at_ms >= :since AND at_ms < :before AND difference = :difference GROUP BY pair
"""
STRENGTH_SUMS: Final = """
SELECT judge_kind, count(*) AS n, sum(is_right) AS agreed, group_concat(confidence * 2 + is_right) AS each_one
FROM last_outcomes
JOIN verdicts ON (at_ms, seq) = (verdict_ms, verdict_seq)
JOIN classes ON classes.id = class_id
WHERE verdict_ms >= :since AND verdict_ms < :before AND strength = :strength GROUP BY judge_kind
"""
BEARS_OUT: Final[Mapping[str, tuple[bool | None, bool | None]]] = {
    OutcomeKind.MERGED: (True, False),
    OutcomeKind.CLOSED_UNMERGED: (False, True),
    OutcomeKind.REOPENED: (None, None),
    OutcomeKind.REVERTED: (False, True),
    OutcomeKind.LATER_FIX: (False, True),
    OutcomeKind.OVERRIDE: (None, False),
    OutcomeKind.OWN_OVERRIDE: (None, None),
    OutcomeKind.CONTEST: (False, False),
    OutcomeKind.CONTEST_UPHELD: (None, False),
    OutcomeKind.HELPFUL: (True, True),
    OutcomeKind.NOT_HELPFUL: (False, False),
    OutcomeKind.RETRY: (None, False),
    OutcomeKind.EDIT_FOLLOWUP: (False, True),
    OutcomeKind.MANUAL_SWAP: (False, True),
    OutcomeKind.CI_RED_LATER: (False, True),
}
"""By outcome: of an accept, of a reject."""


def is_borne_out(decision: str, outcome: str) -> bool | None:
    """Whether the verdict was right, by this outcome; None: it does not tell."""
    accept, reject = BEARS_OUT[outcome]
    match decision:
        case "accept":
            return accept
        case "reject":
            return reject
        case _:
            return None


def agreement_answer(question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    pairs = {
        difference: sum_rows(streams, PAIR_SUMS, question.window, difference=difference, tolerance=question.tolerance)
        for difference in DIFFERENCES
    }
    return {
        "agreement_window": question.tolerance / SHARE_UNITS,
        "data": [
            {"between": difference, "pair": pair, **_agreement_row(sums), "same_decision": sums["same_decision"]}
            for difference, by_pair in pairs.items()
            for pair, sums in sorted(by_pair.items(), key=lambda item: item[0] or "")
        ],
        "people": [
            _strength_row(strength, sum_rows(streams, STRENGTH_SUMS, question.window, strength=strength.value))
            for strength in Strength
        ],
    }


def _strength_row(strength: Strength, by_kind: Mapping[str | None, Sums]) -> dict[str, Any]:
    total = Sums()
    for sums in by_kind.values():
        total.counts.update(sums.counts)
        total.each += sums.each
    rows = [{"value": kind, **_agreement_row(by_kind[kind])} for kind in sorted(by_kind, key=str)]
    calibration = list(_bins(total.each))
    return {"strength": strength.value, **_agreement_row(total), "by_judge_kind": rows, "calibration": calibration}


def _agreement_row(sums: Sums) -> dict[str, Any]:
    count, agreed = sums["n"], sums["agreed"]
    return {
        "count": count,
        "agreed": agreed,
        "share": share_of(agreed, count),
        "interval": wilson_interval(agreed, count),
    }


def _bins(each: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Verdicts by confidence, and the part of each bin that outcomes bear out. Of each verdict: 2 * confidence + is_right."""
    counts, hits, confidences = [0] * BINS, [0] * BINS, [0] * BINS
    for packed in each:
        confidence, is_right = divmod(packed, 2)
        at = min(confidence * BINS // SHARE_UNITS, BINS - 1)
        counts[at] += 1
        hits[at] += is_right
        confidences[at] += confidence
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
