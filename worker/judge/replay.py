"""Replay a verdict from its record with today's code, and share records without secrets.

A replay judges the recorded dossier with the recorded replies, so a difference comes from the code, the rubric or the prompt; its
first stage is named. What is shared keeps its shape line for line, and its hashes and ids.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.model import eval_id_after
from worker.domain.ports import Clock, ModelReply, Prompt, StopReason
from worker.domain.time_range import pause_from_signals
from worker.domain.verdict.audit import AuditRecord, Exchange, Replay, Step, dump_audit, read_audit
from worker.domain.verdict.budget import Cap, CapLevel, TokenBudget
from worker.domain.verdict.verdict import VERDICT_ADAPTER, Abstain, Accept, HeuristicOpinion, Reject, Rubric
from worker.dossier.diff import diff_or_empty
from worker.dossier.secrets import Redaction, redact_fields
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import EvaluationHeader, JudgeContext, Pause
from worker.judge.fingerprint import fingerprint_of
from worker.judge.judge import judge_with_record
from worker.judge.llm.sanitize import redact_dossier, redact_text
from worker.judge.rubric import PromptText

DECIDED_FIELDS: Final = (
    "decision", "category", "abstain_reason", "throttled_reason", "evidence", "criteria", "scores", "composite", "score",
    "closing_conditions",
)  # fmt: skip
"""What a verdict decides. Its wording may differ."""


class RecordedModel:
    """A Model that repeats recorded replies and failures in order.

    All models of a judging share the *exchanges*: they were asked one after the other.
    """

    def __init__(self, name: str, pricing_version: str | None, exchanges: Iterator[Exchange]) -> None:
        self.name = name
        self.pricing_version = pricing_version
        self._exchanges = exchanges

    def ask(self, prompt: Prompt) -> ModelReply:  # noqa: ARG002 - whatever is asked, this is what was answered
        recorded = next(self._exchanges, None)
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
    digest, exchanges = audit.law, iter(audit.exchanges)
    model = RecordedModel(digest.model, digest.pricing_version, exchanges) if digest.model is not None else None
    second, budgets = None, dict[str, TokenBudget]()
    if digest.second is not None:
        second = RecordedModel(digest.second, digest.second_pricing_version, exchanges)
        budgets = {} if digest.second_bytes is None else {digest.second: TokenBudget(digest.second_bytes)}
    context = JudgeContext(
        rubric,
        prompt,
        digest.threshold,
        model,
        Pause(digest.pause) if digest.pause else None,
        digest.round_limit,
        token_budget=TokenBudget(digest.question_bytes),
        token_budgets=budgets,
        second_model=second,
        is_panel=digest.board,
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


def create_child_header(
    recorded: Accept | Reject | Abstain, dossier: Dossier, context: JudgeContext, clock: Clock
) -> EvaluationHeader:
    """The header for judging a recorded dossier again, as the child of its verdict."""
    now = clock.now()
    content = fingerprint_of(dossier, context)
    return EvaluationHeader(
        eval_id_after(now, [recorded.eval_id]), recorded.subject, now, content, clock.monotonic_ms, recorded.eval_id
    )


_NO_OPINION: Final = HeuristicOpinion(score=0.5, confidence=0.0, reason="not judged")


def without_secrets(record: AuditRecord) -> AuditRecord:
    """A record to show: its questions have no secrets, its replies may quote some."""
    return read_audit(redact_fields(dump_audit(record)))


def verdict_without_secrets(verdict: Accept | Reject | Abstain) -> Accept | Reject | Abstain:
    """A verdict to show: its quotes of lines and of the model are redacted."""
    return VERDICT_ADAPTER.validate_python(redact_fields(verdict.model_dump(mode="json")))


def make_shareable(dossier: Dossier) -> tuple[Dossier, tuple[Redaction, ...]]:
    """A dossier to give away, and what was redacted; the same dossier where nothing had to be.

    A diff that can't be read is kept for reports, unless `never_send` withholds files, which can't be told apart in it.
    """
    redacted = redact_dossier(dossier, _NO_OPINION, ())
    sent = redacted.dossier
    if not sent.diff and not (dossier.policy is not None and dossier.policy.never_send):
        sent = sent.model_copy(update={"diff": redact_text(dossier.diff)})
    return _with_clean_paths(sent), redacted.redactions


def _with_clean_paths(dossier: Dossier) -> Dossier:
    """Redact paths with secrets wherever they occur."""
    changed = [path for file in diff_or_empty(dossier.diff).files for path in (file.path, file.old_path) if path]
    others = [file.path for file in (*(dossier.files or ()), *dossier.files_unread, *dossier.guidance)]
    secret = {path for path in (*changed, *others) if redact_text(path) != path}
    clean = whole = dossier.model_dump_json(exclude_unset=True)
    for path in sorted(secret, key=len, reverse=True):
        clean = clean.replace(json.dumps(path, ensure_ascii=False)[1:-1], json.dumps(redact_text(path))[1:-1])
    return dossier if clean == whole else Dossier.model_validate_json(clean)


def first_difference(recorded: Iterable[Step], again: Iterable[Step]) -> tuple[Step | None, Step | None] | None:
    """The first steps that differ between two traces, None for a trace that ended before; None where none differ."""
    return next(((step, other) for step, other in zip_longest(recorded, again) if step != other), None)
