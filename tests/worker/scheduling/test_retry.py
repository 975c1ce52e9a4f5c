"""What failed because GitHub was away comes again one after the other, however much of it failed at once."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, judge_request
from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from worker.domain.ids import DeliveryId, RepositoryId
from worker.domain.judge_request import MANUAL_TRIGGERS, JudgeRequest, PullRef, Trigger
from worker.domain.verdict.verdict import AbstainReason
from worker.scheduling import retry
from worker.scheduling.retry import OutageRetries, RetrySchedule, RetrySlot, TaskBackoff, retry_after_outage

NAMES = count()


def turn(installation: int = 1, errand: str = "") -> RetrySlot:
    return RetrySlot(installation, errand or f"errand {next(NAMES)}", lambda _: None)


def test_of_one_installation_no_two_come_within_the_gap() -> None:
    times = TaskBackoff(5.0, 2.0)
    placed = [times.reserve(turn(), at, now=0.0) for at in (15.0, 15.0, 16.0, 45.0, 15.0, 41.0)]
    assert placed == [15.0, 20.0, 25.0, 45.0, 30.0, 50.0]
    assert len([one for one in placed if one < 60]) * 5 <= 60


def test_installations_do_not_wait_for_each_other() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.reserve(turn(one), 15.0, now=0.0) for one in (1, 2)] == [15.0, 15.0]


def test_what_is_past_is_nobodys_place_any_more() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.reserve(turn(), 15.0, now=0.0), times.reserve(turn(), 18.0, now=16.0)] == [15.0, 18.0]


def test_an_errand_has_one_place() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.reserve(turn(errand="a"), 15.0, now=0.0) for _ in range(2)] == [15.0, 15.0]


def test_failures_are_counted_in_a_row() -> None:
    times = TaskBackoff(5.0, 2.0)
    assert [times.count_failure("a"), times.count_failure("a"), times.count_failure("b")] == [1, 2, 1]
    assert (times.forget("a"), times.forget("a"), times.forget("c")) == (True, False, False)
    assert times.count_failure("a") == 1


def test_what_is_not_heard_of_again_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "MAX_REMEMBERED", 2)
    times = TaskBackoff(5.0, 2.0)
    assert [times.count_failure(one) for one in ("a", "b", "a", "c", "b", "c", "a")] == [1, 1, 2, 1, 1, 2, 1]


def test_a_few_follow_one_that_went_well_and_as_many_each_of_them() -> None:
    times = TaskBackoff(5.0, 2.0)
    turns = [turn(errand=name) for name in "abcdef"]
    for number, one in enumerate(turns):
        times.reserve(one, 600.0 + 5 * number, now=0.0)
    assert [(one.task, at) for one, at in times.release(1, 2, now=10.0)] == [("a", 12.0), ("b", 14.0)]
    assert [(one.task, at) for one, at in times.release(1, 3, now=12.0)] == [("c", 16.0), ("d", 18.0), ("e", 20.0)]
    assert [one.task for one, _ in times.release(1, 3, now=12.0)] == ["f"]
    assert times.release(1, 3, now=30.0) == []


def test_nobody_follows_in_another_installation() -> None:
    times = TaskBackoff(5.0, 2.0)
    times.reserve(turn(2), 600.0, now=0.0)
    assert times.release(1, 2, now=10.0) == []


def test_whose_time_comes_anyway_is_left_alone() -> None:
    times = TaskBackoff(5.0, 2.0)
    put_off = list[timedelta]()
    times.reserve(RetrySlot(1, "soon", put_off.append), 11.0, now=0.0)
    times.reserve(RetrySlot(1, "late", put_off.append), 600.0, now=0.0)
    ((late, at),) = times.release(1, 2, now=10.0)
    late.postpone(timedelta(seconds=at - 10))
    assert (late.task, put_off) == ("late", [timedelta(seconds=4)])


SPREAD = RetrySchedule(gap=timedelta(seconds=1), longest_delay=timedelta(seconds=60))


def asked(number: int, trigger: Trigger = Trigger.PUSHED, repository: int = 7) -> JudgeRequest:
    request = judge_request(number)
    pull = request.pull.model_copy(update={"repository_id": RepositoryId(repository)})
    return request.model_copy(update={"pull": pull, "trigger": trigger})


def turns(requests: Iterable[JudgeRequest], crowd: int) -> list[datetime]:
    return [SPREAD.retry_at(REQUESTED_AT, one, crowd) for one in requests]


@pytest.mark.parametrize("first", [1, 480, 90_210])
@pytest.mark.parametrize("many", [5, 30, 60])
def test_as_many_come_back_in_as_many_gaps_and_no_two_of_a_repository_together(first: int, many: int) -> None:
    found = sorted(turns((asked(number) for number in range(first, first + many)), many))
    assert found[0] >= REQUESTED_AT
    assert found[-1] < REQUESTED_AT + many * SPREAD.gap
    assert all(after - before > SPREAD.gap / 3 for before, after in pairwise(found))


def test_however_many_they_are_none_waits_for_longer_than_that() -> None:
    found = sorted(turns((asked(number) for number in range(1, 601)), 600))
    assert REQUESTED_AT + SPREAD.longest_delay - SPREAD.gap < found[-1] < REQUESTED_AT + SPREAD.longest_delay
    each_second = [
        sum(1 for one in found if int((one - REQUESTED_AT).total_seconds()) == second) for second in range(15, 60)
    ]
    assert (min(each_second) > 10, max(each_second) < 17) == (True, True), "13 on average"


def test_pull_requests_of_one_number_in_many_repositories_are_spread_as_well() -> None:
    found = sorted(turns((asked(7, repository=900 + one) for one in range(30)), 30))
    assert all(after - before > SPREAD.gap / 3 for before, after in pairwise(found))


@pytest.mark.parametrize("trigger", Trigger)
def test_who_is_alone_is_judged_when_github_said(trigger: Trigger) -> None:
    assert turns([asked(3, trigger)], 1) == [REQUESTED_AT]


def test_what_somebody_asked_for_by_hand_comes_before_the_rest() -> None:
    requests = [asked(number, trigger) for number, trigger in enumerate(Trigger)]
    found = {one: SPREAD.retry_at(REQUESTED_AT, one, 30) for one in requests}
    by_hand = [at for one, at in found.items() if one.trigger in MANUAL_TRIGGERS]
    rest = [at for one, at in found.items() if one.trigger not in MANUAL_TRIGGERS]
    assert max(by_hand) < min(rest)


def test_the_same_pull_request_has_the_same_turn() -> None:
    assert len(set(turns([asked(3)] * 3, 30))) == 1


NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
OUTAGES = OutageRetries(3, timedelta(minutes=10))
IN_VAIN = abstain_verdict(abstain_reason=AbstainReason.JUDGE_UNAVAILABLE)


def request(outages: int = 0) -> JudgeRequest:
    return JudgeRequest(
        pull=PullRef.model_validate({"installation_id": 1, "repository_id": 2, "number": 3}),
        repository="acme/widgets",
        head_sha="a" * 40,
        trigger=Trigger.PUSHED,
        delivery_id=DeliveryId("d"),
        requested_at=NOON,
        outages=outages,
    )


def test_each_wait_is_twice_as_long_and_the_last_try_is_the_last() -> None:
    waits = [OUTAGES.wait(request(outages), IN_VAIN) for outages in range(5)]
    assert waits == [timedelta(minutes=10), timedelta(minutes=20), timedelta(minutes=40), None, None]


@pytest.mark.parametrize(
    "verdict", [accept_verdict(), reject_verdict(), abstain_verdict(abstain_reason=AbstainReason.BUDGET)]
)
def test_what_is_no_outage_does_not_come_again(verdict: object) -> None:
    assert OUTAGES.wait(request(), verdict) is None  # pyright: ignore[reportArgumentType] - parametrized


def test_a_laptop_tries_nothing_again_by_itself() -> None:
    assert OutageRetries().wait(request(), IN_VAIN) is None


def test_the_next_try_is_for_the_head_of_then() -> None:
    later = NOON + timedelta(minutes=1)
    again = retry_after_outage(request(1), later)
    assert (again.head_sha, again.trigger, again.requested_at, again.outages) == (None, Trigger.OUTAGE, later, 2)
    assert again.pull == request().pull
