"""What travels on the queue: judge this pull request, because of this. It carries no text of the pull request."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from worker.domain.ids import BaseHash, DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.model import Frozen
from worker.domain.value import Value

LOCAL_INSTALLATION: Final = InstallationId(0)
"""What is judged on a laptop belongs to no installation of the App."""


class PullRef(Frozen):
    """One pull request, by numbers that never change. A laptop's branches live under LAPTOP."""

    installation_id: InstallationId
    repository_id: RepositoryId
    number: Annotated[int, Field(ge=0)]


class Trigger(StrEnum):
    """What made us judge."""

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
        """A word that only a later version knows: whatever it means, a pull request is to be judged."""
        return cls.LATE if isinstance(value, str) else None


class AuthorKind(StrEnum):
    """Who opened a pull request, as far as the delivery tells: its commits may still show an agent behind a person."""

    AGENT = "agent"
    BOT = "bot"
    PERSON = "person"


MANUAL_TRIGGERS: Final = frozenset({Trigger.COMMAND, Trigger.FORCE, Trigger.CONTEST, Trigger.RERUN, Trigger.LOCAL})
"""Somebody who may asked for it: whoever wrote the pull request, draft or not."""

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
"""What was said of a head may count no more from then on: nobody may rely on it until it was judged again."""

AUTHOR_EDIT_TRIGGERS: Final = frozenset({Trigger.CASE, Trigger.EDITED, Trigger.TEXT})
"""The author's own text was edited: what it says, or which issues it closes."""

HEAD_TRIGGERS: Final = frozenset({Trigger.OPENED, Trigger.PUSHED})
"""They say that a head came, and no more: GitHub may have shown it, or a newer one, to a judge before they did."""


class FirstSeen(Frozen):
    """When we first heard of a head."""

    head_sha: Sha
    at: datetime


class JudgeRequest(Frozen):
    """`head_sha` is what the trigger knew (a comment knows none); the judge asks for the head itself.

    `outages`: how often this head was judged in vain, because no model could be reached. `author` None: the trigger did not say.
    `arrived`: of the newest head, though something else asked for its judging since. `base_sha`: what the delivery said
    of the change, which saves requests; nothing is judged by it. `base`: which branch it is to be merged into, if the delivery
    said so: the quiet window is that one's. `outside`: opened from a fork by an account that the delivery calls no owner, member or
    collaborator; it gives way to all others of its installation.
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
    """What people ask for. A code owner's review (APPROVED, CHANGES) does, too, and is of the commit that was reviewed.

    DISMISSED: such a review is taken back, by whomever GitHub lets.
    """

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
    """A review, as GitHub knows it: its number, its name in GraphQL where we heard it, and who wrote it."""

    id: Annotated[int, Field(ge=1)]
    login: Annotated[str, Field(min_length=1)]
    node_id: str = ""


class CommandRequest(Frozen):
    """A command in a comment or of a button, before anybody checked that its author may give it.

    `comment_id` None: a button of the check on `head_sha`. `reason`: what follows the command, in its author's words.
    `is_bot`: its author is one. `misspelt`: what was written instead of `command`, which is only the nearest one there is.
    `in_review`: the comment stands at a line of the change, which GitHub keeps apart from those of the conversation.
    `sealed`: the reason while it waits, encrypted. `review`: the one that says so, or the one that `login` dismissed.
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


class JudgingPlan(Value):
    """When a pull request is to be judged, and how long nothing may happen to it before that."""

    due_at: datetime
    window_s: float
