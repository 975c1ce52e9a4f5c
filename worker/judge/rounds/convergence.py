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
from worker.judge.rounds.previous_rounds import UNMET, OpenCondition, PreviousRounds, finding_key, surface_of
from worker.judge.rulings import EvidenceBundle, Ruling, closing_conditions, leave_to_person

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
    ruling: Ruling, answers: ConditionAnswers, hearing: EvidenceBundle, standing: PreviousRounds, limit: int
) -> ConvergedRuling:
    """Hold a ruling against the earlier rounds. *answers*: what the model said of the open conditions."""
    conditions = tuple(_update_condition(one, answers, hearing, standing, ruling) for one in standing.conditions)
    match ruling.decision:
        case "reject":
            return _converge_reject(ruling, answers, hearing, replace(standing, conditions=conditions), limit)
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
    ruling: Ruling, answers: ConditionAnswers, hearing: EvidenceBundle, standing: PreviousRounds
) -> RejectRefusal | None:
    """Why this ruling would be refused, if it would be and better words can help it."""
    if ruling.decision != "reject" or hearing.opinion.facts:
        return None
    conditions = tuple(_update_condition(one, answers, hearing, standing, ruling) for one in standing.conditions)
    standing = replace(standing, conditions=conditions)
    if find_grounds(ruling, answers, hearing, standing).is_empty:
        return None if _find_proven(answers, hearing, standing) else RejectRefusal.NOT_NEW
    return RejectRefusal.REPEATED if is_repeated(ruling, standing) else None


def open_conditions(conditions: Iterable[ClosingCondition]) -> tuple[ClosingCondition, ...]:
    return tuple(one for one in conditions if one.state is ConditionState.OPEN)


def unsettled_conditions(hearing: EvidenceBundle, standing: PreviousRounds) -> tuple[ClosingCondition, ...]:
    """The open conditions that code alone can't tick."""
    return open_conditions(
        _update_condition(one, (), hearing, standing, Ruling("", None, 1.0, 1.0)) for one in standing.conditions
    )


def _update_condition(
    condition: ClosingCondition,
    answers: ConditionAnswers,
    hearing: EvidenceBundle,
    standing: PreviousRounds,
    ruling: Ruling,
) -> ClosingCondition:
    """How a condition stands now: a fact that is still there keeps it open; else the model's word; else code's."""
    if condition.state is ConditionState.RESOLVED:
        return condition
    raised = next((one for one in standing.open_conditions if one.condition == condition), None)
    answer = next((one.state for one in answers if one.id == condition.id), None)
    if raised and raised.facts and _is_its_step(raised):
        there = not raised.facts.isdisjoint(finding_key(fact) for fact in hearing.opinion.facts)
        return _in_state(condition, ConditionState.OPEN if there else answer or ConditionState.RESOLVED)
    met = condition.text in {
        _condition_of(one, hearing) for one in ruling.criteria if one.status is CriterionStatus.MET
    }
    return _in_state(condition, answer or (ConditionState.RESOLVED if met else ConditionState.OPEN))


def _in_state(condition: ClosingCondition, state: ConditionState) -> ClosingCondition:
    return condition.model_copy(update={"state": state})


def _is_its_step(raised: OpenCondition) -> bool:
    """Whether it is the reject's step: its other conditions are criteria, and no fact tells that one is met."""
    return raised.condition.text == raised.reject.next_step


def _condition_of(criterion: CriterionVerdict, hearing: EvidenceBundle) -> str | None:
    """The text under which a criterion is a closing condition."""
    return next((texts.criterion_met(one) for one in hearing.criteria if one.id == criterion.id), None)


def _converge_reject(
    ruling: Ruling, answers: ConditionAnswers, hearing: EvidenceBundle, standing: PreviousRounds, limit: int
) -> ConvergedRuling:
    if standing.round > limit:
        return _refuse(ruling, texts.round_limit(limit, ruling.concern), standing, "the round limit is reached")
    if hearing.opinion.facts:
        return _converge_facts(ruling, hearing, standing)
    grounds = find_grounds(ruling, answers, hearing, standing)
    if grounds.is_empty:
        return _converge_on_conditions(ruling, answers, hearing, standing)
    if is_repeated(ruling, standing):
        times = len(_earlier_rejects(ruling, standing)) + 1
        return _refuse(ruling, texts.step_repeated(times, ruling.concern), standing, RejectRefusal.REPEATED)
    carried = replace(
        ruling, evidence=(*grounds.new_places, *grounds.known_places), criteria=_criteria(ruling, grounds, standing)
    )
    with_step = grounds.has_new and not _is_said_already(carried, standing)
    return ConvergedRuling(
        carried, _freeze_conditions(carried, hearing, standing, with_step=with_step), _describe_dropped(ruling, carried)
    )


def _refuse(ruling: Ruling, concern_and_step: tuple[str, str], standing: PreviousRounds, why: str) -> ConvergedRuling:
    return ConvergedRuling(leave_to_person(ruling, concern_and_step, ruling.decision), standing.conditions, why)


def find_grounds(
    ruling: Ruling, answers: ConditionAnswers, hearing: EvidenceBundle, standing: PreviousRounds
) -> RejectGrounds:
    """What of a model's reject may carry it."""
    since = standing.changed_lines
    if since is None:
        unmet = frozenset(one.id for one in ruling.criteria if one.status in UNMET)
        return RejectGrounds(new_places=ruling.evidence, new_criteria=unmet)
    raised = [one for one in _conditions_kept_open(standing, answers) if one.reject.category is ruling.category]
    new = [since.new_part(pointer) for pointer in ruling.evidence]
    known = [
        _part_at_condition(pointer, raised, hearing)
        for pointer, part in zip(ruling.evidence, new, strict=True)
        if part is None
    ]
    of_criteria = dict(_carrying_criteria(ruling, hearing, standing, since))
    return RejectGrounds(
        new_places=tuple(part for part in new if part is not None),
        known_places=tuple(part for part in known if part is not None),
        new_criteria=frozenset(name for name, is_new in of_criteria.items() if is_new),
        known_criteria=frozenset(name for name, is_new in of_criteria.items() if not is_new),
    )


def _part_at_condition(
    pointer: EvidencePointer, raised: Iterable[OpenCondition], hearing: EvidenceBundle
) -> EvidencePointer | None:
    """The part of a pointer that stands where one of these conditions was raised."""
    parts = (one.part_at(pointer, hearing.places) for one in raised)
    return next((part for part in parts if part is not None), None)


def _conditions_kept_open(standing: PreviousRounds, answers: ConditionAnswers) -> list[OpenCondition]:
    """The conditions that the model itself says are open."""
    said = {one.id for one in answers if one.state is ConditionState.OPEN}
    return [one for one in standing.open_conditions if one.condition.id in said]


def _carrying_criteria(
    ruling: Ruling, hearing: EvidenceBundle, standing: PreviousRounds, since: ChangedLines
) -> Iterator[tuple[str, bool]]:
    """Each criterion that is not met and may say so, with whether that is new."""
    asked = {one.text for one in open_conditions(standing.conditions)}
    for one in ruling.criteria:
        if one.status not in UNMET:
            continue
        before = standing.judged_criteria.get(one.id)
        if _condition_of(one, hearing) in asked or (before is not None and before.status in UNMET):
            yield one.id, False
        elif before is None or _is_broken(one, before, since):
            yield one.id, True


def _is_broken(now: CriterionVerdict, before: CriterionVerdict, since: ChangedLines) -> bool:
    """Whether the lines tell that it was met and is not now: what showed it is gone, or what is new stands against it."""
    was_shown = before.evidence if before.status is CriterionStatus.MET else ()
    return any(since.is_lost(one) for one in was_shown) or any(since.new_part(one) for one in now.evidence)


def _criteria(ruling: Ruling, grounds: RejectGrounds, standing: PreviousRounds) -> tuple[CriterionVerdict, ...]:
    """The criteria, of which those that may not carry a reject don't say that they are not met."""
    return tuple(_criterion(one, grounds, standing) if one.status in UNMET else one for one in ruling.criteria)


def _criterion(criterion: CriterionVerdict, grounds: RejectGrounds, standing: PreviousRounds) -> CriterionVerdict:
    if criterion.id in grounds.known_criteria or standing.changed_lines is None:
        return criterion
    if criterion.id not in grounds.new_criteria:
        return criterion.model_copy(update=_UNVERIFIABLE)
    parts = (standing.changed_lines.new_part(pointer) for pointer in criterion.evidence)
    return criterion.model_copy(update={"evidence": tuple(part for part in parts if part is not None)})


_WORD: Final = pattern(r"\w+")
_UNVERIFIABLE: Final = {"status": CriterionStatus.UNVERIFIABLE, "note": texts.UNCHANGED_SINCE_JUDGED}


def _converge_facts(ruling: Ruling, hearing: EvidenceBundle, standing: PreviousRounds) -> ConvergedRuling:
    """A fact is true wherever it stands; what a model adds to it needs grounds like any other objection."""
    known = _is_fact_frozen(standing, hearing)
    carried = _repeat_fact(ruling, standing)
    if standing.changed_lines is not None:
        facts = tuple(one for one in ruling.evidence if _is_of_fact(one, hearing))
        grounds = find_grounds(ruling, (), hearing, standing)
        evidence = tuple(dict.fromkeys((*facts, *grounds.new_places)))
        carried = replace(carried, evidence=evidence)
        if facts:
            carried = replace(carried, criteria=_criteria(ruling, grounds, standing))
        if facts and not known and not any(map(standing.changed_lines.new_part, facts)):
            carried = replace(carried, concern=texts.late_fact(carried.concern))
    return ConvergedRuling(carried, _freeze_conditions(carried, hearing, standing, with_step=not known))


def _is_of_fact(pointer: EvidencePointer, hearing: EvidenceBundle) -> bool:
    facts = {fact.path: fact.line for fact in hearing.opinion.facts if pointer.line in {fact.line, None}}
    return pointer.path in facts


def _is_fact_frozen(standing: PreviousRounds, hearing: EvidenceBundle) -> bool:
    """Whether a condition that is open asks for a fact's end already."""
    now = frozenset(finding_key(fact) for fact in hearing.opinion.facts)
    return any(not one.facts.isdisjoint(now) for one in _still_open(standing))


def _still_open(standing: PreviousRounds) -> list[OpenCondition]:
    """Those that were open before this round, and are after it."""
    asked = {one.id for one in open_conditions(standing.conditions)}
    return [one for one in standing.open_conditions if one.condition.id in asked]


def _repeat_fact(ruling: Ruling, standing: PreviousRounds) -> Ruling:
    """Code words the same fact the same: the second time it says why, and shows the line."""
    earlier = _earlier_rejects(ruling, standing)
    if not earlier or ruling.category is None:
        return ruling
    quote = next((one.quote for one in ruling.evidence if one.quote), None)
    step = texts.fact_step_again(ruling.next_step or "", quote, len(earlier) + 1)
    return replace(ruling, concern=texts.recurring_fact(ruling.concern, ruling.category), next_step=step)


def _converge_on_conditions(
    ruling: Ruling, answers: ConditionAnswers, hearing: EvidenceBundle, standing: PreviousRounds
) -> ConvergedRuling:
    """Nothing of the objection may carry a reject: an open condition that is shown to be open still may."""
    proven = _find_proven(answers, hearing, standing)
    if proven is None:
        left = open_conditions(standing.conditions)
        places = tuple(one.location for one in ruling.evidence)
        bare = replace(ruling, evidence=(), criteria=_criteria(ruling, RejectGrounds(), standing))
        return _refuse(bare, texts.nothing_new(left, ruling.concern, places), standing, RejectRefusal.NOT_NEW)
    raised, places = proven
    concern, next_step = texts.still_open(raised.condition, raised.reject.round)
    criteria = _criteria(ruling, RejectGrounds(), standing)
    carried = replace(ruling, concern=concern, next_step=next_step, evidence=places, criteria=criteria)
    return ConvergedRuling(
        replace(carried, category=raised.reject.category), standing.conditions, RejectRefusal.NOT_NEW
    )


def _find_proven(
    answers: ConditionAnswers, hearing: EvidenceBundle, standing: PreviousRounds
) -> tuple[OpenCondition, tuple[EvidencePointer, ...]] | None:
    """The first condition that is said to be open with a place that shows it."""
    proofs = {one.id: one.evidence for one in answers}
    for raised in _conditions_kept_open(standing, answers):
        parts = [_shown_part(raised, pointer, hearing, standing) for pointer in proofs[raised.condition.id]]
        places = tuple(part for part in parts if part is not None)
        if places:
            return raised, places
    return None


def _shown_part(
    raised: OpenCondition, pointer: EvidencePointer, hearing: EvidenceBundle, standing: PreviousRounds
) -> EvidencePointer | None:
    new = standing.changed_lines.new_part(pointer) if standing.changed_lines is not None else pointer
    return new or raised.part_at(pointer, hearing.places)


def is_repeated(ruling: Ruling, standing: PreviousRounds) -> bool:
    """Whether the next step says nothing that an earlier one, for the same category on the same surface, did not."""
    return any(adds_no_word(ruling.next_step or "", one.next_step) for one in _earlier_rejects(ruling, standing))


def adds_no_word(step: str, earlier: str) -> bool:
    """Whether every word of a step stands in the earlier one."""
    return _words_of(step) <= _words_of(earlier)


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _earlier_rejects(ruling: Ruling, standing: PreviousRounds) -> tuple[Reject, ...]:
    return () if ruling.category is None else standing.recurring_rejects(ruling.category, surface_of(ruling))


def _freeze_conditions(
    ruling: Ruling, hearing: EvidenceBundle, standing: PreviousRounds, *, with_step: bool
) -> tuple[ClosingCondition, ...]:
    """The conditions, with those that this reject freezes, or opens again.

    Its step is none where it only says anew what an open one asks for; but one is open, or nothing would close this.
    """
    step, *asked = closing_conditions(ruling, hearing)
    conditions = _join_conditions(standing.conditions, [step, *asked] if with_step else asked)
    return conditions if open_conditions(conditions) else _join_conditions(conditions, [step])


def _join_conditions(
    earlier: Iterable[ClosingCondition], asked: Iterable[ClosingCondition]
) -> tuple[ClosingCondition, ...]:
    conditions = {one.text: one for one in earlier}
    for one in asked:
        before = conditions.get(one.text)
        conditions[one.text] = with_free_id(before or one, [] if before else conditions.values())
        conditions[one.text] = _in_state(conditions[one.text], ConditionState.OPEN)
    return tuple(conditions.values())


def _is_said_already(ruling: Ruling, standing: PreviousRounds) -> bool:
    """Whether an open condition is of the same category on the same surface."""
    return any(
        one.reject.category is ruling.category and surface_of(ruling) & surface_of(one.reject)
        for one in _still_open(standing)
    )


def _describe_dropped(ruling: Ruling, carried: Ruling) -> str:
    left = len(ruling.evidence) - len(carried.evidence)
    return f"{left} of {len(ruling.evidence)} places did not change since" if left else ""
