"""Questions to a made-up history, answered without Redis.

Invariant: one day around NOON is asked about where a test names no other time.
"""

from datetime import datetime, timedelta
from typing import Any

from tests.worker.evaluation.stats.told import NOON, Told, folded
from worker.evaluation.stats.asking import Topic, asked
from worker.evaluation.stats.cells import Cells, merged
from worker.evaluation.stats.ingest import Fold
from worker.evaluation.stats.queries import Found, answer, needed

NOW = NOON + timedelta(hours=12)


def found(fold: Fold, since: datetime, until: datetime, names: tuple[str, ...]) -> Found:
    hours = range(int(since.timestamp()) // 3600, -(-int(until.timestamp()) // 3600))
    tables: dict[str, Cells] = {
        name: merged(cells for (table, hour), cells in fold.cells.items() if table == name and hour in hours)
        for name in names
    }
    return Found(tables, tuple(fold.opened.values()), NOW, is_behind=False)


def ask(topic: Topic, history: tuple[Told, ...], **given: str) -> dict[str, Any]:
    """The answer, as it is sent. `from` is written as `since`."""
    since = given.pop("since", (NOON - timedelta(hours=12)).isoformat())
    question = asked({"from": since, **given}, topic, NOW)
    fold = folded(*history)
    return answer(topic, question, found(fold, question.over.since, question.over.until, needed(topic, question)))


def rows(topic: Topic, *history: Told, **given: str) -> list[dict[str, Any]]:
    return ask(topic, history, **given)["data"]


def row(topic: Topic, *history: Told, **given: str) -> dict[str, Any]:
    """The only one."""
    [one] = rows(topic, *history, **given)
    return one
