"""Every breach of every rule, one analysis for all signals about rules.

Does not decide what follows. Invariant: linear in the change for each rule, and at most MOST breaches.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from worker.dossier.repo_rules.parser import rules_of
from worker.dossier.repo_rules.rule import Rule, RuleKind
from worker.signals.analysis.change import Change
from worker.signals.spec_violation.added_code import code_breaches
from worker.signals.spec_violation.dependencies import dependency_breaches
from worker.signals.spec_violation.forbidden_path import path_breaches
from worker.signals.spec_violation.missing import (
    changelog_breaches,
    docstring_breaches,
    licence_breaches,
    name_breaches,
    untested_breaches,
)
from worker.signals.spec_violation.violation import Breach

MOST: Final = 200


def breaches(change: Change) -> tuple[Breach, ...]:
    """Every breach, in the order of the rules."""
    return change.once(_all)


def _all(change: Change) -> tuple[Breach, ...]:
    rules = (rule for one in change.dossier.guidance for rule in rules_of(one))
    return tuple(islice((one for rule in rules for one in _of(rule, change)), MOST))


def _of(rule: Rule, change: Change) -> Iterator[Breach]:
    return _LOOKS[rule.kind](rule, change)


_LOOKS: Final[dict[RuleKind, Callable[[Rule, Change], Iterator[Breach]]]] = {
    RuleKind.FORBIDDEN_CODE: code_breaches,
    RuleKind.FORBIDDEN_PATH: path_breaches,
    RuleKind.OWN_PULL_REQUEST: path_breaches,
    RuleKind.CHANGELOG: changelog_breaches,
    RuleKind.DOCSTRING: docstring_breaches,
    RuleKind.TESTS: untested_breaches,
    RuleKind.DEPENDENCIES: dependency_breaches,
    RuleKind.FILE_NAMES: name_breaches,
    RuleKind.LICENCE: licence_breaches,
}
