"""The second opinion: when a stronger model is asked after the first, and what both rule together.

Asks nobody. The rule: opposite decisions are a person's; where both decide the same, the second speaks; where one can't tell,
the other stands at half its confidence; an opinion that could not be had changes nothing. Invariant: no reject on suspicion
stands against an accept of the second, and no accept against its reject.
"""

from typing import Final

from worker.domain.value import replace
from worker.judge import texts
from worker.judge.accord import Accord, Joined, leaning, was_had
from worker.judge.rulings import Hearing, Ruling, left_to_a_person
from worker.judge.vetoes import SUSPICIONS

HALF: Final = 0.5


def why_again(first: Ruling, hearing: Hearing) -> str | None:
    """Why a second opinion is asked for; None: it is not. What a fact decides, no opinion changes."""
    if hearing.opinion.facts or not was_had(first):
        return None
    if hearing.dossier.contest:
        return "the verdict is contested"
    if first.signals.get("vetoed_by") == SUSPICIONS:
        return "an accept that leaves suspicions open"
    return "a reject on suspicion" if first.decision == "reject" else None


def rule_of_two(first: Ruling, second: Ruling) -> Joined:
    """Rule together."""
    if not was_had(second):
        return Joined(first, 0, Accord.ALONE)
    if {leaning(first), leaning(second)} == {"accept", "reject"}:
        opinions = (("first", leaning(first), first.concern), ("second", leaning(second), second.concern))
        doubtful = replace(second, confidence=min(first.confidence, second.confidence) * HALF)
        return Joined(left_to_a_person(doubtful, texts.opinions_differ(opinions), leaning(doubtful)), 1, Accord.DIFFER)
    if first.decision == second.decision:
        return _same(first, second)
    decided = 0 if second.decision == "abstain" else 1
    stands = (first, second)[decided]
    return Joined(replace(stands, confidence=stands.confidence * HALF), decided, Accord.DIFFER)


def _same(first: Ruling, second: Ruling) -> Joined:
    """The second is the stronger, and speaks; with another category they agree on less."""
    agree = first.category is second.category
    confidence = max(first.confidence, second.confidence) if agree else min(first.confidence, second.confidence)
    places = tuple(dict.fromkeys((*second.evidence, *first.evidence)))
    return Joined(replace(second, evidence=places, confidence=confidence), 1, Accord.AGREE if agree else Accord.DIFFER)
