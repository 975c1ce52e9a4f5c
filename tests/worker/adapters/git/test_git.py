"""The git program itself: missing, too old, too slow."""

from pathlib import Path

import pytest

from worker.adapters.git.git import GitFailedError, GitProgram, find_program
from worker.errors import InputError, Unavailable


@pytest.fixture
def path_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def script(folder: Path, text: str) -> str:
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_machine_without_git_is_told_what_to_install(path_with: Path) -> None:
    assert path_with.is_dir()
    with pytest.raises(InputError, match=r"git was not found on PATH.*Install git, or use --dossier FILE"):
        find_program()


@pytest.mark.parametrize("answer", ["git version 2.30.9", "git version 1.99", "no git at all"])
def test_a_git_that_is_too_old_is_refused(path_with: Path, answer: str) -> None:
    script(path_with, f"echo '{answer}'")
    with pytest.raises(InputError, match=r"expected git 2\.31 or newer"):
        find_program()


@pytest.mark.parametrize("answer", ["git version 2.31.0", "git version 3.0", "git version 2.39.5 (Apple Git-154)"])
def test_a_newer_git_is_taken(path_with: Path, answer: str) -> None:
    path = script(path_with, f"echo '{answer}'")
    assert find_program() == GitProgram(path)


def test_a_git_that_hangs_is_given_up(tmp_path: Path) -> None:
    program = GitProgram(script(tmp_path, "exec sleep 60"), timeout_s=0.2)
    with pytest.raises(Unavailable, match="took longer than"):
        program.run(("status",), tmp_path, {})
    with pytest.raises(Unavailable, match="took longer than"):
        program.run_until(10, ("diff-tree",), tmp_path, {})


def test_a_git_that_fails_gives_its_last_words(tmp_path: Path) -> None:
    program = GitProgram(script(tmp_path, "echo fine; echo 'fatal: broken' >&2; exit 128"))
    with pytest.raises(GitFailedError, match="git diff-tree: broken"):
        program.run_until(100, ("diff-tree",), tmp_path, {})
    silent = GitProgram(script(tmp_path, "exit 1"))
    with pytest.raises(GitFailedError, match="git status: no reason given"):
        silent.run(("status",), tmp_path, {})
