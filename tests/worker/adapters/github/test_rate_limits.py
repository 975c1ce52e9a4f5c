"""What is left of a rate limit, and for whom."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from worker.adapters.github.rate_limits import LEAST, NOTED_BELOW, Budget, Need, left_of
from worker.domain.ids import InstallationId
from worker.domain.ports import Left
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

    def __init__(self, **left: Left) -> None:
        self.kept = left
        self.notes = 0

    def left(self, installation: InstallationId) -> Mapping[str, Left]:
        assert installation == HERE
        return self.kept

    def put(self, installation: InstallationId, resource: str, left: Left) -> None:
        assert installation == HERE
        self.kept = {**self.kept, resource: left}
        self.notes += 1


def headers(remaining: int, reset: datetime = RESET, resource: str = "core") -> dict[str, str]:
    return {
        "X-RateLimit-Remaining": str(remaining),
        "x-ratelimit-reset": str(int(reset.timestamp())),
        "x-ratelimit-resource": resource,
    }


def test_the_last_requests_are_kept_for_telling_the_state() -> None:
    budget = Budget(HERE, Page(core=Left(LEAST[Need.JUDGING], RESET)), Hand())
    budget.admit("core", Need.STATE)
    with pytest.raises(RateLimited) as refused:
        budget.admit("core", Need.JUDGING)
    assert refused.value.retry_at == RESET


def test_a_sweep_leaves_what_pull_requests_need() -> None:
    budget = Budget(HERE, Page(core=Left(LEAST[Need.SWEEP], RESET)), Hand())
    budget.admit("core", Need.JUDGING)
    with pytest.raises(RateLimited):
        budget.admit("core", Need.SWEEP)


def test_nothing_left_stops_even_the_state() -> None:
    with pytest.raises(RateLimited):
        Budget(HERE, Page(core=Left(0, RESET)), Hand()).admit("core", Need.STATE)


def test_after_the_reset_all_is_there_again_and_other_budgets_are_others() -> None:
    page = Page(core=Left(0, RESET))
    Budget(HERE, page, Hand(RESET)).admit("core", Need.SWEEP)
    Budget(HERE, page, Hand()).admit("graphql", Need.SWEEP)


@pytest.mark.parametrize(
    ("refused", "admitted"),
    [(Need.STATE, []), (Need.JUDGING, [Need.STATE]), (Need.SWEEP, [Need.STATE, Need.JUDGING])],
)
def test_a_secondary_limit_stops_all_that_is_no_more_urgent_than_what_it_refused(
    refused: Need, admitted: list[Need]
) -> None:
    page, until = Page(), NOON + timedelta(seconds=60)
    Budget(HERE, page, Hand()).throttled(refused, until)
    for resource in ("core", "graphql"):
        elsewhere = Budget(HERE, page, Hand())
        for need in Need:
            if need in admitted:
                elsewhere.admit(resource, need)
            else:
                with pytest.raises(RateLimited) as told:
                    elsewhere.admit(resource, need)
                assert told.value.retry_at == until
        Budget(HERE, page, Hand(until)).admit(resource, Need.SWEEP)


def test_of_two_secondary_limits_the_stricter_and_the_longer_one_count() -> None:
    page, soon, late = Page(), NOON + timedelta(seconds=10), NOON + timedelta(seconds=60)
    budget = Budget(HERE, page, Hand())
    budget.throttled(Need.STATE, soon)
    budget.throttled(Need.SWEEP, late)
    assert page.kept["secondary"] == Left(LEAST[Need.STATE], late)
    after = Budget(HERE, page, Hand(late))
    after.throttled(Need.SWEEP, late + timedelta(seconds=1))
    assert page.kept["secondary"].remaining == LEAST[Need.SWEEP], "the old one is over"


def test_what_an_answer_says_counts_at_once_and_is_noted_near_the_end() -> None:
    page = Page()
    budget = Budget(HERE, page, Hand())
    budget.seen(headers(NOTED_BELOW))
    assert page.notes == 0
    budget.seen(headers(NOTED_BELOW - 1))
    budget.seen(headers(NOTED_BELOW - 2))
    assert page.notes == 1
    budget.seen(headers(60))
    budget.seen(headers(59))
    assert (page.notes, page.kept["core"]) == (3, Left(59, RESET))
    budget.seen(headers(40))
    with pytest.raises(RateLimited):
        budget.admit("core", Need.JUDGING)
    budget.seen(headers(1400, RESET + timedelta(hours=1)))
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
    Budget(HERE, page, Hand()).seen(said)
    assert page.notes == 0


def test_without_a_name_it_is_the_budget_of_rest() -> None:
    found = left_of({"x-ratelimit-remaining": "7", "x-ratelimit-reset": str(int(RESET.timestamp()))})
    assert found == ("core", Left(7, RESET))
