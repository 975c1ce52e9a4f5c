"""Two rubrics side by side."""

from decimal import Decimal
from typing import Any

import pytest

from tests.worker.publishing.texts.samples import abstained, accepted
from worker.domain.ids import EvalId
from worker.domain.verdict.verdict import AbstainReason, ThrottledReason, Verdict
from worker.evaluation.rubric_comparison import (
    ComparedChange,
    OutcomeAgreement,
    RubricIdentity,
    RubricOpinion,
    count_agreement,
    find_common_verdicts,
)
from worker.evaluation.supersession import UNFINISHED_REASONS

OLD, NEW = RubricIdentity("default", "1"), RubricIdentity("default", "2")
ACCEPT, REJECT = (
    RubricOpinion("accept", "accept", 0.9, asks=False),
    RubricOpinion("reject weak_test", "reject", 0.1, asks=False),
)
UNPROVEN = RubricOpinion("abstain unproven", "abstain", 0.5, asks=True)


def said(eval_id: str, by: RubricIdentity, **changes: Any) -> Verdict:
    standard = {"eval_id": EvalId(eval_id), "rubric_id": by.rubric_id, "rubric_version": by.rubric_version}
    return accepted(**{**standard, "judge_model": "haiku", "prompt_version": by.prompt, **changes})


def pair(*given: Verdict, of: tuple[RubricIdentity, RubricIdentity] = (OLD, NEW)) -> tuple[str, str] | None:
    found = find_common_verdicts(given, *of)
    return None if found is None else (found[0].eval_id, found[1].eval_id)


def test_the_last_verdicts_of_both_by_one_model_are_compared() -> None:
    assert pair(said("a", OLD), said("d", NEW), said("c", NEW), said("b", OLD)) == ("b", "d")
    assert pair(said("a", OLD), said("b", NEW, judge_model="opus")) is None
    assert pair(said("a", OLD), said("b", NEW, judge_model="opus"), said("c", OLD, judge_model="opus")) == ("c", "b")


def test_of_two_prompts_each_counts_for_its_own_side_and_of_none_whichever() -> None:
    ours, other = OLD._replace(prompt="ours"), OLD._replace(prompt="other")
    given = said("a", ours), said("b", other), said("c", OLD)
    assert pair(*given, of=(ours, other)) == ("a", "b")
    assert pair(*given[::2], of=(ours, other)) is None
    assert pair(*given, of=(OLD, OLD)) == ("c", "c")


@pytest.mark.parametrize(
    "changes",
    [
        {"rubric_id": "another"},
        {"rubric_version": "3"},
        {"throttled_reason": ThrottledReason.DAILY_CAP},
        {"signals": {"opinion_of": 2}},
        {"judge_model": None, "judge_kind": "heuristic", "judge_cost_usd": Decimal(0), "judge_pricing_version": None},
    ],
)
def test_what_is_not_the_same_judges_last_word_is_no_pair(changes: dict[str, Any]) -> None:
    assert pair(said("a", OLD), said("b", NEW)) == ("a", "b")
    assert pair(said("a", OLD), said("b", NEW, **changes)) is None


@pytest.mark.parametrize("reason", sorted(UNFINISHED_REASONS))
def test_who_was_asked_in_vain_said_nothing(reason: AbstainReason) -> None:
    cost = {"judge_kind": "hybrid", "judge_cost_usd": Decimal("0.1"), "judge_pricing_version": "2026-11"}
    by = {"rubric_id": NEW.rubric_id, "rubric_version": NEW.rubric_version, "judge_model": "haiku", **cost}
    assert pair(said("a", OLD), abstained(AbstainReason.NEEDS_HUMAN, eval_id=EvalId("b"), **by)) == ("a", "b")
    assert pair(said("a", OLD), abstained(reason, eval_id=EvalId("b"), **by)) is None


def row(before: RubricOpinion, now: RubricOpinion, *outcomes: str) -> ComparedChange:
    return ComparedChange("acme/widgets#1", EvalId("a"), before, now, None, outcomes)


def test_a_decision_or_only_who_is_asked_may_differ() -> None:
    assert row(ACCEPT, REJECT).is_different
    assert not row(ACCEPT, REJECT).is_asked_otherwise
    quiet = UNPROVEN._replace(asks=False)
    assert row(UNPROVEN, quiet).is_asked_otherwise
    assert not row(UNPROVEN, quiet).is_different
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
    assert count_agreement(rows, strengths, bore_out) == (
        OutcomeAgreement("lifecycle", (1, 1), (0, 2)),
        OutcomeAgreement("implicit", (0, 1), (1, 1)),
        OutcomeAgreement("explicit", (0, 0), (0, 0)),
    )
