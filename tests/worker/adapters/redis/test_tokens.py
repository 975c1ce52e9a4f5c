"""Tokens, of which Redis has the hashes alone: what opens the API, and what may set Assay up."""

import hashlib
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, ttl_s
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.adapters.redis.tokens import RedisSetup
from worker.domain.ids import InstallationId

ONE, OTHER = InstallationId(100), InstallationId(200)

# Of the API


def test_a_token_opens_the_installations_it_was_made_for_until_it_is_revoked(store: Store) -> None:
    tokens = store.tokens()
    token = tokens.create("grafana", [ONE, OTHER], REQUESTED_AT)
    assert token is not None
    assert token.startswith("assay_")
    assert [tokens.scope(claimed) for claimed in (token, token + "x", "")] == [{ONE, OTHER}, None, None]
    assert tokens.create("grafana", [OTHER], REQUESTED_AT) is None, "a name is given once"
    assert [tokens.revoke("grafana"), tokens.revoke("grafana")] == [True, False]
    assert tokens.scope(token) is None
    assert tokens.create("grafana", [OTHER], REQUESTED_AT) not in (None, token)


@pytest.mark.parametrize(
    "said",
    ["junk", "[]", "7", "{}", '{"name":"a","installations":[100],"created_at":"soon"}',
     '{"name":7,"installations":[100],"created_at":"2026-11-20T12:00:00+00:00"}',
     '{"name":"a","installations":["x"],"created_at":"2026-11-20T12:00:00+00:00"}',
     '{"name":"a","installations":100,"created_at":"2026-11-20T12:00:00+00:00"}',
     '{"name":"a","installations":[100],"created_at":"2026-11-20T12:00:00"}', b"\xff"],
)  # fmt: skip
def test_what_is_no_token_of_ours_opens_nothing_and_hides_none(store: Store, said: str | bytes) -> None:
    tokens = store.tokens()
    tokens.create("a", [ONE], REQUESTED_AT)
    store.client.call("HSET", keys.TOKENS.name, hashlib.sha256(b"known").hexdigest(), said)
    assert [grant.name for grant in tokens.grants()] == ["a"]
    assert tokens.scope("known") is None


def test_tokens_are_listed_without_being_shown(store: Store) -> None:
    tokens = store.tokens()
    made = [tokens.create(name, [ONE], REQUESTED_AT) for name in ("b", "a")]
    listed = [(grant.name, grant.installations, grant.created_at) for grant in tokens.grants()]
    assert listed == [("a", {ONE}, REQUESTED_AT), ("b", {ONE}, REQUESTED_AT)]
    kept = store.client.call("HGETALL", keys.TOKENS.name), store.client.call("HGETALL", keys.TOKEN_NAMES.name)
    assert not any(str(token) in repr(kept) for token in made)


# Of the setup


@pytest.fixture
def setup(store: Store) -> RedisSetup:
    return store.setup()


def begun(setup: RedisSetup, *declined: str, good_for: timedelta = timedelta(hours=1)) -> str:
    """A state, while setup is open."""
    state = setup.begin_setup(good_for, declined)
    assert state is not None
    return state


def test_a_token_opens_until_an_app_was_made(setup: RedisSetup) -> None:
    assert not setup.is_open()
    first, second = setup.open(), setup.open()
    assert first != second
    assert setup.is_open()
    state = begun(setup)
    guesses = ["", first[:-1], first + "x", first.swapcase(), state, "\ud800", "*", first, second]
    assert [guess for guess in guesses if setup.is_token(guess)] == [first, second]
    setup.close()
    assert (setup.is_open(), setup.is_token(first), setup.begin_setup()) == (False, False, None)
    setup.open()
    assert setup.take_state(state) is None, "one that was under way is worthless"


def test_a_state_is_taken_once_and_only_one_that_was_begun_and_is_not_old(setup: RedisSetup) -> None:
    token = setup.open()
    state, old = begun(setup), begun(setup, good_for=timedelta(seconds=-1))
    assert [setup.take_state(claimed) for claimed in ("made up", token, old)] == [None] * 3
    taker = setup.take_state(state)
    assert taker is not None
    assert setup.take_state(state) is None
    setup.give_back(state, "another")
    assert setup.take_state(state) is None
    setup.give_back(state, taker)
    assert setup.take_state(state) is not None


def test_a_state_brings_back_what_was_not_chosen_and_nothing_that_was_put_into_it(setup: RedisSetup) -> None:
    setup.open()
    plain, state = begun(setup), begun(setup, "reactions", "comments")
    assert (RedisSetup.declined_in(plain), RedisSetup.declined_in(state)) == (frozenset(), {"comments", "reactions"})
    assert [setup.take_state(forged) for forged in (f"{state},more", f"{plain}.comments")] == [None, None]
    assert setup.take_state(state) is not None


def test_nobody_finds_a_token_or_a_state_in_redis_and_they_do_not_stay(store: Store, setup: RedisSetup) -> None:
    secrets = [setup.open(), begun(setup)]
    kept = repr(store.client.call("HGETALL", keys.SETUP.name))
    assert not any(secret in kept for secret in secrets)
    assert 0 < ttl_s(store, keys.SETUP) <= 86_400
