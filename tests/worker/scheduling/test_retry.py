"""Retries after an outage: spread over time per installation and per repository."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import count, pairwise

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, judge_request, pull_ref
from worker.domain.judge_request import MANUAL_TRIGGERS, JudgeRequest, Trigger
from worker.scheduling import retry
from worker.scheduling.retry import OutageRetries, RetrySchedule, RetrySlot, TaskBackoff, retry_after_outage

NAMES = count()


def retry_slot(installation: int = 1, task: str = "") -> RetrySlot:
    return RetrySlot(installation, task or f"task {next(NAMES)}", lambda _: None)


@pytest.fixture
def backoff() -> TaskBackoff:
    return TaskBackoff(5.0, 2.0)


def test_retries_of_one_installation_keep_the_gap(backoff: TaskBackoff) -> None:
    reserved = [backoff.reserve(retry_slot(), at, now=0.0) for at in (15.0, 15.0, 16.0, 45.0, 15.0, 41.0)]
    assert reserved == [15.0, 20.0, 25.0, 45.0, 30.0, 50.0]
    assert len([at for at in reserved if at < 60]) * 5 <= 60


def test_installations_do_not_wait_for_each_other(backoff: TaskBackoff) -> None:
    assert [backoff.reserve(retry_slot(installation), 15.0, now=0.0) for installation in (1, 2)] == [15.0, 15.0]


def test_past_slots_are_free_again(backoff: TaskBackoff) -> None:
    assert [backoff.reserve(retry_slot(), 15.0, now=0.0), backoff.reserve(retry_slot(), 18.0, now=16.0)] == [15.0, 18.0]


def test_task_has_one_slot(backoff: TaskBackoff) -> None:
    assert [backoff.reserve(retry_slot(task="a"), 15.0, now=0.0) for _ in range(2)] == [15.0, 15.0]


def test_consecutive_failures_are_counted(backoff: TaskBackoff) -> None:
    assert [backoff.count_failure("a"), backoff.count_failure("a"), backoff.count_failure("b")] == [1, 2, 1]
    assert (backoff.forget("a"), backoff.forget("a"), backoff.forget("c")) == (True, False, False)
    assert backoff.count_failure("a") == 1


def test_oldest_failure_counts_are_forgotten(backoff: TaskBackoff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "MAX_REMEMBERED", 2)
    assert [backoff.count_failure(task) for task in ("a", "b", "a", "c", "b", "c", "a")] == [1, 1, 2, 1, 1, 2, 1]


def test_success_releases_a_few_waiting_tasks(backoff: TaskBackoff) -> None:
    for number, task in enumerate("abcdef"):
        backoff.reserve(retry_slot(task=task), 600.0 + 5 * number, now=0.0)
    assert [(slot.task, at) for slot, at in backoff.release(1, 2, now=10.0)] == [("a", 12.0), ("b", 14.0)]
    assert [(slot.task, at) for slot, at in backoff.release(1, 3, now=12.0)] == [("c", 16.0), ("d", 18.0), ("e", 20.0)]
    assert [slot.task for slot, _ in backoff.release(1, 3, now=12.0)] == ["f"]
    assert backoff.release(1, 3, now=30.0) == []


def test_success_releases_no_task_of_another_installation(backoff: TaskBackoff) -> None:
    backoff.reserve(retry_slot(2), 600.0, now=0.0)
    assert backoff.release(1, 2, now=10.0) == []


def test_task_that_is_due_soon_is_not_released(backoff: TaskBackoff) -> None:
    postponed = list[timedelta]()
    backoff.reserve(RetrySlot(1, "soon", postponed.append), 11.0, now=0.0)
    backoff.reserve(RetrySlot(1, "late", postponed.append), 600.0, now=0.0)
    ((late, at),) = backoff.release(1, 2, now=10.0)
    late.postpone(timedelta(seconds=at - 10))
    assert (late.task, postponed) == ("late", [timedelta(seconds=4)])


SPREAD = RetrySchedule(gap=timedelta(seconds=1), longest_delay=timedelta(seconds=60))


def request_of(number: int, trigger: Trigger = Trigger.PUSHED, repository: int = 7) -> JudgeRequest:
    return judge_request(pull=pull_ref(number, repository=repository), trigger=trigger)


def retry_times(requests: Iterable[JudgeRequest], count: int) -> list[datetime]:
    return sorted(SPREAD.retry_at(REQUESTED_AT, request, count) for request in requests)


@pytest.mark.parametrize("first", [1, 480, 90_210])
@pytest.mark.parametrize("count", [5, 30, 60])
def test_retries_of_a_repository_are_spread_over_as_many_gaps(first: int, count: int) -> None:
    times = retry_times((request_of(number) for number in range(first, first + count)), count)
    assert times[0] >= REQUESTED_AT
    assert times[-1] < REQUESTED_AT + count * SPREAD.gap
    assert all(after - before > SPREAD.gap / 3 for before, after in pairwise(times))


def test_many_retries_keep_the_longest_delay() -> None:
    times = retry_times((request_of(number) for number in range(1, 601)), 600)
    assert REQUESTED_AT + SPREAD.longest_delay - SPREAD.gap < times[-1] < REQUESTED_AT + SPREAD.longest_delay
    per_second = Counter(int((at - REQUESTED_AT).total_seconds()) for at in times)
    assert all(10 < per_second[second] < 17 for second in range(15, 60)), "13 on average"


def test_retries_of_one_number_in_many_repositories_are_spread() -> None:
    times = retry_times((request_of(7, repository=900 + number) for number in range(30)), 30)
    assert all(after - before > SPREAD.gap / 3 for before, after in pairwise(times))


@pytest.mark.parametrize("trigger", Trigger)
def test_single_retry_is_not_delayed(trigger: Trigger) -> None:
    assert retry_times([request_of(3, trigger)], 1) == [REQUESTED_AT]


def test_manual_requests_are_retried_first() -> None:
    requests = [request_of(number, trigger) for number, trigger in enumerate(Trigger)]
    manual = retry_times((request for request in requests if request.trigger in MANUAL_TRIGGERS), 30)
    rest = retry_times((request for request in requests if request.trigger not in MANUAL_TRIGGERS), 30)
    assert max(manual) < min(rest)


def test_same_pull_request_has_the_same_retry_time() -> None:
    assert len(set(retry_times([request_of(3)] * 3, 30))) == 1


def test_outage_delay_doubles_until_the_last_retry_if_any() -> None:
    waits = [OutageRetries(3, timedelta(minutes=10)).wait(judge_request(outages=outages)) for outages in range(5)]
    assert waits == [timedelta(minutes=10), timedelta(minutes=20), timedelta(minutes=40), None, None]
    assert OutageRetries().wait(judge_request()) is None, "none by default"


def test_retry_after_an_outage_is_for_the_newest_head() -> None:
    later = REQUESTED_AT + timedelta(minutes=1)
    again = retry_after_outage(judge_request(outages=1), later)
    assert (again.head_sha, again.trigger, again.requested_at, again.outages) == (None, Trigger.OUTAGE, later, 2)
    assert again.pull == pull_ref()
