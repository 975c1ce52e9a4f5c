"""Ask the model, check the reply, ask once more naming the error, else say that it can't be used.

Does not build the question and does not decide anything. Invariant: at most two questions, and what every reply
cost is counted, used or not.
"""

from collections.abc import Callable
from typing import Final

from worker.domain.ports import Model, Prompt, Reply
from worker.domain.value import Value, replace
from worker.domain.verdict.audit import Exchange
from worker.domain.verdict.opinion import ModelOpinion
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import Spent
from worker.judge.llm.fencing import cut, fence_for, fence_of, redacted, visible
from worker.judge.llm.reply import ReplyError, ReplyFault
from worker.judge.llm.reply_limits import LONGER
from worker.judge.trace import exchange, unaffordable, unanswered

Read = Callable[[Reply], ModelOpinion | ReplyError]

ECHO_BYTES: Final = 16_000
"""How much of an unusable reply goes back to the model."""

_SILENCE: Final = "(no text)"


class Answered(Value):
    """`exchanges`, here and below: every question with what came of it, in order."""

    opinion: ModelOpinion
    spent: Spent
    exchanges: tuple[Exchange, ...] = ()


class ReplyInvalid(Value):
    """`errors`: of each reply, in order."""

    errors: tuple[ReplyError, ...]
    spent: Spent
    exchanges: tuple[Exchange, ...] = ()


class Unreachable(Value):
    reason: str
    spent: Spent
    exchanges: tuple[Exchange, ...] = ()


class Throttled(Value):
    """A cap stood before a question, which was not asked; `spent` is what those before it cost."""

    reached: BudgetReached
    spent: Spent
    exchanges: tuple[Exchange, ...] = ()


Consultation = Answered | ReplyInvalid | Unreachable | Throttled


def consult(model: Model, prompt: Prompt, read: Read) -> Consultation:
    """Ask, and ask once more if the reply can't be used. Never raises for what the model or its server does."""
    found = _consulted(model, prompt, read)
    return replace(found, exchanges=tuple(replace(one, model=model.name) for one in found.exchanges))


def _consulted(model: Model, prompt: Prompt, read: Read) -> Consultation:
    spent, errors, past = Spent(), (), ()
    for _ in range(2):
        try:
            reply = model.ask(prompt)
        except Unavailable as unavailable:
            exchanges = (*past, unanswered(prompt, unavailable.reason))
            return Unreachable(unavailable.reason, spent.losing(unavailable.lost_usd), exchanges)
        except BudgetReached as reached:
            return Throttled(reached, spent.losing(reached.lost_usd), (*past, unaffordable(prompt, reached)))
        spent = spent.plus(reply)
        opinion = read(reply)
        if isinstance(opinion, ModelOpinion):
            return Answered(opinion, spent, (*past, exchange(prompt, reply)))
        errors, past = (*errors, opinion), (*past, exchange(prompt, reply, opinion.fault, opinion.problems))
        if opinion.fault is ReplyFault.TOO_LONG:
            break
        prompt = corrected(_allowed(prompt, opinion), reply, opinion)
    return ReplyInvalid(errors, spent, past)


def _allowed(prompt: Prompt, error: ReplyError) -> Prompt:
    """A question whose answer was cut off may be answered at more length; what that costs is reserved like the first."""
    return with_room(prompt) if error.fault is ReplyFault.TRUNCATED else prompt


def with_room(prompt: Prompt) -> Prompt:
    """The same question with the length that its answer may have the second time."""
    return prompt if prompt.reply_tokens is None else replace(prompt, reply_tokens=prompt.reply_tokens * LONGER)


def corrected(prompt: Prompt, reply: Reply, error: ReplyError) -> Prompt:
    """The same question, what was answered, and what is wrong with that."""
    said = cut(reply.text.strip(), ECHO_BYTES) or _SILENCE
    problems = "\n".join(f"{number}. {_shown(problem)}" for number, problem in enumerate(error.problems, start=1))
    correction = (
        "Your answer can't be used:\n"
        f"{_fenced(prompt.turns[0], problems) if error.fault is ReplyFault.POINTER else problems}\n"
        "Judge again and answer with one whole JSON object in the schema. "
        "Correct what is named here; keep what was right."
    )
    return replace(prompt, turns=(*prompt.turns, said, correction))


def _fenced(question: str, problems: str) -> str:
    """What is wrong with places, by the fence of the request: it quotes lines and paths of the change."""
    fence = fence_of(question) or fence_for(question, (question, problems))
    return fence.around("places that do not hold", problems.replace(fence.word, "MARK"))


def _shown(problem: str) -> str:
    """Problems quote names and lines of the change: they are data here, too, on one line each."""
    return cut(redacted(visible(problem)).replace("\n", " "), 1_000)
