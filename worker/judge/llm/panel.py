"""Ask one model, a panel, or a stronger model after them, and join their opinions. Loaded only when a model is asked.

Opposite decisions are a person's to decide. Where both decide the same, the second speaks; where one can't tell, the other counts at
half its confidence; an opinion that could not be had changes nothing. Each opinion is recorded, and all costs are counted once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Final

from worker.domain.ports import Model
from worker.domain.verdict.audit import Stage, Step
from worker.domain.verdict.rubric import Lens
from worker.domain.verdict.verdict import AbstainReason, Tokens
from worker.judge import texts
from worker.judge.checks.vetoes import SUSPICIONS_SIGNAL
from worker.judge.context import EvaluationHeader, JudgeContext, JudgingResult, PanelMember, PanelOpinion, ReplyCosts
from worker.judge.llm.model_judge import ask_model
from worker.judge.rulings import EvidenceBundle, Ruling, leave_to_person

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


@dataclass(frozen=True)
class LensRuling:
    """The ruling through a lens."""

    lens: Lens
    ruling: Ruling


def rule_of_panel(seen: Sequence[LensRuling]) -> PanelRuling:
    """Join the rulings of the lenses, the most important first.

    A reject in a category of its own lens rejects, and so do two rejects in any category. Where a lens gave no opinion, nothing
    else is ruled, except an accept as safe at a budget cap that no other lens doubts. One reject outside its lens, or a lens that
    can't tell, is a person's to decide. Accepts alone accept, in the words of the weakest.
    """
    rejecting = [lens for lens in seen if lens.ruling.decision == "reject"]
    own = [lens for lens in rejecting if lens.ruling.category in lens.lens.categories]
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
    opinions = [(lens.lens.id, intended_decision(lens.ruling), lens.ruling.concern) for lens in seen]
    ruling = leave_to_person(speaker.ruling, texts.opinions_differ(opinions), intended_decision(speaker.ruling))
    return PanelRuling(ruling, seen.index(speaker), PanelAgreement.DIFFER)


def _with_places(speaker: Ruling, agreeing: Sequence[LensRuling], confidence: float) -> Ruling:
    """The speaker's ruling with the places of all that agree, its own first."""
    rulings = (speaker, *(lens.ruling for lens in agreeing))
    places = dict.fromkeys(pointer for ruling in rulings for pointer in ruling.evidence)
    return replace(speaker, evidence=tuple(places), confidence=confidence)


UNSURE_SCORE: Final = 0.5


def second_opinion_reason(first: Ruling, bundle: EvidenceBundle) -> str | None:
    """Why a second opinion is needed; None where it is not. A fact needs none."""
    if bundle.opinion.facts or not is_model_ruling(first):
        return None
    if bundle.dossier.contest:
        return "the verdict is contested"
    if first.signals.get("vetoed_by") == SUSPICIONS_SIGNAL:
        return "an accept that leaves suspicions open"
    return "a reject on suspicion" if first.decision == "reject" else None


def rule_of_two(first: Ruling, second: Ruling) -> PanelRuling:
    """Join two rulings; the second is of the stronger model."""
    if not is_model_ruling(second):
        return PanelRuling(first, 0, PanelAgreement.ALONE)
    meant = (intended_decision(first), intended_decision(second))
    if set(meant) == {"accept", "reject"}:
        opinions = (("first", meant[0], first.concern), ("second", meant[1], second.concern))
        doubtful = replace(second, confidence=min(first.confidence, second.confidence) * UNSURE_SCORE)
        ruling = leave_to_person(doubtful, texts.opinions_differ(opinions), meant[1])
        return PanelRuling(ruling, 1, PanelAgreement.DIFFER)
    if first.decision == second.decision:
        is_same = first.category is second.category
        confidence = (max if is_same else min)(first.confidence, second.confidence)
        places = tuple(dict.fromkeys((*second.evidence, *first.evidence)))
        ruling = replace(second, evidence=places, confidence=confidence)
        return PanelRuling(ruling, 1, PanelAgreement.AGREE if is_same else PanelAgreement.DIFFER)
    decided = 0 if second.decision == "abstain" else 1
    ruling = (first, second)[decided]
    return PanelRuling(replace(ruling, confidence=ruling.confidence * UNSURE_SCORE), decided, PanelAgreement.DIFFER)


def ask_models(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """Ask the context's models, and rule."""
    first = _ask_first(bundle, header, context, model, reason)
    why = second_opinion_reason(first.ruling, bundle)
    if context.second_model is None or why is None or not first.is_model_asked:
        return first
    member = PanelMember("second", context.second_model)
    second = ask_model(bundle, header, context, member, why)
    opinions = (*(first.opinions or (PanelOpinion(PanelMember("first", model), first),)), PanelOpinion(member, second))
    reason = texts.second_opinion_asked(first.reason, context.second_model.name, why)
    return _combine_results((first, second), rule_of_two(first.ruling, second.ruling), opinions, reason)


def _ask_first(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """Ask one model, or the panel; a fact needs no panel."""
    if not context.is_panel or bundle.opinion.facts:
        return ask_model(bundle, header, context, PanelMember("first", model), reason)
    lenses = context.rubric.panel_lenses
    members = [PanelMember(lens.id, model, lens.focus) for lens in lenses]
    results = [ask_model(bundle, header, context, member, reason) for member in members]
    seen = [LensRuling(lens, result.ruling) for lens, result in zip(lenses, results, strict=True)]
    opinions = tuple(PanelOpinion(member, result) for member, result in zip(members, results, strict=True))
    return _combine_results(results, rule_of_panel(seen), opinions, texts.panel_asked(reason, len(lenses)))


def _combine_results(
    results: Sequence[JudgingResult], joined: PanelRuling, opinions: tuple[PanelOpinion, ...], reason: str
) -> JudgingResult:
    """One result of several: the answers are the speaker's, exchanges and costs are of all."""
    speaker = results[joined.speaker]
    summary = "; ".join(_describe_opinion(opinion) for opinion in opinions)
    signals = {**joined.ruling.signals, "opinions": summary, "opinions_agree": joined.agreement is PanelAgreement.AGREE}
    ruled = Step(stage=Stage.OPINIONS, outcome=joined.agreement.value, reason=summary)
    return replace(
        speaker,
        ruling=replace(joined.ruling, signals=signals),
        reason=reason,
        is_model_asked=any(result.is_model_asked for result in results),
        costs=_add_costs([result.costs for result in results]),
        exchanges=tuple(exchange for result in results for exchange in result.exchanges),
        steps=(*(step for result in results for step in result.steps), ruled),
        opinions=opinions,
    )


def _describe_opinion(opinion: PanelOpinion) -> str:
    ruling = opinion.result.ruling
    why = ruling.category or ruling.abstain_reason
    decision = intended_decision(ruling).replace("_", " ")
    return f"{opinion.member.name} ({opinion.member.model.name}): {decision}{f', {why}' if why else ''}, {ruling.confidence:.2f}"


def _add_costs(each: Sequence[ReplyCosts]) -> ReplyCosts:
    amounts = [costs.cost_usd for costs in each if costs.cost_usd is not None]
    return ReplyCosts(
        tokens=sum((costs.tokens for costs in each), Tokens()),
        cost_usd=sum(amounts, Decimal(0)) if len(amounts) == len(each) else None,
        replies=sum(costs.replies for costs in each),
        lost_usd=sum((costs.lost_usd for costs in each), Decimal(0)),
        near=next((costs.near for costs in reversed(each) if costs.near is not None), None),
    )
