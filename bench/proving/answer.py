"""What a check says of a fact."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import wraps
from typing import Any, NamedTuple, ParamSpec


class Outcome(StrEnum):
    PROVED = "proved"
    REFUTED = "refuted"
    CANNOT_TELL = "cannot tell"
    NO_CHECK = "no check"


class Answer(NamedTuple):
    outcome: Outcome
    why: str


class Claim(NamedTuple):
    """A fact as the verdict states it."""

    signal: str
    path: str | None
    line: int
    """0 where it has no place."""
    last: int
    is_base: bool
    note: str

    @property
    def place(self) -> str:
        return f"{self.path or '-'}:{self.line or '-'}"


def claim_of(finding: dict[str, Any]) -> Claim:
    line: int = finding.get("line") or 0
    last: int = finding.get("end_line") or line
    return Claim(finding["signal"], finding.get("path"), line, last, finding.get("side") == "base", finding["note"])


def proved(why: str) -> Answer:
    return Answer(Outcome.PROVED, why)


def refuted(why: str) -> Answer:
    return Answer(Outcome.REFUTED, why)


def cannot_tell(why: str) -> Answer:
    return Answer(Outcome.CANNOT_TELL, why)


def settled(*, holds: bool, why: str) -> Answer:
    """Proved with the sentence, or refuted with its contrary."""
    return proved(why) if holds else refuted(f"not so: {why}")


P = ParamSpec("P")


def first_answer(steps: Callable[P, Iterator[Answer]]) -> Callable[P, Answer]:
    """A check written as a row of objections: the first one that it yields is its answer."""

    @wraps(steps)
    def run(*given: P.args, **named: P.kwargs) -> Answer:
        return next(steps(*given, **named))

    return run
