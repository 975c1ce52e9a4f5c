"""The two rubrics that no model reads: how the life of a CI check and the outcomes of a pull request are weighed.

Does not read files (`worker.judge.rubric` does) and does not score (`worker.judge.ci_checks` and `worker.judge.outcome_scores` do).
Invariant: an unknown field is refused by its path, and what outweighs what is not for a rubric to turn round.
"""

from typing import Annotated

from pydantic import Field, model_validator

from worker.domain.verdict.outcomes import OutcomeKind, Strength
from worker.domain.verdict.rubric import VersionedRubric
from worker.domain.verdict.verdict import Unit


class CiCheckRubric(VersionedRubric):
    """How one CI check's life on a head is scored. `loosening`: the part of its score that each signal takes."""

    most: Annotated[int, Field(ge=1, le=100)]
    """How many checks of a head are recorded, the worst first."""
    passed: Unit
    rerun: Unit
    """What each run before the one that passed takes."""
    flaky_least: Unit
    failed: Unit
    unproved: Unit
    """Of what did not finish, or was skipped."""
    loosening: dict[str, Unit]


class PullRequestRubric(VersionedRubric):
    """How outcomes move the score of a pull request's submissions.

    `last`: the part of its last submission in where it begins; the rest is the mean of all. `speaks_for`: where an outcome
    moves it to. `pull`: how far outcomes of a strength move it, the stronger after the weaker.
    """

    last: Unit
    speaks_for: dict[OutcomeKind, Unit]
    pull: dict[Strength, Unit]
    confidence: dict[Strength, Unit]
    without_outcomes: Unit
    """The most confidence that a pull request without any outcome gets."""
    contradicted: Unit
    """The part that is left of the confidence where outcomes of two strengths disagree."""

    @model_validator(mode="after")
    def _the_stronger_outweighs_the_weaker(self) -> "PullRequestRubric":
        explicit, implicit, lifecycle = (self.pull.get(strength, 0.0) for strength in Strength)
        if not explicit > implicit > lifecycle > 0 or implicit <= 0.5:  # noqa: PLR2004 - less would not turn a score
            msg = "pull: explicit has to be more than implicit, implicit more than lifecycle and more than 0.5"
            raise ValueError(msg)
        return self
