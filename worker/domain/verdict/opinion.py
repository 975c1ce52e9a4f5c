"""What one tier thinks; the judge joins opinions to a verdict."""

from enum import StrEnum
from typing import Final

from pydantic import Field, model_validator

from worker.domain.model import Frozen
from worker.domain.verdict.verdict import (
    Category,
    ConditionState,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    Score,
    Text,
    Unit,
)

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
