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

from worker.adapters.redis.leases import beating
from worker.adapters.redis.metrics import Count
from worker.adapters.redis.pull_requests import Answer, Ended, Finish, PutOff, Taken
from worker.adapters.redis.store import Store
from worker.domain.ids import base_mark
from worker.domain.judging import Dropped, Judged, Outcome, Overtaken, WaitForCi
from worker.domain.ports import Clock, Lease
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.parser_sandbox import tasting
from worker.errors import Bug, Drop, GiveUp, LeaseLost, Outage, RetryAt, RetryIn, Unavailable, WaitOut, classify
from worker.scheduling import metrics
from worker.scheduling.outage import once_more
from worker.scheduling.resuming import shelve
from worker.scheduling.returning import Spread
from worker.scheduling.waking import by_ci, wakes
from worker.settings import Settings
from worker.traces import about, carrying

T = TypeVar("T")

LOG: Final = logging.getLogger(__name__)
FAILED: Final = "Assay failed on this pull request; its log says where."
KEPT: Final = 6
"""How many times as long as the longest wait of an outage one waits, after all that time, whose verdict is on record: an hour."""

NO_END: Final = "Assay tried {tries} times and came to no end."


class Bench(Protocol):
    """What a job needs of a court. Raises `worker.errors`."""

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> Outcome: ...

    def give_up(self, request: JudgeRequest, lease: Lease, reason: str) -> None: ...

    def put_off(self, request: JudgeRequest, lease: Lease, until: datetime, *, is_away: bool = False) -> None: ...


OpenBench = Callable[[Settings, Store], AbstractContextManager[Bench]]


@dataclass(frozen=True, slots=True)
class Scene:
    """What the jobs of a process work with. *court* names what opens a court, as `module:function`.

    A job inherits the store: it was spoken to and has its keys, and a forked process makes connections of its own.
    """

    settings: Settings
    court: str
    clock: Clock
    store: Store


SCENE: Final[ContextVar[Scene]] = ContextVar("scene")
"""Set once by the worker, before it takes jobs; each forked job inherits it."""


class JudgingFailed(Exception):
    """A bug, for whoever runs the job. The error itself is in the log only: its words may quote a private source."""


@dataclass(frozen=True, slots=True)
class End:
    """How a judging ends."""

    how: Finish
    wait: timedelta | PutOff = timedelta(0)
    is_bug: bool = False
    is_lost: bool = False
    is_for_ci: bool = False
    of: Ended | None = None


def judge(installation_id: int, repository_id: int, number: int, fence: int) -> None:
    """Judge a pull request under this fence, if the fence still admits it."""
    scene = SCENE.get()
    pull = _pull(installation_id, repository_id, number)
    taken = scene.store.pulls.take(pull, fence)
    if taken is None:
        LOG.info("not to be judged any more", extra={"pull": pull.model_dump(), **_asked_of(pull), "fence": fence})
        return
    fields = about(taken.request)
    with carrying(fields):
        begun = {"fence": fence, "attempt": taken.attempt, "trigger": taken.request.trigger}
        LOG.info("judging begins", extra=fields | begun)
        end = Sitting(scene, taken).end()
        _close(scene, taken, end)
    if end.is_bug:
        raise JudgingFailed(f"fence {fence}: see the log")


def performed(job: Job) -> bool:
    """Do what this job says; whether that went well. What went wrong is in the log, and nowhere else."""
    pull, fence = told_by(job)
    error = caught(partial(judge, pull.installation_id, pull.repository_id, pull.number, fence))
    if error is not None:
        LOG.error("a job failed", exc_info=error, extra={"pull": pull.model_dump(), **_asked_of(pull), "fence": fence})
    return error is None


def horse_killed(job: Job, pid: int, status: int, _: struct_rusage) -> None:
    """RQ found the process of a job killed: bring its pull request back without waiting for the lease."""
    pull, fence = told_by(job)
    fields = {**_asked_of(pull), "fence": fence, "pid": pid, "status": status}
    LOG.error("a judge was killed", extra={"pull": pull.model_dump(), **fields})
    metrics.happened(SCENE.get().store, Count.KILLED)
    bring_back(job)


def _asked_of(pull: PullRef) -> dict[str, object]:
    """What is known of the newest request of this pull request, for a line of the log."""
    request = caught(lambda: SCENE.get().store.pulls.request(pull))
    return about(request) if isinstance(request, JudgeRequest) else {}


def bring_back(job: Job) -> None:
    """The process of this job is dead: have its pull request judged again, if it was not done."""
    pull, fence = told_by(job)
    store = SCENE.get().store
    try:
        store.pulls.died(pull, fence)
    except Unavailable as error:
        LOG.warning("the lease brings it back: %s", error, extra={"pull": pull.model_dump(), "fence": fence})
    finally:
        store.wire.close()  # here is where jobs are forked


class Sitting:
    """One judging that was begun."""

    def __init__(self, scene: Scene, taken: Taken) -> None:
        self._scene = scene
        self._taken = taken
        self._rule = scene.settings.retry_rule
        self._open_bench: OpenBench = resolve_name(scene.court)
        self._fields = {
            **about(taken.request),
            "fence": taken.lease.fence,
            "attempt": taken.attempt,
        }

    def end(self) -> End:
        """Judge, and say how it ended."""
        with beating(self._taken.lease, self._scene.settings.timing.lease):
            result = caught(self._judge_or_not)
            match result:
                case Exception():
                    return self._after_error(result)
                case str():
                    return self._give_up(result)
                case _:
                    return self._after(result)

    def _judge_or_not(self) -> Outcome | str:
        """What came of it; or why it is not tried again, after so many that came to no end.

        What got as far as a verdict is no dossier that kills its judge: as often again it is tried to publish that.
        """
        tries, most = self._taken.attempt, self._rule.attempts + 1
        if tries > 2 * most or (tries > most and not self._came_to_a_verdict()):
            return NO_END.format(tries=tries - 1)
        return self._judge()

    def _came_to_a_verdict(self) -> bool:
        """Whether one is on record that was made since this was asked for."""
        own = self._own_entries()
        return bool(own) and own[-1].created_at >= self._taken.request.requested_at

    def _judge(self) -> Outcome:
        with careful(self._taken.attempt), self._open_bench(self._scene.settings, self._scene.store) as bench:
            outcome = bench.judge(self._taken.request, self._taken.lease, self._taken.waiting_since)
        shelve(self._scene.store, self._taken.request, self._taken.lease.fence, outcome)
        metrics.shown(self._scene.store, self._taken.request, outcome, self._scene.clock.now())
        return outcome

    def _after(self, outcome: Outcome) -> End:
        match outcome:
            case Judged(again_in=timedelta() as wait):
                LOG.warning("no model could be reached; judged again in %s", wait, extra=self._fields)
                return End(Finish.OUTAGE, wait)
            case Judged(verdict=verdict, dossier=dossier, said=said):
                of = Ended(verdict.subject.head_sha, base_mark(dossier.pull_request.base_ref))
                return End(Finish.JUDGED, is_for_ci=wakes(verdict, said), of=of)
            case Overtaken():
                return End(Finish.AGAIN)
            case WaitForCi(poll=poll):
                return End(Finish.WAIT, poll)
            case Dropped(reason=reason):
                LOG.info("nobody waits for a verdict: %s", reason, extra=self._fields)
                return End(Finish.JUDGED)
            case _ as never:
                assert_never(never)

    def _after_error(self, error: Exception) -> End:
        attempt = self._taken.aways + 1 if isinstance(error, Outage) else self._taken.attempt
        match classify(error, attempt, self._rule):
            case RetryIn(delay):
                LOG.warning("tried again in %s: %s", delay, error, extra=self._fields)
                return End(Finish.RETRY, delay)
            case WaitOut(delay):
                LOG.warning("GitHub is away, tried again in %s: %s", delay, error, extra=self._fields)
                if attempt > self._rule.attempts:  # else it may be over before anybody reads of it
                    self._put_off(self._scene.clock.now() + delay, is_away=True)
                return End(Finish.AWAY, delay)
            case RetryAt(at):
                LOG.warning("tried again at %s: %s", turn := self._turn(at), error, extra=self._fields)
                self._put_off(turn)
                return self._comes_back(at, turn)
            case GiveUp(reason):
                keeps = isinstance(error, Outage) and self._is_on_record()
                return self._keep(error) if keeps else self._give_up(reason)
            case Drop(reason):
                LOG.info("dropped: %s", reason, extra=self._fields)
                return End(Finish.JUDGED, is_lost=isinstance(error, LeaseLost))
            case Bug():
                LOG.error("judging failed", exc_info=error, extra=self._fields)
                return replace(self._give_up(FAILED), is_bug=True)
            case _ as never:
                assert_never(never)

    def _turn(self, limit: datetime) -> datetime:
        """When this one is judged of all that wait for a rate limit's end."""
        timing, request = self._scene.settings.timing, self._taken.request
        spread = Spread(timedelta(seconds=timing.release_gap), timedelta(seconds=timing.github_delay))
        return spread.turn(limit, request, self._scene.store.pulls.crowd(request.pull.installation_id))

    def _comes_back(self, limit: datetime, turn: datetime) -> End:
        now = self._scene.clock.now()
        return End(Finish.PUT_OFF, PutOff(limit - now, turn - now))

    def _is_on_record(self) -> bool:
        """Whether the newest head that we know of has a verdict, be it shown already or not."""
        request = self._taken.request
        head_sha = self._scene.store.checks().newest(request.pull) or request.head_sha
        return any(one.head_sha == head_sha for one in self._own_entries())

    def _own_entries(self) -> list[LedgerEntry]:
        """Without what was judged anew for an audit, which decides nothing."""
        entries = self._scene.store.ledger.entries(self._taken.request.pull)
        return [one for one in entries if one.verdict.parent_eval_id is None]

    def _keep(self, error: Exception) -> End:
        """A verdict on record is not given up for an outage, however long: it would be lost, or written over."""
        wait = self._rule.longest * KEPT
        LOG.warning(
            "GitHub is away, a verdict on record waits for it, tried again in %s: %s", wait, error, extra=self._fields
        )
        self._put_off(self._scene.clock.now() + wait, is_away=True)
        return End(Finish.AWAY, wait)

    def _put_off(self, until: datetime, *, is_away: bool = False) -> None:
        """Tell the check until when nobody judges, if as much can be told."""
        error = caught(partial(self._tell_until, until, is_away=is_away))
        if error is not None:
            LOG.info("the check can't be told: %s", error, extra=self._fields)

    def _tell_until(self, until: datetime, *, is_away: bool) -> None:
        with self._open_bench(self._scene.settings, self._scene.store) as bench:
            bench.put_off(self._taken.request, self._taken.lease, until, is_away=is_away)

    def _give_up(self, reason: str) -> End:
        """Tell the check that there is no verdict. What stops even that is tried as often again, then left alone.

        While GitHub is away there is no end to it: else a check would stay open that nobody knows of, and a verdict be lost that
        is on record. Each try is a judging first, so that it is published when GitHub is back.
        """
        LOG.warning("no verdict: %s", reason, extra=self._fields)
        error = caught(partial(self._tell, reason))
        if error is None:
            metrics.happened(self._scene.store, Count.GIVEN_UP)
            return End(Finish.JUDGED)
        attempt = 1 if isinstance(error, Outage) else max(1, self._taken.attempt - self._rule.attempts)
        fate = classify(error, attempt, self._rule)
        match fate:
            case RetryIn(delay):
                return End(Finish.RETRY, delay)
            case WaitOut():
                return End(Finish.AWAY, self._rule.longest)
            case RetryAt(at):
                return self._comes_back(at, self._turn(at))
            case GiveUp() | Drop() | Bug():
                LOG.error("the check can't be told", exc_info=error, extra=self._fields)
                return End(Finish.JUDGED, is_lost=isinstance(error, LeaseLost))
            case _ as never:
                assert_never(never)

    def _tell(self, reason: str) -> None:
        with self._open_bench(self._scene.settings, self._scene.store) as bench:
            bench.give_up(self._taken.request, self._taken.lease, reason)


def _close(scene: Scene, taken: Taken, end: End) -> None:
    """Write down how it ended. Whoever was overtaken may have written late: somebody has to look again."""
    pulls = scene.store.pulls
    later = once_more(taken.request, scene.clock.now()) if end.how is Finish.OUTAGE else None
    if end.is_for_ci:
        later = by_ci(taken.request, taken.lease.fence, scene.clock.now())
    answer = Answer.LOST
    if not end.is_lost:
        answer = pulls.finish(taken.lease, end.how, end.wait, later, end.of)
    if answer is Answer.LOST:
        pulls.want_late(taken.lease, taken.request)
    fields = {**about(taken.request), "fence": taken.lease.fence, "how": end.how, "answer": answer}
    LOG.info("judging ended", extra={"pull": taken.request.pull.model_dump(), **fields})


def careful(attempt: int) -> AbstractContextManager[None]:
    """Around whatever parses: what was tried before may have ended because a parser did not survive one of its texts."""
    return tasting() if attempt > 1 else nullcontext()


def caught(work: Callable[[], T]) -> T | Exception:
    """The one broad `except`: what went wrong is a value from here on."""
    try:
        return work()
    except Exception as error:
        return error


def told_by(job: Job) -> tuple[PullRef, int]:
    """Which pull request the job judges, under which fence."""
    arguments = cast("list[int]", job.args)  # pyright: ignore[reportUnknownMemberType] - RQ can't know them
    installation_id, repository_id, number, fence = arguments
    return _pull(installation_id, repository_id, number), fence


def _pull(installation_id: int, repository_id: int, number: int) -> PullRef:
    fields = {"installation_id": installation_id, "repository_id": repository_id, "number": number}
    return PullRef.model_validate(fields)
