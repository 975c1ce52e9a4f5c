"""External ids, refs and refusals of check runs and SARIF uploads."""

from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, pull_ref
from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.check.check_run import (
    PENDING_TEXTS,
    UNKNOWN_STATUS,
    DueJudging,
    PullWithHead,
    SarifUpload,
    UploadedSarif,
    UploadRefusal,
    WaitState,
    classify_refusal,
    external_id,
    find_wait_reason,
    find_wait_status,
    pull_number,
    ref_of,
)
from worker.domain.model import DeliveryId, EvalId
from worker.domain.verdict.verdict import AbstainReason, Verdict


def test_external_id_holds_the_pull_request_number() -> None:
    assert pull_number(external_id(12)) == 12


@pytest.mark.parametrize("external", [None, "", "pull:", "pull:x", "pull:٣", "group:12", "12"])
def test_foreign_external_id_holds_no_pull_request_number(external: str | None) -> None:
    assert pull_number(external) is None


@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        ("Resource not accessible by integration", UploadRefusal.PERMISSION),
        ("Code Security must be enabled for this repository to use code scanning.", UploadRefusal.NOT_ENABLED),
        ("Advanced Security must be enabled for this repository.", UploadRefusal.NOT_ENABLED),
        ("Repository was archived so is read-only.", UploadRefusal.FORBIDDEN),
    ],
)
def test_upload_refusal_is_classified_by_the_message_of_github(message: str, refusal: UploadRefusal) -> None:
    assert classify_refusal(f'GitHub refuses POST /x: "{message}".') is refusal


def test_pull_request_ref_is_in_the_base_repository() -> None:
    assert ref_of(pull_ref(7)) == "refs/pull/7/head"


def test_sarif_is_uploaded_once_per_head_and_original_verdict() -> None:
    first, again = EvalId("first"), EvalId("again")
    scan = SarifUpload(pull=pull_ref(), head_sha=HEAD, eval_id=again, origin=first, delivery_id=DeliveryId("d"))
    assert UploadedSarif(head_sha=HEAD, origin=first).matches(scan)
    assert not UploadedSarif(head_sha=NEWER, origin=first).matches(scan)
    assert not UploadedSarif(head_sha=HEAD, origin=again).matches(scan)


A, B = "a" * 40, "b" * 40


def pull_with(number: int = 1, **changes: Any) -> PullWithHead:
    standard: dict[str, Any] = {"head": A, "pending_reason": None, "is_draft": False, "verdict": None}
    return PullWithHead(number=number, **{**standard, **changes})


def test_unknown_commit_has_no_final_status() -> None:
    assert find_wait_status([], A) is UNKNOWN_STATUS
    assert (UNKNOWN_STATUS.state, UNKNOWN_STATUS.is_final) == (WaitState.NONE, False)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"pending_reason": "judging"}, WaitState.PENDING),
        ({"pending_reason": "judging", "verdict": accepted()}, WaitState.PENDING),
        ({"verdict": accepted()}, WaitState.DONE),
        ({"head": None, "verdict": accepted()}, WaitState.DONE),
        ({"head": B, "verdict": accepted()}, WaitState.SUPERSEDED),
        ({"head": B, "pending_reason": "judging"}, WaitState.SUPERSEDED),
        ({"is_draft": True}, WaitState.NONE),
        ({}, WaitState.NONE),
    ],
)
def test_each_pull_request_state_has_its_wait_status(changes: dict[str, Any], state: WaitState) -> None:
    status = find_wait_status([pull_with(**changes)], A)
    assert (status.state, status.number) == (state, 1)
    assert status.is_final is (state is not WaitState.PENDING)
    assert (status.verdict is not None) is (state is WaitState.DONE)
    assert status.newer_head == (B if state is WaitState.SUPERSEDED else None)


@pytest.mark.parametrize(
    ("changes", "state"),
    [({"verdict": rejected()}, WaitState.DONE), ({}, WaitState.NONE), ({"is_draft": True}, WaitState.NONE)],
)
def test_overriding_account_is_named_beside_the_verdict(changes: dict[str, Any], state: WaitState) -> None:
    status = find_wait_status([pull_with(overridden_by="alice", **changes)], A)
    assert (status.state, status.overridden_by) == (state, "alice")
    assert status.explanation == "@alice overrode what is said of this commit: nothing is left to do."
    for other in ({"head": B}, {"pending_reason": "judging"}):
        fields: dict[str, Any] = {**changes, **other, "overridden_by": "alice"}
        assert find_wait_status([pull_with(**fields)], A).overridden_by is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"head": B}, "newer_commit"),
        ({"pending_reason": "waiting_for_ci"}, "waiting_for_ci"),
        ({"verdict": accepted()}, None),
        ({"verdict": rejected()}, "half_finished"),
        ({"verdict": abstained(AbstainReason.JUDGE_UNAVAILABLE)}, "judge_unavailable"),
        ({"verdict": rejected(), "overridden_by": "alice"}, "half_finished"),
        ({"overridden_by": "alice"}, "overridden"),
        ({"is_draft": True}, "draft"),
        ({}, None),
    ],
)
def test_wait_reason_is_the_word_of_the_check(changes: dict[str, Any], reason: str | None) -> None:
    assert find_wait_status([pull_with(**changes)], A).reason == reason


def test_draft_and_skipped_pull_request_have_their_own_explanation() -> None:
    assert "draft" in find_wait_status([pull_with(is_draft=True)], A).explanation
    assert "skipped" in find_wait_status([pull_with()], A).explanation


def test_pull_request_with_the_commit_as_head_answers_for_it() -> None:
    pulls = [pull_with(1, verdict=accepted()), pull_with(2, head=B), pull_with(3, head=B, pending_reason="judging")]
    status = find_wait_status(pulls, A)
    assert (status.number, status.state, status.others) == (1, WaitState.DONE, (2, 3))
    assert find_wait_status([pull_with(1), pull_with(2, verdict=accepted())], A).number == 2


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        ({"verdict": rejected()}, {"verdict": accepted()}, WaitState.DONE),
        ({"pending_reason": "judging"}, {"verdict": rejected()}, WaitState.PENDING),
        ({"pending_reason": "judging"}, {"is_draft": True}, WaitState.PENDING),
        ({"verdict": rejected()}, {"verdict": abstained(AbstainReason.NEEDS_HUMAN)}, WaitState.DONE),
        ({"verdict": abstained(AbstainReason.NEEDS_HUMAN)}, {"verdict": accepted()}, WaitState.DONE),
        ({"verdict": accepted()}, {"verdict": rejected(), "is_closed": True}, WaitState.DONE),
        ({"verdict": accepted()}, {"verdict": rejected(), "overridden_by": "alice", "is_closed": True}, WaitState.DONE),
        ({"verdict": accepted()}, {"is_draft": True}, WaitState.DONE),
        ({"verdict": accepted()}, {}, WaitState.DONE),
        ({}, {"is_draft": True}, WaitState.NONE),
    ],
)
def test_strictest_open_pull_request_answers_for_a_shared_head(
    first: dict[str, Any], second: dict[str, Any], state: WaitState
) -> None:
    for number, other in ((1, 2), (2, 1)):
        status = find_wait_status([pull_with(number, **first), pull_with(other, **second)], A)
        assert (status.number, status.state, status.others) == (number, state, (other,))


def test_newest_pull_request_answers_among_equals() -> None:
    passing = [pull_with(1, verdict=accepted()), pull_with(2, verdict=rejected(), overridden_by="alice")]
    assert find_wait_status(passing, A).number == 2
    assert find_wait_status([pull_with(1, verdict=rejected()), pull_with(2, verdict=rejected())], A).number == 2


NOW = 1_000_000
AWAY = abstained(AbstainReason.JUDGE_UNAVAILABLE)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"is_started": True, "rate_limit_until": NOW + 1, "outage_count": 2}, "judging"),
        ({"is_started": True, "waiting_since": 1, "outage_count": 2}, "waiting_for_ci"),
        ({"due_at": NOW - 1, "first_push_at": NOW - 9}, "judging"),
        ({"due_at": NOW, "first_push_at": NOW}, "judging"),
        ({"due_at": NOW + 9, "first_push_at": NOW}, "quiet_window"),
        ({"due_at": NOW + 9}, "judging"),
        ({"due_at": NOW + 9, "waiting_since": NOW - 1}, "waiting_for_ci"),
        ({"due_at": NOW - 9, "waiting_since": NOW - 1}, "waiting_for_ci"),
        ({"outage_count": 1}, "github_outage"),
        ({"rate_limit_until": NOW + 1, "outage_count": 1}, "rate_limit"),
        ({"rate_limit_until": NOW, "outage_count": 1}, "github_outage"),
        ({"rate_limit_until": NOW}, "judging"),
    ],
)
def test_pending_reason_names_what_the_judging_waits_for(changes: dict[str, Any], reason: str) -> None:
    standard: dict[str, Any] = {"now": NOW, "is_started": False}
    due = DueJudging(**{**standard, **changes})
    assert find_wait_reason(due, None) == reason
    assert find_wait_status([pull_with(pending_reason=reason)], A).explanation == PENDING_TEXTS[reason]


@pytest.mark.parametrize(
    ("changes", "verdict", "reason"),
    [
        ({"due_at": NOW + 9}, AWAY, "judge_unavailable"),
        ({"due_at": NOW + 9, "first_push_at": NOW}, AWAY, "quiet_window"),
        ({"due_at": NOW - 9}, AWAY, "judging"),
        ({"due_at": NOW + 9}, rejected(), "judging"),
    ],
)
def test_retried_verdict_explains_its_reason(changes: dict[str, int], verdict: Verdict, reason: str) -> None:
    assert find_wait_reason(DueJudging(is_started=False, now=NOW, **changes), verdict) == reason
    status = find_wait_status([pull_with(pending_reason="judge_unavailable")], A)
    assert status.explanation == "It could not be judged, and is retried automatically."
