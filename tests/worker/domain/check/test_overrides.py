"""What people said about a head."""

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


def test_nothing_said_decides_nothing() -> None:
    assert (
        NO_DECISIONS.rejudge_requested_at,
        NO_DECISIONS.open_contest_reason,
        NO_DECISIONS.is_deciding(rejected()),
    ) == (None, None, False)


def test_a_contest_is_held_against_the_verdict_until_somebody_judged_it() -> None:
    assert HumanDecisions(contest=CONTEST, contested_at=AT).open_contest_reason == "It is met."
    assert HumanDecisions(contest=CONTEST).open_contest_reason is None
    assert HumanDecisions(forced_at=AT).open_contest_reason is None


def test_what_was_asked_for_last_counts() -> None:
    later = AT + timedelta(minutes=1)
    assert HumanDecisions(contested_at=later, forced_at=AT).rejudge_requested_at == later
    assert HumanDecisions(forced_at=AT).rejudge_requested_at == AT


def test_an_override_decides_whatever_the_verdict() -> None:
    assert all(HumanDecisions(override=OVERRIDE).is_deciding(verdict) for verdict in (None, accepted(), rejected()))


@pytest.mark.parametrize("reason", AbstainReason)
def test_a_review_decides_what_needs_a_person_and_nothing_else(reason: AbstainReason) -> None:
    needs = reason in {AbstainReason.NEEDS_HUMAN, AbstainReason.TOO_LARGE}
    assert needs_human(abstained(reason)) is needs
    assert HumanDecisions(review=APPROVED).is_deciding(abstained(reason)) is needs
    assert not HumanDecisions(review=APPROVED).is_deciding(rejected())
    assert not HumanDecisions(review=APPROVED).is_deciding(None)


@pytest.mark.parametrize(("noted", "counts"), [("main", True), ("below", False), (None, True)])
def test_a_review_counts_for_the_branch_whose_code_owner_wrote_it(noted: str | None, *, counts: bool) -> None:
    decisions = HumanDecisions(override=OVERRIDE, review=APPROVED.model_copy(update={"base_ref": noted}))
    assert decisions.for_base("main") == (decisions if counts else HumanDecisions(override=OVERRIDE))
    assert NO_DECISIONS.for_base("main") == NO_DECISIONS


@pytest.mark.parametrize(("login", "number", "is_it"), [("alice", 7, True), ("alice", 8, False), ("bob", 7, True)])
def test_a_decision_is_of_one_review_by_its_number(login: str, number: int, *, is_it: bool) -> None:
    decided = APPROVED.model_copy(update={"review_id": 7})
    assert decided.matches(ReviewRef(id=number, login=login)) is is_it
    assert APPROVED.matches(ReviewRef(id=number, login=login)) is (login == "alice"), (
        "by its author, where nobody noted it"
    )
