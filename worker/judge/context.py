"""A sitting of the court: who judges by what law, what stands above the verdict, and how it came about.

Does not judge. Invariant: knows the model as a port only, and nothing of questions and replies.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from worker.domain.dossier.dossier import Policy
from worker.domain.ids import EvalId, Fingerprint
from worker.domain.ports import Model, ModelReply
from worker.domain.request.pause import JudgingPause
from worker.domain.value import Value, replace
from worker.domain.verdict.audit import Exchange, Step
from worker.domain.verdict.budget import CapLevel
from worker.domain.verdict.ledger import ROUND_LIMIT
from worker.domain.verdict.opinion import ConditionAnswer
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import ClosingCondition, Coverage, JudgeKind, Subject, Tokens
from worker.judge.escalation import ModelSkipReason, Pause
from worker.judge.llm.prompt_budget import TokenBudget
from worker.judge.rubric import PromptText
from worker.judge.rulings import Ruling

if TYPE_CHECKING:
    from worker.dossier.secrets import Redaction

ALWAYS: Final = 1.0
"""Above this threshold the model is asked whatever the heuristic tier says: tier `llm`, not `hybrid`."""


class JudgeContext(Value):
    """Who judges, and by what law. `threshold`: the model is asked below it (0: never, above 1: always).

    `second_model`: the model that is asked after a reject on suspicion and where a verdict is contested. `is_panel`: three lenses look
    instead of one. `choices`: the models that a repository may choose from, by their names.
    `pause`: nobody does, and nothing is looked at. `round_limit`: how many rounds may end in a reject. `token_budget`: how much
    the model is shown; `token_budgets`: others, by their names. `asking_ms`: how long after the first question further ones may begin.
    `suspension`: what is known of the pause. `no_model`: why there is no model, where there is none.
    """

    rubric: Rubric
    prompt: PromptText
    threshold: float
    model: Model | None = None
    pause: Pause | None = None
    round_limit: int = ROUND_LIMIT
    token_budget: TokenBudget = TokenBudget()
    token_budgets: Mapping[str, TokenBudget] = MappingProxyType({})
    second_model: Model | None = None
    is_panel: bool = False
    choices: Mapping[str, Model] = MappingProxyType({})
    asking_ms: int = 600_000
    suspension: JudgingPause | None = None
    no_model: ModelSkipReason = ModelSkipReason.NO_MODEL

    def without_model(self, why: ModelSkipReason) -> "JudgeContext":
        """The same bench without a model to ask, since it is not to be asked about this change."""
        return replace(self, model=None, second_model=None, is_panel=False, no_model=why)

    def with_chosen_model(self, policy: Policy | None) -> "JudgeContext":
        """The same bench with the model that the repository chose, if it may; else as it is."""
        name = policy.model if policy else None
        chosen = self.choices.get(name) if name and self.model is not None else None
        return self if chosen is None else replace(self, model=chosen, token_budget=self.token_budget_of(chosen))

    def token_budget_of(self, model: Model) -> TokenBudget:
        """How much this model is shown: its tokens are as dense as they are, whatever another one's are."""
        return self.token_budgets.get(model.name, self.token_budget)

    @property
    def planned_judge(self) -> JudgeKind:
        """Who is to judge, as far as that is known before."""
        if self.model is None or self.pause is not None or self.threshold <= 0:
            return JudgeKind.HEURISTIC
        return JudgeKind.LLM if self.threshold > ALWAYS else JudgeKind.HYBRID

    @property
    def judges(self) -> str:
        """The allowed tiers and models, as the fingerprint takes them."""
        if self.pause is not None:
            return "nobody"
        second = f" second={self.second_model.name}" if self.second_model else ""
        board = " board" if self.is_panel else ""
        return f"threshold={self.threshold:g} model={self.model.name if self.model else None}{second}{board}"


class PanelMember(Value):
    """One that is asked. `focus`: a sentence that says what to look at above all; empty where that is everything."""

    name: str
    model: Model
    focus: str = ""


class EvaluationHeader(Value):
    """What is written above every verdict. `parent_eval_id`: the verdict that is judged anew, if one is."""

    eval_id: EvalId
    subject: Subject
    created_at: datetime
    fingerprint: Fingerprint
    monotonic_ms: Callable[[], int]
    parent_eval_id: EvalId | None = None


class ReplyCosts(Value):
    """What the replies cost so far. `cost_usd` None: there is one whose price is not known.

    `lost_usd`: what questions may have cost on top whose answers never came. `near`: the cap that was almost reached when the
    last one had been paid.
    """

    tokens: Tokens = Tokens()
    cost_usd: Decimal | None = Decimal(0)
    replies: int = 0
    near: CapLevel | None = None
    lost_usd: Decimal = Decimal(0)

    @property
    def is_owed(self) -> bool:
        """Whether a model answered, or may have worked without being heard."""
        return self.replies > 0 or self.lost_usd > 0

    @property
    def most_usd(self) -> Decimal | None:
        """What all of it costs at most."""
        return None if self.cost_usd is None else self.cost_usd + self.lost_usd

    def with_lost(self, usd: Decimal) -> "ReplyCosts":
        return replace(self, lost_usd=self.lost_usd + usd)

    def with_reply(self, reply: ModelReply) -> "ReplyCosts":
        is_known = self.cost_usd is not None and reply.cost_usd is not None
        cost = (self.cost_usd or Decimal(0)) + (reply.cost_usd or Decimal(0)) if is_known else None
        lost = self.lost_usd + reply.lost_usd
        return ReplyCosts(self.tokens + reply.tokens, cost, self.replies + 1, reply.near_cap, lost)


class JudgingResult(Value):
    """How the verdict came about: what was ruled, what was read, and who was asked at which price.

    `answers` are the model's on the conditions that were open, `conditions` how all of them stand after it.
    `exchanges` are the questions with what came of each, `steps` what became of the opinion, and
    `redactions` what was taken out of the question: all for the audit alone. `opinions`: each opinion, where there were several.
    """

    ruling: Ruling
    coverage: Coverage
    reason: str
    is_model_asked: bool = False
    answers: tuple[ConditionAnswer, ...] = ()
    conditions: tuple[ClosingCondition, ...] = ()
    costs: ReplyCosts = ReplyCosts()
    exchanges: tuple[Exchange, ...] = ()
    steps: tuple[Step, ...] = ()
    redactions: "tuple[Redaction, ...]" = ()
    opinions: "tuple[PanelOpinion, ...]" = ()


class PanelOpinion(Value):
    """What one of several seats said, as if it had judged alone."""

    member: PanelMember
    result: JudgingResult
