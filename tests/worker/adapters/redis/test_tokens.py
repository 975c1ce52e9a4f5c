"""Tokens of the API and of the setup; Redis holds their hashes only."""

import hashlib
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, require, ttl_s
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.adapters.redis.tokens import RedisSetup
from worker.domain.model import InstallationId

INSTALLATION, OTHER = InstallationId(100), InstallationId(200)


def test_token_gives_access_to_its_installations_until_revoked(store: Store) -> None:
    tokens = store.tokens()
    token = require(tokens.create("grafana", [INSTALLATION, OTHER], REQUESTED_AT))
    assert token.startswith("assay_")
    assert [tokens.scope(claimed) for claimed in (token, token + "x", "")] == [{INSTALLATION, OTHER}, None, None]
    assert tokens.create("grafana", [OTHER], REQUESTED_AT) is None, "the name is taken"
    assert [tokens.revoke("grafana"), tokens.revoke("grafana")] == [True, False]
    assert tokens.scope(token) is None
    assert tokens.create("grafana", [OTHER], REQUESTED_AT) not in (None, token)


@pytest.mark.parametrize(
    "invalid",
    ["junk", "[]", "7", "{}", '{"name":"a","installations":[100],"created_at":"soon"}',
     '{"name":7,"installations":[100],"created_at":"2026-11-20T12:00:00+00:00"}',
     '{"name":"a","installations":["x"],"created_at":"2026-11-20T12:00:00+00:00"}',
     '{"name":"a","installations":100,"created_at":"2026-11-20T12:00:00+00:00"}',
     '{"name":"a","installations":[100],"created_at":"2026-11-20T12:00:00"}', b"\xff"],
)  # fmt: skip
def test_invalid_grant_gives_no_access_and_is_not_listed(store: Store, invalid: str | bytes) -> None:
    tokens = store.tokens()
    tokens.create("a", [INSTALLATION], REQUESTED_AT)
    store.client.call("HSET", keys.TOKENS.name, hashlib.sha256(b"known").hexdigest(), invalid)
    assert [grant.name for grant in tokens.grants()] == ["a"]
    assert tokens.scope("known") is None


def test_tokens_are_listed_without_their_text(store: Store) -> None:
    tokens = store.tokens()
    created = [tokens.create(name, [INSTALLATION], REQUESTED_AT) for name in ("b", "a")]
    listed = [(grant.name, grant.installations, grant.created_at) for grant in tokens.grants()]
    assert listed == [("a", {INSTALLATION}, REQUESTED_AT), ("b", {INSTALLATION}, REQUESTED_AT)]
    stored = store.client.call("HGETALL", keys.TOKENS.name), store.client.call("HGETALL", keys.TOKEN_NAMES.name)
    assert not any(str(token) in repr(stored) for token in created)


@pytest.fixture
def setup(store: Store) -> RedisSetup:
    return store.setup()


def begin_setup(setup: RedisSetup, *declined: str, good_for: timedelta = timedelta(hours=1)) -> str:
    return require(setup.begin_setup(good_for, declined))


def test_setup_tokens_are_valid_until_the_setup_closes(setup: RedisSetup) -> None:
    assert not setup.is_open()
    first, second = setup.open(), setup.open()
    assert first != second
    assert setup.is_open()
    state = begin_setup(setup)
    guesses = ["", first[:-1], first + "x", first.swapcase(), state, "\ud800", "*", first, second]
    assert [guess for guess in guesses if setup.is_token(guess)] == [first, second]
    setup.close()
    assert (setup.is_open(), setup.is_token(first), setup.begin_setup()) == (False, False, None)
    setup.open()
    assert setup.take_state(state) is None, "an earlier state is invalid"


def test_setup_state_is_taken_once_before_it_expires(setup: RedisSetup) -> None:
    token = setup.open()
    state, old = begin_setup(setup), begin_setup(setup, good_for=timedelta(seconds=-1))
    assert [setup.take_state(claimed) for claimed in ("made up", token, old)] == [None] * 3
    taker = require(setup.take_state(state))
    assert setup.take_state(state) is None
    setup.give_back(state, "another")
    assert setup.take_state(state) is None
    setup.give_back(state, taker)
    assert setup.take_state(state) is not None


def test_setup_state_carries_the_declined_permissions_unchanged(setup: RedisSetup) -> None:
    setup.open()
    plain, state = begin_setup(setup), begin_setup(setup, "reactions", "comments")
    assert (RedisSetup.declined_in(plain), RedisSetup.declined_in(state)) == (frozenset(), {"comments", "reactions"})
    assert [setup.take_state(forged) for forged in (f"{state},more", f"{plain}.comments")] == [None, None]
    assert setup.take_state(state) is not None


def test_setup_secrets_are_not_in_redis_and_expire(store: Store, setup: RedisSetup) -> None:
    secrets = [setup.open(), begin_setup(setup)]
    stored = repr(store.client.call("HGETALL", keys.SETUP.name))
    assert not any(secret in stored for secret in secrets)
    assert 0 < ttl_s(store, keys.SETUP) <= 86_400
