"""What a delivery may mean to us: the events, each with the facts that we use of it.

Does not read deliveries (`app.ingest.pull_request` and others do), decides nothing, and validates nothing again: that was done as it was read
(`app.ingest.payloads`), and is once more where something is written down. Invariant: closed facts; of a text is kept what was read out
of it, never the text, but for what somebody told us on purpose with a command.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.request.judge_request import AuthorKind, CommandName, PullRef, ReviewRef


@dataclass(frozen=True, slots=True)
class Ignored:
    """Not for us, and why: a word for logs and for the answer to GitHub."""

    reason: str


class FrozenEvent(Struct, frozen=True, kw_only=True):
    """Immutable, and closed. Each delivery makes some: a model would take ten times as long."""


class PullEvent(FrozenEvent, frozen=True, kw_only=True):
    """What all events about one pull request have."""

    pull: PullRef
    repository: RepositoryName


class HeadEvent(PullEvent, frozen=True, kw_only=True):
    """Its head and whose it is, as the delivery said. `author` None: the account is gone.

    `base_sha`, `base_ref`: what it is compared with. `is_outside`: opened from a fork by an account
    that the delivery calls no owner, member or collaborator.
    """

    head_sha: Sha
    author: AuthorKind | None = None
    draft: bool = False
    base_sha: Sha | None = None
    base_ref: str | None = None
    is_outside: bool = False


class PullOpened(HeadEvent, frozen=True, kw_only=True):
    """`has_case`: its description holds an `assay` block."""

    has_case: bool = False


class PullPushed(HeadEvent, frozen=True, kw_only=True):
    """`by_another`: by a person who did not open the pull request. `before`: which commit it led from.

    `has_case`: the description holds an `assay` block.
    """

    by_another: bool = False
    before: Sha | None = None
    has_case: bool = False


class PullReopened(HeadEvent, frozen=True, kw_only=True):
    by_person: bool = False


class PullReady(HeadEvent, frozen=True, kw_only=True):
    """A draft is one no more."""


class PullDrafted(HeadEvent, frozen=True, kw_only=True):
    """It became a draft."""


class ReviewRequested(HeadEvent, frozen=True, kw_only=True):
    """Somebody is asked for a review."""


class PullRequestEdit(StrEnum):
    """What of a pull request was edited that matters."""

    CASE = "case"
    BASE = "base"
    LINKS = "links"
    TEXT = "text"
    """What it says of itself: its case is gone, or it asks for something else now."""


class PullEdited(HeadEvent, frozen=True, kw_only=True):
    """`closes`: issues that say what is asked for in the place of an edited text, where one of them can be read.

    `left_base_ref`: which branch it went into before.
    """

    edit: PullRequestEdit
    closes: tuple[tuple[str, int], ...] = ()
    left_base_ref: str | None = None


class CommandIssued(PullEvent, frozen=True, kw_only=True):
    """Somebody gave a command. Whether they may is not known yet. `comment_id` None: by a button, or in a review's own text.

    `in_review`: at a line of the change. `misspelt`: what stands there instead of `command`. `head_sha`: where the button was.
    `review`: the one that says so, or that `login` dismissed. `decides`: what that review says beside the command in its text.
    `said_at`: when it was written, where GitHub says so.
    """

    comment_id: int | None
    login: str
    command: CommandName
    reason: str = ""
    is_bot: bool = False
    misspelt: str | None = None
    head_sha: Sha | None = None
    in_review: bool = False
    review: ReviewRef | None = None
    decides: CommandName | None = None
    said_at: datetime | None = None


class RerunRequested(PullEvent, frozen=True, kw_only=True):
    """Somebody pressed Re-run at our check. `head_sha` None: GitHub did not say what the head is now."""

    head_sha: Sha | None


class PullClosed(PullEvent, frozen=True, kw_only=True):
    """`merge_sha` None: it was not merged. `mends`, `reverts`: what it says of earlier ones (`worker.dossier.reverts`)."""

    head_sha: Sha
    by_person: bool
    merge_sha: Sha | None = None
    mends: bool = False
    reverts: tuple[int, ...] = ()


class PersonCommented(PullEvent, frozen=True, kw_only=True):
    """Somebody wrote what is no command. What it says is not looked at."""


class FeedbackGiven(PullEvent, frozen=True, kw_only=True):
    """Somebody pressed a button at our check."""

    head_sha: Sha | None
    is_helpful: bool


class RepositoryEvent(FrozenEvent, frozen=True, kw_only=True):
    """What events about a repository have."""

    installation_id: InstallationId
    repository_id: RepositoryId


class CiChanged(RepositoryEvent, frozen=True, kw_only=True):
    """Another App's check or a status ended on a commit. Whose head that is, our own index says."""

    head_sha: Sha
    has_failed: bool = False
    is_green: bool = False
    """All checks that one App ran on this commit passed."""


class HeadRerunRequested(RepositoryEvent, frozen=True, kw_only=True):
    """Somebody pressed Re-run all, or Re-run where GitHub does not say at which pull request."""

    head_sha: Sha


class IssueChanged(RepositoryEvent, frozen=True, kw_only=True):
    """What an issue asks for was edited, or the issue is gone."""

    repository: RepositoryName
    number: int


class BranchPushed(RepositoryEvent, frozen=True, kw_only=True):
    """A push. `reverted_commits`: commits that it says it takes back.

    `has_new_config`: it touches the configuration on `branch`; `has_new_rules`: that, or another file that is judged by.
    `is_rewritten`: what `branch` was before is no part of it any more, be that rules or what others' changes build upon.
    """

    branch: str
    reverted_commits: tuple[Sha, ...] = ()
    has_new_config: bool = False
    has_new_rules: bool = False
    is_rewritten: bool = False


class MergeGroupChanged(RepositoryEvent, frozen=True, kw_only=True):
    """GitHub's merge queue tries a commit; with `ended`: no more."""

    repository: RepositoryName
    head_sha: Sha
    head_ref: str
    base_sha: Sha
    base_ref: str
    ended: GroupEnd | None = None


class VisibleRepository(FrozenEvent, frozen=True, kw_only=True):
    """A repository that the App may see."""

    repository_id: RepositoryId
    repository: RepositoryName


class InstallationChanged(FrozenEvent, frozen=True, kw_only=True):
    """The App was installed somewhere, or taken out, or may see more or less, or do more.

    `added_repositories`: repositories that it did not see before. `removed_repositories`: those that it does not see any more. `has_new_permissions`: permissions that it
    had asked for were given to it.
    """

    installation_id: InstallationId
    is_installed: bool
    added_repositories: tuple[VisibleRepository, ...] = ()
    removed_repositories: tuple[RepositoryId, ...] = ()
    has_new_permissions: bool = False


PullChanged = PullOpened | PullPushed | PullReopened | PullReady | PullDrafted | PullEdited | ReviewRequested

JudgeableEvent = PullChanged | RerunRequested
"""What may have one pull request judged."""

RepositoryWideEvent = CiChanged | HeadRerunRequested | IssueChanged | BranchPushed
"""What names no pull request, and may be about several."""

OutcomeEvent = PullClosed | PersonCommented | FeedbackGiven
"""What may say how a verdict was. Nothing is judged because of it."""

Event = JudgeableEvent | RepositoryWideEvent | OutcomeEvent | CommandIssued | MergeGroupChanged | InstallationChanged
