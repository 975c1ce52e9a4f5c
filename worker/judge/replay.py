"""A verdict made again from its record: today's code over the recorded dossier and the recorded replies.

Asks nobody and records nothing. Invariant: what the court is given is what it was given then, so that any difference is one
of the code or of the law, and its first stage is named.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import eval_id_after
from worker.domain.ports import Clock, ModelReply, Prompt, StopReason
from worker.domain.request.pause import pause_from_signals
from worker.domain.verdict.audit import AuditRecord, Exchange, JudgeSettings, Replay
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.judge.escalation import Pause
from worker.judge.judge import fingerprint_of, judge_with_record
from worker.judge.llm.prompt_budget import TokenBudget
from worker.judge.rubric import PromptText
from worker.judge.trace import first_difference

DECIDED_FIELDS: Final = (
    "decision", "category", "abstain_reason", "throttled_reason", "evidence", "criteria", "scores", "composite", "score",
    "closing_conditions",
)  # fmt: skip
"""What a verdict decides. Its words may be worded anew."""


class RecordedModel:
    """A Model that says again what was said, in order, and fails again where it failed.

    All seats of a court share what was *said*: they were asked one after the other.
    """

    def __init__(self, name: str, pricing_version: str | None, exchanges: Iterator[Exchange]) -> None:
        self.name = name
        self.pricing_version = pricing_version
        self._said = exchanges

    def ask(self, prompt: Prompt) -> ModelReply:  # noqa: ARG002 - whatever is asked, this is what was answered
        recorded = next(self._said, None)
        if recorded is None:
            raise Unavailable("The recording", "it holds no reply to this question")
        if recorded.over is not None:
            over = recorded.over
            raise BudgetReached(CapLevel(Cap(over.cap), over.used_usd, over.cap_usd), over.asked_usd)
        if recorded.reply is None:
            raise Unavailable("The model", recorded.failure or "no reply is on record")
        reply = recorded.reply
        return ModelReply(
            reply.text, StopReason(reply.stop), reply.stop_detail, reply.tokens, reply.cost_usd, reply.request_id
        )


def replay(
    recorded: Accept | Reject | Abstain, audit: AuditRecord, dossier: Dossier, rubric: Rubric, prompt: PromptText
) -> Replay:
    """Judge the recorded dossier with the recorded replies, by this rubric and prompt."""
    law = audit.law
    exchanges = iter(audit.exchanges)
    model = RecordedModel(law.model, law.pricing_version, exchanges) if law.model is not None else None
    second = RecordedModel(law.second, law.second_pricing_version, exchanges) if law.second is not None else None
    pause = Pause(law.pause) if law.pause else None
    context = JudgeContext(
        rubric,
        prompt,
        law.threshold,
        model,
        pause,
        law.round_limit,
        token_budget=TokenBudget(law.question_bytes),
        token_budgets=_token_budgets(law),
        second_model=second,
        is_panel=law.board,
        suspension=pause_from_signals(recorded.signals),
    )
    header = EvaluationHeader(
        recorded.eval_id,
        recorded.subject,
        recorded.created_at,
        fingerprint_of(dossier, context),
        monotonic_ms=lambda: 0,
        parent_eval_id=recorded.parent_eval_id,
    )
    evaluated = judge_with_record(dossier, header, context)
    differing = tuple(name for name in DECIDED_FIELDS if getattr(recorded, name) != getattr(evaluated.verdict, name))
    return Replay(recorded, evaluated.verdict, differing, first_difference(audit.steps, evaluated.audit.steps))


def _token_budgets(law: JudgeSettings) -> dict[str, TokenBudget]:
    return {} if law.second is None or law.second_bytes is None else {law.second: TokenBudget(law.second_bytes)}


def create_child_header(
    recorded: Accept | Reject | Abstain, dossier: Dossier, context: JudgeContext, clock: Clock
) -> EvaluationHeader:
    """Open a docket for judging a recorded dossier anew, as the child of its verdict."""
    now = clock.now()
    content = fingerprint_of(dossier, context)
    return EvaluationHeader(
        eval_id_after(now, [recorded.eval_id]), recorded.subject, now, content, clock.monotonic_ms, recorded.eval_id
    )
