"""Who is asked about a change: one model, or a board of three lenses; and a stronger model after it, if need be.

Asks nobody itself (`worker.judge.model_judge` does), and rules by the rules of `second_opinion` and `panel`. Imported only when a model is
asked. Invariant: every opinion is kept as its own, and what all of them cost is counted once, in the verdict they lead to.
"""

from collections.abc import Sequence
from decimal import Decimal

from worker.domain.ports import Model
from worker.domain.value import replace
from worker.domain.verdict.audit import Stage, Step
from worker.domain.verdict.verdict import Tokens
from worker.judge import texts
from worker.judge.context import EvaluationHeader, JudgeContext, JudgingResult, PanelMember, PanelOpinion, ReplyCosts
from worker.judge.model_judge import ask_model
from worker.judge.panel import FOCUS, Lens, LensRuling, rule_of_panel
from worker.judge.panel_ruling import PanelAgreement, PanelRuling, intended_decision
from worker.judge.rulings import EvidenceBundle
from worker.judge.second_opinion import rule_of_two, second_opinion_reason


def ask_models(
    hearing: EvidenceBundle, docket: EvaluationHeader, bench: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """Ask whom this bench asks, and rule."""
    first = _ask_first(hearing, docket, bench, model, reason)
    why = second_opinion_reason(first.ruling, hearing)
    if bench.second_model is None or why is None or not first.is_model_asked:
        return first
    seat = PanelMember("second", bench.second_model)
    second = ask_model(hearing, docket, bench, seat, why)
    voices = (*(first.opinions or (PanelOpinion(PanelMember("first", model), first),)), PanelOpinion(seat, second))
    joined = rule_of_two(first.ruling, second.ruling)
    return _combine_results(
        (first, second), joined, voices, texts.second_opinion_asked(first.reason, bench.second_model.name, why)
    )


def _ask_first(
    hearing: EvidenceBundle, docket: EvaluationHeader, bench: JudgeContext, model: Model, reason: str
) -> JudgingResult:
    """One look; a board where there is one. What a fact decides needs none."""
    if not bench.is_panel or hearing.opinion.facts:
        return ask_model(hearing, docket, bench, PanelMember("first", model), reason)
    seats = [PanelMember(lens.value, model, FOCUS[lens]) for lens in Lens]
    sittings = [ask_model(hearing, docket, bench, seat, reason) for seat in seats]
    seen = [LensRuling(lens, sitting.ruling) for lens, sitting in zip(Lens, sittings, strict=True)]
    voices = tuple(PanelOpinion(seat, sitting) for seat, sitting in zip(seats, sittings, strict=True))
    return _combine_results(sittings, rule_of_panel(seen), voices, texts.panel_asked(reason))


def _combine_results(
    sittings: Sequence[JudgingResult], joined: PanelRuling, voices: tuple[PanelOpinion, ...], reason: str
) -> JudgingResult:
    """One sitting of several: whoever speaks gives the answers, all of them the exchanges and the costs."""
    speaker = sittings[joined.speaker]
    told = "; ".join(_describe_opinion(one) for one in voices)
    signals = {**joined.ruling.signals, "opinions": told, "opinions_agree": joined.agreement is PanelAgreement.AGREE}
    ruled = Step(stage=Stage.OPINIONS, outcome=joined.agreement.value, reason=told)
    return replace(
        speaker,
        ruling=replace(joined.ruling, signals=signals),
        reason=reason,
        is_model_asked=any(one.is_model_asked for one in sittings),
        costs=_add_costs([one.costs for one in sittings]),
        exchanges=tuple(exchange for one in sittings for exchange in one.exchanges),
        steps=(*(step for one in sittings for step in one.steps), ruled),
        opinions=voices,
    )


def _describe_opinion(voice: PanelOpinion) -> str:
    ruling = voice.result.ruling
    why = ruling.category or ruling.abstain_reason
    said = intended_decision(ruling).replace("_", " ")
    return (
        f"{voice.member.name} ({voice.member.model.name}): {said}{f', {why}' if why else ''}, {ruling.confidence:.2f}"
    )


def _add_costs(each: Sequence[ReplyCosts]) -> ReplyCosts:
    known = [one.cost_usd for one in each if one.cost_usd is not None]
    return ReplyCosts(
        tokens=sum((one.tokens for one in each), Tokens()),
        cost_usd=sum(known, Decimal(0)) if len(known) == len(each) else None,
        replies=sum(one.replies for one in each),
        lost_usd=sum((one.lost_usd for one in each), Decimal(0)),
        near=next((one.near for one in reversed(each) if one.near is not None), None),
    )
