"""Backlog, agents' scorecards, and what people overrode.

Every share is a part of one cohort and has its count and its 95 % interval. An agent has a rank only where its interval
overlaps no other agent's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from worker.domain.verdict.budget import from_nano
from worker.evaluation.stats import tables
from worker.evaluation.stats.counters import SIDE, Counters, CountersByValue
from worker.evaluation.stats.figures import ConfidenceInterval, mean_of, percentiles, share_of, wilson_interval
from worker.evaluation.stats.ingest import OpenEvaluation
from worker.evaluation.stats.quality import format_dollars
from worker.evaluation.stats.stats_query import StatsQuery

MOST_SIGNALS: Final = 3
CENT_DIGITS: Final = 6


def backlog_answer(
    question: StatsQuery, flow: CountersByValue, opened: Sequence[OpenEvaluation], until_ms: int
) -> dict[str, Any]:
    """Evaluations without an end, and how the others ended; *until_ms*: the last entry that was counted."""
    within = [pull for pull in opened if question.window.start_ms <= pull.at_ms < question.window.end_ms]
    rows = [_flow(subject, flow.get(subject, Counters()), within, until_ms) for subject in question.subjects]
    rows = [row for row in rows if any(row[name] for name in ("started", "completed", "failed", "open"))]
    oldest = max((row["oldest_open_s"] for row in rows if row["open"]), default=None)
    return {"open": sum(row["open"] for row in rows), "oldest_open_s": oldest, "data": rows}


def _flow(subject: str, counters: Counters, opened: Sequence[OpenEvaluation], until_ms: int) -> dict[str, Any]:
    mine = [each.at_ms for each in opened if each.subject == subject]
    return {
        "subject": subject,
        "started": counters.get("started"),
        "completed": counters.get("completed"),
        "failed": counters.get("failed"),
        "failure_modes": _counts_with_prefix(counters, "failed."),
        "throttled": _counts_with_prefix(counters, "throttled."),
        "ended_without_start": counters.get("unstarted"),
        "open": len(mine),
        "oldest_open_s": max(0, until_ms - min(mine)) / 1000 if mine else None,
    }


def _counts_with_prefix(counters: Counters, prefix: str) -> dict[str, int]:
    """The counts under a prefix. A stored cell has the counters of all its table's cells, most of them at zero."""
    rounds = ((name.removeprefix(prefix), times) for name, times in counters.counts.items() if name.startswith(prefix))
    return dict(sorted((pair for pair in rounds if pair[1]), key=lambda pair: (-pair[1], pair[0])))


def agents_answer(cells: CountersByValue) -> dict[str, Any]:
    """Scorecards of the pull requests whose first verdict is in the window."""
    rows = [
        _scorecard(agent, cells[agent]) for agent in sorted(cells, key=lambda name: (-cells[name].get("judged"), name))
    ]
    return {"data": [{**row, "rank": _rank(row, rows)} for row in rows]}


def _scorecard(agent: str, counters: Counters) -> dict[str, Any]:
    judged, accepted, merged = counters.get("judged"), counters.get("accepted"), counters.get("landed")
    rounds = {packed % SIDE: times for packed, times in counters.pairs.items()}
    return {
        "value": agent or None,
        "pull_requests": judged,
        "verdicts": counters.get("verdicts"),
        "first_round": _share_row(counters.get("first_round"), judged),
        "accepted": _share_row(accepted, judged),
        "rounds_to_accept": {"count": accepted, "mean": mean_of(rounds, 1), "p50": percentiles(rounds, (0.5,), 1)[0]},
        "top_categories": list(_counts_with_prefix(counters, "category.").items())[:MOST_SIGNALS],
        "merged": merged,
        "reverts": _share_row(counters.get("reverted"), merged),
        "later_fixes": _share_row(counters.get("later_fix"), merged),
        "judge_cost_usd": format_dollars(counters.get("nano")),
        "unknown_price_count": counters.get("unpriced"),
        "cost_per_accepted_usd": _each(counters.get("nano"), accepted),
    }


def _share_row(hits: int, of: int) -> dict[str, Any]:
    return {"count": hits, "of": of, "share": share_of(hits, of), "interval": wilson_interval(hits, of)}


def _each(nano: int, of: int) -> str | None:
    return format(round(from_nano(nano) / of, CENT_DIGITS), "f") if of else None


def _rank(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> int | None:
    """The rank by the share that was accepted at the first round. None where chance could change it."""
    mine: ConfidenceInterval | None = row["first_round"]["interval"]
    others: list[ConfidenceInterval | None] = [other["first_round"]["interval"] for other in rows if other is not row]
    intervals = [other for other in others if other is not None]
    if mine is None or not intervals or not all(mine.is_apart_from(other) for other in intervals):
        return None
    return 1 + sum(other.low > mine.high for other in intervals)


def overrides_answer(counted: Mapping[str, CountersByValue]) -> dict[str, Any]:
    """What people did about rejects, by the signal that was a fact, the category and the rubric."""
    groups = {"signals": tables.OVER_SIGNAL, "categories": tables.OVER_CATEGORY, "rubrics": tables.OVER_RUBRIC}
    outcomes = counted.get(tables.OUTCOMES, {})
    return {
        **{name: _objections(counted.get(table, {})) for name, table in groups.items()},
        "outcomes": {name: outcomes[name].get("n") for name in sorted(outcomes)},
    }


def _objections(cells: CountersByValue) -> list[dict[str, Any]]:
    ordered = sorted(cells, key=lambda name: (-cells[name].get("objected"), -cells[name].get("rejects"), name))
    return [_objection(name, cells[name]) for name in ordered]


def _objection(name: str, counters: Counters) -> dict[str, Any]:
    """`objected`: rejects that were overridden, contested or found not helpful; each reject once."""
    counted = {what: counters.get(what) for what in ("override", "contest", "not_helpful", "merged")}
    return {
        "value": name,
        "rejects": counters.get("rejects"),
        **counted,
        "objected": _share_row(counters.get("objected"), counters.get("rejects")),
    }
