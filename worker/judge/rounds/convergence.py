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
from worker.judge.rounds.changed_lines import Since
from worker.judge.rounds.previous_rounds import UNMET, Raised, Standing, seen, surface_of
from worker.judge.rulings import Hearing, Ruling, closing_conditions, left_to_a_person

Answers = tuple[ConditionAnswer, ...]


class Held(Value):
    """What is ruled in the end, and how every condition stands then. `refused`: what did not hold, for the record."""

    ruling: Ruling
    conditions: tuple[ClosingCondition, ...]
    refused: str = ""


class Grounds(Value):
    """What may carry a reject: places on what is new, places of what is known, and criteria by their ids."""

    new: tuple[EvidencePointer, ...] = ()
    known: tuple[EvidencePointer, ...] = ()
    new_criteria: frozenset[str] = frozenset()
    known_criteria: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.known or self.new_criteria or self.known_criteria)

    @property
    def opens_more(self) -> bool:
        return bool(self.new or self.new_criteria)


def converge(ruling: Ruling, answers: Answers, hearing: Hearing, standing: Standing, limit: int) -> Held:
    """Hold a ruling against the earlier rounds. *answers*: what the model said of the open conditions."""
    conditions = tuple(_now(one, answers, hearing, standing, ruling) for one in standing.conditions)
    match ruling.decision:
        case "reject":
            return _reject(ruling, answers, hearing, replace(standing, conditions=conditions), limit)
        case "accept" if left := still_open(conditions):
            return Held(
                left_to_a_person(ruling, texts.conditions_left(left), ruling.decision),
                conditions,
                "conditions are open",
            )
        case _:
            return Held(ruling, conditions)


class Refusal(StrEnum):
    """Why a model's reject can't stand."""

    NOT_NEW = "what it objects to did not change since"
    REPEATED = "the next step was asked for before"


def refusal_of(ruling: Ruling, answers: Answers, hearing: Hearing, standing: Standing) -> Refusal | None:
    """Why this ruling would be refused, if it would be and better words can help it."""
    if ruling.decision != "reject" or hearing.opinion.facts:
        return None
    conditions = tuple(_now(one, answers, hearing, standing, ruling) for one in standing.conditions)
    standing = replace(standing, conditions=conditions)
    if grounds_of(ruling, answers, hearing, standing).is_empty:
        return None if _proven(answers, hearing, standing) else Refusal.NOT_NEW
    return Refusal.REPEATED if repeats(ruling, standing) else None


def still_open(conditions: Iterable[ClosingCondition]) -> tuple[ClosingCondition, ...]:
    return tuple(one for one in conditions if one.state is ConditionState.OPEN)


def unsettled(hearing: Hearing, standing: Standing) -> tuple[ClosingCondition, ...]:
    """The open conditions that code alone can't tick."""
    return still_open(_now(one, (), hearing, standing, Ruling("", None, 1.0, 1.0)) for one in standing.conditions)


def _now(
    condition: ClosingCondition, answers: Answers, hearing: Hearing, standing: Standing, ruling: Ruling
) -> ClosingCondition:
    """How a condition stands now: a fact that is still there keeps it open; else the model's word; else code's."""
    if condition.state is ConditionState.RESOLVED:
        return condition
    raised = next((one for one in standing.open if one.condition == condition), None)
    answer = next((one.state for one in answers if one.id == condition.id), None)
    if raised and raised.facts and _is_its_step(raised):
        there = not raised.facts.isdisjoint(seen(fact) for fact in hearing.opinion.facts)
        return _in_state(condition, ConditionState.OPEN if there else answer or ConditionState.RESOLVED)
    met = condition.text in {
        _condition_of(one, hearing) for one in ruling.criteria if one.status is CriterionStatus.MET
    }
    return _in_state(condition, answer or (ConditionState.RESOLVED if met else ConditionState.OPEN))


def _in_state(condition: ClosingCondition, state: ConditionState) -> ClosingCondition:
    return condition.model_copy(update={"state": state})


def _is_its_step(raised: Raised) -> bool:
    """Whether it is the reject's step: its other conditions are criteria, and no fact tells that one is met."""
    return raised.condition.text == raised.by.next_step


def _condition_of(criterion: CriterionVerdict, hearing: Hearing) -> str | None:
    """The text under which a criterion is a closing condition."""
    return next((texts.criterion_met(one) for one in hearing.criteria if one.id == criterion.id), None)


def _reject(ruling: Ruling, answers: Answers, hearing: Hearing, standing: Standing, limit: int) -> Held:
    if standing.round > limit:
        return _refuse(ruling, texts.round_limit(limit, ruling.concern), standing, "the round limit is reached")
    if hearing.opinion.facts:
        return _held_on_facts(ruling, hearing, standing)
    grounds = grounds_of(ruling, answers, hearing, standing)
    if grounds.is_empty:
        return _on_conditions_alone(ruling, answers, hearing, standing)
    if repeats(ruling, standing):
        times = len(_earlier(ruling, standing)) + 1
        return _refuse(ruling, texts.repeated(times, ruling.concern), standing, Refusal.REPEATED)
    carried = replace(ruling, evidence=(*grounds.new, *grounds.known), criteria=_criteria(ruling, grounds, standing))
    with_step = grounds.opens_more and not _is_said_already(carried, standing)
    return Held(carried, _frozen(carried, hearing, standing, with_step=with_step), _dropped(ruling, carried))


def _refuse(ruling: Ruling, said: tuple[str, str], standing: Standing, why: str) -> Held:
    return Held(left_to_a_person(ruling, said, ruling.decision), standing.conditions, why)


def grounds_of(ruling: Ruling, answers: Answers, hearing: Hearing, standing: Standing) -> Grounds:
    """What of a model's reject may carry it."""
    since = standing.since
    if since is None:
        unmet = frozenset(one.id for one in ruling.criteria if one.status in UNMET)
        return Grounds(new=ruling.evidence, new_criteria=unmet)
    raised = [one for one in _kept_open(standing, answers) if one.by.category is ruling.category]
    new = [since.part(pointer) for pointer in ruling.evidence]
    known = [
        _where_asked(pointer, raised, hearing)
        for pointer, part in zip(ruling.evidence, new, strict=True)
        if part is None
    ]
    of_criteria = dict(_criteria_that_carry(ruling, hearing, standing, since))
    return Grounds(
        new=tuple(part for part in new if part is not None),
        known=tuple(part for part in known if part is not None),
        new_criteria=frozenset(name for name, is_new in of_criteria.items() if is_new),
        known_criteria=frozenset(name for name, is_new in of_criteria.items() if not is_new),
    )


def _where_asked(pointer: EvidencePointer, raised: Iterable[Raised], hearing: Hearing) -> EvidencePointer | None:
    """The part of a pointer that stands where one of these conditions was raised."""
    parts = (one.part(pointer, hearing.places) for one in raised)
    return next((part for part in parts if part is not None), None)


def _kept_open(standing: Standing, answers: Answers) -> list[Raised]:
    """The conditions that the model itself says are open."""
    said = {one.id for one in answers if one.state is ConditionState.OPEN}
    return [one for one in standing.open if one.condition.id in said]


def _criteria_that_carry(
    ruling: Ruling, hearing: Hearing, standing: Standing, since: Since
) -> Iterator[tuple[str, bool]]:
    """Each criterion that is not met and may say so, with whether that is new."""
    asked = {one.text for one in still_open(standing.conditions)}
    for one in ruling.criteria:
        if one.status not in UNMET:
            continue
        before = standing.judged.get(one.id)
        if _condition_of(one, hearing) in asked or (before is not None and before.status in UNMET):
            yield one.id, False
        elif before is None or _is_broken(one, before, since):
            yield one.id, True


def _is_broken(now: CriterionVerdict, before: CriterionVerdict, since: Since) -> bool:
    """Whether the lines tell that it was met and is not now: what showed it is gone, or what is new stands against it."""
    was_shown = before.evidence if before.status is CriterionStatus.MET else ()
    return any(since.has_lost(one) for one in was_shown) or any(since.part(one) for one in now.evidence)


def _criteria(ruling: Ruling, grounds: Grounds, standing: Standing) -> tuple[CriterionVerdict, ...]:
    """The criteria, of which those that may not carry a reject don't say that they are not met."""
    return tuple(_criterion(one, grounds, standing) if one.status in UNMET else one for one in ruling.criteria)


def _criterion(one: CriterionVerdict, grounds: Grounds, standing: Standing) -> CriterionVerdict:
    if one.id in grounds.known_criteria or standing.since is None:
        return one
    if one.id not in grounds.new_criteria:
        return one.model_copy(update=_UNSAID)
    parts = (standing.since.part(pointer) for pointer in one.evidence)
    return one.model_copy(update={"evidence": tuple(part for part in parts if part is not None)})


_WORD: Final = pattern(r"\w+")
_UNSAID: Final = {"status": CriterionStatus.UNVERIFIABLE, "note": texts.UNCHANGED_SINCE}


def _held_on_facts(ruling: Ruling, hearing: Hearing, standing: Standing) -> Held:
    """A fact is true wherever it stands; what a model adds to it needs grounds like any other objection."""
    known = _is_known(standing, hearing)
    carried = _taught(ruling, standing)
    if standing.since is not None:
        facts = tuple(one for one in ruling.evidence if _is_of_fact(one, hearing))
        grounds = grounds_of(ruling, (), hearing, standing)
        evidence = tuple(dict.fromkeys((*facts, *grounds.new)))
        carried = replace(carried, evidence=evidence)
        if facts:
            carried = replace(carried, criteria=_criteria(ruling, grounds, standing))
        if facts and not known and not any(map(standing.since.part, facts)):
            carried = replace(carried, concern=texts.late_fact(carried.concern))
    return Held(carried, _frozen(carried, hearing, standing, with_step=not known))


def _is_of_fact(pointer: EvidencePointer, hearing: Hearing) -> bool:
    facts = {fact.path: fact.line for fact in hearing.opinion.facts if pointer.line in {fact.line, None}}
    return pointer.path in facts


def _is_known(standing: Standing, hearing: Hearing) -> bool:
    """Whether a condition that is open asks for a fact's end already."""
    now = frozenset(seen(fact) for fact in hearing.opinion.facts)
    return any(not one.facts.isdisjoint(now) for one in _open_now(standing))


def _open_now(standing: Standing) -> list[Raised]:
    """Those that were open before this round, and are after it."""
    asked = {one.id for one in still_open(standing.conditions)}
    return [one for one in standing.open if one.condition.id in asked]


def _taught(ruling: Ruling, standing: Standing) -> Ruling:
    """Code words the same fact the same: the second time it says why, and shows the line."""
    earlier = _earlier(ruling, standing)
    if not earlier or ruling.category is None:
        return ruling
    quote = next((one.quote for one in ruling.evidence if one.quote), None)
    step = texts.fact_step_again(ruling.next_step or "", quote, len(earlier) + 1)
    return replace(ruling, concern=texts.taught(ruling.concern, ruling.category), next_step=step)


def _on_conditions_alone(ruling: Ruling, answers: Answers, hearing: Hearing, standing: Standing) -> Held:
    """Nothing of the objection may carry a reject: an open condition that is shown to be open still may."""
    proven = _proven(answers, hearing, standing)
    if proven is None:
        left = still_open(standing.conditions)
        places = tuple(one.place for one in ruling.evidence)
        bare = replace(ruling, evidence=(), criteria=_criteria(ruling, Grounds(), standing))
        return _refuse(bare, texts.nothing_new(left, ruling.concern, places), standing, Refusal.NOT_NEW)
    raised, places = proven
    concern, next_step = texts.still_open(raised.condition, raised.by.round)
    criteria = _criteria(ruling, Grounds(), standing)
    carried = replace(ruling, concern=concern, next_step=next_step, evidence=places, criteria=criteria)
    return Held(replace(carried, category=raised.by.category), standing.conditions, Refusal.NOT_NEW)


def _proven(
    answers: Answers, hearing: Hearing, standing: Standing
) -> tuple[Raised, tuple[EvidencePointer, ...]] | None:
    """The first condition that is said to be open with a place that shows it."""
    proofs = {one.id: one.evidence for one in answers}
    for raised in _kept_open(standing, answers):
        parts = [_shows(raised, pointer, hearing, standing) for pointer in proofs[raised.condition.id]]
        places = tuple(part for part in parts if part is not None)
        if places:
            return raised, places
    return None


def _shows(raised: Raised, pointer: EvidencePointer, hearing: Hearing, standing: Standing) -> EvidencePointer | None:
    new = standing.since.part(pointer) if standing.since is not None else pointer
    return new or raised.part(pointer, hearing.places)


def repeats(ruling: Ruling, standing: Standing) -> bool:
    """Whether the next step says nothing that an earlier one, for the same category on the same surface, did not."""
    return any(says_nothing_new(ruling.next_step or "", one.next_step) for one in _earlier(ruling, standing))


def says_nothing_new(step: str, earlier: str) -> bool:
    """Whether every word of a step stands in the earlier one."""
    return _words_of(step) <= _words_of(earlier)


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _earlier(ruling: Ruling, standing: Standing) -> tuple[Reject, ...]:
    return () if ruling.category is None else standing.recurring(ruling.category, surface_of(ruling))


def _frozen(ruling: Ruling, hearing: Hearing, standing: Standing, *, with_step: bool) -> tuple[ClosingCondition, ...]:
    """The conditions, with those that this reject freezes, or opens again.

    Its step is none where it only says anew what an open one asks for; but one is open, or nothing would close this.
    """
    step, *asked = closing_conditions(ruling, hearing)
    conditions = _joined(standing.conditions, [step, *asked] if with_step else asked)
    return conditions if still_open(conditions) else _joined(conditions, [step])


def _joined(known: Iterable[ClosingCondition], asked: Iterable[ClosingCondition]) -> tuple[ClosingCondition, ...]:
    conditions = {one.text: one for one in known}
    for one in asked:
        before = conditions.get(one.text)
        conditions[one.text] = with_free_id(before or one, [] if before else conditions.values())
        conditions[one.text] = _in_state(conditions[one.text], ConditionState.OPEN)
    return tuple(conditions.values())


def _is_said_already(ruling: Ruling, standing: Standing) -> bool:
    """Whether an open condition is of the same category on the same surface."""
    return any(
        one.by.category is ruling.category and surface_of(ruling) & surface_of(one.by) for one in _open_now(standing)
    )


def _dropped(ruling: Ruling, carried: Ruling) -> str:
    left = len(ruling.evidence) - len(carried.evidence)
    return f"{left} of {len(ruling.evidence)} places did not change since" if left else ""
