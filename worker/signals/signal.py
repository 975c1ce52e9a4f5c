"""What a signal is: one pure function from a change to the places where it fires.

Does not know any signal. Invariant: whether a signal states a fact or a suspicion is written at its function, once, and
every finding of it says the same, but for files in a language of UNMEASURED: there none is a fact.

A signal is written as

    @signal(Category.WEAK_TEST, Kind.FACT, Looks.TESTS, "Remove the skip at {place}.")
    def test_skipped(change: Change) -> Iterator[Place]:
        \"\"\"What it sees, in a sentence that docs/signals.md prints.\"\"\"

and is called by its function's name everywhere: in the rubric, in a repository's policy, in findings and reports. Its last
argument is the next step of a reject: what takes the fact away. A fact has one, a suspicion none.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.verdict.verdict import Category, EvidencePointer, Finding, Side
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import MORE_LANGUAGES, Language, language_of

UNMEASURED_LANGUAGES: Final[frozenset[Language]] = MORE_LANGUAGES
"""Languages in which no fact may reject: their false alarms were not held against enough clean changes. The one place."""

MOST_FINDINGS: Final = 20
"""Findings of one signal in one change: who reads more?"""


class SignalKind(StrEnum):
    """What follows from a signal: a fact may reject alone, a suspicion lowers the score and goes to the model."""

    FACT = "fact"
    SUSPICION = "suspicion"


class SignalScope(StrEnum):
    """What a change must hold for the signal to have an opportunity: the rest of its measured rate."""

    ANYTHING = "anything"
    PRODUCTION = "production code"
    TESTS = "tests"
    CONFIGURATION = "CI or tool configuration"
    ISSUE = "listed criteria"
    CASE = "a case"
    RULES = "a rules file"


class SignalMatch(NamedTuple):
    """Where a signal fired, and what stands there. *strength* in (0, 1] scales the signal's weight.

    *instead_of*: the first and the last line that stood there before, in the base. *step*: the next step of this place, where
    it can be more exact than the signal's own.
    """

    note: str
    path: str | None = None
    line: int | None = None
    end_line: int | None = None
    side: Side = Side.HEAD
    strength: float = 1.0
    instead_of: tuple[int, int] | None = None
    step: str = ""

    @property
    def location(self) -> str:
        """`path:line`, the path alone, or nothing."""
        if self.path is None:
            return ""
        return self.path if self.line is None else f"{self.path}:{self.line}"

    @property
    def base_pointer(self) -> EvidencePointer | None:
        if self.path is None or self.instead_of is None:
            return None
        first, last = self.instead_of
        return EvidencePointer(path=self.path, line=first, end_line=last, side=Side.BASE, note="this stood here before")


Detector = Callable[[CodeChange], Iterator[SignalMatch]]


class Signal(NamedTuple):
    """One signal: its name, the category of its findings, whether it states facts, what it looks at, and how."""

    name: str
    category: Category
    kind: SignalKind
    scope: SignalScope
    detect: Detector
    step: str = ""
    """What takes a fact away, with `{place}` where it stands."""

    @property
    def description(self) -> str:
        """What it sees and how often that misfired, as its function's docstring says."""
        return self.detect.__doc__ or ""

    def findings(self, change: CodeChange) -> Iterator[Finding]:
        """Every place where it fires, as findings that carry the strength as their weight."""
        for match in islice(self.detect(change), MOST_FINDINGS):
            yield Finding(
                signal=self.name,
                category=self.category,
                fact=self.kind is SignalKind.FACT
                and (match.path is None or language_of(match.path) not in UNMEASURED_LANGUAGES),
                path=match.path,
                line=match.line,
                end_line=match.end_line,
                side=match.side,
                weight=match.strength,
                note=match.note,
                instead_of=match.base_pointer,
                step=(match.step or self.step).replace("{place}", match.location),
            )


def signal(category: Category, kind: SignalKind, scope: SignalScope, step: str = "") -> Callable[[Detector], Signal]:
    """Make a signal of the function below."""
    if (kind is SignalKind.FACT) is not bool(step):
        msg = "a fact says what takes it away, and only a fact does: signal(..., step)"
        raise TypeError(msg)
    return lambda see: Signal(see.__name__, category, kind, scope, see, step)
