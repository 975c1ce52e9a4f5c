import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.adapters.redis.store_samples import KEY
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store


@pytest.fixture
def records(store: Store, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The empty store that the environment names to commands."""
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("ASSAY_STORE_KEYS", KEY.get_secret_value())
    store.client.call("FLUSHALL")
    return store


@pytest.fixture
def store_of_judge(records: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store to which `judge` writes in this process, whose garbage collector it changes."""
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path / "state"))
    thresholds = gc.get_threshold()
    yield records
    gc.unfreeze()
    gc.set_threshold(*thresholds)
