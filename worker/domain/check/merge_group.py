"""A merge group: the commit on which GitHub's merge queue tries one pull request, before it becomes the base branch.

Groups hold one pull request each and are chained: the parent of a group is the group before it. Which pull request a group tries
is read from its ref alone: in a squash queue the commit is new and belongs to no pull request.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from worker.domain.ids import CommitKey, DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.model import Frozen
from worker.domain.pattern import pattern

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
