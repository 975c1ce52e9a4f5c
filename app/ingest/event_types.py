"""The events that a delivery may be, each with the fields that Assay uses.

Payloads are validated when they are read, so events validate nothing. Events hold no text of people but a command's reason.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import AuthorKind, CommandName, PullRef, ReviewRef
from worker.domain.model import InstallationId, RepositoryId, RepositoryName, Sha


@dataclass(frozen=True, slots=True)
class Ignored:
    """A delivery that nothing follows from. `reason`: a word for the log and the response."""

    reason: str


class FrozenEvent(Struct, frozen=True, kw_only=True):
    """An immutable struct: a pydantic model takes ten times as long to create."""


class PullEvent(FrozenEvent, frozen=True, kw_only=True):
    """An event about one pull request."""

    pull: PullRef
    repository: RepositoryName


class HeadEvent(PullEvent, frozen=True, kw_only=True):
    """An event with the pull request's head and author, as delivered. `author` None: the account is deleted.

    `is_outside`: opened from a fork by an account that the delivery calls no owner, member or collaborator.
    """

    head_sha: Sha
    author: AuthorKind | None = None
    draft: bool = False
    base_sha: Sha | None = None
    base_ref: str | None = None
    is_outside: bool = False


class PullOpened(HeadEvent, frozen=True, kw_only=True):
    """`has_case`: the description holds an `assay` block."""

    has_case: bool = False


class PullPushed(HeadEvent, frozen=True, kw_only=True):
    """`by_another`: by a person other than the opener. `before`: the previous head. `has_case`: as of `PullOpened`."""

    by_another: bool = False
    before: Sha | None = None
    has_case: bool = False


class PullReopened(HeadEvent, frozen=True, kw_only=True):
    by_person: bool = False


class PullReady(HeadEvent, frozen=True, kw_only=True):
    """A draft became ready for review."""


class PullDrafted(HeadEvent, frozen=True, kw_only=True):
    """The pull request became a draft."""


class ReviewRequested(HeadEvent, frozen=True, kw_only=True):
    """A review was requested."""


class PullRequestEdit(StrEnum):
    """What an edit changed, of what is judged."""

    CASE = "case"
    BASE = "base"
    LINKS = "links"
    TEXT = "text"
    """The criteria in its title or text, or its case is gone."""


class PullEdited(HeadEvent, frozen=True, kw_only=True):
    """`closes`: issues that state the criteria instead of the edited text, if one can be read."""

    edit: PullRequestEdit
    closes: tuple[tuple[str, int], ...] = ()


class WrittenText(PullEvent, frozen=True, kw_only=True):
    """A text at a pull request, or a button. `comment_id` None: a button, or a review's own text.

    `in_review`: at a line of the change or in a review. `head_sha`: of the button or the review. `review`: the one that holds the text,
    or that `login` dismissed. `said_at`: when it was written.
    """

    comment_id: int | None
    login: str
    is_bot: bool = False
    head_sha: Sha | None = None
    in_review: bool = False
    review: ReviewRef | None = None
    said_at: datetime | None = None


class CommandIssued(WrittenText, frozen=True, kw_only=True):
    """A command, whose author's permission is not yet checked.

    `misspelt`: the text that was taken for `command`. `decides`: the review's decision beside the command in its text.
    """

    command: CommandName
    reason: str = ""
    misspelt: str | None = None
    decides: CommandName | None = None


class RerunRequested(PullEvent, frozen=True, kw_only=True):
    """Re-run of our check run. `head_sha`: the current head; None: GitHub does not name it."""

    head_sha: Sha | None


class PullClosed(PullEvent, frozen=True, kw_only=True):
    """`merge_sha` None: not merged. `mends`, `reverts`: what it declares about earlier ones (`worker.dossier.issues`)."""

    head_sha: Sha
    by_person: bool
    merge_sha: Sha | None = None
    mends: bool = False
    reverts: tuple[int, ...] = ()


class PersonCommented(PullEvent, frozen=True, kw_only=True):
    """A person wrote something that is no command."""


class FeedbackGiven(PullEvent, frozen=True, kw_only=True):
    """A feedback button of our check run was pressed."""

    head_sha: Sha | None
    is_helpful: bool


class RepositoryEvent(FrozenEvent, frozen=True, kw_only=True):
    """An event about a repository."""

    installation_id: InstallationId
    repository_id: RepositoryId


class CiChanged(RepositoryEvent, frozen=True, kw_only=True):
    """Another App's check or a status completed on a commit. The index in Redis knows whose head that is."""

    head_sha: Sha
    has_failed: bool = False
    is_green: bool = False
    """All checks of one App on this commit passed."""


class HeadRerunRequested(RepositoryEvent, frozen=True, kw_only=True):
    """Re-run all, or Re-run where GitHub names no pull request."""

    head_sha: Sha


class IssueChanged(RepositoryEvent, frozen=True, kw_only=True):
    """An issue's title or text was edited, or the issue was deleted or transferred."""

    repository: RepositoryName
    number: int


class BranchPushed(RepositoryEvent, frozen=True, kw_only=True):
    """A push. `reverted_commits`: commits that its messages declare reverted.

    `has_new_config`: it touches the configuration; `has_new_rules`: that, or a rules file. `is_rewritten`: a force-push.
    """

    branch: str
    reverted_commits: tuple[Sha, ...] = ()
    has_new_config: bool = False
    has_new_rules: bool = False
    is_rewritten: bool = False


class MergeGroupChanged(RepositoryEvent, frozen=True, kw_only=True):
    """GitHub's merge queue tries a commit; with `ended` it no longer does."""

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
    """The App was installed or uninstalled, its repositories changed, or requested permissions were granted."""

    installation_id: InstallationId
    is_installed: bool
    added_repositories: tuple[VisibleRepository, ...] = ()
    removed_repositories: tuple[RepositoryId, ...] = ()
    has_new_permissions: bool = False


PullChanged = PullOpened | PullPushed | PullReopened | PullReady | PullDrafted | PullEdited | ReviewRequested

JudgeableEvent = PullChanged | RerunRequested
"""Events that may have one pull request judged."""

RepositoryWideEvent = CiChanged | HeadRerunRequested | IssueChanged | BranchPushed
"""Events that name no pull request, and may be about several."""

OutcomeEvent = PullClosed | PersonCommented | FeedbackGiven
"""Events that may be an outcome of a verdict. They judge nothing."""

Event = JudgeableEvent | RepositoryWideEvent | OutcomeEvent | CommandIssued | MergeGroupChanged | InstallationChanged
