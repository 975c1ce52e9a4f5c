"""Which of the lines that the dispatcher looks through hold something now, asked of all of them at once.

Takes nothing out of a line (each line's own `next` does). Invariant: a line whose `next` would answer something is named; one
that is named may have nothing to give after all.
"""

from enum import Enum
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, items, whole
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.waiting_keys import ASKS, COMMITS, GREETINGS, GROUPS, HAPPENINGS, LETTERS, SCANS


class Todo(Enum):
    """What there is to do, and by which keys its lines are in order."""

    JUDGE = (keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS)
    OPEN = (keys.OPENING_TURNS, keys.OPENING_OUTSIDE_TURNS)
    ANSWER = (ASKS.order,)
    ANSWER_GROUP = (GROUPS.order,)
    WRITE = (LETTERS.order,)
    FOLLOW = (HAPPENINGS.order,)
    CONCLUDE = (keys.LOOKAHEAD,)
    SETTLE = (COMMITS.order,)
    GREET = (GREETINGS.order,)
    SCAN = (SCANS.order,)


_FIRST, *_OTHERS = ((todo, key) for todo in Todo for key in todo.value)
_ASKED: Final = (_FIRST, (None, keys.GAVE), *_OTHERS)
_KEYS: Final = tuple(key for _, key in _ASKED)


def things_to_do(wire: Wire, call: str) -> frozenset[Todo]:
    """What is due. *call* names the next judging to hand out: one that was given already is due, too."""
    numbers = [whole(one) for one in items(run(wire, Script.DUE, _KEYS, call))]
    return frozenset(todo for number in numbers if (todo := _ASKED[number - 1][0]))
