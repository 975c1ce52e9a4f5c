"""The RQ job of a merge group that differs from the accepted change. RQ's queued jobs name `judge` by this module.

Whatever happens in a job, either its end is recorded in the group's queue, or its lease expires and the group is answered again.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pkgutil import resolve_name
from typing import Final, Protocol, assert_never

from worker.domain.lifecycle.work import LeasedGroup
from worker.errors import Bug, Discard, FailCheck, LeaseLost, RetryAfterOutage, RetryAt, RetryIn, Unavailable, classify
from worker.scheduling.jobs import FAILED, JOB_CONTEXT, JobContext, catch_error, guard_parsers
from worker.scheduling.pipeline import renewing_lease
from worker.scheduling.ports import SchedulingStore
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
NO_DELAY: Final = timedelta(0)


class GroupJudgingApp(Protocol):
    """What such a job needs of the App. Raises `worker.errors`."""

    def judge_merge_group(self, leased: LeasedGroup) -> None: ...


OpenGroupJudgingApp = Callable[[Settings, SchedulingStore], AbstractContextManager[GroupJudgingApp]]


def run_job(group_id: str, token: str) -> bool:
    """Judge a group; whether it succeeded. Errors are logged, and recorded in the group's queue."""
    error = catch_error(partial(judge, group_id, token))
    if error is not None:
        LOG.error("a merge group could not be judged", exc_info=error, extra={"group": group_id})
    return error is None


def judge(group_id: str, token: str) -> None:
    """Judge a group under this token, unless it is stale."""
    context = JOB_CONTEXT.get()
    leased = context.store.groups.take_lease(group_id, token)
    if leased is None:
        LOG.info("stale job discarded", extra={"group": group_id})
        return
    with renewing_lease(leased.lease, context.settings.timing.lease):
        error = catch_error(partial(_judge, context, leased))
    if error is not None:
        _handle_failure(context, leased, error)


def requeue(group_id: str, token: str) -> None:
    """Requeue the group of a dead job, unless it was finished."""
    LOG.error("a judge was killed", extra={"group": group_id})
    store = JOB_CONTEXT.get().store
    try:
        store.groups.requeue_dead(group_id, token)
    except Unavailable as error:
        LOG.warning("the lease brings it back: %s", error)
    finally:
        store.close()  # a job that is forked later must not inherit the connection


def _judge(context: JobContext, leased: LeasedGroup) -> None:
    open_bench: OpenGroupJudgingApp = resolve_name(context.app_factory)
    with guard_parsers(leased.pending.attempt), open_bench(context.settings, context.store) as app:
        app.judge_merge_group(leased)


def _handle_failure(context: JobContext, leased: LeasedGroup, error: Exception) -> None:
    """Record how the group goes on. Raises the error if it is a bug."""
    later, queued = context.store.groups.postpone, leased.pending.queued
    fields = {"group": leased.lease.group.id, "attempt": leased.pending.attempt}
    match classify(error, leased.pending.attempt, context.settings.retry_rule):
        case RetryIn(delay) | RetryAfterOutage(delay):
            LOG.warning("tried again in %s: %s", delay, error, extra=fields)
            later(queued, delay)
        case RetryAt(at):
            LOG.warning("tried again at %s: %s", at, error, extra=fields)
            later(queued, at - context.clock.now())
        case Discard(reason):
            LOG.info("dropped: %s", reason, extra=fields)
            if not isinstance(error, LeaseLost):
                later(queued, NO_DELAY)  # its handler finds what is gone
        case FailCheck(reason):
            later(queued.model_copy(update={"failed": reason}), NO_DELAY)
        case Bug():
            later(queued.model_copy(update={"failed": FAILED}), NO_DELAY)
            raise error
        case _ as never:
            assert_never(never)
