"""What code decides alone: whether a model is asked, the rulings without one, and the one number of a verdict from its scores.

The order of RULES is the policy: the first rule that answers wins, and the model is asked when none does. Below the threshold
(metis §5.3) an uncertain opinion of the static checks never decides alone; at or above it the model is not asked. A fact rejects; an
accept needs every changed file read. The weakest criterion counts most in the number, since three strengths don't make up for one
fatal flaw. 0.5 is the line between what a maintainer would take and what not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from typing import Final, assert_never

from worker.domain.dossier import CiState
from worker.domain.verdict.verdict import (
    CERTAIN_CONFIDENCE,
    AbstainReason,
    Category,
    ClosingCondition,
    Coverage,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    HeuristicOpinion,
    Score,
    Side,
)
from worker.dossier.diff import ChangeKind
from worker.judge import texts
from worker.judge.checks.ci_status import CiReport, first_failure
from worker.judge.checks.evidence import Places, claimed_ids
from worker.judge.context import EvidenceBundle, ModelSkipReason, Ruling


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


def reject_certain_facts(inputs: EscalationInput) -> Route | None:
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
    reject_certain_facts,
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


DECISION_LINE: Final = Decimal("5.5")
"""The middle of 1 to 10; from here on a strength is on the accepting side."""

LOWEST_SCORE: Final = 1
HIGHEST_SCORE: Final = 10

NO_SCORE: Final = 0.5
"""The verdict's score without scores, on neither side."""

NOISE: Final = 1
"""Points between two readings of the same thing that are no change (Simmer)."""

_TENTH: Final = Decimal("0.1")
_THOUSANDTH: Final = Decimal("0.001")


def composite(scores: Sequence[Score]) -> float:
    """The mean with one decimal (Simmer)."""
    return float(_mean(scores))


def strength(scores: Sequence[Score]) -> Decimal:
    """(2 × lowest + composite) / 3, from 1 to 10."""
    lowest = min(score.score for score in scores)
    return (2 * lowest + _mean(scores)) / 3


def verdict_score(scores: Sequence[Score]) -> float:
    """`strength` on [0, 1]: 1 becomes 0, DECISION_LINE 0.5, 10 becomes 1."""
    return float(((strength(scores) - 1) / 9).quantize(_THOUSANDTH, ROUND_HALF_UP))


def is_accepting(scores: Sequence[Score]) -> bool:
    return verdict_score(scores) >= 0.5  # noqa: PLR2004 - DECISION_LINE, on [0, 1]


def moved_scores(first: Sequence[Score], now: Sequence[Score]) -> tuple[tuple[Score, Score], ...]:
    """The scores that moved by more than the noise: first and now."""
    then = {score.criterion: score for score in first}
    pairs = ((then[score.criterion], score) for score in now if score.criterion in then)
    return tuple((before, after) for before, after in pairs if abs(before.score - after.score) > NOISE)


def _mean(scores: Sequence[Score]) -> Decimal:
    total = Decimal(sum(score.score for score in scores))
    return (total / len(scores)).quantize(_TENTH, ROUND_HALF_UP)


FACT_SCORE: Final = 0.1
"""No verdict that rests on a fact scores higher."""

SAFE_SCORE: Final = 0.9
"""No verdict that rests on a safe change scores lower."""

EXPLICIT_CATEGORIES: Final = frozenset({Category.SPEC_VIOLATION, Category.ACCEPTANCE_GAP})
"""Facts about written words: an issue, a rule, the case."""

MOST_EVIDENCE: Final = 20
"""The most facts, or places of a safe change, that a verdict points at."""

UNMET: Final = frozenset({CriterionStatus.MISSING, CriterionStatus.PARTIAL})


def rule_without_model(
    bundle: EvidenceBundle, route: RejectOnFacts | AcceptAsSafe | StopJudging, coverage: Coverage
) -> Ruling:
    """Rule by CI and the static checks alone."""
    match route:
        case RejectOnFacts():
            return reject_on_facts(bundle)
        case AcceptAsSafe():
            return _accept_safe(bundle, coverage)
        case StopJudging():
            return rule_stopped(bundle, route, coverage)
        case _:
            assert_never(route)


def abstain(bundle: EvidenceBundle, reason: AbstainReason, concern_and_step: tuple[str, str]) -> Ruling:
    """An abstain with the static checks' score and open criteria, each with the changed lines that speak of it."""
    concern, next_step = concern_and_step
    seen = {criterion.id: criterion.evidence for criterion in bundle.opinion.criteria}
    criteria: list[CriterionVerdict] = []
    for criterion in _unjudged_criteria(bundle):
        checked = map(bundle.places.check, seen.get(criterion.id, ()))
        evidence = tuple(pointer for pointer in checked if isinstance(pointer, EvidencePointer))
        criteria.append(criterion.model_copy(update={"evidence": evidence}))
    return Ruling(
        concern=concern,
        next_step=next_step,
        score=bundle.opinion.score,
        confidence=bundle.opinion.confidence,
        abstain_reason=reason,
        criteria=tuple(criteria),
    )


def leave_to_person(ruling: Ruling, wording: tuple[str, str], intended: str, **signals: str) -> Ruling:
    """The ruling as a person's to decide; the *intended* decision stays on record."""
    concern, next_step = wording
    return replace(
        ruling,
        concern=concern,
        next_step=next_step,
        category=None,
        abstain_reason=AbstainReason.NEEDS_HUMAN,
        signals={**ruling.signals, "model_decision": intended, **signals},
    )


def rule_stopped(bundle: EvidenceBundle, stop: StopJudging, coverage: Coverage) -> Ruling:
    """The abstain of a judging that stopped: on CI's report, without an issue, or unproven."""
    match stop.abstain:
        case AbstainReason.CI_FAILED:
            wording = texts.ci_failed(bundle.ci)
        case AbstainReason.CI_PENDING:
            wording = texts.ci_pending(bundle.ci)
        case AbstainReason.NO_CRITERIA:
            wording = texts.NO_ISSUE
        case _:
            opinion = bundle.opinion
            wording = texts.unproven(
                stop.skipped,
                len(opinion.findings),
                opinion.obstacle,
                (*coverage.unread, *coverage.partly),
                on_laptop=bundle.is_local,
            )
    ruling = abstain(bundle, stop.abstain, wording)
    failure = first_failure(bundle.ci) if stop.abstain is AbstainReason.CI_FAILED else None
    return replace(ruling, signals={"escalation_skipped": stop.skipped.value}, ci_failure=failure)


def reject_on_facts(bundle: EvidenceBundle) -> Ruling:
    """Reject in the category of the gravest fact, with all facts as evidence."""
    # what breaks written words first, then by weight
    gravest = sorted(bundle.opinion.facts, key=lambda fact: (fact.category not in EXPLICIT_CATEGORIES, -fact.weight))
    facts = tuple(gravest)
    places = (pointer for fact in facts[:MOST_EVIDENCE] for pointer in _fact_places(fact, bundle.places))
    return Ruling(
        concern=texts.describe_facts(facts),
        next_step=texts.describe_fact_steps(facts),
        score=min(bundle.opinion.score, FACT_SCORE),
        confidence=bundle.opinion.confidence,
        category=facts[0].category,
        evidence=tuple(places),
        criteria=_criteria_under_facts(bundle, facts),
    )


def _fact_places(fact: Finding, places: Places) -> Iterator[EvidencePointer]:
    """The fact's place, or its file where the line is unknown; then what it replaced."""
    if fact.path:
        bare = EvidencePointer(path=fact.path, side=fact.side, note=fact.note)
        checked = places.check(bare.model_copy(update={"line": fact.line, "end_line": fact.end_line}))
        yield checked if isinstance(checked, EvidencePointer) else bare
    if fact.instead_of is not None and isinstance(before := places.check(fact.instead_of), EvidencePointer):
        yield before


def _criteria_under_facts(bundle: EvidenceBundle, facts: tuple[Finding, ...]) -> tuple[CriterionVerdict, ...]:
    """The criteria of a reject on facts; a fact without a place is itself a missing criterion.

    Where it is an acceptance gap (nothing changed), every criterion is missing.
    """
    if any(fact.path for fact in facts):
        return _unjudged_criteria(bundle)
    absent = CriterionVerdict(
        id=texts.absent_criterion_id(facts[0]), status=CriterionStatus.MISSING, note=facts[0].note
    )
    if facts[0].category is Category.ACCEPTANCE_GAP:
        return _criteria_with_status(bundle, CriterionStatus.MISSING) or (absent,)
    return (*_unjudged_criteria(bundle), absent)


def _criteria_with_status(bundle: EvidenceBundle, status: CriterionStatus) -> tuple[CriterionVerdict, ...]:
    claimed = claimed_ids(bundle.dossier.case, bundle.criteria)
    return tuple(CriterionVerdict(id=entry.id, status=status, claimed=entry.id in claimed) for entry in bundle.criteria)


def _unjudged_criteria(bundle: EvidenceBundle) -> tuple[CriterionVerdict, ...]:
    """Every criterion as not judged, or as missing where code proves that."""
    seen = {criterion.id: criterion for criterion in bundle.opinion.criteria}
    criteria: list[CriterionVerdict] = []
    for criterion in _criteria_with_status(bundle, CriterionStatus.UNVERIFIABLE):
        if (by_code := seen.get(criterion.id)) is not None:
            is_open = by_code.status is CriterionStatus.UNVERIFIABLE and by_code.note
            note = texts.not_judged_note(by_code.note) if is_open else by_code.note
            criteria.append(criterion.model_copy(update={"status": by_code.status, "note": note}))
        else:
            criteria.append(criterion)
    return tuple(criteria)


def _accept_safe(bundle: EvidenceBundle, coverage: Coverage) -> Ruling:
    if not coverage.is_complete:
        return abstain_too_large(bundle, coverage)
    evidence = tuple(islice(changed_places(bundle), MOST_EVIDENCE))
    if not evidence:
        stop = StopJudging(AbstainReason.UNPROVEN, ModelSkipReason.TIER, bundle.opinion.reason)
        return rule_stopped(bundle, stop, coverage)
    concern = (bundle.opinion.safe or bundle.opinion.reason).strip()
    end = "" if concern.endswith((".", "!", "?")) else "."
    unread = {"note": texts.COMPARED_BY_CODE}
    criteria = _criteria_with_status(bundle, CriterionStatus.UNVERIFIABLE)
    return Ruling(
        concern=f"{concern[0].upper()}{concern[1:]}{end}",
        next_step=None,
        score=max(bundle.opinion.score, SAFE_SCORE),
        confidence=bundle.opinion.confidence,
        evidence=evidence,
        criteria=tuple(criterion.model_copy(update=unread) for criterion in criteria),
    )


def changed_places(bundle: EvidenceBundle) -> Iterator[EvidencePointer]:
    """The places of a safe change: added lines, else removed ones, else the file."""
    for file in bundle.diff.files:
        if file.is_submodule or file.is_symlink or not (file.added_lines or file.removed_lines):
            side = Side.BASE if file.change is ChangeKind.DELETED else Side.HEAD
            yield EvidencePointer(path=file.path, side=side)
            continue
        lines = [line for line in file.added_lines if line.text.strip()] or file.added_lines or file.removed_lines
        for line in lines:
            side = Side.BASE if line.head_line is None else Side.HEAD
            path = file.old_path or file.path if side is Side.BASE else file.path
            yield EvidencePointer(path=path, line=line.head_line or line.base_line, side=side, quote=line.text)


def abstain_too_large(bundle: EvidenceBundle, coverage: Coverage) -> Ruling:
    """The abstain that names the files that were not read."""
    is_nothing_read = not (coverage.read or coverage.partly)
    wording = texts.too_large([*coverage.unread, *coverage.partly], is_nothing_read=is_nothing_read)
    return abstain(bundle, AbstainReason.TOO_LARGE, wording)


def closing_conditions(ruling: Ruling, bundle: EvidenceBundle) -> tuple[ClosingCondition, ...]:
    """The conditions that a reject freezes: its next step and each criterion that a model found unmet."""
    assert ruling.next_step is not None  # noqa: S101 - a reject has one, and nothing else freezes any
    text_by_id = {criterion.id: texts.criterion_met(criterion) for criterion in bundle.criteria}
    seen = bundle.opinion.criteria
    by_code = {(criterion.id, criterion.note) for criterion in seen if criterion.status is CriterionStatus.MISSING}
    unmet = (entry for entry in ruling.criteria if entry.status in UNMET and (entry.id, entry.note) not in by_code)
    asked = [ruling.next_step, *(text_by_id[entry.id] for entry in unmet if entry.id in text_by_id)]
    return tuple(ClosingCondition(id=f"c{number}", text=text) for number, text in enumerate(asked, start=1))
