"""The store as the scheduler uses it. All methods are idempotent and raise Unavailable."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from worker.domain.check.author_comment import CommentJob, VerdictTask
from worker.domain.check.check_run import SarifUpload
from worker.domain.check.overrides import Contest, Override, ReviewDecision, ReviewDismissal
from worker.domain.check.shared_head import CommitRef
from worker.domain.github_events import MergeGroup, PullRequestEvent, Repository, RepositoryAdded
from worker.domain.judge_request import CommandRequest, FirstSeen, JudgeRequest, PullRef, ReviewRef
from worker.domain.lifecycle.intake import AppliedDelivery, IntakeOutcome, RequestDelivery, ShownPull
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import (
    ActivePause,
    DispatchedJob,
    DispatchLimits,
    DuePullRequest,
    ExpiredCheckRun,
    JudgedHead,
    LeasedGroup,
    LeasedJob,
    PausedRepository,
    PendingCheckRun,
    PendingGroup,
    PendingWork,
    PullRequestLease,
    QueuedAddedRepository,
    QueuedCommand,
    QueuedDelivery,
    QueuedFollowUp,
    QueuedGroup,
    QueuedPullRequestEvent,
    RateLimitWait,
)
from worker.domain.metrics import DurationMetric, EventCount
from worker.domain.model import BaseHash, CheckRunId, CommitKey, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.ports import DecisionStore, JudgeRequests, Ledger
from worker.domain.time_range import JudgingPause

F = TypeVar("F", bound=VerdictTask)
Queued_co = TypeVar("Queued_co", covariant=True)
Task_contra = TypeVar("Task_contra", contravariant=True)
Done_contra = TypeVar("Done_contra", contravariant=True)

Subject = JudgeRequest | MergeGroup
"""What a check run is about: a pull request, as its newest request has it, or a merge group."""


class PullRequests(JudgeRequests, Protocol):
    """The queue of judgings; `worker.domain.lifecycle` has its rules."""

    def record_base(self, pull: PullRef, base: BaseHash) -> BaseHash: ...

    def claim_leadership(self, token: str) -> bool: ...

    def resign_leadership(self, token: str) -> None: ...

    def next_due(self, call: str, limits: DispatchLimits) -> DispatchedJob | None: ...

    def next_to_open(self, outside: int = 1) -> PendingCheckRun | None: ...

    def mark_opened(self, pull: PullRef, head_sha: Sha, seq: str = "") -> None: ...

    def postpone_opening(self, pull: PullRef, head_sha: Sha, delay: timedelta) -> None: ...

    def requeue_lost(self, *queue_keys: str) -> int: ...

    def requeue_dead(self, pull: PullRef, fence: int) -> bool: ...

    def requeue_orphaned(self, pull: PullRef, check: CheckRunId, why: str = "") -> bool: ...

    def request_correction(self, lease: PullRequestLease, request: JudgeRequest) -> None: ...

    def take_lease(self, pull: PullRef, fence: int) -> LeasedJob | None: ...

    def finish(
        self,
        lease: PullRequestLease,
        how: Finish,
        wait: timedelta | RateLimitWait = ...,
        later: JudgeRequest | None = None,
        of: JudgedHead | None = None,
    ) -> FinishResult: ...

    def count_waiting(self, installation: InstallationId) -> int: ...

    def release_waiting(self, installation: InstallationId) -> None: ...


class Inbox(Protocol):
    """Deliveries that are not applied yet, in their order."""

    def read(self, count: int) -> Sequence[str]:
        """The oldest entries."""
        ...

    def apply(self, entry: str) -> AppliedDelivery | None:
        """Apply the oldest entry and remove it. None: another process has done it.

        Raises any exception for an entry that can't be applied.
        """
        ...

    def put_aside(self, entry: str) -> None:
        """Remove the oldest entry, and keep it for the next process that dispatches."""
        ...

    def restore(self) -> None:
        """Append what was put aside."""
        ...


class MergeGroups(Protocol):
    """Unanswered merge groups."""

    def next(self) -> PendingGroup | None: ...

    def postpone(self, queued: QueuedGroup, delay: timedelta) -> None: ...

    def complete(self, group: MergeGroup) -> None: ...

    def reopen(
        self, commit: CommitKey, delivery_id: DeliveryId, at: datetime, *, is_orphaned: bool = False
    ) -> IntakeOutcome: ...

    def find_group(self, commit: CommitKey) -> MergeGroup | None: ...

    def settled_at(self, pull: PullRef) -> int | None:
        """The number of the last event of a pull request; None: a judging is due."""
        ...

    def dispatch(self, group: MergeGroup) -> str | None: ...

    def take_lease(self, group_id: str, token: str) -> LeasedGroup | None: ...

    def requeue_dead(self, group_id: str, token: str) -> bool: ...


class CheckWatch(Protocol):
    """Open check runs and their deadlines."""

    def newest_head(self, pull: PullRef) -> Sha | None: ...

    def stays(self, pull: PullRef, head_sha: Sha) -> bool: ...

    def doubt(self, pull: PullRef, head_sha: Sha) -> str: ...

    def is_as_known(self, pull: PullRef, head_sha: Sha, doubt: str) -> None: ...

    def record_expired(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> bool: ...

    def take_expired(self) -> Sequence[ExpiredCheckRun]: ...

    def postpone_expired(self, late: ExpiredCheckRun, delay: timedelta) -> None: ...

    def take_orphaned(self) -> Sequence[ExpiredCheckRun]: ...


class TaskQueue(Protocol[Queued_co, Task_contra, Done_contra]):
    """Background tasks of one kind."""

    def next(self) -> Queued_co | None: ...

    def postpone(self, task: Task_contra, delay: timedelta, /) -> None: ...

    def complete(self, done: Done_contra, /) -> None: ...


FollowUpTasks = TaskQueue[QueuedFollowUp[F], F, QueuedFollowUp[F]]
CommandTasks = TaskQueue[QueuedCommand, CommandRequest, CommandRequest]


class PullRequestEventTasks(TaskQueue[QueuedPullRequestEvent, PullRequestEvent, PullRequestEvent], Protocol):
    """Unprocessed pull request events."""

    def put(self, event: PullRequestEvent) -> object: ...


class UnconfirmedDeliveries(TaskQueue[QueuedDelivery, RequestDelivery, RequestDelivery], Protocol):
    """Deliveries of unknown order."""

    def confirm(self, queued: QueuedDelivery, shown: ShownPull, *, is_last: bool) -> IntakeOutcome:
        """Apply a delivery with the head and base that GitHub shows, and remove it.

        UNCONFIRMED: something has changed since it was taken, so GitHub has to be asked again. LATE: nothing follows from it; it is
        kept where GitHub's answer may lag, unless this one *is_last*.
        """
        ...


class AddedRepositoryTasks(TaskQueue[QueuedAddedRepository, RepositoryAdded, RepositoryAdded], Protocol):
    """Recently added repositories."""

    def repositories(self, installation: InstallationId) -> Collection[RepositoryId]: ...


class FirstSeenRepositories(Protocol):
    """When the App first saw each repository."""

    def record_seen(
        self, installation: InstallationId, repositories: Sequence[Repository], installed_at: datetime, now: datetime
    ) -> Mapping[RepositoryId, datetime]: ...


class SharedHeadTasks(Protocol):
    """Commits whose check runs may be out of sync."""

    def next(self) -> tuple[CommitRef, int] | None: ...

    def postpone(self, commit: CommitRef, delay: timedelta) -> None: ...


class DueOutcomes(Protocol):
    """Pull requests with a due outcome verdict."""

    def next_due(self) -> DuePullRequest | None: ...

    def complete(self, due: DuePullRequest) -> None: ...


class Pauses(Protocol):
    def find_pause(self, installation: InstallationId, repository: RepositoryId) -> ActivePause | None: ...

    def pause(self, installation: InstallationId, repository: RepositoryId, suspension: JudgingPause) -> None: ...

    def resume(self, installation: InstallationId, repository: RepositoryId) -> bool: ...


class PausedHeads(Protocol):
    """Heads that wait for the end of a pause."""

    def put(self, request: JudgeRequest) -> None: ...

    def remove(self, pull: PullRef) -> None: ...

    def next(self) -> Sequence[PausedRepository]: ...

    def list_requests(self, paused: PausedRepository) -> Sequence[JudgeRequest]: ...

    def remove_repository(self, paused: PausedRepository) -> None: ...


class Decisions(DecisionStore, Protocol):
    """Decisions of persons, as commands change them."""

    def override(self, pull: PullRef, head_sha: Sha, decision: Override) -> bool: ...

    def contest(self, pull: PullRef, head_sha: Sha, decision: Contest) -> None: ...

    def force(self, pull: PullRef, head_sha: Sha, at: datetime) -> None: ...

    def review(self, pull: PullRef, head_sha: Sha, decision: ReviewDecision) -> None: ...

    def find_dismissal(self, pull: PullRef, review: ReviewRef) -> ReviewDismissal | None: ...

    def dismiss(self, pull: PullRef, review: ReviewRef, decision: ReviewDismissal) -> None: ...

    def withdraw(self, pull: PullRef, head_sha: Sha, decision: ReviewDismissal) -> None: ...

    def is_vouched(self, pull: PullRef) -> bool: ...

    def mark_vouched(self, pull: PullRef) -> None: ...

    def claim_action(self, pull: PullRef, act: str, delivery: DeliveryId, at: datetime) -> datetime | None: ...

    def newest_arrival(self, pull: PullRef) -> FirstSeen | None: ...

    def claim_answer(self, pull: PullRef, what: str, delivery: DeliveryId) -> bool: ...


class Measures(Protocol):
    """Figures of `/metrics`."""

    def count(self, what: EventCount) -> None: ...

    def record_duration(self, span: DurationMetric, seconds: float) -> None: ...

    def count_verdict(
        self, installation: InstallationId, decision: str, reason: str, seconds: float | None
    ) -> None: ...


class OrphanedEvaluations(Protocol):
    def end_orphaned(self) -> int: ...


class SchedulingStore(Protocol):
    """All parts of the store."""

    @property
    def inbox(self) -> Inbox: ...

    @property
    def pulls(self) -> PullRequests: ...

    @property
    def groups(self) -> MergeGroups: ...

    @property
    def commands(self) -> CommandTasks: ...

    @property
    def comment_jobs(self) -> FollowUpTasks[CommentJob]: ...

    @property
    def scans(self) -> FollowUpTasks[SarifUpload]: ...

    @property
    def unconfirmed(self) -> UnconfirmedDeliveries: ...

    @property
    def pull_request_events(self) -> PullRequestEventTasks: ...

    @property
    def added_repositories(self) -> AddedRepositoryTasks: ...

    @property
    def first_seen(self) -> FirstSeenRepositories: ...

    @property
    def shared_heads(self) -> SharedHeadTasks: ...

    @property
    def outcomes(self) -> DueOutcomes: ...

    @property
    def events(self) -> OrphanedEvaluations: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def decisions(self) -> Decisions: ...

    @property
    def pauses(self) -> Pauses: ...

    @property
    def paused_heads(self) -> PausedHeads: ...

    @property
    def measures(self) -> Measures: ...

    def checks(self) -> CheckWatch: ...

    def find_pending_work(self, call: str) -> frozenset[PendingWork]:
        """Kinds of work that are due. *call* names the next dispatch: one that was already answered counts as due, too."""
        ...

    def close(self) -> None:
        """Close connections; a later call opens new ones."""
        ...
