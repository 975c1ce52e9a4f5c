"""Which tables a question needs, and what every answer has: the window, what was skipped, how far was counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never

from worker.evaluation.stats import agreement, people, quality, tables
from worker.evaluation.stats.counters import CountersByValue, merge_counters
from worker.evaluation.stats.ingest import OpenEvaluation
from worker.evaluation.stats.stats_query import StatsQuery, StatsTopic
from worker.evaluation.stats.windows import EPOCH, to_milliseconds

ALWAYS_NEEDED: Final = (tables.SKIPPED, tables.TROUBLES)


@dataclass(frozen=True)
class CountedTables:
    """What was counted: `tables` by name; `open_evaluations`: evaluations without an end; `until`: the last entry's time.

    `is_behind`: there are more entries, left to the next question. `counted`: entries that this question counted.
    """

    tables: Mapping[str, CountersByValue]
    open_evaluations: Sequence[OpenEvaluation]
    until: datetime
    is_behind: bool
    counted: int = 0

    def table(self, name: str) -> CountersByValue:
        return self.tables.get(name, {})


def combine_tables(many: Sequence[CountedTables]) -> CountedTables:
    """The sum of several installations."""
    if len(many) == 1:
        return many[0]
    names = {name for tables in many for name in tables.tables}
    return CountedTables(
        {name: merge_counters(tables.table(name) for tables in many) for name in sorted(names)},
        tuple(opened for tables in many for opened in tables.open_evaluations),
        max((tables.until for tables in many), default=EPOCH),
        is_behind=any(tables.is_behind for tables in many),
    )


def tables_needed(topic: StatsTopic, question: StatsQuery) -> tuple[str, ...]:
    """The tables that the answer is made of."""
    return (*ALWAYS_NEEDED, *_tables_for(topic, question))


def _tables_for(topic: StatsTopic, question: StatsQuery) -> Iterable[str]:
    match topic:
        case StatsTopic.QUALITY:
            return (*quality.tables_of(question), *quality.spread_tables_of(question))
        case StatsTopic.COST:
            return quality.cost_tables_of(question)
        case StatsTopic.AGREEMENT:
            return (*tables.AGREEMENTS, *map(tables.outcome_table, agreement.STRENGTH_NAMES))
        case StatsTopic.BACKLOG:
            return (tables.FLOW,)
        case StatsTopic.AGENTS:
            return (tables.AGENTS,)
        case StatsTopic.OVERRIDES:
            return (tables.OVER_SIGNAL, tables.OVER_CATEGORY, tables.OVER_RUBRIC, tables.OUTCOMES)
        case _:
            assert_never(topic)


def answer_query(topic: StatsTopic, question: StatsQuery, counted: CountedTables) -> dict[str, Any]:
    """The whole answer, as it is sent."""
    return {**answer_frame(question, counted), **_answer(topic, question, counted)}


def _answer(topic: StatsTopic, question: StatsQuery, counted: CountedTables) -> dict[str, Any]:
    match topic:
        case StatsTopic.QUALITY:
            spread = [counted.table(name) for name in quality.spread_tables_of(question)]
            return quality.quality_answer(
                question, [counted.table(name) for name in quality.tables_of(question)], spread
            )
        case StatsTopic.COST:
            return quality.cost_answer(question, [counted.table(name) for name in quality.cost_tables_of(question)])
        case StatsTopic.AGREEMENT:
            return agreement.agreement_answer(question, counted.tables)
        case StatsTopic.BACKLOG:
            return people.backlog_answer(
                question, counted.table(tables.FLOW), counted.open_evaluations, to_milliseconds(counted.until)
            )
        case StatsTopic.AGENTS:
            return people.agents_answer(counted.table(tables.AGENTS))
        case StatsTopic.OVERRIDES:
            return people.overrides_answer(counted.tables)
        case _:
            assert_never(topic)


def answer_frame(question: StatsQuery, counted: CountedTables) -> dict[str, Any]:
    """What every answer has: which whole hours were counted, and what was skipped."""
    return {
        "window": {"from": question.window.since.isoformat(), "to": question.window.until.isoformat()},
        "counted_until": None if counted.until == EPOCH else counted.until.isoformat(timespec="milliseconds"),
        "is_behind": counted.is_behind,
        "skipped": _by_name(counted.table(tables.SKIPPED)),
        "troubles": _by_name(counted.table(tables.TROUBLES)),
    }


def _by_name(cells: CountersByValue) -> dict[str, int]:
    return {name: cells[name].get("n") for name in sorted(cells)}
