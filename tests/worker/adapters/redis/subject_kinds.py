"""Pull requests and merge groups, the two kinds of subject that are judged, in Redis."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import pytest

from tests.worker.adapters.redis.store_samples import (
    dispatch_next,
    expire_lease,
    judge_request,
    make_due,
    pull_ref,
    require,
)
from tests.worker.adapters.redis.test_merge_groups import expire_group, merge_group
from worker.adapters.redis import keys
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.store import Store
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import LeasedGroup, LeasedJob
from worker.scheduling.jobs import MergeGroupJob, PullRequestJob, SubjectJob

Leased = LeasedJob | LeasedGroup


@dataclass(frozen=True)
class SubjectKind:
    """How a subject is queued, dispatched and found again; `expire` ends all that it waits for, a lease included."""

    queue: Callable[[Store], object]
    dispatch: Callable[[Store], SubjectJob | None]
    expire: Callable[[Store], object]
    is_over: Callable[[Store], bool]
    judging_note: str
    """The note of the scripted context for each of its judgings."""
    script_number: int
    """The pull request number under which its script is stored."""
    spared_attempts: tuple[str, str]
    """Key and field of its attempts that do not count."""


def _dispatch_pull_request(store: Store) -> PullRequestJob | None:
    job = dispatch_next(store)
    return PullRequestJob(job.request.pull, job.fence) if job else None


def _expire_pull_request(store: Store) -> None:
    expire_lease(store, pull_ref())
    if not store.pulls.requeue_lost() and store.groups.settled_at(pull_ref()) is None:
        make_due(store, pull_ref())


def _dispatch_group(store: Store) -> MergeGroupJob | None:
    pending = store.groups.next()
    return MergeGroupJob(pending.group.id, store.groups.dispatch(pending.group) or "") if pending else None


PULL_REQUEST: Final = SubjectKind(
    lambda store: store.pulls.request_judging(judge_request()),
    _dispatch_pull_request,
    _expire_pull_request,
    lambda store: store.groups.settled_at(pull_ref()) is not None,
    "began",
    pull_ref().number,
    (keys.pull(pull_ref()).name, "spared"),
)
MERGE_GROUP: Final = SubjectKind(
    lambda store: store.groups.put(merge_group()),
    _dispatch_group,
    expire_group,
    lambda store: store.client.call("ZCARD", GROUPS.order.name) == 0,
    "group judged",
    5_000,
    (GROUPS.tries.name, f"{merge_group().id} spared"),
)
for_both_kinds = pytest.mark.parametrize(
    "subject_kind", [PULL_REQUEST, MERGE_GROUP], ids=["pull request", "merge group"]
)


def dispatch_subject(store: Store, subject_kind: SubjectKind) -> SubjectJob:
    subject_kind.queue(store)
    return next_job(store, subject_kind)


def next_job(store: Store, subject_kind: SubjectKind) -> SubjectJob:
    return require(subject_kind.dispatch(store))


def take_lease(store: Store, job: SubjectJob) -> Leased | None:
    if isinstance(job, PullRequestJob):
        return store.pulls.take_lease(job.pull, job.fence)
    return store.groups.take_lease(job.group_id, job.token)


def take_valid_lease(store: Store, job: SubjectJob) -> Leased:
    return require(take_lease(store, job))


def another_job(job: SubjectJob) -> SubjectJob:
    return replace(job, fence=job.fence + 1) if isinstance(job, PullRequestJob) else replace(job, token="another")


def requeue_dead(store: Store, job: SubjectJob) -> bool:
    if isinstance(job, PullRequestJob):
        return store.pulls.requeue_dead(job.pull, job.fence)
    return store.groups.requeue_dead(job.group_id, job.token)


def finish(store: Store, leased: Leased) -> None:
    if isinstance(leased, LeasedJob):
        store.pulls.finish(leased.lease, Finish.JUDGED)
    else:
        store.groups.complete(leased.group)


def postpone(store: Store, leased: Leased) -> None:
    """End a judging that counts as no attempt, and is repeated."""
    if isinstance(leased, LeasedJob):
        store.pulls.finish(leased.lease, Finish.WAIT)
    else:
        store.groups.postpone(leased.queued, timedelta(0))
