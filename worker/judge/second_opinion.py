"""The second opinion: when a stronger model is asked after the first, and what both rule together.

Asks nobody. The rule: opposite decisions are a person's; where both decide the same, the second speaks; where one can't tell,
the other stands at half its confidence; an opinion that could not be had changes nothing. Invariant: no reject on suspicion
stands against an accept of the second, and no accept against its reject.
"""

from typing import Final

from worker.domain.value import replace
from worker.judge import texts
from worker.judge.panel_ruling import PanelAgreement, PanelRuling, intended_decision, is_model_ruling
from worker.judge.rulings import EvidenceBundle, Ruling, leave_to_person
from worker.judge.vetoes import SUSPICIONS_SIGNAL

UNSURE_SCORE: Final = 0.5


def second_opinion_reason(first: Ruling, bundle: EvidenceBundle) -> str | None:
    """Why a second opinion is asked for; None: it is not. What a fact decides, no opinion changes."""
    if bundle.opinion.facts or not is_model_ruling(first):
        return None
    if bundle.dossier.contest:
        return "the verdict is contested"
    if first.signals.get("vetoed_by") == SUSPICIONS_SIGNAL:
        return "an accept that leaves suspicions open"
    return "a reject on suspicion" if first.decision == "reject" else None


def rule_of_two(first: Ruling, second: Ruling) -> PanelRuling:
    """Rule together."""
    if not is_model_ruling(second):
        return PanelRuling(first, 0, PanelAgreement.ALONE)
    if {intended_decision(first), intended_decision(second)} == {"accept", "reject"}:
        opinions = (
            ("first", intended_decision(first), first.concern),
            ("second", intended_decision(second), second.concern),
        )
        doubtful = replace(second, confidence=min(first.confidence, second.confidence) * UNSURE_SCORE)
        return PanelRuling(
            leave_to_person(doubtful, texts.opinions_differ(opinions), intended_decision(doubtful)),
            1,
            PanelAgreement.DIFFER,
        )
    if first.decision == second.decision:
        return _join_agreeing(first, second)
    decided = 0 if second.decision == "abstain" else 1
    stands = (first, second)[decided]
    return PanelRuling(replace(stands, confidence=stands.confidence * UNSURE_SCORE), decided, PanelAgreement.DIFFER)


def _join_agreeing(first: Ruling, second: Ruling) -> PanelRuling:
    """The second is the stronger, and speaks; with another category they agree on less."""
    agree = first.category is second.category
    confidence = max(first.confidence, second.confidence) if agree else min(first.confidence, second.confidence)
    places = tuple(dict.fromkeys((*second.evidence, *first.evidence)))
    return PanelRuling(
        replace(second, evidence=places, confidence=confidence),
        1,
        PanelAgreement.AGREE if agree else PanelAgreement.DIFFER,
    )
