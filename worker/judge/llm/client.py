"""Ask the model, check the reply, and ask once more naming the error.

At most two questions, none after the judging's time limit. The cost of every reply is counted, usable or not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from worker.domain.ports import Model, ModelReply, Prompt
from worker.domain.verdict.audit import Exchange
from worker.domain.verdict.opinion import ModelOpinion
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import JudgeContext, ReplyCosts
from worker.judge.llm.fencing import cut_text, escape_hidden, make_fence, read_fence, redact_text
from worker.judge.llm.reply import ReplyError, ReplyFault
from worker.judge.llm.reply_schema import RETRY_FACTOR
from worker.judge.trace import answered_exchange, unaffordable_exchange, unanswered_exchange

ReplyReader = Callable[[ModelReply], ModelOpinion | ReplyError]

ECHO_BYTES: Final = 16_000
"""How much of an unusable reply is sent back to the model."""

_EMPTY_REPLY: Final = "(no text)"


@dataclass(frozen=True)
class Consultation:
    """`outcome`: the opinion, what was wrong with the last reply, or what kept the model from answering.

    `exchanges`: every question with its outcome, in order.
    """

    outcome: ModelOpinion | ReplyError | Unavailable | BudgetReached
    costs: ReplyCosts
    exchanges: tuple[Exchange, ...] = ()


def consult_model(model: Model, prompt: Prompt, read: ReplyReader) -> Consultation:
    """Ask, and once more if the reply can't be used. Failures of the model or its server are returned, not raised."""
    consultation = _consult(model, prompt, read)
    exchanges = tuple(replace(exchange, model=model.name) for exchange in consultation.exchanges)
    return replace(consultation, exchanges=exchanges)


def _consult(model: Model, prompt: Prompt, read: ReplyReader) -> Consultation:
    spent, past = ReplyCosts(), ()
    outcome: ModelOpinion | ReplyError | None = None
    for _ in range(2):
        try:
            reply = model.ask(prompt)
        except Unavailable as unavailable:
            exchange = unanswered_exchange(prompt, unavailable.reason)
            return Consultation(unavailable, spent.with_lost(unavailable.lost_usd), (*past, exchange))
        except BudgetReached as reached:
            exchange = unaffordable_exchange(prompt, reached)
            return Consultation(reached, spent.with_lost(reached.lost_usd), (*past, exchange))
        spent, outcome = spent.with_reply(reply), read(reply)
        if isinstance(outcome, ModelOpinion):
            return Consultation(outcome, spent, (*past, answered_exchange(prompt, reply)))
        past = (*past, answered_exchange(prompt, reply, outcome.fault, outcome.problems))
        if outcome.fault is ReplyFault.TOO_LONG:
            break
        longer = with_retry_length(prompt) if outcome.fault is ReplyFault.TRUNCATED else prompt
        prompt = correct_prompt(longer, reply, outcome)
    assert outcome is not None  # noqa: S101 - each round sets it
    return Consultation(outcome, spent, past)


def with_retry_length(prompt: Prompt) -> Prompt:
    """The same question with a longer limit for its answer, reserved like the first."""
    return prompt if prompt.reply_tokens is None else replace(prompt, reply_tokens=prompt.reply_tokens * RETRY_FACTOR)


def correct_prompt(prompt: Prompt, reply: ModelReply, error: ReplyError) -> Prompt:
    """The same question, its answer, and what is wrong with that.

    Problems quote names and lines of the change, so they are escaped; those of places stand in the request's fence.
    """
    answer = cut_text(reply.text.strip(), ECHO_BYTES) or _EMPTY_REPLY
    escaped = (redact_text(escape_hidden(problem)).replace("\n", " ") for problem in error.problems)
    problems = "\n".join(f"{number}. {cut_text(problem, 1_000)}" for number, problem in enumerate(escaped, start=1))
    if error.fault is ReplyFault.POINTER:
        question = prompt.turns[0]
        fence = read_fence(question) or make_fence(question, (question, problems))
        problems = fence.enclose("places that do not hold", problems.replace(fence.word, "MARK"))
    correction = (
        f"Your answer can't be used:\n{problems}\n"
        "Judge again and answer with one whole JSON object in the schema. "
        "Correct what is named here; keep what was right."
    )
    return replace(prompt, turns=(*prompt.turns, answer, correction))


class TimeLimitedModel:
    """A Model that is unavailable once the time is up."""

    def __init__(self, model: Model, now_ms: Callable[[], int], end_ms: int) -> None:
        self._model = model
        self._now_ms = now_ms
        self._end_ms = end_ms

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def pricing_version(self) -> str | None:
        return self._model.pricing_version

    def ask(self, prompt: Prompt) -> ModelReply:
        """Raises Unavailable, also after the time limit."""
        if self._now_ms() >= self._end_ms:
            raise Unavailable(self.name, "its answers took so long that no more were waited for (ASSAY_ASKING)")
        return self._model.ask(prompt)


def with_time_limit(context: JudgeContext, now_ms: Callable[[], int]) -> JudgeContext:
    """The same context with one time limit for all its models, counted from now. A running question is not cut off."""
    end_ms = now_ms() + context.asking_ms
    model, second = (
        TimeLimitedModel(model, now_ms, end_ms) if model else None for model in (context.model, context.second_model)
    )
    return replace(context, model=model, second_model=second)
