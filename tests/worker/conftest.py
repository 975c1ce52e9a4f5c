"""One private Redis for all tests of this folder. Invariant: a test finds it empty."""

from collections.abc import Iterator

import pytest

from tests.worker.adapters.redis.played import settings
from tests.world.redis import Redis
from worker.adapters.redis.store import Store, open_store


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    redis = Redis.started()
    yield redis
    redis.end()


@pytest.fixture
def store(redis_server: Redis) -> Iterator[Store]:
    with open_store(settings(redis_server.url)) as opened:
        opened.client.call("FLUSHALL")
        yield opened
