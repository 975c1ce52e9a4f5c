"""Tokens for the API: what opens what, and that nobody finds one in Redis."""

import hashlib

import pytest

from tests.worker.adapters.redis.played import AT
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId

ONE, OTHER = InstallationId(100), InstallationId(200)


def test_a_token_opens_the_installations_it_was_made_for_until_it_is_revoked(store: Store) -> None:
    tokens = store.tokens()
    token = tokens.create("grafana", [ONE, OTHER], AT)
    assert token is not None
    assert token.startswith("assay_")
    assert tokens.scope(token) == {ONE, OTHER}
    assert tokens.scope(token + "x") is None
    assert tokens.scope("") is None
    assert tokens.revoke("grafana")
    assert tokens.scope(token) is None
    assert not tokens.revoke("grafana")


def test_a_name_is_given_once_and_again_after_it_was_revoked(store: Store) -> None:
    tokens = store.tokens()
    first = tokens.create("ci", [ONE], AT)
    assert tokens.create("ci", [OTHER], AT) is None
    assert first is not None
    assert tokens.scope(first) == {ONE}
    tokens.revoke("ci")
    assert tokens.create("ci", [OTHER], AT) not in (None, first)


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
    tokens.create("a", [ONE], AT)
    store.client.call("HSET", keys.TOKENS.name, hashlib.sha256(b"known").hexdigest(), said)
    assert [one.name for one in tokens.grants()] == ["a"]
    assert tokens.scope("known") is None


def test_tokens_are_listed_without_being_shown(store: Store) -> None:
    tokens = store.tokens()
    made = [tokens.create(name, [ONE], AT) for name in ("b", "a")]
    assert [(one.name, one.installations, one.created_at) for one in tokens.grants()] == [
        ("a", {ONE}, AT),
        ("b", {ONE}, AT),
    ]
    kept = store.client.call("HGETALL", keys.TOKENS.name), store.client.call("HGETALL", keys.TOKEN_NAMES.name)
    assert not any(str(token) in repr(kept) for token in made)
