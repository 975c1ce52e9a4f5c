"""Pull request snapshots, and webhook deliveries that were missed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.github_events import (
    BRANCH_PREFIX,
    NO_PULL,
    QUEUE_PREFIX,
    REDELIVERY_LIMIT,
    SETTLE_TIME,
    DeliveryAttempt,
    MergeGroup,
    OpenPull,
    OpenRepository,
    PullSnapshot,
    Repository,
    find_missed,
    find_pull_number,
    retry_order,
)
from worker.domain.judge_request import AuthorKind
from worker.domain.model import DeliveryId, InstallationId, RepositoryId, hash_base

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


SHA, OTHER = "a" * 40, "b" * 40
PARTS = st.text("abz09-", min_size=1, max_size=8)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
NUMBERS = st.integers(min_value=1, max_value=999_999_999)


@given(NAMES, NUMBERS, st.text("0123456789abcdef", min_size=40, max_size=40))
def test_pull_request_number_is_found_for_any_base_branch(base: str, number: int, sha: str) -> None:
    assert find_pull_number(f"{QUEUE_PREFIX}{base}/pr-{number}-{sha}", f"{BRANCH_PREFIX}{base}") == number


@given(NAMES, NAMES, NUMBERS)
def test_group_of_another_base_branch_names_no_pull_request(base: str, other: str, number: int) -> None:
    if base != other:
        assert find_pull_number(f"{QUEUE_PREFIX}{other}/pr-{number}-{SHA}", f"{BRANCH_PREFIX}{base}") == NO_PULL


@given(st.text(max_size=80))
def test_other_ref_names_no_pull_request(ref: str) -> None:
    assert find_pull_number(ref, f"{BRANCH_PREFIX}main") == NO_PULL


@given(st.text(max_size=60))
def test_ref_with_a_suffix_names_no_pull_request(tail: str) -> None:
    if tail:
        assert find_pull_number(f"{QUEUE_PREFIX}main/pr-7-{SHA}{tail}", f"{BRANCH_PREFIX}main") == NO_PULL


@pytest.mark.parametrize(
    "ref",
    [
        f"{QUEUE_PREFIX}main/pr-7-{SHA}-pr-8-{OTHER}",
        f"{QUEUE_PREFIX}main/pr-7-pr-8-{SHA}",
        f"{QUEUE_PREFIX}main/pr-7-{SHA}/pr-8-{OTHER}",
        f"{QUEUE_PREFIX}main/pr-7-{SHA[:-1]}",
        f"{QUEUE_PREFIX}main/pr-7-{SHA.upper()}",
        f"{QUEUE_PREFIX}main/pr-0-{SHA}",
        f"{QUEUE_PREFIX}main/pr-07-{SHA}",
        f"{QUEUE_PREFIX}main/pr-٧-{SHA}",
        f"{QUEUE_PREFIX}main/pr-7-{SHA}\n",
        f"{QUEUE_PREFIX}mainpr-7-{SHA}",
        f"gh-readonly-queue/main/pr-7-{SHA}",
        f"x{QUEUE_PREFIX}main/pr-7-{SHA}",
        f"refs/heads/feature/{QUEUE_PREFIX}main/pr-7-{SHA}",
        "",
    ],
)
def test_ambiguous_ref_names_no_pull_request(ref: str) -> None:
    assert find_pull_number(ref, f"{BRANCH_PREFIX}main") == NO_PULL


@pytest.mark.parametrize("base", ["", "main", "refs/heads/", "refs/tags/main"])
def test_group_without_a_base_branch_names_no_pull_request(base: str) -> None:
    assert find_pull_number(f"{QUEUE_PREFIX}main/pr-7-{SHA}", base) == NO_PULL


def test_base_branch_can_look_like_a_group_ref() -> None:
    base = f"main/pr-7-{SHA}"
    assert find_pull_number(f"{QUEUE_PREFIX}{base}/pr-8-{OTHER}", f"{BRANCH_PREFIX}{base}") == 8
    assert find_pull_number(f"{QUEUE_PREFIX}{base}/pr-8-{OTHER}", f"{BRANCH_PREFIX}main") == NO_PULL


GROUP = MergeGroup(
    installation_id=InstallationId(1), repository_id=RepositoryId(2), repository="acme/widgets",
    head_sha=SHA, base_sha=OTHER, base_ref="refs/heads/main", head_ref=f"{QUEUE_PREFIX}main/pr-7-{OTHER}",
    delivery_id=DeliveryId("one"), at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip


def test_deliveries_of_one_group_share_its_id() -> None:
    assert GROUP.id == GROUP.model_copy(update={"delivery_id": DeliveryId("two")}).id == f"1:2:{SHA}"


def test_pull_request_of_a_group_is_in_its_repository() -> None:
    assert (GROUP.pull.installation_id, GROUP.pull.repository_id, GROUP.pull.number) == (1, 2, 7)
