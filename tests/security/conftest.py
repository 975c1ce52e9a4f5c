"""The fixtures of tests/app for the tests of this folder."""

from tests.app.conftest import redis_server, shared_web_server, store, web_server

__all__ = ["redis_server", "shared_web_server", "store", "web_server"]
