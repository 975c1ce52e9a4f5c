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
    hearing: EvidenceBundle, route: RejectOnFacts | AcceptAsSafe | StopJudging, coverage: Coverage
) -> Ruling:
    """What the heuristic tier and the validators say alone."""
    match route:
        case RejectOnFacts():
            return reject_on_facts(hearing)
        case AcceptAsSafe():
            return _accept_safe(hearing, coverage)
        case StopJudging():
            return rule_stopped(hearing, route, coverage)
        case _:
            assert_never(route)


def abstain(hearing: EvidenceBundle, reason: AbstainReason, concern_and_step: tuple[str, str]) -> Ruling:
    """Nobody judged: the criteria are open, the heuristic tier's score is what there is."""
    concern, next_step = concern_and_step
    return Ruling(
        concern=concern,
        next_step=next_step,
        score=hearing.opinion.score,
        confidence=hearing.opinion.confidence,
        abstain_reason=reason,
        criteria=tuple(_with_places(_unjudged_criteria(hearing), hearing)),
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


def rule_stopped(hearing: EvidenceBundle, stop: StopJudging, coverage: Coverage) -> Ruling:
    """Nobody was asked: the validators' report, or that this is unproven."""
    match stop.abstain:
        case AbstainReason.CI_FAILED:
            said = words.ci_failed(hearing.ci)
        case AbstainReason.CI_PENDING:
            said = words.ci_pending(hearing.ci)
        case AbstainReason.NO_CRITERIA:
            said = words.no_issue()
        case _:
            opinion = hearing.opinion
            said = words.unproven(
                stop.skipped,
                len(opinion.findings),
                opinion.obstacle,
                (*coverage.unread, *coverage.partly),
                on_laptop=hearing.is_local,
            )
    ruling = abstain(hearing, stop.abstain, said)
    failure = first_failure(hearing.ci) if stop.abstain is AbstainReason.CI_FAILED else None
    return replace(ruling, signals={"escalation_skipped": stop.skipped.value}, ci_failure=failure)


def reject_on_facts(hearing: EvidenceBundle) -> Ruling:
    """The gravest fact names the category; all facts are evidence."""
    facts = sort_by_gravity(hearing.opinion)
    return Ruling(
        concern=words.describe_facts(facts),
        next_step=words.describe_fact_steps(facts),
        score=min(hearing.opinion.score, FACT_SCORE),
        confidence=hearing.opinion.confidence,
        category=facts[0].category,
        evidence=_pointers(facts, hearing),
        criteria=_criteria_under_facts(hearing, facts),
    )


def sort_by_gravity(opinion: HeuristicOpinion) -> tuple[Finding, ...]:
    """What breaks somebody's explicit word before what the change shows by itself, then by weight."""
    return tuple(sorted(opinion.facts, key=lambda one: (one.category not in EXPLICIT_CATEGORIES, -one.weight)))


def _pointers(facts: tuple[Finding, ...], hearing: EvidenceBundle) -> tuple[EvidencePointer, ...]:
    return tuple(pointer for fact in facts[:MOST_EVIDENCE] for pointer in _fact_places(fact, hearing.places))


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


def _criteria_under_facts(hearing: EvidenceBundle, facts: tuple[Finding, ...]) -> tuple[CriterionVerdict, ...]:
    """Where nothing changed nothing is met; any other fact without a place is something of its own that is missing."""
    if any(fact.path for fact in facts):
        return _unjudged_criteria(hearing)
    absent = CriterionVerdict(
        id=words.absent_criterion_id(facts[0]), status=CriterionStatus.MISSING, note=facts[0].note
    )
    if facts[0].category is Category.ACCEPTANCE_GAP:
        return _criteria_with_status(hearing, CriterionStatus.MISSING) or (absent,)
    return (*_unjudged_criteria(hearing), absent)


def _criteria_with_status(hearing: EvidenceBundle, status: CriterionStatus) -> tuple[CriterionVerdict, ...]:
    claimed = claimed_ids(hearing.dossier.case, hearing.criteria)
    return tuple(CriterionVerdict(id=one.id, status=status, claimed=one.id in claimed) for one in hearing.criteria)


def _unjudged_criteria(hearing: EvidenceBundle) -> tuple[CriterionVerdict, ...]:
    """Each criterion as code sees it: not judged, but where it is proved that something is not there."""
    seen = {one.id: one for one in hearing.opinion.criteria}
    return tuple(
        one.model_copy(update=_absence_fields(seen[one.id])) if one.id in seen else one
        for one in _criteria_with_status(hearing, CriterionStatus.UNVERIFIABLE)
    )


def _absence_fields(criterion: CriterionVerdict) -> dict[str, object]:
    is_open = criterion.status is CriterionStatus.UNVERIFIABLE and criterion.note
    return {
        "status": criterion.status,
        "note": words.not_judged_note(criterion.note) if is_open else criterion.note,
    }


def _with_places(criteria: Iterable[CriterionVerdict], hearing: EvidenceBundle) -> Iterator[CriterionVerdict]:
    """Each with the changed lines that speak of it, for a person who judges in place of a model."""
    seen = {one.id: one.evidence for one in hearing.opinion.criteria}
    for one in criteria:
        checked = (hearing.places.check(pointer) for pointer in seen.get(one.id, ()))
        yield one.model_copy(update={"evidence": tuple(p for p in checked if isinstance(p, EvidencePointer))})


def _accept_safe(hearing: EvidenceBundle, coverage: Coverage) -> Ruling:
    if not coverage.is_complete:
        return abstain_too_large(hearing, coverage)
    evidence = tuple(islice(changed_places(hearing), MOST_EVIDENCE))
    if not evidence:
        return rule_stopped(
            hearing, StopJudging(AbstainReason.UNPROVEN, ModelSkipReason.TIER, hearing.opinion.reason), coverage
        )
    unread = {"note": words.not_judged_note(words.COMPARED_BY_CODE)}
    return Ruling(
        concern=_sentence(hearing.opinion.safe or hearing.opinion.reason),
        next_step=None,
        score=max(hearing.opinion.score, SAFE_SCORE),
        confidence=hearing.opinion.confidence,
        evidence=evidence,
        criteria=tuple(
            one.model_copy(update=unread) for one in _criteria_with_status(hearing, CriterionStatus.UNVERIFIABLE)
        ),
    )


def changed_places(hearing: EvidenceBundle) -> Iterator[EvidencePointer]:
    """Where a safe change can be seen: its added lines, else the removed ones, else the file itself."""
    for file in hearing.diff.files:
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
    said = text.strip()
    return said[0].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")


def abstain_too_large(hearing: EvidenceBundle, coverage: Coverage) -> Ruling:
    """Not everything could be read; the files are named."""
    said = words.too_large([*coverage.unread, *coverage.partly], is_nothing_read=not (coverage.read or coverage.partly))
    return abstain(hearing, AbstainReason.TOO_LARGE, said)


def closing_conditions(ruling: Ruling, hearing: EvidenceBundle) -> tuple[ClosingCondition, ...]:
    """What a reject freezes: its next step, and each criterion that is not met (what code says of one binds nobody)."""
    assert ruling.next_step is not None  # noqa: S101 - a reject has one, and nothing else freezes any
    texts = {one.id: words.criterion_met(one) for one in hearing.criteria}
    by_code = {(one.id, one.note) for one in hearing.opinion.criteria if one.status is CriterionStatus.MISSING}
    unmet = [
        one
        for one in ruling.criteria
        if one.status in {CriterionStatus.MISSING, CriterionStatus.PARTIAL} and (one.id, one.note) not in by_code
    ]
    asked = [texts[one.id] for one in unmet if one.id in texts]
    return tuple(
        ClosingCondition(id=f"c{number}", text=text) for number, text in enumerate([ruling.next_step, *asked], start=1)
    )
