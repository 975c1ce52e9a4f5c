"""What content the version of a rubric stands for, remembered since it was first used.

Does not read rubrics. Invariant: an id and a version never stand for two contents: verdicts that name them can be told
apart, and compared.
"""

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, text
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.verdict.judge_digest import rubric_digest
from worker.domain.verdict.rubric import VersionedRubric
from worker.errors import RubricRefused


class RubricVersions:
    """The versions that this store has seen. Raises Unavailable."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def admit(self, rubric: VersionedRubric, name: str = "") -> None:
        """Remember the rubric of *name* (a file's). Raises RubricRefused where its version stands for another content."""
        if refusal := self.refusal(rubric, name):
            raise RubricRefused(refusal)

    def refusal(self, rubric: VersionedRubric, name: str = "") -> str | None:
        """Why this rubric can't be used, in a sentence; None: it may, and its version is remembered."""
        digest = run_script(self._wire, Script.RUBRIC_KNOWN, [keys.RUBRICS], _version(rubric), rubric_digest(rubric))
        return _refusal(rubric, text(digest), name)

    def check(self, rubric: VersionedRubric, name: str = "") -> str | None:
        """The same, and nothing is remembered."""
        digest = self._wire.call("HGET", keys.RUBRICS.name, _version(rubric))
        return _refusal(rubric, text(digest), name) if digest else None


def _version(rubric: VersionedRubric) -> str:
    return f"{rubric.id}@{rubric.version}"


def is_version_reused(first: VersionedRubric, other: VersionedRubric) -> bool:
    """Whether two contents have one version."""
    return _version(first) == _version(other) and rubric_digest(first) != rubric_digest(other)


def _refusal(rubric: VersionedRubric, stored: str, name: str) -> str | None:
    if stored == rubric_digest(rubric):
        return None
    which = name or f'The rubric "{rubric.id}"'
    return (
        f'{which} was changed but still says version "{rubric.version}": raise it. '
        f'Verdicts are on record that name "{rubric.id}" {rubric.version} and were made by other rules.'
    )
