"""The store and the world of tests/worker/processes. Invariant: a test finds Redis empty."""

from tests.worker.processes.conftest import here, redis_server, store, world

__all__ = ["here", "redis_server", "store", "world"]
