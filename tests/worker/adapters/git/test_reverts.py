"""A change of a checkout that takes back an earlier commit."""

from pathlib import Path

import pytest

from tests.worker.adapters.git.laptop import Laptop
from worker.adapters.git.changes import find_reverted_commit
from worker.adapters.git.git import GitProgram, GitRepository, open_repository

OLD = {"a.py": "x = 1\n", "b.py": "y = 1\n", "gone.py": "z = 1\n"}
NEW = {"a.py": "x = 2\n", "b.py": "y = 2\n", "gone.py": None, "new commit .py": "n = 1\n"}
UNDONE = {**OLD, "new commit .py": None}


def bad_commit(laptop: Laptop) -> str:
    """A commit on main with another one above it, and a branch to take it back on."""
    laptop.git("switch", "--quiet", "main")
    laptop.commits(OLD)
    sha = laptop.commits(NEW, "Make it fast")
    laptop.commits({"other.py": "o = 1\n"})
    laptop.git("switch", "--quiet", "--force-create", "retry")
    return sha


def test_the_exact_inverse_of_an_earlier_commit_is_found(laptop: Laptop) -> None:
    sha = bad_commit(laptop)
    laptop.commits(UNDONE)
    assert laptop.dossier().reverts == sha


def test_a_merge_is_taken_back_as_one_change(laptop: Laptop) -> None:
    laptop.git("switch", "--quiet", "main")
    laptop.commits(OLD)
    laptop.git("switch", "--quiet", "--create", "fast")
    laptop.commits({"a.py": "x = 2\n"})
    laptop.commits({"b.py": "y = 2\n"})
    laptop.git("switch", "--quiet", "main")
    laptop.git("merge", "--quiet", "--no-ff", "-m", "Merge fast", "fast")
    merge = laptop.git("rev-parse", "HEAD")
    laptop.git("switch", "--quiet", "--force-create", "retry")
    laptop.commits(OLD)
    assert laptop.dossier().reverts == merge


@pytest.mark.parametrize(
    "files", [{**UNDONE, "b.py": "y = 3\n"}, {**UNDONE, "more.py": "m = 1\n"}, {"a.py": "x = 1\n"}, {}]
)
def test_what_undoes_more_or_less_is_no_inverse(laptop: Laptop, files: dict[str, str | None]) -> None:
    bad_commit(laptop)
    laptop.commits(files)
    assert laptop.dossier(base="main").reverts is None


def test_more_history_than_is_read_shows_no_revert(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    bad_commit(laptop)
    laptop.commits(UNDONE)
    monkeypatch.setattr("worker.adapters.git.changes.MOST_REVERT_BYTES", 20)
    assert laptop.dossier().reverts is None


def test_a_history_that_takes_too_long_shows_no_revert(laptop: Laptop, tmp_path: Path) -> None:
    bad_commit(laptop)
    laptop.commits(UNDONE)
    pull = laptop.dossier().pull_request
    found = open_repository(laptop.folder)
    slow = tmp_path / "git"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *" log "*) exec /bin/sleep 9;; esac\nexec {found.program.path} "$@"\n')
    slow.chmod(0o755)
    hurried = GitRepository(GitProgram(str(slow), 0.5), found.git_dir, found.common_dir, found.worktree)
    assert find_reverted_commit(hurried, pull.base_sha, pull.head_sha) is None
