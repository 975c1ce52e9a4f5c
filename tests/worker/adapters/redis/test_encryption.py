"""Encryption of stored values: rotation of keys, misuse, and values of a newer version."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from worker.adapters.redis.connection.encryption import VERSION, Codec, key_of, ring_of
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
            SEALED[:1] + bytes([VERSION + 1]) + SEALED[2:],
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
