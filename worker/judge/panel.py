"""The board: three lenses on one change, and the rule by which they rule together.

Asks nobody. The rule, in this order: a reject for a category that its own lens looks for rejects, the first lens first; so do
two rejects, whatever for; where a lens could not be had, nothing else is ruled (but what code accepts as safe at a cap, where no
other lens doubts); one reject from outside its lens, or a lens that can't tell, is a person's to decide; three accepts accept, in
the words of the weakest. Invariant: no board accepts on fewer than three accepts of a model or of code; what was said outside the
majority lowers the confidence, and is named.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.value import Value, replace
from worker.domain.verdict.verdict import AbstainReason, Category
from worker.judge import texts
from worker.judge.rulings import Ruling, leave_to_person

NO_OPINION_REASONS: Final = frozenset(
    {AbstainReason.JUDGE_UNAVAILABLE, AbstainReason.REPLY_INVALID, AbstainReason.BUDGET, AbstainReason.PAUSED}
)
"""Nobody thought anything."""


class PanelAgreement(StrEnum):
    """How the opinions go together; ALONE: there is only one, since the others could not be had."""

    AGREE = "they agree"
    DIFFER = "they differ"
    ALONE = "one alone was had"


class PanelRuling(Value):
    """What several rule together. `speaker`: whose words and answers stand, by position."""

    ruling: Ruling
    speaker: int
    agreement: PanelAgreement


def is_model_ruling(ruling: Ruling) -> bool:
    """Whether a model said it: at a cap code alone rules, and may even accept what is safe."""
    return ruling.abstain_reason not in NO_OPINION_REASONS and ruling.throttled_reason is None


def intended_decision(ruling: Ruling) -> str:
    """What was meant: also where code did not let it stand."""
    if not is_model_ruling(ruling):
        return "no answer"
    return ruling.decision if ruling.decision != "abstain" else str(ruling.signals.get("model_decision", "cannot_tell"))


class Lens(StrEnum):
    """In the order of what is worse to get wrong."""

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
"""What each lens looks for. Every category has one lens."""

FOCUS: Final[Mapping[Lens, str]] = MappingProxyType(
    {
        Lens.CORRECTNESS: "Look through one lens: is what was asked for done, and does it work in general? Others look at tests and scope.",
        Lens.TESTS: "Look through one lens: would the tests turn red if the new behaviour broke? Others look at the code and its scope.",
        Lens.SCOPE: "Look through one lens: does the change do only what was asked for, and keep the written rules? Others look at the rest.",
    }
)


class LensRuling(Value):
    """What was ruled through a lens."""

    lens: Lens
    ruling: Ruling


def rule_of_panel(seen: Sequence[LensRuling]) -> PanelRuling:
    """Rule together."""
    rejecting = [lens for lens in seen if lens.ruling.decision == "reject"]
    own = [lens for lens in rejecting if lens.ruling.category in LENS_CATEGORIES[lens.lens]]
    if own or len(rejecting) > 1:
        return _join_rejects((own or rejecting)[0], rejecting, seen)
    missing = [lens for lens in seen if not is_model_ruling(lens.ruling)]
    doubting = [lens for lens in seen if lens.ruling.decision != "accept"]
    if absent := [lens for lens in missing if lens in doubting] or (not doubting and missing):
        return PanelRuling(absent[0].ruling, seen.index(absent[0]), PanelAgreement.ALONE)
    if not doubting:
        return _join_accepts(seen)
    speaker = (rejecting or doubting)[0]
    if len(doubting) == len(seen) and not rejecting:
        return PanelRuling(speaker.ruling, seen.index(speaker), PanelAgreement.AGREE)
    text = texts.opinions_differ(
        [(lens.lens.value, intended_decision(lens.ruling), lens.ruling.concern) for lens in seen]
    )
    return PanelRuling(
        leave_to_person(speaker.ruling, text, intended_decision(speaker.ruling)),
        seen.index(speaker),
        PanelAgreement.DIFFER,
    )


def _join_rejects(speaker: LensRuling, rejecting: Sequence[LensRuling], seen: Sequence[LensRuling]) -> PanelRuling:
    """The first that rejects speaks, with the places of all that do."""
    places = dict.fromkeys(pointer for lens in (speaker, *rejecting) for pointer in lens.ruling.evidence)
    confidence = speaker.ruling.confidence * (len(rejecting) / len(seen))
    ruling = replace(speaker.ruling, evidence=tuple(places), confidence=confidence)
    return PanelRuling(
        ruling, seen.index(speaker), PanelAgreement.AGREE if len(rejecting) == len(seen) else PanelAgreement.DIFFER
    )


def _join_accepts(seen: Sequence[LensRuling]) -> PanelRuling:
    speaker = min(seen, key=lambda lens: lens.ruling.score)
    places = dict.fromkeys(pointer for lens in (speaker, *seen) for pointer in lens.ruling.evidence)
    confidence = min(lens.ruling.confidence for lens in seen)
    ruling = replace(speaker.ruling, evidence=tuple(places), confidence=confidence)
    return PanelRuling(ruling, seen.index(speaker), PanelAgreement.AGREE)
