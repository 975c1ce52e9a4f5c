"""The door and the store of tests/app, for the attacks of this folder. Invariant: a test finds Redis and the log empty."""

from tests.app.conftest import door, redis_server, served_door, store

__all__ = ["door", "redis_server", "served_door", "store"]
