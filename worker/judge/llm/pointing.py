"""The places that a reply names, each held against what was sent.

Does not say what a wrong place means for the reply (`worker.judge.llm.reply` does). Invariant: a pointer that comes out of here
exists and reads as the model quoted it.
"""

from typing import TypeVar

from worker.domain.value import Value
from worker.domain.verdict.verdict import CriterionStatus, EvidencePointer
from worker.judge.llm.reply_schema import Asked, ConditionReply, CriterionReply, PlaceReply, ReplyDocument, SettledReply

Checked = EvidencePointer | str
Narrowed = TypeVar("Narrowed", ConditionReply, SettledReply)


class Located(Value):
    """A reply whose wrong places are left out, what was wrong with each, and every right one by what the model wrote."""

    document: ReplyDocument
    problems: tuple[str, ...]
    checked: tuple[tuple[PlaceReply, Checked], ...]

    def pointers(self, places: tuple[PlaceReply, ...]) -> tuple[EvidencePointer, ...]:
        known = dict(self.checked)
        found = (known[place] for place in places)
        return tuple(dict.fromkeys(one for one in found if isinstance(one, EvidencePointer)))


def locate(document: ReplyDocument, asked: Asked) -> Located:
    """Look every place of a reply up."""
    checked = {place: _pointer(place, asked) for place in _places(document)}
    right = frozenset(place for place, found in checked.items() if isinstance(found, EvidencePointer))
    problems = tuple(dict.fromkeys(found for found in checked.values() if isinstance(found, str)))
    left = _with(document, right) if problems else document
    return Located(left, problems, tuple(checked.items()))


def _places(document: ReplyDocument) -> tuple[PlaceReply, ...]:
    within = (place for one in (*document.criteria, *document.conditions, *document.settled) for place in one.evidence)
    return (*document.evidence, *within)


def _with(document: ReplyDocument, right: frozenset[PlaceReply]) -> ReplyDocument:
    """The reply with these places only. What named places and has none left is not shown to be so."""
    return document.model_copy(
        update={
            "evidence": tuple(place for place in document.evidence if place in right),
            "criteria": tuple(_criterion(one, right) for one in document.criteria),
            "conditions": tuple(_narrowed(one, right) for one in document.conditions),
            "settled": tuple(_narrowed(one, right) for one in document.settled),
        }
    )


def _criterion(one: CriterionReply, right: frozenset[PlaceReply]) -> CriterionReply:
    """That something is missing needs no place; that it is there, in whole or in part, does."""
    left = tuple(place for place in one.evidence if place in right)
    lost = bool(one.evidence) and not left and one.status is not CriterionStatus.MISSING
    return one.model_copy(
        update={"evidence": left, "status": CriterionStatus.UNVERIFIABLE if lost else one.status},
    )


def _narrowed(one: Narrowed, right: frozenset[PlaceReply]) -> Narrowed:
    return one.model_copy(update={"evidence": tuple(place for place in one.evidence if place in right)})


def _pointer(place: PlaceReply, asked: Asked) -> Checked:
    path = (asked.paths or {}).get(place.path, place.path)
    if place.line is None:
        if path not in asked.bare:
            return f"`{place.path}`: which line? Only a changed file without any shown line is cited with line null."
    elif place.line < 1:
        return f"`{place.path}`: line {place.line} does not exist, lines are counted from 1."
    if place.end_line is not None and (place.line is None or place.end_line < place.line):
        return f"`{place.path}`: end_line {place.end_line} needs a line that is not after it."
    if not path:
        return "A place in the evidence has an empty path."
    pointer = EvidencePointer(
        path=path, line=place.line, end_line=place.end_line, side=place.side, quote=place.quote, note=place.note
    )
    return asked.places.check(pointer)
