"""Verdicts and opinions are valid only without contradictions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from worker.domain.verdict.verdict import (
    CERTAIN_CONFIDENCE,
    VERDICT_ADAPTER,
    Accept,
    Category,
    EvidencePointer,
    Finding,
    HeuristicOpinion,
    Tokens,
)

COMMON: dict[str, Any] = {
    "eval_id": "0192d0a0-0000-7000-8000-000000000000",
    "subject": {
        "installation_id": 1,
        "repository_id": 2,
        "repository": "acme/widgets",
        "number": 3,
        "head_sha": "a" * 40,
    },
    "author_agent": None,
    "round": 1,
    "concern": "It does.",
    "confidence": 0.9,
    "judge_kind": "heuristic",
    "escalated": False,
    "escalation_reason": "a fact decides",
    "rubric_id": "default",
    "rubric_version": "1",
    "fingerprint": "sha256:0",
    "created_at": datetime(2026, 11, 20, tzinfo=UTC).isoformat(),
}
EVIDENCE = [{"path": "a.py", "line": 1}]
MET = {"id": "AC1", "status": "met", "evidence": EVIDENCE}
ACCEPT: dict[str, Any] = {**COMMON, "decision": "accept", "score": 0.9, "criteria": [MET]}
FAULT = {"category": "half_finished", "next_step": "Finish it.", "evidence": EVIDENCE}
REJECT: dict[str, Any] = {**COMMON, "decision": "reject", "score": 0.1, **FAULT}
REASON = {"abstain_reason": "unproven", "next_step": "Set a key."}
ABSTAIN: dict[str, Any] = {**COMMON, "decision": "abstain", "score": 0.5, **REASON}


@pytest.mark.parametrize("verdict", [ACCEPT, REJECT, ABSTAIN], ids=["accept", "reject", "abstain"])
def test_verdict_survives_being_written_and_read(verdict: dict[str, Any]) -> None:
    built = VERDICT_ADAPTER.validate_python(verdict)
    assert VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(built)) == built


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "an accept with a category": {**ACCEPT, "category": "weak_test"},
    "an accept with a next step": {**ACCEPT, "next_step": "More."},
    "an accept with a low score": {**ACCEPT, "score": 0.49},
    "an accept on partial reading": {**ACCEPT, "coverage": {"read": [], "partly": [], "unread": ["big.json"]}},
    "an accept with a file read in part": {**ACCEPT, "coverage": {"partly": ["big.json"]}},
    "an accept with an unmet criterion": {**ACCEPT, "criteria": [{**MET, "status": "missing"}]},
    "an accept that scores what it could not verify": {
        **ACCEPT,
        "criteria": [{**MET, "status": "unverifiable"}],
        "scores": [{"criterion": "c", "score": 9, "reasoning": "", "improvement": ""}],
    },
    "an accept without evidence": {**ACCEPT, "criteria": [{**MET, "evidence": []}]},
    "a reject without a category": {**REJECT, "category": None},
    "a reject without a next step": {**REJECT, "next_step": ""},
    "a reject with a high score": {**REJECT, "score": 0.5},
    "a reject that points at nothing": {**REJECT, "evidence": []},
    "an abstain without a reason": {**ABSTAIN, "abstain_reason": None},
    "a reject with a reason to abstain": {**REJECT, "abstain_reason": "unproven"},
    "a heuristic verdict with a price": {**REJECT, "judge_cost_usd": "0.01"},
    "a heuristic verdict with a model": {**REJECT, "judge_model": "claude"},
    "an unknown field": {**REJECT, "verdict": "reject"},
    "an unknown category": {**REJECT, "category": "ugly"},
    "a score above the scale": {
        **REJECT,
        "scores": [{"criterion": "c", "score": 11, "reasoning": "", "improvement": ""}],
    },
}


@pytest.mark.parametrize("verdict", CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_contradictory_verdict_is_refused(verdict: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        VERDICT_ADAPTER.validate_python(verdict)


def test_reject_for_something_missing_needs_no_evidence() -> None:
    missing = {"id": "AC2", "status": "missing"}
    assert VERDICT_ADAPTER.validate_python({**REJECT, "evidence": [], "criteria": [missing]}).decision == "reject"


def test_cost_is_a_decimal_string_and_an_unknown_price_null() -> None:
    llm = {**ACCEPT, "judge_kind": "llm", "judge_model": "m", "judge_cost_usd": "0.001742"}
    assert VERDICT_ADAPTER.validate_python(llm).model_dump(mode="json")["judge_cost_usd"] == "0.001742"
    unpriced = VERDICT_ADAPTER.validate_python({**llm, "judge_cost_usd": None})
    assert unpriced.model_dump(mode="json")["judge_cost_usd"] is None


def test_verdict_is_immutable() -> None:
    verdict = Accept.model_validate(ACCEPT)
    with pytest.raises(ValidationError, match="frozen"):
        verdict.score = 1.0


@pytest.mark.parametrize("pointer", [{"line": 3, "end_line": 2}, {"end_line": 2}])
def test_pointer_does_not_end_before_it_starts(pointer: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        EvidencePointer.model_validate({"path": "a.py", **pointer})


def test_pointer_has_a_location() -> None:
    assert [EvidencePointer(path="a.py", line=3).location, EvidencePointer(path="a.py").location] == ["a.py:3", "a.py"]


def test_prompt_tokens_are_all_input_tokens() -> None:
    assert Tokens(input=1, output=8, cache_read=2, cache_write=4).prompt == 7


FACT = Finding(signal="stub_body", category=Category.HALF_FINISHED, fact=True, path="a.py", line=1)
SUSPICION = FACT.model_copy(update={"fact": False})


@given(st.floats(0, 1), st.booleans(), st.none() | st.just("only comments changed"))
def test_certainty_comes_from_a_fact_or_a_safe_change(confidence: float, has_fact: bool, safe: str | None) -> None:  # noqa: FBT001 - hypothesis draws it
    findings = (SUSPICION, FACT) if has_fact else (SUSPICION,)
    allowed = (confidence < CERTAIN_CONFIDENCE or has_fact or safe is not None) and not (has_fact and safe is not None)
    try:
        opinion = HeuristicOpinion(score=0.5, confidence=confidence, findings=findings, safe=safe, reason="r")
    except ValidationError:
        assert not allowed
    else:
        assert allowed
        assert opinion.facts == ((FACT,) if has_fact else ())


def test_fact_and_safe_change_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="not safe"):
        HeuristicOpinion(score=0.1, confidence=0.9, findings=(FACT,), safe="only comments changed", reason="r")


def test_step_of_a_finding_is_not_recorded() -> None:
    finding = Finding(signal="stub_body", category=Category.HALF_FINISHED, fact=True, step="Write the body of `load`.")
    assert finding.step
    assert "step" not in finding.model_dump()
