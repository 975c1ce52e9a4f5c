"""Which of the lines that the dispatcher looks through hold something now, asked of all of them at once.

Takes nothing out of a line (each line's own `next` does). Invariant: a line whose `next` would answer something is named; one
that is named may have nothing to give after all.
"""

from enum import Enum
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, whole
from worker.adapters.redis.queue_keys import (
    ADDED_REPOSITORIES,
    COMMANDS,
    COMMENT_JOBS,
    GROUPS,
    PULL_REQUEST_EVENTS,
    SCANS,
    SHARED_HEADS,
)
from worker.adapters.redis.scripts import Script, run_script


class PendingWork(Enum):
    """What there is to do, and by which keys its lines are in order."""

    JUDGE = (keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS)
    OPEN = (keys.PENDING_CHECK_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS)
    ANSWER = (COMMANDS.order,)
    ANSWER_GROUP = (GROUPS.order,)
    WRITE = (COMMENT_JOBS.order,)
    FOLLOW = (PULL_REQUEST_EVENTS.order,)
    CONCLUDE = (keys.LOOKAHEAD,)
    SETTLE = (SHARED_HEADS.order,)
    GREET = (ADDED_REPOSITORIES.order,)
    SCAN = (SCANS.order,)


_FIRST, *_OTHERS = ((todo, key) for todo in PendingWork for key in todo.value)
_ASKED: Final = (_FIRST, (None, keys.LAST_DISPATCH), *_OTHERS)
_KEYS: Final = tuple(key for _, key in _ASKED)


def find_pending_work(wire: RedisClient, call: str) -> frozenset[PendingWork]:
    """What is due. *call* names the next judging to hand out: one that was given already is due, too."""
    numbers = [whole(number) for number in items(run_script(wire, Script.DUE, _KEYS, call))]
    return frozenset(todo for number in numbers if (todo := _ASKED[number - 1][0]))
