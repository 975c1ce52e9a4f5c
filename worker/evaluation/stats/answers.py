"""The answers as they are sent: figures of a window, a pull request's verdicts and outcomes, and the wait for a verdict.

Counts are of all verdicts, means and percentiles of those with the requested confidence; sums of money are exact. Verdicts are
compared on one subject only, each pair once; outcomes of each strength are counted apart. An agent has a rank only where its
interval overlaps no other agent's. Secrets are redacted from every text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import to_json

from worker.domain.check.check_run import WaitStatus
from worker.domain.judge_request import PullRef
from worker.domain.model import Sha
from worker.domain.verdict.budget import NANO, from_nano
from worker.domain.verdict.events import Strength
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.secrets import redact_fields
from worker.evaluation.stats.figures import (
    DIGITS,
    SCORE_STEP,
    SHARE_UNITS,
    ConfidenceInterval,
    CountedStream,
    FigureSums,
    GroupDimension,
    HourWindow,
    StatsQuery,
    StatsTopic,
    Sums,
    VerdictView,
    format_time,
    mean_interval,
    percentiles,
    share_of,
    sum_rows,
    wilson_interval,
)

DOLLAR: Final = int(NANO)
SCORE_FLOOR: Final = 0.6
"""A mean below this has a banner (metis' quality floor)."""

FEWEST_VERDICTS: Final = 20
"""With fewer verdicts, an interval based on their own spread tells little."""


PERCENTILES: Final = (0.5, 0.1)
CLASS_COLUMNS: Final[Mapping[GroupDimension, str]] = MappingProxyType(
    {
        GroupDimension.AUTHOR_AGENT: "agent",
        GroupDimension.JUDGE_KIND: "judge_kind",
        GroupDimension.RUBRIC: "rubric",
        GroupDimension.CATEGORY: "category",
    }
)
COUNTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "failed": "is_failed",
        "n": "NOT is_failed",
        "accept": "NOT is_failed AND decision = 'accept'",
        "reject": "NOT is_failed AND decision = 'reject'",
        "rejudged": "is_rejudged AND NOT is_failed",
        "rejudged_accept": "is_rejudged AND NOT is_failed AND decision = 'accept'",
        "rejudged_reject": "is_rejudged AND NOT is_failed AND decision = 'reject'",
    }
)
"""What is counted, by a condition on a verdict's class. Abstentions are the rest."""

SUMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "unpriced": "count(*) - count(nano)",
        "down": "sum(is_disliked)",
        "dollars": f"sum(nano / {DOLLAR})",
        "nano": f"sum(nano % {DOLLAR})",
    }
)
"""Sums of money are split, since SQLite's integers have 64 bits."""

SCORE_SUMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "confident": "count(*)",
        "score": "sum(score)",
        "square": "sum(score * score)",
        "confidence": "sum(confidence)",
        "scores": f"group_concat(score / {SCORE_STEP})",
    }
)
"""Sums of the verdicts that are confident enough; three digits of their scores are listed."""

ASKED_CLASSES: Final = """
+subject IN (SELECT value FROM json_each(:subjects)) AND view IN (SELECT value FROM json_each(:views))
"""
"""The plus keeps SQLite from the classes' unique index, whose order is not that of their ids: groups would be sorted."""


def _columns(columns: Mapping[str, str], form: str) -> str:
    return ", ".join(f"{form.format(column=column, name=name)} AS {name}" for name, column in columns.items())


CONFIDENT: Final = "{column} FILTER (WHERE confidence >= :least)"
SUMS_BY: Final = f"""
SELECT {{value}} AS value,
  {_columns(COUNTS, "n * ({column})")}, {_columns(SUMS, "{name}")}, {_columns(SCORE_SUMS, "iif(is_failed, NULL, {name})")},
  iif(is_failed, dollars, 0) AS failed_dollars, iif(is_failed, nano, 0) AS failed_nano
FROM {{groups}} JOIN (
  SELECT {{ids}}, count(*) AS n, {_columns(SUMS, "{column}")}, {_columns(SCORE_SUMS, CONFIDENT)}
  FROM {{tables}}
  WHERE at_ms >= :since AND at_ms < :before AND {ASKED_CLASSES} GROUP BY {{keys}}
) ON group_id = {{groups}}.id
"""
"""Joins in the order of these tables read an index from its begin to its end, and sort nothing (`bench/analytics.py`)."""

REPOSITORY_SUMS: Final = SUMS_BY.format(
    value="CAST(repository_id AS TEXT)",
    groups="kinds",
    ids="repository_id, kind_id AS group_id",
    tables="repositories CROSS JOIN kinds CROSS JOIN verdicts ON repository_id = repositories.id AND kind_id = kinds.id",
    keys="repositories.id, kinds.id",
)


def class_sums(group: GroupDimension | None) -> str:
    """The query of sums by a column of the classes; None: of all."""
    return SUMS_BY.format(
        value=CLASS_COLUMNS[group] if group else "NULL",
        groups="classes",
        ids="class_id AS group_id",
        tables="classes CROSS JOIN verdicts ON class_id = classes.id",
        keys="classes.id",
    )


def quality_answer(question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    rows = [_row(value, sums) for value, sums in _sum_by_group(question, streams, (question.view,))]
    return {
        "group_by": question.group_by.value if question.group_by else None,
        "min_confidence": question.min_confidence / SHARE_UNITS,
        "data": rows,
        "banners": [_banner(row) for row in rows if row["mean_score"] is not None and row["mean_score"] < SCORE_FLOOR],
    }


def _sum_by_group(
    question: StatsQuery, streams: Sequence[CountedStream], views: Sequence[VerdictView]
) -> Iterator[tuple[str | None, Sums]]:
    """Sums of verdicts by value, most verdicts first; one without a value where nothing is grouped."""
    group = question.group_by
    sums = sum_rows(
        streams,
        REPOSITORY_SUMS if group is GroupDimension.REPOSITORY else class_sums(group),
        question.window,
        least=question.min_confidence,
        subjects=to_json(question.subjects),
        views=to_json(views),
    )
    if question.group_by is None:
        yield None, sums.get(None, Sums())
    else:
        yield from sorted(sums.items(), key=lambda pair: (-pair[1]["n"], pair[0] or ""))


def _row(value: str | None, sums: Sums) -> dict[str, Any]:
    count = sums["confident"]
    p50, p10 = percentiles(sorted(sums.each), PERCENTILES, SHARE_UNITS // SCORE_STEP)
    return {
        "value": value or None,
        "verdict_count": sums["n"],
        "confident_count": count,
        "mean_score": share_of(sums["score"], count * SHARE_UNITS),
        "mean_interval": mean_interval(FigureSums(count, sums["score"], sums["square"]), SHARE_UNITS),
        "p50_score": p50,
        "p10_score": p10,
        "mean_confidence": share_of(sums["confidence"], count * SHARE_UNITS),
        **_decisions(sums["n"], sums["accept"], sums["reject"]),
        "live": {
            "verdict_count": sums["n"] - sums["rejudged"],
            **_decisions(
                sums["n"] - sums["rejudged"],
                sums["accept"] - sums["rejudged_accept"],
                sums["reject"] - sums["rejudged_reject"],
            ),
        },
        "failed_count": sums["failed"],
        "judge_cost_usd_total": format_dollars(total_nano(sums)),
        "unknown_price_count": sums["unpriced"],
        "thumbs_down_count": sums["down"],
    }


def _decisions(count: int, accepts: int, rejects: int) -> dict[str, int]:
    return {"accepts": accepts, "rejects": rejects, "abstains": count - accepts - rejects}


def _banner(row: dict[str, Any]) -> dict[str, Any]:
    """`is_certain`: even the upper end of the interval is below the floor, and there are enough verdicts."""
    interval = row["mean_interval"]
    is_certain = row["confident_count"] >= FEWEST_VERDICTS and interval.high < SCORE_FLOOR
    banner = {"value": row["value"], "mean_score": row["mean_score"], "verdict_count": row["confident_count"]}
    return {**banner, "mean_interval": interval, "floor": SCORE_FLOOR, "is_certain": is_certain}


def cost_answer(question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    """The cost of judging. The cost of the agents themselves is unknown, and counts as 0.

    Opinions are paid for with the verdict that they lead to.
    """
    grouped = list(_sum_by_group(question, streams, (VerdictView.VERDICTS, VerdictView.CANARIES)))
    total = sum(total_nano(sums) for _, sums in grouped) if question.include_eval else 0
    return {
        "group_by": question.group_by.value if question.group_by else None,
        "include_eval": question.include_eval,
        "total_usd": format_dollars(total),
        "data": [_cost_row(question, value, sums) for value, sums in grouped],
    }


def _cost_row(question: StatsQuery, value: str | None, sums: Sums) -> dict[str, Any]:
    judged = format_dollars(total_nano(sums))
    verdicts = sums["n"] + sums["failed"]
    return {
        "value": value or None,
        "verdict_count": sums["n"],
        "failed_count": sums["failed"],
        "agent_cost_usd": "0",
        "judge_cost_usd": judged if question.include_eval else None,
        "failed_cost_usd": format_dollars(total_nano(sums, "failed_")) if question.include_eval else None,
        "total_usd": judged if question.include_eval else "0",
        "unknown_price_count": sums["unpriced"],
        "known_price_share": share_of(verdicts - sums["unpriced"], verdicts),
    }


def total_nano(sums: Sums, prefix: str = "") -> int:
    return sums[f"{prefix}dollars"] * DOLLAR + sums[f"{prefix}nano"]


def format_dollars(nano: int) -> str:
    """Exact, as a decimal number without an exponent."""
    return format(from_nano(nano).normalize() if nano else Decimal(0), "f")


MOST_SIGNALS: Final = 3
MOST_ROUNDS: Final = 99
CENT_DIGITS: Final = 6
COUNTED_VALUES: Final = """
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
    sums = sum_rows(streams, COUNTED_VALUES, window, name=name)
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


ANSWERS: Final[Mapping[StatsTopic, Callable[[StatsQuery, Sequence[CountedStream]], dict[str, Any]]]] = {
    StatsTopic.QUALITY: quality_answer,
    StatsTopic.COST: cost_answer,
    StatsTopic.AGREEMENT: agreement_answer,
    StatsTopic.BACKLOG: backlog_answer,
    StatsTopic.AGENTS: agents_answer,
    StatsTopic.OVERRIDES: overrides_answer,
}
MOST_OUTCOMES: Final = 40
OUTCOMES: Final = """
SELECT at_ms, outcome, eval_id FROM outcomes WHERE repository_id = ? AND number = ? ORDER BY at_ms DESC, seq DESC LIMIT ?
"""


def answer_query(topic: StatsTopic, question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    """The whole answer, as it is sent: over all hours of the window whose entries are kept."""
    until_ms = max((stream.until_ms for stream in streams), default=0)
    return {
        "window": {"from": question.window.since.isoformat(), "to": question.window.until.isoformat()},
        "counted_until": format_time(until_ms) if until_ms else None,
        "is_behind": any(stream.is_behind for stream in streams),
        "skipped": count_values(streams, "skipped", question.window),
        "troubles": count_values(streams, "troubles", question.window),
        **ANSWERS[topic](question, streams),
    }


def list_evaluations(entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    """Each verdict as docs/verdict.md has it, oldest first."""
    return [redact_fields(entry.verdict.model_dump(mode="json")) for entry in entries]


def list_outcomes(stream: CountedStream, pull: PullRef) -> list[dict[str, Any]]:
    """The last outcomes of a pull request, oldest first."""
    rows = stream.db.execute(OUTCOMES, (pull.repository_id, pull.number, MOST_OUTCOMES)).fetchall()
    return [
        {"outcome": outcome, "eval_id": eval_id or None, "at": format_time(at_ms)}
        for at_ms, outcome, eval_id in reversed(rows)
    ]


def wait_answer(pulls: WaitStatus, repository: str, sha: Sha) -> dict[str, Any]:
    """The answer to a wait for the verdict on one commit; a verdict in it is as docs/verdict.md has it, without secrets."""
    return {
        "repository": repository,
        "sha": sha,
        "state": pulls.state,
        "reason": pulls.reason,
        "why": pulls.explanation,
        "number": pulls.number,
        "superseded_by": pulls.newer_head,
        "other_pull_requests": pulls.others,
        "overridden_by": pulls.overridden_by,
        "verdict": redact_fields(pulls.verdict.model_dump(mode="json")) if pulls.verdict else None,
    }
