"""Rate limits: reserved requests, secondary limits, and response headers."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from worker.adapters.github.rate_limits import (
    NOTE_EACH_BELOW,
    RESERVED_REQUESTS,
    RequestBudget,
    RequestPriority,
    read_left,
)
from worker.domain.model import InstallationId
from worker.domain.ports import RateLimit
from worker.errors import RateLimited

HERE = InstallationId(100)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESET = NOON + timedelta(minutes=30)


class StoppedClock:
    """A clock that does not advance."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 0


class StoredLimits:
    """Stored rate limits of one installation."""

    def __init__(self, **left: RateLimit) -> None:
        self.kept = left
        self.notes = 0

    def find_limits(self, installation: InstallationId) -> Mapping[str, RateLimit]:
        assert installation == HERE
        return self.kept

    def put(self, installation: InstallationId, resource: str, limit: RateLimit) -> None:
        assert installation == HERE
        self.kept = {**self.kept, resource: limit}
        self.notes += 1


def headers(remaining: int, reset: datetime = RESET, resource: str = "core") -> dict[str, str]:
    seconds = str(int(reset.timestamp()))
    return {"X-RateLimit-Remaining": str(remaining), "x-ratelimit-reset": seconds, "x-ratelimit-resource": resource}


@pytest.mark.parametrize(
    ("left", "admitted", "refused"),
    [
        (RESERVED_REQUESTS[RequestPriority.SWEEP], RequestPriority.JUDGING, RequestPriority.SWEEP),
        (RESERVED_REQUESTS[RequestPriority.JUDGING], RequestPriority.STATE, RequestPriority.JUDGING),
        (0, None, RequestPriority.STATE),
    ],
)
def test_last_requests_are_reserved_for_more_urgent_ones(
    left: int, admitted: RequestPriority | None, refused: RequestPriority
) -> None:
    budget = RequestBudget(HERE, StoredLimits(core=RateLimit(left, RESET)), StoppedClock())
    if admitted is not None:
        budget.admit("core", admitted)
    with pytest.raises(RateLimited) as error:
        budget.admit("core", refused)
    assert error.value.retry_at == RESET


def test_budget_is_full_after_the_reset_and_separate_per_resource() -> None:
    page = StoredLimits(core=RateLimit(0, RESET))
    RequestBudget(HERE, page, StoppedClock(RESET)).admit("core", RequestPriority.SWEEP)
    RequestBudget(HERE, page, StoppedClock()).admit("graphql", RequestPriority.SWEEP)


@pytest.mark.parametrize(
    ("refused", "admitted"),
    [
        (RequestPriority.STATE, []),
        (RequestPriority.JUDGING, [RequestPriority.STATE]),
        (RequestPriority.SWEEP, [RequestPriority.STATE, RequestPriority.JUDGING]),
    ],
)
def test_secondary_limit_stops_requests_that_are_no_more_urgent(
    refused: RequestPriority, admitted: list[RequestPriority]
) -> None:
    page, until = StoredLimits(), NOON + timedelta(seconds=60)
    RequestBudget(HERE, page, StoppedClock()).note_throttled(refused, until)
    for resource in ("core", "graphql"):
        elsewhere = RequestBudget(HERE, page, StoppedClock())
        for need in RequestPriority:
            if need in admitted:
                elsewhere.admit(resource, need)
            else:
                with pytest.raises(RateLimited) as error:
                    elsewhere.admit(resource, need)
                assert error.value.retry_at == until
        RequestBudget(HERE, page, StoppedClock(until)).admit(resource, RequestPriority.SWEEP)


def test_stricter_and_longer_of_two_secondary_limits_counts() -> None:
    page, soon, late = StoredLimits(), NOON + timedelta(seconds=10), NOON + timedelta(seconds=60)
    budget = RequestBudget(HERE, page, StoppedClock())
    budget.note_throttled(RequestPriority.STATE, soon)
    budget.note_throttled(RequestPriority.SWEEP, late)
    assert page.kept["secondary"] == RateLimit(RESERVED_REQUESTS[RequestPriority.STATE], late)
    after = RequestBudget(HERE, page, StoppedClock(late))
    after.note_throttled(RequestPriority.SWEEP, late + timedelta(seconds=1))
    assert page.kept["secondary"].remaining == RESERVED_REQUESTS[RequestPriority.SWEEP], "the old one is over"


def test_remaining_requests_count_immediately_and_are_stored_near_the_end() -> None:
    page = StoredLimits()
    budget = RequestBudget(HERE, page, StoppedClock())
    budget.note_headers(headers(NOTE_EACH_BELOW))
    assert page.notes == 0
    budget.note_headers(headers(NOTE_EACH_BELOW - 1))
    budget.note_headers(headers(NOTE_EACH_BELOW - 2))
    assert page.notes == 1
    budget.note_headers(headers(60))
    budget.note_headers(headers(59))
    assert (page.notes, page.kept["core"]) == (3, RateLimit(59, RESET))
    budget.note_headers(headers(40))
    with pytest.raises(RateLimited):
        budget.admit("core", RequestPriority.JUDGING)
    budget.note_headers(headers(1400, RESET + timedelta(hours=1)))
    assert page.kept["core"].remaining == 1400


@pytest.mark.parametrize(
    "response_headers",
    [
        {},
        {"x-ratelimit-remaining": "-1", "x-ratelimit-reset": "1"},
        {"x-ratelimit-remaining": "1"},
        headers(1) | {"x-ratelimit-reset": "9" * 12},
    ],
)
def test_response_without_rate_limit_headers_changes_nothing(response_headers: Mapping[str, str]) -> None:
    page = StoredLimits()
    RequestBudget(HERE, page, StoppedClock()).note_headers(response_headers)
    assert page.notes == 0


def test_unnamed_rate_limit_is_that_of_rest() -> None:
    left = read_left({"x-ratelimit-remaining": "7", "x-ratelimit-reset": str(int(RESET.timestamp()))})
    assert left == ("core", RateLimit(7, RESET))
