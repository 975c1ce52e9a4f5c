"""What happens to pull requests and repositories at GitHub: events that may be outcomes, what a sweep lists, missed deliveries.

An event holds closed sets, numbers, hashes and times only: no login, no text, no name of a repository.
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
from worker.domain.ids import BaseHash, DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.judge_request import AuthorKind, PullRef
from worker.domain.model import Frozen


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
