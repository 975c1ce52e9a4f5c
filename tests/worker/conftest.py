"""The Redis of the tests of this folder, which is empty when a test starts."""

from collections.abc import Iterator

import pytest

from tests.worker.adapters.redis.store_samples import settings_for
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    redis = RedisServer.launch()
    yield redis
    redis.end()


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server that a test may stop."""
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[Store]:
    with open_store(settings_for(redis_server.url)) as opened_store:
        opened_store.client.call("FLUSHALL")
        yield opened_store
