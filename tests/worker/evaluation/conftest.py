"""A private Redis for all tests of this folder. Invariant: a test finds it empty."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.worker.adapters.redis.played import KEY, settings
from tests.worker.evaluation.recorded import Assay
from tests.world.anthropic import Anthropic
from tests.world.redis import Redis
from worker.adapters.redis.store import Store, open_store
from worker.settings import Settings


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    redis = Redis.started()
    yield redis
    redis.end()


@pytest.fixture
def here(redis_server: Redis, tmp_path: Path) -> Settings:
    return settings(redis_server.url, tier="heuristic", data_dir=tmp_path)


@pytest.fixture
def store(here: Settings) -> Iterator[Store]:
    with open_store(here) as opened:
        opened.client.call("FLUSHALL")
        yield opened


@pytest.fixture
def assay(
    redis_server: Redis,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Assay:
    """The command line on this Redis, by code alone."""
    store.ping()
    made = Assay(monkeypatch, capsys)
    made.has(REDIS_URL=redis_server.url, ASSAY_STORE_KEYS=KEY.get_secret_value(), ASSAY_TIER="heuristic")
    made.has(ASSAY_DATA_DIR=str(tmp_path / "state"))
    return made


@pytest.fixture
def model() -> Iterator[Anthropic]:
    with HTTPServer(threaded=True) as server:
        played = Anthropic(server)
        yield played
        played.check()
