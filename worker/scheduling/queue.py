"""The RQ queues that carry judgings to workers.

A job is named by its fence, so that it may be pushed twice and is judged once. RQ keeps failures for a week and nothing else.
"""

from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from datetime import timedelta
from typing import Final, Self

from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.client import Pipeline
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError, ReadOnlyError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from rq import Queue, Worker
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer

from worker.domain.judge_request import PullRef
from worker.errors import Unavailable
from worker.settings import Settings

JUDGE_QUEUE: Final = "judge"
OUTSIDE_QUEUE: Final = "outside"
"""Judgings of outsiders' forks. It has workers of its own, so that it delays nothing else."""

JUDGE_JOB: Final = "worker.scheduling.jobs.judge"
EVALUATE_QUEUE: Final = "evaluate"
"""Re-evaluations and shadow evaluations. It has workers of its own, so that it delays nothing else."""

GROUP_JOB: Final = "worker.scheduling.group_jobs.judge"
"""A name of the queue alone, which other versions read, too: there is no such module."""

EVALUATE_JOB: Final = "worker.evaluation.evaluate_jobs.anew"
KEEP_FAILURES: Final = timedelta(days=7)

UNFINISHED_STATUSES: Final = frozenset({JobStatus.QUEUED, JobStatus.STARTED, JobStatus.DEFERRED, JobStatus.SCHEDULED})
"""A job in any other state is over."""

Batch = Pipeline
"""Writes of RQ in one round trip."""


def rq_connection(settings: Settings) -> Redis:
    """RQ's own client of the store's Redis. It must return bytes."""
    if settings.redis_url is None:
        raise ValueError("RQ needs the URL of the store that is open")
    return Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - redis types its options as unknown
        settings.redis_url.get_secret_value(),
        socket_timeout=settings.timing.redis_timeout,
        socket_connect_timeout=settings.timing.redis_timeout,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 2),
        retry_on_error=[ReadOnlyError],  # after a failover: only a new connection finds the new primary
    )


def open_queue(name: str, connection: Redis) -> Queue:
    return Queue(name, connection=connection, serializer=JSONSerializer)


class EvaluateQueue:
    """The producer's side of the evaluation queue. Its methods raise Unavailable."""

    def __init__(self, connection: Redis, longest_s: float) -> None:
        self._connection = connection
        self._queue = open_queue(EVALUATE_QUEUE, connection)
        self._longest_s = int(longest_s)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """One with a connection of its own."""
        return cls(rq_connection(settings), settings.timing.check_deadline)

    def submit(self, name: str, payload: str) -> None:
        """Queue *payload* for a worker. Idempotent by *name* while it waits."""
        with _translate_errors():
            if Job.exists(name, self._connection):
                return
            self._queue.enqueue(  # pyright: ignore[reportUnknownMemberType] - RQ takes any function
                EVALUATE_JOB, payload, job_id=name, job_timeout=self._longest_s, result_ttl=0, failure_ttl=0
            )

    def workers(self) -> int:
        """Workers of this queue, on all machines."""
        with _translate_errors():
            return Worker.count(queue=self._queue)

    def find_unfinished(self, names: Collection[str]) -> set[str]:
        """Those of *names* that wait or run."""
        with _translate_errors():
            return {job.id for job in self._fetch_jobs(names) if job.get_status(refresh=False) in UNFINISHED_STATUSES}

    def withdraw(self, names: Iterable[str]) -> None:
        """Delete jobs that no worker has started."""
        with _translate_errors():
            for job in self._fetch_jobs(names):
                if job.get_status(refresh=False) == JobStatus.QUEUED:
                    job.delete()

    def _fetch_jobs(self, names: Iterable[str]) -> list[Job]:
        jobs = Job.fetch_many(  # pyright: ignore[reportUnknownMemberType] - RQ leaves the serializer untyped
            list(names), self._connection, JSONSerializer
        )
        return [job for job in jobs if job is not None]

    def close(self) -> None:
        self._connection.close()


class JudgeQueue:
    """The dispatcher's side of the live judging queues. Its methods raise Unavailable."""

    def __init__(self, settings: Settings) -> None:
        connection = rq_connection(settings)
        self._queue = open_queue(JUDGE_QUEUE, connection)
        self._outside = open_queue(OUTSIDE_QUEUE, connection)
        self._longest_s = int(settings.timing.check_deadline)

    @property
    def keys(self) -> tuple[str, str]:
        """RQ's lists of waiting job ids."""
        return self._queue.key, self._outside.key

    def submit(self, fence: int, pull: PullRef, *, is_outside: bool = False) -> None:
        """Queue a judging under this fence; *is_outside*: of an outsider's fork. Idempotent: the fence admits one."""
        queue = self._outside if is_outside else self._queue
        self._submit(queue, f"judge-{fence}", JUDGE_JOB, pull.installation_id, pull.repository_id, pull.number, fence)

    def submit_group(self, group_id: str, token: str) -> None:
        """The same for a merge group, whose token admits one judging."""
        self._submit(self._queue, f"group-{token}", GROUP_JOB, group_id, token)

    def _submit(self, queue: Queue, name: str, job: str, *arguments: int | str) -> None:
        with _translate_errors():
            queue.enqueue(  # pyright: ignore[reportUnknownMemberType] - RQ takes any function
                job,
                *arguments,
                job_id=name,
                job_timeout=self._longest_s,
                result_ttl=0,
                failure_ttl=int(KEEP_FAILURES.total_seconds()),
            )

    def workers(self) -> int:
        """Workers on all machines, without those for outsiders."""
        with _translate_errors():
            return Worker.count(queue=self._queue)

    def close(self) -> None:
        self._queue.connection.close()


@contextmanager
def _translate_errors() -> Generator[None]:
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError, OutOfMemoryError, ReadOnlyError) as error:
        raise Unavailable("Redis", str(error)) from error
