"""Who may set Assay up: the one-time tokens that were printed at the start, and the states that GitHub is to send back.

Does not keep a token or a state: only their hashes, so whoever reads Redis can't use one. Invariant: a state is taken once;
closing makes every token and every state worthless at once, in every process.
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
"""How long GitHub's code is good; a state needs no longer."""
TOKEN_PREFIX: Final = b"token:"


class RedisSetup:
    """All methods raise Unavailable."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def open(self) -> str:
        """Make one more token. It is not to be had a second time."""
        token = secrets.token_urlsafe(32)
        run_script(self._wire, Script.SETUP_OPEN, [keys.SETUP], _hash(token), _milliseconds(keys.SETUP_FOR))
        return token

    def is_open(self) -> bool:
        """Whether any token is still good."""
        return bool(self._tokens())

    def is_token(self, claimed: str) -> bool:
        """Compare in constant time, and with every token, whichever fits."""
        mine = _hash(claimed).encode()
        return sum(compare_digest(mine, candidate) for candidate in self._tokens()) > 0

    def begin_setup(self, good_for: timedelta = STATE_LIFETIME, declined: Iterable[str] = ()) -> str | None:
        """Make a state for one way to GitHub and back. None: setup was closed meanwhile.

        It carries the names of what was declined: GitHub sends it back whole, and another one is not taken.
        """
        state = ".".join([secrets.token_urlsafe(32), *sorted(declined)])
        made = run_script(self._wire, Script.SETUP_BEGIN, [keys.SETUP], _hash(state), _milliseconds(good_for))
        return state if whole(made) else None

    def take_state(self, state: str) -> str | None:
        """Take a state that came back. Answers what gives it back; None: it is none, too old, or was taken."""
        taker = secrets.token_hex(8)
        is_mine = whole(run_script(self._wire, Script.SETUP_TAKE, [keys.SETUP], _hash(state), taker))
        return taker if is_mine else None

    def give_back(self, state: str, taker: str) -> None:
        """GitHub could not be asked: the same state may come again."""
        run_script(self._wire, Script.SETUP_GIVE_BACK, [keys.SETUP], _hash(state), taker)

    def close(self) -> None:
        """An App was made."""
        run_script(self._wire, Script.SETUP_CLOSE, [keys.SETUP])

    def _tokens(self) -> list[bytes]:
        names = [blob(name) for name in items(self._wire.call("HKEYS", keys.SETUP.name))]
        return [name.removeprefix(TOKEN_PREFIX) for name in names if name.startswith(TOKEN_PREFIX)]


def declined_in(state: str) -> frozenset[str]:
    """What was declined where this state began. Believe it of one that was taken."""
    return frozenset(state.split(".")[1:])


def _hash(secret: str) -> str:
    """A secret is 256 random bits: no salt makes it harder to guess."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _milliseconds(time: timedelta) -> int:
    return int(time.total_seconds() * 1000)
