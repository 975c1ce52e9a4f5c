"""Parsing of dossiers, name lookups and globs."""

import json
import time
from typing import Any

import pytest

from tests.worker.judge.samples import dossier
from worker.domain.dossier import (
    MOST_PATHS,
    Definition,
    DossierError,
    HeadFile,
    NameLookup,
    build_lookup,
    find_absent,
    is_withheld,
    read_dossier,
)

TEXTS = {"title": "t", "body": "", "author": "alice"}
PULL = {"repository": "acme/widgets", "number": 12, **TEXTS, "base_sha": "b" * 40, "head_sha": "a" * 40}


def raw(**changes: Any) -> bytes:
    return json.dumps({"pull_request": PULL, "diff": "", **changes}).encode()


def test_required_fields_are_enough_for_a_dossier() -> None:
    dossier = read_dossier(raw())
    assert (dossier.files, dossier.ci, "ledger" in dossier.model_fields_set) == (None, None, False)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"verdict": 1}, "Dossier refused at verdict: unknown field."),
        ({"policy": {"never_send": ["!kept"]}}, "Dossier refused at policy.never_send.0: String should match pattern"),
        ({"pull_request": {**PULL, "sha": 1}}, "Dossier refused at pull_request.sha: unknown field."),
        ({"pull_request": {**PULL, "head_sha": "A" * 40}}, "Dossier refused at pull_request.head_sha: "),
        ({"diff": 7}, "Dossier refused at diff: "),
        ({"files": [{"path": "a"}]}, "Dossier refused at files.0: "),
        ({"files": [{"path": "a", "text": "", "exists": False}]}, "Dossier refused at files.0: "),
        ({"dossier_version": 2}, "Dossier refused at dossier_version: "),
    ],
    ids=["unknown", "negated glob", "unknown inside", "sha", "type", "no text", "text of nothing", "newer version"],
)
def test_invalid_field_is_named_by_its_path(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DossierError) as refused:
        read_dossier(raw(**changes))
    assert str(refused.value).startswith(says)
    assert str(refused.value).endswith("The format: docs/dossier.md.")


def test_dossier_without_late_edits_is_written_unchanged() -> None:
    issue = {"number": 7, "title": "Retry", "body": "On 503", "edited_by": "alice"}
    dossier = read_dossier(raw(issues=[issue]))
    assert dossier.issues[0].late_edits == dossier.issues[0].late_renames == ()
    assert json.loads(dossier.model_dump_json(exclude_unset=True))["issues"] == [issue]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff"], ids=["empty", "cut off", "a list", "no text"])
def test_text_that_is_no_object_is_refused_as_a_whole(text: bytes) -> None:
    with pytest.raises(DossierError, match="Dossier refused at the whole file: "):
        read_dossier(text)


RETRY = Definition("_retry", r"\.py$", is_private=True)


def test_lookup_holds_possible_callers_without_a_text() -> None:
    paths = ["b.py", "a.go", "known.py", "b.py", "c.py"]
    assert build_lookup(RETRY, paths, {"known.py"}) == NameLookup(name="_retry", paths=("b.py", "c.py"))


def test_lookup_holds_a_limited_number_of_files() -> None:
    assert len(build_lookup(RETRY, [f"{number}.py" for number in range(20)], set()).paths) == MOST_PATHS


def test_known_paths_are_those_with_a_text() -> None:
    files = (HeadFile(path="a.py", text="x"), HeadFile(path="gone.py", exists=False))
    assert dossier(files=files).known_paths == {"a.py"}
    assert dossier(files=None).known_paths == frozenset()


def test_absent_path_is_no_file_folder_or_path_suffix() -> None:
    tree = ("docs/deep/b.md", "acme/__init__.py")
    assert find_absent(tree, ["docs/deep/b.md", "b.md", "deep/b.md", "docs", "acme/init.py", "Docs/Deep/B.md"]) == ()
    assert find_absent(tree, ["docs/c.md", "b.m", "eep/b.md", "doc"]) == ("docs/c.md", "b.m", "eep/b.md", "doc")


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
def test_glob_matches_as_in_a_gitignore(glob: str, path: str) -> None:
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
def test_glob_matches_nothing_else(glob: str, path: str) -> None:
    assert not is_withheld(path, (glob,))


def test_hostile_glob_takes_linear_time() -> None:
    """The limit only tells linear from exponential time."""
    started = time.process_time()
    is_withheld("a/" * 2_000 + "b", ("**/" * 60 + "x", "*a" * 90 + "x"))
    assert time.process_time() - started < 30
