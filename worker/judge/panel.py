"""The panel: one model through three lenses on one change, and how their rulings join.

In this order: a reject in a category of its own lens rejects, the first lens first; so do two rejects in any category. Where a lens
gave no opinion, nothing else is ruled, except an accept as safe at a budget cap that no other lens doubts. One reject outside its
lens, or a lens that can't tell, is a person's to decide. Three accepts accept, in the words of the weakest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.verdict.verdict import AbstainReason, Category
from worker.judge import texts
from worker.judge.rulings import Ruling, leave_to_person

NO_OPINION_REASONS: Final = frozenset(
    {AbstainReason.JUDGE_UNAVAILABLE, AbstainReason.REPLY_INVALID, AbstainReason.BUDGET, AbstainReason.PAUSED}
)
"""Abstains without an opinion."""


class PanelAgreement(StrEnum):
    """How the opinions compare. ALONE: the others could not be had."""

    AGREE = "they agree"
    DIFFER = "they differ"
    ALONE = "one alone was had"


@dataclass(frozen=True)
class PanelRuling:
    """The joint ruling. `speaker`: the position of the opinion whose words and answers it has."""

    ruling: Ruling
    speaker: int
    agreement: PanelAgreement


def is_model_ruling(ruling: Ruling) -> bool:
    """Whether a model gave it: at a budget cap code alone rules, and may accept a safe change."""
    return ruling.abstain_reason not in NO_OPINION_REASONS and ruling.throttled_reason is None


def intended_decision(ruling: Ruling) -> str:
    """The decision before code's vetoes."""
    if not is_model_ruling(ruling):
        return "no answer"
    return ruling.decision if ruling.decision != "abstain" else str(ruling.signals.get("model_decision", "cannot_tell"))


class Lens(StrEnum):
    """The most important first."""

    CORRECTNESS = "correctness"
    TESTS = "tests"
    SCOPE = "scope"


LENS_CATEGORIES: Final[Mapping[Lens, frozenset[Category]]] = MappingProxyType(
    {
        Lens.CORRECTNESS: frozenset({Category.ACCEPTANCE_GAP, Category.TESTS_PASS_BUT_WRONG, Category.HALF_FINISHED}),
        Lens.TESTS: frozenset({Category.WEAK_TEST}),
        Lens.SCOPE: frozenset({Category.SCOPE_CREEP, Category.SPEC_VIOLATION}),
    }
)
"""What each lens looks for; every category has one."""

FOCUS: Final[Mapping[Lens, str]] = MappingProxyType(
    {
        Lens.CORRECTNESS: "Look through one lens: is what was asked for done, and does it work in general? Others look at tests and scope.",
        Lens.TESTS: "Look through one lens: would the tests turn red if the new behaviour broke? Others look at the code and its scope.",
        Lens.SCOPE: "Look through one lens: does the change do only what was asked for, and keep the written rules? Others look at the rest.",
    }
)


@dataclass(frozen=True)
class LensRuling:
    """The ruling through a lens."""

    lens: Lens
    ruling: Ruling


def rule_of_panel(seen: Sequence[LensRuling]) -> PanelRuling:
    """Join the rulings of three lenses."""
    rejecting = [lens for lens in seen if lens.ruling.decision == "reject"]
    own = [lens for lens in rejecting if lens.ruling.category in LENS_CATEGORIES[lens.lens]]
    if own or len(rejecting) > 1:
        speaker = (own or rejecting)[0]
        confidence = speaker.ruling.confidence * (len(rejecting) / len(seen))
        agreement = PanelAgreement.AGREE if len(rejecting) == len(seen) else PanelAgreement.DIFFER
        return PanelRuling(_with_places(speaker.ruling, rejecting, confidence), seen.index(speaker), agreement)
    missing = [lens for lens in seen if not is_model_ruling(lens.ruling)]
    doubting = [lens for lens in seen if lens.ruling.decision != "accept"]
    if absent := [lens for lens in missing if lens in doubting] or (not doubting and missing):
        return PanelRuling(absent[0].ruling, seen.index(absent[0]), PanelAgreement.ALONE)
    if not doubting:
        speaker = min(seen, key=lambda lens: lens.ruling.score)
        confidence = min(lens.ruling.confidence for lens in seen)
        return PanelRuling(_with_places(speaker.ruling, seen, confidence), seen.index(speaker), PanelAgreement.AGREE)
    speaker = (rejecting or doubting)[0]
    if len(doubting) == len(seen) and not rejecting:
        return PanelRuling(speaker.ruling, seen.index(speaker), PanelAgreement.AGREE)
    opinions = [(lens.lens.value, intended_decision(lens.ruling), lens.ruling.concern) for lens in seen]
    ruling = leave_to_person(speaker.ruling, texts.opinions_differ(opinions), intended_decision(speaker.ruling))
    return PanelRuling(ruling, seen.index(speaker), PanelAgreement.DIFFER)


def _with_places(speaker: Ruling, agreeing: Sequence[LensRuling], confidence: float) -> Ruling:
    """The speaker's ruling with the places of all that agree, its own first."""
    rulings = (speaker, *(lens.ruling for lens in agreeing))
    places = dict.fromkeys(pointer for ruling in rulings for pointer in ruling.evidence)
    return replace(speaker, evidence=tuple(places), confidence=confidence)
