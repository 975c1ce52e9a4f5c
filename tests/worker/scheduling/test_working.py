"""`python -m worker` as in production, with scripted handlers."""

import signal
from contextlib import AbstractContextManager
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
LONG_LEASE = {"ASSAY_LEASE": "600", "ASSAY_HOLD": "600"}


def run_worker(store: Store, **changes: str) -> AbstractContextManager[WorkerProcess]:
    return WorkerProcess.on(store.url.get_secret_value(), 1, **changes)


def test_request_is_judged_in_a_child_process_and_all_end_on_sigterm(store: Store, world: ScriptedGitHub) -> None:
    with run_worker(store) as worker:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")
        parent = world.notes("began")[0]["parent"]
        assert parent in worker.processes
        assert worker.stop() == 0
        assert '"level": "error"' not in worker.log


def test_outside_contributors_do_not_block_the_only_worker(store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "think 600")
    with run_worker(store, **LONG_LEASE):
        for number in (1, 3):
            store.pulls.request_judging(judge_request(number, outside=True))
        assert wait_until(lambda: world.notes("began"))
        store.pulls.request_judging(judge_request(2))
        assert wait_until(lambda: world.checks().get(f"100/2 {HEAD}") == "failure: judged")
        assert len(world.notes("began")) == 2


@for_both_kinds
def test_killed_judge_is_replaced_before_its_lease_ends(
    store: Store, world: ScriptedGitHub, subject_kind: SubjectKind
) -> None:
    world.script(NO_PULL, "dispatch", "dispatch")
    world.script(pull_ref(subject_kind.script_number), "think 600")
    with run_worker(store, **LONG_LEASE) as worker:
        subject_kind.queue(store)
        assert wait_until(lambda: world.notes(subject_kind.judging_note))
        send_signal(worker.jobs[0], signal.SIGKILL)
        assert wait_until(lambda: len(world.notes(subject_kind.judging_note)) == 2)
        assert wait_until(lambda: subject_kind.is_over(store))
        assert '"judge process killed"' in worker.log


def test_job_leaves_only_its_failure_without_text_in_redis(store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(2), "bug a_line_of_a_private_source")
    with run_worker(store, **LONG_LEASE) as worker:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")
        assert wait_until(lambda: job_keys(store) == [])
        store.pulls.request_judging(judge_request(2))
        assert wait_until(lambda: "rq:failed:judge" in job_keys(store))
        assert wait_until(lambda: len(failed := job_names(store)) == 1 and failed[0].startswith("rq:job:judge-"))
        assert wait_until(lambda: not any(key.startswith("rq:execution") for key in job_keys(store)))
        assert '"judge process killed"' not in worker.log
    [job] = job_names(store)
    assert text(store.client.call("HGET", job, "status")) == "failed"
    assert 0 < whole(store.client.call("TTL", job)) <= KEEP_FAILURES.total_seconds()
    for key in job_keys(store):
        assert b"private" not in blob(store.client.call("DUMP", key))


def job_names(store: Store) -> list[str]:
    return [key for key in job_keys(store) if key.startswith("rq:job:")]


def job_keys(store: Store) -> list[str]:
    """Return RQ's keys except those of queues and workers."""
    names = [text(key) for key in items(store.client.call("KEYS", "rq:*"))]
    return sorted(key for key in names if key != "rq:queues" and not key.startswith(("rq:worker", "rq:clean_")))


@pytest.mark.parametrize("grace_s", ["0", "1.5"])
def test_interrupted_judging_is_repeated_after_a_restart(store: Store, world: ScriptedGitHub, grace_s: str) -> None:
    start = partial(run_worker, store, **LONG_LEASE, ASSAY_STOP_GRACE=grace_s)
    world.script(pull_ref(), "think 600")
    with start() as worker:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.notes("began"))
        assert worker.stop() == 0
    with start():
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")


def test_judging_that_kills_every_judge_is_given_up(store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), *["crash"] * 20)
    with run_worker(store, ASSAY_RETRIES="2"):
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.checks().get(CHECK, "").startswith("action_required"))
    assert len(world.notes("began")) == 3


def test_jobs_end_with_their_machine_and_are_judged_by_the_next(store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "think 600")
    with run_worker(store) as worker:
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: world.notes("began"))
        assert worker.jobs
        worker.kill()
    assert store.pulls.find_request(pull_ref()) is not None
    with run_worker(store):
        assert wait_until(lambda: world.checks().get(CHECK) == "failure: judged")


def test_worker_survives_an_outage_of_redis() -> None:
    redis = RedisServer.launch()
    try:
        with WorkerProcess.on(redis.url) as worker, open_store(settings_for(redis.url)) as store:
            redis.kill()
            redis.start()
            store.pulls.request_judging(judge_request())
            assert wait_until(lambda: ScriptedGitHub(store).checks().get(CHECK) == "failure: judged", 60), worker.log
    finally:
        redis.end()
