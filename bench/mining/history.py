"""The first-parent history of a repository: what each commit says and which paths it touched.

Reads no contents (a snapshot may lack some) and judges nothing. Invariant: commits come newest first, merges as their diff against the first parent.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from worker.adapters.git.git import GitRepository
from worker.domain.ids import Sha

LONGEST_S: Final = 900.0
FORMAT: Final = "%H%x00%P%x00%an%x00%ae%x00%B"
DESCRIBED: Final = 5
"""Fields of a commit before the paths that it touched."""

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


def patient(repository: GitRepository) -> GitRepository:
    """The same repository, for one long walk."""
    return replace(repository, program=replace(repository.program, timeout_s=LONGEST_S))


def history(repository: GitRepository, most: int) -> list[Commit]:
    """The newest *most* commits of HEAD's first-parent line, newest first."""
    raw = patient(repository).read(
        *("log", "--first-parent", "-m", "--raw", "--no-renames", "-z", f"--max-count={most}"),
        f"--format={FORMAT}",
        "HEAD",
        "--",
    )
    return list(_commits(raw.decode(errors="replace").split("\0")))


def _commits(fields: Sequence[str]) -> Iterator[Commit]:
    """Only NUL stands in no name and no message, so fields are told apart by their place alone."""
    at = 0
    while at + DESCRIBED <= len(fields):
        sha, parents, name, address, message = fields[at : at + DESCRIBED]
        first = at = at + DESCRIBED
        while at < len(fields) and fields[at].lstrip("\n").startswith(
            ":"
        ):  # what was done, and behind it to which path
            at += 2
        yield Commit(
            sha=sha,
            parents=tuple(parents.split()),
            author=f"{name} <{address}>",
            message=message.strip(),
            touched=tuple(fields[first + 1 : at : 2]),
        )
