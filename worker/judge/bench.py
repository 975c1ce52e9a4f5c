"""A sitting of the court: who judges by what law, what stands above the verdict, and how it came about.

Does not judge. Invariant: knows the model as a port only, and nothing of questions and replies.
"""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from worker.domain.ids import EvalId, Fingerprint
from worker.domain.rubric import Rubric
from worker.domain.value import Value
from worker.domain.verdict import Coverage, Subject, Tokens
from worker.judge.rulings import Ruling
from worker.ports import Model, Reply
from worker.rulebook import PromptText


class Bench(Value):
    """Who judges, and by what law. `threshold`: the model is asked below it (0: never, above 1: always)."""

    rubric: Rubric
    prompt: PromptText
    threshold: float
    model: Model | None = None

    @property
    def judges(self) -> str:
        """The allowed tiers and models, as the fingerprint takes them."""
        return f"threshold={self.threshold:g} model={self.model.name if self.model else None}"


class Docket(Value):
    """What is written above every verdict."""

    eval_id: EvalId
    subject: Subject
    created_at: datetime
    fingerprint: Fingerprint
    monotonic_ms: Callable[[], int]


class Spent(Value):
    """What the replies cost so far. `cost_usd` None: there is one whose price is not known."""

    tokens: Tokens = Tokens()
    cost_usd: Decimal | None = Decimal(0)
    replies: int = 0

    def plus(self, reply: Reply) -> "Spent":
        known = self.cost_usd is not None and reply.cost_usd is not None
        cost = (self.cost_usd or Decimal(0)) + (reply.cost_usd or Decimal(0)) if known else None
        return Spent(self.tokens + reply.tokens, cost, self.replies + 1)


class Sitting(Value):
    """How the verdict came about: what was ruled, what was read, and who was asked at which price."""

    ruling: Ruling
    coverage: Coverage
    reason: str
    asked: bool = False
    spent: Spent = Spent()
