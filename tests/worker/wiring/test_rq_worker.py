"""Assay's RQ worker in a real Redis, without jobs."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from rq.worker_registration import clean_worker_registry

from tests.worker.adapters.redis.store_samples import settings_for
from tests.world.redis import RedisServer
from worker.scheduling.queue import JUDGE_QUEUE, JudgeQueue, open_queue, rq_connection
from worker.wiring.rq_worker import WORKER_TTL_S, JudgeWorker


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    redis = RedisServer.launch()
    yield redis
    redis.end()


def test_heartbeat_registers_a_removed_worker_again(redis: RedisServer) -> None:
    settings = settings_for(redis.url)
    with closing(rq_connection(settings)) as connection, closing(JudgeQueue(settings)) as queue:
        worker = JudgeWorker.for_queue(open_queue(JUDGE_QUEUE, connection))
        worker.register_birth()
        assert queue.workers() == 1
        connection.delete(worker.key)
        clean_worker_registry(open_queue(JUDGE_QUEUE, connection))
        assert queue.workers() == 0
        worker.heartbeat(WORKER_TTL_S)
        assert queue.workers() == 1
