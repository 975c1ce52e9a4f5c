"""One door for all tests of this folder. Invariant: a test finds Redis and the log empty."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from tests.app.web.served import ServedDoor, served, settings
from tests.world.redis import Redis
from worker.adapters.redis.store import Store, open_store


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    redis = Redis.started()
    yield redis
    redis.end()


@pytest.fixture
def store(redis_server: Redis) -> Iterator[Store]:
    with open_store(settings(redis_url=SecretStr(redis_server.url))) as opened:
        yield opened


@pytest.fixture(scope="session")
def served_door(redis_server: Redis) -> Iterator[ServedDoor]:
    with served(redis_server) as door:
        yield door


@pytest.fixture
def door(served_door: ServedDoor) -> ServedDoor:
    served_door.forget()
    return served_door
