"""Encryption of stored values: rotation of keys, misuse, and values of a newer version; tokens of the API and of the setup, of which Redis holds hashes only."""

import hashlib
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, require, ttl_s
from worker.adapters.redis import keys
from worker.adapters.redis.encryption_and_tokens import ENVELOPE_VERSION, Codec, RedisSetup, key_of, ring_of
from worker.adapters.redis.store import Store
from worker.domain.model import InstallationId
from worker.errors import Unreadable

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)


def test_sealed_value_opens_and_hides_its_text() -> None:
    plain = b"def secret(): ..." * 100
    sealed = Codec([NEW]).seal(plain, "key")
    assert Codec([NEW]).open(sealed, "key") == plain
    assert b"secret" not in sealed
    assert len(sealed) < 200, "compressed"
    assert sealed != Codec([NEW]).seal(plain, "key")


def test_first_key_seals_and_every_key_opens() -> None:
    sealed = Codec([OLD]).seal(b"x", "key")
    rotated = Codec([NEW, OLD])
    assert rotated.open(sealed, "key") == b"x"
    assert Codec([NEW]).open(rotated.seal(b"y", "key"), "key") == b"y"


SEALED = Codec([NEW]).seal(b"x", "key")


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        (
            Codec([OLD]).seal(b"x", "key"),
            "key",
            r"key is encrypted with a key that ASSAY_STORE_KEYS .*store\.key\) lacks",
        ),
        (SEALED, "other key", "other key was changed"),
        (SEALED[:-1] + bytes([SEALED[-1] ^ 1]), "key", "key was changed"),
        (
            SEALED[:1] + bytes([ENVELOPE_VERSION + 1]) + SEALED[2:],
            "key",
            r"key was written in version 2 .* reads up to 1.*Run the newer Assay",
        ),
        (b"", "key", "did not write"),
        (b"A\x01short", "key", "did not write"),
        (b"{'json': true, 'long': 'enough to be one of ours'}", "key", "did not write"),
    ],
    ids=["missing key", "moved", "changed", "newer version", "empty", "too short", "foreign"],
)
def test_unreadable_value_is_refused_with_its_reason(value: bytes, name: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        Codec([NEW]).open(value, name)


def test_folder_gets_one_key_readable_by_its_owner(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        created = set(pool.map(key_of, [tmp_path] * 16))
    assert len(created) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["store.key"]
    assert (tmp_path / "store.key").stat().st_mode & 0o777 == 0o600
    stored = (tmp_path / "store.key").read_text(encoding="ascii")
    assert ring_of((SecretStr(stored),)) == tuple(created)


def test_invalid_key_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.key").write_text("c2hvcnQ=", encoding="ascii")
    with pytest.raises(Unreadable, match=r"store.key holds no key of 32 bytes"):
        key_of(tmp_path)


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
