"""Globs of files that are never sent."""

import time

import pytest

from worker.domain.dossier.never_send import is_withheld


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        (".env", ".env"),
        (".env*", "deploy/.env.production"),
        ("*.pem", "certs/ca/root.PEM"),
        ("secrets", "app/secrets/db.yml"),
        ("secrets/", "secrets/db.yml"),
        ("config/*.yml", "config/db.yml"),
        ("/config/db.yml", "config/db.yml"),
        ("./config", "config/db.yml"),
        ("config/**/db.yml", "config/db.yml"),
        ("config/**/db.yml", "config/a/b/db.yml"),
        ("**/private/**", "a/private/b/c.txt"),
        ("config/", "config/a"),
        ("[a-c].txt", "x/b.txt"),
    ],
)
def test_a_glob_matches_as_in_a_gitignore(glob: str, path: str) -> None:
    assert is_withheld(path, ("nothing", glob))


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        (".env", "env.py"),
        ("config/*.yml", "app/config/db.yml"),
        ("config/*.yml", "config/a/db.yml"),
        ("/db.yml/x", "db.yml"),
        ("*.pem", "pem/readme.md"),
        ("a/**/b/c", "a/b"),
    ],
)
def test_a_glob_matches_nothing_else(glob: str, path: str) -> None:
    assert not is_withheld(path, (glob,))


def test_a_hostile_glob_takes_linear_time() -> None:
    """One that tried every way would take longer than anybody waits: the limit tells only that apart."""
    started = time.process_time()
    is_withheld("a/" * 2_000 + "b", ("**/" * 60 + "x", "*a" * 90 + "x"))
    assert time.process_time() - started < 30
