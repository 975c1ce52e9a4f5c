"""Decisions of people about a head: contests, overrides and reviews."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.check.overrides import NO_DECISIONS, Contest, HumanDecisions, Override, ReviewDecision, needs_human
from worker.domain.judge_request import ReviewRef
from worker.domain.verdict.verdict import AbstainReason

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
CONTEST = Contest(login="bob", reason="It is met.", at=AT)
OVERRIDE = Override(login="alice", reason="A hotfix.", at=AT)
APPROVED = ReviewDecision(login="alice", at=AT, is_approved=True)


def test_no_decisions_decide_nothing() -> None:
    assert NO_DECISIONS.rejudge_requested_at is NO_DECISIONS.open_contest_reason is None
    assert not NO_DECISIONS.is_deciding(rejected())


def test_contest_is_open_until_it_is_judged() -> None:
    assert HumanDecisions(contest=CONTEST, contested_at=AT).open_contest_reason == "It is met."
    assert HumanDecisions(contest=CONTEST).open_contest_reason is None
    assert HumanDecisions(forced_at=AT).open_contest_reason is None


def test_latest_rejudge_request_counts() -> None:
    later = AT + timedelta(minutes=1)
    assert HumanDecisions(contested_at=later, forced_at=AT).rejudge_requested_at == later
    assert HumanDecisions(forced_at=AT).rejudge_requested_at == AT


def test_override_decides_any_verdict() -> None:
    assert all(HumanDecisions(override=OVERRIDE).is_deciding(verdict) for verdict in (None, accepted(), rejected()))


@pytest.mark.parametrize("reason", AbstainReason)
def test_review_decides_only_verdicts_that_need_a_person(reason: AbstainReason) -> None:
    needs = reason in {AbstainReason.NEEDS_HUMAN, AbstainReason.TOO_LARGE}
    assert needs_human(abstained(reason)) is needs
    assert HumanDecisions(review=APPROVED).is_deciding(abstained(reason)) is needs
    assert not HumanDecisions(review=APPROVED).is_deciding(rejected())
    assert not HumanDecisions(review=APPROVED).is_deciding(None)


@pytest.mark.parametrize(("noted", "counts"), [("main", True), ("below", False), (None, True)])
def test_review_counts_for_the_base_branch_of_its_code_owner(noted: str | None, *, counts: bool) -> None:
    decisions = HumanDecisions(override=OVERRIDE, review=APPROVED.model_copy(update={"base_ref": noted}))
    assert decisions.for_base("main") == (decisions if counts else HumanDecisions(override=OVERRIDE))
    assert NO_DECISIONS.for_base("main") == NO_DECISIONS


@pytest.mark.parametrize(("login", "number", "is_match"), [("alice", 7, True), ("alice", 8, False), ("bob", 7, True)])
def test_decision_matches_its_review_by_id_or_author(login: str, number: int, *, is_match: bool) -> None:
    decided = APPROVED.model_copy(update={"review_id": 7})
    assert decided.matches(ReviewRef(id=number, login=login)) is is_match
    assert APPROVED.matches(ReviewRef(id=number, login=login)) is (login == "alice"), "its author, without an id"
