"""What is stored is unreadable, unmovable, and refused when it is newer than we are."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from worker.adapters.redis.connection.encryption import VERSION, Codec, key_of, ring_of
from worker.errors import Unreadable

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)


def test_what_was_sealed_opens_again_and_shows_nothing() -> None:
    plain = b"def secret(): ..." * 100
    sealed = Codec([NEW]).seal(plain, "place")
    assert Codec([NEW]).open(sealed, "place") == plain
    assert b"secret" not in sealed
    assert len(sealed) < 200, "compressed"
    assert sealed != Codec([NEW]).seal(plain, "place")


def test_the_first_key_seals_and_all_open() -> None:
    sealed = Codec([OLD]).seal(b"x", "place")
    rotated = Codec([NEW, OLD])
    assert rotated.open(sealed, "place") == b"x"
    assert Codec([NEW]).open(rotated.seal(b"y", "place"), "place") == b"y"


def test_a_key_that_is_missing_is_asked_for_by_its_variable() -> None:
    with pytest.raises(Unreadable, match=r"place is encrypted with a key that ASSAY_STORE_KEYS .*store\.key\) lacks"):
        Codec([NEW]).open(Codec([OLD]).seal(b"x", "place"), "place")


def test_what_was_moved_or_changed_does_not_open() -> None:
    sealed = Codec([NEW]).seal(b"x", "place")
    with pytest.raises(Unreadable, match="elsewhere was changed"):
        Codec([NEW]).open(sealed, "elsewhere")
    with pytest.raises(Unreadable, match="place was changed"):
        Codec([NEW]).open(sealed[:-1] + bytes([sealed[-1] ^ 1]), "place")


def test_a_newer_version_is_refused() -> None:
    sealed = Codec([NEW]).seal(b"x", "place")
    newer = sealed[:1] + bytes([VERSION + 1]) + sealed[2:]
    with pytest.raises(Unreadable, match=r"place was written in version 2 .* reads up to 1.*Run the newer Assay"):
        Codec([NEW]).open(newer, "place")


@pytest.mark.parametrize("stranger", [b"", b"A\x01short", b"{'json': true, 'long': 'enough to be one of ours'}"])
def test_what_is_not_ours_is_refused(stranger: bytes) -> None:
    with pytest.raises(Unreadable, match="did not write"):
        Codec([NEW]).open(stranger, "place")


def test_a_folder_has_one_key_for_its_owner_only(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(key_of, [tmp_path] * 16))
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["store.key"]
    assert (tmp_path / "store.key").stat().st_mode & 0o777 == 0o600
    kept = (tmp_path / "store.key").read_text(encoding="ascii")
    assert ring_of((SecretStr(kept),)) == tuple(made)


def test_a_spoilt_key_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "store.key").write_text("c2hvcnQ=", encoding="ascii")
    with pytest.raises(Unreadable, match=r"store.key holds no key of 32 bytes"):
        key_of(tmp_path)
