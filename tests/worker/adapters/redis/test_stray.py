"""Check runs that were left open by whoever wrote too late and died before he could say so."""

import time
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, becomes_due, pull, wish
from tests.worker.adapters.redis.test_merge_groups import group
from tests.worker.adapters.redis.test_pull_requests import taken
from tests.worker.adapters.redis.test_triggers import At
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import CheckRunId
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import ExpiredCheckRun
from worker.domain.request.judge_request import PullRef, Trigger
from worker.settings import Timing

CHECK = CheckRunId(77)


def opened_long_ago(store: Store, ref: PullRef, head_sha: str = HEAD) -> None:
    store.checks().record_opened(ref, head_sha, CHECK)
    store.client.call("ZINCRBY", keys.DEADLINES.name, -Timing().lease * 2000, keys.check(ref, head_sha).name)


def judged(store: Store) -> None:
    store.pulls.request_judging(wish())
    store.pulls.finish(taken(store).lease, Finish.JUDGED)


def test_an_open_check_that_nobody_would_conclude_is_found_once_every_judge_that_lives_would_have(store: Store) -> None:
    judged(store)
    store.checks().record_opened(pull(), HEAD, CHECK)
    assert store.checks().take_orphaned() == (), "whoever writes it may still be at it"
    opened_long_ago(store, pull())
    assert store.checks().take_orphaned() == (ExpiredCheckRun(pull=pull(), head_sha=HEAD, check=CHECK),)


def test_one_whose_pull_request_is_to_be_judged_or_that_is_concluded_or_rests_is_none(store: Store) -> None:
    judged(store)
    opened_long_ago(store, pull())
    store.checks().record_concluded(pull(), HEAD)
    assert store.checks().take_orphaned() == ()
    store.checks().record_waiting(pull(), HEAD, CHECK, is_watched=False)
    opened_long_ago(store, pull())
    store.pulls.request_judging(wish())
    assert store.checks().take_orphaned() == ()


def test_it_is_asked_for_once_and_not_for_ever(store: Store) -> None:
    assert not store.pulls.requeue_orphaned(pull(), CHECK), "nobody ever asked for this pull request"
    judged(store)
    assert store.pulls.requeue_orphaned(pull(), CHECK)
    again = taken(store)
    assert (again.request.trigger, again.request.head_sha) == (Trigger.LATE, None)
    store.pulls.finish(again.lease, Finish.JUDGED)
    assert not store.pulls.requeue_orphaned(pull(), CHECK)


def overdue(store: Store) -> None:
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull(), HEAD).name)


def test_an_open_check_is_left_to_the_judge_who_waits_until_github_is_back(store: Store) -> None:
    store.pulls.request_judging(wish())
    store.checks().record_opened(pull(), HEAD, CHECK)
    store.pulls.finish(taken(store).lease, Finish.AWAY, timedelta(hours=1))
    overdue(store)
    assert store.checks().take_expired() == store.checks().take_orphaned() == ()
    becomes_due(store, pull())
    store.pulls.finish(taken(store).lease, Finish.JUDGED)
    overdue(store)
    store.client.call("HSET", keys.pull(pull()).name, "aways", 1)  # an older version closes it and leaves the count
    assert [one.check for one in store.checks().take_expired()] == [CHECK], "nobody waits for anything any more"


def test_an_overdue_check_that_can_not_be_closed_now_comes_again_later(store: Store) -> None:
    store.checks().record_opened(pull(), HEAD, CHECK)
    overdue(store)
    [late] = store.checks().take_expired()
    store.checks().postpone_expired(late, timedelta(hours=1))
    name = keys.check(pull(), HEAD).name
    assert float(text(store.client.call("ZSCORE", keys.DEADLINES.name, name))) > (time.time() + 3500) * 1000
    store.checks().record_concluded(pull(), HEAD)
    store.checks().postpone_expired(late, timedelta(hours=1))
    assert store.client.call("ZSCORE", keys.DEADLINES.name, name) is None, "one that was concluded stays so"


def test_the_check_of_a_merge_group_that_nobody_waits_for_any_more_is_found(store: Store) -> None:
    store.groups.put(group())
    opened_long_ago(store, pull(0), group().head_sha)
    assert store.checks().take_orphaned() == (), "it is to be answered"
    store.groups.complete(group())
    assert store.checks().take_orphaned() == (ExpiredCheckRun(pull=pull(0), head_sha=group().head_sha, check=CHECK),)


def test_a_group_whose_check_was_left_open_is_looked_at_once_more_as_what_it_is_by_now(store: Store) -> None:
    place = (group().installation_id, group().repository_id, group().head_sha)
    assert not store.groups.requeue_orphaned(place, CHECK, AT), "nobody knows of it"
    store.groups.put(group())
    store.groups.put(group("two", ended=GroupEnd.DEQUEUED))
    store.groups.complete(group("two"))
    later = AT + timedelta(hours=1)
    assert store.groups.requeue_orphaned(place, CHECK, later)
    found = store.groups.next()
    assert found is not None
    assert (found.group.ended, found.group.at) == (GroupEnd.DEQUEUED, later)
    store.groups.complete(found.group)
    assert not store.groups.requeue_orphaned(place, CHECK, later)
    assert store.groups.next() is None


@pytest.mark.parametrize(
    ("trigger", "counts"), [(Trigger.LATE, 0), (Trigger.RESUMED, 0), (Trigger.SWEEP, 1), (Trigger.REOPENED, 1)]
)
def test_what_we_ask_for_later_ourselves_opens_no_closed_pull_request(
    store: Store, trigger: Trigger, counts: int
) -> None:
    judged(store)
    intake.close_pull_request(store.client, pull(), timedelta(days=1))
    store.pulls.request_judging(wish(trigger=trigger))
    assert store.pulls.find_plan(pull()) is not None, "who looks asks GitHub"
    assert len(intake.find_requests_by_head(store.client, At())) == counts
