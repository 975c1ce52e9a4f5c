"""What waits until GitHub is back follows fast once one of it went well, and no faster than GitHub allows."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count, pairwise

import pytest

from tests.worker.adapters.redis.played import HEAD, NEWER, becomes_due, pull, settings, wish
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.store import Store, open_store
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import RELEASED_AT_A_TIME, DispatchLimits, JudgedHead, LeasedJob
from worker.settings import Timing

CALLS = count(1)
HOUR = timedelta(hours=1)
SOON_S = 60.0


@pytest.fixture
def store(store: Store, redis_server: Redis) -> Iterator[Store]:
    """With the gaps that Assay has when nobody sets any."""
    store.ping()  # Redis is empty from here on
    with open_store(settings(redis_server.url, Timing(quiet_window=0))) as here:
        yield here


def takes(store: Store, ref: PullRef) -> LeasedJob:
    """The judge of this one begins."""
    becomes_due(store, ref)
    while job := store.pulls.next_due(f"after-{next(CALLS)}", DispatchLimits(1_000, 1_000)):
        if job.request.pull == ref:
            taken = store.pulls.take_lease(ref, job.fence)
            assert taken is not None
            return taken
    raise AssertionError(ref)


def fails(store: Store, ref: PullRef) -> None:
    store.pulls.finish(takes(store, ref).lease, Finish.AWAY, HOUR)


def goes_well(store: Store, ref: PullRef) -> None:
    store.pulls.finish(takes(store, ref).lease, Finish.JUDGED, of=JudgedHead(HEAD))


def waits(store: Store, *numbers: int) -> None:
    """GitHub was away when these were judged."""
    for number in numbers:
        store.pulls.request_judging(wish(number))
        fails(store, pull(number))


def due_in(store: Store, ref: PullRef) -> float:
    """After how many seconds it is tried."""
    at = float(text(store.client.call("ZSCORE", keys.due(ref.installation_id).name, keys.pull(ref).name)))
    script = "local t = redis.call('TIME') return tostring(t[1] * 1000 + t[2] / 1000)"
    return (at - float(text(store.client.call("EVAL", script, 0)))) / 1000


def soon(store: Store, *numbers: int) -> list[int]:
    """Those that are tried within a minute, as they come."""
    at = {number: due_in(store, pull(number)) for number in numbers}
    return sorted((number for number in numbers if at[number] < SOON_S), key=lambda number: at[number])


def test_one_that_goes_well_lets_a_few_follow_at_the_pace_that_github_allows(store: Store) -> None:
    waits(store, *range(1, 11))
    assert soon(store, *range(1, 11)) == []
    goes_well(store, pull(1))
    assert soon(store, *range(2, 11)) == [*range(2, 2 + RELEASED_AT_A_TIME)]
    gap = store.timing.release_gap
    at = [due_in(store, pull(number)) for number in range(2, 2 + RELEASED_AT_A_TIME)]
    assert gap - 1 < at[0] <= gap
    assert all(abs(after - before - gap) < 0.5 for before, after in pairwise(at))
    assert 60 / gap * 3 <= 80, "GitHub takes 80 writes a minute, and a head needs three"


PASSES = """
for _, key in ipairs(KEYS) do
  for _, pull in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    redis.call('ZINCRBY', key, -ARGV[1], pull)
    if redis.call('HGET', pull, 'after') then redis.call('HINCRBYFLOAT', pull, 'after', -ARGV[1] / #KEYS) end
  end
end
"""


def passes(store: Store, seconds: float) -> None:
    """Of all that waits here, as long is over."""
    on = [key(pull().installation_id).name for key in (keys.due, keys.retries)]
    store.client.call("EVAL", PASSES, len(on), *on, seconds * 1000)


def test_each_that_goes_well_lets_as_many_follow_until_none_waits(store: Store) -> None:
    waits(store, *range(1, 31))
    goes_well(store, pull(1))
    took = 0.0
    while found := items(store.client.call("ZRANGE", keys.due(pull().installation_id).name, 0, 0)):
        first = pull(int(text(found[0]).rpartition(":")[2]))
        wait = max(0.0, due_in(store, first))
        assert wait < SOON_S, "nobody is left behind"
        passes(store, wait)
        took += wait
        goes_well(store, first)
    assert took < 30 * store.timing.release_gap < 30 * store.timing.retry_gap / 2


def test_who_comes_sooner_anyway_is_not_put_off_by_the_next_one_that_goes_well(store: Store) -> None:
    waits(store, *range(1, 11))
    goes_well(store, pull(1))
    gap = store.timing.release_gap
    passes(store, gap / 2)
    goes_well(store, pull(10))
    assert due_in(store, pull(2)) <= gap / 2


def test_what_fails_again_lets_nobody_follow(store: Store) -> None:
    waits(store, *range(1, 11))
    goes_well(store, pull(1))
    for number in soon(store, *range(2, 11)):
        fails(store, pull(number))
    assert soon(store, *range(2, 11)) == []


def test_one_that_github_never_failed_lets_nobody_follow(store: Store) -> None:
    waits(store, 1, 2)
    store.pulls.request_judging(wish(3))
    goes_well(store, pull(3))
    assert soon(store, 1, 2) == []


def test_a_judging_that_was_given_up_lets_nobody_follow(store: Store) -> None:
    waits(store, 1, 2)
    store.pulls.finish(takes(store, pull(1)).lease, Finish.JUDGED)
    assert soon(store, 2) == []


def test_no_other_installation_follows(store: Store) -> None:
    other = pull(2, installation=200)
    waits(store, 1)
    store.pulls.request_judging(wish(2, installation=200))
    fails(store, other)
    goes_well(store, pull(1))
    assert due_in(store, other) > SOON_S


def test_a_push_tries_at_once_and_the_others_follow_if_that_goes_well(store: Store) -> None:
    waits(store, 1, 2)
    store.pulls.request_judging(wish(1, head_sha=NEWER))
    assert soon(store, 1, 2) == [1]
    assert takes(store, pull(1)).outage_count == 0, "its hours begin anew"
    store.pulls.requeue_dead(pull(1), fence_of(store, 1))
    goes_well(store, pull(1))
    assert soon(store, 2) == [2]


def fence_of(store: Store, number: int) -> int:
    return int(text(store.client.call("HGET", keys.pull(pull(number)).name, "fence")))


def test_a_push_tries_at_once_also_where_something_was_heard_while_github_was_away(store: Store) -> None:
    store.pulls.request_judging(wish(1))
    found = takes(store, pull(1))
    store.pulls.request_judging(wish(1, trigger=Trigger.LATE, head_sha=None))
    store.pulls.finish(found.lease, Finish.AWAY, HOUR)
    assert soon(store, 1) == []
    store.pulls.request_judging(wish(1, head_sha=NEWER))
    assert soon(store, 1) == [1]


def test_a_push_to_what_became_a_draft_since_tries_at_once_too(store: Store) -> None:
    waits(store, 1)
    store.pulls.request_judging(wish(1, head_sha=NEWER, draft=True))
    assert soon(store, 1) == [1]


def test_an_errand_that_goes_well_lets_judgings_follow_too(store: Store) -> None:
    waits(store, 1, 2)
    store.pulls.release_waiting(pull().installation_id)
    assert soon(store, 1, 2) == [1, 2]
