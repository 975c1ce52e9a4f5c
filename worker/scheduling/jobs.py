"""The RQ job of a judging, of a pull request or a merge group, from taking the lease to recording its end; and what waits for a pause.

Holds the product's only broad `except`: every error is classified. Whatever happens in a job, either its end is recorded in Redis, or its
lease expires and it is judged again; the number of attempts is bounded.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pkgutil import resolve_name
from resource import struct_rusage
from typing import Any, Final, Protocol, TypeVar, assert_never, cast

from rq.job import Job

from worker.domain.check.overrides import HumanDecisions
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.judging import (
    Finish,
    FinishResult,
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
    WaitForCi,
)
from worker.domain.lifecycle.work import JudgedHead, LeasedGroup, LeasedJob, PendingGroup, RateLimitWait
from worker.domain.metrics import DurationMetric, EventCount
from worker.domain.model import DeliveryId, Sha, hash_base
from worker.domain.pattern import pattern
from worker.domain.ports import Clock, Lease
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject, verdict_reason
from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import (
    Bug,
    Discard,
    FailCheck,
    LeaseLost,
    Outage,
    RetryAfterOutage,
    RetryAt,
    RetryIn,
    Unavailable,
    classify,
)
from worker.log import bind_log_fields, log_fields
from worker.scheduling.pipeline import renewing_lease
from worker.scheduling.ports import SchedulingStore
from worker.scheduling.queue import GROUP_JOB
from worker.scheduling.retry import NO_RESULT, RetrySchedule, retry_after_outage
from worker.settings import Settings

T = TypeVar("T")

LOG: Final = logging.getLogger(__name__)
FAILED: Final = "Assay failed on this pull request; its log says where."
RECORDED_DELAY_FACTOR: Final = 6
"""The wait of a recorded verdict after all retries of an outage, in multiples of the longest delay: an hour."""


class JudgingApp(Protocol):
    """What a job needs of the App. Raises `worker.errors`."""

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> JudgingOutcome: ...

    def fail_check(self, request: JudgeRequest, lease: Lease, reason: str) -> None: ...

    def postpone(self, request: JudgeRequest, lease: Lease, until: datetime, *, is_away: bool = False) -> None: ...

    def answer_merge_group(self, pending: PendingGroup) -> None: ...


OpenJudgingApp = Callable[[Settings, SchedulingStore], AbstractContextManager[JudgingApp]]


@dataclass(frozen=True, slots=True)
class JobContext:
    """What the jobs of a process share. *app_factory*: the name of an `OpenJudgingApp`, as `module:function`.

    A forked job inherits the store with its keys, and opens its own connections.
    """

    settings: Settings
    app_factory: str
    clock: Clock
    store: SchedulingStore


JOB_CONTEXT: Final[ContextVar[JobContext]] = ContextVar("job_context")
"""Set once by the worker before it takes jobs; forked jobs inherit it."""


class JudgingFailed(Exception):
    """A bug. The error itself is in the log only, since its message may quote private source."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a judging ends."""

    finish: Finish
    wait: timedelta | RateLimitWait = timedelta(0)
    is_bug: bool = False
    is_lost: bool = False
    is_for_ci: bool = False
    judged: JudgedHead | None = None


@dataclass(frozen=True, slots=True)
class PullRequestJob:
    """The judging of a pull request that this fence admits."""

    pull: PullRef
    fence: int


@dataclass(frozen=True, slots=True)
class MergeGroupJob:
    """The judging of a merge group that this token admits."""

    group_id: str
    token: str


SubjectJob = PullRequestJob | MergeGroupJob


def judge(subject: SubjectJob) -> None:
    """Judge a pull request or a merge group, unless the job is stale."""
    context = JOB_CONTEXT.get()
    match subject:
        case PullRequestJob(pull, fence) if leased := context.store.pulls.take_lease(pull, fence):
            _judge_pull_request(context, leased)
        case MergeGroupJob(group_id, token) if leased := context.store.groups.take_lease(group_id, token):
            _judge_merge_group(context, leased)
        case _:
            LOG.info("stale job discarded", extra=_job_fields(subject))


def _judge_pull_request(context: JobContext, leased: LeasedJob) -> None:
    fields = log_fields(leased.request)
    with bind_log_fields(fields):
        started = {"fence": leased.lease.fence, "attempt": leased.attempt, "trigger": leased.request.trigger}
        LOG.info("judging started", extra=fields | started)
        end = JudgeJob(context, leased).run()
        later = retry_after_outage(leased.request, context.clock.now()) if end.finish is Finish.OUTAGE else None
        if end.is_for_ci:
            later = request_after_ci(leased.request, leased.lease.fence, context.clock.now())
        pulls, answer = context.store.pulls, FinishResult.LOST
        if not end.is_lost:
            answer = pulls.finish(leased.lease, end.finish, end.wait, later, end.judged)
        if answer is FinishResult.LOST:  # it may have written late, so a correction is requested
            pulls.request_correction(leased.lease, leased.request)
        ended = {"fence": leased.lease.fence, "how": end.finish, "answer": answer}
        LOG.info("judging ended", extra={"pull": leased.request.pull.model_dump(), **fields, **ended})
    if end.is_bug:
        raise JudgingFailed(f"fence {leased.lease.fence}: see the log")


def _judge_merge_group(context: JobContext, leased: LeasedGroup) -> None:
    open_app: OpenJudgingApp = resolve_name(context.app_factory)

    def answer() -> None:
        with guard_parsers(leased.attempt), open_app(context.settings, context.store) as app:
            app.answer_merge_group(leased)

    with renewing_lease(leased.lease, context.settings.timing.lease):
        error = catch_error(answer)
    if error is not None:
        _postpone_group(context, leased, error)


def _postpone_group(context: JobContext, leased: LeasedGroup, error: Exception) -> None:
    """Requeue a group after an error: to be answered again, or told why it can't be. Raises the error if it is a bug."""
    fields = {"group": leased.group.id, "attempt": leased.attempt}

    def postpone(delay: timedelta = timedelta(0), failed: str = "") -> None:
        LOG.warning("judging postponed by %s: %s", delay, error, extra=fields)
        context.store.groups.postpone(leased.queued.model_copy(update={"failed": failed}), delay)

    match classify(error, leased.attempt, context.settings.retry_rule):
        case RetryIn(delay) | RetryAfterOutage(delay):
            postpone(delay)
        case RetryAt(at):
            postpone(at - context.clock.now())
        case Discard(reason):
            LOG.info("job dropped: %s", reason, extra=fields)
            if not isinstance(error, LeaseLost):
                postpone()  # an answer from what is on record finds what is gone
        case FailCheck(reason):
            postpone(failed=reason)
        case Bug():
            postpone(failed=FAILED)
            raise error
        case _ as never:
            assert_never(never)


def run_job(job: Job) -> bool:
    """Run a job; whether it succeeded. Errors are logged."""
    subject = parse_job(job)
    error = catch_error(partial(judge, subject))
    if error is not None:
        LOG.error("job failed", exc_info=error, extra=_job_fields(subject))
    return error is None


def handle_killed_job(job: Job, pid: int, status: int, _: struct_rusage) -> None:
    """Requeue the subject of a killed job right away, without waiting for its lease."""
    subject = parse_job(job)
    LOG.error("judge process killed", extra={**_job_fields(subject), "pid": pid, "status": status})
    if isinstance(subject, PullRequestJob):
        count_event(JOB_CONTEXT.get().store, EventCount.KILLED)
    requeue(job)


def _job_fields(subject: SubjectJob) -> dict[str, object]:
    """Log fields of a job, and of its pull request's newest request."""
    if isinstance(subject, MergeGroupJob):
        return {"group": subject.group_id}
    request = catch_error(lambda: JOB_CONTEXT.get().store.pulls.find_request(subject.pull))
    fields = log_fields(request) if isinstance(request, JudgeRequest) else {}
    return {"pull": subject.pull.model_dump(), **fields, "fence": subject.fence}


def requeue(job: Job) -> None:
    """Requeue the subject of a dead job, unless it was finished."""
    subject, store = parse_job(job), JOB_CONTEXT.get().store
    try:
        match subject:
            case PullRequestJob(pull, fence):
                store.pulls.requeue_dead(pull, fence)
            case MergeGroupJob(group_id, token):
                store.groups.requeue_dead(group_id, token)
    except Unavailable as error:
        LOG.warning("job not requeued, waits for its lease to expire: %s", error, extra=_job_fields(subject))
    finally:
        store.close()  # a job that is forked later must not inherit the connection


class JudgeJob:
    """One judging under a lease."""

    def __init__(self, context: JobContext, leased: LeasedJob) -> None:
        self._context = context
        self._leased = leased
        self._rule = context.settings.retry_rule
        self._open_app: OpenJudgingApp = resolve_name(context.app_factory)
        self._fields = {**log_fields(leased.request), "fence": leased.lease.fence, "attempt": leased.attempt}

    def run(self) -> JobEnd:
        """Judge; how it ended."""
        with renewing_lease(self._leased.lease, self._context.settings.timing.lease):
            result = catch_error(self._judge_within_limit)
            match result:
                case Exception():
                    return self._handle_failure(result)
                case str():
                    return self._fail_check(result)
                case _:
                    return self._end_of(result)

    def _judge_within_limit(self) -> JudgingOutcome | str:
        """The outcome, or why judging is given up after too many attempts.

        A dossier with a recorded verdict does not crash its judge, so publishing that gets as many further attempts.
        """
        tries, most, asked_at = self._leased.attempt, self._rule.attempts + 1, self._leased.request.requested_at
        if tries > 2 * most or (
            tries > most and not any(entry.created_at >= asked_at for entry in self._own_entries()[-1:])
        ):
            return NO_RESULT.format(tries=tries - 1)
        with guard_parsers(self._leased.attempt), self._open_app(self._context.settings, self._context.store) as app:
            outcome = app.judge(self._leased.request, self._leased.lease, self._leased.waiting_since)
        update_paused_heads(self._context.store, self._leased.request, self._leased.lease.fence, outcome)
        record_verdict(self._context.store, self._leased.request, outcome, self._context.clock.now())
        return outcome

    def _end_of(self, outcome: JudgingOutcome) -> JobEnd:
        match outcome:
            case JudgingCompleted(retry_in=timedelta() as wait):
                LOG.warning("model unavailable, retry in %s", wait, extra=self._fields)
                return JobEnd(Finish.OUTAGE, wait)
            case JudgingCompleted(verdict=verdict, dossier=dossier, decisions=decisions):
                head = JudgedHead(verdict.subject.head_sha, hash_base(dossier.pull_request.base_ref))
                return JobEnd(Finish.JUDGED, is_for_ci=is_retriggered_by_ci(verdict, decisions), judged=head)
            case JudgingSuperseded():
                return JobEnd(Finish.AGAIN)
            case WaitForCi(poll=poll):
                return JobEnd(Finish.WAIT, poll)
            case JudgingDiscarded(reason=reason):
                LOG.info("judging discarded: %s", reason, extra=self._fields)
                return JobEnd(Finish.JUDGED)
            case _ as never:
                assert_never(never)

    def _handle_failure(self, error: Exception) -> JobEnd:
        attempt = self._leased.outage_count + 1 if isinstance(error, Outage) else self._leased.attempt
        match classify(error, attempt, self._rule):
            case RetryIn(delay):
                LOG.warning("judging postponed by %s: %s", delay, error, extra=self._fields)
                return JobEnd(Finish.RETRY, delay)
            case RetryAfterOutage(delay):
                LOG.warning("GitHub unavailable, retry in %s: %s", delay, error, extra=self._fields)
                if attempt > self._rule.attempts:  # a short outage is not shown
                    self._postpone_check(self._context.clock.now() + delay, is_away=True)
                return JobEnd(Finish.AWAY, delay)
            case RetryAt(at):
                LOG.warning("judging postponed until %s: %s", turn := self._retry_slot(at), error, extra=self._fields)
                self._postpone_check(turn)
                return self._postponed_end(at, turn)
            case FailCheck(reason):
                keeps = isinstance(error, Outage) and self._has_recorded_verdict()
                return self._wait_with_verdict(error) if keeps else self._fail_check(reason)
            case Discard(reason):
                LOG.info("job dropped: %s", reason, extra=self._fields)
                return JobEnd(Finish.JUDGED, is_lost=isinstance(error, LeaseLost))
            case Bug():
                LOG.error("judging failed", exc_info=error, extra=self._fields)
                return replace(self._fail_check(FAILED), is_bug=True)
            case _ as never:
                assert_never(never)

    def _retry_slot(self, limit: datetime) -> datetime:
        """This pull request's turn among all that wait for the end of a rate limit."""
        timing, request = self._context.settings.timing, self._leased.request
        spread = RetrySchedule(timedelta(seconds=timing.release_gap), timedelta(seconds=timing.github_delay))
        return spread.retry_at(limit, request, self._context.store.pulls.count_waiting(request.pull.installation_id))

    def _postponed_end(self, limit: datetime, turn: datetime) -> JobEnd:
        now = self._context.clock.now()
        return JobEnd(Finish.PUT_OFF, RateLimitWait(limit - now, turn - now))

    def _has_recorded_verdict(self) -> bool:
        """Whether the newest known head has a verdict, shown or not."""
        request = self._leased.request
        head_sha = self._context.store.checks().newest_head(request.pull) or request.head_sha
        return any(entry.head_sha == head_sha for entry in self._own_entries())

    def _own_entries(self) -> list[LedgerEntry]:
        """The entries without re-evaluations."""
        entries = self._context.store.ledger.entries(self._leased.request.pull)
        return [entry for entry in entries if entry.verdict.parent_eval_id is None]

    def _wait_with_verdict(self, error: Exception) -> JobEnd:
        """Keep retrying to publish a recorded verdict through an outage of any length, so that it is not lost or replaced."""
        wait = self._rule.longest_delay * RECORDED_DELAY_FACTOR
        LOG.warning(
            "GitHub unavailable, recorded verdict unpublished, retry in %s: %s", wait, error, extra=self._fields
        )
        self._postpone_check(self._context.clock.now() + wait, is_away=True)
        return JobEnd(Finish.AWAY, wait)

    def _postpone_check(self, until: datetime, *, is_away: bool = False) -> None:
        """Show on the check when judging resumes; a failure to do so is only logged."""
        request, lease = self._leased.request, self._leased.lease
        error = self._show(lambda app: app.postpone(request, lease, until, is_away=is_away))
        if error is not None:
            LOG.info("check run not updated: %s", error, extra=self._fields)

    def _show(self, write: Callable[[JudgingApp], None]) -> Exception | None:
        """Write to the check; the error, if there is one."""

        def show() -> None:
            with self._open_app(self._context.settings, self._context.store) as app:
                write(app)

        return catch_error(show)

    def _fail_check(self, reason: str) -> JobEnd:
        """Show on the check that there is no verdict, with as many further attempts.

        During an outage of GitHub the attempts are unlimited, so that no check stays open and no recorded verdict is lost. Each attempt
        judges first, which publishes such a verdict once GitHub is back.
        """
        LOG.warning("judging given up: %s", reason, extra=self._fields)
        error = self._show(lambda app: app.fail_check(self._leased.request, self._leased.lease, reason))
        if error is None:
            count_event(self._context.store, EventCount.GIVEN_UP)
            return JobEnd(Finish.JUDGED)
        attempt = 1 if isinstance(error, Outage) else max(1, self._leased.attempt - self._rule.attempts)
        decision = classify(error, attempt, self._rule)
        match decision:
            case RetryIn(delay):
                return JobEnd(Finish.RETRY, delay)
            case RetryAfterOutage():
                return JobEnd(Finish.AWAY, self._rule.longest_delay)
            case RetryAt(at):
                return self._postponed_end(at, self._retry_slot(at))
            case FailCheck() | Discard() | Bug():
                LOG.error("check run not updated", exc_info=error, extra=self._fields)
                return JobEnd(Finish.JUDGED, is_lost=isinstance(error, LeaseLost))
            case _ as never:
                assert_never(never)


def guard_parsers(attempt: int) -> AbstractContextManager[None]:
    """Run parsers in a sandbox from the second attempt on: a parser may have crashed the first one."""
    return sandboxed_parsing() if attempt > 1 else nullcontext()


def catch_error(work: Callable[[], T]) -> T | Exception:
    """The product's broad `except`: return the error as a value."""
    try:
        return work()
    except Exception as error:
        return error


def parse_job(job: Job) -> SubjectJob:
    """What a job judges."""
    arguments = cast("list[Any]", job.args)  # pyright: ignore[reportUnknownMemberType] - RQ can't know them
    if job.func_name == GROUP_JOB:
        return MergeGroupJob(*arguments)
    *numbers, fence = arguments
    return PullRequestJob(PullRef.model_validate(dict(zip(PullRef.model_fields, numbers, strict=True))), fence)


RETRIGGER_PREFIX: Final = pattern(r"^(?:(?:ci|resumed)-\d+-)+")
CI_REASONS: Final = frozenset({AbstainReason.CI_FAILED, AbstainReason.CI_PENDING})


def is_retriggered_by_ci(verdict: Accept | Reject | Abstain, decisions: HumanDecisions) -> bool:
    """Whether a change of other checks triggers another judging: CI prevented the verdict, and it is not overridden."""
    return isinstance(verdict, Abstain) and verdict.abstain_reason in CI_REASONS and decisions.override is None


def request_after_ci(request: JudgeRequest, fence: int, at: datetime) -> JudgeRequest:
    """The request for the newest head after other checks changed, named after the first delivery."""
    first = RETRIGGER_PREFIX.sub("", request.delivery_id)
    changes = {"head_sha": None, "trigger": Trigger.CI, "requested_at": at, "outages": 0}
    return request.model_copy(update={**changes, "delivery_id": DeliveryId(f"ci-{fence}-{first}")})


def record_first_check(store: SchedulingStore, request: JudgeRequest, head_sha: Sha, now: datetime) -> None:
    """Record the time to a head's first check run, if the request is about this head."""
    if request.head_sha == head_sha:
        seconds = (now - request.requested_at).total_seconds()
        _count(lambda: store.measures.record_duration(DurationMetric.FIRST_CHECK, seconds))


def record_verdict(store: SchedulingStore, request: JudgeRequest, outcome: JudgingOutcome, now: datetime) -> None:
    """Count a verdict, with its time unless it is retried or paused."""
    if not isinstance(outcome, JudgingCompleted):
        return
    verdict = outcome.verdict
    is_final = outcome.retry_in is None and getattr(verdict, "abstain_reason", None) is not AbstainReason.PAUSED
    seconds = (now - request.requested_at).total_seconds() if is_final else None
    installation, reason = request.pull.installation_id, verdict_reason(verdict) or ""
    _count(lambda: store.measures.count_verdict(installation, verdict.decision, reason, seconds))


def count_event(store: SchedulingStore, event: EventCount) -> None:
    _count(lambda: store.measures.count(event))


def _count(count: Callable[[], None]) -> None:
    try:
        count()
    except Unavailable as error:
        LOG.debug("event not counted: %s", error)


RESUMED_PREFIX: Final = pattern(r"resumed-\d+-")


def update_paused_heads(store: SchedulingStore, request: JudgeRequest, fence: int, outcome: JudgingOutcome) -> None:
    """Queue a head that was not judged because of a pause, or drop one that was. Idempotent."""
    match outcome:
        case JudgingCompleted(verdict=Abstain(abstain_reason=AbstainReason.PAUSED)):
            store.paused_heads.put(resumed_request(request, fence))
        case JudgingSuperseded() | WaitForCi():
            pass
        case _:
            store.paused_heads.remove(request.pull)


def resumed_request(request: JudgeRequest, fence: int) -> JudgeRequest:
    """The request for the newest head after a pause, named after the first delivery.

    It is no draft, so that the judge asks GitHub for that: a draft would wait for good even if a judging was requested.
    """
    first = RESUMED_PREFIX.sub("", request.delivery_id)
    changes = {"head_sha": None, "trigger": Trigger.RESUMED, "delivery_id": DeliveryId(f"resumed-{fence}-{first}")}
    return request.model_copy(update={**changes, "draft": False})


def resume_paused_heads(store: SchedulingStore, clock: Clock) -> int:
    """Request judgings of the heads whose pause ended; their number. Idempotent."""
    asked = 0
    for paused in store.paused_heads.next():
        if store.pauses.find_pause(paused.installation_id, paused.repository_id) is not None:
            continue
        for request in store.paused_heads.list_requests(paused):
            store.pulls.request_judging(request.model_copy(update={"requested_at": clock.now()}))
            store.paused_heads.remove(request.pull)
            LOG.info("judging resumed after a pause", extra=log_fields(request))
            asked += 1
        store.paused_heads.remove_repository(paused)
    return asked
