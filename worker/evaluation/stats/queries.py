"""The answer to a question: its figures, and what every answer has: the window, what was skipped, how far was counted."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from worker.evaluation.stats.agreement import agreement_answer
from worker.evaluation.stats.figures import CountedStream
from worker.evaluation.stats.people import agents_answer, backlog_answer, count_values, overrides_answer
from worker.evaluation.stats.quality import cost_answer, quality_answer
from worker.evaluation.stats.stats_query import StatsQuery, StatsTopic
from worker.evaluation.stats.windows import EPOCH

ANSWERS: Final[Mapping[StatsTopic, Callable[[StatsQuery, Sequence[CountedStream]], dict[str, Any]]]] = {
    StatsTopic.QUALITY: quality_answer,
    StatsTopic.COST: cost_answer,
    StatsTopic.AGREEMENT: agreement_answer,
    StatsTopic.BACKLOG: backlog_answer,
    StatsTopic.AGENTS: agents_answer,
    StatsTopic.OVERRIDES: overrides_answer,
}


def answer_query(topic: StatsTopic, question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    """The whole answer, as it is sent: over all hours of the window whose entries are kept."""
    until_ms = max((stream.until_ms for stream in streams), default=0)
    counted_until = EPOCH + timedelta(milliseconds=until_ms)
    return {
        "window": {"from": question.window.since.isoformat(), "to": question.window.until.isoformat()},
        "counted_until": counted_until.isoformat(timespec="milliseconds") if until_ms else None,
        "is_behind": any(stream.is_behind for stream in streams),
        "skipped": count_values(streams, "skipped", question.window),
        "troubles": count_values(streams, "troubles", question.window),
        **ANSWERS[topic](question, streams),
    }
