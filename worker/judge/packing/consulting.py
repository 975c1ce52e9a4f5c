"""A change that was cut into parts, asked about part by part, and the answers joined.

Does not cut and does not decide. Invariant: no part is asked about once one has settled it, or once one got no usable answer;
what every reply cost is counted.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeVar

from worker.domain.opinion import ModelOpinion
from worker.domain.value import replace
from worker.domain.verdict import Coverage, Tokens
from worker.judge.bench import Spent
from worker.judge.llm import Answered, Consultation, Read, consult
from worker.judge.packing.joining import joined, settles
from worker.judge.prompt import Question
from worker.ports import Model

Reading = Callable[[Question], Read]
C = TypeVar("C", bound=Consultation)


def consult_all(model: Model, questions: Sequence[Question], reading: Reading) -> tuple[Consultation, Coverage]:
    """Ask each question in turn. What comes back is as if one had been asked, with what was read until then."""
    done: list[Consultation] = []
    opinions: list[ModelOpinion] = []
    for question in questions:
        answer = consult(model, question.prompt, reading(question))
        done.append(answer)
        if not isinstance(answer, Answered):
            return _with_all(answer, done), question.coverage
        opinions.append(answer.opinion)
        if settles(answer.opinion):
            break
    opinion = joined(opinions) if len(questions) > 1 else opinions[0]
    last = Answered(opinion, Spent())
    return _with_all(last, done), questions[len(opinions) - 1].coverage


def _with_all(last: C, done: Sequence[Consultation]) -> C:
    exchanges = tuple(one for past in done for one in past.exchanges)
    return replace(last, spent=_together([past.spent for past in done]), exchanges=exchanges)


def _together(spent: Sequence[Spent]) -> Spent:
    known = [one.cost_usd for one in spent if one.cost_usd is not None]
    return Spent(
        tokens=sum((one.tokens for one in spent), Tokens()),
        cost_usd=sum(known, Decimal(0)) if len(known) == len(spent) else None,
        replies=sum(one.replies for one in spent),
        lost_usd=sum((one.lost_usd for one in spent), Decimal(0)),
        near=next((one.near for one in reversed(spent) if one.near is not None), None),
    )
