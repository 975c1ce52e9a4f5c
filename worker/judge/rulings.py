"""What the court holds by code alone.

Does not build the verdict's frame (`worker.judge.judge` does) and asks nobody (`worker.judge.model_judge` does). Invariant:
a fact rejects; an accept needs every changed file read.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final, assert_never

from worker.domain.dossier.dossier import Criterion, Dossier
from worker.domain.value import Value, replace
from worker.domain.verdict.opinion import HeuristicOpinion
from worker.domain.verdict.verdict import (
    AbstainReason,
    Category,
    CiFailure,
    ClaimVerdict,
    ClosingCondition,
    Coverage,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    Score,
    Side,
    ThrottledReason,
)
from worker.dossier.diff.parser import ChangeKind, Diff, FileDiff
from worker.judge import texts as words
from worker.judge.checks.ci_status import CiReport, first_failure
from worker.judge.checks.claims import claimed_ids
from worker.judge.checks.evidence import Places
from worker.judge.escalation import AcceptAsSafe, ModelSkipReason, RejectOnFacts, StopJudging

FACT_SCORE: Final = 0.1
"""No verdict that rests on a fact scores higher."""

SAFE_SCORE: Final = 0.9
"""No verdict that rests on a safe change scores lower."""

EXPLICIT_CATEGORIES: Final = frozenset({Category.SPEC_VIOLATION, Category.ACCEPTANCE_GAP})
"""Facts about what somebody wrote down: an issue, a rule, the case."""

MOST_EVIDENCE: Final = 20
"""How many places of a fact or a safe change a verdict names."""

UNMET: Final = frozenset({CriterionStatus.MISSING, CriterionStatus.PARTIAL})

RulingSignals = Mapping[str, str | int | float | bool | None]


class EvidenceBundle(Value):
    """What lies before the court once code has read it."""

    dossier: Dossier
    diff: Diff
    places: Places
    opinion: HeuristicOpinion
    ci: CiReport
    claims: tuple[ClaimVerdict, ...]
    is_local: bool = False
    """The reader is the one who sets the key and the tier."""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return self.dossier.criteria or ()


class Ruling(Value):
    """The deciding part of a verdict. Exactly one of accept, `category` (reject) and `abstain_reason`."""

    concern: str
    next_step: str | None
    score: float
    confidence: float
    category: Category | None = None
    abstain_reason: AbstainReason | None = None
    evidence: tuple[EvidencePointer, ...] = ()
    criteria: tuple[CriterionVerdict, ...] = ()
    scores: tuple[Score, ...] = ()
    signals: RulingSignals = MappingProxyType({})
    throttled_reason: ThrottledReason | None = None
    ci_failure: CiFailure | None = None

    @property
    def decision(self) -> str:
        if self.abstain_reason is not None:
            return "abstain"
        return "accept" if self.category is None else "reject"


def rule_without_model(
    bundle: EvidenceBundle, route: RejectOnFacts | AcceptAsSafe | StopJudging, coverage: Coverage
) -> Ruling:
    """What the heuristic tier and the validators say alone."""
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
    """Nobody judged: the criteria are open, the heuristic tier's score is what there is."""
    concern, next_step = concern_and_step
    return Ruling(
        concern=concern,
        next_step=next_step,
        score=bundle.opinion.score,
        confidence=bundle.opinion.confidence,
        abstain_reason=reason,
        criteria=tuple(_with_places(_unjudged_criteria(bundle), bundle)),
    )


def leave_to_person(ruling: Ruling, texts: tuple[str, str], intended: str, **signals: str) -> Ruling:
    """What was thought can't stand as it is: a person decides. What it *intended* stays on record."""
    concern, next_step = texts
    return replace(
        ruling,
        concern=concern,
        next_step=next_step,
        category=None,
        abstain_reason=AbstainReason.NEEDS_HUMAN,
        signals={**ruling.signals, "model_decision": intended, **signals},
    )


def rule_stopped(bundle: EvidenceBundle, stop: StopJudging, coverage: Coverage) -> Ruling:
    """Nobody was asked: the validators' report, or that this is unproven."""
    match stop.abstain:
        case AbstainReason.CI_FAILED:
            wording = words.ci_failed(bundle.ci)
        case AbstainReason.CI_PENDING:
            wording = words.ci_pending(bundle.ci)
        case AbstainReason.NO_CRITERIA:
            wording = words.no_issue()
        case _:
            opinion = bundle.opinion
            wording = words.unproven(
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
    """The gravest fact names the category; all facts are evidence."""
    facts = sort_by_gravity(bundle.opinion)
    return Ruling(
        concern=words.describe_facts(facts),
        next_step=words.describe_fact_steps(facts),
        score=min(bundle.opinion.score, FACT_SCORE),
        confidence=bundle.opinion.confidence,
        category=facts[0].category,
        evidence=_pointers(facts, bundle),
        criteria=_criteria_under_facts(bundle, facts),
    )


def sort_by_gravity(opinion: HeuristicOpinion) -> tuple[Finding, ...]:
    """What breaks somebody's explicit word before what the change shows by itself, then by weight."""
    return tuple(sorted(opinion.facts, key=lambda fact: (fact.category not in EXPLICIT_CATEGORIES, -fact.weight)))


def _pointers(facts: tuple[Finding, ...], bundle: EvidenceBundle) -> tuple[EvidencePointer, ...]:
    return tuple(pointer for fact in facts[:MOST_EVIDENCE] for pointer in _fact_places(fact, bundle.places))


def _fact_places(fact: Finding, places: Places) -> Iterator[EvidencePointer]:
    """The fact's place, and what stood there before."""
    if (pointer := _pointer(fact, places)) is not None:
        yield pointer
    if fact.instead_of is not None and isinstance(before := places.check(fact.instead_of), EvidencePointer):
        yield before


def _pointer(fact: Finding, places: Places) -> EvidencePointer | None:
    """The fact's place with its line; the file alone where the line is not to be had."""
    if not fact.path:
        return None
    exact = EvidencePointer(path=fact.path, line=fact.line, end_line=fact.end_line, side=fact.side, note=fact.note)
    checked = places.check(exact)
    if isinstance(checked, EvidencePointer):
        return checked
    return EvidencePointer(path=fact.path, side=fact.side, note=fact.note)


def _criteria_under_facts(bundle: EvidenceBundle, facts: tuple[Finding, ...]) -> tuple[CriterionVerdict, ...]:
    """Where nothing changed nothing is met; any other fact without a place is something of its own that is missing."""
    if any(fact.path for fact in facts):
        return _unjudged_criteria(bundle)
    absent = CriterionVerdict(
        id=words.absent_criterion_id(facts[0]), status=CriterionStatus.MISSING, note=facts[0].note
    )
    if facts[0].category is Category.ACCEPTANCE_GAP:
        return _criteria_with_status(bundle, CriterionStatus.MISSING) or (absent,)
    return (*_unjudged_criteria(bundle), absent)


def _criteria_with_status(bundle: EvidenceBundle, status: CriterionStatus) -> tuple[CriterionVerdict, ...]:
    claimed = claimed_ids(bundle.dossier.case, bundle.criteria)
    return tuple(
        CriterionVerdict(id=criterion.id, status=status, claimed=criterion.id in claimed)
        for criterion in bundle.criteria
    )


def _unjudged_criteria(bundle: EvidenceBundle) -> tuple[CriterionVerdict, ...]:
    """Each criterion as code sees it: not judged, but where it is proved that something is not there."""
    seen = {criterion.id: criterion for criterion in bundle.opinion.criteria}
    return tuple(
        criterion.model_copy(update=_absence_fields(seen[criterion.id])) if criterion.id in seen else criterion
        for criterion in _criteria_with_status(bundle, CriterionStatus.UNVERIFIABLE)
    )


def _absence_fields(criterion: CriterionVerdict) -> dict[str, object]:
    is_open = criterion.status is CriterionStatus.UNVERIFIABLE and criterion.note
    return {
        "status": criterion.status,
        "note": words.not_judged_note(criterion.note) if is_open else criterion.note,
    }


def _with_places(criteria: Iterable[CriterionVerdict], bundle: EvidenceBundle) -> Iterator[CriterionVerdict]:
    """Each with the changed lines that speak of it, for a person who judges in place of a model."""
    seen = {criterion.id: criterion.evidence for criterion in bundle.opinion.criteria}
    for criterion in criteria:
        checked = (bundle.places.check(pointer) for pointer in seen.get(criterion.id, ()))
        yield criterion.model_copy(update={"evidence": tuple(p for p in checked if isinstance(p, EvidencePointer))})


def _accept_safe(bundle: EvidenceBundle, coverage: Coverage) -> Ruling:
    if not coverage.is_complete:
        return abstain_too_large(bundle, coverage)
    evidence = tuple(islice(changed_places(bundle), MOST_EVIDENCE))
    if not evidence:
        return rule_stopped(
            bundle, StopJudging(AbstainReason.UNPROVEN, ModelSkipReason.TIER, bundle.opinion.reason), coverage
        )
    unread = {"note": words.not_judged_note(words.COMPARED_BY_CODE)}
    return Ruling(
        concern=_sentence(bundle.opinion.safe or bundle.opinion.reason),
        next_step=None,
        score=max(bundle.opinion.score, SAFE_SCORE),
        confidence=bundle.opinion.confidence,
        evidence=evidence,
        criteria=tuple(
            criterion.model_copy(update=unread)
            for criterion in _criteria_with_status(bundle, CriterionStatus.UNVERIFIABLE)
        ),
    )


def changed_places(bundle: EvidenceBundle) -> Iterator[EvidencePointer]:
    """Where a safe change can be seen: its added lines, else the removed ones, else the file itself."""
    for file in bundle.diff.files:
        yield from _places_of(file)


def _places_of(file: FileDiff) -> Iterator[EvidencePointer]:
    if file.is_submodule or file.is_symlink or not (file.added_lines or file.removed_lines):
        yield EvidencePointer(path=file.path, side=_side(file))
        return
    lines = [line for line in file.added_lines if line.text.strip()] or file.added_lines or file.removed_lines
    for line in lines:
        side = Side.BASE if line.head_line is None else Side.HEAD
        path = file.old_path or file.path if side is Side.BASE else file.path
        yield EvidencePointer(path=path, line=line.head_line or line.base_line, side=side, quote=line.text)


def _side(file: FileDiff) -> Side:
    return Side.BASE if file.change is ChangeKind.DELETED else Side.HEAD


def _sentence(text: str) -> str:
    sentence = text.strip()
    return sentence[0].upper() + sentence[1:] + ("" if sentence.endswith((".", "!", "?")) else ".")


def abstain_too_large(bundle: EvidenceBundle, coverage: Coverage) -> Ruling:
    """Not everything could be read; the files are named."""
    wording = words.too_large(
        [*coverage.unread, *coverage.partly], is_nothing_read=not (coverage.read or coverage.partly)
    )
    return abstain(bundle, AbstainReason.TOO_LARGE, wording)


def closing_conditions(ruling: Ruling, bundle: EvidenceBundle) -> tuple[ClosingCondition, ...]:
    """What a reject freezes: its next step, and each criterion that is not met (what code says of one binds nobody)."""
    assert ruling.next_step is not None  # noqa: S101 - a reject has one, and nothing else freezes any
    texts = {criterion.id: words.criterion_met(criterion) for criterion in bundle.criteria}
    by_code = {
        (criterion.id, criterion.note)
        for criterion in bundle.opinion.criteria
        if criterion.status is CriterionStatus.MISSING
    }
    unmet = [
        criterion
        for criterion in ruling.criteria
        if criterion.status in {CriterionStatus.MISSING, CriterionStatus.PARTIAL}
        and (criterion.id, criterion.note) not in by_code
    ]
    asked = [texts[criterion.id] for criterion in unmet if criterion.id in texts]
    return tuple(
        ClosingCondition(id=f"c{number}", text=text) for number, text in enumerate([ruling.next_step, *asked], start=1)
    )
