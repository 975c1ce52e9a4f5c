"""What a rate limit put off waits for its turn after it; what somebody asks for waits for the limit alone."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import NEWER, pull, wish
from tests.worker.adapters.redis.test_after_an_outage import HOUR, due_in, takes
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import RateLimitWait

LIMIT = HOUR - timedelta(minutes=10)


def put_off(store: Store) -> None:
    store.pulls.request_judging(wish())
    store.pulls.finish(takes(store, pull()).lease, Finish.PUT_OFF, RateLimitWait(LIMIT, HOUR))


def is_about(found_s: float, wait: timedelta) -> bool:
    return abs(found_s - wait.total_seconds()) < 30


def test_it_comes_back_at_its_turn_and_no_push_changes_that(store: Store) -> None:
    put_off(store)
    assert is_about(due_in(store, pull()), HOUR)
    store.pulls.request_judging(wish(head_sha=NEWER))
    assert is_about(due_in(store, pull()), HOUR)


@pytest.mark.parametrize("trigger", [Trigger.COMMAND, Trigger.FORCE, Trigger.CONTEST, Trigger.RERUN, Trigger.CASE])
def test_who_asks_for_it_waits_for_the_limit_and_no_turn(store: Store, trigger: Trigger) -> None:
    put_off(store)
    store.pulls.request_judging(wish(trigger=trigger))
    assert is_about(due_in(store, pull()), LIMIT)
    store.pulls.request_judging(wish(head_sha=NEWER))
    assert is_about(due_in(store, pull()), LIMIT), "and keeps that"


def test_who_asks_after_a_push_waits_no_longer_either(store: Store) -> None:
    store.pulls.request_judging(wish())
    taken = takes(store, pull())
    store.pulls.request_judging(wish(head_sha=NEWER))
    store.pulls.finish(taken.lease, Finish.PUT_OFF, RateLimitWait(LIMIT, HOUR))
    store.pulls.request_judging(wish(trigger=Trigger.COMMAND))
    assert is_about(due_in(store, pull()), LIMIT)


def test_a_limit_is_forgotten_when_it_is_judged(store: Store) -> None:
    put_off(store)
    taken = takes(store, pull())
    assert store.client.call("HGET", keys.pull(pull()).name, "limit") is None
    store.pulls.finish(taken.lease, Finish.RETRY, HOUR)
    store.pulls.request_judging(wish(trigger=Trigger.COMMAND))
    assert is_about(due_in(store, pull()), HOUR), "what failed otherwise has a wait of its own"


def test_those_who_wait_and_those_who_are_judged_are_the_crowd(store: Store) -> None:
    here = pull().installation_id
    assert store.pulls.count_waiting(here) == 0
    for number in (1, 2, 3):
        store.pulls.request_judging(wish(number))
    store.pulls.request_judging(wish(4, installation=200))
    takes(store, pull(2))
    assert store.pulls.count_waiting(here) == 3
