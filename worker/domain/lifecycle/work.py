"""What the store hands to the scheduler, and the scheduler to a judge."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final, Generic, Protocol, TypeVar

from worker.domain.check.author_comment import VerdictTask
from worker.domain.github_events import MergeGroup, PullRequestEvent, RepositoryAdded
from worker.domain.judge_request import CommandRequest, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import RequestDelivery
from worker.domain.model import BaseHash, CheckRunId, Frozen, InstallationId, RepositoryId, Sha
from worker.domain.time_range import JudgingPause

F = TypeVar("F", bound=VerdictTask)


class LeaseStore(Protocol):
    """Renews the leases of pull requests. Raises LeaseLost and Unavailable."""

    def renew_lease(self, lease: "PullRequestLease") -> Trigger | None: ...


class GroupLeaseStore(Protocol):
    """The same of merge groups."""

    def renew_lease(self, lease: "GroupLease") -> None: ...


RELEASED_AT_A_TIME: Final = 4
"""Pull requests released after each success during recovery from an outage: fast if it lasts, few failures if not."""


class PendingWork(Enum):
    """Kinds of pending work."""

    JUDGE = auto()
    OPEN_CHECK = auto()
    ANSWER_COMMAND = auto()
    ANSWER_GROUP = auto()
    WRITE_COMMENT = auto()
    RECORD_OUTCOMES = auto()
    JUDGE_WHOLE = auto()
    SYNC_SHARED_HEAD = auto()
    ADD_REPOSITORY = auto()
    UPLOAD_SARIF = auto()
    CONFIRM_DELIVERY = auto()


@dataclass(frozen=True)
class DispatchLimits:
    """Concurrent judgings: of one installation, of all, and (`outside`) of those from forks of outside contributors."""

    per_installation: int
    total: int
    outside: int = 1


def workers_for_strangers(workers: int) -> int:
    """Number of workers, besides *workers*, that only judge pull requests from forks of outside contributors."""
    return max(1, workers // 2)


@dataclass(frozen=True)
class DispatchedJob:
    """The dispatcher's next job. `is_outside`: opened from a fork by an outside contributor."""

    fence: int
    request: JudgeRequest
    is_outside: bool = False


@dataclass(frozen=True)
class PendingCheckRun:
    """A head that needs its check run. `seq`: number of the request. `is_outside`: from an outside contributor's fork."""

    head_sha: Sha
    request: JudgeRequest
    seq: str = ""
    is_outside: bool = False


@dataclass(frozen=True)
class RateLimitWait:
    """Duration of a rate limit, and of this pull request's turn among all that wait for it."""

    limit: timedelta
    turn: timedelta


@dataclass(frozen=True)
class JudgedHead:
    """A judged head (the newest one unless an event came meanwhile), and its base."""

    head_sha: Sha
    base: BaseHash | None = None


@dataclass(frozen=True)
class PullRequestLease:
    """The Lease of one judging."""

    pulls: LeaseStore
    pull: PullRef
    token: str
    fence: int

    def renew(self) -> Trigger | None:
        return self.pulls.renew_lease(self)


@dataclass(frozen=True)
class LeasedJob:
    """A judging that may start. *attempt* counts from 1; `waiting_since`: start of this head's wait for CI.

    `outage_count`: consecutive ends by an outage of GitHub, which count as no attempt.
    """

    lease: PullRequestLease
    request: JudgeRequest
    attempt: int
    waiting_since: datetime | None
    outage_count: int = 0


class ExpiredCheckRun(Frozen):
    """A check run past its deadline. `is_put_off`: it explains why it can't be judged now."""

    pull: PullRef
    head_sha: Sha
    check: CheckRunId
    is_put_off: bool = False


class QueuedGroup(Frozen):
    """A stored group. `waits`: its check run is published as waiting; `failed`: why its judging failed."""

    group: MergeGroup
    waits: bool = False
    failed: str = ""


@dataclass(frozen=True)
class GroupLease:
    """The Lease of one group's judging. *token*: of its job and its owner."""

    groups: GroupLeaseStore
    group: MergeGroup
    token: str
    fence: int = 0

    def renew(self) -> None:
        self.groups.renew_lease(self)


@dataclass(frozen=True)
class PendingGroup:
    """A group to answer; *attempt* counts from 1: crashes since its last postponement, without crashes of Redis itself."""

    queued: QueuedGroup
    attempt: int

    @property
    def group(self) -> MergeGroup:
        return self.queued.group


@dataclass(frozen=True)
class LeasedGroup(PendingGroup):
    """One that the job with this lease answers, and judges if need be."""

    lease: GroupLease


@dataclass(frozen=True)
class QueuedCommand:
    """A command to answer; *attempt* counts from 1."""

    command: CommandRequest
    attempt: int


@dataclass(frozen=True)
class QueuedDelivery:
    """A delivery to confirm; *attempt* counts from 1. *known*: number of the last event, and the head, as it was taken."""

    delivery: RequestDelivery
    attempt: int
    known: tuple[int | None, Sha | None] = (None, None)


@dataclass(frozen=True, slots=True)
class QueuedFollowUp(Generic[F]):
    """A task; *attempt* counts from 1. *text*: its stored text, which another version may write differently."""

    follow_up: F
    attempt: int
    text: str


@dataclass(frozen=True)
class QueuedAddedRepository:
    """An added repository; *attempt* counts from 1."""

    added: RepositoryAdded
    attempt: int


@dataclass(frozen=True)
class QueuedPullRequestEvent:
    """A pull request event; *attempt* counts from 1."""

    event: PullRequestEvent
    attempt: int


@dataclass(frozen=True)
class DuePullRequest:
    """A pull request whose outcome verdict is due. `is_reevaluation`: it had one since its last submission."""

    pull: PullRef
    turn: int
    is_reevaluation: bool


@dataclass(frozen=True)
class ActivePause:
    """A pause in force. `is_everywhere`: set by the operator for all repositories."""

    suspension: JudgingPause
    is_everywhere: bool


class PausedRepository(Frozen):
    """A repository with heads that wait for the end of a pause."""

    installation_id: InstallationId
    repository_id: RepositoryId
