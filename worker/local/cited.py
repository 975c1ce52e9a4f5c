"""Files that the case cites and the change leaves alone: their texts, or that they are not there.

Does not check any claim. Invariant: a path is called missing only where neither it nor any path that ends
in it is in the head commit.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from worker.domain.case import Case
from worker.domain.claim_pointer import read_pointer
from worker.domain.dossier import HeadFile
from worker.domain.ids import Sha
from worker.local.changes import FOLDER, SUBMODULE, Entry, entries_at, paths_at, texts_of
from worker.local.git import Repository

MOST_CITED: Final = 50
MOST_PATH: Final = 500


def cited_files(repository: Repository, head: Sha, case: Case, changed: frozenset[str]) -> tuple[HeadFile, ...]:
    """What the case cites besides *changed*, at *head*."""
    paths = [path for path in dict.fromkeys(_cited(case)) if not _names_one_of(path, changed)][:MOST_CITED]
    standing = entries_at(repository, head, paths)
    missing = [path for path in paths if path not in standing]
    everything = frozenset(paths_at(repository, head)) if missing else frozenset[str]()
    absent = (HeadFile(path=path, exists=False) for path in missing if not _stands_in(path, everything))
    return (*texts_of(repository, _files(standing)).files, *absent)


def _cited(case: Case) -> Iterator[str]:
    for claim in case.ac_coverage:
        for text in (claim.addressed_by, claim.evidence or ""):
            pointer = read_pointer(text)
            if pointer is not None and _is_inside(pointer.path):
                yield pointer.path.rstrip("/")


def _is_inside(path: str) -> bool:
    is_named = 0 < len(path) <= MOST_PATH and "\0" not in path and path.strip("/") != ""
    return is_named and not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _names_one_of(path: str, paths: frozenset[str]) -> bool:
    return path in paths or any(known.endswith(f"/{path}") for known in paths)


def _stands_in(path: str, paths: frozenset[str]) -> bool:
    """Whether *path* is a file, the end of one, or a folder."""
    return _names_one_of(path, paths) or any(known.startswith(f"{path}/") for known in paths)


def _files(standing: dict[str, Entry]) -> list[tuple[str, str]]:
    return [(path, entry.name) for path, entry in standing.items() if entry.mode not in {FOLDER, SUBMODULE}]
