"""What the court holds: the heuristic tier alone, or joined with what the model said.

Does not build the verdict's frame (`worker.judge.court` does) and asks nobody. Invariant: a fact rejects whatever the
model says; an accept needs every changed file read; nothing that went wrong with the model is a reject or a pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, assert_never

from worker.domain.diff import ChangeKind, Diff, FileDiff
from worker.domain.dossier import Criterion, Dossier
from worker.domain.opinion import HeuristicOpinion, Leaning, ModelOpinion
from worker.domain.verdict import (
    AbstainReason,
    Category,
    ClaimVerdict,
    ClosingCondition,
    Coverage,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    Score,
    Side,
)
from worker.judge import words
from worker.judge.claims import claimed_ids
from worker.judge.escalation import AcceptAsSafe, RejectOnFacts, Skipped, Stop
from worker.judge.evidence import Places
from worker.judge.llm import Answered, Consultation, ReplyInvalid, Unreachable
from worker.judge.reply import ReplyFault
from worker.judge.validators import CiReport

FACT_SCORE: Final = 0.1
"""No verdict that rests on a fact scores higher."""

SAFE_SCORE: Final = 0.9
"""No verdict that rests on a safe change scores lower."""

EVIDENCE: Final = 20
"""How many places of a fact or a safe change a verdict names."""

CONSIDERED: Final = 2_000
"""How many changed lines of a safe change are looked through for one that shows a criterion."""

Signals = dict[str, str | int | float | bool | None]


@dataclass(frozen=True, slots=True)
class Hearing:
    """What lies before the court once code has read it."""

    dossier: Dossier
    diff: Diff
    places: Places
    opinion: HeuristicOpinion
    ci: CiReport
    claims: tuple[ClaimVerdict, ...]

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return self.dossier.criteria or ()


@dataclass(frozen=True, slots=True)
class Ruling:
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
    signals: Signals = field(default_factory=dict[str, str | int | float | bool | None])

    @property
    def decision(self) -> str:
        if self.abstain_reason is not None:
            return "abstain"
        return "accept" if self.category is None else "reject"


def without_model(hearing: Hearing, route: RejectOnFacts | AcceptAsSafe | Stop, coverage: Coverage) -> Ruling:
    """What the heuristic tier and the validators say alone."""
    match route:
        case RejectOnFacts():
            return reject_on_facts(hearing)
        case AcceptAsSafe():
            return _accept_safe(hearing, coverage)
        case Stop():
            return stopped(hearing, route)
        case _:
            assert_never(route)


def with_model(hearing: Hearing, consultation: Consultation, coverage: Coverage) -> Ruling:
    """What the model said, joined with what the heuristic tier knows."""
    if hearing.opinion.facts:
        return _joined_with_facts(hearing, consultation)
    match consultation:
        case Answered(opinion=opinion):
            return _by_opinion(hearing, opinion, coverage)
        case ReplyInvalid(errors=errors) if errors[-1].fault is ReplyFault.TOO_LONG:
            return abstain(hearing, AbstainReason.TOO_LARGE, words.too_long())
        case ReplyInvalid(errors=errors):
            ruling = abstain(hearing, AbstainReason.REPLY_INVALID, words.reply_invalid(errors[-1].problems[0]))
            return replace(ruling, signals={"parse_failed": True})
        case Unreachable(reason=reason):
            return abstain(hearing, AbstainReason.JUDGE_UNAVAILABLE, words.judge_unavailable(reason))
        case _:
            assert_never(consultation)


def abstain(hearing: Hearing, reason: AbstainReason, said: tuple[str, str]) -> Ruling:
    """Nobody judged: the criteria are open, the heuristic tier's score is what there is."""
    concern, next_step = said
    return Ruling(
        concern=concern,
        next_step=next_step,
        score=hearing.opinion.score,
        confidence=hearing.opinion.confidence,
        abstain_reason=reason,
        criteria=_all(hearing, CriterionStatus.UNVERIFIABLE),
    )


def stopped(hearing: Hearing, stop: Stop) -> Ruling:
    """Nobody was asked: the validators' report, or that this is unproven."""
    match stop.abstain:
        case AbstainReason.CI_FAILED:
            said = words.ci_failed(hearing.ci)
        case AbstainReason.CI_PENDING:
            said = words.ci_pending(hearing.ci)
        case _:
            said = words.unproven(stop.skipped, len(hearing.opinion.findings))
    ruling = abstain(hearing, stop.abstain, said)
    return replace(ruling, signals={"escalation_skipped": stop.skipped.value})


def reject_on_facts(hearing: Hearing) -> Ruling:
    """The gravest fact names the category; all facts are evidence."""
    facts = gravest_first(hearing.opinion)
    return Ruling(
        concern=words.facts(facts),
        next_step=words.fact_step(facts[0], hearing.criteria),
        score=min(hearing.opinion.score, FACT_SCORE),
        confidence=hearing.opinion.confidence,
        category=facts[0].category,
        evidence=_pointers(facts, hearing),
        criteria=_criteria_under_facts(hearing, facts),
    )


def gravest_first(opinion: HeuristicOpinion) -> tuple[Finding, ...]:
    return tuple(sorted(opinion.facts, key=lambda one: -one.weight))


def _pointers(facts: tuple[Finding, ...], hearing: Hearing) -> tuple[EvidencePointer, ...]:
    found = (_pointer(fact, hearing.places) for fact in facts[:EVIDENCE])
    return tuple(pointer for pointer in found if pointer is not None)


def _pointer(fact: Finding, places: Places) -> EvidencePointer | None:
    """The fact's place with its line; the file alone where the line is not to be had."""
    if not fact.path:
        return None
    exact = EvidencePointer(path=fact.path, line=fact.line, end_line=fact.end_line, side=fact.side, note=fact.note)
    checked = places.check(exact)
    if isinstance(checked, EvidencePointer):
        return checked
    return EvidencePointer(path=fact.path, side=fact.side, note=fact.note)


def _criteria_under_facts(hearing: Hearing, facts: tuple[Finding, ...]) -> tuple[CriterionVerdict, ...]:
    """A fact without a place says that nothing is there: then nothing is met, be it only that something changes."""
    if any(fact.path for fact in facts):
        return _all(hearing, CriterionStatus.UNVERIFIABLE)
    nothing = CriterionVerdict(id="any-change", status=CriterionStatus.MISSING, note=facts[0].note)
    return _all(hearing, CriterionStatus.MISSING) or (nothing,)


def _all(hearing: Hearing, status: CriterionStatus) -> tuple[CriterionVerdict, ...]:
    claimed = claimed_ids(hearing.dossier.case, hearing.criteria)
    return tuple(CriterionVerdict(id=one.id, status=status, claimed=one.id in claimed) for one in hearing.criteria)


def _accept_safe(hearing: Hearing, coverage: Coverage) -> Ruling:
    if not coverage.is_complete:
        return _too_large(hearing, coverage)
    evidence = tuple(islice(changed_places(hearing), CONSIDERED))
    if not evidence:
        return stopped(hearing, Stop(AbstainReason.UNPROVEN, Skipped.TIER, hearing.opinion.reason))
    claimed = claimed_ids(hearing.dossier.case, hearing.criteria)
    criteria = tuple(
        CriterionVerdict(
            id=one.id, status=CriterionStatus.MET, claimed=one.id in claimed, evidence=(nearest(one, evidence),)
        )
        for one in hearing.criteria
    )
    return Ruling(
        concern=_sentence(hearing.opinion.safe or hearing.opinion.reason),
        next_step=None,
        score=max(hearing.opinion.score, SAFE_SCORE),
        confidence=hearing.opinion.confidence,
        evidence=evidence[:EVIDENCE],
        criteria=criteria,
    )


def changed_places(hearing: Hearing) -> Iterator[EvidencePointer]:
    """Where a safe change can be seen: its added lines, else the removed ones, else the file itself."""
    for file in hearing.diff.files:
        yield from _places_of(file)


def _places_of(file: FileDiff) -> Iterator[EvidencePointer]:
    if file.is_submodule or file.is_symlink or not (file.added or file.removed):
        yield EvidencePointer(path=file.path, side=_side(file))
        return
    lines = [line for line in file.added if line.text.strip()] or file.added or file.removed
    for line in lines:
        side = Side.BASE if line.head_line is None else Side.HEAD
        path = file.old_path or file.path if side is Side.BASE else file.path
        yield EvidencePointer(path=path, line=line.head_line or line.base_line, side=side, quote=line.text)


def _side(file: FileDiff) -> Side:
    return Side.BASE if file.change is ChangeKind.DELETED else Side.HEAD


def nearest(criterion: Criterion, evidence: tuple[EvidencePointer, ...]) -> EvidencePointer:
    """The changed line that shares the most words with the criterion; the first where none does."""
    wanted = frozenset(criterion.text.casefold().split())
    return max(evidence, key=lambda one: len(wanted.intersection((one.quote or "").casefold().split())))


def _sentence(text: str) -> str:
    said = text.strip()
    return said[0].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")


def _joined_with_facts(hearing: Hearing, consultation: Consultation) -> Ruling:
    """Facts reject. A model that rejects for the same reason words it better and adds what it saw."""
    ruling = reject_on_facts(hearing)
    if not isinstance(consultation, Answered):
        return ruling
    opinion = consultation.opinion
    agrees = opinion.decision is Leaning.REJECT and opinion.category is ruling.category
    return Ruling(
        concern=opinion.concern if agrees else words.overruled(ruling.concern, opinion),
        next_step=(opinion.next_step if agrees else None) or ruling.next_step,
        score=min(ruling.score, opinion.score),
        confidence=max(ruling.confidence, opinion.confidence) if agrees else ruling.confidence,
        category=ruling.category,
        evidence=tuple(dict.fromkeys((*ruling.evidence, *(opinion.evidence if agrees else ())))),
        criteria=opinion.criteria if agrees else ruling.criteria,
        scores=opinion.scores,
        signals={"model_decision": opinion.decision.value},
    )


def _by_opinion(hearing: Hearing, opinion: ModelOpinion, coverage: Coverage) -> Ruling:
    match opinion.decision:
        case Leaning.ACCEPT if not coverage.is_complete:
            return _too_large(hearing, coverage, opinion)
        case Leaning.ACCEPT:
            return _of_model(opinion, evidence=opinion.evidence or _first_of_each(opinion))
        case Leaning.REJECT:
            return _of_model(opinion, evidence=opinion.evidence)
        case Leaning.CANNOT_TELL:
            return _undecided(
                opinion, AbstainReason.NEEDS_HUMAN, (opinion.concern, words.cannot_tell(opinion.next_step))
            )
        case _:
            assert_never(opinion.decision)


def _first_of_each(opinion: ModelOpinion) -> tuple[EvidencePointer, ...]:
    return tuple(dict.fromkeys(one.evidence[0] for one in opinion.criteria if one.evidence))


def _of_model(opinion: ModelOpinion, evidence: tuple[EvidencePointer, ...]) -> Ruling:
    return Ruling(
        concern=opinion.concern,
        next_step=opinion.next_step,
        score=opinion.score,
        confidence=opinion.confidence,
        category=opinion.category,
        evidence=evidence,
        criteria=opinion.criteria,
        scores=opinion.scores,
    )


def _undecided(opinion: ModelOpinion, reason: AbstainReason, said: tuple[str, str]) -> Ruling:
    """The model's scores and places stay on record; they decide nothing."""
    concern, next_step = said
    return Ruling(
        concern=concern,
        next_step=next_step,
        score=opinion.score,
        confidence=opinion.confidence,
        abstain_reason=reason,
        evidence=opinion.evidence,
        criteria=opinion.criteria,
        scores=opinion.scores,
        signals={"model_decision": opinion.decision.value},
    )


def _too_large(hearing: Hearing, coverage: Coverage, opinion: ModelOpinion | None = None) -> Ruling:
    said = words.too_large([*coverage.unread, *coverage.partly])
    if opinion is not None:
        return _undecided(opinion, AbstainReason.TOO_LARGE, said)
    return abstain(hearing, AbstainReason.TOO_LARGE, said)


def closing_conditions(ruling: Ruling, hearing: Hearing) -> tuple[ClosingCondition, ...]:
    """What a reject freezes: its next step, and each criterion that is not met."""
    if ruling.category is None or ruling.next_step is None:
        return ()
    texts = {one.id: one.text for one in hearing.criteria}
    unmet = [one for one in ruling.criteria if one.status in {CriterionStatus.MISSING, CriterionStatus.PARTIAL}]
    asked = [f"{one.id} is met: {texts[one.id]}" for one in unmet if one.id in texts]
    return tuple(
        ClosingCondition(id=f"c{number}", text=text) for number, text in enumerate([ruling.next_step, *asked], start=1)
    )
