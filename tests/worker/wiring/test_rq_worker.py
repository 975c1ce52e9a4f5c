"""RQ's worker as ours, against a real Redis and without jobs."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from rq.worker_registration import clean_worker_registry

from tests.worker.adapters.redis.store_samples import settings_for
from tests.world.redis import RedisServer
from worker.scheduling.queue import JudgeQueue, judge_queue, rq_connection
from worker.wiring.rq_worker import WORKER_TTL_S, JudgeWorker


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    redis = RedisServer.launch()
    yield redis
    redis.end()


def test_a_worker_that_was_removed_while_it_could_not_reach_redis_is_counted_again(redis: RedisServer) -> None:
    here = settings_for(redis.url)
    with closing(rq_connection(here)) as connection, closing(JudgeQueue(here)) as queue:
        worker = JudgeWorker.for_queue(judge_queue(connection))
        worker.register_birth()
        assert queue.workers() == 1
        connection.delete(worker.key)
        clean_worker_registry(judge_queue(connection))
        assert queue.workers() == 0
        worker.heartbeat(WORKER_TTL_S)
        assert queue.workers() == 1
