"""RQ's worker with one fork per job and fewer writes. A job whose process died is requeued.

Overrides hooks that RQ does not document, so RQ is pinned to one minor version.
"""

import json
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from math import inf
from resource import struct_rusage
from types import FrameType, MappingProxyType
from typing import Final, NoReturn, Self, cast

from rq import Queue, Worker
from rq.executions import Execution
from rq.job import Job
from rq.timeouts import JobTimeoutException
from rq.utils import now
from rq.worker_registration import register

from worker.adapters.redis.store import Store
from worker.errors import Unavailable
from worker.process import collect_rarely, die_with_parent, limit_memory
from worker.scheduling.jobs import JOB_CONTEXT, PullRequestJob, parse_job, requeue, run_job
from worker.scheduling.queue import Batch, EvaluateQueue

LOG: Final = logging.getLogger(__name__)
HEARTBEAT_INTERVAL: Final = timedelta(seconds=5)

DEMOTION_INTERVAL_S: Final = 3600.0
"""How often each installation's overridden rejects are checked."""

WORKER_TTL_S: Final = 30
MAINTENANCE_S: Final = 30
KilledHandler = Callable[[Job, int, int, struct_rusage], None]

FAILED_EXIT: Final = 3
"""The exit status of a failed job."""

FAILURE_NOTE: Final = "Its log says why."
"""What RQ stores of a failure: the error's own message may quote private source."""


class JudgeWorker(Worker):
    """RQ's worker without its command thread, since it forks. Its jobs die with it and are requeued.

    It writes all of RQ's records of a job on its own connection: opening one takes a job longer than becoming ready to judge.
    """

    running_job: Job | None = None
    demotions_checked_at: Mapping[int, float] = MappingProxyType({})
    """When this worker last checked each installation, by the monotonic clock."""

    exit_status: int | None = None

    @classmethod
    def for_queue(cls, queue: Queue, killed: KilledHandler | None = None) -> Self:
        """A worker of this queue. *killed*: called for a job whose process was killed."""
        return cls(
            [queue],
            connection=queue.connection,
            serializer=queue.serializer,
            worker_ttl=WORKER_TTL_S,
            maintenance_interval=MAINTENANCE_S,
            work_horse_killed_handler=killed,
            log_job_description=False,
        )

    def subscribe(self) -> None:
        """Accept no commands through Redis: that needs a thread in the process that forks."""

    def heartbeat(self, timeout: int | None = None, pipeline: Batch | None = None) -> None:
        """Write at most every HEARTBEAT_INTERVAL: RQ beats three times around each job, and its key lives for a minute."""
        is_fresh = self.last_heartbeat is not None and now() - self.last_heartbeat < HEARTBEAT_INTERVAL
        if pipeline is not None or timeout is not None or not is_fresh:
            super().heartbeat(timeout, pipeline)
            if pipeline is None:
                register(self)  # other workers remove one whose key expired while it could not reach Redis

    def set_state(self, state: str, pipeline: Batch | None = None) -> None:
        if pipeline is not None or state != self.get_state():
            super().set_state(state, pipeline)

    def prepare_execution(self, job: Job) -> Execution:
        execution = super().prepare_execution(job)
        self.prepare_job_execution(job, remove_from_intermediate_queue=True)
        return execution

    def main_work_horse(self, job: Job, queue: Queue) -> NoReturn:
        """Run the job in this forked process."""
        try:
            collect_rarely()
            die_with_parent(os.getppid(), signal.SIGKILL)
            limit_memory()
            self.setup_work_horse_signals()
            with self.death_penalty_class(job.timeout or queue.DEFAULT_TIMEOUT, JobTimeoutException, job_id=job.id):
                os._exit(os.EX_OK if self.perform(job) else FAILED_EXIT)
        finally:
            os._exit(1)  # a job must never continue as its worker

    def wait_for_horse(self) -> tuple[int | None, int | None, struct_rusage | None]:
        """Report a failed job to RQ as finished: RQ takes any other exit status for a killed process."""
        process, status, usage = super().wait_for_horse()
        self.exit_status = None if status is None or os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
        return process, os.EX_OK if self.exit_status == FAILED_EXIT else status, usage

    def monitor_work_horse(self, job: Job, queue: Queue, execution: Execution) -> None:
        super().monitor_work_horse(job, queue, execution)
        job.ended_at = now()
        if self.exit_status == os.EX_OK:
            with self.connection.pipeline() as pipeline:  # pyright: ignore[reportUnknownMemberType] - as redis has it
                self.increment_successful_job_count(pipeline)
                self.cleanup_execution(job, pipeline, execution)
                pipeline.delete(job.key)  # it has no result, and no dependents
                pipeline.execute()
            self.submit_follow_up(job)
        elif self.exit_status == FAILED_EXIT:
            self.handle_job_failure(  # pyright: ignore[reportUnknownMemberType] - RQ leaves a registry untyped
                job, queue, exc_string=FAILURE_NOTE, execution=execution
            )

    def execute_job(self, job: Job, queue: Queue) -> None:
        self.running_job = job
        super().execute_job(job, queue)
        self.running_job = None

    def request_force_stop(self, signum: int, frame: FrameType | None) -> None:
        """Stop immediately. RQ kills the job without calling `handle_killed_job`, so it is requeued here."""
        try:
            super().request_force_stop(signum, frame)
        except SystemExit:
            if self.running_job is not None:
                self.requeue(self.running_job)
            raise

    def perform(self, job: Job) -> bool:
        """Run the job. Returns whether it succeeded."""
        return run_job(job)

    def requeue(self, job: Job) -> None:
        """Requeue a job whose process is dead."""
        requeue(job)

    def submit_follow_up(self, job: Job) -> None:
        """After a published verdict, queue its shadow evaluation and, at intervals, the check for signals to demote."""
        subject = parse_job(job)
        if not isinstance(subject, PullRequestJob):
            return
        settings, now_s = JOB_CONTEXT.get().settings, time.monotonic()
        pull = subject.pull
        is_due = self.demotions_checked_at.get(pull.installation_id, -inf) + DEMOTION_INTERVAL_S <= now_s
        if not is_due and not settings.shadow.is_set:
            return
        if is_due:
            self.demotions_checked_at = {**self.demotions_checked_at, pull.installation_id: now_s}
        task = json.dumps({"pull": pull.model_dump(mode="json"), "looks": is_due})
        try:
            queue = EvaluateQueue(self.connection, settings.timing.check_deadline)
            queue.submit(f"after-{pull.installation_id}-{subject.fence}", task)
        except Unavailable as error:
            LOG.warning("work after the judging not queued: %s", error, extra={"pull": pull.model_dump()})


class EvaluateWorker(JudgeWorker):
    """The same for re-evaluations. A lost job is not requeued: the command that asked for it finds it undone."""

    def perform(self, job: Job) -> bool:
        from worker.evaluation.evaluate_jobs import EvaluationJobs  # noqa: PLC0415 - live judging needs none of it
        from worker.wiring.rejudge import open_terms  # noqa: PLC0415 - as above

        context = JOB_CONTEXT.get()
        store = cast("Store", context.store)  # jobs of the scheduler see less of it
        open_judge = partial(open_terms, context.settings, store)
        jobs = EvaluationJobs(context.settings, context.clock, store, open_judge)
        return jobs.perform([str(argument) for argument in job.args])  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType] - RQ can't know them

    def requeue(self, job: Job) -> None:
        pass

    def submit_follow_up(self, job: Job) -> None:
        pass
