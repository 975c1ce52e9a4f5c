"""The coalescing rules, each against a real server."""

from datetime import UTC, datetime, timedelta
from itertools import count, pairwise

import pytest

from tests.worker.adapters.redis.played import (
    HEAD,
    NEWER,
    becomes_due,
    comes_again,
    lease_runs_out,
    pull,
    settings,
    wish,
)
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.judging.pull_requests import AlreadyJudged
from worker.adapters.redis.store import Store, open_store
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import DispatchedJob, DispatchLimits, LeasedJob
from worker.errors import LeaseLost
from worker.settings import Timing

WIDE = DispatchLimits(per_installation=10, total=100)
QUEUE = "rq:queue:judge"
CALLS = count(1)


def given(store: Store, limits: DispatchLimits = WIDE) -> DispatchedJob | None:
    return store.pulls.next_due(f"call-{next(CALLS)}", limits)


def taken(store: Store, ref: PullRef | None = None) -> LeasedJob:
    """The judging that comes next, begun."""
    job = given(store)
    assert job is not None
    begun = store.pulls.take_lease(ref or job.request.pull, job.fence)
    assert begun is not None
    return begun


def test_a_request_is_judged_once_and_then_closed(store: Store) -> None:
    assert store.pulls.request_judging(wish()).outcome is IntakeOutcome.QUEUED
    judging = taken(store)
    assert (judging.attempt, judging.request.head_sha) == (1, HEAD)
    assert store.pulls.finish(judging.lease, Finish.JUDGED) is FinishResult.CLOSED
    assert given(store) is None


def test_a_delivery_counts_once_however_often_it_comes(store: Store) -> None:
    request = wish()
    first = store.pulls.request_judging(request)
    assert first.seq > 0
    assert store.pulls.request_judging(request).outcome is IntakeOutcome.DUPLICATE
    store.pulls.finish(taken(store).lease, Finish.JUDGED)
    assert store.pulls.request_judging(request).outcome is IntakeOutcome.DUPLICATE
    assert given(store) is None


def test_a_push_while_judging_is_judged_after_it(store: Store) -> None:
    store.pulls.request_judging(wish())
    judging = taken(store)
    store.pulls.request_judging(wish(head_sha=NEWER))
    assert given(store) is None, "one judge at a time"
    assert store.pulls.finish(judging.lease, Finish.JUDGED) is FinishResult.AGAIN
    assert taken(store).request.head_sha == NEWER


def test_the_quiet_window_puts_a_push_off_but_not_for_ever(redis_server: Redis, store: Store) -> None:
    timing = Timing(quiet_window=3600, quiet_max=3600)
    with open_store(settings(redis_server.url, timing)) as patient:
        patient.pulls.request_judging(wish())
        assert given(patient) is None
        store.client.call("HSET", keys.pull(pull()).name, "since", 1)
        patient.pulls.request_judging(wish(head_sha=NEWER))
    assert given(store) is not None


def test_a_push_while_in_the_queue_goes_on_being_quiet(redis_server: Redis, store: Store) -> None:
    store.pulls.request_judging(wish())
    job = given(store)
    assert job is not None
    with open_store(settings(redis_server.url, Timing(quiet_window=3600))) as patient:
        patient.pulls.request_judging(wish(head_sha=NEWER))
    assert store.pulls.take_lease(pull(), job.fence) is None
    becomes_due(store, pull())
    assert taken(store).request.head_sha == NEWER


def test_the_same_call_is_given_the_same_job(store: Store) -> None:
    store.pulls.request_judging(wish(1))
    store.pulls.request_judging(wish(2))
    first = store.pulls.next_due("call", WIDE)
    assert store.pulls.next_due("call", WIDE) == first
    assert store.pulls.next_due("another call", WIDE) != first


def test_a_judge_that_was_not_heard_of_is_replaced_and_may_not_finish(store: Store) -> None:
    store.pulls.request_judging(wish())
    lost = taken(store)
    lease_runs_out(store, pull())
    with pytest.raises(LeaseLost):
        lost.lease.renew()
    assert store.pulls.requeue_lost(QUEUE) == 1
    newer = taken(store)
    assert (newer.attempt, newer.lease.fence > lost.lease.fence) == (2, True)
    assert store.pulls.finish(lost.lease, Finish.JUDGED) is FinishResult.LOST
    assert store.pulls.finish(newer.lease, Finish.JUDGED) is FinishResult.CLOSED


def test_a_lost_judge_asks_for_one_that_sets_it_right_once(store: Store) -> None:
    store.pulls.request_judging(wish())
    lost = taken(store)
    store.pulls.finish(lost.lease, Finish.JUDGED)
    store.pulls.request_correction(lost.lease, lost.request)
    store.pulls.request_correction(lost.lease, lost.request)
    late = taken(store)
    assert late.request.trigger is Trigger.LATE
    assert store.pulls.finish(late.lease, Finish.JUDGED) is FinishResult.CLOSED


def test_the_sweeper_leaves_alone_what_still_waits_in_the_queue(store: Store) -> None:
    store.pulls.request_judging(wish())
    job = given(store)
    assert job is not None
    store.client.call("RPUSH", QUEUE, f"judge-{job.fence}")
    lease_runs_out(store, pull())
    assert store.pulls.requeue_lost(QUEUE) == 0
    store.client.call("DEL", QUEUE)
    lease_runs_out(store, pull())
    assert store.pulls.requeue_lost(QUEUE) == 1
    assert store.pulls.take_lease(pull(), job.fence) is not None or taken(store).attempt == 1


def test_the_sweeper_forgets_what_is_not_there_any_more(store: Store) -> None:
    store.client.call("ZADD", keys.DISPATCHED.name, 1, "assay:1:pull:1:1")
    assert store.pulls.requeue_lost(QUEUE) == 0
    assert store.client.call("ZCARD", keys.DISPATCHED.name) == 0


def test_a_judge_that_dies_after_another_took_over_may_have_written_late_so_one_looks_again(store: Store) -> None:
    store.pulls.request_judging(wish())
    overtaken = taken(store)
    lease_runs_out(store, pull())
    assert store.pulls.requeue_lost(QUEUE) == 1
    second = taken(store)
    assert store.pulls.finish(second.lease, Finish.JUDGED) is FinishResult.CLOSED
    assert store.pulls.requeue_dead(pull(), overtaken.lease.fence)
    assert taken(store).request.trigger is Trigger.LATE
    assert not store.pulls.requeue_dead(pull(7), 5), "of a pull request that is not there nobody died"


def test_what_github_stopped_of_one_installation_is_tried_again_one_after_the_other(store: Store) -> None:
    others = pull(installation=200)
    store.pulls.request_judging(wish(installation=200))
    for number in range(1, 7):
        store.pulls.request_judging(wish(number))
    for number in range(7):
        job = store.pulls.next_due(f"apart-{number}", DispatchLimits(10, 10))
        assert job is not None
        one = store.pulls.take_lease(job.request.pull, job.fence)
        assert one is not None
        store.pulls.finish(one.lease, Finish.AWAY, timedelta(seconds=60))
    gap = round(store.timing.retry_gap * 1000)
    due = items(store.client.call("ZRANGE", keys.due(pull().installation_id).name, 0, -1, "WITHSCORES"))
    at = [float(text(one)) for one in due[1::2]]
    assert len(at) == 6
    assert gap > 0
    assert all(after - before >= gap - 1 for before, after in pairwise(at))
    assert at[-1] - at[0] < 6 * gap
    elsewhere = text(store.client.call("ZSCORE", keys.due(others.installation_id).name, keys.pull(others).name))
    assert abs(float(elsewhere) - at[0]) < 1000, "no installation waits for another"


def test_an_outage_is_judged_again_later_and_counts_no_try(store: Store) -> None:
    store.pulls.request_judging(wish())
    later = wish(trigger=Trigger.OUTAGE, head_sha=None, outages=1)
    judging = taken(store)
    answers = [store.pulls.finish(judging.lease, Finish.OUTAGE, timedelta(hours=1), later) for _ in range(2)]
    assert answers == [FinishResult.LATER, FinishResult.LATER], "sent twice is done once"
    assert given(store) is None
    becomes_due(store, pull())
    again = taken(store)
    assert (again.attempt, again.request) == (1, later)
    assert store.pulls.finish(again.lease, Finish.JUDGED) is FinishResult.CLOSED


def test_installations_take_turns(store: Store) -> None:
    for number in range(1, 6):
        store.pulls.request_judging(wish(number, installation=1))
    store.pulls.request_judging(wish(1, installation=2))
    store.pulls.request_judging(wish(1, installation=3))
    jobs = [given(store) for _ in range(7)]
    assert [job.request.pull.installation_id for job in jobs if job][:3] == [1, 2, 3]
    assert len([job for job in jobs if job]) == 7


def test_no_installation_takes_every_worker_and_one_that_ends_frees_its_place(store: Store) -> None:
    limits = DispatchLimits.of_workers(3)
    assert limits == DispatchLimits(per_installation=2, total=5, outside=2)
    for number in range(1, 5):
        store.pulls.request_judging(wish(number, installation=1))
    jobs = [given(store, limits) for _ in range(3)]
    assert jobs[0] is not None
    assert jobs[2] is None
    store.pulls.request_judging(wish(1, installation=2))
    assert given(store, limits) is not None
    begun = store.pulls.take_lease(jobs[0].request.pull, jobs[0].fence)
    assert begun is not None
    store.pulls.finish(begun.lease, Finish.JUDGED)
    assert given(store, limits) is not None


def test_there_is_a_limit_for_all_together(store: Store) -> None:
    for installation in range(1, 5):
        store.pulls.request_judging(wish(1, installation=installation))
    limits = DispatchLimits(per_installation=1, total=2)
    assert [given(store, limits) is not None for _ in range(3)] == [True, True, False]


def test_each_new_head_gets_its_check_opened_once(store: Store) -> None:
    store.pulls.request_judging(wish())
    opening = store.pulls.next_to_open()
    assert opening is not None
    assert (opening.head_sha, opening.request.pull) == (HEAD, pull())
    assert store.pulls.next_to_open() is None, "it is under way"
    comes_again(store, keys.pending_checks(pull().installation_id), keys.pull(pull()).name)
    comes_again(store, keys.PENDING_CHECK_TURNS, "100")
    assert store.pulls.next_to_open() == opening, "whoever had it died"
    store.pulls.mark_opened(pull(), HEAD)
    comes_again(store, keys.PENDING_CHECK_TURNS, "100")
    assert store.pulls.next_to_open() is None
    store.pulls.request_judging(wish())
    assert store.pulls.next_to_open() is None, "the same head again"


def test_what_is_told_while_a_check_is_opened_is_said_by_who_opens_it_again(store: Store) -> None:
    store.pulls.request_judging(wish())
    opening = store.pulls.next_to_open()
    assert opening is not None
    store.pulls.request_judging(wish(draft=True))
    store.pulls.mark_opened(pull(), HEAD, opening.seq)
    again = store.pulls.next_to_open()
    assert again is not None
    assert (again.head_sha, again.request.draft) == (HEAD, True)
    comes_again(store, keys.pending_checks(pull().installation_id), keys.pull(pull()).name)
    store.pulls.mark_opened(pull(), HEAD, again.seq)
    assert not store.client.call("ZCARD", keys.pending_checks(pull().installation_id).name), "however long it took"


def test_a_check_that_can_not_be_opened_now_comes_again_after_its_delay(store: Store) -> None:
    store.pulls.request_judging(wish())
    assert store.pulls.next_to_open()
    assert store.pulls.next_to_open() is None
    store.pulls.postpone_opening(pull(), HEAD, timedelta(hours=1))
    assert store.pulls.next_to_open() is None
    store.pulls.postpone_opening(pull(), HEAD, timedelta(0))
    assert store.pulls.next_to_open()
    store.pulls.mark_opened(pull(), HEAD)
    store.pulls.postpone_opening(pull(), HEAD, timedelta(0))
    assert not store.client.call("ZCARD", keys.pending_checks(pull().installation_id).name)


def test_one_dispatcher_leads_until_it_resigns(store: Store) -> None:
    assert store.pulls.claim_leadership("one")
    assert store.pulls.claim_leadership("one")
    assert not store.pulls.claim_leadership("two")
    store.pulls.resign_leadership("two")
    assert not store.pulls.claim_leadership("two")
    store.pulls.resign_leadership("one")
    assert store.pulls.claim_leadership("two")


def test_numbers_go_on_growing_when_redis_lost_them(store: Store) -> None:
    now_ms = datetime.now(UTC).timestamp() * 1000  # noqa: TID251 - compared with the server's clock
    store.client.call("SET", keys.COUNT.name, 5)
    store.pulls.claim_leadership("one")
    assert store.pulls.request_judging(wish()).seq > now_ms - 60_000


def test_a_laptop_judges_at_once_and_nobody_beside_it(store: Store) -> None:
    request = wish(number=0, installation=0, trigger=Trigger.LOCAL)
    lease = store.pulls.take_local_lease(request)
    lease.renew()
    with pytest.raises(AlreadyJudged, match="acme/widgets is being judged"):
        store.pulls.take_local_lease(request)
    assert store.pulls.finish(lease, Finish.JUDGED) is FinishResult.CLOSED
    assert store.pulls.take_local_lease(request).fence > lease.fence
    assert store.client.call("TTL", keys.pull(request.pull).name) == -1


def test_a_laptop_that_died_blocks_nobody_and_is_never_dispatched(store: Store) -> None:
    request = wish(number=0, installation=0, trigger=Trigger.LOCAL)
    store.pulls.take_local_lease(request)
    lease_runs_out(store, request.pull)
    lease = store.pulls.take_local_lease(request)
    lease_runs_out(store, request.pull)
    assert store.pulls.requeue_lost(QUEUE) == 0
    assert given(store) is None
    assert store.pulls.finish(lease, Finish.JUDGED) is FinishResult.LOST


def test_a_closed_pull_request_is_forgotten_after_a_month_and_comes_back_before(store: Store) -> None:
    store.pulls.request_judging(wish())
    store.pulls.finish(taken(store).lease, Finish.JUDGED)
    name = keys.pull(pull()).name
    assert store.client.call("TTL", name) == timedelta(days=30).total_seconds()
    store.pulls.request_judging(wish())
    assert store.client.call("TTL", name) == -1


def test_the_newest_request_is_found_again(store: Store) -> None:
    assert store.pulls.find_request(pull()) is None
    store.pulls.request_judging(wish())
    newest = wish(head_sha=NEWER)
    store.pulls.request_judging(newest)
    assert store.pulls.find_request(pull()) == newest


def test_scripts_and_keys_agree_on_names(store: Store) -> None:
    store.pulls.request_judging(wish())
    names = {
        keys.due(pull().installation_id),
        keys.pending_checks(pull().installation_id),
        keys.DUE_TURNS,
        keys.PENDING_CHECK_TURNS,
    }
    given(store)
    names |= {
        keys.dispatched(pull().installation_id),
        keys.DISPATCHED,
        keys.COUNT,
        keys.LAST_DISPATCH,
        keys.pull(pull()),
    }
    store.pulls.request_judging(wish(2))
    store.pulls.claim_leadership("one")
    names |= {keys.LEADER}
    store.pulls.request_judging(wish(3, outside=True))
    names |= {keys.due_outside(pull().installation_id), keys.pending_checks_outside(pull().installation_id)}
    names |= {keys.outside_turn(pull().installation_id), keys.DUE_OUTSIDE_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS}
    given(store, DispatchLimits(per_installation=0, total=0, outside=1))
    store.pulls.request_judging(wish(4, outside=True))
    names |= {keys.DISPATCHED_OUTSIDE}
    for key in names:
        assert store.client.call("TYPE", key.name) == key.type.encode(), key


def test_who_judges_learns_with_its_lease_what_counts_no_more_since_it_began(store: Store) -> None:
    store.pulls.request_judging(wish())
    store.pulls.request_judging(wish(trigger=Trigger.EDITED))
    becomes_due(store, pull())
    given = store.pulls.next_due("call", DispatchLimits(1, 1))
    taken = store.pulls.take_lease(pull(), given.fence) if given else None
    assert taken is not None
    assert taken.lease.renew() is None, "it was told of before"
    store.pulls.request_judging(wish(trigger=Trigger.COMMAND))
    assert taken.lease.renew() is None
    store.pulls.request_judging(wish(trigger=Trigger.BASE))
    assert taken.lease.renew() is taken.lease.renew() is Trigger.BASE
