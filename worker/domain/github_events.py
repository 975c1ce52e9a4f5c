"""What happens at GitHub: events that may be outcomes, what a sweep lists, missed deliveries, and merge groups.

An event holds closed sets, numbers, hashes and times only: no login, no text, no name of a repository.

A merge group is the commit on which GitHub's merge queue tries one pull request, before it becomes the base branch. Groups hold
one pull request each and are chained: the parent of a group is the group before it. Which pull request a group tries is read from
its ref alone: in a squash queue the commit is new and belongs to no pull request.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from worker.domain.config.config import Authors
from worker.domain.dossier import PullRequest
from worker.domain.judge_request import AuthorKind, JudgeRequest, PullRef, Trigger
from worker.domain.model import (
    BaseHash,
    CommitKey,
    DeliveryId,
    Frozen,
    InstallationId,
    RepositoryId,
    RepositoryName,
    Sha,
)
from worker.domain.pattern import pattern


class PullRequestEventKind(StrEnum):
    """What the webhook intake or a judge recorded, before the ledger is read."""

    JUDGED = "judged"
    MERGED = "merged"
    CLOSED = "closed"
    REOPENED = "reopened"
    PUSHED_BY_ANOTHER = "pushed_by_another"
    ASKED_AGAIN = "asked_again"
    OVERRIDDEN = "overridden"
    OVERRIDDEN_OWN = "overridden_own"
    CONTESTED = "contested"
    CONTEST_UPHELD = "contest_upheld"
    SPOKE = "spoke"
    HELPFUL = "helpful"
    NOT_HELPFUL = "not_helpful"
    CI_FAILED = "ci_failed"
    REVERTED = "reverted"


class PullRequestEvent(Frozen):
    """An event that may be an outcome. `number` None: it names a commit only.

    `before_sha`: the head before a push. `merge_sha`: the commit of a merge on the base branch. `mends`: its text declares a fix.
    `reverts`, `reverted_shas`: the pull requests and the commits that its text reverts. `issues`: those that it closes, by
    `hash_issue`.
    """

    what: PullRequestEventKind
    installation_id: InstallationId
    repository_id: RepositoryId
    number: Annotated[int, Field(ge=0)] | None = None
    delivery_id: DeliveryId
    at: datetime
    by_person: bool = False
    head_sha: Sha | None = None
    before_sha: Sha | None = None
    merge_sha: Sha | None = None
    mends: bool = False
    reverts: tuple[int, ...] = ()
    reverted_shas: tuple[Sha, ...] = ()
    issues: tuple[str, ...] = ()

    @property
    def pull(self) -> PullRef | None:
        return None if self.number is None else self.pull_with_number(self.number)

    def pull_with_number(self, number: int) -> PullRef:
        """Another pull request of this repository."""
        return PullRef(installation_id=self.installation_id, repository_id=self.repository_id, number=number)


def hash_issue(repository: str, number: int) -> str:
    """A hash that tells issues apart without naming them."""
    return hashlib.sha256(f"{repository.lower()}#{number}".encode()).hexdigest()[:16]


class RepositoryAdded(Frozen):
    """A repository that the App may see: pull requests that were open at `since` are older than Assay there.

    `page`: how many pages of them were read. `delivery_id`: empty where an older version wrote this.
    """

    installation_id: InstallationId
    repository_id: RepositoryId
    repository: RepositoryName
    since: datetime
    page: Annotated[int, Field(ge=0)] = 0
    delivery_id: DeliveryId = DeliveryId("")

    @property
    def id(self) -> str:
        """The same for each delivery about it."""
        return f"{self.installation_id}:{self.repository_id}:{self.page}"


@dataclass(frozen=True)
class PullSnapshot:
    """A pull request's author and state. `authors` None: the repository's configuration is not known.

    `is_required`: merges into its base wait for our check. `is_passed_unjudged`: the repository lets it pass unjudged.
    """

    pull: PullRequest
    authors: Authors | None
    is_required: bool = False
    is_passed_unjudged: bool = False


@dataclass(frozen=True)
class OpenPull:
    """One open pull request. `author`: by account and branch alone. `base`: the branch to merge into."""

    number: int
    head_sha: Sha
    opened_at: datetime
    draft: bool
    author: AuthorKind
    base: BaseHash


@dataclass(frozen=True)
class Repository:
    """A repository that the App may see. `is_busy`: an issue or a pull request may be open there."""

    id: RepositoryId
    name: RepositoryName
    is_busy: bool = True


@dataclass(frozen=True)
class OpenRepository:
    """A repository with its open pull requests."""

    repository: Repository
    pulls: tuple[OpenPull, ...]


SETTLE_TIME: Final = timedelta(seconds=30)
"""GitHub's timeout for an answer, and some: before that an attempt without an answer may still arrive."""

REDELIVERY_LIMIT: Final = timedelta(days=3)
"""GitHub redelivers nothing older."""


class DeliveryAttempt(Frozen):
    """One attempt at a delivery. `guid` names the delivery, `id` the attempt; `is_again`: it was not the first.

    `failed`: how often GitHub failed to redeliver it.
    """

    id: int
    guid: str
    at: datetime
    status_code: int
    is_again: bool = False
    failed: int = 0

    @property
    def is_delivered(self) -> bool:
        return 200 <= self.status_code < 300  # noqa: PLR2004 - HTTP's successes

    def is_settled(self, now: datetime) -> bool:
        """Whether it is known to have failed, and GitHub would still redeliver it."""
        return (SETTLE_TIME if self.status_code == 0 else timedelta(0)) <= now - self.at < REDELIVERY_LIMIT


class DeliveryCursor(Frozen):
    """The position in GitHub's list. `began`: when the pass started. `since`: how far back it goes. `cursor` None: the newest."""

    began: datetime
    since: datetime
    cursor: str | None = None


def find_missed(attempts: Iterable[DeliveryAttempt], now: datetime) -> Sequence[DeliveryAttempt]:
    """The newest attempt of each delivery that never arrived, the oldest first."""
    by_age = sorted(attempts, key=age_order)
    arrived = {attempt.guid for attempt in by_age if attempt.is_delivered}
    newest = {attempt.guid: attempt for attempt in by_age if attempt.guid not in arrived}
    return sorted((attempt for attempt in newest.values() if attempt.is_settled(now)), key=age_order)


def retry_order(attempt: DeliveryAttempt) -> tuple[int, datetime, int]:
    """Redeliver first what GitHub failed to redeliver least often."""
    return attempt.failed, attempt.at, attempt.id


def age_order(attempt: DeliveryAttempt) -> tuple[datetime, int]:
    return attempt.at, attempt.id


BRANCH_PREFIX: Final = "refs/heads/"
QUEUE_PREFIX: Final = "refs/heads/gh-readonly-queue/"
ENTRY_PATTERN: Final = pattern(r"/pr-([1-9][0-9]{0,8})-[0-9a-f]{40}")
"""Behind the base branch: the one pull request, and the commit that it was put upon."""

NO_PULL: Final = 0
"""The number of no pull request, under which the check registry keeps the checks of merge groups."""


class GroupEnd(StrEnum):
    """Why GitHub ended a group."""

    MERGED = "merged"
    INVALIDATED = "invalidated"
    DEQUEUED = "dequeued"


class MergeGroup(Frozen):
    """A group that GitHub wants checked; with `ended`: no longer."""

    installation_id: InstallationId
    repository_id: RepositoryId
    repository: RepositoryName
    head_sha: Sha
    base_sha: Sha
    base_ref: str
    head_ref: str
    delivery_id: DeliveryId
    at: datetime
    ended: GroupEnd | None = None

    @property
    def id(self) -> str:
        """The same for all deliveries about it."""
        return f"{self.installation_id}:{self.repository_id}:{self.head_sha}"

    @property
    def commit(self) -> CommitKey:
        return self.installation_id, self.repository_id, self.head_sha

    @property
    def number(self) -> int:
        """The number of the pull request that it tries; NO_PULL: its ref names none."""
        return find_pull_number(self.head_ref, self.base_ref)

    @property
    def pull(self) -> PullRef:
        """The pull request that it tries."""
        return PullRef(installation_id=self.installation_id, repository_id=self.repository_id, number=self.number)

    def request(self, number: int, head_sha: Sha, trigger: Trigger) -> JudgeRequest:
        """A request for its pull request or, with NO_PULL, for itself."""
        return JudgeRequest(
            pull=self.pull.model_copy(update={"number": number}),
            repository=self.repository,
            head_sha=head_sha,
            trigger=trigger,
            delivery_id=self.delivery_id,
            requested_at=self.at,
        )


def find_pull_number(head_ref: str, base_ref: str) -> int:
    """The number of the pull request that a group tries. The base branch's name may hold slashes, or look like an entry."""
    base = base_ref.removeprefix(BRANCH_PREFIX)
    head = f"{QUEUE_PREFIX}{base}"
    if not base or base == base_ref or not head_ref.startswith(head):
        return NO_PULL
    entry = ENTRY_PATTERN.fullmatch(head_ref[len(head) :])
    return int(entry[1]) if entry else NO_PULL
