"""The pull request of a merge group is read only from its ref."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.check.merge_group import BRANCH_PREFIX, NO_PULL, QUEUE_PREFIX, MergeGroup, find_pull_number
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId

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
