"""Which pull request a merge group tries is read from its ref, and from nothing else."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.check.merge_group import BRANCH_PREFIX, NO_PULL, QUEUE_PREFIX, MergeGroup, find_pull_number
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId

SHA, OTHER = "a" * 40, "b" * 40
NAMES = st.from_regex(r"[a-z0-9-]{1,8}(/[a-z0-9-]{1,8}){0,3}", fullmatch=True)
NUMBERS = st.integers(min_value=1, max_value=999_999_999)


@given(NAMES, NUMBERS, st.from_regex(r"[0-9a-f]{40}", fullmatch=True))
def test_the_number_is_found_whatever_the_base_branch_is_called(base: str, number: int, sha: str) -> None:
    assert find_pull_number(f"{QUEUE_PREFIX}{base}/pr-{number}-{sha}", f"{BRANCH_PREFIX}{base}") == number


@given(NAMES, NAMES, NUMBERS)
def test_a_group_of_another_branch_names_nothing(base: str, other: str, number: int) -> None:
    if base != other:
        assert find_pull_number(f"{QUEUE_PREFIX}{other}/pr-{number}-{SHA}", f"{BRANCH_PREFIX}{base}") == NO_PULL


@given(st.text(max_size=80))
def test_nothing_that_is_worded_otherwise_names_a_pull_request(ref: str) -> None:
    assert find_pull_number(ref, f"{BRANCH_PREFIX}main") == NO_PULL


@given(st.text(max_size=60))
def test_whatever_follows_the_ref_it_is_refused(tail: str) -> None:
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
def test_two_numbers_or_a_doubt_are_refused(ref: str) -> None:
    assert find_pull_number(ref, f"{BRANCH_PREFIX}main") == NO_PULL


@pytest.mark.parametrize("base", ["", "main", "refs/heads/", "refs/tags/main"])
def test_without_a_base_branch_nothing_is_believed(base: str) -> None:
    assert find_pull_number(f"{QUEUE_PREFIX}main/pr-7-{SHA}", base) == NO_PULL


def test_a_base_branch_may_look_like_an_entry() -> None:
    base = f"main/pr-7-{SHA}"
    assert find_pull_number(f"{QUEUE_PREFIX}{base}/pr-8-{OTHER}", f"{BRANCH_PREFIX}{base}") == 8
    assert find_pull_number(f"{QUEUE_PREFIX}{base}/pr-8-{OTHER}", f"{BRANCH_PREFIX}main") == NO_PULL


def group() -> MergeGroup:
    return MergeGroup(
        installation_id=InstallationId(1),
        repository_id=RepositoryId(2),
        repository="acme/widgets",
        head_sha=SHA,
        base_sha=OTHER,
        base_ref="refs/heads/main",
        head_ref=f"{QUEUE_PREFIX}main/pr-7-{OTHER}",
        delivery_id=DeliveryId("one"),
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_all_deliveries_about_a_group_share_its_id() -> None:
    assert group().id == f"1:2:{SHA}"
    assert group().model_copy(update={"delivery_id": DeliveryId("two")}).id == group().id


def test_its_pull_request_is_of_its_repository() -> None:
    pull = group().pull
    assert (pull.installation_id, pull.repository_id, pull.number) == (1, 2, 7)
