"""What content the version of a rubric stands for, remembered since it was first used.

Does not read rubrics. Invariant: an id and a version never stand for two contents: verdicts that name them can be told
apart, and compared.
"""

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, text
from worker.adapters.redis.scripts import Script, run
from worker.domain.verdict.law import digest_of
from worker.domain.verdict.rubric import Versioned
from worker.errors import RubricRefused


class Rubrics:
    """The versions that this store has seen. Raises Unavailable."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def admit(self, rubric: Versioned, name: str = "") -> None:
        """Remember the rubric of *name* (a file's). Raises RubricRefused where its version stands for another content."""
        if said := self.refusal(rubric, name):
            raise RubricRefused(said)

    def refusal(self, rubric: Versioned, name: str = "") -> str | None:
        """Why this rubric can't be used, in a sentence; None: it may, and its version is remembered."""
        known = run(self._wire, Script.RUBRIC_KNOWN, [keys.RUBRICS], _version(rubric), digest_of(rubric))
        return _refusal(rubric, text(known), name)

    def look(self, rubric: Versioned, name: str = "") -> str | None:
        """The same, and nothing is remembered."""
        known = self._wire.call("HGET", keys.RUBRICS.name, _version(rubric))
        return _refusal(rubric, text(known), name) if known else None


def _version(rubric: Versioned) -> str:
    return f"{rubric.id}@{rubric.version}"


def differ_unsaid(one: Versioned, other: Versioned) -> bool:
    """Whether two contents have one version."""
    return _version(one) == _version(other) and digest_of(one) != digest_of(other)


def _refusal(rubric: Versioned, known: str, name: str) -> str | None:
    if known == digest_of(rubric):
        return None
    which = name or f'The rubric "{rubric.id}"'
    return (
        f'{which} was changed but still says version "{rubric.version}": raise it. '
        f'Verdicts are on record that name "{rubric.id}" {rubric.version} and were made by other rules.'
    )
