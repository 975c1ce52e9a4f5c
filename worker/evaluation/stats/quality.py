"""Quality and cost: how verdicts scored, and what they cost.

Counts are of all verdicts, means and percentiles of those with the requested confidence; sums of money are exact.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from worker.domain.verdict.budget import from_nano
from worker.evaluation.stats import tables
from worker.evaluation.stats.counters import SIDE, Counters, CountersByValue, merge_counters
from worker.evaluation.stats.figures import FigureSums, mean_interval, percentiles, percentiles_in_order, share_of
from worker.evaluation.stats.stats_query import StatsQuery
from worker.evaluation.stats.stream_entries import CONFIDENCE_STEP, SCORE_STEP, SHARE_UNITS, VerdictView
from worker.evaluation.stats.tables import GroupDimension

SCORE_FLOOR: Final = 0.6
"""A mean below this has a banner (metis' quality floor)."""

FEWEST_VERDICTS: Final = 20
"""With fewer verdicts, an interval based on their own spread tells little."""


def tables_of(question: StatsQuery) -> list[str]:
    return _tables(question, (question.view,))


def spread_tables_of(question: StatsQuery) -> list[str]:
    """The spread tables; none unless a confidence is requested."""
    if not question.min_confidence:
        return []
    dimension = question.group_by or GroupDimension.JUDGE_KIND
    return [tables.spread_table(subject, question.view, dimension) for subject in question.subjects]


def cost_tables_of(question: StatsQuery) -> list[str]:
    """The cost tables. Opinions are paid for with the verdict that they lead to."""
    return _tables(question, (VerdictView.VERDICTS, VerdictView.CANARIES))


def _tables(question: StatsQuery, views: Sequence[VerdictView]) -> list[str]:
    dimension = question.group_by or GroupDimension.JUDGE_KIND  # the one with the fewest values
    return [tables.quality_table(subject, view, dimension) for subject in question.subjects for view in views]


def quality_answer(
    question: StatsQuery, tables: Iterable[CountersByValue], spread: Iterable[CountersByValue]
) -> dict[str, Any]:
    """*spread*: the scores by confidence, where a confidence is requested."""
    cells = _grouped(question, tables)
    confident, none = dict(_grouped(question, spread)) if question.min_confidence else {}, Counters()
    rows = [_row(value, cell, _score_figures(question, cell, confident.get(value, none))) for value, cell in cells]
    return {
        "group_by": question.group_by.value if question.group_by else None,
        "min_confidence": question.min_confidence / SHARE_UNITS,
        "data": rows,
        "banners": [_banner(row) for row in rows if row["mean_score"] is not None and row["mean_score"] < SCORE_FLOOR],
    }


def _grouped(question: StatsQuery, tables: Iterable[CountersByValue]) -> Iterator[tuple[str | None, Counters]]:
    """The cells by value, most verdicts first; one without a value where nothing is grouped."""
    several = list(tables)
    cells = several[0] if len(several) == 1 else merge_counters(several)
    if question.group_by is None:
        total = Counters()
        for cell in cells.values():
            total.add(cell)
        yield None, total
        return
    yield from sorted(cells.items(), key=lambda pair: (-pair[1].get("n"), pair[0]))


class ScoreFigures(NamedTuple):
    """Of the verdicts that are confident enough: exact sums, and two percentiles of their scores (three digits)."""

    score: FigureSums
    confidence: int
    percentiles: Sequence[float | None]


PERCENTILES: Final = (0.5, 0.1)


def _score_figures(question: StatsQuery, counters: Counters, spread: Counters) -> ScoreFigures:
    whole = SHARE_UNITS // SCORE_STEP
    if not question.min_confidence:
        sums, ordered = (
            FigureSums(counters.get("n"), counters.get("score"), counters.get("square")),
            counters.sorted_pairs(),
        )
        if ordered is None:
            return ScoreFigures(sums, counters.get("confidence"), percentiles(counters.pairs, PERCENTILES, whole))
        return ScoreFigures(sums, counters.get("confidence"), percentiles_in_order(ordered, PERCENTILES, whole))
    times: dict[int, int] = {}
    least = question.min_confidence // CONFIDENCE_STEP
    for packed, seen in spread.pairs.items():
        confidence, score = divmod(packed, SIDE)
        if confidence >= least:
            times[score] = times.get(score, 0) + seen
    steps = range(least, SHARE_UNITS // CONFIDENCE_STEP + 1)
    score, square, confidence = (
        sum(spread.get(f"{name} {step}") for step in steps) for name in ("score", "square", "confidence")
    )
    return ScoreFigures(
        FigureSums(sum(times.values()), score, square), confidence, percentiles(times, PERCENTILES, whole)
    )


def _row(value: str | None, counters: Counters, scored: ScoreFigures) -> dict[str, Any]:
    count = scored.score.times
    p50, p10 = scored.percentiles
    return {
        "value": value or None,
        "verdict_count": counters.get("n"),
        "confident_count": count,
        "mean_score": share_of(scored.score.total, count * SHARE_UNITS),
        "mean_interval": mean_interval(scored.score, SHARE_UNITS),
        "p50_score": p50,
        "p10_score": p10,
        "mean_confidence": share_of(scored.confidence, count * SHARE_UNITS),
        "accepts": counters.get("accept"),
        "rejects": counters.get("reject"),
        "abstains": counters.get("abstain"),
        "live": {
            "verdict_count": counters.get("n") - counters.get("anew"),
            **{
                f"{name}s": counters.get(name) - counters.get(f"anew.{name}")
                for name in ("accept", "reject", "abstain")
            },
        },
        "failed_count": counters.get("failed"),
        "judge_cost_usd_total": format_dollars(counters.get("nano")),
        "unknown_price_count": counters.get("unpriced"),
        "thumbs_down_count": counters.get("down"),
    }


def _banner(row: dict[str, Any]) -> dict[str, Any]:
    """`is_certain`: even the upper end of the interval is below the floor, and there are enough verdicts."""
    interval = row["mean_interval"]
    is_certain = row["confident_count"] >= FEWEST_VERDICTS and interval.high < SCORE_FLOOR
    banner = {"value": row["value"], "mean_score": row["mean_score"], "verdict_count": row["confident_count"]}
    return {**banner, "mean_interval": interval, "floor": SCORE_FLOOR, "is_certain": is_certain}


def cost_answer(question: StatsQuery, tables: Iterable[CountersByValue]) -> dict[str, Any]:
    """The cost of judging. The cost of the agents themselves is unknown, and counts as 0."""
    rows = [_cost_row(question, value, cell) for value, cell in _grouped(question, tables)]
    return {
        "group_by": question.group_by.value if question.group_by else None,
        "include_eval": question.include_eval,
        "total_usd": format_dollars(sum(row["_nano"] for row in rows)),
        "data": [{name: value for name, value in row.items() if name != "_nano"} for row in rows],
    }


def _cost_row(question: StatsQuery, value: str | None, counters: Counters) -> dict[str, Any]:
    judged = counters.get("nano")
    total = judged if question.include_eval else 0
    verdicts = counters.get("n") + counters.get("failed")
    return {
        "value": value or None,
        "verdict_count": counters.get("n"),
        "failed_count": counters.get("failed"),
        "agent_cost_usd": "0",
        "judge_cost_usd": format_dollars(judged) if question.include_eval else None,
        "failed_cost_usd": format_dollars(counters.get("failed_nano")) if question.include_eval else None,
        "total_usd": format_dollars(total),
        "unknown_price_count": counters.get("unpriced"),
        "known_price_share": share_of(verdicts - counters.get("unpriced"), verdicts),
        "_nano": total,
    }


def format_dollars(nano: int) -> str:
    """Exact, as a decimal number without an exponent."""
    return format(from_nano(nano).normalize() if nano else Decimal(0), "f")
