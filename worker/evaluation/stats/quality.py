"""Quality and cost: how verdicts scored, and what they cost.

Does not join verdicts with what became of them. Invariant: counts are of all verdicts, means and percentiles of those that are
at least as confident as was asked; sums of money are exact.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from worker.domain.verdict.budget import usd_of
from worker.evaluation.stats import tables
from worker.evaluation.stats.asking import Question
from worker.evaluation.stats.cells import SIDE, Cell, Cells, merged
from worker.evaluation.stats.figures import Sums, mean_interval, percentiles, percentiles_in_order, share
from worker.evaluation.stats.reading import CONFIDENCE_STEP, SCORE_STEP, WHOLE, View
from worker.evaluation.stats.tables import Dimension

FLOOR: Final = 0.6
"""A mean below this is told (metis' quality floor)."""

ENOUGH: Final = 20
"""Of fewer verdicts an interval that rests on their own spread says little."""


def tables_of(question: Question) -> list[str]:
    return _tables(question, (question.view,))


def spread_tables_of(question: Question) -> list[str]:
    """Only where confident verdicts alone are asked for."""
    if not question.min_confidence:
        return []
    dimension = question.group_by or Dimension.JUDGE_KIND
    return [tables.spread(subject, question.view, dimension) for subject in question.subjects]


def cost_tables_of(question: Question) -> list[str]:
    """Opinions are paid for with the verdict that they lead to."""
    return _tables(question, (View.VERDICTS, View.CANARIES))


def _tables(question: Question, views: Sequence[View]) -> list[str]:
    dimension = question.group_by or Dimension.JUDGE_KIND  # the one with the fewest values
    return [tables.quality(subject, view, dimension) for subject in question.subjects for view in views]


def quality(question: Question, found: Iterable[Cells], spread: Iterable[Cells]) -> dict[str, Any]:
    """*spread*: the scores by confidence, where that is asked for."""
    cells = _grouped(question, found)
    confident, none = dict(_grouped(question, spread)) if question.min_confidence else {}, Cell()
    rows = [_row(value, one, _scored(question, one, confident.get(value, none))) for value, one in cells]
    return {
        "group_by": question.group_by.value if question.group_by else None,
        "min_confidence": question.min_confidence / WHOLE,
        "data": rows,
        "banners": [_banner(row) for row in rows if row["mean_score"] is not None and row["mean_score"] < FLOOR],
    }


def _grouped(question: Question, found: Iterable[Cells]) -> Iterator[tuple[str | None, Cell]]:
    """Most verdicts first; no value where nothing is grouped."""
    several = list(found)
    cells = several[0] if len(several) == 1 else merged(several)
    if question.group_by is None:
        total = Cell()
        for one in cells.values():
            total.add(one)
        yield None, total
        return
    yield from sorted(cells.items(), key=lambda pair: (-pair[1].get("n"), pair[0]))


class Scored(NamedTuple):
    """Of the verdicts that are confident enough: exact sums, and two percentiles of their scores (three digits)."""

    score: Sums
    confidence: int
    percentiles: Sequence[float | None]


PERCENTILES: Final = (0.5, 0.1)


def _scored(question: Question, one: Cell, spread: Cell) -> Scored:
    whole = WHOLE // SCORE_STEP
    if not question.min_confidence:
        sums, ordered = Sums(one.get("n"), one.get("score"), one.get("square")), one.in_order()
        if ordered is None:
            return Scored(sums, one.get("confidence"), percentiles(one.pairs, PERCENTILES, whole))
        return Scored(sums, one.get("confidence"), percentiles_in_order(ordered, PERCENTILES, whole))
    times: dict[int, int] = {}
    least = question.min_confidence // CONFIDENCE_STEP
    for packed, seen in spread.pairs.items():
        confidence, score = divmod(packed, SIDE)
        if confidence >= least:
            times[score] = times.get(score, 0) + seen
    steps = range(least, WHOLE // CONFIDENCE_STEP + 1)
    score, square, confidence = (
        sum(spread.get(f"{name} {step}") for step in steps) for name in ("score", "square", "confidence")
    )
    return Scored(Sums(sum(times.values()), score, square), confidence, percentiles(times, PERCENTILES, whole))


def _row(value: str | None, one: Cell, scored: Scored) -> dict[str, Any]:
    count = scored.score.times
    p50, p10 = scored.percentiles
    return {
        "value": value or None,
        "verdict_count": one.get("n"),
        "confident_count": count,
        "mean_score": share(scored.score.total, count * WHOLE),
        "mean_interval": mean_interval(scored.score, WHOLE),
        "p50_score": p50,
        "p10_score": p10,
        "mean_confidence": share(scored.confidence, count * WHOLE),
        "accepts": one.get("accept"),
        "rejects": one.get("reject"),
        "abstains": one.get("abstain"),
        "live": {
            "verdict_count": one.get("n") - one.get("anew"),
            **{f"{name}s": one.get(name) - one.get(f"anew.{name}") for name in ("accept", "reject", "abstain")},
        },
        "failed_count": one.get("failed"),
        "judge_cost_usd_total": dollars(one.get("nano")),
        "unknown_price_count": one.get("unpriced"),
        "thumbs_down_count": one.get("down"),
    }


def _banner(row: dict[str, Any]) -> dict[str, Any]:
    """`is_certain`: even the upper end of the interval is below the floor, and it is one of enough verdicts."""
    interval = row["mean_interval"]
    is_certain = row["confident_count"] >= ENOUGH and interval.high < FLOOR
    told = {"value": row["value"], "mean_score": row["mean_score"], "verdict_count": row["confident_count"]}
    return {**told, "mean_interval": interval, "floor": FLOOR, "is_certain": is_certain}


def cost(question: Question, found: Iterable[Cells]) -> dict[str, Any]:
    """All that Assay spends is spent on judging: what the agents themselves cost, it does not know, and counts as 0."""
    rows = [_cost_row(question, value, one) for value, one in _grouped(question, found)]
    return {
        "group_by": question.group_by.value if question.group_by else None,
        "include_eval": question.include_eval,
        "total_usd": dollars(sum(one["_nano"] for one in rows)),
        "data": [{name: value for name, value in one.items() if name != "_nano"} for one in rows],
    }


def _cost_row(question: Question, value: str | None, one: Cell) -> dict[str, Any]:
    judged = one.get("nano")
    total = judged if question.include_eval else 0
    verdicts = one.get("n") + one.get("failed")
    return {
        "value": value or None,
        "verdict_count": one.get("n"),
        "failed_count": one.get("failed"),
        "agent_cost_usd": "0",
        "judge_cost_usd": dollars(judged) if question.include_eval else None,
        "failed_cost_usd": dollars(one.get("failed_nano")) if question.include_eval else None,
        "total_usd": dollars(total),
        "unknown_price_count": one.get("unpriced"),
        "known_price_share": share(verdicts - one.get("unpriced"), verdicts),
        "_nano": total,
    }


def dollars(nano: int) -> str:
    """Exact, as a decimal number without an exponent."""
    return format(usd_of(nano).normalize() if nano else Decimal(0), "f")
