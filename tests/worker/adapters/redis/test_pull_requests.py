"""Dispatching and judging pull requests in Redis; transitions are tested with the lifecycle."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    NO_LIMITS,
    dispatch_next,
    expire_hold,
    expire_lease,
    judge_request,
    pull_ref,
    require,
    settings_for,
    start_judging,
    start_judging_new,
)
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import find_server_time, items, text
from worker.adapters.redis.judging.pull_requests import AlreadyJudged
from worker.adapters.redis.store import Store, open_store
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import RELEASED_AT_A_TIME, DispatchLimits, JudgedHead, RateLimitWait
from worker.settings import Timing

QUEUE = "rq:queue:judge"
INSTALLATION = pull_ref().installation_id
HOUR = timedelta(hours=1)
LIMIT = HOUR - timedelta(minutes=10)


def add_request(store: Store, number: int = 1, installation: int = 100) -> PullRef:
    store.pulls.request_judging(judge_request(number, installation))
    return pull_ref(number, installation)


def test_request_counts_once_and_is_judged_once(store: Store) -> None:
    request, newest = judge_request(), judge_request(head_sha=NEWER)
    assert store.pulls.find_request(pull_ref()) is None
    first = store.pulls.request_judging(request)
    assert (first.outcome, first.seq > 0) == (IntakeOutcome.QUEUED, True)
    assert store.pulls.request_judging(request).outcome is IntakeOutcome.DUPLICATE
    store.pulls.request_judging(newest)
    assert store.pulls.find_request(pull_ref()) == newest
    judging = start_judging(store)
    assert (judging.attempt, judging.request) == (1, newest)
    assert store.pulls.finish(judging.lease, Finish.JUDGED) is FinishResult.CLOSED
    assert store.pulls.request_judging(request).outcome is IntakeOutcome.DUPLICATE
    assert dispatch_next(store) is None


def test_push_while_queued_waits_for_its_quiet_window(redis_server: RedisServer, store: Store) -> None:
    add_request(store)
    job = require(dispatch_next(store))
    with open_store(settings_for(redis_server.url, Timing(quiet_window=3600))) as patient:
        patient.pulls.request_judging(judge_request(head_sha=NEWER))
    assert store.pulls.take_lease(pull_ref(), job.fence) is None
    assert start_judging(store, pull_ref()).request.head_sha == NEWER


def test_lease_renewal_returns_the_trigger_that_outdates_the_judging(store: Store) -> None:
    add_request(store)
    store.pulls.request_judging(judge_request(trigger=Trigger.EDITED))
    lease = start_judging(store, pull_ref()).lease
    assert lease.renew() is None, "the edit was known at the start"
    store.pulls.request_judging(judge_request(trigger=Trigger.COMMAND))
    assert lease.renew() is None
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    assert lease.renew() is lease.renew() is Trigger.BASE


def test_late_writer_requests_one_correction(store: Store) -> None:
    lost = start_judging_new(store, draft=True, trigger=Trigger.COMMAND)
    store.pulls.finish(lost.lease, Finish.JUDGED)
    for _ in range(2):
        store.pulls.request_correction(lost.lease, lost.request)
    late = start_judging(store)
    assert (late.request.trigger, late.request.head_sha, late.request.draft) == (Trigger.LATE, None, False)
    assert store.pulls.finish(late.lease, Finish.JUDGED) is FinishResult.CLOSED


def test_dead_stale_judge_leads_to_a_late_judging(store: Store) -> None:
    overtaken = start_judging(store, add_request(store))
    expire_lease(store, pull_ref())
    assert store.pulls.requeue_lost(QUEUE) == 1
    assert store.pulls.finish(start_judging(store).lease, Finish.JUDGED) is FinishResult.CLOSED
    assert store.pulls.requeue_dead(pull_ref(), overtaken.lease.fence)
    assert start_judging(store).request.trigger is Trigger.LATE
    assert not store.pulls.requeue_dead(pull_ref(7), 5), "the pull request is unknown"


def test_sweep_requeues_no_job_that_waits_in_the_queue(store: Store) -> None:
    add_request(store)
    job = require(dispatch_next(store))
    store.client.call("RPUSH", QUEUE, f"judge-{job.fence}")
    for is_waiting in (True, False):
        expire_lease(store, pull_ref())
        assert store.pulls.requeue_lost(QUEUE) == (not is_waiting)
        store.client.call("DEL", QUEUE)
    assert start_judging(store).attempt == 1


def test_sweep_deletes_unknown_dispatched_entries(store: Store) -> None:
    store.client.call("ZADD", keys.DISPATCHED.name, 1, "assay:1:pull:1:1")
    assert store.pulls.requeue_lost(QUEUE) == 0
    assert store.client.call("ZCARD", keys.DISPATCHED.name) == 0


@pytest.mark.parametrize(
    ("limits", "dispatched"),
    [
        (NO_LIMITS, [1, 2, 3, 1, 1, None]),
        (DispatchLimits(per_installation=2, total=9), [1, 2, 3, 1, None]),
        (DispatchLimits(per_installation=1, total=9), [1, 2, 3, None, None]),
        (DispatchLimits(per_installation=9, total=2), [1, 2, None, None, None]),
    ],
)
def test_installations_take_turns_within_both_limits(
    store: Store, limits: DispatchLimits, dispatched: list[int | None]
) -> None:
    for number, installation in ((1, 1), (2, 1), (3, 1), (1, 2), (1, 3)):
        add_request(store, number, installation)
    jobs = [dispatch_next(store, limits) for _ in dispatched]
    assert [job and job.request.pull.installation_id for job in jobs] == dispatched


def test_end_of_a_judging_frees_its_slot(store: Store) -> None:
    limits = DispatchLimits(per_installation=1, total=9)
    first = start_judging(store, add_request(store))
    add_request(store, 2)
    assert dispatch_next(store, limits) is None
    store.pulls.finish(first.lease, Finish.JUDGED)
    assert dispatch_next(store, limits) is not None


def test_waiting_count_includes_judgings_in_progress(store: Store) -> None:
    assert store.pulls.count_waiting(INSTALLATION) == 0
    for number, installation in ((1, 100), (2, 100), (3, 100), (4, 200)):
        add_request(store, number, installation)
    start_judging(store)
    assert store.pulls.count_waiting(INSTALLATION) == 3


def test_check_run_of_a_new_head_is_opened_once(store: Store) -> None:
    add_request(store)
    opening = require(store.pulls.next_to_open())
    assert (opening.head_sha, opening.request.pull) == (HEAD, pull_ref())
    assert store.pulls.next_to_open() is None, "it is held"
    expire_hold(store, keys.pending_checks(INSTALLATION), keys.pull(pull_ref()).name)
    expire_hold(store, keys.PENDING_CHECK_TURNS, "100")
    assert store.pulls.next_to_open() == opening, "the hold has ended"
    store.pulls.mark_opened(pull_ref(), HEAD)
    expire_hold(store, keys.PENDING_CHECK_TURNS, "100")
    assert store.pulls.next_to_open() is None
    add_request(store)
    assert store.pulls.next_to_open() is None, "the head has not changed"


def test_request_during_an_opening_leads_to_another_opening(store: Store) -> None:
    add_request(store)
    opening = require(store.pulls.next_to_open())
    store.pulls.request_judging(judge_request(draft=True))
    store.pulls.mark_opened(pull_ref(), HEAD, opening.seq)
    again = require(store.pulls.next_to_open())
    assert (again.head_sha, again.request.draft) == (HEAD, True)


def test_postponed_opening_returns_after_its_delay(store: Store) -> None:
    add_request(store)
    assert store.pulls.next_to_open()
    for delay in (HOUR, -HOUR):
        store.pulls.postpone_opening(pull_ref(), HEAD, delay)
        assert (store.pulls.next_to_open() is None) is (delay is HOUR)


def test_dispatcher_leads_until_it_resigns(store: Store) -> None:
    assert [store.pulls.claim_leadership(token) for token in ("one", "one", "two")] == [True, True, False]
    store.pulls.resign_leadership("two")
    assert not store.pulls.claim_leadership("two")
    store.pulls.resign_leadership("one")
    assert store.pulls.claim_leadership("two")


def test_sequence_numbers_grow_after_a_loss_in_redis(store: Store) -> None:
    now_ms = datetime.now(UTC).timestamp() * 1000  # noqa: TID251 - compared with the server's clock
    store.client.call("SET", keys.COUNT.name, 5)
    store.pulls.claim_leadership("one")
    assert store.pulls.request_judging(judge_request()).seq > now_ms - 60_000


def test_local_lease_is_exclusive(store: Store) -> None:
    request = judge_request(number=0, installation=0, trigger=Trigger.LOCAL)
    lease = store.pulls.take_local_lease(request)
    lease.renew()
    with pytest.raises(AlreadyJudged, match="acme/widgets is being judged"):
        store.pulls.take_local_lease(request)
    assert store.pulls.finish(lease, Finish.JUDGED) is FinishResult.CLOSED
    later = store.pulls.take_local_lease(request)
    assert later.fence > lease.fence
    expire_lease(store, request.pull)
    store.pulls.take_local_lease(request)
    expire_lease(store, request.pull)
    assert (store.pulls.requeue_lost(QUEUE), dispatch_next(store)) == (0, None), "a local judging is never dispatched"
    assert store.pulls.finish(later, Finish.JUDGED) is FinishResult.LOST


@pytest.fixture
def paced(store: Store, redis_server: RedisServer) -> Iterator[Store]:
    """A store with the default gaps between retries."""
    store.ping()
    with open_store(settings_for(redis_server.url, Timing(quiet_window=0))) as paced_store:
        yield paced_store


def due_in(store: Store, number: int = 1, installation: int = 100) -> float:
    ref = pull_ref(number, installation)
    at = float(text(store.client.call("ZSCORE", keys.due(ref.installation_id).name, keys.pull(ref).name)))
    return (at - find_server_time(store.client)) / 1000


def fail(store: Store, *numbers: int, installation: int = 100) -> None:
    for number in numbers:
        store.pulls.finish(start_judging(store, add_request(store, number, installation)).lease, Finish.AWAY, HOUR)


def judge_successfully(store: Store, number: int) -> None:
    store.pulls.finish(start_judging(store, pull_ref(number)).lease, Finish.JUDGED, of=JudgedHead(HEAD))


def due_soon(store: Store, *numbers: int) -> list[int]:
    """Those that are due within a minute, in order."""
    at = {number: due_in(store, number) for number in numbers}
    return sorted((number for number in numbers if at[number] < 60), key=lambda number: at[number])


def advance(store: Store, seconds: float) -> None:
    """Move all due times of the installation back."""
    queues = [key(INSTALLATION).name for key in (keys.due, keys.retries)]
    for queue in queues:
        for name in items(store.client.call("ZRANGE", queue, 0, -1)):
            store.client.call("ZINCRBY", queue, -seconds * 1000, text(name))
    for name in items(store.client.call("ZRANGE", queues[0], 0, -1)):
        if store.client.call("HGET", text(name), "after"):
            store.client.call("HINCRBYFLOAT", text(name), "after", -seconds * 1000)


def test_command_after_a_rate_limit_waits_for_the_limit_only(store: Store) -> None:
    store.pulls.finish(start_judging(store, add_request(store)).lease, Finish.PUT_OFF, RateLimitWait(LIMIT, HOUR))
    assert due_in(store) == pytest.approx(HOUR.total_seconds(), abs=30)
    store.pulls.request_judging(judge_request(trigger=Trigger.COMMAND))
    assert due_in(store) == pytest.approx(LIMIT.total_seconds(), abs=30)


def test_outage_postpones_the_judging_without_an_attempt(store: Store) -> None:
    judging = start_judging(store, add_request(store))
    later = judge_request(trigger=Trigger.OUTAGE, head_sha=None, outages=1)
    answers = [store.pulls.finish(judging.lease, Finish.OUTAGE, HOUR, later) for _ in range(2)]
    assert answers == [FinishResult.LATER, FinishResult.LATER], "a repeated end counts once"
    assert dispatch_next(store) is None
    again = start_judging(store, pull_ref())
    assert (again.attempt, again.request) == (1, later)


def test_retries_of_an_installation_are_spaced(store: Store) -> None:
    fail(store, 1, installation=200)
    fail(store, *range(1, 7))
    at, gap = [due_in(store, number) for number in range(1, 7)], store.timing.retry_gap
    assert gap > 0
    assert [after - before for before, after in pairwise(at)] == [pytest.approx(gap, abs=0.01 + gap / 2)] * 5
    assert abs(due_in(store, 1, 200) - at[0]) < 1, "no installation waits for another"


def test_success_releases_a_few_retries_with_a_gap(paced: Store) -> None:
    fail(paced, *range(1, 11))
    assert due_soon(paced, *range(1, 11)) == []
    judge_successfully(paced, 1)
    followers = [*range(2, 2 + RELEASED_AT_A_TIME)]
    assert due_soon(paced, *range(2, 11)) == followers
    gap, at = paced.timing.release_gap, [due_in(paced, number) for number in followers]
    assert gap - 1 < at[0] <= gap
    assert all(abs(after - before - gap) < 0.5 for before, after in pairwise(at))
    assert 60 / gap * 3 <= 80, "GitHub takes 80 writes a minute, and a head needs three"
    advance(paced, gap / 2)
    judge_successfully(paced, 10)
    assert due_in(paced, 2) <= gap / 2, "an earlier due time stays"


def test_successes_release_all_retries(paced: Store) -> None:
    fail(paced, *range(1, 31))
    judge_successfully(paced, 1)
    took = 0.0
    while names := items(paced.client.call("ZRANGE", keys.due(INSTALLATION).name, 0, 0)):
        first = keys.parse_pull(text(names[0])).number
        wait = max(0.0, due_in(paced, first))
        assert wait < 60, "each follows within a minute"
        advance(paced, wait)
        took += wait
        judge_successfully(paced, first)
    assert took < 30 * paced.timing.release_gap < 30 * paced.timing.retry_gap / 2


def test_failed_retry_releases_no_others(paced: Store) -> None:
    fail(paced, *range(1, 11))
    judge_successfully(paced, 1)
    fail(paced, *due_soon(paced, *range(2, 11)))
    assert due_soon(paced, *range(2, 11)) == []


def test_only_a_retried_success_releases_retries_of_its_installation(paced: Store) -> None:
    fail(paced, 1, 2)
    fail(paced, 4, installation=200)
    add_request(paced, 3)
    judge_successfully(paced, 3)
    assert due_soon(paced, 1, 2) == [], "GitHub never failed this one"
    paced.pulls.finish(start_judging(paced, pull_ref(1)).lease, Finish.JUDGED)
    assert due_soon(paced, 2) == [], "this one was given up"
    paced.pulls.release_waiting(INSTALLATION)
    assert due_soon(paced, 2) == [2]
    assert due_in(paced, 4, 200) > 60


def test_push_retries_immediately_and_its_success_releases_others(paced: Store) -> None:
    fail(paced, 1, 2)
    paced.pulls.request_judging(judge_request(1, head_sha=NEWER))
    assert due_soon(paced, 1, 2) == [1]
    again = start_judging(paced, pull_ref(1))
    assert again.outage_count == 0, "the outage count starts over"
    paced.pulls.requeue_dead(pull_ref(1), again.lease.fence)
    judge_successfully(paced, 1)
    assert due_soon(paced, 2) == [2]
