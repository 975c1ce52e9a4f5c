"""One look tells what all lines of the dispatcher hold."""

from collections.abc import Callable

import pytest

from tests.worker.adapters.redis.played import becomes_due, command, pull, wish
from tests.worker.adapters.redis.test_merge_groups import group
from tests.worker.adapters.redis.test_task_queue import letter, scan
from tests.worker.adapters.redis.watching import revert
from worker.adapters.redis import keys
from worker.adapters.redis.delayed_queue import WORK_KEYS, find_pending_work
from worker.adapters.redis.keys import (
    ADDED_REPOSITORIES,
    COMMANDS,
    COMMENT_JOBS,
    GROUPS,
    PULL_REQUEST_EVENTS,
    SCANS,
    SHARED_HEADS,
)
from worker.adapters.redis.store import Store
from worker.domain.lifecycle.work import DispatchLimits, PendingWork

LIMITS = DispatchLimits.of_workers(2)
SOON = 4_000_000_000_000
ORDERS = (COMMANDS, SHARED_HEADS, ADDED_REPOSITORIES, GROUPS, PULL_REQUEST_EVENTS, COMMENT_JOBS, SCANS)


PUTS: list[tuple[PendingWork, Callable[[Store], object], Callable[[Store], object]]] = [
    (PendingWork.ANSWER, lambda store: store.commands.put(command()), lambda store: store.commands.next()),
    (PendingWork.WRITE, lambda store: store.comment_jobs.put(letter()), lambda store: store.comment_jobs.next()),
    (PendingWork.SCAN, lambda store: store.scans.put(scan()), lambda store: store.scans.next()),
    (
        PendingWork.FOLLOW,
        lambda store: store.pull_request_events.put(revert()),
        lambda store: store.pull_request_events.next(),
    ),
    (PendingWork.ANSWER_GROUP, lambda store: store.groups.put(group()), lambda store: store.groups.next()),
]


def test_where_nothing_waits_nothing_is_due(store: Store) -> None:
    assert find_pending_work(store.client, "call") == frozenset()


@pytest.mark.parametrize(("todo", "put", "take"), PUTS, ids=[todo.name for todo, _, _ in PUTS])
def test_what_waits_is_due_until_somebody_is_at_it(
    store: Store, todo: PendingWork, put: Callable[[Store], object], take: Callable[[Store], object]
) -> None:
    put(store)
    assert find_pending_work(store.client, "call") == {todo}
    assert take(store) is not None
    assert find_pending_work(store.client, "call") == frozenset()
    assert take(store) is None


@pytest.mark.parametrize(("todo", "order"), [pytest.param(todo, order, id=order.name) for todo, order in WORK_KEYS])
def test_each_line_is_due_by_its_own_first_moment(store: Store, todo: PendingWork, order: keys.Key) -> None:
    store.client.call("ZADD", order.name, SOON, "later")
    assert find_pending_work(store.client, "call") == frozenset()
    store.client.call("ZADD", order.name, 1, "now")
    assert find_pending_work(store.client, "call") == {todo}


def test_every_line_that_things_wait_in_is_looked_at() -> None:
    turns = {keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS, keys.PENDING_CHECK_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS}
    assert {line.order for line in ORDERS} | turns | {keys.LOOKAHEAD} == {order for _, order in WORK_KEYS}


def test_a_pull_request_is_to_be_opened_and_judged_until_both_were_given(store: Store) -> None:
    store.pulls.request_judging(wish())
    assert find_pending_work(store.client, "call") == {PendingWork.OPEN, PendingWork.JUDGE}
    assert store.pulls.next_to_open()
    assert store.pulls.next_to_open() is None
    assert find_pending_work(store.client, "call") == {PendingWork.JUDGE}
    assert store.pulls.next_due("call", LIMITS)
    assert store.pulls.next_due("next", LIMITS) is None
    assert find_pending_work(store.client, "next") == frozenset()


def test_a_judging_whose_answer_was_lost_is_due_for_the_same_call_alone(store: Store) -> None:
    store.pulls.request_judging(wish())
    becomes_due(store, pull())
    given = store.pulls.next_due("call", LIMITS)
    assert given
    assert store.pulls.next_due("other", LIMITS) is None
    assert PendingWork.JUDGE not in find_pending_work(store.client, "other")
    assert PendingWork.JUDGE in find_pending_work(store.client, "call")
    assert store.pulls.next_due("call", LIMITS) == given
