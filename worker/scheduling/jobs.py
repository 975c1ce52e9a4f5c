"""What RQ runs: one judging, from taking the pull request to saying what becomes of it.

Owns the one broad `except` of the product: an error is classified, and a pull request is never left behind because of
one. Does not judge (`worker.scheduling.pipeline`). Invariant: whatever happens in a job, either it is told to Redis what becomes
of the pull request, or its lease runs out and the sweeper brings it back; and no dossier is tried for ever.
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
from typing import Final, Protocol, TypeVar, assert_never, cast

from rq.job import Job

from worker.adapters.redis.leases import renewing_lease
from worker.adapters.redis.metrics import EventCount
from worker.adapters.redis.pull_requests import Finish, FinishResult, JudgedHead, LeasedJob, RateLimitWait
from worker.adapters.redis.store import Store
from worker.domain.check.overrides import HumanDecisions
from worker.domain.ids import DeliveryId, hash_base
from worker.domain.judging import JudgingCompleted, JudgingDiscarded, JudgingOutcome, JudgingSuperseded, WaitForCi
from worker.domain.pattern import pattern
from worker.domain.ports import Clock, Lease
from worker.domain.request.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject
from worker.dossier.parser_sandbox import sandboxed_parsing
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
from worker.scheduling import metrics
from worker.scheduling.commands import update_paused_heads
from worker.scheduling.retry import RetrySchedule, retry_after_outage
from worker.settings import Settings
from worker.traces import bind_log_fields, log_fields

T = TypeVar("T")

LOG: Final = logging.getLogger(__name__)
FAILED: Final = "Assay failed on this pull request; its log says where."
RECORDED_DELAY_FACTOR: Final = 6
"""How many times as long as the longest wait of an outage one waits, after all that time, whose verdict is on record: an hour."""

NO_RESULT: Final = "Assay tried {tries} times and came to no end."


class JudgingApp(Protocol):
    """What a job needs of a court. Raises `worker.errors`."""

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> JudgingOutcome: ...

    def fail_check(self, request: JudgeRequest, lease: Lease, reason: str) -> None: ...

    def postpone(self, request: JudgeRequest, lease: Lease, until: datetime, *, is_away: bool = False) -> None: ...


OpenJudgingApp = Callable[[Settings, Store], AbstractContextManager[JudgingApp]]


@dataclass(frozen=True, slots=True)
class JobContext:
    """What the jobs of a process work with. *app_factory* names what opens a court, as `module:function`.

    A job inherits the store: it was spoken to and has its keys, and a forked process makes connections of its own.
    """

    settings: Settings
    app_factory: str
    clock: Clock
    store: Store


JOB_CONTEXT: Final[ContextVar[JobContext]] = ContextVar("scene")
"""Set once by the worker, before it takes jobs; each forked job inherits it."""


class JudgingFailed(Exception):
    """A bug, for whoever runs the job. The error itself is in the log only: its words may quote a private source."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a judging ends."""

    finish: Finish
    wait: timedelta | RateLimitWait = timedelta(0)
    is_bug: bool = False
    is_lost: bool = False
    is_for_ci: bool = False
    judged: JudgedHead | None = None


def judge(installation_id: int, repository_id: int, number: int, fence: int) -> None:
    """Judge a pull request under this fence, if the fence still admits it."""
    context = JOB_CONTEXT.get()
    pull = _pull(installation_id, repository_id, number)
    leased = context.store.pulls.take_lease(pull, fence)
    if leased is None:
        LOG.info(
            "not to be judged any more", extra={"pull": pull.model_dump(), **_request_fields(pull), "fence": fence}
        )
        return
    fields = log_fields(leased.request)
    with bind_log_fields(fields):
        started = {"fence": fence, "attempt": leased.attempt, "trigger": leased.request.trigger}
        LOG.info("judging begins", extra=fields | started)
        end = JudgeJob(context, leased).run()
        _close(context, leased, end)
    if end.is_bug:
        raise JudgingFailed(f"fence {fence}: see the log")


def run_job(job: Job) -> bool:
    """Do what this job says; whether that went well. What went wrong is in the log, and nowhere else."""
    pull, fence = parse_job(job)
    error = catch_error(partial(judge, pull.installation_id, pull.repository_id, pull.number, fence))
    if error is not None:
        LOG.error(
            "a job failed", exc_info=error, extra={"pull": pull.model_dump(), **_request_fields(pull), "fence": fence}
        )
    return error is None


def handle_killed_job(job: Job, pid: int, status: int, _: struct_rusage) -> None:
    """RQ found the process of a job killed: bring its pull request back without waiting for the lease."""
    pull, fence = parse_job(job)
    fields = {**_request_fields(pull), "fence": fence, "pid": pid, "status": status}
    LOG.error("a judge was killed", extra={"pull": pull.model_dump(), **fields})
    metrics.count_event(JOB_CONTEXT.get().store, EventCount.KILLED)
    requeue(job)


def _request_fields(pull: PullRef) -> dict[str, object]:
    """What is known of the newest request of this pull request, for a line of the log."""
    request = catch_error(lambda: JOB_CONTEXT.get().store.pulls.find_request(pull))
    return log_fields(request) if isinstance(request, JudgeRequest) else {}


def requeue(job: Job) -> None:
    """The process of this job is dead: have its pull request judged again, if it was not done."""
    pull, fence = parse_job(job)
    store = JOB_CONTEXT.get().store
    try:
        store.pulls.requeue_dead(pull, fence)
    except Unavailable as error:
        LOG.warning("the lease brings it back: %s", error, extra={"pull": pull.model_dump(), "fence": fence})
    finally:
        store.client.close()  # here is where jobs are forked


class JudgeJob:
    """One judging that was begun."""

    def __init__(self, context: JobContext, leased: LeasedJob) -> None:
        self._context = context
        self._leased = leased
        self._rule = context.settings.retry_rule
        self._open_app: OpenJudgingApp = resolve_name(context.app_factory)
        self._fields = {
            **log_fields(leased.request),
            "fence": leased.lease.fence,
            "attempt": leased.attempt,
        }

    def run(self) -> JobEnd:
        """Judge, and say how it ended."""
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
        """What came of it; or why it is not tried again, after so many that came to no end.

        What got as far as a verdict is no dossier that kills its judge: as often again it is tried to publish that.
        """
        tries, most = self._leased.attempt, self._rule.attempts + 1
        if tries > 2 * most or (tries > most and not self._has_new_verdict()):
            return NO_RESULT.format(tries=tries - 1)
        return self._judge()

    def _has_new_verdict(self) -> bool:
        """Whether one is on record that was made since this was asked for."""
        own = self._own_entries()
        return bool(own) and own[-1].created_at >= self._leased.request.requested_at

    def _judge(self) -> JudgingOutcome:
        with guard_parsers(self._leased.attempt), self._open_app(self._context.settings, self._context.store) as app:
            outcome = app.judge(self._leased.request, self._leased.lease, self._leased.waiting_since)
        update_paused_heads(self._context.store, self._leased.request, self._leased.lease.fence, outcome)
        metrics.record_verdict(self._context.store, self._leased.request, outcome, self._context.clock.now())
        return outcome

    def _end_of(self, outcome: JudgingOutcome) -> JobEnd:
        match outcome:
            case JudgingCompleted(retry_in=timedelta() as wait):
                LOG.warning("no model could be reached; judged again in %s", wait, extra=self._fields)
                return JobEnd(Finish.OUTAGE, wait)
            case JudgingCompleted(verdict=verdict, dossier=dossier, decisions=decisions):
                head = JudgedHead(verdict.subject.head_sha, hash_base(dossier.pull_request.base_ref))
                return JobEnd(Finish.JUDGED, is_for_ci=is_retriggered_by_ci(verdict, decisions), judged=head)
            case JudgingSuperseded():
                return JobEnd(Finish.AGAIN)
            case WaitForCi(poll=poll):
                return JobEnd(Finish.WAIT, poll)
            case JudgingDiscarded(reason=reason):
                LOG.info("nobody waits for a verdict: %s", reason, extra=self._fields)
                return JobEnd(Finish.JUDGED)
            case _ as never:
                assert_never(never)

    def _handle_failure(self, error: Exception) -> JobEnd:
        attempt = self._leased.outage_count + 1 if isinstance(error, Outage) else self._leased.attempt
        match classify(error, attempt, self._rule):
            case RetryIn(delay):
                LOG.warning("tried again in %s: %s", delay, error, extra=self._fields)
                return JobEnd(Finish.RETRY, delay)
            case RetryAfterOutage(delay):
                LOG.warning("GitHub is away, tried again in %s: %s", delay, error, extra=self._fields)
                if attempt > self._rule.attempts:  # else it may be over before anybody reads of it
                    self._postpone_check(self._context.clock.now() + delay, is_away=True)
                return JobEnd(Finish.AWAY, delay)
            case RetryAt(at):
                LOG.warning("tried again at %s: %s", turn := self._retry_slot(at), error, extra=self._fields)
                self._postpone_check(turn)
                return self._postponed_end(at, turn)
            case FailCheck(reason):
                keeps = isinstance(error, Outage) and self._has_recorded_verdict()
                return self._wait_with_verdict(error) if keeps else self._fail_check(reason)
            case Discard(reason):
                LOG.info("dropped: %s", reason, extra=self._fields)
                return JobEnd(Finish.JUDGED, is_lost=isinstance(error, LeaseLost))
            case Bug():
                LOG.error("judging failed", exc_info=error, extra=self._fields)
                return replace(self._fail_check(FAILED), is_bug=True)
            case _ as never:
                assert_never(never)

    def _retry_slot(self, limit: datetime) -> datetime:
        """When this one is judged of all that wait for a rate limit's end."""
        timing, request = self._context.settings.timing, self._leased.request
        spread = RetrySchedule(timedelta(seconds=timing.release_gap), timedelta(seconds=timing.github_delay))
        return spread.retry_at(limit, request, self._context.store.pulls.count_waiting(request.pull.installation_id))

    def _postponed_end(self, limit: datetime, turn: datetime) -> JobEnd:
        now = self._context.clock.now()
        return JobEnd(Finish.PUT_OFF, RateLimitWait(limit - now, turn - now))

    def _has_recorded_verdict(self) -> bool:
        """Whether the newest head that we know of has a verdict, be it shown already or not."""
        request = self._leased.request
        head_sha = self._context.store.checks().newest_head(request.pull) or request.head_sha
        return any(entry.head_sha == head_sha for entry in self._own_entries())

    def _own_entries(self) -> list[LedgerEntry]:
        """Without what was judged anew for an audit, which decides nothing."""
        entries = self._context.store.ledger.entries(self._leased.request.pull)
        return [entry for entry in entries if entry.verdict.parent_eval_id is None]

    def _wait_with_verdict(self, error: Exception) -> JobEnd:
        """A verdict on record is not given up for an outage, however long: it would be lost, or written over."""
        wait = self._rule.longest_delay * RECORDED_DELAY_FACTOR
        LOG.warning(
            "GitHub is away, a verdict on record waits for it, tried again in %s: %s", wait, error, extra=self._fields
        )
        self._postpone_check(self._context.clock.now() + wait, is_away=True)
        return JobEnd(Finish.AWAY, wait)

    def _postpone_check(self, until: datetime, *, is_away: bool = False) -> None:
        """Tell the check until when nobody judges, if as much can be told."""
        error = catch_error(partial(self._show_postponed, until, is_away=is_away))
        if error is not None:
            LOG.info("the check can't be told: %s", error, extra=self._fields)

    def _show_postponed(self, until: datetime, *, is_away: bool) -> None:
        with self._open_app(self._context.settings, self._context.store) as app:
            app.postpone(self._leased.request, self._leased.lease, until, is_away=is_away)

    def _fail_check(self, reason: str) -> JobEnd:
        """Tell the check that there is no verdict. What stops even that is tried as often again, then left alone.

        While GitHub is away there is no end to it: else a check would stay open that nobody knows of, and a verdict be lost that
        is on record. Each try is a judging first, so that it is published when GitHub is back.
        """
        LOG.warning("no verdict: %s", reason, extra=self._fields)
        error = catch_error(partial(self._show_failed, reason))
        if error is None:
            metrics.count_event(self._context.store, EventCount.GIVEN_UP)
            return JobEnd(Finish.JUDGED)
        attempt = 1 if isinstance(error, Outage) else max(1, self._leased.attempt - self._rule.attempts)
        fate = classify(error, attempt, self._rule)
        match fate:
            case RetryIn(delay):
                return JobEnd(Finish.RETRY, delay)
            case RetryAfterOutage():
                return JobEnd(Finish.AWAY, self._rule.longest_delay)
            case RetryAt(at):
                return self._postponed_end(at, self._retry_slot(at))
            case FailCheck() | Discard() | Bug():
                LOG.error("the check can't be told", exc_info=error, extra=self._fields)
                return JobEnd(Finish.JUDGED, is_lost=isinstance(error, LeaseLost))
            case _ as never:
                assert_never(never)

    def _show_failed(self, reason: str) -> None:
        with self._open_app(self._context.settings, self._context.store) as app:
            app.fail_check(self._leased.request, self._leased.lease, reason)


def _close(context: JobContext, leased: LeasedJob, end: JobEnd) -> None:
    """Write down how it ended. Whoever was overtaken may have written late: somebody has to look again."""
    pulls = context.store.pulls
    later = retry_after_outage(leased.request, context.clock.now()) if end.finish is Finish.OUTAGE else None
    if end.is_for_ci:
        later = request_after_ci(leased.request, leased.lease.fence, context.clock.now())
    answer = FinishResult.LOST
    if not end.is_lost:
        answer = pulls.finish(leased.lease, end.finish, end.wait, later, end.judged)
    if answer is FinishResult.LOST:
        pulls.request_correction(leased.lease, leased.request)
    fields = {**log_fields(leased.request), "fence": leased.lease.fence, "how": end.finish, "answer": answer}
    LOG.info("judging ended", extra={"pull": leased.request.pull.model_dump(), **fields})


def guard_parsers(attempt: int) -> AbstractContextManager[None]:
    """Around whatever parses: what was tried before may have ended because a parser did not survive one of its texts."""
    return sandboxed_parsing() if attempt > 1 else nullcontext()


def catch_error(work: Callable[[], T]) -> T | Exception:
    """The one broad `except`: what went wrong is a value from here on."""
    try:
        return work()
    except Exception as error:
        return error


def parse_job(job: Job) -> tuple[PullRef, int]:
    """Which pull request the job judges, under which fence."""
    arguments = cast("list[int]", job.args)  # pyright: ignore[reportUnknownMemberType] - RQ can't know them
    installation_id, repository_id, number, fence = arguments
    return _pull(installation_id, repository_id, number), fence


def _pull(installation_id: int, repository_id: int, number: int) -> PullRef:
    fields = {"installation_id": installation_id, "repository_id": repository_id, "number": number}
    return PullRef.model_validate(fields)


RETRIGGER_PREFIX: Final = pattern(r"^(?:(?:ci|resumed)-\d+-)+")
CI_REASONS: Final = frozenset({AbstainReason.CI_FAILED, AbstainReason.CI_PENDING})


def is_retriggered_by_ci(verdict: Accept | Reject | Abstain, decisions: HumanDecisions) -> bool:
    """Whether news of other checks may change what is shown: not where somebody lets the head pass whatever they say."""
    return isinstance(verdict, Abstain) and verdict.abstain_reason in CI_REASONS and decisions.override is None


def request_after_ci(request: JudgeRequest, fence: int, at: datetime) -> JudgeRequest:
    """What is asked for then: whatever head is the newest. Its delivery is told by the first one's id."""
    first = RETRIGGER_PREFIX.sub("", request.delivery_id)
    changes = {"head_sha": None, "trigger": Trigger.CI, "requested_at": at, "outages": 0}
    return request.model_copy(update={**changes, "delivery_id": DeliveryId(f"ci-{fence}-{first}")})
