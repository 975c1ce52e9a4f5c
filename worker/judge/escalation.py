"""Who answers: the validators, the heuristic tier, the model, or nobody; and why.

The order of RULES is the policy: the first rule that speaks wins, and the model is asked when none does.
Does not ask. Invariant: below the threshold (metis §5.3) a heuristic opinion never stands alone, at or above it the
model is never asked; 0 means never asked, above 1 always.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from worker.domain.dossier.dossier import CiState
from worker.domain.value import Value
from worker.domain.verdict.opinion import CERTAIN_CONFIDENCE, HeuristicOpinion
from worker.domain.verdict.verdict import AbstainReason
from worker.judge.checks.ci_status import CiReport


class ModelSkipReason(StrEnum):
    """Why no model was asked although nobody was certain."""

    CI = "ci"
    TIER = "tier"
    NO_MODEL = "no_model"
    ISSUE = "issue"
    OUTSIDER = "outsider"
    WITHHELD = "withheld"


class Pause(StrEnum):
    """Who stopped all judging."""

    OPERATOR = "operator"
    REPOSITORY = "repository"


class EscalationInput(Value):
    """All that the choice depends on."""

    ci: CiReport
    opinion: HeuristicOpinion
    threshold: float
    has_model: bool
    no_model: ModelSkipReason = ModelSkipReason.NO_MODEL
    """Why there is no model, where there is none."""
    lacks_issue: bool = False
    """No issue is linked, and the repository judges nothing without one."""


class RejectOnFacts(Value):
    reason: str


class AcceptAsSafe(Value):
    reason: str


class StopJudging(Value):
    """Nobody judges."""

    abstain: AbstainReason
    skipped: ModelSkipReason
    reason: str


class AskModel(Value):
    reason: str


Route = RejectOnFacts | AcceptAsSafe | StopJudging | AskModel
EscalationRule = Callable[[EscalationInput], Route | None]


def stop_when_ci_failed(inputs: EscalationInput) -> Route | None:
    """Validators first: their report is the feedback."""
    if inputs.ci.state is not CiState.FAILURE:
        return None
    return StopJudging(
        AbstainReason.CI_FAILED, ModelSkipReason.CI, "CI failed: the model is not asked before it is green"
    )


def stop_while_ci_runs(inputs: EscalationInput) -> Route | None:
    """Nothing accepts before the checks are green on this head."""
    if inputs.ci.state is not CiState.PENDING:
        return None
    return StopJudging(
        AbstainReason.CI_PENDING, ModelSkipReason.CI, "CI has not finished: the model is not asked before it is green"
    )


def stop_without_issue(inputs: EscalationInput) -> Route | None:
    """What is wanted stands nowhere, and the repository wants it to."""
    if not inputs.lacks_issue:
        return None
    return StopJudging(
        AbstainReason.NO_CRITERIA, ModelSkipReason.ISSUE, "no issue is linked: the model is not asked without one here"
    )


def reject_on_facts(inputs: EscalationInput) -> Route | None:
    """A fact rejects alone; asking could only add words. Where nobody can be asked, it rejects too."""
    if inputs.opinion.facts and (_is_opinion_sufficient(inputs) or not inputs.has_model):
        return RejectOnFacts(_describe_comparison(inputs))
    return None


def accept_safe_change(inputs: EscalationInput) -> Route | None:
    """A safe change is accepted alone, also where nobody can be asked."""
    certain = _is_opinion_sufficient(inputs) or (
        not inputs.has_model and inputs.opinion.confidence >= CERTAIN_CONFIDENCE
    )
    return AcceptAsSafe(_describe_comparison(inputs)) if inputs.opinion.safe is not None and certain else None


def stop_when_model_disabled(inputs: EscalationInput) -> Route | None:
    """A threshold that even an uncertain opinion reaches: the operator wants no model."""
    if not _is_opinion_sufficient(inputs):
        return None
    return StopJudging(
        AbstainReason.UNPROVEN,
        ModelSkipReason.TIER,
        f"{_describe_comparison(inputs)}; the model is never asked at this tier",
    )


def stop_without_model(inputs: EscalationInput) -> Route | None:
    if inputs.has_model:
        return None
    return StopJudging(
        AbstainReason.UNPROVEN, inputs.no_model, f"{_describe_comparison(inputs)}; {NO_MODEL_TEXTS[inputs.no_model]}"
    )


NO_MODEL_TEXTS: Final = {
    ModelSkipReason.NO_MODEL: "no model is configured",
    ModelSkipReason.OUTSIDER: "the author has no write access",
    ModelSkipReason.WITHHELD: "no changed file may be sent to a model",
}


RULES: Final[tuple[EscalationRule, ...]] = (
    stop_when_ci_failed,
    stop_while_ci_runs,
    stop_without_issue,
    reject_on_facts,
    accept_safe_change,
    stop_when_model_disabled,
    stop_without_model,
)


def choose_route(inputs: EscalationInput) -> Route:
    """Choose who answers."""
    answers = (rule(inputs) for rule in RULES)
    return next((answer for answer in answers if answer is not None), AskModel(_describe_comparison(inputs)))


def _is_opinion_sufficient(inputs: EscalationInput) -> bool:
    return inputs.opinion.confidence >= inputs.threshold


def _describe_comparison(inputs: EscalationInput) -> str:
    """`confidence 0.58 < 0.70: AC2 has no matching change`, with as many digits as it takes to be true."""
    confidence, threshold = inputs.opinion.confidence, inputs.threshold
    sign = "≥" if _is_opinion_sufficient(inputs) else "<"
    digits = next((n for n in (2, 3, 4, 6) if f"{confidence:.{n}f}" != f"{threshold:.{n}f}"), 2)
    return f"confidence {confidence:.{digits}f} {sign} {threshold:.{digits}f}: {inputs.opinion.reason}"
