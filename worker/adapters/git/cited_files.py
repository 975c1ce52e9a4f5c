"""Files that the case cites and the change leaves alone: their texts, or that they are not there.

Does not check any claim. Invariant: a path is called missing only where neither it nor any path that ends
in it is in the head commit.
"""

from typing import Final

from worker.adapters.git.changes import FOLDER, SUBMODULE, GitTreeEntry, entries_at, paths_at, texts_of
from worker.adapters.git.git import GitRepository
from worker.domain.dossier.case import Case
from worker.domain.dossier.dossier import HeadFile
from worker.domain.dossier.lookups import find_absent
from worker.domain.ids import Sha
from worker.dossier.claim_pointer import cited_paths

MOST_CITED: Final = 50


def read_cited_files(repository: GitRepository, head: Sha, case: Case, changed: frozenset[str]) -> tuple[HeadFile, ...]:
    """What the case cites besides *changed*, at *head*."""
    paths = [path for path in dict.fromkeys(cited_paths(case)) if not _names_one_of(path, changed)][:MOST_CITED]
    standing = entries_at(repository, head, paths)
    missing = [path for path in paths if path not in standing]
    everything = paths_at(repository, head) if missing else ()
    absent = (HeadFile(path=path, exists=False) for path in find_absent(everything, missing))
    return (*texts_of(repository, _files(standing)).files, *absent)


def _names_one_of(path: str, paths: frozenset[str]) -> bool:
    return path in paths or any(other.endswith(f"/{path}") for other in paths)


def _files(standing: dict[str, GitTreeEntry]) -> list[tuple[str, str]]:
    return [(path, entry.name) for path, entry in standing.items() if entry.mode not in {FOLDER, SUBMODULE}]
