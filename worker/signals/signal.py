"""A signal: one pure function from a change to its matches.

    @signal(Category.WEAK_TEST, SignalKind.FACT, SignalScope.TESTS, "Remove the skip at {place}.")
    def test_skipped(change: CodeChange) -> Iterator[SignalMatch]:
        \"\"\"What it reports, in a sentence. Then its exceptions.

        Why it matters: What it costs where it is left.
        Example: `@pytest.mark.skip` above a test that ran before.
        False alarms: As `assay bench` measured them.
        \"\"\"

The rubric, policies, findings and reports call it by its function's name; `assay explain` and docs/signals print its docstring.
The last argument is the next step of a reject, which resolves the fact; a suspicion has none. All findings of a signal are of its
kind, but in UNMEASURED_LANGUAGES none is a fact.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from inspect import getdoc
from itertools import islice
from textwrap import fill
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, EvidencePointer, Finding, Side
from worker.signals.analysis.change import CodeChange, memoized
from worker.signals.analysis.file_roles import (
    MORE_LANGUAGES,
    FileRole,
    Language,
    is_configuration,
    is_document,
    language_of,
    role_of,
)

UNMEASURED_LANGUAGES: Final[frozenset[Language]] = MORE_LANGUAGES
"""Languages in which no fact may reject: their false alarms were not measured on enough clean changes."""

UNPARSED_ENDINGS: Final = (".kts", ".scala", ".swift")
"""Code that no grammar of ours reads."""

MOST_FINDINGS: Final = 20
"""Findings of one signal in one change."""

SECTIONS: Final = ("What it does", "Why it matters", "Example", "False alarms")
"""Of a signal's docstring. The first has no heading there."""

_HEADING: Final = pattern(rf"^({'|'.join(SECTIONS[1:])}): ", re.MULTILINE)


class SignalKind(StrEnum):
    """The effect of a signal: a fact may reject alone, a suspicion lowers the score and goes to the model."""

    FACT = "fact"
    SUSPICION = "suspicion"


class SignalScope(StrEnum):
    """What a change must have for the signal to have an opportunity; its measured rate counts these changes."""

    ANYTHING = "anything"
    PRODUCTION = "production code"
    TESTS = "tests"
    CONFIGURATION = "CI or tool configuration"
    ISSUE = "listed criteria"
    CASE = "a case"
    RULES = "a rules file"


class SettlingLine(StrEnum):
    """The kind of line with which an accept answers a suspicion, in the words of the question."""

    CHECK = "an assertion about the same thing"
    OWN_CHECK = "an assertion of that test, or of what it calls"
    CHANGE = "a changed line that takes its place, or code that went with it"
    FOUND = "the line that has it"
    ASKED = "its changed line that the issue needs"
    TIED = "its changed line that has two words of what was asked for"
    USE = "the line that uses it"
    REPORT = "the line that reports the failure"
    ANY = "another line about the same thing"


USUALLY_SETTLED_BY: Final[Mapping[Category, SettlingLine]] = {
    Category.WEAK_TEST: SettlingLine.CHECK,
    Category.SCOPE_CREEP: SettlingLine.ASKED,
}


@memoized
def find_scopes(change: CodeChange) -> frozenset[SignalScope]:
    """What a change gives the signals to look at. Listed criteria count, inferred ones do not; a file that held tests before does."""
    dossier, paths = change.dossier, [file.path for file in change.files]
    code = [file for file in change.files if file.language is not None or file.path.endswith(UNPARSED_ENDINGS)]
    has = {
        SignalScope.ANYTHING: True,
        SignalScope.PRODUCTION: not all(file.is_test for file in code),
        SignalScope.TESTS: any(
            file.language is Language.RUST
            or FileRole.TEST in map(role_of, {file.path, file.diff.old_path or file.path})
            for file in code
            if file.language is not None
        ),
        SignalScope.CONFIGURATION: any(map(is_configuration, paths)),
        SignalScope.ISSUE: any(not criterion.inferred for criterion in dossier.criteria or ()),
        SignalScope.CASE: dossier.case is not None,
        SignalScope.RULES: bool(dossier.guidance),
    }
    return frozenset(scope for scope, is_there in has.items() if is_there)


@memoized
def has_more_than_documents(change: CodeChange) -> bool:
    """Whether a changed file is no document, or one that configures CI or a tool."""
    return not all(is_document(file.path) and not is_configuration(file.path) for file in change.files)


class SignalMatch(NamedTuple):
    """One place where a signal fired."""

    note: str
    path: str | None = None
    line: int | None = None
    end_line: int | None = None
    side: Side = Side.HEAD
    strength: float = 1.0
    """In (0, 1]; scales the signal's weight."""
    instead_of: tuple[int, int] | None = None
    """The first and the last line of the base that the match replaced."""
    step: str = ""
    """The next step, where it can be more exact than the signal's own."""

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
    name: str
    category: Category
    kind: SignalKind
    scope: SignalScope
    detect: Detector
    step: str = ""
    """How to resolve a fact; `{place}` is its location."""
    settled_by: SettlingLine = SettlingLine.ANY
    only_if: Callable[[CodeChange], bool] | None = None
    """What must hold of a change, too, for the signal to find something; its opportunities are counted without it."""

    @property
    def module(self) -> str:
        return self.detect.__module__

    @property
    def sections(self) -> dict[str, str]:
        """The text of each of SECTIONS that its docstring has."""
        what, *others = _HEADING.split(getdoc(self.detect) or "")
        texts = {SECTIONS[0]: what, **dict(zip(others[::2], others[1::2], strict=True))}
        return {heading: text.strip() for heading, text in texts.items()}

    @property
    def description(self) -> str:
        """What it does and how often that misfired."""
        return f"{self.sections[SECTIONS[0]]}\n\n{SECTIONS[-1]}: {self.sections[SECTIONS[-1]]}"

    def findings(self, change: CodeChange) -> Iterator[Finding]:
        """Every match as a finding with the strength as its weight."""
        scopes = find_scopes(change)
        if has_more_than_documents(change):
            scopes |= {SignalScope.CONFIGURATION}  # strictness is also set in files that are not counted
        if self.scope not in scopes or (self.only_if is not None and not self.only_if(change)):
            return
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


def signal(
    category: Category,
    kind: SignalKind,
    scope: SignalScope,
    step: str = "",
    settled_by: SettlingLine | None = None,
    only_if: Callable[[CodeChange], bool] | None = None,
) -> Callable[[Detector], Signal]:
    """Make a signal of the decorated function. *settled_by*: None is the usual kind of line of the category."""
    if (kind is SignalKind.FACT) is not bool(step):
        msg = "a fact says what resolves it, and only a fact does: signal(..., step)"
        raise TypeError(msg)
    settling = settled_by or USUALLY_SETTLED_BY.get(category, SettlingLine.ANY)
    return lambda detect: Signal(detect.__name__, category, kind, scope, detect, step, settling, only_if)


def explain_signal(signal: Signal, weights: Mapping[str, float], width: int) -> str:
    """The docstring of a signal for a terminal, and the step that resolves a fact."""
    texts = signal.sections | ({"How to resolve it": signal.step.replace("{place}", "PLACE")} if signal.step else {})
    parts = [f"{signal.name}: {describe_effect(signal, weights)}, {signal.category}, looks at {signal.scope}"]
    for heading, text in texts.items():
        paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        body = "\n".join(
            fill(paragraph, width, initial_indent="  ", subsequent_indent="  ") for paragraph in paragraphs
        )
        parts.append(f"{heading}\n{body}")
    return "\n\n".join(parts) + "\n"


def describe_effect(signal: Signal, weights: Mapping[str, float]) -> str:
    return "fact" if signal.kind is SignalKind.FACT else f"suspicion of weight {weights[signal.name]:g}"
