"""Read-only tokens for the API, stored as hashes. A token opens the figures of the installations that it names.

It is shown once, when it is created; after revocation it opens nothing.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import blob, items, text
from worker.adapters.redis.connection.transactions import Operation, RedisPart, Transaction, in_transaction, run
from worker.domain.ids import InstallationId

PREFIX: Final = "assay_"
"""Prefix by which secret scanners find a leaked token."""

VERSION: Final = 1


@dataclass(frozen=True)
class ApiTokenGrant:
    """Access of a token, without the token."""

    name: str
    installations: frozenset[InstallationId]
    created_at: datetime


class RedisTokens(RedisPart):
    """API tokens. All methods raise Unavailable."""

    def create(self, name: str, installations: Iterable[InstallationId], at: datetime) -> str | None:
        """Create a token; None: the name is taken. It can't be read again."""
        token = PREFIX + secrets.token_urlsafe(32)
        grant = {"v": VERSION, "name": name, "installations": sorted(installations), "created_at": at.isoformat()}

        def operation(transaction: Transaction) -> Operation[str | None]:
            (taken_by,) = yield from transaction.read(("HGET", keys.TOKEN_NAMES.name, name))
            if taken_by is not None:
                return token if text(taken_by) == _hash(token) else None
            transaction.write("HSET", keys.TOKEN_NAMES.name, name, _hash(token))
            transaction.write("HSET", keys.TOKENS.name, _hash(token), json.dumps(grant))
            return token

        return run(self._wire, operation)

    @in_transaction
    def revoke(self, transaction: Transaction, name: str) -> Operation[bool]:
        """Revoke the token of this name. False: there is none."""
        (stored,) = yield from transaction.read(("HGET", keys.TOKEN_NAMES.name, name))
        if stored is None:
            return False
        transaction.write("HDEL", keys.TOKENS.name, blob(stored))
        transaction.write("HDEL", keys.TOKEN_NAMES.name, name)
        return True

    def grants(self) -> tuple[ApiTokenGrant, ...]:
        """Grants of all valid tokens, oldest first; an alien value is skipped."""
        tokens = [_read(blob(token)) for token in items(self._wire.call("HVALS", keys.TOKENS.name))]
        return tuple(sorted(filter(None, tokens), key=lambda token: (token.created_at, token.name)))

    def scope(self, token: str) -> frozenset[InstallationId] | None:
        """Installations whose figures this token opens; None: not a valid token."""
        stored = self._wire.call("HGET", keys.TOKENS.name, _hash(token))
        grant = _read(blob(stored)) if stored else None
        return grant.installations if grant else None


def _hash(token: str) -> str:
    """Hash a token of 256 random bits, which needs no salt and no lookup of one."""
    return hashlib.sha256(token.encode()).hexdigest()


def _read(raw: bytes) -> ApiTokenGrant | None:
    """Parse a grant; None: Assay did not write it."""
    try:
        fields = json.loads(raw)
        name, numbers, at = fields["name"], fields["installations"], datetime.fromisoformat(fields["created_at"])
    except (ValueError, TypeError, KeyError):
        return None
    if not isinstance(name, str) or not isinstance(numbers, list) or at.tzinfo is None:
        return None
    whole = [InstallationId(number) for number in cast("list[object]", numbers) if type(number) is int]
    return ApiTokenGrant(name, frozenset(whole), at) if len(whole) == len(cast("list[object]", numbers)) else None
