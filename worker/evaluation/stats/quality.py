"""Quality and cost: how verdicts scored, and what they cost.

Counts are of all verdicts, means and percentiles of those with the requested confidence; sums of money are exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import to_json

from worker.domain.verdict.budget import NANO, from_nano
from worker.evaluation.stats.figures import (
    CountedStream,
    FigureSums,
    Sums,
    mean_interval,
    percentiles,
    share_of,
    sum_rows,
)
from worker.evaluation.stats.stats_query import GroupDimension, StatsQuery
from worker.evaluation.stats.stream_entries import SCORE_STEP, SHARE_UNITS, VerdictView

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
BY_CLASS: Final = "classes CROSS JOIN verdicts ON class_id = classes.id"
BY_REPOSITORY: Final = """
repositories CROSS JOIN verdicts ON repository_id = repositories.id CROSS JOIN classes ON classes.id = class_id
"""
"""A join in this order reads an index from its begin to its end, and sorts nothing."""

VERDICT_SUMS: Final = f"""
SELECT {{value}} AS value,
  count(*) FILTER (WHERE NOT is_failed) AS n,
  count(*) FILTER (WHERE NOT is_failed AND decision = 'accept') AS accept,
  count(*) FILTER (WHERE NOT is_failed AND decision = 'reject') AS reject,
  count(*) FILTER (WHERE NOT is_failed AND decision = 'abstain') AS abstain,
  count(*) FILTER (WHERE NOT is_failed AND is_rejudged) AS rejudged,
  count(*) FILTER (WHERE NOT is_failed AND is_rejudged AND decision = 'accept') AS rejudged_accept,
  count(*) FILTER (WHERE NOT is_failed AND is_rejudged AND decision = 'reject') AS rejudged_reject,
  count(*) FILTER (WHERE NOT is_failed AND is_rejudged AND decision = 'abstain') AS rejudged_abstain,
  count(*) FILTER (WHERE is_failed) AS failed,
  count(*) FILTER (WHERE NOT is_failed AND confidence >= :least) AS confident,
  sum(score) FILTER (WHERE NOT is_failed AND confidence >= :least) AS score,
  sum(score * score) FILTER (WHERE NOT is_failed AND confidence >= :least) AS square,
  sum(confidence) FILTER (WHERE NOT is_failed AND confidence >= :least) AS confidence,
  group_concat(score / {SCORE_STEP}) FILTER (WHERE NOT is_failed AND confidence >= :least) AS scores,
  sum(nano / {DOLLAR}) AS dollars,
  sum(nano % {DOLLAR}) AS nano,
  sum(nano / {DOLLAR}) FILTER (WHERE is_failed) AS failed_dollars,
  sum(nano % {DOLLAR}) FILTER (WHERE is_failed) AS failed_nano,
  count(*) - count(nano) AS unpriced,
  sum(is_disliked) AS down
FROM {{rows}}
WHERE at_ms >= :since AND at_ms < :before
  AND subject IN (SELECT value FROM json_each(:subjects)) AND view IN (SELECT value FROM json_each(:views))
GROUP BY {{key}}
"""
"""Of scores three digits are listed. Sums of money are split, since SQLite's integers have 64 bits."""


def quality_answer(question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    rows = [_row(value, sums) for value, sums in _grouped(question, streams, (question.view,))]
    return {
        "group_by": question.group_by.value if question.group_by else None,
        "min_confidence": question.min_confidence / SHARE_UNITS,
        "data": rows,
        "banners": [_banner(row) for row in rows if row["mean_score"] is not None and row["mean_score"] < SCORE_FLOOR],
    }


def _grouped(
    question: StatsQuery, streams: Sequence[CountedStream], views: Sequence[VerdictView]
) -> Iterator[tuple[str | None, Sums]]:
    """Sums of verdicts by value, most verdicts first; one without a value where nothing is grouped."""
    if question.group_by is GroupDimension.REPOSITORY:
        query = VERDICT_SUMS.format(value="CAST(repository_id AS TEXT)", rows=BY_REPOSITORY, key="repositories.id")
    else:
        value = CLASS_COLUMNS[question.group_by] if question.group_by else "NULL"
        query = VERDICT_SUMS.format(value=value, rows=BY_CLASS, key="classes.id")
    sums = sum_rows(
        streams,
        query,
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
        "accepts": sums["accept"],
        "rejects": sums["reject"],
        "abstains": sums["abstain"],
        "live": {
            "verdict_count": sums["n"] - sums["rejudged"],
            **{f"{name}s": sums[name] - sums[f"rejudged_{name}"] for name in ("accept", "reject", "abstain")},
        },
        "failed_count": sums["failed"],
        "judge_cost_usd_total": format_dollars(total_nano(sums)),
        "unknown_price_count": sums["unpriced"],
        "thumbs_down_count": sums["down"],
    }


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
    grouped = list(_grouped(question, streams, (VerdictView.VERDICTS, VerdictView.CANARIES)))
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
