"""The web_server and the store of tests/app, for the attacks of this folder. Invariant: a test finds Redis and the log empty."""

from tests.app.conftest import redis_server, shared_web_server, store, web_server

__all__ = ["redis_server", "shared_web_server", "store", "web_server"]
