"""Access to setup: the one-time tokens printed at the start, and the states that GitHub sends back, both as hashes.

A state is taken once. Closing invalidates every token and state in every process.
"""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from hmac import compare_digest
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, items, whole
from worker.adapters.redis.scripts import Script, run_script

STATE_LIFETIME: Final = timedelta(hours=1)
"""Lifetime of GitHub's code, and so of a state."""
TOKEN_PREFIX: Final = b"token:"


class RedisSetup:
    """Setup tokens and states. All methods raise Unavailable."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def open(self) -> str:
        """Make another token, which can't be read again."""
        token = secrets.token_urlsafe(32)
        run_script(self._wire, Script.SETUP_OPEN, [keys.SETUP], _hash(token), _milliseconds(keys.SETUP_FOR))
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
        made = run_script(self._wire, Script.SETUP_BEGIN, [keys.SETUP], _hash(state), _milliseconds(good_for))
        return state if whole(made) else None

    def take_state(self, state: str) -> str | None:
        """Take a returned state. Returns a token for `give_back`; None: invalid, expired, or already taken."""
        taker = secrets.token_hex(8)
        is_mine = whole(run_script(self._wire, Script.SETUP_TAKE, [keys.SETUP], _hash(state), taker))
        return taker if is_mine else None

    def give_back(self, state: str, taker: str) -> None:
        """Give a state back after an outage of GitHub, so that it can be retried."""
        run_script(self._wire, Script.SETUP_GIVE_BACK, [keys.SETUP], _hash(state), taker)

    def close(self) -> None:
        """Close setup after an App was created."""
        run_script(self._wire, Script.SETUP_CLOSE, [keys.SETUP])

    def _tokens(self) -> list[bytes]:
        names = [blob(name) for name in items(self._wire.call("HKEYS", keys.SETUP.name))]
        return [name.removeprefix(TOKEN_PREFIX) for name in names if name.startswith(TOKEN_PREFIX)]


def declined_in(state: str) -> frozenset[str]:
    """Declined permissions in a state. Only a taken one can be trusted."""
    return frozenset(state.split(".")[1:])


def _hash(secret: str) -> str:
    """Hash a secret of 256 random bits, which needs no salt."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _milliseconds(time: timedelta) -> int:
    return int(time.total_seconds() * 1000)
