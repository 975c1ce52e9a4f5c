"""One web server for all tests of this folder. Invariant: each test begins with an empty Redis and an empty log."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from tests.app.web.web_server import WebServer, launch_web_server, settings
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    redis = RedisServer.launch()
    yield redis
    redis.end()


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[Store]:
    with open_store(settings(redis_url=SecretStr(redis_server.url))) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_web_server(redis_server: RedisServer) -> Iterator[WebServer]:
    with launch_web_server(redis_server) as server:
        yield server


@pytest.fixture
def web_server(shared_web_server: WebServer) -> WebServer:
    shared_web_server.reset()
    return shared_web_server
