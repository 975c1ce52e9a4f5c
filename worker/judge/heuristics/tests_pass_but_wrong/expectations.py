"""Expected values of existing tests that were changed although no code was, so that only the proof moved.

Does not know which value is right. Invariant: silent as soon as anything but tests and prose changed.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.paths import Role, role_of
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.weak_test.loosened import replaced

_LITERAL: Final = pattern(
    r"[brfu]{0,2}\"(?:[^\"\\]|\\.){0,300}\"|'(?:[^'\\]|\\.){0,300}'|(?<![\w.])-?\d[\w.]*|\b(?:[Tt]rue|[Ff]alse|None|null|nil)\b"
)
_PROSE: Final = (".md", ".rst", ".txt", ".adoc")
_MOST: Final = 3
"""Values changed at once: beyond that what the tests are run on was changed."""


@signal(Category.TESTS_PASS_BUT_WRONG, Kind.SUSPICION, Looks.TESTS)
def expectation_changed(change: Change) -> Iterator[Place]:
    """An existing test now expects another value, in the same assertion, and no code or configuration changed with it.

    False alarms: 3 of 22175 clean changes with tests (0.0 %, at most 0.04 %).
    """
    if any(role_of(file.path) is not Role.TEST and not file.path.endswith(_PROSE) for file in change.files):
        return
    found = [
        one
        for one in replaced(change)
        if len(one.new) == 1 and _differ_in_value(one.old.oracle.text, one.new[0].oracle.text)
    ]
    for one in found if len(found) <= _MOST else ():
        yield Place("another value is expected here than before, and no code changed", one.file.path, one.new[0].first)


def _differ_in_value(old: str, new: str) -> bool:
    """The same text but for literals."""
    return old != new and _LITERAL.sub("_", old) == _LITERAL.sub("_", new)
