"""A private Redis, emptied before each test, and the command line on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.worker.adapters.redis.store_samples import KEY, settings_for
from tests.worker.evaluation.live_judging import AssayCommand
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store
from worker.settings import Settings


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    redis = RedisServer.launch()
    yield redis
    redis.end()


@pytest.fixture
def settings(redis_server: RedisServer, tmp_path: Path) -> Settings:
    return settings_for(redis_server.url, tier="heuristic", data_dir=tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with open_store(settings) as opened:
        opened.client.call("FLUSHALL")
        yield opened


@pytest.fixture
def assay(
    redis_server: RedisServer,
    store: Store,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> AssayCommand:
    """The command line on this Redis, in the heuristic tier."""
    command = AssayCommand(monkeypatch, capsys, store, settings)
    command.set_environment(REDIS_URL=redis_server.url, ASSAY_STORE_KEYS=KEY.get_secret_value(), ASSAY_TIER="heuristic")
    command.set_environment(ASSAY_DATA_DIR=str(tmp_path / "state"))
    return command


@pytest.fixture
def model() -> Iterator[FakeAnthropic]:
    with HTTPServer(threaded=True) as server:
        fake = FakeAnthropic(server)
        yield fake
        fake.assert_script_done()
