"""Judgings of a pull request: leases, finishes, lost workers and lost servers."""

import pytest

from tests.worker.domain.lifecycle.scenario import HEAD, HOLD_MS, LEASE_MS, NEWER, START, PlayedPull
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle import judging
from worker.domain.lifecycle.judging import (
    MOST_SPARE_ATTEMPTS,
    Finish,
    FinishResult,
    LeaseRefusal,
    LocalJob,
    find_retry_slot,
)
from worker.domain.lifecycle.state import Phase, Retention
from worker.domain.lifecycle.work import workers_for_strangers


@pytest.fixture
def pull() -> PlayedPull:
    played = PlayedPull()
    played.request(Trigger.COMMAND)
    return played


def test_fence_admits_one_worker(pull: PlayedPull) -> None:
    fence = pull.dispatch()
    assert pull.state.lease_until == pull.now + HOLD_MS
    assert pull.take(fence - 1) is LeaseRefusal.STALE
    assert pull.take(fence) is None
    assert pull.take(fence, "other") is LeaseRefusal.STALE
    pull.now += 1000
    assert pull.take(fence) is None, "sent twice"
    assert (pull.state.attempts, pull.state.lease_until) == (1, pull.now + LEASE_MS)


def test_push_while_queued_extends_the_window(pull: PlayedPull) -> None:
    fence = pull.dispatch()
    pull.request(head=NEWER)
    assert pull.take(fence) is LeaseRefusal.EARLY
    assert (pull.state.phase, pull.due_in_s, pull.state.lease_until) == (Phase.DUE, 45, None)


@pytest.mark.parametrize(
    ("how", "fields", "result", "seconds"),
    [
        (Finish.JUDGED, {"head": HEAD}, FinishResult.CLOSED, None),
        (Finish.JUDGED, {}, FinishResult.CLOSED, None),
        (Finish.RETRY, {"wait_ms": 15_000}, FinishResult.LATER, 15),
        (Finish.PUT_OFF, {"wait_ms": 60_000, "limit_ms": 30_000}, FinishResult.LATER, 60),
        (Finish.AWAY, {"retry_at": START + 600_000}, FinishResult.LATER, 600),
        (Finish.WAIT, {"wait_ms": 20_000}, FinishResult.LATER, 20),
        (Finish.OUTAGE, {"wait_ms": 600_000, "later": "retry"}, FinishResult.LATER, 600),
        (Finish.AGAIN, {}, FinishResult.AGAIN, 0),
    ],
)
def test_each_finish_sets_the_next_phase(
    pull: PlayedPull, how: Finish, fields: dict[str, object], result: FinishResult, seconds: float | None
) -> None:
    pull.start()
    assert pull.end(how, **fields) is result
    assert (pull.due_in_s, pull.state.phase) == (seconds, None if seconds is None else Phase.DUE)
    assert pull.state.lease_until is None
    before = pull.state
    assert pull.end(how, **fields) is result, "reported twice"
    assert pull.state == before


@pytest.mark.parametrize("how", [Finish.JUDGED, Finish.WAIT, Finish.OUTAGE, Finish.AGAIN])
def test_event_during_a_judging_repeats_it(pull: PlayedPull, how: Finish) -> None:
    pull.start()
    pull.request(head=NEWER)
    result = pull.end(how, head=HEAD if how is Finish.JUDGED else None, wait_ms=600_000, later="retry")
    assert result is (FinishResult.LATER if how is Finish.WAIT else FinishResult.AGAIN)
    assert (pull.state.head, pull.due_in_s, pull.state.waiting_since) == (NEWER, 45, None)
    assert pull.state.request != "retry"


@pytest.mark.parametrize(
    ("how", "attempts", "outages"),
    [(Finish.RETRY, 2, None), (Finish.PUT_OFF, 1, None), (Finish.AWAY, 1, 1), (Finish.WAIT, 1, None)],
)
def test_only_retries_count_as_attempts(pull: PlayedPull, how: Finish, attempts: int, outages: int | None) -> None:
    pull.start()
    pull.end(how, wait_ms=1000, retry_at=pull.now + 1000)
    assert pull.state.outage_count == outages
    pull.start()
    assert pull.state.attempts == attempts


@pytest.mark.parametrize("how", [Finish.WAIT, Finish.AGAIN, Finish.OUTAGE, Finish.JUDGED])
def test_outage_count_ends_with_a_finish_that_github_did_not_cause(pull: PlayedPull, how: Finish) -> None:
    pull.change(outage_count=2)
    pull.start()
    pull.end(how, wait_ms=1000, later="later")
    assert pull.state.outage_count is None


def test_judge_without_a_lease_finishes_nothing(pull: PlayedPull) -> None:
    pull.start()
    pull.now += LEASE_MS + 1
    before = pull.state
    assert pull.end(head=HEAD) is FinishResult.LOST
    assert pull.state == before


def test_wait_for_ci_keeps_its_start_until_a_verdict(pull: PlayedPull) -> None:
    for _ in range(3):
        pull.start()
        pull.end(Finish.WAIT, wait_ms=20_000)
    assert pull.state.waiting_since == START
    pull.judge()
    assert pull.state.waiting_since is None


def test_verdict_clears_the_requested_flags(pull: PlayedPull) -> None:
    assert pull.state.flags == ("force",)
    pull.judge()
    assert (pull.state.flags, pull.state.retention) == ((), Retention.EXPIRING)


@pytest.mark.parametrize(
    ("how", "fields", "shows_github"),
    [
        (Finish.WAIT, {}, True),
        (Finish.AGAIN, {}, True),
        (Finish.OUTAGE, {}, True),
        (Finish.JUDGED, {"head": HEAD}, True),
        (Finish.JUDGED, {}, False),
        (Finish.RETRY, {}, False),
        (Finish.AWAY, {}, False),
    ],
)
def test_finish_shows_whether_github_answers(how: Finish, fields: dict[str, str], *, shows_github: bool) -> None:
    assert judging.JudgingEnded("worker", how, **fields).shows_github is shows_github  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("slots", "at", "slot"),
    [
        ([], 100.9, 100),
        ([50.0, 200.0], 100, 100),
        ([95.0], 100, 105),
        ([105.0, 114.0, 123.0], 100, 133),
        ([90.0, 110.0], 100, 100),
        ([105.0, 130.0], 100, 115),
    ],
)
def test_retries_of_an_outage_are_spaced(slots: list[float], at: float, slot: float) -> None:
    assert find_retry_slot(slots, at, 10) == slot


def test_answer_of_github_brings_a_retry_forward(pull: PlayedPull) -> None:
    pull.start()
    pull.end(Finish.AWAY, retry_at=pull.now + 600_000)
    pull.state = judging.release(pull.state, pull.now + 1000, pull.now)
    assert pull.due_in_s == 1


def test_dead_worker_is_replaced_immediately(pull: PlayedPull) -> None:
    pull.change(outdated_by=Trigger.RULES)
    pull.start()
    pull.change(eval_id="e")
    pull.state = judging.requeue_dead(pull.state, pull.now)
    assert (pull.due_in_s, pull.state.eval_id, pull.state.outdated_by) == (0, None, Trigger.RULES)
    assert pull.state.opening_at == pull.now


@pytest.mark.parametrize(
    ("started_in", "ended_in", "spared", "attempts"),
    [
        ("run-1", "run-1", 0, 1),
        ("run-1", "run-2", 0, 0),
        (None, "run-2", 0, 1),
        ("run-1", "run-2", MOST_SPARE_ATTEMPTS, 1),
    ],
)
def test_attempt_counts_unless_a_server_restart_interrupted_it(
    pull: PlayedPull, started_in: str | None, ended_in: str, spared: int, attempts: int
) -> None:
    pull.run = started_in
    pull.change(spared=spared)
    pull.start()
    pull.state = judging.requeue_lost(pull.state, ended_in, pull.now)
    assert (pull.due_in_s, pull.state.attempts) == (0, attempts)
    assert pull.state.spared == spared + 1 - attempts


def test_job_lost_in_the_queue_is_no_attempt(pull: PlayedPull) -> None:
    pull.dispatch()
    pull.state = judging.requeue_lost(pull.state, "run-2", pull.now)
    assert (pull.due_in_s, pull.state.attempts, pull.state.spared) == (0, 0, 0)


def test_local_judging_takes_only_a_free_lease() -> None:
    pull = PlayedPull()
    mine, other = (LocalJob(token, "run-1", "{}", number, number + 1) for token, number in (("mine", 1), ("other", 3)))
    first = judging.start_local_judging(pull.state, mine, LEASE_MS, START)
    assert first is not None
    assert (first.phase, first.fence, first.attempts) == (Phase.JUDGING, 2, 1)
    assert judging.start_local_judging(first, mine, LEASE_MS, START) is first, "sent twice"
    assert judging.start_local_judging(first, other, LEASE_MS, START) is None
    late = judging.start_local_judging(first, other, LEASE_MS, START + LEASE_MS + 1)
    assert late is not None
    assert (late.fence, late.attempts) == (4, 1)


@pytest.mark.parametrize(
    ("head", "seq", "later_ms", "is_open"),
    [(HEAD, "", 0, True), (HEAD, "1", 0, True), (HEAD, "0", 0, False), (HEAD, "0", 1, True), (NEWER, "1", 1, False)],
)
def test_opened_check_run_answers_only_its_own_request(
    pull: PlayedPull, head: str, seq: str, later_ms: float, *, is_open: bool
) -> None:
    pull.change(opening_at=pull.now + later_ms)
    after = judging.mark_opened(pull.state, head, seq, pull.now)
    assert after.opening_at == (None if is_open else pull.state.opening_at)
    assert judging.mark_opened(after._replace(opening_at=None), head, seq, pull.now).opening_at is None


def test_only_a_pending_check_run_is_postponed(pull: PlayedPull) -> None:
    assert judging.postpone_opening(pull.state, HEAD, START + 5).opening_at == START + 5
    assert judging.postpone_opening(pull.state, NEWER, START + 5) == pull.state
    opened = pull.state._replace(opening_at=None)
    assert judging.postpone_opening(opened, HEAD, START + 5) == opened


def test_half_of_the_workers_and_at_least_one_judge_strangers() -> None:
    assert [workers_for_strangers(workers) for workers in (1, 2, 8)] == [1, 1, 4]
