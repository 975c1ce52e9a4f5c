"""Whether the change is meant to take tests or assertions away: an issue asks for it, its own title says so, or it is a revert.

Believes the words. Invariant: what is declared is still shown, as a suspicion; a body that mentions it in passing declares nothing.
"""

import re
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.reverts import is_revert
from worker.signals.analysis.tests import Test


def is_removal_declared(change: CodeChange, test: Test | None = None) -> bool:
    """Whether an issue, or the title of a change without one, asks to remove or to skip tests or assertions, or this *test*."""
    if is_revert(change):
        return True
    issues = change.dossier.issues
    texts = [text for issue in issues for text in (issue.title, issue.body[:_MOST])]
    asking = (match[0] for text in texts or [_title_subject(change)] for match in _ASKS.finditer(text))
    return any(_TESTS.search(line) or (test is not None and _names_test(line, test)) for line in asking)


def _names_test(line: str, test: Test) -> bool:
    """Whether the line says the test's name, or a long word of it: what is taken away is what it tests."""
    parts = {word.casefold() for word in _WORDS.findall(test.name) if len(word) >= _LONG}
    return test.name in line or not parts.isdisjoint(map(str.casefold, _WORDS.findall(line)))


def is_ci_removal_declared(change: CodeChange) -> bool:
    """The same of CI: `ci: disable the workflow for now`."""
    asking = _ASKS.match(_title_subject(change)) if not change.dossier.issues else None
    return asking is not None and _CI.search(asking[0]) is not None


def _title_subject(change: CodeChange) -> str:
    """The title, from the last colon or comma on: `client: retry, disable a flaky test` says two things."""
    return _PARTS.split(change.dossier.pull_request.title)[-1]


_WORDS: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONG: Final = 6
_MOST: Final = 20_000
_PARTS: Final = pattern(r"[:,;] ")
_ASKS: Final = pattern(
    r"^(?:[^\w\n]|\d{1,3}[.)]|\[x\]){0,20}(?:please )?(?:temporarily )?(?:skip|disabl|quarantin|xfail|ignor|remov|delet|drop|clean(?:ed|s|ing)?[ -]?up)(?:ed|e|es|s|ing|ped|ping)?\b.{1,200}",
    re.IGNORECASE | re.MULTILINE,
)
_TESTS: Final = pattern(r"\b(?:tests?|specs?|suites?|test ?cases?|test_\w+|assert(?:ion)?s?)\b", 2)
_CI: Final = pattern(r"\b(?:ci|actions?|workflows?|jobs?|checks?|tests?)\b", 2)
