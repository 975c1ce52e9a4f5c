"""What people said about a head."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.check.overrides import NOTHING, Contest, Override, Reviewed, Said, asks_a_person
from worker.domain.request.judge_request import ReviewRef
from worker.domain.verdict.verdict import AbstainReason

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
CONTEST = Contest(login="bob", reason="It is met.", at=AT)
OVERRIDE = Override(login="alice", reason="A hotfix.", at=AT)
APPROVED = Reviewed(login="alice", at=AT, is_approved=True)


def test_nothing_said_decides_nothing() -> None:
    assert (NOTHING.anew_since, NOTHING.open_reason, NOTHING.decides(rejected())) == (None, None, False)


def test_a_contest_is_held_against_the_verdict_until_somebody_judged_it() -> None:
    assert Said(contest=CONTEST, contested_at=AT).open_reason == "It is met."
    assert Said(contest=CONTEST).open_reason is None
    assert Said(forced_at=AT).open_reason is None


def test_what_was_asked_for_last_counts() -> None:
    later = AT + timedelta(minutes=1)
    assert Said(contested_at=later, forced_at=AT).anew_since == later
    assert Said(forced_at=AT).anew_since == AT


def test_an_override_decides_whatever_the_verdict() -> None:
    assert all(Said(override=OVERRIDE).decides(one) for one in (None, accepted(), rejected()))


@pytest.mark.parametrize("reason", AbstainReason)
def test_a_review_decides_what_needs_a_person_and_nothing_else(reason: AbstainReason) -> None:
    needs = reason in {AbstainReason.NEEDS_HUMAN, AbstainReason.TOO_LARGE}
    assert asks_a_person(abstained(reason)) is needs
    assert Said(review=APPROVED).decides(abstained(reason)) is needs
    assert not Said(review=APPROVED).decides(rejected())
    assert not Said(review=APPROVED).decides(None)


@pytest.mark.parametrize(("noted", "counts"), [("main", True), ("below", False), (None, True)])
def test_a_review_counts_for_the_branch_whose_code_owner_wrote_it(noted: str | None, *, counts: bool) -> None:
    said = Said(override=OVERRIDE, review=APPROVED.model_copy(update={"base_ref": noted}))
    assert said.into("main") == (said if counts else Said(override=OVERRIDE))
    assert NOTHING.into("main") == NOTHING


@pytest.mark.parametrize(("login", "number", "is_it"), [("alice", 7, True), ("alice", 8, False), ("bob", 7, True)])
def test_a_decision_is_of_one_review_by_its_number(login: str, number: int, *, is_it: bool) -> None:
    decided = APPROVED.model_copy(update={"review_id": 7})
    assert decided.is_of(ReviewRef(id=number, login=login)) is is_it
    assert APPROVED.is_of(ReviewRef(id=number, login=login)) is (login == "alice"), (
        "by its author, where nobody noted it"
    )
