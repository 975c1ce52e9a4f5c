"""Ask the model, check the reply, ask once more naming the error, else say that it can't be used.

Does not build the question and does not decide anything. Invariant: at most two questions, and what every reply
cost is counted, used or not.
"""

from collections.abc import Callable
from typing import Final

from worker.domain.ports import Model, ModelReply, Prompt
from worker.domain.value import Value, replace
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
"""How much of an unusable reply goes back to the model."""

_EMPTY_REPLY: Final = "(no text)"


class AnsweredConsultation(Value):
    """`exchanges`, here and below: every question with what came of it, in order."""

    opinion: ModelOpinion
    costs: ReplyCosts
    exchanges: tuple[Exchange, ...] = ()


class InvalidConsultation(Value):
    """`errors`: of each reply, in order."""

    errors: tuple[ReplyError, ...]
    costs: ReplyCosts
    exchanges: tuple[Exchange, ...] = ()


class UnreachableConsultation(Value):
    reason: str
    costs: ReplyCosts
    exchanges: tuple[Exchange, ...] = ()


class ThrottledConsultation(Value):
    """A cap stood before a question, which was not asked; `costs` is what those before it cost."""

    reached: BudgetReached
    costs: ReplyCosts
    exchanges: tuple[Exchange, ...] = ()


Consultation = AnsweredConsultation | InvalidConsultation | UnreachableConsultation | ThrottledConsultation


def consult_model(model: Model, prompt: Prompt, read: ReplyReader) -> Consultation:
    """Ask, and ask once more if the reply can't be used. Never raises for what the model or its server does."""
    consultation = _consult(model, prompt, read)
    return replace(
        consultation, exchanges=tuple(replace(exchange, model=model.name) for exchange in consultation.exchanges)
    )


def _consult(model: Model, prompt: Prompt, read: ReplyReader) -> Consultation:
    spent, errors, past = ReplyCosts(), (), ()
    for _ in range(2):
        try:
            reply = model.ask(prompt)
        except Unavailable as unavailable:
            exchanges = (*past, unanswered_exchange(prompt, unavailable.reason))
            return UnreachableConsultation(unavailable.reason, spent.with_lost(unavailable.lost_usd), exchanges)
        except BudgetReached as reached:
            return ThrottledConsultation(
                reached, spent.with_lost(reached.lost_usd), (*past, unaffordable_exchange(prompt, reached))
            )
        spent = spent.with_reply(reply)
        opinion = read(reply)
        if isinstance(opinion, ModelOpinion):
            return AnsweredConsultation(opinion, spent, (*past, answered_exchange(prompt, reply)))
        errors, past = (*errors, opinion), (*past, answered_exchange(prompt, reply, opinion.fault, opinion.problems))
        if opinion.fault is ReplyFault.TOO_LONG:
            break
        prompt = correct_prompt(_with_longer_reply(prompt, opinion), reply, opinion)
    return InvalidConsultation(errors, spent, past)


def _with_longer_reply(prompt: Prompt, error: ReplyError) -> Prompt:
    """A question whose answer was cut off may be answered at more length; what that costs is reserved like the first."""
    return with_retry_length(prompt) if error.fault is ReplyFault.TRUNCATED else prompt


def with_retry_length(prompt: Prompt) -> Prompt:
    """The same question with the length that its answer may have the second time."""
    return prompt if prompt.reply_tokens is None else replace(prompt, reply_tokens=prompt.reply_tokens * RETRY_FACTOR)


def correct_prompt(prompt: Prompt, reply: ModelReply, error: ReplyError) -> Prompt:
    """The same question, what was answered, and what is wrong with that."""
    answer = cut_text(reply.text.strip(), ECHO_BYTES) or _EMPTY_REPLY
    problems = "\n".join(
        f"{number}. {_escape_problem(problem)}" for number, problem in enumerate(error.problems, start=1)
    )
    correction = (
        "Your answer can't be used:\n"
        f"{_fenced(prompt.turns[0], problems) if error.fault is ReplyFault.POINTER else problems}\n"
        "Judge again and answer with one whole JSON object in the schema. "
        "Correct what is named here; keep what was right."
    )
    return replace(prompt, turns=(*prompt.turns, answer, correction))


def _fenced(question: str, problems: str) -> str:
    """What is wrong with places, by the fence of the request: it quotes lines and paths of the change."""
    fence = read_fence(question) or make_fence(question, (question, problems))
    return fence.enclose("places that do not hold", problems.replace(fence.word, "MARK"))


def _escape_problem(problem: str) -> str:
    """Problems quote names and lines of the change: they are data here, too, on one line each."""
    return cut_text(redact_text(escape_hidden(problem)).replace("\n", " "), 1_000)


class TimeLimitedModel:
    """The Model port: asks until the time is up, and then says that it can't be had."""

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
        """Raises Unavailable, also for a question that comes too late."""
        if self._now_ms() >= self._end_ms:
            raise Unavailable(self.name, "its answers took so long that no more were waited for (ASSAY_ASKING)")
        return self._model.ask(prompt)


def with_time_limit(context: JudgeContext, now_ms: Callable[[], int]) -> JudgeContext:
    """The same bench, whose models are asked for so long from now on."""
    end_ms = now_ms() + context.asking_ms
    model, second = (
        TimeLimitedModel(model, now_ms, end_ms) if model else None for model in (context.model, context.second_model)
    )
    return replace(context, model=model, second_model=second)
