"""The rubric: what is scored, what 10/10 looks like, and the thresholds."""

from typing import Annotated, Final, Literal

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
