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
