"""What travels on the queue: judge this pull request, because of this. It carries no text of the pull request."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from worker.domain.model import BaseHash, DeliveryId, Frozen, InstallationId, RepositoryId, RepositoryName, Sha

LOCAL_INSTALLATION: Final = InstallationId(0)
"""The installation of what is judged on a laptop."""


class PullRef(Frozen):
    """One pull request, by numbers that never change."""

    installation_id: InstallationId
    repository_id: RepositoryId
    number: Annotated[int, Field(ge=0)]


class Trigger(StrEnum):
    """The cause of a judging."""

    OPENED = "opened"
    PUSHED = "pushed"
    REOPENED = "reopened"
    READY = "ready_for_review"
    REVIEW = "review_requested"
    CASE = "case"
    EDITED = "edited"
    TEXT = "text_edited"
    BASE = "base_changed"
    CRITERIA = "criteria_changed"
    RULES = "rules_changed"
    CI = "ci_finished"
    COMMAND = "command"
    FORCE = "force"
    CONTEST = "contest"
    RERUN = "rerun"
    SWEEP = "sweep"
    RESUMED = "resumed"
    DISMISSED = "review_dismissed"
    LATE = "late"
    OUTAGE = "outage"
    LOCAL = "local"

    @classmethod
    def _missing_(cls, value: object) -> "Trigger | None":
        """A trigger that only a later version knows: whatever it means, a pull request is to be judged."""
        return cls.LATE if isinstance(value, str) else None


class AuthorKind(StrEnum):
    """The kind of author, by a delivery: the commits may still show an agent behind a person."""

    AGENT = "agent"
    BOT = "bot"
    PERSON = "person"


MANUAL_TRIGGERS: Final = frozenset({Trigger.COMMAND, Trigger.FORCE, Trigger.CONTEST, Trigger.RERUN, Trigger.LOCAL})
"""Requested by hand: judged with any author, draft or not."""

DRAFT_TRIGGERS: Final = MANUAL_TRIGGERS | {Trigger.REVIEW, Trigger.CASE}
"""A draft is judged because of these."""

OUTDATING_TRIGGERS: Final = frozenset(
    {
        Trigger.EDITED,
        Trigger.TEXT,
        Trigger.BASE,
        Trigger.CASE,
        Trigger.CRITERIA,
        Trigger.RULES,
        Trigger.REOPENED,
        Trigger.READY,
    }
)
"""They may outdate the verdict on a head, which then shows no result until it was judged again."""

AUTHOR_EDIT_TRIGGERS: Final = frozenset({Trigger.CASE, Trigger.EDITED, Trigger.TEXT})
"""The author's own text was edited, or the issues that it closes."""

HEAD_TRIGGERS: Final = frozenset({Trigger.OPENED, Trigger.PUSHED})
"""They announce a head only: GitHub may have shown it, or a newer one, to a judge before."""


class FirstSeen(Frozen):
    """When a head was first announced."""

    head_sha: Sha
    at: datetime


class JudgeRequest(Frozen):
    """`head_sha`: of the trigger (a comment has none); the judge asks GitHub for the head.

    `outages`: how often the judging of this head failed because no model could be reached. `author` None: not in the trigger.
    `arrived`: of the newest head, also if something else requested its judging since. `base_sha`: by the delivery, to save
    requests; nothing is judged by it. `base`: the branch to merge into, if the delivery named it: the quiet window is that
    branch's. `outside`: opened from a fork by an account that the delivery calls no owner, member or collaborator; it gives way
    to all others of its installation.
    """

    pull: PullRef
    repository: RepositoryName
    head_sha: Sha | None
    trigger: Trigger
    delivery_id: DeliveryId
    requested_at: datetime
    outages: Annotated[int, Field(ge=0)] = 0
    author: AuthorKind | None = None
    draft: bool = False
    arrived: FirstSeen | None = None
    base_sha: Sha | None = None
    base: BaseHash | None = None
    outside: bool = False


class CommandName(StrEnum):
    """The commands. A code owner's review (APPROVED, CHANGES) of its commit is one, too, and so is its dismissal (DISMISSED)."""

    REJUDGE = "rejudge"
    FORCE = "rejudge force"
    CONTEST = "contest"
    OVERRIDE = "override"
    PAUSE = "assay pause"
    RESUME = "assay resume"
    HELP = "assay help"
    APPROVED = "review: approved"
    CHANGES = "review: changes requested"
    DISMISSED = "review: dismissed"


LONGEST_REASON: Final = 1000


class ReviewRef(Frozen):
    """A review: GitHub's number of it, its id in GraphQL where known, and its author's login."""

    id: Annotated[int, Field(ge=1)]
    login: Annotated[str, Field(min_length=1)]
    node_id: str = ""


class CommandRequest(Frozen):
    """A command of a comment or a button, before its author's rights are checked.

    `comment_id` None: a button of the check on `head_sha`. `reason`: the text behind the command. `is_bot`: its author is a bot.
    `misspelt`: the text instead of `command`, which is only the nearest one. `in_review`: the comment is at a line of the change,
    apart from the conversation. `sealed`: the reason while it waits, encrypted. `review`: the one that is the command, or that
    `login` dismissed.
    """

    pull: PullRef
    repository: RepositoryName
    comment_id: Annotated[int, Field(ge=1)] | None
    login: Annotated[str, Field(min_length=1)]
    command: CommandName
    delivery_id: DeliveryId
    asked_at: datetime
    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""
    sealed: Annotated[str, Field(max_length=10 * LONGEST_REASON)] | None = None
    is_bot: bool = False
    misspelt: Annotated[str, Field(max_length=100)] | None = None
    head_sha: Sha | None = None
    in_review: bool = False
    review: ReviewRef | None = None


@dataclass(frozen=True)
class JudgingPlan:
    """When a pull request is to be judged, and how long its quiet window is."""

    due_at: datetime
    window_s: float
