"""What a reply may not say at once: each rule names what it finds in a sentence that the model can act on.

Does not read JSON and looks no place up. Invariant: repairs nothing; the rules are tried in the order of RULES, and a reply
that breaks none answers exactly what was asked.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.domain.verdict.opinion import Breakdown, Leaning
from worker.domain.verdict.verdict import ConditionState, CriterionStatus, EvidencePointer, Score
from worker.judge.llm.reply_schema import (
    ConditionReply,
    CriterionReply,
    PlaceReply,
    ReplyDocument,
    ReplyRequirements,
    SettledReply,
)
from worker.judge.scoring import DECISION_LINE, HIGHEST_SCORE, LOWEST_SCORE, is_accepting, strength

ReplyRule = Callable[[ReplyDocument, ReplyRequirements], Iterator[str]]

UNMET: Final = frozenset({CriterionStatus.MISSING, CriterionStatus.PARTIAL})
BROKEN: Final = frozenset({Breakdown.COMPLETE_FAILURE, Breakdown.CONTRACT_VIOLATION})
"""Nothing of it is worth a score."""

_ITEM: Final = pattern(r"(?:^|\n)[^\S\n]*(?:[-*\u2022]|\(?\d{1,2}[.)])\s|(?<=\s)\(?\d[.)]\s(?=\S)")
_WORD: Final = pattern(r"\w+")


def find_contradictions(document: ReplyDocument, asked: ReplyRequirements) -> Iterator[str]:
    for rule in RULES:
        yield from rule(document, asked)


def scores_of(document: ReplyDocument) -> tuple[Score, ...]:
    """The scores that are in range; the others are a problem of their own. A suspected run is not scored."""
    if document.breakdown is Breakdown.INFRASTRUCTURE:
        return ()
    return tuple(
        Score(criterion=score.criterion, score=score.score, reasoning=score.reasoning, improvement=score.improvement)
        for score in document.scores
        if LOWEST_SCORE <= score.score <= HIGHEST_SCORE
    )


def _out_of_range(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    if not 0 <= document.confidence <= 1:
        yield f"confidence: expected a number from 0 to 1, found {document.confidence:g}."
    for score in document.scores:
        if not LOWEST_SCORE <= score.score <= HIGHEST_SCORE:
            yield f"scores, {score.criterion}: expected an integer from 1 to 10, found {score.score}."


def _left_empty(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    if not document.concern:
        yield "concern: expected one to three sentences, found none."
    for score in document.scores:
        if not score.reasoning:
            yield f"scores, {score.criterion}: the reasoning is empty."
        if not score.improvement:
            yield f"scores, {score.criterion}: the improvement is empty; name one, however small."


def _not_what_was_asked(document: ReplyDocument, asked: ReplyRequirements) -> Iterator[str]:
    pairs = [
        ("criteria", [criterion.id for criterion in asked.criteria], [criterion.id for criterion in document.criteria]),
        ("conditions", list(asked.conditions), [condition.id for condition in document.conditions]),
    ]
    if document.breakdown is not Breakdown.INFRASTRUCTURE:
        rubric = [score.id for score in asked.rubric.criteria]
        pairs.append(("scores", rubric, [score.criterion for score in document.scores]))
    for field, expected, actual in pairs:
        if Counter(expected) != Counter(actual):
            yield f"{field}: expected one entry for each of {_list_ids(expected)}, found {_list_ids(actual)}."


def _list_ids(ids: list[str]) -> str:
    return ", ".join(f'"{id_}"' for id_ in ids[:50]) or "nothing"


def accept_with_reservations(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    """An accept says that all is done, and shows it."""
    if document.decision is not Leaning.ACCEPT:
        return
    if document.category is not None:
        yield f'An accept has no category, found "{document.category}": use null, or reject.'
    if document.next_step is not None:
        yield "An accept has no next_step: use null, or reject if it has to be done first."
    for criterion in document.criteria:
        if criterion.status is not CriterionStatus.MET:
            yield f"An accept needs every criterion met, {criterion.id} is {criterion.status}: reject, say cannot_tell, or correct it."
        elif not criterion.evidence:
            yield f"An accept needs evidence for every criterion: point at the line that meets {criterion.id}."
    for criterion in document.conditions:
        if criterion.state is ConditionState.OPEN:
            yield f"An accept needs every closing condition resolved, {criterion.id} is open: reject, or correct it."
    if not document.criteria and not document.evidence:
        yield "An accept needs evidence: point at the lines that convinced you."


def reject_without_grounds(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    """A reject names what it is, where, and the one thing to do."""
    if document.decision is not Leaning.REJECT:
        return
    if document.category is None:
        yield "A reject needs its category."
    if document.next_step is None:
        yield "A reject needs its next_step: the one concrete change that would turn it into an accept."
    if not document.evidence and not any(criterion.status in UNMET for criterion in document.criteria):
        yield "A reject needs evidence: point at the place that has to change, or at a criterion that is not met."


def wide_reject_without_direction(document: ReplyDocument, asked: ReplyRequirements) -> Iterator[str]:
    """A reject of a change over many files says what to build on. Asked for once: a direction can do without."""
    if asked.is_wide and document.decision is Leaning.REJECT:
        for name in ("what_works", "what_does_not"):
            if not getattr(document, name):
                yield f"{name}: this change is over many files: name what its author can build on, and what has to move."


def _category_without_reject(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    if document.decision is Leaning.CANNOT_TELL and document.category is not None:
        yield f'Only a reject has a category, found "{document.category}": use null, or reject.'


def _more_than_one_step(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    count = len(_ITEM.findall(document.next_step or ""))
    if count > 1:
        yield f"next_step: expected the one step that helps most, found a list of {count}; say it as one direction."


def _score_on_the_wrong_side(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    scores = scores_of(document)
    if not scores or document.decision is Leaning.CANNOT_TELL:
        return
    accepting = is_accepting(scores)
    if accepting is (document.decision is Leaning.ACCEPT):
        return
    computed = f"(2 × lowest + mean) / 3 is {strength(scores):.2f}"
    if accepting:
        yield f"The scores contradict the reject: {computed}, expected below {DECISION_LINE}. Score what the failure touches 3 or lower."
    else:
        yield f"The scores contradict the accept: {computed}, expected at least {DECISION_LINE}. Reject, or correct the scores."


def _broken_and_still_scored(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    """Simmer: a complete failure is no low score among others, and its remedy no small improvement."""
    if document.breakdown not in BROKEN:
        return
    what = document.breakdown
    if document.decision is not Leaning.REJECT:
        yield f"A {what} is a reject, found {document.decision}: reject, or say breakdown none."
    if any(score.score != LOWEST_SCORE for score in scores_of(document)):
        yield f"A {what} scores 1 on every criterion: correct the scores, or say breakdown none."
    if document.next_step and not _is_step_aimed(document):
        yield f"The next_step of a {what} aims at its cause: name the file or the criterion that it is about."


def _is_step_aimed(document: ReplyDocument) -> bool:
    """Whether the next step names a place or a criterion that stands against it."""
    step_words = frozenset(_WORD.findall((document.next_step or "").casefold()))
    unmet = (criterion for criterion in document.criteria if criterion.status in UNMET)
    names = [*(location.path for location in document.evidence), *(criterion.id for criterion in unmet)]
    return any(frozenset(_WORD.findall(_stem(name))) <= step_words for name in names)


def _stem(name: str) -> str:
    """`src/retry.py` is meant by `retry`, too."""
    return name.rpartition("/")[2].partition(".")[0].casefold()


def _suspected_and_still_decided(document: ReplyDocument, _: ReplyRequirements) -> Iterator[str]:
    if document.breakdown is not Breakdown.INFRASTRUCTURE:
        return
    if document.decision is not Leaning.CANNOT_TELL:
        yield f"What the infrastructure did says nothing about the change, found {document.decision}: say cannot_tell."
    if document.next_step is None:
        yield "A suspected failure of the infrastructure needs its next_step: say which run to repeat."


RULES: Final[tuple[ReplyRule, ...]] = (
    _out_of_range,
    _left_empty,
    _not_what_was_asked,
    accept_with_reservations,
    reject_without_grounds,
    _category_without_reject,
    _more_than_one_step,
    _score_on_the_wrong_side,
    _broken_and_still_scored,
    _suspected_and_still_decided,
)


CheckedPlace = EvidencePointer | str
Narrowed = TypeVar("Narrowed", ConditionReply, SettledReply)


class LocatedReply(Value):
    """A reply whose wrong places are left out, what was wrong with each, and every right one by what the model wrote."""

    document: ReplyDocument
    problems: tuple[str, ...]
    checked_places: tuple[tuple[PlaceReply, CheckedPlace], ...]

    def pointers(self, places: tuple[PlaceReply, ...]) -> tuple[EvidencePointer, ...]:
        checked = dict(self.checked_places)
        results = (checked[location] for location in places)
        return tuple(dict.fromkeys(result for result in results if isinstance(result, EvidencePointer)))


def locate_places(document: ReplyDocument, asked: ReplyRequirements) -> LocatedReply:
    """Look every place of a reply up."""
    checked = {location: _pointer(location, asked) for location in _places(document)}
    right = frozenset(location for location, result in checked.items() if isinstance(result, EvidencePointer))
    problems = tuple(dict.fromkeys(result for result in checked.values() if isinstance(result, str)))
    left = _keep_places(document, right) if problems else document
    return LocatedReply(left, problems, tuple(checked.items()))


def _places(document: ReplyDocument) -> tuple[PlaceReply, ...]:
    within = (
        location
        for answer in (*document.criteria, *document.conditions, *document.settled)
        for location in answer.evidence
    )
    return (*document.evidence, *within)


def _keep_places(document: ReplyDocument, right: frozenset[PlaceReply]) -> ReplyDocument:
    """The reply with these places only. What named places and has none left is not shown to be so."""
    return document.model_copy(
        update={
            "evidence": tuple(location for location in document.evidence if location in right),
            "criteria": tuple(_criterion(criterion, right) for criterion in document.criteria),
            "conditions": tuple(_narrow(condition, right) for condition in document.conditions),
            "settled": tuple(_narrow(answer, right) for answer in document.settled),
        }
    )


def _criterion(criterion: CriterionReply, right: frozenset[PlaceReply]) -> CriterionReply:
    """That something is missing needs no place; that it is there, in whole or in part, does."""
    left = tuple(location for location in criterion.evidence if location in right)
    lost = bool(criterion.evidence) and not left and criterion.status is not CriterionStatus.MISSING
    return criterion.model_copy(
        update={"evidence": left, "status": CriterionStatus.UNVERIFIABLE if lost else criterion.status},
    )


def _narrow(reply: Narrowed, right: frozenset[PlaceReply]) -> Narrowed:
    return reply.model_copy(update={"evidence": tuple(location for location in reply.evidence if location in right)})


def _pointer(reply_place: PlaceReply, asked: ReplyRequirements) -> CheckedPlace:
    path = (asked.paths or {}).get(reply_place.path, reply_place.path)
    if reply_place.line is None:
        if path not in asked.bare_names:
            return (
                f"`{reply_place.path}`: which line? Only a changed file without any shown line is cited with line null."
            )
    elif reply_place.line < 1:
        return f"`{reply_place.path}`: line {reply_place.line} does not exist, lines are counted from 1."
    if reply_place.end_line is not None and (reply_place.line is None or reply_place.end_line < reply_place.line):
        return f"`{reply_place.path}`: end_line {reply_place.end_line} needs a line that is not after it."
    if not path:
        return "A place in the evidence has an empty path."
    pointer = EvidencePointer(
        path=path,
        line=reply_place.line,
        end_line=reply_place.end_line,
        side=reply_place.side,
        quote=reply_place.quote,
        note=reply_place.note,
    )
    return asked.places.check(pointer)
