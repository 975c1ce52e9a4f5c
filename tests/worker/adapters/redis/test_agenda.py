"""One look tells what all lines of the dispatcher hold."""

from collections.abc import Callable

import pytest

from tests.worker.adapters.redis.played import becomes_due, command, pull, wish
from tests.worker.adapters.redis.test_follow_ups import letter, scan
from tests.worker.adapters.redis.test_merge_groups import group
from tests.worker.adapters.redis.watching import revert
from worker.adapters.redis import keys
from worker.adapters.redis.agenda import Todo, things_to_do
from worker.adapters.redis.pull_requests import Limits
from worker.adapters.redis.store import Store
from worker.adapters.redis.waiting_keys import ASKS, COMMITS, GREETINGS, GROUPS, HAPPENINGS, LETTERS, SCANS

LIMITS = Limits.of_workers(2)
SOON = 4_000_000_000_000
ORDERS = (ASKS, COMMITS, GREETINGS, GROUPS, HAPPENINGS, LETTERS, SCANS)


PUTS: list[tuple[Todo, Callable[[Store], object], Callable[[Store], object]]] = [
    (Todo.ANSWER, lambda store: store.asks.put(command()), lambda store: store.asks.next()),
    (Todo.WRITE, lambda store: store.letters.put(letter()), lambda store: store.letters.next()),
    (Todo.SCAN, lambda store: store.scans.put(scan()), lambda store: store.scans.next()),
    (Todo.FOLLOW, lambda store: store.happenings.put(revert()), lambda store: store.happenings.next()),
    (Todo.ANSWER_GROUP, lambda store: store.groups.put(group()), lambda store: store.groups.next()),
]


def test_where_nothing_waits_nothing_is_due(store: Store) -> None:
    assert things_to_do(store.wire, "call") == frozenset()


@pytest.mark.parametrize(("todo", "put", "take"), PUTS, ids=[todo.name for todo, _, _ in PUTS])
def test_what_waits_is_due_until_somebody_is_at_it(
    store: Store, todo: Todo, put: Callable[[Store], object], take: Callable[[Store], object]
) -> None:
    put(store)
    assert things_to_do(store.wire, "call") == {todo}
    assert take(store) is not None
    assert things_to_do(store.wire, "call") == frozenset()
    assert take(store) is None


@pytest.mark.parametrize(
    ("todo", "order"), [pytest.param(todo, order, id=order.name) for todo in Todo for order in todo.value]
)
def test_each_line_is_due_by_its_own_first_moment(store: Store, todo: Todo, order: keys.Key) -> None:
    store.wire.call("ZADD", order.name, SOON, "later")
    assert things_to_do(store.wire, "call") == frozenset()
    store.wire.call("ZADD", order.name, 1, "now")
    assert things_to_do(store.wire, "call") == {todo}


def test_every_line_that_things_wait_in_is_looked_at() -> None:
    turns = {keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS, keys.OPENING_TURNS, keys.OPENING_OUTSIDE_TURNS}
    assert {line.order for line in ORDERS} | turns | {keys.LOOKAHEAD} == {
        order for todo in Todo for order in todo.value
    }


def test_a_pull_request_is_to_be_opened_and_judged_until_both_were_given(store: Store) -> None:
    store.pulls.want(wish())
    assert things_to_do(store.wire, "call") == {Todo.OPEN, Todo.JUDGE}
    assert store.pulls.next_to_open()
    assert store.pulls.next_to_open() is None
    assert things_to_do(store.wire, "call") == {Todo.JUDGE}
    assert store.pulls.next_due("call", LIMITS)
    assert store.pulls.next_due("next", LIMITS) is None
    assert things_to_do(store.wire, "next") == frozenset()


def test_a_judging_whose_answer_was_lost_is_due_for_the_same_call_alone(store: Store) -> None:
    store.pulls.want(wish())
    becomes_due(store, pull())
    given = store.pulls.next_due("call", LIMITS)
    assert given
    assert store.pulls.next_due("other", LIMITS) is None
    assert Todo.JUDGE not in things_to_do(store.wire, "other")
    assert Todo.JUDGE in things_to_do(store.wire, "call")
    assert store.pulls.next_due("call", LIMITS) == given
