"""Commits as git stores them, read without any of git's formatting.

Does not verify signatures. Invariant: any commit object is read; a message that is not in its stated
encoding has U+FFFD in place of what can't be.
"""

import codecs
from typing import Final

from worker.adapters.git.changes import read_objects
from worker.adapters.git.git import GitRepository
from worker.domain.dossier.dossier import Commit
from worker.domain.ids import Sha

MOST_COMMITS: Final = 250
"""As many as GitHub lists for a pull request."""


def commits_between(repository: GitRepository, base: Sha, head: Sha) -> tuple[Commit, ...]:
    """What *head* has and *base* lacks, oldest first, at most the newest MOST_COMMITS."""
    answer = repository.read("rev-list", "--topo-order", f"--max-count={MOST_COMMITS}", head, f"^{base}", "--")
    shas = answer.decode().split()[::-1]
    if not shas:
        return ()
    contents = read_objects(repository, shas)
    return tuple(read_commit(sha, contents[sha]) for sha in shas)


def read_commit(sha: Sha, content: bytes) -> Commit:
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, value)
    encoding = _encoding(fields.get(b"encoding", b"utf-8"))
    name = fields.get(b"author", b"").partition(b" <")[0]
    return Commit(
        sha=sha,
        message=message.decode(encoding, errors="replace").rstrip("\n"),
        author=name.decode(encoding, errors="replace"),
    )


def _encoding(name: bytes) -> str:
    """The Python name of a text encoding; UTF-8 where Python knows none of that name."""
    try:
        codec = codecs.lookup(name.decode("ascii"))
        "".encode(codec.name)
    except (LookupError, ValueError):
        return "utf-8"
    return codec.name
