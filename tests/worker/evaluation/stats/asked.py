"""Questions to a made-up history, answered without Redis.

Invariant: one day around NOON is asked about where a test names no other time.
"""

from datetime import timedelta
from typing import Any

from tests.worker.evaluation.stats.told import NOON, Told, counted
from worker.evaluation.stats.queries import answer_query
from worker.evaluation.stats.stats_query import StatsTopic, parse_query

NOW = NOON + timedelta(hours=12)


def ask(topic: StatsTopic, history: tuple[Told, ...], **given: str) -> dict[str, Any]:
    """The answer, as it is sent. `from` is written as `since`."""
    since = given.pop("since", (NOON - timedelta(hours=12)).isoformat())
    question = parse_query({"from": since, **given}, topic, NOW)
    with counted(*history) as stream:
        return answer_query(topic, question, [stream])


def rows(topic: StatsTopic, *history: Told, **given: str) -> list[dict[str, Any]]:
    return ask(topic, history, **given)["data"]


def row(topic: StatsTopic, *history: Told, **given: str) -> dict[str, Any]:
    """The only one."""
    [one] = rows(topic, *history, **given)
    return one
