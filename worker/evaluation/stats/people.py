"""Backlog, agents' scorecards, and what people overrode.

Does not rank noise: an agent has a rank only where its interval touches no other agent's. Invariant: every share comes with its
count and its 95 % interval, and is a part of one cohort.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from worker.domain.verdict.budget import usd_of
from worker.evaluation.stats import tables
from worker.evaluation.stats.asking import Question
from worker.evaluation.stats.cells import SIDE, Cell, Cells
from worker.evaluation.stats.figures import Interval, mean, percentiles, share, wilson
from worker.evaluation.stats.ingest import Opened
from worker.evaluation.stats.quality import dollars

TOP: Final = 3
CENT: Final = 6


def backlog(question: Question, flow: Cells, opened: Sequence[Opened], until_ms: int) -> dict[str, Any]:
    """What was begun and has not ended, and how what ended did; *until_ms*: the last entry that was counted."""
    within = [one for one in opened if question.over.start_ms <= one.at_ms < question.over.end_ms]
    rows = [_flow(subject, flow.get(subject, Cell()), within, until_ms) for subject in question.subjects]
    rows = [row for row in rows if any(row[name] for name in ("started", "completed", "failed", "open"))]
    oldest = max((row["oldest_open_s"] for row in rows if row["open"]), default=None)
    return {"open": sum(row["open"] for row in rows), "oldest_open_s": oldest, "data": rows}


def _flow(subject: str, one: Cell, opened: Sequence[Opened], until_ms: int) -> dict[str, Any]:
    mine = [each.at_ms for each in opened if each.subject == subject]
    return {
        "subject": subject,
        "started": one.get("started"),
        "completed": one.get("completed"),
        "failed": one.get("failed"),
        "failure_modes": _named(one, "failed."),
        "throttled": _named(one, "throttled."),
        "ended_without_start": one.get("unstarted"),
        "open": len(mine),
        "oldest_open_s": max(0, until_ms - min(mine)) / 1000 if mine else None,
    }


def _named(one: Cell, prefix: str) -> dict[str, int]:
    """What was counted under it. A stored cell has the counters of all its table's cells, most of them at zero."""
    found = ((name.removeprefix(prefix), times) for name, times in one.counts.items() if name.startswith(prefix))
    return dict(sorted((pair for pair in found if pair[1]), key=lambda pair: (-pair[1], pair[0])))


def agents(cells: Cells) -> dict[str, Any]:
    """Of the pull requests whose first verdict fell into the window."""
    rows = [_card(agent, cells[agent]) for agent in sorted(cells, key=lambda name: (-cells[name].get("judged"), name))]
    return {"data": [{**row, "rank": _rank(row, rows)} for row in rows]}


def _card(agent: str, one: Cell) -> dict[str, Any]:
    judged, accepted, merged = one.get("judged"), one.get("accepted"), one.get("landed")
    rounds = {packed % SIDE: times for packed, times in one.pairs.items()}
    return {
        "value": agent or None,
        "pull_requests": judged,
        "verdicts": one.get("verdicts"),
        "first_round": _part(one.get("first_round"), judged),
        "accepted": _part(accepted, judged),
        "rounds_to_accept": {"count": accepted, "mean": mean(rounds, 1), "p50": percentiles(rounds, (0.5,), 1)[0]},
        "top_categories": list(_named(one, "category.").items())[:TOP],
        "merged": merged,
        "reverts": _part(one.get("reverted"), merged),
        "later_fixes": _part(one.get("later_fix"), merged),
        "judge_cost_usd": dollars(one.get("nano")),
        "unknown_price_count": one.get("unpriced"),
        "cost_per_accepted_usd": _each(one.get("nano"), accepted),
    }


def _part(hits: int, of: int) -> dict[str, Any]:
    return {"count": hits, "of": of, "share": share(hits, of), "interval": wilson(hits, of)}


def _each(nano: int, of: int) -> str | None:
    return format(round(usd_of(nano) / of, CENT), "f") if of else None


def _rank(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> int | None:
    """By what was accepted at the first round. None: noise could put it elsewhere."""
    mine: Interval | None = row["first_round"]["interval"]
    others: list[Interval | None] = [other["first_round"]["interval"] for other in rows if other is not row]
    known = [other for other in others if other is not None]
    if mine is None or not known or not all(mine.is_apart_from(other) for other in known):
        return None
    return 1 + sum(other.low > mine.high for other in known)


def overrides(found: Mapping[str, Cells]) -> dict[str, Any]:
    """What people did about rejects, by the signal that was a fact, the category and the rubric."""
    groups = {"signals": tables.OVER_SIGNAL, "categories": tables.OVER_CATEGORY, "rubrics": tables.OVER_RUBRIC}
    outcomes = found.get(tables.OUTCOMES, {})
    return {
        **{name: _objections(found.get(table, {})) for name, table in groups.items()},
        "outcomes": {name: outcomes[name].get("n") for name in sorted(outcomes)},
    }


def _objections(cells: Cells) -> list[dict[str, Any]]:
    ordered = sorted(cells, key=lambda name: (-cells[name].get("objected"), -cells[name].get("rejects"), name))
    return [_objection(name, cells[name]) for name in ordered]


def _objection(name: str, one: Cell) -> dict[str, Any]:
    """`objected`: rejects that somebody overrode, contested or found not helpful; each reject once."""
    counted = {what: one.get(what) for what in ("override", "contest", "not_helpful", "merged")}
    return {
        "value": name,
        "rejects": one.get("rejects"),
        **counted,
        "objected": _part(one.get("objected"), one.get("rejects")),
    }
