"""What is told late of a base that a pull request went into takes it back nowhere. GitHub delivers in any order, and again."""

from itertools import count, pairwise, permutations

import pytest

from tests.worker.adapters.redis.played import HEAD, becomes_due, pull, wish
from worker.adapters.redis import intake, keys
from worker.adapters.redis.client import items, text, whole
from worker.adapters.redis.pull_requests import DispatchLimits, JudgedHead, LeasedJob
from worker.adapters.redis.store import Store
from worker.domain.ids import BaseHash, hash_base
from worker.domain.lifecycle.intake import NamedHead
from worker.domain.lifecycle.judging import Finish
from worker.domain.request.judge_request import Trigger
from worker.settings import Timing

CALLS = count(1)
QUIET = Timing(quiet_window=45, quiet_max=300, gather=2)
MAIN, DEV, NEXT = (hash_base(name) for name in ("main", "dev", "next"))


def opened(store: Store, base: BaseHash = MAIN) -> None:
    intake.request_judging(store.client, wish(trigger=Trigger.OPENED, base=base), QUIET)


def moved(store: Store, left: BaseHash | None, base: BaseHash, *, draft: bool = False) -> None:
    intake.request_judging(
        store.client, wish(trigger=Trigger.BASE, base=base, draft=draft), QUIET, NamedHead(previous_base=left)
    )


def seen(store: Store, base: BaseHash) -> None:
    """By the look around, at GitHub."""
    intake.request_judging(store.client, wish(trigger=Trigger.BASE, base=base), QUIET)


def field(store: Store, name: str) -> str:
    return text(store.client.call("HGET", keys.pull(pull()).name, name))


def base(store: Store) -> str:
    return field(store, "base")


def rebased(store: Store) -> str:
    """When what people let pass before counted no more."""
    return text(store.client.call("HGET", keys.decisions(pull()).name, "rebased"))


def decides(store: Store) -> None:
    """People let it pass now."""
    store.client.call("HDEL", keys.decisions(pull()).name, "rebased")


def taken(store: Store) -> LeasedJob:
    becomes_due(store, pull())
    given = store.pulls.next_due(f"base-{next(CALLS)}", DispatchLimits(3, 3))
    assert given is not None
    found = store.pulls.take_lease(pull(), given.fence)
    assert found is not None
    return found


def judged(store: Store, at: BaseHash) -> None:
    """GitHub shows it as going into this base."""
    store.pulls.finish(taken(store).lease, Finish.JUDGED, of=JudgedHead(HEAD, at))


ROUTES = [
    (MAIN, DEV),
    (MAIN, DEV, MAIN),
    (MAIN, DEV, NEXT),
    (MAIN, DEV, NEXT, MAIN),
    (MAIN, DEV, NEXT, DEV),
    (MAIN, DEV, MAIN, DEV),
]


@pytest.mark.parametrize("route", ROUTES, ids=[f"route {at}" for at, _ in enumerate(ROUTES)])
def test_once_all_was_told_the_last_base_is_known_in_whatever_order_it_was(
    store: Store, route: tuple[BaseHash, ...]
) -> None:
    for order in permutations(pairwise(route)):
        store.client.call("DEL", keys.pull(pull()).name)
        opened(store)
        for left, to in order:
            moved(store, left, to)
        assert (base(store), field(store, "bases")) == (route[-1], "")


def test_what_came_back_is_known_to_be_there_while_its_way_is_told_backwards(store: Store) -> None:
    opened(store)
    known: list[str] = []
    for left, to in ((NEXT, MAIN), (DEV, NEXT), (MAIN, DEV)):
        moved(store, left, to)
        known.append(base(store))
    assert known == [MAIN, MAIN, MAIN], "it went there, whatever else is told last"


def test_a_base_that_was_left_before_the_known_one_is_taken_back_to_by_nobody(store: Store) -> None:
    opened(store)
    moved(store, DEV, MAIN)
    judged(store, MAIN)
    decides(store)
    moved(store, MAIN, DEV)
    assert base(store) == MAIN
    assert not rebased(store), "what people let pass since then still counts"
    assert taken(store).request.base == MAIN, "it is looked at all the same: what was taken for late may be none"


def test_what_is_told_late_while_it_waits_changes_nothing_of_that(store: Store) -> None:
    opened(store)
    moved(store, DEV, MAIN)
    waits = field(store, "due")
    moved(store, MAIN, DEV)
    assert field(store, "due") == waits
    assert taken(store).request.base == MAIN


def test_going_back_to_a_base_counts(store: Store) -> None:
    opened(store)
    for left, to in pairwise((MAIN, DEV, MAIN, DEV)):
        decides(store)
        moved(store, left, to)
        assert base(store) == to
        assert rebased(store)


def test_where_it_can_not_be_told_what_came_last_the_next_judging_asks_github(store: Store) -> None:
    """It was heard of first when it went into the last of three; both edits come late."""
    opened(store, NEXT)
    moved(store, MAIN, DEV)
    assert base(store) == DEV, "told last"
    judged(store, NEXT)
    assert base(store) == NEXT
    moved(store, DEV, NEXT)
    assert base(store) == NEXT


def test_what_is_told_while_that_judging_is_under_way_is_left_to_the_next_one(store: Store) -> None:
    opened(store)
    moved(store, MAIN, DEV)
    under_way = taken(store)
    moved(store, DEV, NEXT)
    store.pulls.finish(under_way.lease, Finish.JUDGED, of=JudgedHead(HEAD, DEV))
    assert base(store) == NEXT
    judged(store, NEXT)
    assert (base(store), field(store, "turned")) == (NEXT, "")


def test_one_that_is_taken_for_late_though_it_is_new_is_left_to_the_look_around(store: Store) -> None:
    """What led to `dev` was lost; the next that does is taken for it."""
    opened(store)
    moved(store, DEV, MAIN)
    judged(store, MAIN)
    moved(store, MAIN, DEV)
    judged(store, DEV)
    assert store.pulls.record_base(pull(), DEV) == MAIN, "so that what people let pass counts no more then"
    decides(store)
    seen(store, DEV)
    assert base(store) == DEV
    assert rebased(store)


def test_githubs_own_word_ends_every_doubt(store: Store) -> None:
    opened(store)
    moved(store, DEV, NEXT)
    seen(store, NEXT)
    assert (base(store), field(store, "bases")) == (NEXT, "")
    moved(store, NEXT, DEV)
    assert base(store) == DEV


def test_a_base_that_was_written_anew_tells_of_no_other(store: Store) -> None:
    """Who is judged again for it may have been told of it late."""
    opened(store)
    intake.request_judging(store.client, wish(trigger=Trigger.BASE, base=DEV, head_sha=None), QUIET)
    assert base(store) == MAIN
    assert rebased(store)


def test_what_says_of_no_base_that_it_was_left_is_taken_as_it_is_told(store: Store) -> None:
    opened(store)
    moved(store, None, DEV)
    assert base(store) == DEV


def test_the_first_that_is_heard_of_is_the_base_whatever_it_left(store: Store) -> None:
    intake.request_judging(store.client, wish(trigger=Trigger.COMMAND, head_sha=None), QUIET)
    moved(store, DEV, NEXT)
    assert base(store) == NEXT


def test_a_draft_keeps_the_base_that_it_went_into_last(store: Store) -> None:
    opened(store)
    moved(store, DEV, MAIN, draft=True)
    moved(store, MAIN, DEV, draft=True)
    assert base(store) == MAIN


def test_what_is_never_told_does_not_grow_without_end(store: Store) -> None:
    opened(store)
    for number in range(40):
        moved(store, hash_base(f"left {number}"), hash_base(f"base {number}"))
    assert base(store) == hash_base("base 39")
    assert whole(store.client.call("HSTRLEN", keys.pull(pull()).name, "bases")) <= 1_000
    assert items(store.client.call("HKEYS", keys.pull(pull()).name))
