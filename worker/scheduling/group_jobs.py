"""What RQ runs for a merge group that differs from what was accepted: one judging of it.

Does not judge (`worker.scheduling.merge_queue` does). Invariant: whatever happens here, either the group says so to who answers it, or
its lease runs out and brings it back; and one that kills its judges is given up.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pkgutil import resolve_name
from typing import Final, Protocol, assert_never

from worker.adapters.redis.leases import renewing_lease
from worker.adapters.redis.merge_groups import LeasedGroup
from worker.adapters.redis.store import Store
from worker.errors import Bug, Discard, FailCheck, LeaseLost, RetryAfterOutage, RetryAt, RetryIn, Unavailable, classify
from worker.scheduling.jobs import FAILED, JOB_CONTEXT, JobContext, catch_error, guard_parsers
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
NO_DELAY: Final = timedelta(0)


class GroupJudgingApp(Protocol):
    """What such a job needs of a court. Raises `worker.errors`."""

    def judge_merge_group(self, leased: LeasedGroup) -> None: ...


OpenGroupJudgingApp = Callable[[Settings, Store], AbstractContextManager[GroupJudgingApp]]


def run_job(group_id: str, token: str) -> bool:
    """Judge a group; whether that went well. What went wrong is in the log, and told to who answers the group."""
    error = catch_error(partial(judge, group_id, token))
    if error is not None:
        LOG.error("a merge group could not be judged", exc_info=error, extra={"group": group_id})
    return error is None


def judge(group_id: str, token: str) -> None:
    """Judge a group under this token, if it still admits one."""
    context = JOB_CONTEXT.get()
    leased = context.store.groups.take_lease(group_id, token)
    if leased is None:
        LOG.info("not to be judged any more", extra={"group": group_id})
        return
    with renewing_lease(leased.lease, context.settings.timing.lease):
        error = catch_error(partial(_judge, context, leased))
    if error is not None:
        _handle_failure(context, leased, error)


def requeue(group_id: str, token: str) -> None:
    """The process of this job is dead: have its group looked at again, if it was not done."""
    LOG.error("a judge was killed", extra={"group": group_id})
    store = JOB_CONTEXT.get().store
    try:
        store.groups.requeue_dead(group_id, token)
    except Unavailable as error:
        LOG.warning("the lease brings it back: %s", error)
    finally:
        store.client.close()  # here is where jobs are forked


def _judge(context: JobContext, leased: LeasedGroup) -> None:
    open_bench: OpenGroupJudgingApp = resolve_name(context.app_factory)
    with guard_parsers(leased.pending.attempt), open_bench(context.settings, context.store) as app:
        app.judge_merge_group(leased)


def _handle_failure(context: JobContext, leased: LeasedGroup, error: Exception) -> None:
    """Say what becomes of the group. Raises the error where it is a bug."""
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
                later(queued, NO_DELAY)  # who answers it finds out what is gone
        case FailCheck(reason):
            later(queued.model_copy(update={"failed": reason}), NO_DELAY)
        case Bug():
            later(queued.model_copy(update={"failed": FAILED}), NO_DELAY)
            raise error
        case _ as never:
            assert_never(never)
