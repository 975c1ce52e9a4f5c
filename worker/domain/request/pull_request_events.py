"""What happens at GitHub to a pull request that was judged, as it is noted down before anybody looks into a ledger.

Does not say what follows (`worker.scheduling.outcomes` does). Invariant: closed sets, numbers, hashes and times only: no login, no
text of a pull request, not even the name of a repository.
"""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.model import Frozen
from worker.domain.request.judge_request import PullRef


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
