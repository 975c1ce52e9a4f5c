"""A repository that would like to run something, and does not get to."""

from pathlib import Path

import pytest

from tests.worker.adapters.git.laptop import Laptop, shown, texts


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark when it is run, and passes its input on."""
    path = tmp_path / "trap.sh"
    path.write_text(f'#!/bin/sh\ntouch "{tmp_path}/sprung"\ncat\n')
    path.chmod(0o755)
    return path


def sprung(trap: Path) -> bool:
    return (trap.parent / "sprung").exists()


def judged(laptop: Laptop) -> dict[str, str | None]:
    """Everything we do to a checkout."""
    laptop.source().notes()
    dossier = laptop.dossier()
    assert shown(dossier)
    return texts(dossier)


SETTINGS = (
    "core.fsmonitor", "core.pager", "pager.diff", "pager.diff-tree", "diff.external", "diff.evil.command",
    "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.e=v.il.clean",
    "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "credential.helper", "gpg.program",
    "gpg.ssh.program", "interactive.diffFilter", "core.alternateRefsCommand", "trailer.co-authored-by.command",
    "uploadpack.packObjectsHook", "merge.evil.driver",
)  # fmt: skip


def test_no_setting_of_the_repository_is_run(laptop: Laptop, trap: Path) -> None:
    attributes = "*.py diff=evil filter=evil merge=evil\n*.md diff=evil filter=e=v.il\n"
    laptop.commits({"a.py": "one\n", ".gitattributes": attributes, ".git/info/attributes": attributes})
    for name in SETTINGS:
        laptop.git("config", name, str(trap))
    laptop.git("config", "log.showSignature", "true")
    laptop.git("config", "filter.evil.required", "true")
    laptop.writes({"a.py": "two\n", "README.md": "# gadgets\n"})  # status has to look into both
    assert judged(laptop)["a.py"] == "one\n"
    assert not sprung(trap)
    laptop.writes({"a.py": "three\n"})
    laptop.git("status")
    assert sprung(trap), "the trap works: git itself falls into it"


def test_no_hook_of_the_repository_is_run(laptop: Laptop, trap: Path) -> None:
    laptop.commits({"a.py": "one\n"})
    hooks = laptop.folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).symlink_to(trap)
    laptop.git("config", "core.hooksPath", str(hooks))
    (laptop.folder / "README.md").touch()  # git status would write a fresh index
    assert judged(laptop)
    assert not sprung(trap)


def test_a_partial_clone_does_not_fetch(laptop: Laptop, trap: Path) -> None:
    laptop.commits({"a.py": "one\n"})
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap}",
        "remote.origin.uploadpack": str(trap),
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
    }.items():
        laptop.git("config", name, value)
    blob = laptop.git("rev-parse", "HEAD:a.py")
    (laptop.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Exception, match="If this is a partial clone"):
        laptop.dossier()
    assert not sprung(trap)


def test_a_work_tree_elsewhere_is_not_searched_for_attributes(laptop: Laptop, trap: Path, tmp_path: Path) -> None:
    laptop.commits({"a.py": "one\n"})
    (tmp_path / ".gitattributes").write_text("* diff=evil\n")
    laptop.git("config", "diff.evil.textconv", str(trap))
    laptop.git("config", "core.worktree", str(tmp_path))
    assert judged(laptop) == {"a.py": "one\n"}
    assert not sprung(trap)


def test_variables_of_the_environment_do_not_reach_git(
    laptop: Laptop, trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop.commits({"a.py": "one\n"})
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(trap))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    assert judged(laptop) == {"a.py": "one\n"}
    assert not sprung(trap)
