"""Pull requests of one commit: GitHub shows one check run per commit and name, so it shows the strictest of their states."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.model import Frozen, InstallationId, RepositoryId, Sha

IDLE: Final = "idle"
QUEUED: Final = "queued"
IN_PROGRESS: Final = "in_progress"


class Strictness(IntEnum):
    """How far a state blocks a merge. IDLE: its pull request can't be merged as it is, and waits for its author."""

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


class CommitRef(Frozen):
    """A commit of a repository."""

    installation_id: InstallationId
    repository_id: RepositoryId
    head_sha: Sha


@dataclass(frozen=True)
class SharedHeadMember:
    """A pull request with this head, or that had it.

    `state`: the conclusion of its own check, IDLE, QUEUED or IN_PROGRESS. `is_here`: it is open, and this is its head.
    `shown`: hash of the content at GitHub; "": unknown.
    """

    number: int
    state: str
    is_here: bool = True
    shown: str = ""

    @property
    def strictness(self) -> Strictness:
        return strictness_of(self.state)


@dataclass(frozen=True)
class SharedHeadState:
    """All pull requests of one commit, in one version. Each change raises the version."""

    version: int
    members: tuple[SharedHeadMember, ...]

    def record(self, member: SharedHeadMember) -> "SharedHeadState":
        """The next version, with this state of a pull request."""
        others = (other for other in self.members if other.number != member.number)
        return SharedHeadState(self.version + 1, (*others, member))

    def is_here(self, number: int) -> bool:
        return any(member.is_here for member in self.members if member.number == number)

    def others(self, number: int) -> tuple[SharedHeadMember, ...]:
        """The other open pull requests with this head."""
        return tuple(member for member in self.members if member.is_here and member.number != number)


def check_state(content: CheckContent) -> str:
    """The state of a pull request by its own check."""
    if content.conclusion is not None:
        return content.conclusion.value
    if content.is_idle:
        return IDLE
    return QUEUED if content.is_queued else IN_PROGRESS


def strictness_of(state: str) -> Strictness:
    """A state that only a later version knows lets nothing pass."""
    return STRICTNESS.get(state, Strictness.WAITS)


def find_strictest(members: Iterable[SharedHeadMember]) -> SharedHeadMember | None:
    """The pull request with the strictest state; of several the first, and an accept last."""
    return max(
        members,
        key=lambda member: (member.strictness, member.state != Conclusion.SUCCESS, -member.number),
        default=None,
    )


def hash_content(content: CheckContent) -> str:
    return hashlib.sha256(dump_content(content)).hexdigest()[:32]


def dump_content(content: CheckContent) -> bytes:
    """All but the annotations, which GitHub keeps once they were added."""
    fields = {name: value for name, value in vars(content).items() if name not in {"annotations", "gives_way"}}
    return json.dumps(fields, default=vars, sort_keys=True).encode()
