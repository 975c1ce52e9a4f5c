"""What happens to pull requests and repositories at GitHub: events that may be outcomes, and what a sweep lists.

An event holds closed sets, numbers, hashes and times only: no login, no text, no name of a repository.
"""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from worker.domain.config.config import Authors
from worker.domain.dossier.dossier import PullRequest
from worker.domain.ids import BaseHash, DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.model import Frozen
from worker.domain.request.judge_request import AuthorKind, PullRef
from worker.domain.value import Value


class PullRequestEventKind(StrEnum):
    """What the door or a judge noted down, before anybody looked into a ledger."""

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
    """Something that may be an outcome. Of what only names a commit, `number` is None.

    `before_sha`: the commit that a push led from. `merge_sha`: what a merge left on the base branch. `mends`: it says that it fixes something. `reverts`: the pull
    requests that it says it takes back; `reverted_shas`: the commits. `issues`: which ones it closes, by `hash_issue`.
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
    """Tells issues apart, without a name."""
    return hashlib.sha256(f"{repository.lower()}#{number}".encode()).hexdigest()[:16]


class RepositoryAdded(Frozen):
    """`since`: when we heard of it. `page`: how often as many were looked at as may be at once.

    `delivery_id`: what told of it; empty where an older version wrote this down.
    """

    installation_id: InstallationId
    repository_id: RepositoryId
    repository: RepositoryName
    since: datetime
    page: Annotated[int, Field(ge=0)] = 0
    delivery_id: DeliveryId = DeliveryId("")

    @property
    def id(self) -> str:
        """The same, however often it is heard."""
        return f"{self.installation_id}:{self.repository_id}:{self.page}"


class PullSnapshot(Value):
    """A pull request's author and state. `authors` None: whom the repository judges can't be told from here.

    `is_required`: merges into its base wait for our check. `is_passed_unjudged`: the repository lets it pass where nothing was judged.
    """

    pull: PullRequest
    authors: Authors | None
    is_required: bool = False
    is_passed_unjudged: bool = False


class OpenPull(Value):
    """One open pull request. `author` by account and branch alone; `base`: which branch it is to be merged into."""

    number: int
    head_sha: Sha
    opened_at: datetime
    draft: bool
    author: AuthorKind
    base: BaseHash


class Repository(Value):
    """A repository that the App may see. `is_busy`: an issue or a pull request may be open there."""

    id: RepositoryId
    name: RepositoryName
    is_busy: bool = True


class OpenRepository(Value):
    """A repository with its open pull requests."""

    repository: Repository
    pulls: tuple[OpenPull, ...]
