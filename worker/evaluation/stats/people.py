"""How verdicts agree with people and each other; backlog, scorecards, and what people did about rejects.

Verdicts are compared on one subject only, each pair once; outcomes of each strength are counted apart. An agent has a rank only
where its interval overlaps no other agent's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from worker.domain.verdict.budget import from_nano
from worker.domain.verdict.outcomes import OutcomeKind, Strength
from worker.evaluation.stats.figures import (
    DIGITS,
    ConfidenceInterval,
    CountedStream,
    HourWindow,
    Sums,
    percentiles,
    share_of,
    sum_rows,
    wilson_interval,
)
from worker.evaluation.stats.quality import DOLLAR, format_dollars, total_nano
from worker.evaluation.stats.stats_query import StatsQuery
from worker.evaluation.stats.stream_entries import SHARE_UNITS

MOST_SIGNALS: Final = 3
MOST_ROUNDS: Final = 99
CENT_DIGITS: Final = 6
COUNTS: Final = """
SELECT value, sum(n) AS n FROM counts WHERE at_ms >= :since AND at_ms < :before AND name = :name GROUP BY value
"""
FLOW: Final = "SELECT value, name, sum(n) FROM counts WHERE at_ms >= :since AND at_ms < :before GROUP BY value, name"
OPEN: Final = """
SELECT subject, count(*), min(at_ms) FROM open_evaluations WHERE at_ms >= :since AND at_ms < :before GROUP BY subject
"""
COHORTS: Final = f"""
SELECT agent, count(*) AS judged, count(accepted_round) AS accepted, sum(accepted_round = 1) AS first_round,
  sum(is_landed) AS landed, sum(is_reverted) AS reverted, sum(is_fixed) AS later_fix,
  group_concat(min(accepted_round, {MOST_ROUNDS})) AS rounds
FROM pulls WHERE at_ms >= :since AND at_ms < :before GROUP BY agent
"""
SUBMISSIONS: Final = f"""
SELECT agent, iif(decision = 'reject', category, NULL), count(*) AS verdicts, sum(nano / {DOLLAR}) AS dollars,
  sum(nano % {DOLLAR}) AS nano, count(*) - count(nano) AS unpriced
FROM classes CROSS JOIN verdicts ON class_id = classes.id
WHERE at_ms >= :since AND at_ms < :before AND is_submission GROUP BY 1, 2
"""
REJECTS: Final = """
SELECT value, sum(n) AS rejects
FROM reject_groups JOIN (
  SELECT class_id, count(*) AS n FROM classes CROSS JOIN verdicts ON class_id = classes.id
  WHERE at_ms >= :since AND at_ms < :before AND is_submission AND decision = 'reject' GROUP BY class_id
) USING (class_id)
WHERE grouping = :grouping GROUP BY value
"""
OBJECTIONS: Final = """
SELECT value, sum(override) AS override, sum(contest) AS contest, sum(not_helpful) AS not_helpful, sum(merged) AS merged,
  sum(objected) AS objected, sum(overturned) AS overturned
FROM objections
JOIN verdicts ON (at_ms, seq) = (verdict_ms, verdict_seq)
JOIN reject_groups USING (class_id)
WHERE verdict_ms >= :since AND verdict_ms < :before AND grouping = :grouping GROUP BY value
"""


def count_values(streams: Sequence[CountedStream], name: str, window: HourWindow) -> dict[str, int]:
    """Counted entries of this name, by value."""
    sums = sum_rows(streams, COUNTS, window, name=name)
    return {str(value): sums[value]["n"] for value in sorted(sums, key=str)}


def backlog_answer(question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    """Evaluations without an end, and how the others ended."""
    until_ms = max((stream.until_ms for stream in streams), default=0)
    flow = {subject: Sums() for subject in question.subjects}
    oldest_ms: dict[str, int] = {}
    for stream in streams:
        for subject, name, n in stream.select(FLOW, question.window):
            if subject in flow:
                flow[subject].counts[name] += n
        for subject, count, first_ms in stream.select(OPEN, question.window):
            if subject in flow:
                flow[subject].counts["open"] += count
                oldest_ms[subject] = min(first_ms, oldest_ms.get(subject, first_ms))
    rows = [_flow(subject, sums, until_ms, oldest_ms.get(subject)) for subject, sums in flow.items()]
    rows = [row for row in rows if any(row[name] for name in ("started", "completed", "failed", "open"))]
    oldest = max((row["oldest_open_s"] for row in rows if row["open"]), default=None)
    return {"open": sum(row["open"] for row in rows), "oldest_open_s": oldest, "data": rows}


def _flow(subject: str, sums: Sums, until_ms: int, oldest_ms: int | None) -> dict[str, Any]:
    return {
        "subject": subject,
        "started": sums["started"],
        "completed": sums["completed"],
        "failed": sums["failed"],
        "failure_modes": _counts_with_prefix(sums, "failed."),
        "throttled": _counts_with_prefix(sums, "throttled."),
        "ended_without_start": sums["unstarted"],
        "open": sums["open"],
        "oldest_open_s": None if oldest_ms is None else max(0, until_ms - oldest_ms) / 1000,
    }


def _counts_with_prefix(sums: Sums, prefix: str) -> dict[str, int]:
    named = ((name.removeprefix(prefix), times) for name, times in sums.counts.items() if name.startswith(prefix))
    return dict(sorted((pair for pair in named if pair[1]), key=lambda pair: (-pair[1], pair[0])))


def agents_answer(question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    """Scorecards of the pull requests whose first verdict is in the window."""
    sums = sum_rows(streams, COHORTS, question.window)
    for stream in streams:
        for agent, category, verdicts, dollars, nano, unpriced in stream.select(SUBMISSIONS, question.window):
            mine = sums.setdefault(agent, Sums())
            mine.add((("verdicts", verdicts), ("dollars", dollars), ("nano", nano), ("unpriced", unpriced)))
            if category is not None:
                mine.counts[f"category.{category}"] += verdicts
    ordered = sorted(sums.items(), key=lambda pair: (-pair[1]["judged"], str(pair[0])))
    rows = [_scorecard(agent, mine) for agent, mine in ordered]
    return {"data": [{**row, "rank": _rank(row, rows)} for row in rows]}


def _scorecard(agent: str | None, sums: Sums) -> dict[str, Any]:
    judged, accepted, merged, nano = sums["judged"], sums["accepted"], sums["landed"], total_nano(sums)
    rounds = sorted(sums.each)
    return {
        "value": agent or None,
        "pull_requests": judged,
        "verdicts": sums["verdicts"],
        "first_round": _share_row(sums["first_round"], judged),
        "accepted": _share_row(accepted, judged),
        "rounds_to_accept": {
            "count": accepted,
            "mean": round(sum(rounds) / accepted, DIGITS) if accepted else None,
            "p50": percentiles(rounds, (0.5,), 1)[0],
        },
        "top_categories": list(_counts_with_prefix(sums, "category.").items())[:MOST_SIGNALS],
        "merged": merged,
        "reverts": _share_row(sums["reverted"], merged),
        "later_fixes": _share_row(sums["later_fix"], merged),
        "judge_cost_usd": format_dollars(nano),
        "unknown_price_count": sums["unpriced"],
        "cost_per_accepted_usd": format(round(from_nano(nano) / accepted, CENT_DIGITS), "f") if accepted else None,
    }


def _share_row(hits: int, of: int) -> dict[str, Any]:
    return {"count": hits, "of": of, "share": share_of(hits, of), "interval": wilson_interval(hits, of)}


def _rank(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> int | None:
    """The rank by the share that was accepted at the first round. None where chance could change it."""
    mine: ConfidenceInterval | None = row["first_round"]["interval"]
    others: list[ConfidenceInterval | None] = [other["first_round"]["interval"] for other in rows if other is not row]
    intervals = [other for other in others if other is not None]
    if mine is None or not intervals or not all(mine.is_apart_from(other) for other in intervals):
        return None
    return 1 + sum(other.low > mine.high for other in intervals)


def overrides_answer(question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    """What people did about rejects, by the signal that was a fact, the category and the rubric."""
    groups = ("signals", "categories", "rubrics")
    return {
        **{name: _objection_rows(reject_sums(streams, question.window, name)) for name in groups},
        "outcomes": count_values(streams, "outcomes", question.window),
    }


def reject_sums(streams: Sequence[CountedStream], window: HourWindow, grouping: str) -> dict[str, Sums]:
    """Rejects that were shown, and those that people objected to, each once, by signal, category or rubric."""
    sums = {str(value): rejects for value, rejects in sum_rows(streams, REJECTS, window, grouping=grouping).items()}
    for value, objections in sum_rows(streams, OBJECTIONS, window, grouping=grouping).items():
        sums[str(value)].counts.update(objections.counts)
    return sums


def _objection_rows(by_value: Mapping[str, Sums]) -> list[dict[str, Any]]:
    """`objected`: rejects that were overridden, contested or found not helpful; each reject once."""
    return [
        {
            "value": name,
            "rejects": sums["rejects"],
            **{what: sums[what] for what in ("override", "contest", "not_helpful", "merged")},
            "objected": _share_row(sums["objected"], sums["rejects"]),
        }
        for name, sums in sorted(
            by_value.items(), key=lambda pair: (-pair[1]["objected"], -pair[1]["rejects"], pair[0])
        )
    ]


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
