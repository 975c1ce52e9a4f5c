"""The convergence contract: what a later round may reject for, and how closing conditions change.

After the first round a reject rests on a fact, an open condition, or lines that changed since a model last judged; after the last
round a person decides. A resolved condition stays so unless changed lines break it again. An accept leaves none open.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import with_free_id
from worker.domain.verdict.verdict import (
    ClosingCondition,
    ConditionAnswer,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Reject,
)
from worker.judge import texts
from worker.judge.rounds.previous_rounds import ChangedLines, OpenCondition, PreviousRounds, finding_key, surface_of
from worker.judge.rulings import UNMET, EvidenceBundle, Ruling, closing_conditions, leave_to_person

ConditionAnswers = tuple[ConditionAnswer, ...]


@dataclass(frozen=True)
class ConvergedRuling:
    """The final ruling and conditions. `refusal`: what was refused of the ruling, for the record."""

    ruling: Ruling
    conditions: tuple[ClosingCondition, ...]
    refusal: str = ""


@dataclass(frozen=True)
class RejectGrounds:
    """What may carry a reject: places and criteria ids, new ones and those of open conditions."""

    new_places: tuple[EvidencePointer, ...] = ()
    known_places: tuple[EvidencePointer, ...] = ()
    new_criteria: frozenset[str] = frozenset()
    known_criteria: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not (self.new_places or self.known_places or self.new_criteria or self.known_criteria)

    @property
    def has_new(self) -> bool:
        return bool(self.new_places or self.new_criteria)


def converge(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds, limit: int
) -> ConvergedRuling:
    """Hold a ruling to the earlier rounds. *answers*: the model's on the open conditions."""
    previous = _update_conditions(ruling, answers, bundle, previous)
    match ruling.decision:
        case "reject":
            return _converge_reject(ruling, answers, bundle, previous, limit)
        case "accept" if left := open_conditions(previous.conditions):
            return _refuse(ruling, texts.conditions_open(left), previous, "conditions are open")
        case _:
            return ConvergedRuling(ruling, previous.conditions)


class RejectRefusal(StrEnum):
    """Why a model's reject can't stand."""

    NOT_NEW = "what it objects to did not change since"
    REPEATED = "the next step was asked for before"


def find_refusal(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> RejectRefusal | None:
    """Why a model's reject would be refused, where the model can still correct it; else None."""
    if ruling.decision != "reject" or bundle.opinion.facts:
        return None
    previous = _update_conditions(ruling, answers, bundle, previous)
    if find_grounds(ruling, answers, bundle, previous).is_empty:
        return None if _find_proven(answers, bundle, previous) else RejectRefusal.NOT_NEW
    return RejectRefusal.REPEATED if is_repeated(ruling, previous) else None


def open_conditions(conditions: Iterable[ClosingCondition]) -> tuple[ClosingCondition, ...]:
    return tuple(condition for condition in conditions if condition.state is ConditionState.OPEN)


def unsettled_conditions(bundle: EvidenceBundle, previous: PreviousRounds) -> tuple[ClosingCondition, ...]:
    """The open conditions that code alone can't resolve."""
    return open_conditions(_update_conditions(Ruling("", None, 1.0, 1.0), (), bundle, previous).conditions)


def _update_conditions(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> PreviousRounds:
    """*previous* with the state of each condition after this ruling.

    A fact that is still there keeps its condition open; else the model's answer counts, then code's criteria. Facts concern the
    condition that is their reject's step: the others are criteria.
    """
    raised = {entry.condition: entry for entry in reversed(previous.open_conditions)}
    states = {answer.id: answer.state for answer in reversed(answers)}
    facts = {finding_key(fact) for fact in bundle.opinion.facts}
    met = {_condition_of(entry, bundle) for entry in ruling.criteria if entry.status is CriterionStatus.MET}
    conditions: list[ClosingCondition] = []
    for condition in previous.conditions:
        if condition.state is ConditionState.RESOLVED:
            conditions.append(condition)
            continue
        by, state = raised.get(condition), states.get(condition.id)
        if by and by.facts and condition.text == by.reject.next_step:
            is_there = not by.facts.isdisjoint(facts)
            state = ConditionState.OPEN if is_there else state or ConditionState.RESOLVED
        state = state or (ConditionState.RESOLVED if condition.text in met else ConditionState.OPEN)
        conditions.append(condition.model_copy(update={"state": state}))
    return replace(previous, conditions=tuple(conditions))


def _condition_of(criterion: CriterionVerdict, bundle: EvidenceBundle) -> str | None:
    """The text of the closing condition that a criterion is."""
    return next((texts.criterion_met(entry) for entry in bundle.criteria if entry.id == criterion.id), None)


def _converge_reject(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds, limit: int
) -> ConvergedRuling:
    if previous.round > limit:
        return _refuse(ruling, texts.round_limit(limit, ruling.concern), previous, "the round limit is reached")
    if bundle.opinion.facts:
        return _converge_facts(ruling, bundle, previous)
    grounds = find_grounds(ruling, answers, bundle, previous)
    if grounds.is_empty:
        return _converge_on_conditions(ruling, answers, bundle, previous)
    if is_repeated(ruling, previous):
        times = len(_earlier_rejects(ruling, previous)) + 1
        return _refuse(ruling, texts.step_repeated(times, ruling.concern), previous, RejectRefusal.REPEATED)
    carried = replace(
        ruling, evidence=(*grounds.new_places, *grounds.known_places), criteria=_criteria(ruling, grounds, previous)
    )
    with_step = grounds.has_new and not _has_open_condition(carried, previous)
    conditions = _freeze_conditions(carried, bundle, previous, with_step=with_step)
    count = len(ruling.evidence)
    dropped = count - len(carried.evidence)
    refusal = f"{dropped} of {count} places did not change since" if dropped else ""
    return ConvergedRuling(carried, conditions, refusal)


def _refuse(ruling: Ruling, concern_and_step: tuple[str, str], previous: PreviousRounds, why: str) -> ConvergedRuling:
    return ConvergedRuling(leave_to_person(ruling, concern_and_step, ruling.decision), previous.conditions, why)


def find_grounds(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> RejectGrounds:
    """What of a model's reject may carry it."""
    changed = previous.changed_lines
    if changed is None:
        unmet = frozenset(criterion.id for criterion in ruling.criteria if criterion.status in UNMET)
        return RejectGrounds(new_places=ruling.evidence, new_criteria=unmet)
    raised = [entry for entry in _conditions_kept_open(previous, answers) if entry.reject.category is ruling.category]
    new_places: list[EvidencePointer] = []
    known_places: list[EvidencePointer] = []
    for pointer in ruling.evidence:
        if new := changed.new_part(pointer):
            new_places.append(new)
        elif part := next(filter(None, (entry.part_at(pointer, bundle.places) for entry in raised)), None):
            known_places.append(part)
    criteria = dict(_carrying_criteria(ruling, bundle, previous, changed))
    return RejectGrounds(
        new_places=tuple(new_places),
        known_places=tuple(known_places),
        new_criteria=frozenset(name for name, is_new in criteria.items() if is_new),
        known_criteria=frozenset(name for name, is_new in criteria.items() if not is_new),
    )


def _conditions_kept_open(previous: PreviousRounds, answers: ConditionAnswers) -> list[OpenCondition]:
    """The conditions that the model calls open."""
    open_ids = {answer.id for answer in answers if answer.state is ConditionState.OPEN}
    return [condition for condition in previous.open_conditions if condition.condition.id in open_ids]


def _carrying_criteria(
    ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds, changed: ChangedLines
) -> Iterator[tuple[str, bool]]:
    """Each unmet criterion that may carry a reject, and whether that is new.

    One that was met before is broken if a line that showed it is gone, or a new line stands against it.
    """
    asked = {condition.text for condition in open_conditions(previous.conditions)}
    for criterion in ruling.criteria:
        if criterion.status not in UNMET:
            continue
        before = previous.judged_criteria.get(criterion.id)
        if _condition_of(criterion, bundle) in asked or (before is not None and before.status in UNMET):
            yield criterion.id, False
            continue
        was_shown = before.evidence if before is not None and before.status is CriterionStatus.MET else ()
        is_broken = any(map(changed.is_lost, was_shown)) or any(map(changed.new_part, criterion.evidence))
        if before is None or is_broken:
            yield criterion.id, True


def _criteria(ruling: Ruling, grounds: RejectGrounds, previous: PreviousRounds) -> tuple[CriterionVerdict, ...]:
    """The criteria; an unmet one that may not carry a reject is unverifiable."""
    if previous.changed_lines is None:
        return ruling.criteria
    criteria: list[CriterionVerdict] = []
    for criterion in ruling.criteria:
        if criterion.status not in UNMET or criterion.id in grounds.known_criteria:
            criteria.append(criterion)
        elif criterion.id not in grounds.new_criteria:
            criteria.append(criterion.model_copy(update=_UNVERIFIABLE))
        else:
            parts = tuple(filter(None, map(previous.changed_lines.new_part, criterion.evidence)))
            criteria.append(criterion.model_copy(update={"evidence": parts}))
    return tuple(criteria)


_WORD: Final = pattern(r"\w+")
_UNVERIFIABLE: Final = {"status": CriterionStatus.UNVERIFIABLE, "note": texts.UNCHANGED_SINCE_JUDGED}


def _converge_facts(ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds) -> ConvergedRuling:
    """A fact holds wherever it is; what a model adds to it needs grounds like any other objection."""
    keys = frozenset(finding_key(fact) for fact in bundle.opinion.facts)
    is_known = any(not condition.facts.isdisjoint(keys) for condition in _still_open(previous))
    carried = _repeat_fact(ruling, previous)
    if previous.changed_lines is not None:
        at = {(fact.path, line) for fact in bundle.opinion.facts for line in (fact.line, None)}
        facts = tuple(pointer for pointer in ruling.evidence if (pointer.path, pointer.line) in at)
        grounds = find_grounds(ruling, (), bundle, previous)
        carried = replace(carried, evidence=tuple(dict.fromkeys((*facts, *grounds.new_places))))
        if facts:
            carried = replace(carried, criteria=_criteria(ruling, grounds, previous))
        if facts and not is_known and not any(map(previous.changed_lines.new_part, facts)):
            carried = replace(carried, concern=texts.late_fact(carried.concern))
    return ConvergedRuling(carried, _freeze_conditions(carried, bundle, previous, with_step=not is_known))


def _still_open(previous: PreviousRounds) -> list[OpenCondition]:
    """The conditions that were open before this round and still are."""
    asked = {condition.id for condition in open_conditions(previous.conditions)}
    return [condition for condition in previous.open_conditions if condition.condition.id in asked]


def _repeat_fact(ruling: Ruling, previous: PreviousRounds) -> Ruling:
    """A fact that was rejected for before: its principle in the concern, its line in the step."""
    earlier = _earlier_rejects(ruling, previous)
    if not earlier or ruling.category is None:
        return ruling
    quote = next((pointer.quote for pointer in ruling.evidence if pointer.quote), None)
    step = texts.fact_step_again(ruling.next_step or "", quote, len(earlier) + 1)
    return replace(ruling, concern=texts.recurring_fact(ruling.concern, ruling.category), next_step=step)


def _converge_on_conditions(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> ConvergedRuling:
    """Reject for an open condition that is shown to be open; else a person decides, as the objection carries nothing."""
    proven = _find_proven(answers, bundle, previous)
    if proven is None:
        left = open_conditions(previous.conditions)
        places = tuple(pointer.location for pointer in ruling.evidence)
        bare = replace(ruling, evidence=(), criteria=_criteria(ruling, RejectGrounds(), previous))
        return _refuse(bare, texts.nothing_new(left, ruling.concern, places), previous, RejectRefusal.NOT_NEW)
    raised, places = proven
    concern, next_step = texts.still_open(raised.condition, raised.reject.round)
    criteria = _criteria(ruling, RejectGrounds(), previous)
    carried = replace(ruling, concern=concern, next_step=next_step, evidence=places, criteria=criteria)
    return ConvergedRuling(
        replace(carried, category=raised.reject.category), previous.conditions, RejectRefusal.NOT_NEW
    )


def _find_proven(
    answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> tuple[OpenCondition, tuple[EvidencePointer, ...]] | None:
    """The first condition that the model calls open with a place that shows it."""
    changed = previous.changed_lines
    proofs = {answer.id: answer.evidence for answer in answers}
    for raised in _conditions_kept_open(previous, answers):
        parts = (
            (pointer if changed is None else changed.new_part(pointer)) or raised.part_at(pointer, bundle.places)
            for pointer in proofs[raised.condition.id]
        )
        if places := tuple(filter(None, parts)):
            return raised, places
    return None


def is_repeated(ruling: Ruling, previous: PreviousRounds) -> bool:
    """Whether an earlier reject for the same category on the same surface has every word of the next step."""
    step = frozenset(_WORD.findall((ruling.next_step or "").casefold()))
    earlier = (reject.next_step.casefold() for reject in _earlier_rejects(ruling, previous))
    return any(step.issubset(_WORD.findall(text)) for text in earlier)


def _earlier_rejects(ruling: Ruling, previous: PreviousRounds) -> tuple[Reject, ...]:
    return () if ruling.category is None else previous.recurring_rejects(ruling.category, surface_of(ruling))


def _freeze_conditions(
    ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds, *, with_step: bool
) -> tuple[ClosingCondition, ...]:
    """The conditions with those that this reject freezes or opens again.

    *with_step* false: an open condition asks for its step already. At least one condition is open afterwards.
    """
    step, *asked = closing_conditions(ruling, bundle)
    conditions = _join_conditions(previous.conditions, [step, *asked] if with_step else asked)
    return conditions if open_conditions(conditions) else _join_conditions(conditions, [step])


def _join_conditions(
    earlier: Iterable[ClosingCondition], asked: Iterable[ClosingCondition]
) -> tuple[ClosingCondition, ...]:
    conditions = {condition.text: condition for condition in earlier}
    for condition in asked:
        before = conditions.get(condition.text)
        named = with_free_id(before or condition, [] if before else conditions.values())
        conditions[condition.text] = named.model_copy(update={"state": ConditionState.OPEN})
    return tuple(conditions.values())


def _has_open_condition(ruling: Ruling, previous: PreviousRounds) -> bool:
    """Whether an open condition has the same category on the same surface."""
    return any(
        condition.reject.category is ruling.category and surface_of(ruling) & surface_of(condition.reject)
        for condition in _still_open(previous)
    )
