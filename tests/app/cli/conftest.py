import pytest

from tests.worker.adapters.redis.store_samples import KEY
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store


@pytest.fixture
def records(store: Store, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store to which the environment leads commands, empty."""
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("ASSAY_STORE_KEYS", KEY.get_secret_value())
    store.client.call("FLUSHALL")
    return store
