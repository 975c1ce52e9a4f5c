"""Open pull requests as a look around finds them."""

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


def found(number: int) -> OpenRepository:
    pull = OpenPull(number, "a" * 40, AT, draft=False, author=AuthorKind.AGENT, base=hash_base("main"))
    return OpenRepository(Repository(RepositoryId(1), "acme/shop"), (pull,))


def test_what_two_looks_find_alike_is_one() -> None:
    assert len({found(1), found(1), found(2)}) == 2


def test_a_look_that_forgot_whom_the_repository_judges_is_none() -> None:
    forgetful: Any = PullSnapshot
    with pytest.raises(TypeError, match="PullSnapshot"):
        forgetful(pull=None)


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def sent(number: int, guid: str = "a", minutes: float = 10, status: int = 502) -> DeliveryAttempt:
    return DeliveryAttempt(id=number, guid=guid, at=NOW - timedelta(minutes=minutes), status_code=status)


def test_the_newest_attempt_of_what_never_arrived_is_asked_for_the_oldest_first() -> None:
    missed = find_missed([sent(1, "a", 30), sent(2, "b", 60), sent(3, "a", 20, 0)], NOW)
    assert [attempt.id for attempt in missed] == [2, 3]


def test_what_arrived_in_any_attempt_is_not_missed() -> None:
    assert find_missed([sent(1, status=502), sent(2, minutes=5, status=202)], NOW) == []
    assert find_missed([sent(1, status=202), sent(2, minutes=5, status=502)], NOW) == []


def test_what_may_still_be_answered_and_what_is_too_old_is_left() -> None:
    young = sent(1, minutes=SETTLE_TIME.total_seconds() / 60 - 0.01, status=0)
    old = sent(2, "b", minutes=REDELIVERY_LIMIT.total_seconds() / 60)
    refused = sent(3, "c", minutes=0)
    assert find_missed([young, old, refused], NOW) == [refused]


def test_what_github_failed_to_make_stands_behind_what_it_did_not() -> None:
    failed = sent(1, "a", 60).model_copy(update={"failed": 1})
    assert sorted([failed, sent(3, "c", 20), sent(2, "b", 30)], key=retry_order) == [
        sent(2, "b", 30),
        sent(3, "c", 20),
        failed,
    ]


ATTEMPTS = st.lists(
    st.builds(sent, st.integers(1, 99), st.sampled_from("abc"), st.floats(1, 4000), st.sampled_from([0, 202, 401, 500]))
)


@given(ATTEMPTS)
def test_each_is_asked_for_once_and_never_one_that_arrived(attempts: list[DeliveryAttempt]) -> None:
    guids = [attempt.guid for attempt in find_missed(attempts, NOW)]
    assert len(guids) == len(set(guids))
    assert not set(guids) & {attempt.guid for attempt in attempts if attempt.is_delivered}
