"""Choose the route of a judging: CI, the static checks, the model, or a stop; and why.

The order of RULES is the policy: the first rule that answers wins, and the model is asked when none does. Below the threshold
(metis §5.3) an uncertain opinion of the static checks never decides alone; at or above it the model is not asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from worker.domain.dossier import CiState
from worker.domain.verdict.verdict import CERTAIN_CONFIDENCE, AbstainReason, HeuristicOpinion
from worker.judge.checks.ci_status import CiReport


class ModelSkipReason(StrEnum):
    """Why no model was asked about an uncertain change."""

    CI = "ci"
    TIER = "tier"
    NO_MODEL = "no_model"
    ISSUE = "issue"
    OUTSIDER = "outsider"
    WITHHELD = "withheld"


class Pause(StrEnum):
    """Who paused judging."""

    OPERATOR = "operator"
    REPOSITORY = "repository"


@dataclass(frozen=True)
class EscalationInput:
    """What the route depends on. `no_model`: why there is none; `lacks_issue`: none is linked, and the repository requires one."""

    ci: CiReport
    opinion: HeuristicOpinion
    threshold: float
    has_model: bool
    no_model: ModelSkipReason = ModelSkipReason.NO_MODEL
    lacks_issue: bool = False


@dataclass(frozen=True)
class RejectOnFacts:
    reason: str


@dataclass(frozen=True)
class AcceptAsSafe:
    reason: str


@dataclass(frozen=True)
class StopJudging:
    """The judging stops without a decision."""

    abstain: AbstainReason
    skipped: ModelSkipReason
    reason: str


@dataclass(frozen=True)
class AskModel:
    reason: str


Route = RejectOnFacts | AcceptAsSafe | StopJudging | AskModel
EscalationRule = Callable[[EscalationInput], Route | None]


_CI_STOPS: Final = {
    CiState.FAILURE: (AbstainReason.CI_FAILED, "CI failed: the model is not asked before it is green"),
    CiState.PENDING: (AbstainReason.CI_PENDING, "CI has not finished: the model is not asked before it is green"),
}


def stop_on_ci(inputs: EscalationInput) -> Route | None:
    """CI comes first: its report is the feedback, and nothing is accepted before the checks are green on this head."""
    if (stop := _CI_STOPS.get(inputs.ci.state)) is None:
        return None
    abstain, reason = stop
    return StopJudging(abstain, ModelSkipReason.CI, reason)


def stop_without_issue(inputs: EscalationInput) -> Route | None:
    """The repository requires an issue, and none is linked."""
    reason = "no issue is linked: the model is not asked without one here"
    return StopJudging(AbstainReason.NO_CRITERIA, ModelSkipReason.ISSUE, reason) if inputs.lacks_issue else None


def reject_on_facts(inputs: EscalationInput) -> Route | None:
    """A certain fact rejects alone; without a model, any fact does."""
    if inputs.opinion.facts and (_is_opinion_sufficient(inputs) or not inputs.has_model):
        return RejectOnFacts(_describe_comparison(inputs))
    return None


def accept_safe_change(inputs: EscalationInput) -> Route | None:
    """A safe change is accepted alone; without a model, from a lower confidence on."""
    is_certain_alone = not inputs.has_model and inputs.opinion.confidence >= CERTAIN_CONFIDENCE
    is_certain = _is_opinion_sufficient(inputs) or is_certain_alone
    return AcceptAsSafe(_describe_comparison(inputs)) if inputs.opinion.safe is not None and is_certain else None


def stop_when_model_disabled(inputs: EscalationInput) -> Route | None:
    """The threshold is so low that even an uncertain opinion reaches it: the operator wants no model."""
    reason = f"{_describe_comparison(inputs)}; the model is never asked at this tier"
    is_disabled = _is_opinion_sufficient(inputs)
    return StopJudging(AbstainReason.UNPROVEN, ModelSkipReason.TIER, reason) if is_disabled else None


def stop_without_model(inputs: EscalationInput) -> Route | None:
    if inputs.has_model:
        return None
    reason = f"{_describe_comparison(inputs)}; {NO_MODEL_TEXTS[inputs.no_model]}"
    return StopJudging(AbstainReason.UNPROVEN, inputs.no_model, reason)


NO_MODEL_TEXTS: Final = {
    ModelSkipReason.NO_MODEL: "no model is configured",
    ModelSkipReason.OUTSIDER: "the author has no write access",
    ModelSkipReason.WITHHELD: "no changed file may be sent to a model",
}


RULES: Final[tuple[EscalationRule, ...]] = (
    stop_on_ci,
    stop_without_issue,
    reject_on_facts,
    accept_safe_change,
    stop_when_model_disabled,
    stop_without_model,
)


def choose_route(inputs: EscalationInput) -> Route:
    """The answer of the first rule that has one."""
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
