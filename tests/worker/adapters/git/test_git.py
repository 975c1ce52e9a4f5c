"""The git program: missing, too old, too slow, and never running what a repository names."""

from pathlib import Path

import pytest

from tests.worker.adapters.git.conftest import LocalRepository, diff_by_path, text_by_path
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


def test_missing_git_error_says_what_to_install(path_with: Path) -> None:
    assert path_with.is_dir()
    with pytest.raises(InputError, match=r"git was not found on PATH.*Install git, or use --dossier FILE"):
        find_program()


@pytest.mark.parametrize("answer", ["git version 2.30.9", "git version 1.99", "no git at all"])
def test_git_that_is_too_old_is_refused(path_with: Path, answer: str) -> None:
    script(path_with, f"echo '{answer}'")
    with pytest.raises(InputError, match=r"expected git 2\.31 or newer"):
        find_program()


@pytest.mark.parametrize("answer", ["git version 2.31.0", "git version 3.0", "git version 2.39.5 (Apple Git-154)"])
def test_newer_git_is_accepted(path_with: Path, answer: str) -> None:
    path = script(path_with, f"echo '{answer}'")
    assert find_program() == GitProgram(path)


def test_git_that_hangs_is_stopped_after_the_timeout(tmp_path: Path) -> None:
    program = GitProgram(script(tmp_path, "exec sleep 60"), timeout_s=0.2)
    with pytest.raises(Unavailable, match="took longer than"):
        program.run(("status",), tmp_path, {})
    with pytest.raises(Unavailable, match="took longer than"):
        program.run_until(10, ("diff-tree",), tmp_path, {})


def test_git_failure_reports_the_last_error_line(tmp_path: Path) -> None:
    program = GitProgram(script(tmp_path, "echo fine; echo 'fatal: broken' >&2; exit 128"))
    with pytest.raises(GitFailedError, match="git diff-tree: broken"):
        program.run_until(100, ("diff-tree",), tmp_path, {})
    silent = GitProgram(script(tmp_path, "exit 1"))
    with pytest.raises(GitFailedError, match="git status: no reason given"):
        silent.run(("status",), tmp_path, {})


# Programs that a repository names


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that creates a file when it runs, and passes its input on."""
    path = tmp_path / "trap.sh"
    path.write_text(f'#!/bin/sh\ntouch "{tmp_path}/sprung"\ncat\n')
    path.chmod(0o755)
    return path


def is_sprung(trap: Path) -> bool:
    return (trap.parent / "sprung").exists()


def read_all(repo: LocalRepository) -> dict[str, str | None]:
    """Read everything that the product reads of a checkout."""
    repo.source().notes()
    dossier = repo.dossier()
    assert diff_by_path(dossier)
    return text_by_path(dossier)


SETTINGS = (
    "core.fsmonitor", "core.pager", "pager.diff", "pager.diff-tree", "diff.external", "diff.evil.command",
    "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.e=v.il.clean",
    "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "credential.helper", "gpg.program",
    "gpg.ssh.program", "interactive.diffFilter", "core.alternateRefsCommand", "trailer.co-authored-by.command",
    "uploadpack.packObjectsHook", "merge.evil.driver",
)  # fmt: skip


def test_no_program_in_repository_settings_is_run(repo: LocalRepository, trap: Path) -> None:
    attributes = "*.py diff=evil filter=evil merge=evil\n*.md diff=evil filter=e=v.il\n"
    repo.commit({"a.py": "one\n", ".gitattributes": attributes, ".git/info/attributes": attributes})
    for name in SETTINGS:
        repo.git("config", name, str(trap))
    repo.git("config", "log.showSignature", "true")
    repo.git("config", "filter.evil.required", "true")
    repo.write({"a.py": "two\n", "README.md": "# gadgets\n"})  # status has to look into both
    assert read_all(repo)["a.py"] == "one\n"
    assert not is_sprung(trap)
    repo.write({"a.py": "three\n"})
    repo.git("status")
    assert is_sprung(trap), "git itself runs the trap"


def test_no_hook_of_the_repository_is_run(repo: LocalRepository, trap: Path) -> None:
    repo.commit({"a.py": "one\n"})
    hooks = repo.folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).symlink_to(trap)
    repo.git("config", "core.hooksPath", str(hooks))
    (repo.folder / "README.md").touch()  # git status would write a fresh index
    assert read_all(repo)
    assert not is_sprung(trap)


def test_partial_clone_does_not_fetch(repo: LocalRepository, trap: Path) -> None:
    repo.commit({"a.py": "one\n"})
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap}",
        "remote.origin.uploadpack": str(trap),
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
    }.items():
        repo.git("config", name, value)
    blob = repo.git("rev-parse", "HEAD:a.py")
    (repo.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Exception, match="If this is a partial clone"):
        repo.dossier()
    assert not is_sprung(trap)


def test_attributes_of_a_configured_work_tree_are_ignored(repo: LocalRepository, trap: Path, tmp_path: Path) -> None:
    repo.commit({"a.py": "one\n"})
    (tmp_path / ".gitattributes").write_text("* diff=evil\n")
    repo.git("config", "diff.evil.textconv", str(trap))
    repo.git("config", "core.worktree", str(tmp_path))
    assert read_all(repo) == {"a.py": "one\n"}
    assert not is_sprung(trap)


def test_git_environment_variables_are_ignored(
    repo: LocalRepository, trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.py": "one\n"})
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(trap))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    assert read_all(repo) == {"a.py": "one\n"}
    assert not is_sprung(trap)
