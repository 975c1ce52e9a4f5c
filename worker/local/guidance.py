"""The rules of a repository: AGENTS.md and CLAUDE.md, at the base commit.

Does not interpret them. Invariant: only the base commit's files count (the judged may not write the law),
those at the root and in the folders above a changed file.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from worker.domain.dossier import Guidance
from worker.domain.ids import Sha
from worker.local.changes import entries_at, texts_of
from worker.local.git import Repository

NAMES: Final = ("AGENTS.md", "CLAUDE.md")
MOST_FOLDERS: Final = 200


def guidance_at(repository: Repository, base: Sha, changed: Iterable[str]) -> tuple[Guidance, ...]:
    """The rules files that apply to *changed*, the root's first."""
    paths = [f"{folder}{name}" for folder in _folders(changed) for name in NAMES]
    standing = entries_at(repository, base, paths)
    files = [
        (path, standing[path].name) for path in paths if path in standing and standing[path].mode.startswith("100")
    ]
    texts = texts_of(repository, files)
    return tuple(Guidance(path=file.path, text=file.text) for file in texts.files if file.text is not None)


def _folders(changed: Iterable[str]) -> list[str]:
    """`""` for the root, then each folder above a changed file, with its slash."""
    found = dict.fromkeys(folder for path in changed for folder in _above(path))
    return ["", *sorted(found, key=lambda folder: (folder.count("/"), folder))[:MOST_FOLDERS]]


def _above(path: str) -> Iterator[str]:
    for folder in PurePosixPath(path).parents:
        if folder != PurePosixPath():
            yield f"{folder}/"
