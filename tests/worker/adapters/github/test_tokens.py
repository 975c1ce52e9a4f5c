"""Where installation tokens are kept."""

import asyncio
from datetime import timedelta

import pytest
from githubkit.exception import CacheUnsupportedError

from tests.worker.adapters.github.conftest import Drawer
from worker.adapters.github.client import SharedTokens, SharedTokensStrategy
from worker.adapters.redis import keys
from worker.domain.ids import InstallationId

HOUR, ONE, OTHER = timedelta(hours=1), InstallationId(1), InstallationId(2)


def test_a_token_is_kept_until_it_is_refused() -> None:
    tokens = SharedTokens(Drawer(), ONE)
    tokens.set("installation:1", "ghs_one", HOUR)
    assert tokens.get("installation:1") == "ghs_one"
    tokens.refuse("ghs_one")
    assert tokens.get("installation:1") is None
    tokens.set("installation:1", "ghs_two", HOUR)
    assert tokens.get("installation:1") == "ghs_two"


def test_each_installation_has_its_own_under_a_name_that_the_door_knows() -> None:
    drawer = Drawer()
    SharedTokens(drawer, ONE).set("githubkit:auth:app:9:installation:1:x", "ghs_one", HOUR)
    assert SharedTokens(drawer, OTHER).get("githubkit:auth:app:9:installation:2:x") is None
    assert drawer.kept.keys() == {keys.token(ONE)}


def test_no_jwt_is_kept() -> None:
    drawer = Drawer()
    tokens = SharedTokens(drawer, ONE)
    tokens.set("githubkit:auth:app:1:jwt", "eyJ", HOUR)
    drawer.put(keys.token(ONE), b"ghs_one", HOUR)
    assert tokens.get("githubkit:auth:app:1:jwt") is None
    assert drawer.kept == {keys.token(ONE): b"ghs_one"}


def test_a_token_that_is_over_already_is_not_kept() -> None:
    drawer = Drawer()
    SharedTokens(drawer, ONE).set("installation:1", "ghs_one", timedelta(seconds=-5))
    assert drawer.kept == {}


def test_there_is_no_http_cache_and_nothing_asynchronous() -> None:
    strategy = SharedTokensStrategy(SharedTokens(Drawer(), ONE))
    with pytest.raises(CacheUnsupportedError):
        strategy.get_hishel_storage()
    with pytest.raises(CacheUnsupportedError):
        asyncio.run(strategy.get_async_cache_storage())
    with pytest.raises(CacheUnsupportedError):
        asyncio.run(strategy.get_async_hishel_storage())
