"""What a job that judges a merge group does about everything that can happen to it."""

import signal
from contextvars import copy_context

import pytest

from tests.worker.adapters.redis.played import becomes
from tests.worker.adapters.redis.test_merge_groups import group, runs_out
from tests.worker.scheduling.crowd import Working, harm
from tests.worker.scheduling.scripted_court import A_GROUP, NO_PULL, World
from tests.world.redis import Redis
from worker.adapters.redis.connection.client import RedisClient
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.merge_group import GroupEnd
from worker.domain.lifecycle.work import PendingGroup
from worker.errors import Unavailable
from worker.scheduling import group_jobs
from worker.scheduling.jobs import FAILED, JOB_CONTEXT, JobContext
from worker.settings import Settings

COURT = "tests.worker.scheduling.scripted_court:open_court"


@pytest.fixture
def scene(here: Settings, store: Store) -> JobContext:
    return JobContext(here, COURT, SystemClock(), store)


def given(store: Store) -> str:
    store.groups.put(group())
    return store.groups.dispatch(group()) or ""


def run(scene: JobContext, token: str) -> bool:
    """Judge the group under this token; whether that went well."""
    context = copy_context()
    context.run(JOB_CONTEXT.set, scene)
    return context.run(group_jobs.run_job, group().id, token)


def left(store: Store) -> PendingGroup | None:
    """The group, when its next turn comes."""
    runs_out(store)
    return store.groups.next()


def test_a_group_is_judged_and_done(scene: JobContext, store: Store, world: World) -> None:
    assert run(scene, given(store))
    assert len(world.story("group judged")) == 1
    assert left(store) is None


def test_a_job_that_was_started_twice_judges_once(scene: JobContext, store: Store, world: World) -> None:
    token = given(store)
    assert run(scene, token)
    assert run(scene, token)
    assert len(world.story("group judged")) == 1


@pytest.mark.parametrize("trouble", ["unavailable", "away", "limited 60", "gone"])
def test_what_passes_is_looked_at_again_and_counts_as_no_try(
    scene: JobContext, store: Store, world: World, trouble: str
) -> None:
    world.order(A_GROUP, trouble)
    assert run(scene, given(store))
    found = left(store)
    assert found is not None
    assert (found.attempt, found.queued.failed) == (1, "")


@pytest.mark.parametrize(("trouble", "said"), [("forbidden", "checks: write is missing"), ("bug secret", FAILED)])
def test_what_does_not_pass_is_told_to_who_answers_it(
    scene: JobContext, store: Store, world: World, trouble: str, said: str
) -> None:
    world.order(A_GROUP, trouble)
    assert run(scene, given(store)) is (said != FAILED)
    found = left(store)
    assert found is not None
    assert found.queued.failed == said


def test_a_group_that_github_gave_up_is_left_to_who_answers_it(scene: JobContext, store: Store, world: World) -> None:
    token = given(store)
    store.groups.put(group("gone", ended=GroupEnd.DEQUEUED))
    assert run(scene, token)
    assert world.story("group judged") == []
    found = left(store)
    assert found is not None
    assert found.group.ended is GroupEnd.DEQUEUED


def test_whose_process_died_is_looked_at_again_at_once(scene: JobContext, store: Store) -> None:
    token = given(store)
    assert store.groups.next() is None, "a judge has it"
    context = copy_context()
    context.run(JOB_CONTEXT.set, scene)
    context.run(group_jobs.requeue, group().id, token)
    assert store.groups.next() is not None


def test_without_redis_the_lease_brings_it_back(
    scene: JobContext, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    token = given(store)

    def unreachable(*_: object) -> None:
        raise Unavailable("Redis", "down")

    monkeypatch.setattr(RedisClient, "call", unreachable)
    context = copy_context()
    context.run(JOB_CONTEXT.set, scene)
    context.run(group_jobs.requeue, group().id, token)
    assert "the lease brings it back" in caplog.text


@pytest.mark.slow
def test_a_killed_judge_of_a_group_is_replaced_long_before_its_lease_ends(
    redis_server: Redis, store: Store, world: World
) -> None:
    world.order(NO_PULL, "hand over", "hand over")
    world.order(A_GROUP, "think 600")
    with Working.on(redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600") as working:
        store.groups.put(group())
        assert becomes(lambda: world.story("group judged"))
        harm(working.horses[0], signal.SIGKILL)
        assert becomes(lambda: len(world.story("group judged")) == 2)
        assert becomes(lambda: left(store) is None)
        assert [one["attempt"] for one in world.story("group")] == [1, 2]
        assert '"a judge was killed"' in working.log
