"""Hashes of changed lines: what the ledger keeps of a diff instead of its text."""

import hashlib
from typing import Final

from worker.dossier.diff.parser import Diff, DiffLine, FileDiff

HASHED_LINES: Final = 5_000
"""Most changed lines of one head whose hashes are kept; a bigger change keeps none (it is one surface)."""

_SHORTEST_ID: Final = 7
"""git abbreviates object ids to this or more, depending on the size of the repository."""


def hash_changed_lines(diff: Diff) -> dict[str, tuple[str, ...]]:
    """Per path, a hash of each added, then of each removed line; empty for a change of more than HASHED_LINES lines."""
    if sum(len(file.added_lines) + len(file.removed_lines) for file in diff.files) > HASHED_LINES:
        return {}
    hashes: dict[str, tuple[str, ...]] = {}
    for file in diff.files:  # a file that became a link is in a diff twice
        hashes[file.path] = (*hashes.get(file.path, ()), *(line_hash for _, line_hash in hash_file(file)))
    return hashes


def hash_file(file: FileDiff) -> list[tuple[DiffLine | None, str]]:
    """Each changed line with its hash; of a file without any, one hash of what did change (its mode, its content)."""
    lines = [*file.added_lines, *file.removed_lines]
    if lines:
        return [(line, hash_line(line.kind, line.text)) for line in lines]
    blobs = [blob[:_SHORTEST_ID] for blob in file.blobs or ()]
    return [(None, hash_line("", repr((file.change.value, file.old_path, file.old_mode, file.new_mode, blobs))))]


def hash_line(kind: str, text: str) -> str:
    """*kind* is the line's mark in a diff."""
    return hashlib.sha256(f"{kind}{text}".encode()).hexdigest()[:16]
