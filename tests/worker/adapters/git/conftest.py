"""A real git repository in a temporary folder."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from worker.adapters.git.checkout import CheckoutInputs, CheckoutSource
from worker.domain.dossier import Dossier
from worker.dossier.diff import FileDiff, parse_diff

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Alice",
    "GIT_AUTHOR_EMAIL": "alice@example.com",
    "GIT_COMMITTER_NAME": "Alice",
    "GIT_COMMITTER_EMAIL": "alice@example.com",
    "GIT_AUTHOR_DATE": "2026-01-05T10:00:00+00:00",
    "GIT_COMMITTER_DATE": "2026-01-05T10:00:00+00:00",
    "GIT_ALLOW_PROTOCOL": "file",
}


class LocalRepository:
    """A checkout with one commit on `main`, and the branch `retry` checked out."""

    def __init__(self, folder: Path, files: Mapping[str, bytes] | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.write(new_repository() if files is None else files)

    def git(self, *arguments: str, stdin: bytes = b"", **environment: str) -> str:
        command, variables = ["git", *arguments], ENVIRONMENT | environment
        done = subprocess.run(command, cwd=self.folder, env=variables, input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files; None removes one."""
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "Change") -> str:
        self.write(files)
        self.git("add", "--all")
        return self.commit_index(message)

    def commit_index(self, message: str = "Change") -> str:
        self.git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--file=-", stdin=message.encode())
        return self.git("rev-parse", "HEAD")

    def commit_to_main(self, files: Mapping[str, str | bytes | None], message: str = "Change") -> str:
        """Commit to `main`, and begin the branch `retry` there."""
        self.git("switch", "--quiet", "main")
        made = self.commit(files, message)
        self.git("switch", "--quiet", "--force-create", "retry")
        return made

    def source(
        self, *, base: str | None = None, head: str | None = None, inputs: CheckoutInputs | None = None
    ) -> CheckoutSource:
        return CheckoutSource(self.folder, base=base, head=head, inputs=inputs)

    def dossier(self, *, base: str | None = None, head: str | None = None, **inputs: Any) -> Dossier:
        return dossier_of(self.source(base=base, head=head, inputs=CheckoutInputs(**inputs)))


@cache
def new_repository() -> Mapping[str, bytes]:
    """The files of a new one, which git takes ten times as long to make as they take to write."""
    with tempfile.TemporaryDirectory() as name:
        repository = LocalRepository(Path(name), {})
        repository.git("init", "--quiet", "--template=", "--initial-branch=main")
        repository.commit({"README.md": "# widgets\n"}, "Begin")
        repository.git("switch", "--quiet", "--create", "retry")
        paths = filter(Path.is_file, repository.folder.rglob("*"))
        return {str(path.relative_to(repository.folder)): path.read_bytes() for path in paths}


@pytest.fixture
def repo(tmp_path: Path) -> LocalRepository:
    return LocalRepository(tmp_path / "widgets")


def dossier_of(source: CheckoutSource) -> Dossier:
    return source.dossier(source.request(NOW))


def diff_by_path(dossier: Dossier) -> dict[str, FileDiff]:
    """The files of the dossier's diff."""
    return dict(parse_diff(dossier.diff.encode()).by_path)


def text_by_path(dossier: Dossier) -> dict[str, str | None]:
    return {file.path: file.text for file in dossier.files or ()}


def unread_reasons(dossier: Dossier) -> dict[str, str]:
    return {file.path: file.reason.value for file in dossier.files_unread}
