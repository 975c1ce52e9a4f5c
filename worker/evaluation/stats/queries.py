"""Which tables a question needs, and what every answer says about itself: the window, what was skipped, how far was counted.

Does not compute figures (its neighbours do). Invariant: the same cells give the same answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, assert_never

from worker.domain.value import Value
from worker.evaluation.stats import agreement, people, quality, tables
from worker.evaluation.stats.asking import Question, Topic
from worker.evaluation.stats.cells import Cells, merged
from worker.evaluation.stats.ingest import Opened
from worker.evaluation.stats.windows import EPOCH, ms

ALWAYS: Final = (tables.SKIPPED, tables.TROUBLES)


class Found(Value):
    """What was counted: `tables` by name; `opened`: evaluations without an end; `until`: the last entry's time.

    `is_behind`: more has happened since, and is counted at the next question. `counted`: entries that this question counted.
    """

    tables: Mapping[str, Cells]
    opened: Sequence[Opened]
    until: datetime
    is_behind: bool
    counted: int = 0

    def table(self, name: str) -> Cells:
        return self.tables.get(name, {})


def together(many: Sequence[Found]) -> Found:
    """Of several installations."""
    if len(many) == 1:
        return many[0]
    names = {name for one in many for name in one.tables}
    return Found(
        {name: merged(one.table(name) for one in many) for name in sorted(names)},
        tuple(opened for one in many for opened in one.opened),
        max((one.until for one in many), default=EPOCH),
        is_behind=any(one.is_behind for one in many),
    )


def needed(topic: Topic, question: Question) -> tuple[str, ...]:
    """The tables that the answer is made of."""
    return (*ALWAYS, *_needed(topic, question))


def _needed(topic: Topic, question: Question) -> Iterable[str]:
    match topic:
        case Topic.QUALITY:
            return (*quality.tables_of(question), *quality.spread_tables_of(question))
        case Topic.COST:
            return quality.cost_tables_of(question)
        case Topic.AGREEMENT:
            return (*tables.AGREEMENTS, *map(tables.people, agreement.STRENGTHS))
        case Topic.BACKLOG:
            return (tables.FLOW,)
        case Topic.AGENTS:
            return (tables.AGENTS,)
        case Topic.OVERRIDES:
            return (tables.OVER_SIGNAL, tables.OVER_CATEGORY, tables.OVER_RUBRIC, tables.OUTCOMES)
        case _:
            assert_never(topic)


def answer(topic: Topic, question: Question, found: Found) -> dict[str, Any]:
    """The whole answer, as it is sent."""
    return {**frame(question, found), **_answer(topic, question, found)}


def _answer(topic: Topic, question: Question, found: Found) -> dict[str, Any]:
    match topic:
        case Topic.QUALITY:
            spread = [found.table(name) for name in quality.spread_tables_of(question)]
            return quality.quality(question, [found.table(name) for name in quality.tables_of(question)], spread)
        case Topic.COST:
            return quality.cost(question, [found.table(name) for name in quality.cost_tables_of(question)])
        case Topic.AGREEMENT:
            return agreement.agreement(question, found.tables)
        case Topic.BACKLOG:
            return people.backlog(question, found.table(tables.FLOW), found.opened, ms(found.until))
        case Topic.AGENTS:
            return people.agents(found.table(tables.AGENTS))
        case Topic.OVERRIDES:
            return people.overrides(found.tables)
        case _:
            assert_never(topic)


def frame(question: Question, found: Found) -> dict[str, Any]:
    """What every answer says: which whole hours were counted, and what was not."""
    return {
        "window": {"from": question.over.since.isoformat(), "to": question.over.until.isoformat()},
        "counted_until": None if found.until == EPOCH else found.until.isoformat(timespec="milliseconds"),
        "is_behind": found.is_behind,
        "skipped": _by_name(found.table(tables.SKIPPED)),
        "troubles": _by_name(found.table(tables.TROUBLES)),
    }


def _by_name(cells: Cells) -> dict[str, int]:
    return {name: cells[name].get("n") for name in sorted(cells)}
