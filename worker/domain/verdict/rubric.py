"""The rubric: what is scored, what 10/10 looks like, and the thresholds."""

from typing import Annotated, Literal

from pydantic import Field

from worker.domain.model import Frozen
from worker.domain.verdict.verdict import Category, Text, Unit


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


class Rubric(VersionedRubric):
    criteria: Annotated[tuple[RubricCriterion, ...], Field(min_length=1)]
    categories: dict[Category, Text]
    """What each category means, as the judge reads it."""
    signals: dict[str, Unit]
    """Weight of each heuristic signal."""
    escalation_threshold: Annotated[float, Field(ge=0)] = 0.7
