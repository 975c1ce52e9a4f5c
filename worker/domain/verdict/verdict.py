"""The verdict: what the judge decided, why, and what it cost; the opinions that it is made of, and the rubric behind them.

A contradiction (an accept with a category, a reject without a next step, a score on the wrong side) can't be built.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, field_serializer, model_validator

from worker.domain.model import EvalId, Fingerprint, Frozen, InstallationId, RepositoryId, RepositoryName, Sha

Unit = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Line = Annotated[int, Field(ge=1)]


class Category(StrEnum):
    """The kind of failure. A closed set: tests compare rubric, prompt and README with it."""

    SCOPE_CREEP = "scope_creep"
    ACCEPTANCE_GAP = "acceptance_gap"
    WEAK_TEST = "weak_test"
    TESTS_PASS_BUT_WRONG = "tests_pass_but_wrong"  # noqa: S105 - a category, not a password
    HALF_FINISHED = "half_finished"
    SPEC_VIOLATION = "spec_violation"


class AbstainReason(StrEnum):
    """Why the change was not judged. Each has its own default conclusion."""

    CI_FAILED = "ci_failed"
    CI_PENDING = "ci_pending"
    UNPROVEN = "unproven"
    JUDGE_UNAVAILABLE = "judge_unavailable"
    REPLY_INVALID = "reply_invalid"
    BUDGET = "budget"
    TOO_LARGE = "too_large"
    NO_CRITERIA = "no_criteria"
    NEEDS_HUMAN = "needs_human"
    PAUSED = "paused"


class ThrottledReason(StrEnum):
    PR_CAP = "pr_cap"
    DAILY_CAP = "daily_cap"


class Side(StrEnum):
    """Which version of a file a line number counts in."""

    BASE = "base"
    HEAD = "head"


class CriterionStatus(StrEnum):
    MET = "met"
    PARTIAL = "partial"
    MISSING = "missing"
    UNVERIFIABLE = "unverifiable"


class ClaimStatus(StrEnum):
    VERIFIED = "verified"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    OMITTED = "omitted"


class EvidencePointer(Frozen):
    """A place that exists. `quote` is the line as it is in the file; `line` is None for a whole file."""

    path: Annotated[str, StringConstraints(min_length=1)]  # as it is: a path may begin or end with a space
    line: Line | None = None
    end_line: Line | None = None
    side: Side = Side.HEAD
    quote: str | None = None
    note: str = ""

    @model_validator(mode="after")
    def _check_line_order(self) -> "EvidencePointer":
        if self.end_line is not None and (self.line is None or self.end_line < self.line):
            msg = "end_line needs a line that is not after it"
            raise ValueError(msg)
        return self

    @property
    def location(self) -> str:
        """`path:line`, or the path alone."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Finding(Frozen):
    """The report of one signal. A fact may reject; a suspicion only routes to the model and lowers the score.

    `instead_of`: the lines that it replaced; a fact's become evidence. `step`: what removes a fact; it becomes the verdict's next
    step. Neither is recorded with the finding.
    """

    signal: Text
    category: Category
    fact: bool
    path: str | None = None
    line: Line | None = None
    end_line: Line | None = None
    side: Side = Side.HEAD
    weight: Unit = 0.0
    note: str = ""
    instead_of: EvidencePointer | None = Field(default=None, exclude=True)
    step: str = Field(default="", exclude=True)

    @property
    def location(self) -> str:
        """`path:line`, the path alone, or nothing."""
        return f"{self.path or ''}:{self.line}" if self.path and self.line is not None else self.path or ""


class CriterionVerdict(Frozen):
    id: Text
    status: CriterionStatus
    claimed: bool = False
    evidence: tuple[EvidencePointer, ...] = ()
    note: str = ""


class ClaimVerdict(Frozen):
    claim: Text
    status: ClaimStatus
    note: str = ""


class Score(Frozen):
    """One rubric criterion, 1 to 10, integers only (Simmer: no half-points)."""

    criterion: Text
    score: Annotated[int, Field(ge=1, le=10)]
    reasoning: str
    improvement: str


class ConditionState(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"


class ClosingCondition(Frozen):
    """What a reject asked for: frozen then, and part of every later verdict."""

    id: Text
    text: Text
    state: ConditionState = ConditionState.OPEN


class Coverage(Frozen):
    """What the judge read, as paths. An accept needs `partly` and `unread` empty."""

    read: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return not self.partly and not self.unread


class Tokens(Frozen):
    """Tokens by the model's count, over all calls of this verdict. The four never overlap."""

    input: Annotated[int, Field(ge=0)] = 0
    output: Annotated[int, Field(ge=0)] = 0
    cache_read: Annotated[int, Field(ge=0)] = 0
    cache_write: Annotated[int, Field(ge=0)] = 0

    @property
    def prompt(self) -> int:
        """All tokens that the model read."""
        return self.input + self.cache_read + self.cache_write

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


class SubjectKind(StrEnum):
    SUBMISSION = "submission"
    MERGE_GROUP = "merge_group"
    CI_CHECK = "ci_check"
    PULL_REQUEST = "pull_request"
    BENCHMARK = "benchmark"


class Subject(Frozen):
    """What was judged: one head commit of one pull request."""

    kind: SubjectKind = SubjectKind.SUBMISSION
    installation_id: InstallationId
    repository_id: RepositoryId
    repository: RepositoryName
    number: Annotated[int, Field(ge=0)]
    head_sha: Sha


class JudgeKind(StrEnum):
    HEURISTIC = "heuristic"
    LLM = "llm"
    HYBRID = "hybrid"


class BaseVerdict(Frozen):
    """The fields of every verdict, whatever was decided."""

    verdict_version: Literal[1] = 1
    eval_id: EvalId
    parent_eval_id: EvalId | None = None
    carried_from: EvalId | None = None
    subject: Subject
    author_agent: str | None
    round: Annotated[int, Field(ge=1)]
    concern: Text
    evidence: tuple[EvidencePointer, ...] = ()
    throttled_reason: ThrottledReason | None = None
    criteria: tuple[CriterionVerdict, ...] = ()
    claims: tuple[ClaimVerdict, ...] = ()
    case_error: str | None = None
    scores: tuple[Score, ...] = ()
    composite: Annotated[float, Field(ge=1, le=10)] | None = None
    findings: tuple[Finding, ...] = ()
    closing_conditions: tuple[ClosingCondition, ...] = ()
    coverage: Coverage = Coverage()
    score: Unit
    confidence: Unit
    judge_kind: JudgeKind
    judge_model: str | None = None
    judge_cost_usd: Decimal | None = Decimal(0)
    judge_pricing_version: str | None = None
    judge_latency_ms: Annotated[int, Field(ge=0)] = 0
    tokens: Tokens = Tokens()
    escalated: bool
    escalation_reason: Text
    rubric_id: Text
    rubric_version: Text
    prompt_version: str | None = None
    fingerprint: Fingerprint
    signals: dict[str, str | int | float | bool | tuple[str, ...] | None] = Field(default_factory=dict)
    created_at: datetime

    @field_serializer("judge_cost_usd")
    def _serialize_cost(self, cost: Decimal | None) -> str | None:
        return None if cost is None else format(cost, "f")

    @model_validator(mode="after")
    def _check_heuristic_cost(self) -> "BaseVerdict":
        if self.judge_kind is JudgeKind.HEURISTIC and (
            self.judge_cost_usd != 0 or self.judge_model is not None or self.judge_pricing_version is not None
        ):
            msg = "a heuristic verdict has no model and no price"
            raise ValueError(msg)
        return self


class Accept(BaseVerdict):
    """The only value from which `success` can be written."""

    decision: Literal["accept"] = "accept"
    category: None = None
    next_step: None = None
    abstain_reason: None = None
    score: Annotated[float, Field(ge=0.5, le=1)]

    @model_validator(mode="after")
    def _check_coverage_and_criteria(self) -> "Accept":
        if not self.coverage.is_complete:
            msg = f"an accept needs every file read, {[*self.coverage.partly, *self.coverage.unread]} was not"
            raise ValueError(msg)
        if not self.scores and all(criterion.status is CriterionStatus.UNVERIFIABLE for criterion in self.criteria):
            return self  # code accepts: it compared texts, and checked no criterion
        if bare := [
            criterion.id
            for criterion in self.criteria
            if criterion.status is not CriterionStatus.MET or not criterion.evidence
        ]:
            msg = f"an accept needs every criterion met with evidence, {bare} is not"
            raise ValueError(msg)
        return self


class Reject(BaseVerdict):
    """A failure that can be pointed at: a place, or a criterion that nothing meets."""

    decision: Literal["reject"] = "reject"
    category: Category
    next_step: Text
    abstain_reason: None = None
    score: Annotated[float, Field(ge=0, lt=0.5)]

    @model_validator(mode="after")
    def _check_evidence(self) -> "Reject":
        unmet = any(
            criterion.status in {CriterionStatus.MISSING, CriterionStatus.PARTIAL} for criterion in self.criteria
        )
        if not self.evidence and not unmet:
            msg = "a reject needs a pointer or an unmet criterion"
            raise ValueError(msg)
        return self


class CiFailure(Frozen):
    """The first failing check, the first failing test of its report, and the lines of its log about that."""

    check: Text
    test: str | None = None
    log: str = ""


class Abstain(BaseVerdict):
    """Not judged, and why; neither a reject nor a pass of the judge."""

    decision: Literal["abstain"] = "abstain"
    category: None = None
    next_step: Text
    abstain_reason: AbstainReason
    ci_failure: CiFailure | None = None


Verdict = Annotated[Accept | Reject | Abstain, Field(discriminator="decision")]

VERDICT_MODELS: Final = {"accept": Accept, "reject": Reject, "abstain": Abstain}
"""The model of each decision: where it is known, a third of VERDICT_ADAPTER's schema needs to be built."""

VERDICT_ADAPTER: TypeAdapter[Accept | Reject | Abstain] = TypeAdapter(Verdict, config=ConfigDict(defer_build=True))
"""Reads and writes any verdict as JSON."""


def verdict_reason(verdict: Verdict | None) -> str | None:
    """Why it does not accept: its category, or its abstain reason."""
    reason = None if verdict is None else verdict.category or verdict.abstain_reason
    return None if reason is None else reason.value


CERTAIN_CONFIDENCE: Final = 0.7
"""metis' hybrid threshold: a heuristic confidence at or above it decides."""


class HeuristicOpinion(Frozen):
    """The $0 tier. `safe`: why the change is accepted without a model, or None.

    `obstacle`: of a change to documentation, what could not be proved, and where.
    """

    score: Unit
    confidence: Unit
    findings: tuple[Finding, ...] = ()
    doubts: tuple[Finding, ...] = ()
    """What an accept has to answer as well, and is not shown to people: too many good changes have some of that kind."""
    criteria: tuple[CriterionVerdict, ...] = ()
    """What code can prove of each criterion: `missing`, else `unverifiable` with a note."""
    signals: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """Other measurements, by name, for the verdict's record."""
    safe: Text | None = None
    obstacle: Text | None = None
    reason: Text
    """Why the confidence is what it is, in one clause that reads after "confidence 0.58 < 0.70: "."""

    @property
    def facts(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.fact)

    @model_validator(mode="after")
    def _certainty_comes_from_a_fact_or_a_safe_change(self) -> "HeuristicOpinion":
        if self.confidence >= CERTAIN_CONFIDENCE and not self.facts and self.safe is None:
            msg = "only a fact or a safe change makes the heuristic tier certain"
            raise ValueError(msg)
        if self.facts and self.safe is not None:
            msg = "a change with a fact against it is not safe"
            raise ValueError(msg)
        return self


class Leaning(StrEnum):
    """What the model decided. `cannot_tell` is honest and goes to a person."""

    ACCEPT = "accept"
    REJECT = "reject"
    CANNOT_TELL = "cannot_tell"


class Breakdown(StrEnum):
    """What makes a score meaningless: nothing works, the output's form is broken, or the run failed."""

    NONE = "none"
    COMPLETE_FAILURE = "complete_failure"
    CONTRACT_VIOLATION = "contract_violation"
    INFRASTRUCTURE = "infrastructure"


class ConditionAnswer(Frozen):
    """The model's answer about one open closing condition."""

    id: Text
    state: ConditionState
    evidence: tuple[EvidencePointer, ...] = ()


class SettledAnswer(Frozen):
    """Why a suspicion of code does not matter, and the line that shows it."""

    id: Text
    why: str
    evidence: tuple[EvidencePointer, ...] = ()


class ModelOpinion(Frozen):
    """The LLM tier, after its reply was read and every pointer checked.

    `what_works` and `what_does_not`: of changes over many files. `dropped`: what was wrong with the pointers that are left out.
    """

    decision: Leaning
    category: Category | None
    concern: Text
    evidence: tuple[EvidencePointer, ...] = ()
    next_step: Text | None
    conditions: tuple[ConditionAnswer, ...] = ()
    settled: tuple[SettledAnswer, ...] = ()
    criteria: tuple[CriterionVerdict, ...] = ()
    breakdown: Breakdown = Breakdown.NONE
    scores: tuple[Score, ...] = ()
    score: Unit
    confidence: Unit
    what_works: str = ""
    what_does_not: str = ""
    dropped: tuple[str, ...] = ()


class RubricCriterion(Frozen):
    """One of the criteria scored 1 to 10; `ten` describes 10/10."""

    id: Text
    question: Text
    ten: Text


class VersionedRubric(Frozen):
    """The fields of every rubric, also of those that no model reads: an id and a version name one content for ever."""

    rubric_version: Literal[1] = 1
    id: Text
    version: Text


class Lens(Frozen):
    """One view of a panel: `focus` ends its question, and its reject in one of its `categories` needs no second one."""

    id: Text
    focus: Text
    categories: Annotated[tuple[Category, ...], Field(min_length=1)]


DEFAULT_LENSES: Final = (
    Lens(
        id="correctness",
        focus="Look through one lens: is what was asked for done, and does it work in general? Others look at tests and scope.",
        categories=(Category.ACCEPTANCE_GAP, Category.TESTS_PASS_BUT_WRONG, Category.HALF_FINISHED),
    ),
    Lens(
        id="tests",
        focus="Look through one lens: would the tests turn red if the new behaviour broke? Others look at the code and its scope.",
        categories=(Category.WEAK_TEST,),
    ),
    Lens(
        id="scope",
        focus="Look through one lens: does the change do only what was asked for, and keep the written rules? Others look at the rest.",
        categories=(Category.SCOPE_CREEP, Category.SPEC_VIOLATION),
    ),
)
"""The lenses of a rubric without its own; every category has one."""


class Rubric(VersionedRubric):
    criteria: Annotated[tuple[RubricCriterion, ...], Field(min_length=1)]
    categories: dict[Category, Text]
    """What each category means, as the judge reads it."""
    signals: dict[str, Unit]
    """Weight of each heuristic signal."""
    escalation_threshold: Annotated[float, Field(ge=0)] = 0.7
    lenses: Annotated[tuple[Lens, ...], Field(exclude_if=lambda lenses: not lenses)] = ()
    """The panel's lenses, the most important first. No field of a rubric without them, so that its hash stays."""

    @property
    def panel_lenses(self) -> tuple[Lens, ...]:
        return self.lenses or DEFAULT_LENSES
