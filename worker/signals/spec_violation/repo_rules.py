"""Signals about the repository's own rules (AGENTS.md and the like, at the base commit).

Does not read them (`worker.dossier.repo_rules` does). Invariant: a fact is made only of a sure breach, and says which line of
which rules file it breaks.
"""

from collections.abc import Iterator

from worker.domain.verdict.verdict import Category
from worker.dossier.repo_rules.rule import RuleKind
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal
from worker.signals.spec_violation.violations import find_violations


def _find_certain(change: CodeChange, *kinds: RuleKind) -> Iterator[SignalMatch]:
    return (
        violation.match for violation in find_violations(change) if violation.is_sure and violation.rule.kind in kinds
    )


@signal(
    Category.SPEC_VIOLATION,
    SignalKind.FACT,
    SignalScope.RULES,
    "Take what the rule forbids out of {place}.",
)
def forbidden_code_added(change: CodeChange) -> Iterator[SignalMatch]:
    """An added line holds code that a rule of the repository forbids there, or names a new dependency where it wants none.

    In a test, only where the rule speaks of tests.

    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.FORBIDDEN_CODE, RuleKind.DEPENDENCIES)


@signal(
    Category.SPEC_VIOLATION,
    SignalKind.FACT,
    SignalScope.RULES,
    "Take the edit at {place} out of this change.",
)
def forbidden_path_touched(change: CodeChange) -> Iterator[SignalMatch]:
    """A file is touched that a rule of the repository wants left alone, kept out of this change or never edited by hand.

    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.FORBIDDEN_PATH, RuleKind.OWN_PULL_REQUEST)


@signal(
    Category.SPEC_VIOLATION,
    SignalKind.FACT,
    SignalScope.RULES,
    "Add the changelog entry that the rule asks for.",
)
def changelog_entry_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """Production code behaves differently, a rule asks for a changelog entry with every such change, and there is none.

    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.CHANGELOG)


@signal(
    Category.SPEC_VIOLATION,
    SignalKind.FACT,
    SignalScope.RULES,
    "Document the function at {place}.",
)
def docstring_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """A new public function has no docstring or doc comment, and a rule asks for one on every such function.

    False alarms: 0 of 1832 clean changes with a rules file (0.0 %, at most 0.21 %).
    """
    return _find_certain(change, RuleKind.DOCSTRING)


@signal(Category.SPEC_VIOLATION, SignalKind.SUSPICION, SignalScope.RULES)
def rule_perhaps_broken(change: CodeChange) -> Iterator[SignalMatch]:
    """What a rule forbids or asks for seems to be there or missing, but the rule knows exceptions or the place is doubtful.

    False alarms: 13 of 1832 clean changes with a rules file (0.7 %, at most 1.21 %).
    """
    return (violation.match for violation in find_violations(change) if not violation.is_sure)
