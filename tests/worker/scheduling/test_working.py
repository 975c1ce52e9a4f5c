"""`python -m worker` as it runs in production, with scripted handlers."""

import signal
from functools import partial

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, judge_request, pull_ref, settings_for, wait_until
from tests.worker.adapters.redis.subject_kinds import SubjectKind, for_both_kinds
from tests.worker.scheduling.scripted_judging import NO_PULL, ScriptedGitHub
from tests.worker.scheduling.worker_processes import WorkerProcess, send_signal
from tests.world.redis import RedisServer
from worker.adapters.redis.connection.client import blob, items, text, whole
from worker.adapters.redis.store import Store, open_store
from worker.scheduling.queue import KEEP_FAILURES

pytestmark = pytest.mark.slow
CHECK = f"100/1 {HEAD}"


def test_a_request_is_judged_in_a_process_of_its_own_and_all_end_on_request(
    redis_server: RedisServer, store: Store, world: ScriptedGitHub
) -> None:
    with WorkerProcess.on(redis_server.url) as working:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")
        parent = world.notes("began")[0]["parent"]
        assert parent in working.processes
        assert working.stop() == 0
        assert '"level": "error"' not in working.log


def test_the_only_worker_is_free_for_others_whatever_strangers_have_judged(
    redis_server: RedisServer, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), "think 600")
    with WorkerProcess.on(redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600"):
        for number in (1, 3):
            store.pulls.request_judging(judge_request(number, outside=True))
        assert wait_until(lambda: world.notes("began"))
        store.pulls.request_judging(judge_request(2))
        assert wait_until(lambda: world.checks().get(f"100/2 {HEAD}") == "failure: judged")
        assert len(world.notes("began")) == 2


@for_both_kinds
def test_a_killed_judge_is_replaced_long_before_its_lease_ends(
    redis_server: RedisServer, store: Store, world: ScriptedGitHub, subject_kind: SubjectKind
) -> None:
    world.script(NO_PULL, "hand over", "hand over")
    world.script(pull_ref(subject_kind.script_number), "think 600")
    with WorkerProcess.on(redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600") as working:
        subject_kind.queue(store)
        assert wait_until(lambda: world.notes(subject_kind.judging_note))
        send_signal(working.jobs[0], signal.SIGKILL)
        assert wait_until(lambda: len(world.notes(subject_kind.judging_note)) == 2)
        assert wait_until(lambda: subject_kind.is_over(store))
        assert '"judge process killed"' in working.log


def test_a_job_leaves_nothing_behind_in_redis_but_a_failure_without_its_words(
    redis_server: RedisServer, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(2), "bug a_line_of_a_private_source")
    with WorkerProcess.on(redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600") as working:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")
        assert wait_until(lambda: left_by_jobs(store) == [])
        store.pulls.request_judging(judge_request(2))
        assert wait_until(lambda: "rq:failed:judge" in left_by_jobs(store))
        assert wait_until(lambda: len(failed := jobs_of(store)) == 1 and failed[0].startswith("rq:job:judge-"))
        assert wait_until(lambda: not any(key.startswith("rq:execution") for key in left_by_jobs(store)))
        assert '"judge process killed"' not in working.log
    [job] = jobs_of(store)
    assert text(store.client.call("HGET", job, "status")) == "failed"
    assert 0 < whole(store.client.call("TTL", job)) <= KEEP_FAILURES.total_seconds()
    for key in left_by_jobs(store):
        assert b"private" not in blob(store.client.call("DUMP", key))


def jobs_of(store: Store) -> list[str]:
    """Those that wait, are at work or failed: what is looked at beside a judging is over at its own time."""
    return [key for key in left_by_jobs(store) if key.startswith("rq:job:")]


def left_by_jobs(store: Store) -> list[str]:
    """RQ's keys but those that say which queues and workers there are."""
    found = [text(key) for key in items(store.client.call("KEYS", "rq:*"))]
    return sorted(key for key in found if key != "rq:queues" and not key.startswith(("rq:worker", "rq:clean_")))


@pytest.mark.parametrize("grace_s", ["0", "1.5"])
def test_what_was_judged_when_all_was_stopped_is_judged_at_the_next_start(
    redis_server: RedisServer, store: Store, world: ScriptedGitHub, grace_s: str
) -> None:
    start = partial(WorkerProcess.on, redis_server.url, ASSAY_LEASE="600", ASSAY_HOLD="600", ASSAY_STOP_GRACE=grace_s)
    world.script(pull_ref(), "think 600")
    with start() as working:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.notes("began"))
        assert working.stop() == 0
    with start():
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")


def test_a_dossier_that_kills_every_judge_is_given_up(
    redis_server: RedisServer, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), *["crash"] * 20)
    with WorkerProcess.on(redis_server.url, ASSAY_RETRIES="2"):
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.checks().get(CHECK, "").startswith("action_required"))
    assert len(world.notes("began")) == 3


def test_jobs_die_with_their_machine_and_are_done_by_the_next(
    redis_server: RedisServer, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(), "think 600")
    with WorkerProcess.on(redis_server.url) as working:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.notes("began"))
        assert working.jobs
        working.kill()
    assert store.pulls.find_request(pull_ref()) is not None
    with WorkerProcess.on(redis_server.url):
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")


def test_an_outage_of_redis_is_outlived() -> None:
    redis = RedisServer.launch()
    try:
        with WorkerProcess.on(redis.url) as working, open_store(settings_for(redis.url)) as store:
            redis.kill()
            redis.start()
            store.pulls.request_judging(judge_request())
            assert wait_until(lambda: ScriptedGitHub(store).checks().get(CHECK) == "failure: judged", 60), working.log
    finally:
        redis.end()
