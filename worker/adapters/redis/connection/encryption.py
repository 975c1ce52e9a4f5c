"""Encryption of stored source code: AES-256-GCM over zstd.

A value decrypts only under the key name that it was encrypted for. An envelope of a newer version is refused.

Envelope, version 1: `A`, version (1 byte), key id (4), nonce (12), then the ciphertext with its tag.
"""

import base64
import hashlib
import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from worker.adapters.redis.connection.client import M, RedisClient, Reply, blob, read_json
from worker.adapters.redis.connection.transactions import RedisPart
from worker.domain.model import Frozen
from worker.errors import Unreadable

MAGIC: Final = b"A"
VERSION: Final = 1
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
        head = MAGIC + bytes([VERSION]) + self._first + nonce
        sealed = AESGCM(self._ring[self._first]).encrypt(nonce, _zstd().compress(plain), head[:6] + key_name.encode())
        return head + sealed

    def open(self, sealed: bytes, key_name: str) -> bytes:
        """Decrypt and decompress. Raises Unreadable."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - not for `--help`
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - not for `--help`

        if sealed[:1] != MAGIC or len(sealed) < CIPHERTEXT.start:
            raise Unreadable(f"{key_name} holds something that Assay did not write.")
        if sealed[1] > VERSION:
            problem = f"{key_name} was written in version {sealed[1]} of the format; this Assay reads up to {VERSION}."
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
