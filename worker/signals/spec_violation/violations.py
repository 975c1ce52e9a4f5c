"""Every breach of every rule, one analysis for all signals about rules.

Does not decide what follows. Invariant: linear in the change for each rule, and at most MOST breaches.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from worker.dossier.repo_rules.parser import parse_guidance
from worker.dossier.repo_rules.rule import RepoRule, RuleKind
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation.added_code import find_code_violations
from worker.signals.spec_violation.dependencies import find_dependency_violations
from worker.signals.spec_violation.forbidden_path import find_path_violations
from worker.signals.spec_violation.missing_duties import (
    find_changelog_violations,
    find_docstring_violations,
    find_licence_violations,
    find_name_violations,
    find_test_violations,
)
from worker.signals.spec_violation.violation import RuleViolation

MOST_VIOLATIONS: Final = 200


def find_violations(change: CodeChange) -> tuple[RuleViolation, ...]:
    """Every breach, in the order of the rules."""
    return change.cached(_find_all)


def _find_all(change: CodeChange) -> tuple[RuleViolation, ...]:
    rules = (rule for guidance in change.dossier.guidance for rule in parse_guidance(guidance))
    return tuple(
        islice((violation for rule in rules for violation in _find_rule_violations(rule, change)), MOST_VIOLATIONS)
    )


def _find_rule_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    return _FINDERS[rule.kind](rule, change)


_FINDERS: Final[dict[RuleKind, Callable[[RepoRule, CodeChange], Iterator[RuleViolation]]]] = {
    RuleKind.FORBIDDEN_CODE: find_code_violations,
    RuleKind.FORBIDDEN_PATH: find_path_violations,
    RuleKind.OWN_PULL_REQUEST: find_path_violations,
    RuleKind.CHANGELOG: find_changelog_violations,
    RuleKind.DOCSTRING: find_docstring_violations,
    RuleKind.TESTS: find_test_violations,
    RuleKind.DEPENDENCIES: find_dependency_violations,
    RuleKind.FILE_NAMES: find_name_violations,
    RuleKind.LICENCE: find_licence_violations,
}
