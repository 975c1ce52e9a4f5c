from datetime import UTC, datetime, timedelta

import pytest

from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.domain.ids import DeliveryId
from worker.domain.request.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.verdict.verdict import AbstainReason
from worker.scheduling.model_outage import OutageRetries, retry_after_outage

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
OUTAGES = OutageRetries(3, timedelta(minutes=10))
IN_VAIN = unjudged(abstain_reason=AbstainReason.JUDGE_UNAVAILABLE)


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


@pytest.mark.parametrize("verdict", [accepted(), rejected(), unjudged(abstain_reason=AbstainReason.BUDGET)])
def test_what_is_no_outage_does_not_come_again(verdict: object) -> None:
    assert OUTAGES.wait(request(), verdict) is None  # pyright: ignore[reportArgumentType] - parametrized


def test_a_laptop_tries_nothing_again_by_itself() -> None:
    assert OutageRetries().wait(request(), IN_VAIN) is None


def test_the_next_try_is_for_the_head_of_then() -> None:
    later = NOON + timedelta(minutes=1)
    again = retry_after_outage(request(1), later)
    assert (again.head_sha, again.trigger, again.requested_at, again.outages) == (None, Trigger.OUTAGE, later, 2)
    assert again.pull == request().pull
