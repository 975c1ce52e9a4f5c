"""A verdict made again from its record: today's code over the recorded dossier and the recorded replies.

Asks nobody and records nothing. Invariant: what the court is given is what it was given then, so that any difference is one
of the code or of the law, and its first stage is named.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import eval_id_after
from worker.domain.ports import Clock, Prompt, Reply, StopReason
from worker.domain.request.pause import suspension_of
from worker.domain.verdict.audit import AuditRecord, Exchange, Law, Replay
from worker.domain.verdict.budget import Cap, Level
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import Bench, Docket
from worker.judge.escalation import Pause
from worker.judge.judge import content_of, hear
from worker.judge.llm.prompt_budget import Room
from worker.judge.rubric import PromptText
from worker.judge.trace import first_difference

DECIDED: Final = (
    "decision", "category", "abstain_reason", "throttled_reason", "evidence", "criteria", "scores", "composite", "score",
    "closing_conditions",
)  # fmt: skip
"""What a verdict decides. Its words may be worded anew."""


class Recording:
    """A Model that says again what was said, in order, and fails again where it failed.

    All seats of a court share what was *said*: they were asked one after the other.
    """

    def __init__(self, name: str, pricing_version: str | None, said: Iterator[Exchange]) -> None:
        self.name = name
        self.pricing_version = pricing_version
        self._said = said

    def ask(self, prompt: Prompt) -> Reply:  # noqa: ARG002 - whatever is asked, this is what was answered
        recorded = next(self._said, None)
        if recorded is None:
            raise Unavailable("The recording", "it holds no reply to this question")
        if recorded.over is not None:
            over = recorded.over
            raise BudgetReached(Level(Cap(over.cap), over.used_usd, over.cap_usd), over.asked_usd)
        if recorded.reply is None:
            raise Unavailable("The model", recorded.failure or "no reply is on record")
        said = recorded.reply
        return Reply(said.text, StopReason(said.stop), said.stop_detail, said.tokens, said.cost_usd, said.request_id)


def replay(
    recorded: Accept | Reject | Abstain, audit: AuditRecord, dossier: Dossier, rubric: Rubric, prompt: PromptText
) -> Replay:
    """Judge the recorded dossier with the recorded replies, by this rubric and prompt."""
    law = audit.law
    said = iter(audit.exchanges)
    model = Recording(law.model, law.pricing_version, said) if law.model is not None else None
    second = Recording(law.second, law.second_pricing_version, said) if law.second is not None else None
    pause = Pause(law.pause) if law.pause else None
    bench = Bench(
        rubric,
        prompt,
        law.threshold,
        model,
        pause,
        law.round_limit,
        room=Room(law.question_bytes),
        rooms=_rooms(law),
        second=second,
        board=law.board,
        suspension=suspension_of(recorded.signals),
    )
    docket = Docket(
        recorded.eval_id,
        recorded.subject,
        recorded.created_at,
        content_of(dossier, bench),
        monotonic_ms=lambda: 0,
        parent_eval_id=recorded.parent_eval_id,
    )
    heard = hear(dossier, docket, bench)
    differing = tuple(name for name in DECIDED if getattr(recorded, name) != getattr(heard.verdict, name))
    return Replay(recorded, heard.verdict, differing, first_difference(audit.steps, heard.audit.steps))


def _rooms(law: Law) -> dict[str, Room]:
    return {} if law.second is None or law.second_bytes is None else {law.second: Room(law.second_bytes)}


def docket_beside(recorded: Accept | Reject | Abstain, dossier: Dossier, bench: Bench, clock: Clock) -> Docket:
    """Open a docket for judging a recorded dossier anew, as the child of its verdict."""
    now = clock.now()
    content = content_of(dossier, bench)
    return Docket(
        eval_id_after(now, [recorded.eval_id]), recorded.subject, now, content, clock.monotonic_ms, recorded.eval_id
    )
