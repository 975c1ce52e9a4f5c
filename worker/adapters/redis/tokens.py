"""Read-only tokens for the API: who holds one reads the figures of the installations that it names, and nothing else.

Does not keep a token: only its hash, so whoever reads Redis can't use one. Invariant: a token is shown once, when it is
made; one that was revoked opens nothing from that moment on.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Final, cast

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, items, whole
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.ids import InstallationId
from worker.domain.value import Value

PREFIX: Final = "assay_"
"""So that a token that leaked is found by those who look for such."""

VERSION: Final = 1


class ApiTokenGrant(Value):
    """What a token opens, without the token."""

    name: str
    installations: frozenset[InstallationId]
    created_at: datetime


class RedisTokens:
    """All tokens. All methods raise Unavailable."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def create(self, name: str, installations: Iterable[InstallationId], at: datetime) -> str | None:
        """Make a token of this name; None: there is one of that name. It is not to be had a second time."""
        token = PREFIX + secrets.token_urlsafe(32)
        grant = {"v": VERSION, "name": name, "installations": sorted(installations), "created_at": at.isoformat()}
        on = [keys.TOKENS, keys.TOKEN_NAMES]
        made = run_script(self._wire, Script.TOKEN_CREATE, on, name, _hash(token), json.dumps(grant))
        return token if whole(made) else None

    def revoke(self, name: str) -> bool:
        """Close what the token of this name opened. False: there is none."""
        return whole(run_script(self._wire, Script.TOKEN_REVOKE, [keys.TOKENS, keys.TOKEN_NAMES], name)) == 1

    def grants(self) -> tuple[ApiTokenGrant, ...]:
        """All that were made and not revoked, oldest first; what somebody else wrote among them opens nothing, and is none."""
        tokens = [_read(blob(token)) for token in items(self._wire.call("HVALS", keys.TOKENS.name))]
        return tuple(sorted(filter(None, tokens), key=lambda token: (token.created_at, token.name)))

    def scope(self, token: str) -> frozenset[InstallationId] | None:
        """The installations whose figures this token opens; None: it is no token of ours."""
        stored = self._wire.call("HGET", keys.TOKENS.name, _hash(token))
        grant = _read(blob(stored)) if stored else None
        return grant.installations if grant else None


def _hash(token: str) -> str:
    """A token is 256 random bits: no salt makes it harder to guess, and none has to be looked for."""
    return hashlib.sha256(token.encode()).hexdigest()


def _read(raw: bytes) -> ApiTokenGrant | None:
    """What a token opens; None: it was not written by us."""
    try:
        fields = json.loads(raw)
        name, numbers, at = fields["name"], fields["installations"], datetime.fromisoformat(fields["created_at"])
    except (ValueError, TypeError, KeyError):
        return None
    if not isinstance(name, str) or not isinstance(numbers, list) or at.tzinfo is None:
        return None
    whole = [InstallationId(number) for number in cast("list[object]", numbers) if type(number) is int]
    return ApiTokenGrant(name, frozenset(whole), at) if len(whole) == len(cast("list[object]", numbers)) else None
