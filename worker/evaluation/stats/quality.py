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
