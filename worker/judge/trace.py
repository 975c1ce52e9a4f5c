"""Record how a judging went: each stage, its outcome and its reason.

The same dossier, rules and replies give the same trace, so two traces differ first where the judging did.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from worker.domain.ports import ModelReply, Prompt
from worker.domain.verdict.audit import (
    AuditRecord,
    Exchange,
    JudgeSettings,
    OverBudget,
    RecordedRedaction,
    RecordedReply,
    Stage,
    Step,
)
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    Coverage,
    Leaning,
    ModelOpinion,
    Reject,
)
from worker.errors import BudgetReached, Unavailable
from worker.judge import texts
from worker.judge.context import JudgeContext, JudgingResult
from worker.judge.rulings import EvidenceBundle, Ruling

USABLE_OUTCOME: Final = "usable"
NO_REPLY_OUTCOME: Final = "none came"


def audit_record(
    bundle: EvidenceBundle, result: JudgingResult, verdict: Accept | Reject | Abstain, context: JudgeContext
) -> AuditRecord:
    """The whole record of a finished judging."""
    digest, ruling, opinion = judge_digest_of(context), result.ruling, bundle.opinion
    checks = [f"failed: {check.name}" for check in bundle.ci.failed]
    checks += [f"not finished: {check.name}" for check in bundle.ci.unfinished]
    certainty = f"score {opinion.score:.2f}, confidence {opinion.confidence:.2f}"
    seen = (
        f"{'fact' if finding.fact else 'suspicion'} {finding.signal}{f' at {finding.location}' if finding.location else ''}"
        for finding in opinion.findings
    )
    route = "the model is asked" if result.is_model_asked else "code alone"
    why = ruling.category or ruling.abstain_reason
    steps = (
        _digest_step(digest, len(context.rubric.panel_lenses)),
        Step(stage=Stage.VALIDATORS, outcome=bundle.ci.state.value, reason=", ".join(checks)),
        Step(stage=Stage.HEURISTICS, outcome=certainty, reason="; ".join(seen) or opinion.safe or opinion.reason),
        Step(stage=Stage.ROUTE, outcome=route, reason=result.reason),
        *_asking_steps(result.exchanges, result.coverage),
        *result.steps,
        Step(
            stage=Stage.RULING, outcome=f"{ruling.decision}, {why}" if why else ruling.decision, reason=ruling.concern
        ),
        _verdict(verdict),
    )
    redactions = tuple(RecordedRedaction(entry.kind.value, entry.where, entry.line) for entry in result.redactions)
    return AuditRecord(
        eval_id=verdict.eval_id, law=digest, steps=steps, exchanges=result.exchanges, redactions=redactions
    )


def carry_over_record(verdict: Accept | Reject, context: JudgeContext) -> AuditRecord:
    """The record of a verdict that was carried over."""
    digest, source = judge_digest_of(context), f"from {verdict.carried_from}"
    same = Step(stage=Stage.CARRIED, outcome=source, reason="the same content was judged before")
    return AuditRecord(
        eval_id=verdict.eval_id,
        law=digest,
        steps=(_digest_step(digest, len(context.rubric.panel_lenses)), same, _verdict(verdict)),
    )


def judge_digest_of(context: JudgeContext) -> JudgeSettings:
    model, second = context.model, context.second_model
    return JudgeSettings(
        rubric=f"{context.rubric.id} {context.rubric.version}",
        rubric_hash=_hash(context.rubric.model_dump_json()),
        prompt_version=context.prompt.version,
        threshold=context.threshold,
        model=model.name if model else None,
        pricing_version=model.pricing_version if model else None,
        round_limit=context.round_limit,
        question_bytes=context.token_budget.question_bytes,
        pause=context.pause.value if context.pause else None,
        second=second.name if second else None,
        second_bytes=context.token_budget_of(second).question_bytes if second else None,
        second_pricing_version=second.pricing_version if second else None,
        board=context.is_panel,
    )


def sent_exchange(model: str, prompt: Prompt) -> Exchange:
    """A question, without its outcome yet."""
    form = _hash(json.dumps(prompt.schema, sort_keys=True))
    return Exchange(system=_hash(prompt.system), form=form, turns=prompt.turns, model=model)


def answered_exchange(
    sent: Exchange, reply: ModelReply, fault: str | None = None, problems: tuple[str, ...] = ()
) -> Exchange:
    """An answered question. *fault*, *problems*: why its reply is unusable."""
    recorded = RecordedReply(
        text=reply.text,
        stop=reply.stop.value,
        stop_detail=reply.stop_detail,
        tokens=reply.tokens,
        cost_usd=reply.cost_usd,
        request_id=reply.request_id,
    )
    return replace(sent, reply=recorded, fault=fault, problems=problems)


def unanswered_exchange(sent: Exchange, failure: Unavailable | BudgetReached) -> Exchange:
    """A question without a reply, or one that a budget cap kept from being sent."""
    if isinstance(failure, Unavailable):
        return replace(sent, failure=failure.reason)
    level = failure.level
    over = OverBudget(cap=level.cap, used_usd=level.used_usd, cap_usd=level.cap_usd, asked_usd=failure.asked_usd)
    return replace(sent, failure=str(failure), over=over)


def opinion_steps(opinion: ModelOpinion | None, ruling: Ruling) -> tuple[Step, ...]:
    """The steps of a readable opinion: its places, and whether a veto stopped it."""
    if opinion is None:
        return ()
    places = [*opinion.evidence, *(pointer for criterion in opinion.criteria for pointer in criterion.evidence)]
    counted = f"{len(places)} {'place' if len(places) == 1 else 'places'}, each found"
    counted += f"; left out: {len(opinion.dropped)}" if opinion.dropped else ""
    leaned = {Leaning.CANNOT_TELL: "abstain"}.get(opinion.decision, opinion.decision.value)
    vetoed = leaned != ruling.decision or (opinion.category is not None and opinion.category is not ruling.category)
    wanted = f"the model's {opinion.decision} does not stand" if vetoed else "none"
    named = ", ".join(dict.fromkeys(pointer.location for pointer in places))
    return (
        Step(stage=Stage.EVIDENCE, outcome=counted, reason=named),
        Step(stage=Stage.VETOES, outcome=wanted, reason=ruling.concern if vetoed else ""),
    )


def first_difference(recorded: Iterable[Step], again: Iterable[Step]) -> tuple[Step | None, Step | None] | None:
    """The first steps that differ between two traces, None for a trace that ended before; None where none differ."""
    return next(((step, other) for step, other in zip_longest(recorded, again) if step != other), None)


def _digest_step(digest: JudgeSettings, lenses: int) -> Step:
    asked = f"model {digest.model}" if digest.model else "no model"
    asked += f", a board of {texts.count_word(lenses)}" if digest.board else ""
    asked += f", second opinion of {digest.second}" if digest.second else ""
    asked += f", paused by the {digest.pause}" if digest.pause else ""
    limits = f"threshold {digest.threshold:g}, {digest.round_limit} rounds"
    reason = f"prompt {digest.prompt_version[:19]}, {limits}, {asked}"
    return Step(stage=Stage.LAW, outcome=f"rubric {digest.rubric} ({digest.rubric_hash[:19]})", reason=reason)


def _asking_steps(exchanges: Iterable[Exchange], coverage: Coverage) -> Iterator[Step]:
    read = f"{len(coverage.read)} files shown, {len(coverage.partly)} in part, {len(coverage.unread)} not"
    for exchange in exchanges:
        asked = "".join(exchange.turns[-1:])
        outcome = f"{len(asked.encode('utf-8', 'surrogatepass'))} bytes, {_hash(asked)[:19]}"
        stage, reason = (Stage.CORRECTION, "") if exchange.is_correction else (Stage.QUESTION, read)
        yield Step(stage=stage, outcome=outcome, reason=reason)
        if exchange.reply is None:
            yield Step(stage=Stage.REPLY, outcome=NO_REPLY_OUTCOME, reason=exchange.failure or "")
        else:
            yield Step(stage=Stage.REPLY, outcome=exchange.fault or USABLE_OUTCOME, reason=" ".join(exchange.problems))


def _verdict(verdict: Accept | Reject | Abstain) -> Step:
    reason = f"score {verdict.score:.2f}, round {verdict.round}, {len(verdict.closing_conditions)} closing conditions"
    return Step(stage=Stage.VERDICT, outcome=verdict.decision, reason=reason)


def _hash(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
