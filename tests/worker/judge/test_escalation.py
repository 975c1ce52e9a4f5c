"""Who answers, in which order, and why the model was or wasn't asked."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.making import accept, bench, fact, model_of, opinion
from worker.domain.dossier import CiState
from worker.domain.verdict.verdict import AbstainReason, HeuristicOpinion, JudgeKind
from worker.judge.checks.ci_status import CiReport
from worker.judge.escalation import (
    RULES,
    AcceptAsSafe,
    AskModel,
    EscalationInput,
    ModelSkipReason,
    Pause,
    RejectOnFacts,
    StopJudging,
    accept_safe_change,
    choose_route,
    reject_on_facts,
    stop_when_ci_failed,
    stop_when_model_disabled,
    stop_while_ci_runs,
    stop_without_issue,
    stop_without_model,
)

UNSURE = opinion()
FACT = opinion(fact())
SAFE = opinion(safe="only documentation changed", score=0.9, reason="only documentation changed")
SUSPECT = opinion(fact(fact=False), confidence=0.58, reason="AC2 has no matching change")


def matter(tier: HeuristicOpinion, **changes: object) -> EscalationInput:
    fields = {"ci": CiReport(CiState.SUCCESS), "opinion": tier, "threshold": 0.7, "has_model": True, **changes}
    return EscalationInput(**fields)  # pyright: ignore[reportArgumentType] - a table's row


def test_the_order_of_the_rules_is_the_policy() -> None:
    assert (
        stop_when_ci_failed,
        stop_while_ci_runs,
        stop_without_issue,
        reject_on_facts,
        accept_safe_change,
        stop_when_model_disabled,
        stop_without_model,
    ) == RULES


@pytest.mark.parametrize("tier", [UNSURE, FACT, SAFE, SUSPECT], ids=["unsure", "fact", "safe", "suspect"])
@pytest.mark.parametrize("threshold", [0.0, 0.7, 2.0])
def test_where_an_issue_is_wanted_nothing_is_judged_without_one(tier: HeuristicOpinion, threshold: float) -> None:
    chosen = choose_route(matter(tier, lacks_issue=True, threshold=threshold))
    assert isinstance(chosen, StopJudging)
    assert (chosen.abstain, chosen.skipped) == (AbstainReason.NO_CRITERIA, ModelSkipReason.ISSUE)
    red = choose_route(matter(tier, lacks_issue=True, ci=CiReport(CiState.FAILURE)))
    assert isinstance(red, StopJudging)
    assert red.abstain is AbstainReason.CI_FAILED


@pytest.mark.parametrize("tier", [UNSURE, FACT, SAFE, SUSPECT], ids=["unsure", "fact", "safe", "suspect"])
@pytest.mark.parametrize("threshold", [0.0, 0.7, 2.0])
@pytest.mark.parametrize(
    ("state", "reason"), [(CiState.FAILURE, AbstainReason.CI_FAILED), (CiState.PENDING, AbstainReason.CI_PENDING)]
)
def test_red_or_running_validators_stop_everything_else(
    tier: HeuristicOpinion, threshold: float, state: CiState, reason: AbstainReason
) -> None:
    chosen = choose_route(matter(tier, ci=CiReport(state), threshold=threshold))
    assert isinstance(chosen, StopJudging)
    assert (chosen.abstain, chosen.skipped) == (reason, ModelSkipReason.CI)


@pytest.mark.parametrize("state", [CiState.SUCCESS, CiState.MISSING])
def test_green_or_unknown_validators_stop_nothing(state: CiState) -> None:
    assert isinstance(choose_route(matter(UNSURE, ci=CiReport(state))), AskModel)


@pytest.mark.parametrize(
    ("tier", "threshold", "has_model", "expected"),
    [
        (FACT, 0.0, True, RejectOnFacts),
        (FACT, 0.7, True, RejectOnFacts),
        (FACT, 0.95, True, RejectOnFacts),
        (FACT, 0.96, True, AskModel),
        (FACT, 2.0, True, AskModel),
        (FACT, 2.0, False, RejectOnFacts),
        (SAFE, 0.0, True, AcceptAsSafe),
        (SAFE, 0.7, True, AcceptAsSafe),
        (SAFE, 2.0, True, AskModel),
        (SAFE, 2.0, False, AcceptAsSafe),
        (UNSURE, 0.0, True, StopJudging),
        (UNSURE, 0.4, True, StopJudging),
        (UNSURE, 0.41, True, AskModel),
        (UNSURE, 0.7, True, AskModel),
        (UNSURE, 0.7, False, StopJudging),
        (UNSURE, 2.0, True, AskModel),
        (SUSPECT, 0.7, True, AskModel),
        (SUSPECT, 0.0, False, StopJudging),
    ],
    ids=range(18),
)
def test_a_confidence_at_or_above_the_threshold_stands(
    tier: HeuristicOpinion,
    threshold: float,
    has_model: bool,  # noqa: FBT001 - a table's column
    expected: type,
) -> None:
    assert isinstance(choose_route(matter(tier, threshold=threshold, has_model=has_model)), expected)


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        (matter(SUSPECT), "confidence 0.58 < 0.70: AC2 has no matching change"),
        (matter(FACT), "confidence 0.95 ≥ 0.70: nothing settles it"),
        (matter(SAFE), "confidence 0.95 ≥ 0.70: only documentation changed"),
        (matter(opinion(confidence=0.699)), "confidence 0.699 < 0.700: nothing settles it"),
        (
            matter(SUSPECT, has_model=False),
            "confidence 0.58 < 0.70: AC2 has no matching change; no model is configured",
        ),
        (
            matter(SUSPECT, threshold=0.0),
            "confidence 0.58 ≥ 0.00: AC2 has no matching change; the model is never asked at this tier",
        ),
        (matter(SAFE, threshold=0.95), "confidence 0.95 ≥ 0.95: only documentation changed"),
        (matter(UNSURE, ci=CiReport(CiState.FAILURE)), "CI failed: the model is not asked before it is green"),
    ],
    ids=range(8),
)
def test_the_reason_says_what_was_compared(chosen: EscalationInput, reason: str) -> None:
    assert choose_route(chosen).reason == reason


@given(st.floats(0, 1), st.booleans(), st.booleans(), st.booleans())
def test_zero_never_asks_and_above_one_always_asks(
    confidence: float,
    is_fact: bool,  # noqa: FBT001 - drawn
    is_safe: bool,  # noqa: FBT001 - drawn
    has_model: bool,  # noqa: FBT001 - drawn
) -> None:
    certain = confidence if is_fact or is_safe else min(confidence, 0.69)
    findings = (fact(),) if is_fact else ()
    tier = opinion(*findings, confidence=certain, safe="docs" if is_safe and not is_fact else None)
    assert not isinstance(choose_route(matter(tier, threshold=0.0, has_model=has_model)), AskModel)
    assert isinstance(choose_route(matter(tier, threshold=1.01, has_model=has_model)), AskModel) is has_model
    assert not (isinstance(choose_route(matter(tier, has_model=False)), AskModel))


@pytest.mark.parametrize(
    ("no_model", "text"),
    [
        (ModelSkipReason.NO_MODEL, "no model is configured"),
        (ModelSkipReason.OUTSIDER, "the author has no write access"),
        (ModelSkipReason.WITHHELD, "no changed file may be sent to a model"),
    ],
)
def test_without_a_model_it_is_said_why_there_is_none(no_model: ModelSkipReason, text: str) -> None:
    chosen = choose_route(matter(SUSPECT, has_model=False, no_model=no_model))
    assert isinstance(chosen, StopJudging)
    assert (chosen.abstain, chosen.skipped) == (AbstainReason.UNPROVEN, no_model)
    assert chosen.reason.endswith(text)


def test_a_bench_by_code_alone_asks_no_model_and_says_why() -> None:
    alone = bench(model_of(accept())).without_model(ModelSkipReason.OUTSIDER)
    assert (alone.model, alone.second_model, alone.no_model) == (None, None, ModelSkipReason.OUTSIDER)


def test_who_is_to_judge_depends_on_the_tier_and_on_whether_anybody_may_be_asked() -> None:
    asked = bench(model_of())
    assert asked.planned_judge is JudgeKind.HYBRID
    assert replace(asked, threshold=2.0).planned_judge is JudgeKind.LLM
    for nobody in (bench(), replace(asked, threshold=0.0), replace(asked, pause=Pause.OPERATOR)):
        assert nobody.planned_judge is JudgeKind.HEURISTIC
