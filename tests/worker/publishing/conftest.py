"""The store and the world of tests/worker/scheduling. Invariant: a test finds Redis empty."""

from tests.worker.scheduling.conftest import redis_server, settings, store, world

__all__ = ["redis_server", "settings", "store", "world"]
