"""The store and the world of tests/worker/scheduling. Invariant: a test finds Redis empty."""

from tests.worker.scheduling.conftest import here, redis_server, store, world

__all__ = ["here", "redis_server", "store", "world"]
