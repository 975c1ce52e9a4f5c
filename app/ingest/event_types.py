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


class Fact(Struct, frozen=True, kw_only=True):
    """Immutable, and closed. Each delivery makes some: a model would take ten times as long."""


class PullFact(Fact, frozen=True, kw_only=True):
    """What all events about one pull request have."""

    pull: PullRef
    repository: RepositoryName


class HeadFact(PullFact, frozen=True, kw_only=True):
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


class PullOpened(HeadFact, frozen=True, kw_only=True):
    """`has_case`: its description holds an `assay` block."""

    has_case: bool = False


class PullPushed(HeadFact, frozen=True, kw_only=True):
    """`by_another`: by a person who did not open the pull request. `before`: which commit it led from.

    `has_case`: the description holds an `assay` block.
    """

    by_another: bool = False
    before: Sha | None = None
    has_case: bool = False


class PullReopened(HeadFact, frozen=True, kw_only=True):
    by_person: bool = False


class PullReady(HeadFact, frozen=True, kw_only=True):
    """A draft is one no more."""


class PullDrafted(HeadFact, frozen=True, kw_only=True):
    """It became a draft."""


class ReviewAsked(HeadFact, frozen=True, kw_only=True):
    """Somebody is asked for a review."""


class Edit(StrEnum):
    """What of a pull request was edited that matters."""

    CASE = "case"
    BASE = "base"
    LINKS = "links"
    TEXT = "text"
    """What it says of itself: its case is gone, or it asks for something else now."""


class PullEdited(HeadFact, frozen=True, kw_only=True):
    """`closes`: issues that say what is asked for in the place of an edited text, where one of them can be read.

    `left_base_ref`: which branch it went into before.
    """

    edit: Edit
    closes: tuple[tuple[str, int], ...] = ()
    left_base_ref: str | None = None


class CommandGiven(PullFact, frozen=True, kw_only=True):
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


class RerunPressed(PullFact, frozen=True, kw_only=True):
    """Somebody pressed Re-run at our check. `head_sha` None: GitHub did not say what the head is now."""

    head_sha: Sha | None


class PullClosed(PullFact, frozen=True, kw_only=True):
    """`merge_sha` None: it was not merged. `mends`, `reverts`: what it says of earlier ones (`worker.dossier.mending`)."""

    head_sha: Sha
    by_person: bool
    merge_sha: Sha | None = None
    mends: bool = False
    reverts: tuple[int, ...] = ()


class PersonSpoke(PullFact, frozen=True, kw_only=True):
    """Somebody wrote what is no command. What it says is not looked at."""


class ThumbGiven(PullFact, frozen=True, kw_only=True):
    """Somebody pressed a button at our check."""

    head_sha: Sha | None
    is_helpful: bool


class Somewhere(Fact, frozen=True, kw_only=True):
    """What events about a repository have."""

    installation_id: InstallationId
    repository_id: RepositoryId


class CiMoved(Somewhere, frozen=True, kw_only=True):
    """Another App's check or a status ended on a commit. Whose head that is, our own index says."""

    head_sha: Sha
    has_failed: bool = False
    is_green: bool = False
    """All checks that one App ran on this commit passed."""


class HeadRerun(Somewhere, frozen=True, kw_only=True):
    """Somebody pressed Re-run all, or Re-run where GitHub does not say at which pull request."""

    head_sha: Sha


class IssueChanged(Somewhere, frozen=True, kw_only=True):
    """What an issue asks for was edited, or the issue is gone."""

    repository: RepositoryName
    number: int


class BranchMoved(Somewhere, frozen=True, kw_only=True):
    """A push. `reverted`: commits that it says it takes back.

    `has_new_config`: it touches the configuration on `branch`; `has_new_rules`: that, or another file that is judged by.
    `is_rewritten`: what `branch` was before is no part of it any more, be that rules or what others' changes build upon.
    """

    branch: str
    reverted: tuple[Sha, ...] = ()
    has_new_config: bool = False
    has_new_rules: bool = False
    is_rewritten: bool = False


class GroupTold(Somewhere, frozen=True, kw_only=True):
    """GitHub's merge queue tries a commit; with `ended`: no more."""

    repository: RepositoryName
    head_sha: Sha
    head_ref: str
    base_sha: Sha
    base_ref: str
    ended: GroupEnd | None = None


class Seen(Fact, frozen=True, kw_only=True):
    """A repository that the App may see."""

    repository_id: RepositoryId
    repository: RepositoryName


class AppMoved(Fact, frozen=True, kw_only=True):
    """The App was installed somewhere, or taken out, or may see more or less, or do more.

    `new`: repositories that it did not see before. `gone`: those that it does not see any more. `may_more`: permissions that it
    had asked for were given to it.
    """

    installation_id: InstallationId
    is_there: bool
    new: tuple[Seen, ...] = ()
    gone: tuple[RepositoryId, ...] = ()
    may_more: bool = False


PullChanged = PullOpened | PullPushed | PullReopened | PullReady | PullDrafted | PullEdited | ReviewAsked

Judgeable = PullChanged | RerunPressed
"""What may have one pull request judged."""

Elsewhere = CiMoved | HeadRerun | IssueChanged | BranchMoved
"""What names no pull request, and may be about several."""

Afterwards = PullClosed | PersonSpoke | ThumbGiven
"""What may say how a verdict was. Nothing is judged because of it."""

Event = Judgeable | Elsewhere | Afterwards | CommandGiven | GroupTold | AppMoved
