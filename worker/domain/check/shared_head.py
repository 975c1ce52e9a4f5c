"""Pull requests of one commit: GitHub shows one check of a name for a commit, so none of theirs may say more than holds for all.

Pure. Does not word anything (`worker.publishing.texts.siblings` does). Invariant: what a later version calls by a word that this one does
not know lets nothing pass.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.ids import InstallationId, RepositoryId, Sha
from worker.domain.model import Frozen
from worker.domain.value import Value

IDLE: Final = "idle"
QUEUED: Final = "queued"
IN_PROGRESS: Final = "in_progress"


class Strictness(IntEnum):
    """How far a state stands in the way of a merge. IDLE: its pull request can't be merged as it is, and waits for its author."""

    IDLE = 0
    PASSES = 1
    WAITS = 2
    FAILS = 3


STRICTNESS: Final[Mapping[str, Strictness]] = MappingProxyType(
    {
        IDLE: Strictness.IDLE,
        Conclusion.SUCCESS: Strictness.PASSES,
        Conclusion.NEUTRAL: Strictness.PASSES,
        Conclusion.SKIPPED: Strictness.PASSES,
        QUEUED: Strictness.WAITS,
        IN_PROGRESS: Strictness.WAITS,
        Conclusion.CANCELLED: Strictness.WAITS,
        Conclusion.ACTION_REQUIRED: Strictness.FAILS,
        Conclusion.FAILURE: Strictness.FAILS,
    }
)


class Place(Frozen):
    """A commit of a repository."""

    installation_id: InstallationId
    repository_id: RepositoryId
    head_sha: Sha


class Sibling(Value):
    """Another open pull request whose head is the same commit. `state`: the conclusion of its own check, or what it waits as."""

    number: int
    state: str

    @property
    def strictness(self) -> Strictness:
        return strictness(self.state)


class Together(Value):
    """What one pull request's check is shown beside. `is_here`: it is open, and this commit is its head; `version` of all that."""

    version: int
    is_here: bool
    others: tuple[Sibling, ...]


class Member(Value):
    """One of several: what its check says by itself, and whether it counts. `shown`: a hash of what GitHub was told; "": who knows."""

    number: int
    state: str
    is_here: bool
    shown: str

    @property
    def sibling(self) -> Sibling:
        return Sibling(self.number, self.state)


class Met(Value):
    """All of one commit, in one version."""

    version: int
    members: tuple[Member, ...]


def state_of(content: CheckContent) -> str:
    """In one word what a check says of its pull request."""
    if content.conclusion is not None:
        return content.conclusion.value
    if content.is_idle:
        return IDLE
    return QUEUED if content.is_queued else IN_PROGRESS


def strictness(state: str) -> Strictness:
    return STRICTNESS.get(state, Strictness.WAITS)


def strictest(siblings: Iterable[Sibling]) -> Sibling | None:
    """Whose state stands most in the way; of several the first pull request's, and an accept last."""
    return max(siblings, key=lambda one: (one.strictness, one.state != Conclusion.SUCCESS, -one.number), default=None)


def hash_of(content: CheckContent) -> str:
    return hashlib.sha256(to_json(content)).hexdigest()[:32]


def to_json(content: CheckContent) -> bytes:
    """All but the annotations, which stay where they are once they were added."""
    said = {name: value for name, value in vars(content).items() if name not in {"annotations", "gives_way"}}
    return json.dumps(said, default=vars, sort_keys=True).encode()
