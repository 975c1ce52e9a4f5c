"""The first-parent history of a repository: what each commit says and which paths it touched.

Reads no contents (a snapshot may lack some) and judges nothing. Invariant: commits come newest first, merges as their diff against the first parent.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from worker.domain.ids import Sha
from worker.local.git import Repository

LONGEST_S: Final = 900.0
FORMAT: Final = "%x01%H%x02%P%x02%an%x02%ae%x02%B%x03"
MERGED: Final = re.compile(r"\AMerge pull request #(\d+) from (\S+)\s*")
NUMBER: Final = re.compile(r"\s*\((?:PR )?#(\d+)\)\s*\Z")
TRAILER: Final = re.compile(
    r"^(?:[A-Z][\w-]{2,30}-by|[Cc]o-[Aa]uthored-[Bb]y|Change-Id|Generated with|🤖 Generated).*$", re.MULTILINE
)
ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,32}){1,4}")


@dataclass(frozen=True, slots=True)
class Commit:
    """One step of the first-parent history. `number` is its pull request's, where the message names it."""

    sha: Sha
    parents: tuple[Sha, ...]
    author: str
    message: str
    touched: tuple[str, ...]

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1

    @property
    def merged_from(self) -> str | None:
        found = MERGED.match(self.message)
        return found[2] if found else None

    @property
    def number(self) -> int | None:
        found = MERGED.match(self.message) or NUMBER.search(self.message.split("\n", 1)[0])
        return int(found[1]) if found else None

    @property
    def title(self) -> str:
        return NUMBER.sub("", self._words().split("\n", 1)[0]).strip()

    @property
    def body(self) -> str:
        _, _, rest = self._words().partition("\n")
        return ADDRESS.sub("someone@example.invalid", TRAILER.sub("", rest)).strip()

    def _words(self) -> str:
        return MERGED.sub("", self.message).strip()


def patient(repository: Repository) -> Repository:
    """The same repository, for one long walk."""
    return replace(repository, program=replace(repository.program, longest_s=LONGEST_S))


def history(repository: Repository, most: int) -> list[Commit]:
    """The newest *most* commits of HEAD's first-parent line, newest first."""
    raw = patient(repository).read(
        *("log", "--first-parent", "-m", "--raw", "--no-renames", "-z", f"--max-count={most}"),
        f"--format={FORMAT}",
        "HEAD",
        "--",
    )
    records = raw.decode(errors="replace").split("\x01")[1:]
    return [_commit(record) for record in records]


def _commit(record: str) -> Commit:
    described, _, listed = record.partition("\x03")
    sha, parents, name, address, message = described.split("\x02", 4)
    fields = listed.split("\0")
    return Commit(
        sha=sha,
        parents=tuple(parents.split()),
        author=f"{name} <{address}>",
        message=message.strip(),
        touched=tuple(path for before, path in pairwise(fields) if before.lstrip("\n").startswith(":")),
    )
