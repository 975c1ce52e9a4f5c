"""The route of a judging and its reason."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import accept_answer, fact, judge_context, model_of, opinion
from worker.domain.dossier import CiState
from worker.domain.verdict.verdict import HeuristicOpinion, JudgeKind
from worker.judge.checks.ci_status import CiReport
from worker.judge.escalation import RULES, EscalationInput, ModelSkipReason, Pause, StopJudging, choose_route

RED = CiReport(CiState.FAILURE)
UNSURE = opinion()
FACT = opinion(fact())
SAFE = opinion(safe="only documentation changed", score=0.9, reason="only documentation changed")
SUSPECT = opinion(fact(fact=False), confidence=0.58, reason="AC2 has no matching change")


def escalation_input(opinion: HeuristicOpinion, **changes: object) -> EscalationInput:
    fields = {"ci": CiReport(CiState.SUCCESS), "opinion": opinion, "threshold": 0.7, "has_model": True, **changes}
    return EscalationInput(**fields)  # pyright: ignore[reportArgumentType] - a table's row


def chosen_route(opinion: HeuristicOpinion, **changes: object) -> str:
    """The route with the reasons of a stop, such as `StopJudging ci_failed ci`."""
    route = choose_route(escalation_input(opinion, **changes))
    reasons = (route.abstain, route.skipped) if isinstance(route, StopJudging) else ()
    return " ".join([type(route).__name__, *reasons])


def test_rules_apply_in_this_order() -> None:
    assert [rule.__name__ for rule in RULES] == [
        "stop_on_ci",
        "stop_without_issue",
        "reject_on_facts",
        "accept_safe_change",
        "stop_when_model_disabled",
        "stop_without_model",
    ]


@pytest.mark.parametrize("opinion", [UNSURE, FACT, SAFE, SUSPECT], ids=["unsure", "fact", "safe", "suspect"])
@pytest.mark.parametrize("threshold", [0.0, 0.7, 2.0])
@pytest.mark.parametrize(
    ("changes", "route"),
    [
        ({"ci": RED}, "StopJudging ci_failed ci"),
        ({"ci": RED, "lacks_issue": True}, "StopJudging ci_failed ci"),
        ({"ci": CiReport(CiState.PENDING)}, "StopJudging ci_pending ci"),
        ({"lacks_issue": True}, "StopJudging no_criteria issue"),
    ],
)
def test_ci_and_then_missing_issue_stop_judging(
    opinion: HeuristicOpinion, threshold: float, changes: dict[str, object], route: str
) -> None:
    assert chosen_route(opinion, threshold=threshold, **changes) == route


@pytest.mark.parametrize(
    ("opinion", "changes", "expected"),
    [
        (FACT, {"threshold": 0.0}, "RejectOnFacts"),
        (FACT, {}, "RejectOnFacts"),
        (FACT, {"threshold": 0.95}, "RejectOnFacts"),
        (FACT, {"threshold": 0.96}, "AskModel"),
        (FACT, {"threshold": 2.0}, "AskModel"),
        (FACT, {"threshold": 2.0, "has_model": False}, "RejectOnFacts"),
        (SAFE, {"threshold": 0.0}, "AcceptAsSafe"),
        (SAFE, {}, "AcceptAsSafe"),
        (SAFE, {"threshold": 2.0}, "AskModel"),
        (SAFE, {"threshold": 2.0, "has_model": False}, "AcceptAsSafe"),
        (UNSURE, {"threshold": 0.0}, "StopJudging unproven tier"),
        (UNSURE, {"threshold": 0.4}, "StopJudging unproven tier"),
        (UNSURE, {"threshold": 0.41}, "AskModel"),
        (UNSURE, {}, "AskModel"),
        (UNSURE, {"ci": CiReport(CiState.MISSING)}, "AskModel"),
        (UNSURE, {"threshold": 2.0}, "AskModel"),
        (UNSURE, {"has_model": False}, "StopJudging unproven no_model"),
        (SUSPECT, {}, "AskModel"),
        (SUSPECT, {"threshold": 0.0, "has_model": False}, "StopJudging unproven tier"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.OUTSIDER}, "StopJudging unproven outsider"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.WITHHELD}, "StopJudging unproven withheld"),
    ],
)
def test_model_is_asked_below_the_threshold(
    opinion: HeuristicOpinion, changes: dict[str, object], expected: str
) -> None:
    assert chosen_route(opinion, **changes) == expected


NOT_MATCHED = "confidence 0.58 < 0.70: AC2 has no matching change"


@pytest.mark.parametrize(
    ("opinion", "changes", "reason"),
    [
        (SUSPECT, {}, NOT_MATCHED),
        (FACT, {}, "confidence 0.95 ≥ 0.70: nothing settles it"),
        (SAFE, {}, "confidence 0.95 ≥ 0.70: only documentation changed"),
        (SAFE, {"threshold": 0.95}, "confidence 0.95 ≥ 0.95: only documentation changed"),
        (opinion(confidence=0.699), {}, "confidence 0.699 < 0.700: nothing settles it"),
        (SUSPECT, {"threshold": 0.0}, "confidence 0.58 ≥ 0.00: AC2 has no matching change; the model is never asked at this tier"),
        (UNSURE, {"ci": RED}, "CI failed: the model is not asked before it is green"),
        (SUSPECT, {"has_model": False}, f"{NOT_MATCHED}; no model is configured"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.OUTSIDER}, f"{NOT_MATCHED}; the author has no write access"),
        (SUSPECT, {"has_model": False, "no_model": ModelSkipReason.WITHHELD}, f"{NOT_MATCHED}; no changed file may be sent to a model"),
    ],
)  # fmt: skip
def test_reason_names_what_was_compared(opinion: HeuristicOpinion, changes: dict[str, object], reason: str) -> None:
    assert choose_route(escalation_input(opinion, **changes)).reason == reason


@given(st.floats(0, 1), st.booleans(), st.booleans(), st.booleans())
def test_threshold_zero_never_asks_and_above_one_always_asks(
    confidence: float,
    is_fact: bool,  # noqa: FBT001 - drawn
    is_safe: bool,  # noqa: FBT001 - drawn
    has_model: bool,  # noqa: FBT001 - drawn
) -> None:
    certain = confidence if is_fact or is_safe else min(confidence, 0.69)
    findings = (fact(),) if is_fact else ()
    tier = opinion(*findings, confidence=certain, safe="docs" if is_safe and not is_fact else None)
    assert chosen_route(tier, threshold=0.0, has_model=has_model) != "AskModel"
    assert (chosen_route(tier, threshold=1.01, has_model=has_model) == "AskModel") is has_model
    assert chosen_route(tier, has_model=False) != "AskModel"


def test_context_without_model_keeps_the_skip_reason() -> None:
    alone = judge_context(model_of(accept_answer())).without_model(ModelSkipReason.OUTSIDER)
    assert (alone.model, alone.second_model, alone.no_model) == (None, None, ModelSkipReason.OUTSIDER)


def test_planned_judge_depends_on_threshold_model_and_pause() -> None:
    hybrid = judge_context(model_of())
    assert hybrid.planned_judge is JudgeKind.HYBRID
    assert replace(hybrid, threshold=2.0).planned_judge is JudgeKind.LLM
    for context in (judge_context(), replace(hybrid, threshold=0.0), replace(hybrid, pause=Pause.OPERATOR)):
        assert context.planned_judge is JudgeKind.HEURISTIC
