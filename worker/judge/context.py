"""What a judging takes and returns: the rules and models, the header of its verdict, its costs and its result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from worker.domain.dossier import Policy
from worker.domain.model import EvalId, Fingerprint
from worker.domain.ports import Model, ModelReply
from worker.domain.time_range import JudgingPause
from worker.domain.verdict.audit import Exchange, Step
from worker.domain.verdict.budget import CapLevel, TokenBudget
from worker.domain.verdict.ledger import ROUND_LIMIT
from worker.domain.verdict.verdict import (
    ClosingCondition,
    ConditionAnswer,
    Coverage,
    JudgeKind,
    Rubric,
    Subject,
    Tokens,
)
from worker.judge.rubric import PromptText

if TYPE_CHECKING:
    from worker.dossier.secrets import Redaction
from enum import StrEnum

from worker.domain.dossier import Criterion, Dossier
from worker.domain.verdict.verdict import (
    AbstainReason,
    Category,
    CiFailure,
    ClaimVerdict,
    CriterionVerdict,
    EvidencePointer,
    HeuristicOpinion,
    Score,
    ThrottledReason,
)
from worker.dossier.diff import Diff
from worker.judge.checks.ci_status import CiReport
from worker.judge.checks.evidence import Places

RulingSignals = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True)
class EvidenceBundle:
    """The dossier and what code read in it."""

    dossier: Dossier
    diff: Diff
    places: Places
    opinion: HeuristicOpinion
    ci: CiReport
    claims: tuple[ClaimVerdict, ...]
    is_local: bool = False
    """The reader sets the key and the tier."""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return self.dossier.criteria or ()


@dataclass(frozen=True)
class Ruling:
    """The deciding part of a verdict. Exactly one of accept, `category` (reject) and `abstain_reason`."""

    concern: str
    next_step: str | None
    score: float
    confidence: float
    category: Category | None = None
    abstain_reason: AbstainReason | None = None
    evidence: tuple[EvidencePointer, ...] = ()
    criteria: tuple[CriterionVerdict, ...] = ()
    scores: tuple[Score, ...] = ()
    signals: RulingSignals = field(default_factory=dict[str, str | int | float | bool | None])
    throttled_reason: ThrottledReason | None = None
    ci_failure: CiFailure | None = None

    @property
    def decision(self) -> str:
        if self.abstain_reason is not None:
            return "abstain"
        return "accept" if self.category is None else "reject"


class ModelSkipReason(StrEnum):
    """Why no model was asked about an uncertain change."""

    CI = "ci"
    TIER = "tier"
    NO_MODEL = "no_model"
    ISSUE = "issue"
    OUTSIDER = "outsider"
    WITHHELD = "withheld"


class Pause(StrEnum):
    """Who paused judging."""

    OPERATOR = "operator"
    REPOSITORY = "repository"


ALWAYS: Final = 1.0
"""Above this threshold the model is always asked: tier `llm`, not `hybrid`."""


@dataclass(frozen=True)
class JudgeContext:
    """The rules and models of a judging. `threshold`: the model is asked below it (0: never, above 1: always).

    `pause`: judging is stopped; `suspension`: by whom and until when. `round_limit`: how many rounds may end in a reject.
    `token_budget`: how much the model is shown; `token_budgets`: how much other models are, by name. `second_model`: asked after a
    reject on suspicion and about a contested verdict. `is_panel`: the model is asked through the rubric's lenses. `choices`: the models that
    a repository may choose, by name. `asking_ms`: how long after the first question others may start. `no_model`: why there is none.
    """

    rubric: Rubric
    prompt: PromptText
    threshold: float
    model: Model | None = None
    pause: Pause | None = None
    round_limit: int = ROUND_LIMIT
    token_budget: TokenBudget = field(default_factory=TokenBudget)
    token_budgets: Mapping[str, TokenBudget] = field(default_factory=dict[str, TokenBudget])
    second_model: Model | None = None
    is_panel: bool = False
    choices: Mapping[str, Model] = field(default_factory=dict[str, Model])
    asking_ms: int = 600_000
    suspension: JudgingPause | None = None
    no_model: ModelSkipReason = ModelSkipReason.NO_MODEL

    def without_model(self, why: ModelSkipReason) -> "JudgeContext":
        """The same context without a model."""
        return replace(self, model=None, second_model=None, is_panel=False, no_model=why)

    def with_chosen_model(self, policy: Policy | None) -> "JudgeContext":
        """The same context with the model that the repository chose, if that is allowed."""
        name = policy.model if policy else None
        chosen = self.choices.get(name) if name and self.model is not None else None
        return self if chosen is None else replace(self, model=chosen, token_budget=self.token_budget_of(chosen))

    def token_budget_of(self, model: Model) -> TokenBudget:
        """How much this model is shown; the density of tokens differs between models."""
        return self.token_budgets.get(model.name, self.token_budget)

    @property
    def planned_judge(self) -> JudgeKind:
        """The kind of judge that is expected before judging."""
        if self.model is None or self.pause is not None or self.threshold <= 0:
            return JudgeKind.HEURISTIC
        return JudgeKind.LLM if self.threshold > ALWAYS else JudgeKind.HYBRID

    @property
    def judges(self) -> str:
        """The allowed tiers and models, as the fingerprint contains them."""
        if self.pause is not None:
            return "nobody"
        second = f" second={self.second_model.name}" if self.second_model else ""
        panel = " board" if self.is_panel else ""
        return f"threshold={self.threshold:g} model={self.model.name if self.model else None}{second}{panel}"


@dataclass(frozen=True)
class PanelMember:
    """A model to ask. `focus`: a sentence on what to look at above all, or empty."""

    name: str
    model: Model
    focus: str = ""


@dataclass(frozen=True)
class EvaluationHeader:
    """The header of a verdict. `parent_eval_id`: the verdict that is judged again, if any."""

    eval_id: EvalId
    subject: Subject
    created_at: datetime
    fingerprint: Fingerprint
    monotonic_ms: Callable[[], int]
    parent_eval_id: EvalId | None = None


@dataclass(frozen=True)
class ReplyCosts:
    """The cost of replies. `cost_usd` None: the price of one is unknown.

    `lost_usd`: the most that unanswered questions may have cost. `near`: the budget cap that is almost reached.
    """

    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: Decimal | None = Decimal(0)
    replies: int = 0
    near: CapLevel | None = None
    lost_usd: Decimal = Decimal(0)

    @property
    def is_owed(self) -> bool:
        """Whether a model answered, or may have worked without an answer."""
        return self.replies > 0 or self.lost_usd > 0

    @property
    def most_usd(self) -> Decimal | None:
        """The upper bound of the whole cost."""
        return None if self.cost_usd is None else self.cost_usd + self.lost_usd

    def with_lost(self, usd: Decimal) -> "ReplyCosts":
        return replace(self, lost_usd=self.lost_usd + usd)

    def with_reply(self, reply: ModelReply) -> "ReplyCosts":
        is_known = self.cost_usd is not None and reply.cost_usd is not None
        cost = (self.cost_usd or Decimal(0)) + (reply.cost_usd or Decimal(0)) if is_known else None
        lost = self.lost_usd + reply.lost_usd
        return ReplyCosts(self.tokens + reply.tokens, cost, self.replies + 1, reply.near_cap, lost)


@dataclass(frozen=True)
class JudgingResult:
    """How a verdict came about: the ruling, what was read, which models were asked, and their cost.

    `answers`: the model's on open conditions; `conditions`: all of them afterwards. `exchanges`, `steps` and `redactions` are for the
    audit alone: each question with its outcome, the way of the opinion, what was redacted. `opinions`: each one of several.
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


@dataclass(frozen=True)
class PanelOpinion:
    """The result of one panel member, as if it had judged alone."""

    member: PanelMember
    result: JudgingResult
