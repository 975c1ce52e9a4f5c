"""A private Redis, empty before each test, and a scripted GitHub in it."""

from collections.abc import Iterator

import pytest

from tests.worker.adapters.redis.store_samples import settings_for
from tests.worker.scheduling.scripted_judging import ScriptedGitHub
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store
from worker.settings import Settings, Timing

QUICK = Timing(quiet_window=0, lease=30, hold=30, leader=5, sweep=0.05, tick=0.01, retry_delay=0.05, stop_grace=5)


@pytest.fixture
def settings(redis_server: RedisServer) -> Settings:
    return settings_for(redis_server.url, QUICK, retries=2)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with open_store(settings) as opened:
        opened.client.call("FLUSHALL")
        yield opened


@pytest.fixture
def world(store: Store) -> ScriptedGitHub:
    return ScriptedGitHub(store)
