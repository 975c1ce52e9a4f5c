"""Pull request snapshots, and webhook deliveries that were missed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.ids import RepositoryId, hash_base
from worker.domain.judge_request import AuthorKind
from worker.domain.pull_request_events import (
    REDELIVERY_LIMIT,
    SETTLE_TIME,
    DeliveryAttempt,
    OpenPull,
    OpenRepository,
    PullSnapshot,
    Repository,
    find_missed,
    retry_order,
)

AT = datetime(2026, 11, 1, tzinfo=UTC)


def open_repository(number: int) -> OpenRepository:
    pull = OpenPull(number, "a" * 40, AT, draft=False, author=AuthorKind.AGENT, base=hash_base("main"))
    return OpenRepository(Repository(RepositoryId(1), "acme/shop"), (pull,))


def test_equal_snapshots_of_a_repository_are_one() -> None:
    assert len({open_repository(1), open_repository(1), open_repository(2)}) == 2


def test_snapshot_without_judged_authors_is_refused() -> None:
    forgetful: Any = PullSnapshot
    with pytest.raises(TypeError, match="PullSnapshot"):
        forgetful(pull=None)


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def delivery_attempt(number: int, guid: str = "a", minutes: float = 10, status: int = 502) -> DeliveryAttempt:
    return DeliveryAttempt(id=number, guid=guid, at=NOW - timedelta(minutes=minutes), status_code=status)


def test_newest_attempt_of_each_missed_delivery_is_retried_oldest_first() -> None:
    missed = find_missed(
        [delivery_attempt(1, "a", 30), delivery_attempt(2, "b", 60), delivery_attempt(3, "a", 20, 0)], NOW
    )
    assert [attempt.id for attempt in missed] == [2, 3]


def test_delivery_that_arrived_in_any_attempt_is_not_missed() -> None:
    assert find_missed([delivery_attempt(1, status=502), delivery_attempt(2, minutes=5, status=202)], NOW) == []
    assert find_missed([delivery_attempt(1, status=202), delivery_attempt(2, minutes=5, status=502)], NOW) == []


def test_unsettled_and_expired_deliveries_are_left() -> None:
    young = delivery_attempt(1, minutes=SETTLE_TIME.total_seconds() / 60 - 0.01, status=0)
    old = delivery_attempt(2, "b", minutes=REDELIVERY_LIMIT.total_seconds() / 60)
    refused = delivery_attempt(3, "c", minutes=0)
    assert find_missed([young, old, refused], NOW) == [refused]


def test_deliveries_that_failed_to_redeliver_come_last() -> None:
    failed = delivery_attempt(1, "a", 60).model_copy(update={"failed": 1})
    older, newer = delivery_attempt(2, "b", 30), delivery_attempt(3, "c", 20)
    assert sorted([failed, newer, older], key=retry_order) == [older, newer, failed]


STATUSES = st.sampled_from([0, 202, 401, 500])
ATTEMPTS = st.builds(delivery_attempt, st.integers(1, 99), st.sampled_from("abc"), st.floats(1, 4000), STATUSES)


@given(st.lists(ATTEMPTS))
def test_missed_deliveries_are_retried_once_and_never_after_arrival(attempts: list[DeliveryAttempt]) -> None:
    guids = [attempt.guid for attempt in find_missed(attempts, NOW)]
    assert len(guids) == len(set(guids))
    assert not set(guids) & {attempt.guid for attempt in attempts if attempt.is_delivered}
