"""Finds the commit that a change takes back, in the history below it.

Does not read messages. Invariant: the change undoes each file of that commit to the byte, and nothing else.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.adapters.git.git import GitRepository
from worker.domain.ids import Sha
from worker.errors import Unavailable

MOST_COMMITS: Final = 500
MOST_BYTES: Final = 20_000_000
RAW_OPTIONS: Final = ("--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")


def find_reverted_commit(repository: GitRepository, merge_base: Sha, head: Sha) -> Sha | None:
    """The newest of the last MOST_COMMITS commits up to *merge_base* whose exact inverse *head* is."""
    undone = frozenset(_files(repository.read("diff-tree", "-r", *RAW_OPTIONS, head, merge_base, "--").split(b"\0")))
    try:
        history = repository.read_until(
            MOST_BYTES,
            *("log", "--first-parent", "-m", f"--max-count={MOST_COMMITS}", "--format=commit %H", *RAW_OPTIONS),
            *("--no-color", "--no-show-signature", merge_base, "--"),
        )
    except Unavailable:
        return None  # the commits are too large to be compared in time
    _, *parts = _COMMIT.split(history if len(history) <= MOST_BYTES else b"")
    commits = zip(parts[::2], parts[1::2], strict=True)
    same = (sha.decode() for sha, files in commits if undone and frozenset(_files(files.split(b"\0"))) == undone)
    return next(same, None)


_COMMIT: Final = re.compile(rb"(?:^|\0)commit ([0-9a-f]{40})(?=\0|$)")


def _files(fields: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each changed file with its modes and blobs before and after."""
    described = (field for field in fields if field.strip(b"\n"))
    for entry in described:
        yield entry.lstrip(b"\n"), next(described, b"")
