"""A diff from the list of files parses as what git prints."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.adapters.github.pull_request_texts import join_patches
from worker.adapters.github.responses import ChangedFileResponse
from worker.domain.dossier import UnreadReason
from worker.dossier.diff.parser import ChangeKind, parse_diff

HUNK = "@@ -1 +1 @@\n-a\n+b"


def test_every_kind_of_change_parses() -> None:
    files = [
        ChangedFileResponse(filename="m.py", status="modified", changes=2, patch=HUNK),
        ChangedFileResponse(filename="new.py", status="added", changes=1, patch="@@ -0,0 +1 @@\n+b"),
        ChangedFileResponse(filename="gone.py", status="removed", changes=1, patch="@@ -1 +0,0 @@\n-a"),
        ChangedFileResponse(filename="to.py", status="renamed", previous_filename="from.py"),
        ChangedFileResponse(filename="to2.py", status="renamed", previous_filename="from 2.py", changes=2, patch=HUNK),
        ChangedFileResponse(filename="twin.py", status="copied", previous_filename="m.py"),
        ChangedFileResponse(filename="mode.sh", status="changed"),
        ChangedFileResponse(filename="empty.py", status="added"),
    ]
    found = join_patches(files, len(files))
    diff = parse_diff(found.diff.encode())
    assert [(file.path, file.change) for file in diff.files] == [
        ("m.py", ChangeKind.MODIFIED),
        ("new.py", ChangeKind.ADDED),
        ("gone.py", ChangeKind.DELETED),
        ("to.py", ChangeKind.RENAMED),
        ("to2.py", ChangeKind.RENAMED),
        ("twin.py", ChangeKind.COPIED),
        ("mode.sh", ChangeKind.MODIFIED),
        ("empty.py", ChangeKind.ADDED),
    ]
    assert diff.by_path["to2.py"].old_path == "from 2.py"
    assert found.unread == ()


def test_a_file_whose_lines_github_left_out_is_named() -> None:
    found = join_patches([ChangedFileResponse(filename="big.json", status="modified", changes=90_000)], 1)
    assert [(file.path, file.reason) for file in found.unread] == [("big.json", UnreadReason.TOO_LARGE)]
    assert parse_diff(found.diff.encode()).files[0].hunks == ()


def test_files_beyond_the_list_are_counted() -> None:
    found = join_patches([ChangedFileResponse(filename="a", status="modified", changes=2, patch=HUNK)], 3001)
    assert [(file.path, file.reason) for file in found.unread] == [
        ("(3000 more files that GitHub does not list)", UnreadReason.OVER_LIMIT)
    ]


@given(path=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_path_comes_back(path: str) -> None:
    files = [
        ChangedFileResponse(filename=path, status="modified", changes=2, patch=HUNK),
        ChangedFileResponse(filename=path, status="renamed", previous_filename=f"{path}2", changes=2, patch=HUNK),
    ]
    assert [file.path for file in parse_diff(join_patches(files, 2).diff.encode()).files] == [path, path]


@pytest.mark.parametrize("name", ["plain.py", "with space.py", 'quo"te\\.py', "tab\t.py", "ümläut.py"])
def test_git_applies_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a\n")
    patch = join_patches([ChangedFileResponse(filename=name, status="modified", changes=2, patch=HUNK)], 1).diff
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch.encode(), check=True)
    assert (tmp_path / name).read_text() == "b\n"
