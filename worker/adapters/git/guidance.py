"""The rules of a repository: AGENTS.md, CLAUDE.md and what else agents' tools read, at the base commit.

Does not interpret them. Invariant: only the base commit's files count (the judged may not write the law),
those at the root and in the folders above a changed file.
"""

from collections.abc import Iterable
from typing import Final

from worker.adapters.git.changes import Entry, entries_at, texts_of
from worker.adapters.git.git import Repository
from worker.domain.dossier.dossier import Guidance
from worker.domain.ids import Sha
from worker.dossier.repo_rules.files import (
    AT_THE_ROOT,
    FOLDERS,
    MOST_IN_A_FOLDER,
    NAMES,
    are_rules,
    distinct,
    folders_above,
)

MOST_FOLDERS: Final = 200


def guidance_at(repository: Repository, base: Sha, changed: Iterable[str]) -> tuple[Guidance, ...]:
    """The rules files that apply to *changed*, the root's first."""
    below = [f"{folder}{name}" for folder in folders_above(changed, MOST_FOLDERS) for name in NAMES]
    standing = entries_at(repository, base, [*AT_THE_ROOT, *(f"{folder}/" for folder in FOLDERS), *below])
    paths = [*AT_THE_ROOT, *(path for folder in FOLDERS for path in _in_folder(folder, standing)), *below]
    files = [
        (path, standing[path].name) for path in paths if path in standing and standing[path].mode.startswith("100")
    ]
    texts = {file.path: file.text for file in texts_of(repository, files).files}
    return distinct(Guidance(path=path, text=texts.get(path) or "") for path, _ in files)


def _in_folder(folder: str, standing: dict[str, Entry]) -> list[str]:
    inside = sorted(path for path in standing if path.rpartition("/")[0] == folder and are_rules(folder, path))
    return inside[:MOST_IN_A_FOLDER]
