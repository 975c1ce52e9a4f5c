"""Questions to a made-up history, answered without Redis.

Invariant: one day around NOON is asked about where a test names no other time.
"""

from datetime import datetime, timedelta
from typing import Any

from tests.worker.evaluation.stats.told import NOON, Told, folded
from worker.evaluation.stats.counters import CountersByValue, merge_counters
from worker.evaluation.stats.ingest import EventAggregator
from worker.evaluation.stats.queries import CountedTables, answer_query, tables_needed
from worker.evaluation.stats.stats_query import StatsTopic, parse_query

NOW = NOON + timedelta(hours=12)


def found(fold: EventAggregator, since: datetime, until: datetime, names: tuple[str, ...]) -> CountedTables:
    hours = range(int(since.timestamp()) // 3600, -(-int(until.timestamp()) // 3600))
    tables: dict[str, CountersByValue] = {
        name: merge_counters(cells for (table, hour), cells in fold.cells.items() if table == name and hour in hours)
        for name in names
    }
    return CountedTables(tables, tuple(fold.open_evaluations.values()), NOW, is_behind=False)


def ask(topic: StatsTopic, history: tuple[Told, ...], **given: str) -> dict[str, Any]:
    """The answer, as it is sent. `from` is written as `since`."""
    since = given.pop("since", (NOON - timedelta(hours=12)).isoformat())
    question = parse_query({"from": since, **given}, topic, NOW)
    fold = folded(*history)
    return answer_query(
        topic, question, found(fold, question.window.since, question.window.until, tables_needed(topic, question))
    )


def rows(topic: StatsTopic, *history: Told, **given: str) -> list[dict[str, Any]]:
    return ask(topic, history, **given)["data"]


def row(topic: StatsTopic, *history: Told, **given: str) -> dict[str, Any]:
    """The only one."""
    [one] = rows(topic, *history, **given)
    return one
