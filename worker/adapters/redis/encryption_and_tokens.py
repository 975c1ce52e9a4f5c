"""Secrets in the store: encryption of stored source code (AES-256-GCM over zstd), the vault, and tokens, which are stored as hashes.

An encrypted value decrypts only under the key name that it was encrypted for. An envelope of a newer version is refused. Envelope, version 1:
`A`, version (1 byte), key id (4), nonce (12), then the ciphertext with its tag.

A token of the API opens the figures of the installations that it names. It is shown once, when it is created; after revocation it opens nothing.
Tokens of the setup are printed at the start. A state that GitHub sends back is taken once. Closing the setup invalidates all of its tokens and
states in every process.
"""

import base64
import hashlib
import json
import logging
import os
import secrets
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from pathlib import Path
from typing import Any, Final, cast

from pydantic import SecretStr

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import M, RedisClient, Reply, blob, items, read_json, text
from worker.adapters.redis.connection.transactions import (
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    run,
    write_all,
)
from worker.domain.model import Frozen, InstallationId
from worker.errors import Unreadable

LOG: Final = logging.getLogger(__name__)
MAGIC: Final = b"A"
ENVELOPE_VERSION: Final = 1
KEY_BYTES: Final = 32
KEY_ID: Final = slice(2, 6)
NONCE: Final = slice(6, 18)
CIPHERTEXT: Final = slice(18, None)
KEY_FILE: Final = "store.key"
KEYS_SETTING: Final = f"ASSAY_STORE_KEYS (embedded Redis: {KEY_FILE})"
LACKS_KEY: Final = f"{KEYS_SETTING} lacks a key that encrypts what is stored."
RESTORE_HINT: Final = "Add it after the first key (embedded Redis: restore the file)."


class Codec:
    """Encrypts with the first key of a ring and decrypts with any."""

    def __init__(self, ring: Iterable[bytes]) -> None:
        self._ring = {hashlib.sha256(b"assay key id" + key).digest()[:4]: key for key in ring}
        self._first = next(iter(self._ring))

    @property
    def key_ids(self) -> tuple[str, ...]:
        """Ids of the keys, which reveal nothing about them; the first encrypts."""
        return tuple(key_id.hex() for key_id in self._ring)

    def seal(self, plain: bytes, key_name: str) -> bytes:
        """Compress and encrypt for this name of a Redis key."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - not for `--help`

        nonce = secrets.token_bytes(12)
        head = MAGIC + bytes([ENVELOPE_VERSION]) + self._first + nonce
        sealed = AESGCM(self._ring[self._first]).encrypt(nonce, _zstd().compress(plain), head[:6] + key_name.encode())
        return head + sealed

    def open(self, sealed: bytes, key_name: str) -> bytes:
        """Decrypt and decompress. Raises Unreadable."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - not for `--help`
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - not for `--help`

        if sealed[:1] != MAGIC or len(sealed) < CIPHERTEXT.start:
            raise Unreadable(f"{key_name} holds something that Assay did not write.")
        if sealed[1] > ENVELOPE_VERSION:
            problem = f"{key_name} was written in version {sealed[1]} of the format; this Assay reads up to {ENVELOPE_VERSION}."
            raise Unreadable(f"{problem} Run the newer Assay that wrote it.")
        key = self._ring.get(sealed[KEY_ID])
        if key is None:
            raise Unreadable(f"{key_name} is encrypted with a key that {KEYS_SETTING} lacks. {RESTORE_HINT}")
        try:
            packed = AESGCM(key).decrypt(sealed[NONCE], sealed[CIPHERTEXT], sealed[:6] + key_name.encode())
        except InvalidTag as error:
            raise Unreadable(f"{key_name} was changed since it was stored, or belongs elsewhere.") from error
        return _zstd().decompress(packed)


class SealedPart(RedisPart):
    """A part of the store that keeps encrypted values."""

    def __init__(self, client: RedisClient, codec: Codec) -> None:
        super().__init__(client)
        self._codec = codec

    def _seal(self, value: Frozen, key_name: str) -> bytes:
        return self._codec.seal(value.model_dump_json().encode(), key_name)

    def _open(self, kind: type[M], sealed: Reply, key_name: str) -> M:
        return read_json(kind, self._codec.open(blob(sealed), key_name))


def ring_of(store_keys: tuple[SecretStr, ...]) -> tuple[bytes, ...]:
    """The keys of the setting, as bytes."""
    return tuple(base64.b64decode(key.get_secret_value()) for key in store_keys)


def key_of(data_dir: Path) -> bytes:
    """The key of the embedded server's folder; made at the first call, readable by its owner only."""
    path = data_dir / KEY_FILE
    if not path.exists():
        _make_key(path)
    key = base64.b64decode(path.read_bytes())
    if len(key) != KEY_BYTES:
        raise Unreadable(f"{path} holds no key of {KEY_BYTES} bytes. Restore it; without it, delete the folder.")
    return key


def _make_key(path: Path) -> None:
    draft = path.with_name(f".{KEY_FILE}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)))
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass  # another process was first: its key is the key
    finally:
        draft.unlink()


def _zstd() -> Any:
    """The standard library's module, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - not for `--help`
    else:
        from backports import zstd  # noqa: PLC0415 - not for `--help`
    return zstd


class RedisVault(SealedPart):
    """Secrets that all workers share, such as installation tokens. An unreadable one counts as missing and is replaced."""

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None:
        key = keys.vault(name)
        lifetime = max(1, int(ttl.total_seconds()))
        self._client.call("SET", key.name, self._codec.seal(secret, key.name), "EX", lifetime)

    def get(self, name: str) -> bytes | None:
        key = keys.vault(name)
        sealed = self._client.call("GET", key.name)
        try:
            return self._codec.open(blob(sealed), key.name) if sealed else None
        except Unreadable as error:
            LOG.warning("stored secret unreadable, requesting a new one: %s", error)
            return None

    def drop(self, name: str) -> None:
        self._client.call("DEL", keys.vault(name).name)


API_PREFIX: Final = "assay_"
"""Prefix by which secret scanners find a leaked token."""

GRANT_VERSION: Final = 1


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
        token = API_PREFIX + secrets.token_urlsafe(32)
        grant = {"v": GRANT_VERSION, "name": name, "installations": sorted(installations), "created_at": at.isoformat()}

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
        tokens = [_parse_grant(blob(token)) for token in items(self._client.call("HVALS", keys.TOKENS.name))]
        return tuple(sorted(filter(None, tokens), key=lambda token: (token.created_at, token.name)))

    def scope(self, token: str) -> frozenset[InstallationId] | None:
        """Installations whose figures this token opens; None: not a valid token."""
        stored = self._client.call("HGET", keys.TOKENS.name, _hash(token))
        grant = _parse_grant(blob(stored)) if stored else None
        return grant.installations if grant else None


def _parse_grant(raw: bytes) -> ApiTokenGrant | None:
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
SETUP_PREFIX: Final = b"token:"


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
        return [name.removeprefix(SETUP_PREFIX) for name in names if name.startswith(SETUP_PREFIX)]


def _hash(secret: str) -> str:
    """Hash a secret of 256 random bits, which needs no salt."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _milliseconds(time: timedelta) -> int:
    return int(time.total_seconds() * 1000)
