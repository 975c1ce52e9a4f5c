"""What RQ runs for a merge group that differs from what was accepted: one judging of it.

Does not judge (`worker.scheduling.group_judge` does). Invariant: whatever happens here, either the group says so to who answers it, or
its lease runs out and brings it back; and one that kills its judges is given up.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pkgutil import resolve_name
from typing import Final, Protocol, assert_never

from worker.adapters.redis.leases import beating
from worker.adapters.redis.merge_groups import TakenGroup
from worker.adapters.redis.store import Store
from worker.errors import Bug, Drop, GiveUp, LeaseLost, RetryAt, RetryIn, Unavailable, WaitOut, classify
from worker.scheduling.jobs import FAILED, SCENE, Scene, careful, caught
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
AT_ONCE: Final = timedelta(0)


class GroupBench(Protocol):
    """What such a job needs of a court. Raises `worker.errors`."""

    def judge_group(self, taken: TakenGroup) -> None: ...


OpenGroupBench = Callable[[Settings, Store], AbstractContextManager[GroupBench]]


def performed(group_id: str, token: str) -> bool:
    """Judge a group; whether that went well. What went wrong is in the log, and told to who answers the group."""
    error = caught(partial(judge, group_id, token))
    if error is not None:
        LOG.error("a merge group could not be judged", exc_info=error, extra={"group": group_id})
    return error is None


def judge(group_id: str, token: str) -> None:
    """Judge a group under this token, if it still admits one."""
    scene = SCENE.get()
    taken = scene.store.groups.take(group_id, token)
    if taken is None:
        LOG.info("not to be judged any more", extra={"group": group_id})
        return
    with beating(taken.lease, scene.settings.timing.lease):
        error = caught(partial(_judge, scene, taken))
    if error is not None:
        _after(scene, taken, error)


def bring_back(group_id: str, token: str) -> None:
    """The process of this job is dead: have its group looked at again, if it was not done."""
    LOG.error("a judge was killed", extra={"group": group_id})
    store = SCENE.get().store
    try:
        store.groups.died(group_id, token)
    except Unavailable as error:
        LOG.warning("the lease brings it back: %s", error)
    finally:
        store.wire.close()  # here is where jobs are forked


def _judge(scene: Scene, taken: TakenGroup) -> None:
    open_bench: OpenGroupBench = resolve_name(scene.court)
    with careful(taken.open.attempt), open_bench(scene.settings, scene.store) as bench:
        bench.judge_group(taken)


def _after(scene: Scene, taken: TakenGroup, error: Exception) -> None:
    """Say what becomes of the group. Raises the error where it is a bug."""
    later, queued = scene.store.groups.later, taken.open.queued
    fields = {"group": taken.lease.group.id, "attempt": taken.open.attempt}
    match classify(error, taken.open.attempt, scene.settings.retry_rule):
        case RetryIn(delay) | WaitOut(delay):
            LOG.warning("tried again in %s: %s", delay, error, extra=fields)
            later(queued, delay)
        case RetryAt(at):
            LOG.warning("tried again at %s: %s", at, error, extra=fields)
            later(queued, at - scene.clock.now())
        case Drop(reason):
            LOG.info("dropped: %s", reason, extra=fields)
            if not isinstance(error, LeaseLost):
                later(queued, AT_ONCE)  # who answers it finds out what is gone
        case GiveUp(reason):
            later(queued.model_copy(update={"failed": reason}), AT_ONCE)
        case Bug():
            later(queued.model_copy(update={"failed": FAILED}), AT_ONCE)
            raise error
        case _ as never:
            assert_never(never)
