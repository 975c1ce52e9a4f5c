"""The dispatcher: queues what is due, opens check runs, answers commands, requeues what was lost.

One dispatcher leads at a time, by a lease. It works on Redis in one thread, and runs what needs GitHub as background tasks in a few
threads, so that a slow GitHub delays no judging. Work that was interrupted is retried; during an outage of Redis it waits.
"""

import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf
from typing import Final, Protocol, assert_never

from worker.domain.check.author_comment import CommentJob
from worker.domain.check.check_run import SarifUpload
from worker.domain.check.shared_head import CommitRef
from worker.domain.github_events import MergeGroup, PullRequestEvent, RepositoryAdded
from worker.domain.judge_request import CommandRequest, JudgeRequest
from worker.domain.lifecycle.intake import IntakeOutcome, RequestDelivery
from worker.domain.lifecycle.work import (
    RELEASED_AT_A_TIME,
    DispatchLimits,
    DuePullRequest,
    ExpiredCheckRun,
    PendingGroup,
    PendingWork,
    QueuedDelivery,
    workers_for_strangers,
)
from worker.domain.metrics import EventCount
from worker.domain.model import CheckRunId, DeliveryId, InstallationId, Sha
from worker.domain.ports import Clock
from worker.errors import (
    Bug,
    Discard,
    FailCheck,
    Outage,
    RetryAfterOutage,
    RetryAt,
    RetryIn,
    RetryRule,
    Unavailable,
    classify,
)
from worker.log import bind_log_fields, log_fields
from worker.scheduling.jobs import count_event, record_first_check, resume_paused_heads
from worker.scheduling.ports import F, FollowUpTasks, SchedulingStore, Subject
from worker.scheduling.queue import JudgeQueue
from worker.scheduling.retry import RetrySlot, TaskBackoff
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
MAX_TASKS: Final = 8
"""Tasks that run at a time."""

MAX_OUTSIDE_TASKS: Final = MAX_TASKS // 4
"""Of these, tasks that open check runs for outsiders' forks; as many confirm deliveries."""

DELIVERIES_AT_A_TIME: Final = 200
"""Deliveries that are applied before other work has its turn: about a fifth of a second."""

CONFIRM_DELIVERY: Final = "confirm delivery"
RECORD_OUTCOMES: Final = "record outcomes"
JUDGE_WHOLE: Final = "judge whole pull request"
SYNC_SHARED_HEAD: Final = "sync shared head"
ADD_REPOSITORY: Final = "add repository"
CLEAN_UP: Final = "clean up"
RECONCILE: Final = "reconcile"
REPOSITORY_INTERVAL_S: Final = 20.0
"""Between two new repositories: GitHub allows few writes a minute."""

LONGEST_PAUSE_S: Final = 5.0
OPEN_RETRY_S: Final = 2.0
"""First retry of a check run that GitHub did not open: people are looking at the pull request."""

GROUP_RETRY_S: Final = 10.0
"""First retry of a merge group, which blocks its queue."""

MAX_DELAY_FACTOR: Final = 6
"""The longest retry delay of an urgent task during an outage of GitHub, in multiples of its first delay."""


class TaskHandlers(Protocol):
    """The work of each task. Raises `worker.errors`."""

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close_expired_check(self, subject: Subject, head_sha: Sha, check: CheckRunId) -> None: ...

    def confirm_delivery(self, queued: QueuedDelivery) -> None: ...

    def answer_command(self, command: CommandRequest) -> None: ...

    def record_outcomes(self, event: PullRequestEvent) -> None: ...

    def judge_whole_pull_request(self, due: DuePullRequest) -> None: ...

    def answer_merge_group(self, pending: PendingGroup) -> None: ...

    def update_author_comment(self, job: CommentJob) -> None: ...

    def upload_sarif(self, scan: SarifUpload) -> None: ...

    def show_repository_added(self, added: RepositoryAdded) -> None: ...

    def sync_shared_head(self, commit: CommitRef) -> None: ...

    def clean_up(self) -> None: ...

    def reconcile(self) -> None: ...


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """A task at GitHub. `complete`: record that it is done; `postpone`: retry it later; *first_retry_s*: its first retry delay.

    `discard`: called where it is given up; None: `complete` is. `installation` 0: of none.
    `is_prioritized`: a merge queue waits for it, so after a rate limit it is not spread among others.
    `is_outside`: it is about an outsider's fork; few of these run at a time.
    """

    name: str
    work: Callable[[TaskHandlers], None]
    complete: Callable[[], None]
    postpone: Callable[[timedelta], None] = lambda _: None
    discard: Callable[[], None] | None = None
    first_retry_s: float = inf
    attempt: int = 1
    installation: int = 0
    is_prioritized: bool = False
    is_outside: bool = False
    fields: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of a task across its retries."""
        return (self.name, *map(str, self.fields.values()))


def retry_rule_for(task: BackgroundTask, settings: Settings) -> RetryRule:
    """The retry rule of a task; an urgent one is retried sooner."""
    rule = settings.retry_rule
    if task.first_retry_s == inf:
        return rule
    soon = timedelta(seconds=task.first_retry_s)
    return replace(
        rule, first_delay=min(rule.first_delay, soon), longest_delay=min(rule.longest_delay, soon * MAX_DELAY_FACTOR)
    )


OpenTaskHandlers = Callable[[], AbstractContextManager[TaskHandlers]]


def limit_dispatches(workers: int) -> DispatchLimits:
    """Reserve one worker for other installations and let two jobs wait; one of outside contributors, who have own workers."""
    return DispatchLimits(max(1, workers - 1), workers + 2, workers_for_strangers(workers) + 1)


class Dispatcher:
    """The dispatcher of one process; it idles while another one leads."""

    def __init__(
        self, settings: Settings, store: SchedulingStore, open_handlers: OpenTaskHandlers, clock: Clock
    ) -> None:
        self._settings = settings
        self._timing = settings.timing
        self._store = store
        self._open_handlers = open_handlers
        self._clock = clock
        self._queue = JudgeQueue(settings)
        self._checks = store.checks()
        self._token = secrets.token_hex(16)
        self._call = secrets.token_hex(16)
        self._limits = limit_dispatches(settings.workers)
        self._next_sweep = 0.0
        self._next_turns: dict[str, float] = {}
        self._tasks: dict[Future[None], BackgroundTask] = {}
        self._outage_backoff = TaskBackoff(self._timing.retry_gap, self._timing.release_gap)
        self._rate_limit_backoff = TaskBackoff(self._timing.write_gap, self._timing.write_gap)

    def run(self, is_stopped: Callable[[], bool]) -> None:
        """Dispatch until stopped."""
        outages = 0
        with ThreadPoolExecutor(MAX_TASKS, thread_name_prefix="task") as pool:
            is_restored = False
            while not is_stopped():
                try:
                    if not is_restored:
                        self._store.inbox.restore()
                        is_restored = True
                    pause = self._step(pool)
                    outages = 0
                except Unavailable as error:
                    outages += 1
                    pause = min(LONGEST_PAUSE_S, self._timing.tick * 2**outages)
                    LOG.warning("dispatch postponed: %s", error, extra={"outages": outages})
                limit = time.monotonic() + pause
                while not is_stopped() and (left := limit - time.monotonic()) > 0:
                    time.sleep(min(left, self._timing.tick))
            pool.shutdown(wait=True, cancel_futures=True)
        try:
            self._store.pulls.resign_leadership(self._token)
        except Unavailable as error:
            LOG.info("leader lease not released: %s", error)
        self._queue.close()

    def _step(self, pool: ThreadPoolExecutor) -> float:
        """Start all work that is due; the seconds to pause afterwards."""
        is_behind = self._apply_deliveries()
        if not self._store.pulls.claim_leadership(self._token):
            return self._timing.leader / 5
        self._collect_finished()
        due = self._store.find_pending_work(self._call)
        self._start_tasks(pool, due)
        if PendingWork.JUDGE in due:
            self._dispatch_due()
        if time.monotonic() >= self._next_sweep:
            self._sweep(pool)
        return 0 if is_behind else self._timing.tick

    def _apply_deliveries(self) -> bool:
        """Apply deliveries in their order. True: more may wait. A process that does not lead does so, too: the leader may be older."""
        entries = self._store.inbox.read(DELIVERIES_AT_A_TIME)
        for entry in entries:
            try:
                applied = self._store.inbox.apply(entry)
            except Unavailable:
                raise
            except Exception:
                LOG.exception("delivery not applied, kept aside until the next start")
                self._store.inbox.put_aside(entry)
            else:
                if applied is None:  # another process applies them
                    return False
                if isinstance(applied.delivery, RequestDelivery):
                    fields = log_fields(applied.delivery.request) | {"outcome": applied.outcome}
                    LOG.info("delivery applied", extra=fields)
        return len(entries) == DELIVERIES_AT_A_TIME

    # Judgings

    def _dispatch_due(self) -> None:
        """Queue what is due. A call keeps its name until its job is queued, so that a crash in between loses nothing."""
        while leased := self._store.pulls.next_due(self._call, self._limits):
            self._queue.submit(leased.fence, leased.request.pull, is_outside=leased.is_outside)
            LOG.info("judging dispatched", extra={**log_fields(leased.request), "fence": leased.fence})
            self._call = secrets.token_hex(16)

    def _sweep(self, pool: ThreadPoolExecutor) -> None:
        brought = self._store.pulls.requeue_lost(*self._queue.keys)
        if brought:
            LOG.warning("lost judgings requeued", extra={"count": brought})
        if lost := self._store.events.end_orphaned():
            LOG.warning("orphaned evaluations closed", extra={"count": lost})
        self._limits = limit_dispatches(max(self._settings.workers, self._queue.workers()))
        for expired in self._checks.take_expired():
            self._close_expired(pool, expired)
        for orphaned in self._checks.take_orphaned():
            if self._requeue_orphaned(orphaned):
                LOG.warning("orphaned check run requeued", extra=orphaned.model_dump())
        if not self._settings.is_paused:
            resume_paused_heads(self._store, self._clock)
        self._next_sweep = time.monotonic() + self._timing.sweep

    def _requeue_orphaned(self, orphaned: ExpiredCheckRun) -> bool:
        """Requeue an orphaned check run. False: it was requeued before, or its pull request is forgotten."""
        pull = orphaned.pull
        if pull.number:
            return self._store.pulls.requeue_orphaned(pull, orphaned.check)
        commit = (pull.installation_id, pull.repository_id, orphaned.head_sha)
        delivery_id = DeliveryId(f"late-check-{orphaned.check}")
        outcome = self._store.groups.reopen(commit, delivery_id, self._clock.now(), is_orphaned=True)
        return outcome is IntakeOutcome.QUEUED

    # Background tasks

    def _start_tasks(self, pool: ThreadPoolExecutor, due: frozenset[PendingWork]) -> None:
        parallel = {
            PendingWork.OPEN_CHECK: self._next_check_to_open,
            PendingWork.ANSWER_COMMAND: self._next_command,
            PendingWork.ANSWER_GROUP: self._next_merge_group,
            PendingWork.WRITE_COMMENT: self._next_author_comment,
            PendingWork.UPLOAD_SARIF: self._next_sarif,
            PendingWork.CONFIRM_DELIVERY: self._next_unconfirmed,
        }
        for work, next_task in parallel.items():
            while work in due and len(self._tasks) < MAX_TASKS and (task := next_task()):
                self._start(pool, task)
        exclusive = {  # one at a time per kind, so that a revert is recorded after its merge
            RECORD_OUTCOMES: (PendingWork.RECORD_OUTCOMES, self._next_outcome),
            JUDGE_WHOLE: (PendingWork.JUDGE_WHOLE, self._next_whole_pull_request),
            SYNC_SHARED_HEAD: (PendingWork.SYNC_SHARED_HEAD, self._next_shared_head),
            ADD_REPOSITORY: (PendingWork.ADD_REPOSITORY, self._next_added_repository),
        }
        running, now = {task.name for task in self._tasks.values()}, time.monotonic()
        for name, (work, next_task) in exclusive.items():
            if work in due and name not in running and (task := next_task()):
                self._start(pool, task)
        regular: dict[str, tuple[float, Callable[[TaskHandlers], None]]] = {
            CLEAN_UP: (self._timing.tidy, lambda handlers: handlers.clean_up()),
            RECONCILE: (self._timing.catch_up or inf, lambda handlers: handlers.reconcile()),
        }
        for name, (interval_s, work_regularly) in regular.items():
            if interval_s < inf and now >= self._next_turns.get(name, 0.0):
                self._next_turns[name] = now + interval_s
                if name not in running:
                    self._start(pool, BackgroundTask(name=name, work=work_regularly, complete=lambda: None))

    def _next_added_repository(self) -> BackgroundTask | None:
        now = time.monotonic()
        if now < self._next_turns.get(ADD_REPOSITORY, 0.0) or (seen := self._store.added_repositories.next()) is None:
            return None
        self._next_turns[ADD_REPOSITORY] = now + REPOSITORY_INTERVAL_S
        added = seen.added
        return BackgroundTask(
            name=ADD_REPOSITORY,
            work=lambda handlers: handlers.show_repository_added(added),
            complete=lambda: self._store.added_repositories.complete(added),
            postpone=lambda delay: self._store.added_repositories.postpone(added, delay),
            attempt=seen.attempt,
            installation=added.installation_id,
            fields={"delivery_id": added.delivery_id, "repository": added.repository},
        )

    def _next_outcome(self) -> BackgroundTask | None:
        if (happened := self._store.pull_request_events.next()) is None:
            return None
        event = happened.event
        return BackgroundTask(
            name=RECORD_OUTCOMES,
            work=lambda handlers: handlers.record_outcomes(event),
            complete=lambda: self._store.pull_request_events.complete(event),
            postpone=lambda delay: self._store.pull_request_events.postpone(event, delay),
            attempt=happened.attempt,
            installation=event.installation_id,
            fields={
                "delivery_id": event.delivery_id,
                "what": event.what,
                "repository_id": event.repository_id,
                "number": event.number,
            },
        )

    def _next_whole_pull_request(self) -> BackgroundTask | None:
        """A task that fails is retried after its hold."""
        if (due := self._store.outcomes.next_due()) is None:
            return None
        return BackgroundTask(
            name=JUDGE_WHOLE,
            work=lambda handlers: handlers.judge_whole_pull_request(due),
            complete=lambda: self._store.outcomes.complete(due),
            fields={"repository_id": due.pull.repository_id, "number": due.pull.number},
        )

    def _next_shared_head(self) -> BackgroundTask | None:
        """Its handler completes it; a failure other than an outage is retried after its hold."""
        if (looked_at := self._store.shared_heads.next()) is None:
            return None
        commit, attempt = looked_at
        return BackgroundTask(
            name=SYNC_SHARED_HEAD,
            work=lambda handlers: handlers.sync_shared_head(commit),
            complete=lambda: None,
            postpone=lambda delay: self._store.shared_heads.postpone(commit, delay),
            first_retry_s=OPEN_RETRY_S,
            attempt=attempt,
            installation=commit.installation_id,
            fields=commit.model_dump(),
        )

    def _next_merge_group(self) -> BackgroundTask | None:
        """Its handler completes it; a failure other than an outage is retried after its hold."""
        if (pending := self._store.groups.next()) is None:
            return None
        group = pending.group
        return BackgroundTask(
            name="answer merge group",
            work=lambda handlers: handlers.answer_merge_group(pending),
            complete=lambda: None,
            postpone=lambda delay: self._store.groups.postpone(pending.queued, delay),
            first_retry_s=GROUP_RETRY_S,
            installation=group.installation_id,
            is_prioritized=True,
            fields=merge_group_fields(group),
        )

    def _next_author_comment(self) -> BackgroundTask | None:
        return _next_follow_up(
            self._store.comment_jobs, "tell the author", lambda handlers, job: handlers.update_author_comment(job)
        )

    def _next_sarif(self) -> BackgroundTask | None:
        return _next_follow_up(self._store.scans, "upload SARIF", lambda handlers, scan: handlers.upload_sarif(scan))

    def _next_check_to_open(self) -> BackgroundTask | None:
        outside = sum(task.is_outside for task in self._tasks.values())
        if (opening := self._store.pulls.next_to_open(MAX_OUTSIDE_TASKS - outside)) is None:
            return None
        request, head_sha = opening.request, opening.head_sha

        def open_check(handlers: TaskHandlers) -> None:
            handlers.open_check(request, head_sha)
            record_first_check(self._store, request, head_sha, self._clock.now())

        return BackgroundTask(
            name="open check",
            work=open_check,
            complete=lambda: self._store.pulls.mark_opened(request.pull, head_sha, opening.seq),
            postpone=lambda delay: self._store.pulls.postpone_opening(request.pull, head_sha, delay),
            first_retry_s=OPEN_RETRY_S,
            installation=request.pull.installation_id,
            is_outside=opening.is_outside,
            fields=log_fields(request, head_sha),
        )

    def _next_unconfirmed(self) -> BackgroundTask | None:
        """Its handler completes it. A few run at a time: a mass redelivery must not delay check runs."""
        running = sum(task.name == CONFIRM_DELIVERY for task in self._tasks.values())
        if running >= MAX_OUTSIDE_TASKS or (queued := self._store.unconfirmed.next()) is None:
            return None
        delivery = queued.delivery
        return BackgroundTask(
            name=CONFIRM_DELIVERY,
            work=lambda handlers: handlers.confirm_delivery(queued),
            complete=lambda: None,
            postpone=lambda delay: self._store.unconfirmed.postpone(delivery, delay),
            discard=lambda: self._store.unconfirmed.complete(delivery),
            first_retry_s=OPEN_RETRY_S,
            attempt=queued.attempt,
            installation=delivery.request.pull.installation_id,
            fields=log_fields(delivery.request),
        )

    def _next_command(self) -> BackgroundTask | None:
        if (asked := self._store.commands.next()) is None:
            return None
        command = asked.command
        return BackgroundTask(
            name="answer command",
            work=lambda handlers: handlers.answer_command(command),
            complete=lambda: self._store.commands.complete(command),
            postpone=lambda delay: self._store.commands.postpone(command, delay),
            attempt=asked.attempt,
            installation=command.pull.installation_id,
            fields={
                "delivery_id": command.delivery_id,
                "repository": command.repository,
                "number": command.pull.number,
                "login": command.login,
            },
        )

    def _close_expired(self, pool: ThreadPoolExecutor, expired: ExpiredCheckRun) -> None:
        """Close a check past its deadline, until it succeeds: a required check must not hang.

        That of a forgotten pull request or merge group is only dropped.
        """
        pull, head_sha, check = expired.pull, expired.head_sha, expired.check
        commit = (pull.installation_id, pull.repository_id, head_sha)
        subject = self._store.pulls.find_request(pull) or self._store.groups.find_group(commit)
        if subject is None:
            self._checks.record_expired(pull, head_sha, check)
            return

        def close(handlers: TaskHandlers) -> None:
            handlers.close_expired_check(subject, head_sha, check)
            count_event(self._store, EventCount.OVERDUE)

        task = BackgroundTask(
            name="close overdue check",
            work=close,
            complete=lambda: None,
            postpone=lambda delay: self._checks.postpone_expired(expired, delay),
            discard=lambda: self._checks.postpone_expired(expired, self._settings.retry_rule.longest_delay),
            installation=pull.installation_id,
            fields=merge_group_fields(subject) if isinstance(subject, MergeGroup) else log_fields(subject, head_sha),
        )
        LOG.warning("check run expired", extra=task.fields)
        self._start(pool, task)

    def _start(self, pool: ThreadPoolExecutor, task: BackgroundTask) -> None:
        self._tasks[pool.submit(self._perform, task)] = task

    def _perform(self, task: BackgroundTask) -> None:
        with (
            bind_log_fields({**task.fields, "errand": task.name}),
            self._open_handlers() as handlers,
        ):
            task.work(handlers)

    def _collect_finished(self) -> None:
        """Handle finished tasks. One whose end can't be recorded runs again, without effect."""
        for future in [future for future in self._tasks if future.done()]:
            task = self._tasks.pop(future)
            error = future.exception()
            if error is None:
                self._finish(task)
            elif isinstance(error, Exception):
                self._handle_failure(task, error)
            else:
                raise error

    def _finish(self, task: BackgroundTask) -> None:
        """Complete a task. After an outage, tasks that wait for GitHub are brought forward, since it answered one of them."""
        is_back = self._outage_backoff.forget(task.key)
        task.complete()
        if is_back and task.installation:
            now = time.monotonic()
            for slot, at in self._outage_backoff.release(task.installation, RELEASED_AT_A_TIME, now):
                slot.postpone(timedelta(seconds=at - now))
            self._store.pulls.release_waiting(InstallationId(task.installation))

    def _discard(self, task: BackgroundTask) -> None:
        self._outage_backoff.forget(task.key)
        (task.discard or task.complete)()

    def _handle_failure(self, task: BackgroundTask, error: Exception) -> None:
        rule, attempt = retry_rule_for(task, self._settings), task.attempt
        if isinstance(error, Outage):  # a task that does not count its attempts is retried until it succeeds
            attempt = max(attempt, min(self._outage_backoff.count_failure(task.key), rule.outage_attempts))
        fields = task.fields | {"errand": task.name, "attempt": attempt}
        decision = classify(error, attempt, rule)
        if isinstance(decision, (RetryIn, RetryAfterOutage, RetryAt)):
            LOG.info("task postponed: %s", error, extra=fields)
        match decision:
            case RetryIn(delay):
                task.postpone(delay)
            case RetryAfterOutage(delay):
                self._postpone(task, delay, self._outage_backoff)
            case RetryAt(at) if task.is_prioritized:
                task.postpone(at - self._clock.now())
            case RetryAt(at):
                self._postpone(task, at - self._clock.now(), self._rate_limit_backoff)
            case Discard(reason) | FailCheck(reason):
                LOG.warning("task dropped: %s", reason, extra=fields)
                self._discard(task)
            case Bug():
                LOG.error("task failed", exc_info=error, extra=fields)
                self._discard(task)
            case _ as never:
                assert_never(never)

    def _postpone(self, task: BackgroundTask, delay: timedelta, among: TaskBackoff) -> None:
        """Postpone a task by *delay*, or longer if other tasks of its installation run then."""
        now = time.monotonic()
        slot = RetrySlot(task.installation, task.key, task.postpone)
        task.postpone(timedelta(seconds=among.reserve(slot, now + delay.total_seconds(), now) - now))


def merge_group_fields(group: MergeGroup) -> dict[str, object]:
    """The log fields of a merge group."""
    return {"delivery_id": group.delivery_id, "repository": group.repository, "head_sha": group.head_sha}


def _next_follow_up(
    queue: FollowUpTasks[F], name: str, work: Callable[[TaskHandlers, F], None]
) -> BackgroundTask | None:
    if (pending := queue.next()) is None:
        return None
    follow_up = pending.follow_up
    return BackgroundTask(
        name=name,
        work=lambda handlers: work(handlers, follow_up),
        complete=lambda: queue.complete(pending),
        postpone=lambda delay: queue.postpone(follow_up, delay),
        attempt=pending.attempt,
        installation=follow_up.pull.installation_id,
        fields={
            "delivery_id": follow_up.delivery_id,
            "repository_id": follow_up.pull.repository_id,
            "number": follow_up.pull.number,
            "head_sha": follow_up.head_sha,
        },
    )
