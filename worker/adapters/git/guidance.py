"""The rules of a repository: AGENTS.md, CLAUDE.md and what else agents' tools read, at the base commit.

Does not interpret them. Invariant: only the base commit's files count (the judged may not write the law),
those at the root and in the folders above a changed file.
"""

from collections.abc import Iterable
from typing import Final

from worker.adapters.git.changes import GitTreeEntry, entries_at, texts_of
from worker.adapters.git.git import GitRepository
from worker.domain.dossier.dossier import Guidance
from worker.domain.ids import Sha
from worker.dossier.repo_rules.files import (
    FOLDER_NAMES,
    MOST_IN_A_FOLDER,
    ROOT_NAMES,
    RULE_FOLDERS,
    folders_above,
    is_rules_name,
    unique_files,
)

MOST_FOLDERS: Final = 200


def guidance_at(repository: GitRepository, base: Sha, changed: Iterable[str]) -> tuple[Guidance, ...]:
    """The rules files that apply to *changed*, the root's first."""
    below = [f"{folder}{name}" for folder in folders_above(changed, MOST_FOLDERS) for name in FOLDER_NAMES]
    standing = entries_at(repository, base, [*ROOT_NAMES, *(f"{folder}/" for folder in RULE_FOLDERS), *below])
    paths = [*ROOT_NAMES, *(path for folder in RULE_FOLDERS for path in _in_folder(folder, standing)), *below]
    files = [
        (path, standing[path].name) for path in paths if path in standing and standing[path].mode.startswith("100")
    ]
    texts = {file.path: file.text for file in texts_of(repository, files).files}
    return unique_files(Guidance(path=path, text=texts.get(path) or "") for path, _ in files)


def _in_folder(folder: str, standing: dict[str, GitTreeEntry]) -> list[str]:
    inside = sorted(path for path in standing if path.rpartition("/")[0] == folder and is_rules_name(folder, path))
    return inside[:MOST_IN_A_FOLDER]
