"""The `evaluate` block of a bench row: what a recorded final response is held against, beside the verdict.

The primitives are metis' (section 5.4); their names are kept.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from worker.domain.model import Frozen
from worker.domain.verdict.verdict import Text, Unit


class CreditMap(StrEnum):
    """How the share of passed tests becomes a score."""

    LINEAR = "linear"
    """The share itself."""
    STEPPED = "stepped"
    """1 for all, 0.5 for at least half, else 0."""


class PartialCredit(Frozen):
    """Credit for a part of the tests: `(base + credit) / 2`."""

    enabled: bool = True
    criterion: Literal["test_pass_count_ratio"] = "test_pass_count_ratio"
    map: CreditMap = CreditMap.LINEAR


class EvaluateBlock(Frozen):
    """What a row asks of the final response. Without one recorded, the case's summary is read.

    `rubric`, `llm_judge_model` and `weight_per_turn` are accepted so that a block of metis' fits, and not used: the run's tier
    judges, and a dossier is one turn.
    """

    rubric: Literal["heuristic", "llm", "hybrid"] | None = None
    llm_judge_model: str | None = None
    weight_per_turn: float | None = None
    expect_substring_in_final_response: Text | None = None
    grounding_tokens: tuple[Text, ...] = ()
    forbidden_grounding: tuple[Text, ...] = ()
    partial_credit: PartialCredit | None = None
    final_response: str | None = None


class Evaluation(Frozen):
    """The composed score and, by name, what it was composed of."""

    score: Unit
    signals: Annotated[dict[str, str | int | float | bool | None], Field(default_factory=dict)]
