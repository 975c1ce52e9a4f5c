"""The second opinion: when a stronger model is asked after the first, and what both rule together.

Asks nobody. The rule: opposite decisions are a person's; where both decide the same, the second speaks; where one can't tell,
the other stands at half its confidence; an opinion that could not be had changes nothing. Invariant: no reject on suspicion
stands against an accept of the second, and no accept against its reject.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from worker.domain.ports import Model
from worker.domain.value import replace
from worker.domain.verdict.audit import Stage, Step
from worker.domain.verdict.verdict import Tokens
from worker.judge import texts
from worker.judge.context import EvaluationHeader, JudgeContext, JudgingResult, PanelMember, PanelOpinion, ReplyCosts
from worker.judge.model_judge import ask_model
from worker.judge.panel import (
    FOCUS,
    Lens,
    LensRuling,
    PanelAgreement,
    PanelRuling,
    intended_decision,
    is_model_ruling,
    rule_of_panel,
)
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


def ask_models(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """Ask whom this bench asks, and rule."""
    first = _ask_first(bundle, header, context, model, reason)
    why = second_opinion_reason(first.ruling, bundle)
    if context.second_model is None or why is None or not first.is_model_asked:
        return first
    member = PanelMember("second", context.second_model)
    second = ask_model(bundle, header, context, member, why)
    opinions = (*(first.opinions or (PanelOpinion(PanelMember("first", model), first),)), PanelOpinion(member, second))
    joined = rule_of_two(first.ruling, second.ruling)
    return _combine_results(
        (first, second), joined, opinions, texts.second_opinion_asked(first.reason, context.second_model.name, why)
    )


def _ask_first(
    bundle: EvidenceBundle, header: EvaluationHeader, context: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """One look; a board where there is one. What a fact decides needs none."""
    if not context.is_panel or bundle.opinion.facts:
        return ask_model(bundle, header, context, PanelMember("first", model), reason)
    members = [PanelMember(lens.value, model, FOCUS[lens]) for lens in Lens]
    results = [ask_model(bundle, header, context, member, reason) for member in members]
    seen = [LensRuling(lens, result.ruling) for lens, result in zip(Lens, results, strict=True)]
    opinions = tuple(PanelOpinion(member, result) for member, result in zip(members, results, strict=True))
    return _combine_results(results, rule_of_panel(seen), opinions, texts.panel_asked(reason))


def _combine_results(
    results: Sequence[JudgingResult], joined: PanelRuling, opinions: tuple[PanelOpinion, ...], reason: str
) -> JudgingResult:
    """One sitting of several: whoever speaks gives the answers, all of them the exchanges and the costs."""
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
