"""Dispatching and judging against a real server. What makes which state is in the tests of the lifecycle."""

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
    settings_for,
    start_judging,
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
HERE = pull_ref().installation_id
HOUR = timedelta(hours=1)
LIMIT = HOUR - timedelta(minutes=10)


def requested(store: Store, number: int = 1, installation: int = 100) -> PullRef:
    store.pulls.request_judging(judge_request(number, installation))
    return pull_ref(number, installation)


def installations(store: Store, count: int, limits: DispatchLimits = NO_LIMITS) -> list[int | None]:
    """Of those that are dispatched next."""
    jobs = [dispatch_next(store, limits) for _ in range(count)]
    return [job and job.request.pull.installation_id for job in jobs]


def test_a_request_counts_once_and_is_judged_once(store: Store) -> None:
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


def test_a_push_while_in_the_queue_goes_on_being_quiet(redis_server: RedisServer, store: Store) -> None:
    requested(store)
    job = dispatch_next(store)
    assert job is not None
    with open_store(settings_for(redis_server.url, Timing(quiet_window=3600))) as patient:
        patient.pulls.request_judging(judge_request(head_sha=NEWER))
    assert store.pulls.take_lease(pull_ref(), job.fence) is None
    assert start_judging(store, pull_ref()).request.head_sha == NEWER


def test_who_judges_learns_with_its_lease_what_counts_no_more_since_it_began(store: Store) -> None:
    requested(store)
    store.pulls.request_judging(judge_request(trigger=Trigger.EDITED))
    lease = start_judging(store, pull_ref()).lease
    assert lease.renew() is None, "it was told of before"
    store.pulls.request_judging(judge_request(trigger=Trigger.COMMAND))
    assert lease.renew() is None
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    assert lease.renew() is lease.renew() is Trigger.BASE


def test_a_judge_that_writes_late_asks_once_for_one_that_sets_it_right(store: Store) -> None:
    store.pulls.request_judging(judge_request(draft=True, trigger=Trigger.COMMAND))
    lost = start_judging(store)
    store.pulls.finish(lost.lease, Finish.JUDGED)
    for _ in range(2):
        store.pulls.request_correction(lost.lease, lost.request)
    late = start_judging(store)
    assert (late.request.trigger, late.request.head_sha, late.request.draft) == (Trigger.LATE, None, False)
    assert store.pulls.finish(late.lease, Finish.JUDGED) is FinishResult.CLOSED


def test_a_judge_that_dies_after_another_took_over_may_have_written_late_so_one_looks_again(store: Store) -> None:
    overtaken = start_judging(store, requested(store))
    expire_lease(store, pull_ref())
    assert store.pulls.requeue_lost(QUEUE) == 1
    assert store.pulls.finish(start_judging(store).lease, Finish.JUDGED) is FinishResult.CLOSED
    assert store.pulls.requeue_dead(pull_ref(), overtaken.lease.fence)
    assert start_judging(store).request.trigger is Trigger.LATE
    assert not store.pulls.requeue_dead(pull_ref(7), 5), "of a pull request that is not there nobody died"


def test_the_sweeper_leaves_alone_what_still_waits_in_the_queue(store: Store) -> None:
    requested(store)
    job = dispatch_next(store)
    assert job is not None
    store.client.call("RPUSH", QUEUE, f"judge-{job.fence}")
    for is_waiting in (True, False):
        expire_lease(store, pull_ref())
        assert store.pulls.requeue_lost(QUEUE) == (not is_waiting)
        store.client.call("DEL", QUEUE)
    assert start_judging(store).attempt == 1


def test_the_sweeper_forgets_what_is_not_there_any_more(store: Store) -> None:
    store.client.call("ZADD", keys.DISPATCHED.name, 1, "assay:1:pull:1:1")
    assert store.pulls.requeue_lost(QUEUE) == 0
    assert store.client.call("ZCARD", keys.DISPATCHED.name) == 0


def test_installations_take_turns(store: Store) -> None:
    for number, installation in ((1, 1), (2, 1), (3, 1), (1, 2), (1, 3)):
        requested(store, number, installation)
    assert installations(store, 6) == [1, 2, 3, 1, 1, None]


@pytest.mark.parametrize(
    ("limits", "dispatched"),
    [
        (DispatchLimits(per_installation=2, total=9), [1, 2, 3, 1, None]),
        (DispatchLimits(per_installation=1, total=9), [1, 2, 3, None, None]),
        (DispatchLimits(per_installation=9, total=2), [1, 2, None, None, None]),
    ],
)
def test_neither_one_installation_nor_all_together_exceed_a_limit(
    store: Store, limits: DispatchLimits, dispatched: list[int | None]
) -> None:
    for number, installation in ((1, 1), (2, 1), (3, 1), (1, 2), (1, 3)):
        requested(store, number, installation)
    assert installations(store, 5, limits) == dispatched


def test_a_judging_that_ends_frees_its_place(store: Store) -> None:
    one = DispatchLimits(per_installation=1, total=9)
    first = start_judging(store, requested(store))
    requested(store, 2)
    assert dispatch_next(store, one) is None
    store.pulls.finish(first.lease, Finish.JUDGED)
    assert dispatch_next(store, one) is not None


def test_those_that_wait_and_those_that_are_judged_are_the_crowd(store: Store) -> None:
    assert store.pulls.count_waiting(HERE) == 0
    for number, installation in ((1, 100), (2, 100), (3, 100), (4, 200)):
        requested(store, number, installation)
    start_judging(store)
    assert store.pulls.count_waiting(HERE) == 3


# Check runs to open


def test_each_new_head_gets_its_check_opened_once(store: Store) -> None:
    requested(store)
    opening = store.pulls.next_to_open()
    assert opening is not None
    assert (opening.head_sha, opening.request.pull) == (HEAD, pull_ref())
    assert store.pulls.next_to_open() is None, "it is under way"
    expire_hold(store, keys.pending_checks(HERE), keys.pull(pull_ref()).name)
    expire_hold(store, keys.PENDING_CHECK_TURNS, "100")
    assert store.pulls.next_to_open() == opening, "whoever had it died"
    store.pulls.mark_opened(pull_ref(), HEAD)
    expire_hold(store, keys.PENDING_CHECK_TURNS, "100")
    assert store.pulls.next_to_open() is None
    requested(store)
    assert store.pulls.next_to_open() is None, "the same head again"


def test_what_is_told_while_a_check_is_opened_is_said_by_who_opens_it_again(store: Store) -> None:
    requested(store)
    opening = store.pulls.next_to_open()
    assert opening is not None
    store.pulls.request_judging(judge_request(draft=True))
    store.pulls.mark_opened(pull_ref(), HEAD, opening.seq)
    again = store.pulls.next_to_open()
    assert again is not None
    assert (again.head_sha, again.request.draft) == (HEAD, True)


def test_a_check_that_can_not_be_opened_now_comes_again_after_its_delay(store: Store) -> None:
    requested(store)
    assert store.pulls.next_to_open()
    for delay in (HOUR, -HOUR):
        store.pulls.postpone_opening(pull_ref(), HEAD, delay)
        assert (store.pulls.next_to_open() is None) is (delay is HOUR)


# Leaders, and laptops


def test_one_dispatcher_leads_until_it_resigns(store: Store) -> None:
    assert [store.pulls.claim_leadership(token) for token in ("one", "one", "two")] == [True, True, False]
    store.pulls.resign_leadership("two")
    assert not store.pulls.claim_leadership("two")
    store.pulls.resign_leadership("one")
    assert store.pulls.claim_leadership("two")


def test_numbers_go_on_growing_when_redis_lost_them(store: Store) -> None:
    now_ms = datetime.now(UTC).timestamp() * 1000  # noqa: TID251 - compared with the server's clock
    store.client.call("SET", keys.COUNT.name, 5)
    store.pulls.claim_leadership("one")
    assert store.pulls.request_judging(judge_request()).seq > now_ms - 60_000


def test_a_laptop_judges_at_once_and_nobody_beside_it(store: Store) -> None:
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
    assert (store.pulls.requeue_lost(QUEUE), dispatch_next(store)) == (0, None), "one that died is never dispatched"
    assert store.pulls.finish(later, Finish.JUDGED) is FinishResult.LOST


# Backoffs


@pytest.fixture
def paced(store: Store, redis_server: RedisServer) -> Iterator[Store]:
    """With the gaps that Assay has when nobody sets any."""
    store.ping()  # Redis is empty from here on
    with open_store(settings_for(redis_server.url, Timing(quiet_window=0))) as here:
        yield here


def due_in(store: Store, number: int = 1, installation: int = 100) -> float:
    """After how many seconds it is tried."""
    ref = pull_ref(number, installation)
    at = float(text(store.client.call("ZSCORE", keys.due(ref.installation_id).name, keys.pull(ref).name)))
    return (at - find_server_time(store.client)) / 1000


def fails(store: Store, *numbers: int, installation: int = 100) -> None:
    """GitHub was away when these were judged."""
    for number in numbers:
        store.pulls.finish(start_judging(store, requested(store, number, installation)).lease, Finish.AWAY, HOUR)


def goes_well(store: Store, number: int) -> None:
    store.pulls.finish(start_judging(store, pull_ref(number)).lease, Finish.JUDGED, of=JudgedHead(HEAD))


def soon(store: Store, *numbers: int) -> list[int]:
    """Those that are tried within a minute, as they come."""
    at = {number: due_in(store, number) for number in numbers}
    return sorted((number for number in numbers if at[number] < 60), key=lambda number: at[number])


def passes(store: Store, seconds: float) -> None:
    """Of all that waits here, as long is over."""
    queues = [key(HERE).name for key in (keys.due, keys.retries)]
    for queue in queues:
        for name in items(store.client.call("ZRANGE", queue, 0, -1)):
            store.client.call("ZINCRBY", queue, -seconds * 1000, text(name))
    for name in items(store.client.call("ZRANGE", queues[0], 0, -1)):
        if store.client.call("HGET", text(name), "after"):
            store.client.call("HINCRBYFLOAT", text(name), "after", -seconds * 1000)


def test_what_a_rate_limit_put_off_waits_for_its_turn_and_what_is_asked_for_waits_for_the_limit(store: Store) -> None:
    store.pulls.finish(start_judging(store, requested(store)).lease, Finish.PUT_OFF, RateLimitWait(LIMIT, HOUR))
    assert due_in(store) == pytest.approx(HOUR.total_seconds(), abs=30)
    store.pulls.request_judging(judge_request(trigger=Trigger.COMMAND))
    assert due_in(store) == pytest.approx(LIMIT.total_seconds(), abs=30)


def test_an_outage_is_judged_again_later_and_counts_no_try(store: Store) -> None:
    judging = start_judging(store, requested(store))
    later = judge_request(trigger=Trigger.OUTAGE, head_sha=None, outages=1)
    answers = [store.pulls.finish(judging.lease, Finish.OUTAGE, HOUR, later) for _ in range(2)]
    assert answers == [FinishResult.LATER, FinishResult.LATER], "sent twice is done once"
    assert dispatch_next(store) is None
    again = start_judging(store, pull_ref())
    assert (again.attempt, again.request) == (1, later)


def test_what_github_stopped_of_one_installation_is_tried_again_one_after_the_other(store: Store) -> None:
    fails(store, 1, installation=200)
    fails(store, *range(1, 7))
    at, gap = [due_in(store, number) for number in range(1, 7)], store.timing.retry_gap
    assert gap > 0
    assert [after - before for before, after in pairwise(at)] == [pytest.approx(gap, abs=0.01 + gap / 2)] * 5
    assert abs(due_in(store, 1, 200) - at[0]) < 1, "no installation waits for another"


def test_one_that_goes_well_lets_a_few_follow_at_the_pace_that_github_allows(paced: Store) -> None:
    fails(paced, *range(1, 11))
    assert soon(paced, *range(1, 11)) == []
    goes_well(paced, 1)
    followers = [*range(2, 2 + RELEASED_AT_A_TIME)]
    assert soon(paced, *range(2, 11)) == followers
    gap, at = paced.timing.release_gap, [due_in(paced, number) for number in followers]
    assert gap - 1 < at[0] <= gap
    assert all(abs(after - before - gap) < 0.5 for before, after in pairwise(at))
    assert 60 / gap * 3 <= 80, "GitHub takes 80 writes a minute, and a head needs three"
    passes(paced, gap / 2)
    goes_well(paced, 10)
    assert due_in(paced, 2) <= gap / 2, "what comes sooner anyway is not put off"


def test_each_that_goes_well_lets_as_many_follow_until_none_waits(paced: Store) -> None:
    fails(paced, *range(1, 31))
    goes_well(paced, 1)
    took = 0.0
    while names := items(paced.client.call("ZRANGE", keys.due(HERE).name, 0, 0)):
        first = keys.parse_pull(text(names[0])).number
        wait = max(0.0, due_in(paced, first))
        assert wait < 60, "nobody is left behind"
        passes(paced, wait)
        took += wait
        goes_well(paced, first)
    assert took < 30 * paced.timing.release_gap < 30 * paced.timing.retry_gap / 2


def test_what_fails_again_lets_nobody_follow(paced: Store) -> None:
    fails(paced, *range(1, 11))
    goes_well(paced, 1)
    fails(paced, *soon(paced, *range(2, 11)))
    assert soon(paced, *range(2, 11)) == []


def test_only_what_shows_github_after_an_outage_lets_others_follow_and_none_elsewhere(paced: Store) -> None:
    fails(paced, 1, 2)
    fails(paced, 4, installation=200)
    requested(paced, 3)
    goes_well(paced, 3)
    assert soon(paced, 1, 2) == [], "GitHub never failed this one"
    paced.pulls.finish(start_judging(paced, pull_ref(1)).lease, Finish.JUDGED)
    assert soon(paced, 2) == [], "this one was given up"
    paced.pulls.release_waiting(HERE)
    assert soon(paced, 2) == [2]
    assert due_in(paced, 4, 200) > 60


def test_a_push_tries_at_once_and_the_others_follow_if_that_goes_well(paced: Store) -> None:
    fails(paced, 1, 2)
    paced.pulls.request_judging(judge_request(1, head_sha=NEWER))
    assert soon(paced, 1, 2) == [1]
    again = start_judging(paced, pull_ref(1))
    assert again.outage_count == 0, "its hours begin anew"
    paced.pulls.requeue_dead(pull_ref(1), again.lease.fence)
    goes_well(paced, 1)
    assert soon(paced, 2) == [2]
