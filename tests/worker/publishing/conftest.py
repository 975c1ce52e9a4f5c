"""The fixtures of tests/worker/scheduling: an empty Redis and a scripted GitHub."""

from tests.worker.scheduling.conftest import settings, store, world

__all__ = ["settings", "store", "world"]
