"""The places that a reply names, each held against what was sent.

Does not say what a wrong place means for the reply (`worker.judge.llm.reply` does). Invariant: a pointer that comes out of here
exists and reads as the model quoted it.
"""

from typing import TypeVar

from worker.domain.value import Value
from worker.domain.verdict.verdict import CriterionStatus, EvidencePointer
from worker.judge.llm.reply_schema import (
    ConditionReply,
    CriterionReply,
    PlaceReply,
    ReplyDocument,
    ReplyRequirements,
    SettledReply,
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
