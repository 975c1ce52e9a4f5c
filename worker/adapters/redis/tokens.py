"""Tokens, stored as hashes: of the API, and of the setup with the states that GitHub sends back.

A token of the API opens the figures of the installations that it names. It is shown once, when it is created; after revocation it opens nothing.
Tokens of the setup are printed at the start. A state is taken once. Closing the setup invalidates all of its tokens and states in every
process.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Final, cast

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import blob, items, text
from worker.adapters.redis.connection.transactions import (
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    run,
    write_all,
)
from worker.domain.model import InstallationId

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

        return run(self._client, operation)

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
        tokens = [_read(blob(token)) for token in items(self._client.call("HVALS", keys.TOKENS.name))]
        return tuple(sorted(filter(None, tokens), key=lambda token: (token.created_at, token.name)))

    def scope(self, token: str) -> frozenset[InstallationId] | None:
        """Installations whose figures this token opens; None: not a valid token."""
        stored = self._client.call("HGET", keys.TOKENS.name, _hash(token))
        grant = _read(blob(stored)) if stored else None
        return grant.installations if grant else None


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


STATE_LIFETIME: Final = timedelta(hours=1)
"""Lifetime of GitHub's code, and so of a state."""
TOKEN_PREFIX: Final = b"token:"


class RedisSetup(RedisPart):
    """Setup tokens and states. All methods raise Unavailable."""

    def open(self) -> str:
        """Make another token, which can't be read again."""
        token = secrets.token_urlsafe(32)
        write_all(
            self._client,
            ("HSET", keys.SETUP.name, f"token:{_hash(token)}", 1),
            ("PEXPIRE", keys.SETUP.name, _milliseconds(keys.SETUP_FOR)),
        )
        return token

    def is_open(self) -> bool:
        """Whether any token is valid."""
        return bool(self._tokens())

    def is_token(self, claimed: str) -> bool:
        """Check a token: compares in constant time, and with all tokens."""
        mine = _hash(claimed).encode()
        return sum(compare_digest(mine, candidate) for candidate in self._tokens()) > 0

    def begin_setup(self, good_for: timedelta = STATE_LIFETIME, declined: Iterable[str] = ()) -> str | None:
        """Make a state for one round trip to GitHub. None: setup was closed meanwhile.

        It contains the names of declined permissions: GitHub returns it whole, and a modified one is not taken.
        """
        state = ".".join([secrets.token_urlsafe(32), *sorted(declined)])

        def operation(transaction: Transaction) -> Operation[str | None]:
            (is_open,) = yield from transaction.read(("EXISTS", keys.SETUP.name))
            if not is_open:
                return None
            until = transaction.now + _milliseconds(good_for)
            transaction.write("HSET", keys.SETUP.name, f"state:{_hash(state)}", until)
            return state

        return run(self._client, operation)

    def take_state(self, state: str) -> str | None:
        """Take a returned state. Returns a token for `give_back`; None: invalid, expired, or already taken."""
        taker, mark = secrets.token_hex(8), f"taken:{_hash(state)}"

        def operation(transaction: Transaction) -> Operation[str | None]:
            (stored,) = yield from transaction.read(("HMGET", keys.SETUP.name, f"state:{_hash(state)}", mark))
            until, taken_by = map(text, items(stored))
            if not until or float(until) < transaction.now or taken_by not in ("", taker):
                return None
            transaction.write("HSET", keys.SETUP.name, mark, taker)
            return taker

        return run(self._client, operation)

    @in_transaction
    def give_back(self, transaction: Transaction, state: str, taker: str) -> Operation[None]:
        """Give a state back after an outage of GitHub, so that it can be retried."""
        mark = f"taken:{_hash(state)}"
        (taken_by,) = yield from transaction.read(("HGET", keys.SETUP.name, mark))
        if text(taken_by) == taker:
            transaction.write("HDEL", keys.SETUP.name, mark)

    @staticmethod
    def declined_in(state: str) -> frozenset[str]:
        """Declined permissions in a state. Only a taken one can be trusted."""
        return frozenset(state.split(".")[1:])

    def close(self) -> None:
        """Close setup after an App was created."""
        self._client.call("DEL", keys.SETUP.name)

    def _tokens(self) -> list[bytes]:
        names = [blob(name) for name in items(self._client.call("HKEYS", keys.SETUP.name))]
        return [name.removeprefix(TOKEN_PREFIX) for name in names if name.startswith(TOKEN_PREFIX)]


def _hash(secret: str) -> str:
    """Hash a secret of 256 random bits, which needs no salt."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _milliseconds(time: timedelta) -> int:
    return int(time.total_seconds() * 1000)
