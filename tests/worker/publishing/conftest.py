"""The fixtures of tests/worker/scheduling: an empty Redis and a scripted GitHub."""

from tests.worker.scheduling.conftest import redis_server, settings, store, world

__all__ = ["redis_server", "settings", "store", "world"]
