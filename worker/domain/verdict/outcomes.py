"""What happened to a pull request after its verdict, how outcomes are weighed, and the signals demoted by them.

Outcomes hold closed sets, numbers and times only: no login, no text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import Field, model_validator

from worker.domain.github_events import PullRequestEventKind
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, Frozen, InstallationId, Sha
from worker.domain.verdict.events import EVENT_VERSION, Event, EventKind, Sensitivity, format_timestamp
from worker.domain.verdict.verdict import SubjectKind, Unit, VersionedRubric


class OutcomeKind(StrEnum):
    """What happened. `contest_upheld`: a contested reject was rejudged, and is none now. `own_override`: by the author."""

    MERGED = "merged"
    CLOSED_UNMERGED = "closed_unmerged"
    REOPENED = "reopened"
    REVERTED = "reverted"
    LATER_FIX = "later_fix"
    OVERRIDE = "override"
    OWN_OVERRIDE = "own_override"
    CONTEST = "contest"
    CONTEST_UPHELD = "contest_upheld"
    HELPFUL = "helpful"
    NOT_HELPFUL = "not_helpful"
    RETRY = "retry"
    EDIT_FOLLOWUP = "edit_followup"
    MANUAL_SWAP = "manual_swap"
    CI_RED_LATER = "ci_red_later"


class Strength(StrEnum):
    """How much an outcome proves about the verdict, the strongest first.

    EXPLICIT: a person's opinion of the verdict. IMPLICIT: an action that implies one. LIFECYCLE: the usual course of events.
    """

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"
    LIFECYCLE = "lifecycle"


STRENGTHS: Final[Mapping[OutcomeKind, Strength]] = MappingProxyType(
    {
        OutcomeKind.MERGED: Strength.LIFECYCLE,
        OutcomeKind.CLOSED_UNMERGED: Strength.LIFECYCLE,
        OutcomeKind.REOPENED: Strength.LIFECYCLE,
        OutcomeKind.REVERTED: Strength.IMPLICIT,
        OutcomeKind.LATER_FIX: Strength.IMPLICIT,
        OutcomeKind.RETRY: Strength.IMPLICIT,
        OutcomeKind.EDIT_FOLLOWUP: Strength.IMPLICIT,
        OutcomeKind.MANUAL_SWAP: Strength.IMPLICIT,
        OutcomeKind.CI_RED_LATER: Strength.IMPLICIT,
        OutcomeKind.CONTEST_UPHELD: Strength.IMPLICIT,
        OutcomeKind.OVERRIDE: Strength.EXPLICIT,
        OutcomeKind.OWN_OVERRIDE: Strength.EXPLICIT,
        OutcomeKind.CONTEST: Strength.EXPLICIT,
        OutcomeKind.HELPFUL: Strength.EXPLICIT,
        OutcomeKind.NOT_HELPFUL: Strength.EXPLICIT,
    }
)


class Outcome(Frozen):
    """One outcome. `eval_id`: the latest verdict on a submission that it is about; `at`: when it was received."""

    kind: OutcomeKind
    eval_id: EvalId | None = None
    head_sha: Sha | None = None
    at: datetime

    @property
    def strength(self) -> Strength:
        return STRENGTHS[self.kind]


def outcome_event(pull: PullRef, outcome: Outcome) -> Event:
    """`outcome.recorded`."""
    return Event(
        EventKind.OUTCOME,
        {
            "v": EVENT_VERSION,
            "subject_kind": SubjectKind.PULL_REQUEST.value,
            "subject_id": f"{pull.repository_id}/{pull.number}",
            "repository_id": pull.repository_id,
            "number": pull.number,
            "sensitivity": Sensitivity.PSEUDONYMOUS.value,
            "outcome": outcome.kind.value,
            "strength": outcome.strength.value,
            "eval_id": outcome.eval_id,
            "head_sha": outcome.head_sha,
            "at": format_timestamp(outcome.at),
        },
    )


class CiCheckRubric(VersionedRubric):
    """How one CI check's runs on a head are scored. `loosening`: the part of its score that each signal takes."""

    most: Annotated[int, Field(ge=1, le=100)]
    """How many checks of a head are recorded, the worst first."""
    passed: Unit
    rerun: Unit
    """The part that each run before the passing one takes."""
    flaky_least: Unit
    failed: Unit
    unproved: Unit
    """Of a check that did not finish, or was skipped."""
    loosening: dict[str, Unit]


class PullRequestRubric(VersionedRubric):
    """How outcomes move the score of a pull request's submissions.

    `last`: the weight of its last submission in the first score; the rest is the mean of all. `speaks_for`: the score that an
    outcome moves it to. `pull`: how far outcomes of a strength move it, the stronger after the weaker.
    """

    last: Unit
    speaks_for: dict[OutcomeKind, Unit]
    pull: dict[Strength, Unit]
    confidence: dict[Strength, Unit]
    without_outcomes: Unit
    """The most confidence that a pull request without any outcome gets."""
    contradicted: Unit
    """The part of the confidence that remains where outcomes of two strengths disagree."""

    @model_validator(mode="after")
    def _the_stronger_outweighs_the_weaker(self) -> "PullRequestRubric":
        explicit, implicit, lifecycle = (self.pull.get(strength, 0.0) for strength in Strength)
        if not explicit > implicit > lifecycle > 0 or implicit <= 0.5:  # noqa: PLR2004 - less would not turn a score
            msg = "pull: explicit has to be more than implicit, implicit more than lifecycle and more than 0.5"
            raise ValueError(msg)
        return self


THUMB_OUTCOMES: Final[Mapping[str, OutcomeKind]] = MappingProxyType(
    {"+1": OutcomeKind.HELPFUL, "-1": OutcomeKind.NOT_HELPFUL}
)
"""The outcomes of reactions at our comment; GitHub's other six are about no verdict."""

CLOSING_KINDS: Final = frozenset({PullRequestEventKind.MERGED, PullRequestEventKind.CLOSED})
"""The events after which reactions are read."""


@dataclass(frozen=True)
class Reaction:
    """One reaction, by GitHub's numbers: its own `id`, which is greater for a later one, and the `account` of its author."""

    id: int
    account: int
    is_bot: bool
    content: str
    at: datetime


def last_thumbs(reactions: Iterable[Reaction]) -> tuple[Reaction, ...]:
    """The last thumb of each person, oldest first. Reactions of bots do not count."""
    last: dict[int, Reaction] = {}
    for reaction in sorted(reactions, key=lambda reaction: reaction.id):
        if reaction.content in THUMB_OUTCOMES and not reaction.is_bot:
            last.pop(reaction.account, None)
            last[reaction.account] = reaction
    return tuple(last.values())


LEAST_REJECTS: Final = 40
MOST_PERCENT: Final = 5


class RejectCounts(Frozen):
    """The rejects that name a signal as a fact in one installation, and how many of them people overrode."""

    rejects: Annotated[int, Field(ge=0)]
    overturned: Annotated[int, Field(ge=0)]

    @property
    def is_over_limit(self) -> bool:
        return self.rejects >= LEAST_REJECTS and 100 * self.overturned > MOST_PERCENT * self.rejects


class Demotion(Frozen):
    """A signal that is only a suspicion in one installation, why, and since when."""

    signal: Annotated[str, Field(min_length=1)]
    tally: RejectCounts
    at: datetime

    @property
    def summary(self) -> str:
        """The notice."""
        tally = self.tally
        return (
            f"{self.signal} is a suspicion since {self.at:%Y-%m-%d}: {tally.overturned} of its {tally.rejects} rejects were "
            f"overridden, more than {MOST_PERCENT} %"
        )

    def notice(self, installation: InstallationId) -> str:
        """With what takes it back: for the log, `assay doctor` and `assay stats`."""
        how = f"`assay rubric promote {self.signal} --installation {installation}`"
        return f"{self.summary} (installation {installation}). {how} takes it back."
