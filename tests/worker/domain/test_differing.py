"""Two rubrics side by side."""

from decimal import Decimal
from typing import Any

import pytest

from worker.domain.anew import Said
from worker.domain.differing import Compared, Heard, Pairs, Side, heard
from worker.domain.ids import EvalId, InstallationId, RepositoryId
from worker.domain.verdict import SubjectKind

OLD, NEW = "default 1", "default 2"
ACCEPT, REJECT = Side("accept", "accept", 0.9, asks=False), Side("reject weak_test", "reject", 0.1, asks=False)
UNPROVEN = Side("abstain unproven", "abstain", 0.5, asks=True)


def said(eval_id: str, rubric: str, **changes: Any) -> Said:
    standard: dict[str, Any] = {
        "eval_id": EvalId(eval_id),
        "parent": None,
        "installation": InstallationId(100),
        "repository": RepositoryId(7),
        "number": 1,
        "subject": "7/1/b",
        "kind": SubjectKind.SUBMISSION,
        "decision": "accept",
        "category": None,
        "abstain_reason": None,
        "failure": None,
        "is_throttled": False,
        "cost_usd": Decimal(0),
        "law": None,
        "rubric": rubric,
        "model": "haiku",
        "is_opinion": False,
    }
    return Said(**{**standard, **changes})


def pair(*given: Said) -> tuple[str, str] | None:
    pairs = Pairs(OLD, NEW)
    for one in given:
        pairs.add(one)
    found = pairs.of(said("any", OLD))
    return None if found is None else (found[0].eval_id, found[1].eval_id)


def test_the_last_verdicts_of_both_by_one_model_are_compared() -> None:
    assert pair(said("a", OLD), said("d", NEW), said("c", NEW), said("b", OLD)) == ("b", "d")
    assert pair(said("a", OLD), said("b", NEW, model="opus")) is None
    assert pair(said("a", OLD), said("b", NEW, model="opus"), said("c", OLD, model="opus")) == ("c", "b")


@pytest.mark.parametrize(
    "changes",
    [
        {"rubric": "another 1"},
        {"failure": "judge_call_failed"},
        {"is_throttled": True},
        {"is_opinion": True},
        {"model": None},
        {"subject": "7/2/b"},
        {"installation": InstallationId(101)},
    ],
)
def test_what_is_not_the_same_judges_last_word_on_the_same_subject_is_no_pair(changes: dict[str, Any]) -> None:
    assert pair(said("a", OLD), said("b", NEW)._replace(**changes)) is None


def row(before: Side, now: Side, *outcomes: str) -> Compared:
    return Compared("acme/widgets#1", EvalId("a"), before, now, None, outcomes)


def test_a_decision_or_only_who_is_asked_may_differ() -> None:
    assert row(ACCEPT, REJECT).differs
    assert not row(ACCEPT, REJECT).is_asked_otherwise
    quiet = UNPROVEN._replace(asks=False)
    assert row(UNPROVEN, quiet).is_asked_otherwise
    assert not row(UNPROVEN, quiet).differs
    assert not row(UNPROVEN, UNPROVEN).is_asked_otherwise


def test_outcomes_are_counted_by_strength_for_each_that_decided() -> None:
    def bore_out(decision: str, outcome: str) -> bool | None:
        return {"accept": outcome == "merged", "reject": outcome == "reverted"}.get(decision)

    rows = [
        row(ACCEPT, REJECT, "merged", "reverted"),
        row(UNPROVEN, REJECT, "merged"),
        row(REJECT, ACCEPT, "of another kind"),
    ]
    strengths = {"merged": "lifecycle", "reverted": "implicit", "helpful": "explicit"}
    assert heard(rows, strengths, bore_out) == (
        Heard("lifecycle", (1, 1), (0, 2)),
        Heard("implicit", (0, 1), (1, 1)),
        Heard("explicit", (0, 0), (0, 0)),
    )
