"""The convergence contract: what a next round may still reject on, and what becomes of the closing conditions.

Asks nobody and words nothing. Invariant: after the first round, a reject rests on a fact, on a condition that is still
open, or on lines that changed since a model judged the last time; after the last round it is a person's; a condition that
was ticked stays so unless lines that changed since break it again; an accept leaves none open.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value, replace
from worker.domain.verdict.ledger import with_free_id
from worker.domain.verdict.opinion import ConditionAnswer
from worker.domain.verdict.verdict import (
    ClosingCondition,
    ConditionState,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Reject,
)
from worker.judge import texts
from worker.judge.rounds.changed_lines import ChangedLines
from worker.judge.rounds.previous_rounds import OpenCondition, PreviousRounds, finding_key, surface_of
from worker.judge.rulings import UNMET, EvidenceBundle, Ruling, closing_conditions, leave_to_person

ConditionAnswers = tuple[ConditionAnswer, ...]


class ConvergedRuling(Value):
    """What is ruled in the end, and how every condition stands then. `refusal`: what did not hold, for the record."""

    ruling: Ruling
    conditions: tuple[ClosingCondition, ...]
    refusal: str = ""


class RejectGrounds(Value):
    """What may carry a reject: places on what is new, places of what is known, and criteria by their ids."""

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
    """Hold a ruling against the earlier rounds. *answers*: what the model said of the open conditions."""
    conditions = tuple(
        _update_condition(condition, answers, bundle, previous, ruling) for condition in previous.conditions
    )
    match ruling.decision:
        case "reject":
            return _converge_reject(ruling, answers, bundle, replace(previous, conditions=conditions), limit)
        case "accept" if left := open_conditions(conditions):
            return ConvergedRuling(
                leave_to_person(ruling, texts.conditions_open(left), ruling.decision),
                conditions,
                "conditions are open",
            )
        case _:
            return ConvergedRuling(ruling, conditions)


class RejectRefusal(StrEnum):
    """Why a model's reject can't stand."""

    NOT_NEW = "what it objects to did not change since"
    REPEATED = "the next step was asked for before"


def find_refusal(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> RejectRefusal | None:
    """Why this ruling would be refused, if it would be and better words can help it."""
    if ruling.decision != "reject" or bundle.opinion.facts:
        return None
    conditions = tuple(
        _update_condition(condition, answers, bundle, previous, ruling) for condition in previous.conditions
    )
    previous = replace(previous, conditions=conditions)
    if find_grounds(ruling, answers, bundle, previous).is_empty:
        return None if _find_proven(answers, bundle, previous) else RejectRefusal.NOT_NEW
    return RejectRefusal.REPEATED if is_repeated(ruling, previous) else None


def open_conditions(conditions: Iterable[ClosingCondition]) -> tuple[ClosingCondition, ...]:
    return tuple(condition for condition in conditions if condition.state is ConditionState.OPEN)


def unsettled_conditions(bundle: EvidenceBundle, previous: PreviousRounds) -> tuple[ClosingCondition, ...]:
    """The open conditions that code alone can't tick."""
    return open_conditions(
        _update_condition(condition, (), bundle, previous, Ruling("", None, 1.0, 1.0))
        for condition in previous.conditions
    )


def _update_condition(
    condition: ClosingCondition,
    answers: ConditionAnswers,
    bundle: EvidenceBundle,
    previous: PreviousRounds,
    ruling: Ruling,
) -> ClosingCondition:
    """How a condition stands now: a fact that is still there keeps it open; else the model's word; else code's."""
    if condition.state is ConditionState.RESOLVED:
        return condition
    raised = next(
        (raised_condition for raised_condition in previous.open_conditions if raised_condition.condition == condition),
        None,
    )
    answer = next((answer.state for answer in answers if answer.id == condition.id), None)
    if raised and raised.facts and _is_its_step(raised):
        there = not raised.facts.isdisjoint(finding_key(fact) for fact in bundle.opinion.facts)
        return _in_state(condition, ConditionState.OPEN if there else answer or ConditionState.RESOLVED)
    met = condition.text in {
        _condition_of(criterion, bundle) for criterion in ruling.criteria if criterion.status is CriterionStatus.MET
    }
    return _in_state(condition, answer or (ConditionState.RESOLVED if met else ConditionState.OPEN))


def _in_state(condition: ClosingCondition, state: ConditionState) -> ClosingCondition:
    return condition.model_copy(update={"state": state})


def _is_its_step(raised: OpenCondition) -> bool:
    """Whether it is the reject's step: its other conditions are criteria, and no fact tells that one is met."""
    return raised.condition.text == raised.reject.next_step


def _condition_of(criterion: CriterionVerdict, bundle: EvidenceBundle) -> str | None:
    """The text under which a criterion is a closing condition."""
    return next((texts.criterion_met(listed) for listed in bundle.criteria if listed.id == criterion.id), None)


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
    with_step = grounds.has_new and not _is_said_already(carried, previous)
    return ConvergedRuling(
        carried, _freeze_conditions(carried, bundle, previous, with_step=with_step), _describe_dropped(ruling, carried)
    )


def _refuse(ruling: Ruling, concern_and_step: tuple[str, str], previous: PreviousRounds, why: str) -> ConvergedRuling:
    return ConvergedRuling(leave_to_person(ruling, concern_and_step, ruling.decision), previous.conditions, why)


def find_grounds(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> RejectGrounds:
    """What of a model's reject may carry it."""
    since = previous.changed_lines
    if since is None:
        unmet = frozenset(criterion.id for criterion in ruling.criteria if criterion.status in UNMET)
        return RejectGrounds(new_places=ruling.evidence, new_criteria=unmet)
    raised = [
        condition
        for condition in _conditions_kept_open(previous, answers)
        if condition.reject.category is ruling.category
    ]
    new = [since.new_part(pointer) for pointer in ruling.evidence]
    pointers = [
        _part_at_condition(pointer, raised, bundle)
        for pointer, part in zip(ruling.evidence, new, strict=True)
        if part is None
    ]
    of_criteria = dict(_carrying_criteria(ruling, bundle, previous, since))
    return RejectGrounds(
        new_places=tuple(part for part in new if part is not None),
        known_places=tuple(part for part in pointers if part is not None),
        new_criteria=frozenset(name for name, is_new in of_criteria.items() if is_new),
        known_criteria=frozenset(name for name, is_new in of_criteria.items() if not is_new),
    )


def _part_at_condition(
    pointer: EvidencePointer, raised: Iterable[OpenCondition], bundle: EvidenceBundle
) -> EvidencePointer | None:
    """The part of a pointer that stands where one of these conditions was raised."""
    parts = (condition.part_at(pointer, bundle.places) for condition in raised)
    return next((part for part in parts if part is not None), None)


def _conditions_kept_open(previous: PreviousRounds, answers: ConditionAnswers) -> list[OpenCondition]:
    """The conditions that the model itself says are open."""
    open_ids = {answer.id for answer in answers if answer.state is ConditionState.OPEN}
    return [condition for condition in previous.open_conditions if condition.condition.id in open_ids]


def _carrying_criteria(
    ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds, since: ChangedLines
) -> Iterator[tuple[str, bool]]:
    """Each criterion that is not met and may say so, with whether that is new."""
    asked = {condition.text for condition in open_conditions(previous.conditions)}
    for criterion in ruling.criteria:
        if criterion.status not in UNMET:
            continue
        before = previous.judged_criteria.get(criterion.id)
        if _condition_of(criterion, bundle) in asked or (before is not None and before.status in UNMET):
            yield criterion.id, False
        elif before is None or _is_broken(criterion, before, since):
            yield criterion.id, True


def _is_broken(now: CriterionVerdict, before: CriterionVerdict, since: ChangedLines) -> bool:
    """Whether the lines tell that it was met and is not now: what showed it is gone, or what is new stands against it."""
    was_shown = before.evidence if before.status is CriterionStatus.MET else ()
    return any(since.is_lost(pointer) for pointer in was_shown) or any(
        since.new_part(pointer) for pointer in now.evidence
    )


def _criteria(ruling: Ruling, grounds: RejectGrounds, previous: PreviousRounds) -> tuple[CriterionVerdict, ...]:
    """The criteria, of which those that may not carry a reject don't say that they are not met."""
    return tuple(
        _criterion(criterion, grounds, previous) if criterion.status in UNMET else criterion
        for criterion in ruling.criteria
    )


def _criterion(criterion: CriterionVerdict, grounds: RejectGrounds, previous: PreviousRounds) -> CriterionVerdict:
    if criterion.id in grounds.known_criteria or previous.changed_lines is None:
        return criterion
    if criterion.id not in grounds.new_criteria:
        return criterion.model_copy(update=_UNVERIFIABLE)
    parts = (previous.changed_lines.new_part(pointer) for pointer in criterion.evidence)
    return criterion.model_copy(update={"evidence": tuple(part for part in parts if part is not None)})


_WORD: Final = pattern(r"\w+")
_UNVERIFIABLE: Final = {"status": CriterionStatus.UNVERIFIABLE, "note": texts.UNCHANGED_SINCE_JUDGED}


def _converge_facts(ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds) -> ConvergedRuling:
    """A fact is true wherever it stands; what a model adds to it needs grounds like any other objection."""
    is_known = _is_fact_frozen(previous, bundle)
    carried = _repeat_fact(ruling, previous)
    if previous.changed_lines is not None:
        facts = tuple(pointer for pointer in ruling.evidence if _is_of_fact(pointer, bundle))
        grounds = find_grounds(ruling, (), bundle, previous)
        evidence = tuple(dict.fromkeys((*facts, *grounds.new_places)))
        carried = replace(carried, evidence=evidence)
        if facts:
            carried = replace(carried, criteria=_criteria(ruling, grounds, previous))
        if facts and not is_known and not any(map(previous.changed_lines.new_part, facts)):
            carried = replace(carried, concern=texts.late_fact(carried.concern))
    return ConvergedRuling(carried, _freeze_conditions(carried, bundle, previous, with_step=not is_known))


def _is_of_fact(pointer: EvidencePointer, bundle: EvidenceBundle) -> bool:
    facts = {fact.path: fact.line for fact in bundle.opinion.facts if pointer.line in {fact.line, None}}
    return pointer.path in facts


def _is_fact_frozen(previous: PreviousRounds, bundle: EvidenceBundle) -> bool:
    """Whether a condition that is open asks for a fact's end already."""
    now = frozenset(finding_key(fact) for fact in bundle.opinion.facts)
    return any(not condition.facts.isdisjoint(now) for condition in _still_open(previous))


def _still_open(previous: PreviousRounds) -> list[OpenCondition]:
    """Those that were open before this round, and are after it."""
    asked = {condition.id for condition in open_conditions(previous.conditions)}
    return [condition for condition in previous.open_conditions if condition.condition.id in asked]


def _repeat_fact(ruling: Ruling, previous: PreviousRounds) -> Ruling:
    """Code words the same fact the same: the second time it says why, and shows the line."""
    earlier = _earlier_rejects(ruling, previous)
    if not earlier or ruling.category is None:
        return ruling
    quote = next((pointer.quote for pointer in ruling.evidence if pointer.quote), None)
    step = texts.fact_step_again(ruling.next_step or "", quote, len(earlier) + 1)
    return replace(ruling, concern=texts.recurring_fact(ruling.concern, ruling.category), next_step=step)


def _converge_on_conditions(
    ruling: Ruling, answers: ConditionAnswers, bundle: EvidenceBundle, previous: PreviousRounds
) -> ConvergedRuling:
    """Nothing of the objection may carry a reject: an open condition that is shown to be open still may."""
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
    """The first condition that is said to be open with a place that shows it."""
    proofs = {answer.id: answer.evidence for answer in answers}
    for raised in _conditions_kept_open(previous, answers):
        parts = [_shown_part(raised, pointer, bundle, previous) for pointer in proofs[raised.condition.id]]
        places = tuple(part for part in parts if part is not None)
        if places:
            return raised, places
    return None


def _shown_part(
    raised: OpenCondition, pointer: EvidencePointer, bundle: EvidenceBundle, previous: PreviousRounds
) -> EvidencePointer | None:
    new = previous.changed_lines.new_part(pointer) if previous.changed_lines is not None else pointer
    return new or raised.part_at(pointer, bundle.places)


def is_repeated(ruling: Ruling, previous: PreviousRounds) -> bool:
    """Whether the next step says nothing that an earlier one, for the same category on the same surface, did not."""
    return any(adds_no_word(ruling.next_step or "", reject.next_step) for reject in _earlier_rejects(ruling, previous))


def adds_no_word(step: str, earlier: str) -> bool:
    """Whether every word of a step stands in the earlier one."""
    return _words_of(step) <= _words_of(earlier)


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _earlier_rejects(ruling: Ruling, previous: PreviousRounds) -> tuple[Reject, ...]:
    return () if ruling.category is None else previous.recurring_rejects(ruling.category, surface_of(ruling))


def _freeze_conditions(
    ruling: Ruling, bundle: EvidenceBundle, previous: PreviousRounds, *, with_step: bool
) -> tuple[ClosingCondition, ...]:
    """The conditions, with those that this reject freezes, or opens again.

    Its step is none where it only says anew what an open one asks for; but one is open, or nothing would close this.
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
        conditions[condition.text] = with_free_id(before or condition, [] if before else conditions.values())
        conditions[condition.text] = _in_state(conditions[condition.text], ConditionState.OPEN)
    return tuple(conditions.values())


def _is_said_already(ruling: Ruling, previous: PreviousRounds) -> bool:
    """Whether an open condition is of the same category on the same surface."""
    return any(
        condition.reject.category is ruling.category and surface_of(ruling) & surface_of(condition.reject)
        for condition in _still_open(previous)
    )


def _describe_dropped(ruling: Ruling, carried: Ruling) -> str:
    left = len(ruling.evidence) - len(carried.evidence)
    return f"{left} of {len(ruling.evidence)} places did not change since" if left else ""
