"""What is left of a rate limit, and for whom."""

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
from worker.domain.ids import InstallationId
from worker.domain.ports import RateLimit
from worker.errors import RateLimited

HERE = InstallationId(100)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESET = NOON + timedelta(minutes=30)


class Hand:
    """A clock that stands."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 0


class Page:
    """A book of one page."""

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
    return {
        "X-RateLimit-Remaining": str(remaining),
        "x-ratelimit-reset": str(int(reset.timestamp())),
        "x-ratelimit-resource": resource,
    }


@pytest.mark.parametrize(
    ("left", "admitted", "refused"),
    [
        (RESERVED_REQUESTS[RequestPriority.SWEEP], RequestPriority.JUDGING, RequestPriority.SWEEP),
        (RESERVED_REQUESTS[RequestPriority.JUDGING], RequestPriority.STATE, RequestPriority.JUDGING),
        (0, None, RequestPriority.STATE),
    ],
)
def test_the_last_requests_are_kept_for_what_is_more_urgent(
    left: int, admitted: RequestPriority | None, refused: RequestPriority
) -> None:
    budget = RequestBudget(HERE, Page(core=RateLimit(left, RESET)), Hand())
    if admitted is not None:
        budget.admit("core", admitted)
    with pytest.raises(RateLimited) as told:
        budget.admit("core", refused)
    assert told.value.retry_at == RESET


def test_after_the_reset_all_is_there_again_and_other_budgets_are_others() -> None:
    page = Page(core=RateLimit(0, RESET))
    RequestBudget(HERE, page, Hand(RESET)).admit("core", RequestPriority.SWEEP)
    RequestBudget(HERE, page, Hand()).admit("graphql", RequestPriority.SWEEP)


@pytest.mark.parametrize(
    ("refused", "admitted"),
    [
        (RequestPriority.STATE, []),
        (RequestPriority.JUDGING, [RequestPriority.STATE]),
        (RequestPriority.SWEEP, [RequestPriority.STATE, RequestPriority.JUDGING]),
    ],
)
def test_a_secondary_limit_stops_all_that_is_no_more_urgent_than_what_it_refused(
    refused: RequestPriority, admitted: list[RequestPriority]
) -> None:
    page, until = Page(), NOON + timedelta(seconds=60)
    RequestBudget(HERE, page, Hand()).note_throttled(refused, until)
    for resource in ("core", "graphql"):
        elsewhere = RequestBudget(HERE, page, Hand())
        for need in RequestPriority:
            if need in admitted:
                elsewhere.admit(resource, need)
            else:
                with pytest.raises(RateLimited) as told:
                    elsewhere.admit(resource, need)
                assert told.value.retry_at == until
        RequestBudget(HERE, page, Hand(until)).admit(resource, RequestPriority.SWEEP)


def test_of_two_secondary_limits_the_stricter_and_the_longer_one_count() -> None:
    page, soon, late = Page(), NOON + timedelta(seconds=10), NOON + timedelta(seconds=60)
    budget = RequestBudget(HERE, page, Hand())
    budget.note_throttled(RequestPriority.STATE, soon)
    budget.note_throttled(RequestPriority.SWEEP, late)
    assert page.kept["secondary"] == RateLimit(RESERVED_REQUESTS[RequestPriority.STATE], late)
    after = RequestBudget(HERE, page, Hand(late))
    after.note_throttled(RequestPriority.SWEEP, late + timedelta(seconds=1))
    assert page.kept["secondary"].remaining == RESERVED_REQUESTS[RequestPriority.SWEEP], "the old one is over"


def test_what_an_answer_says_counts_at_once_and_is_noted_near_the_end() -> None:
    page = Page()
    budget = RequestBudget(HERE, page, Hand())
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
    "said",
    [
        {},
        {"x-ratelimit-remaining": "-1", "x-ratelimit-reset": "1"},
        {"x-ratelimit-remaining": "1"},
        headers(1) | {"x-ratelimit-reset": "9" * 12},
    ],
)
def test_an_answer_without_such_words_says_nothing(said: Mapping[str, str]) -> None:
    page = Page()
    RequestBudget(HERE, page, Hand()).note_headers(said)
    assert page.notes == 0


def test_without_a_name_it_is_the_budget_of_rest() -> None:
    found = read_left({"x-ratelimit-remaining": "7", "x-ratelimit-reset": str(int(RESET.timestamp()))})
    assert found == ("core", RateLimit(7, RESET))
