"""Tests that turn off the one of a type above, which does not fit what is tested here.

Does not read the type above, which may be of another repository. Invariant: a test with work of its own turns off none.
"""

import re
from typing import Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.paths import Language
from worker.judge.heuristics.syntax import text_of
from worker.judge.heuristics.tests import Test


def turns_off_an_inherited_one(test: Test) -> bool:
    """It has no work of its own, and a type above may have a test of its name that does not fit here."""
    function, owner = test.function, test.function.container
    if len(function.statements) > 1:
        return False
    if test.source.language is Language.GO:
        embeds = rf"\btype {re.escape(function.type_name)} struct \{{[^}}]*?\n\s+\*?[\w.]+\n"
        return bool(function.type_name) and re.search(embeds, test.source.text) is not None
    if test.source.language is Language.JAVA:
        return "@Override" in function.attributes
    return owner is not None and _TESTS_ABOVE.search(text_of(owner.child_by_field_name("superclasses"))) is not None


_TESTS_ABOVE: Final = pattern(r"\w*(?:Test|Suite|Base|Mixin|Compliance|Common)\w*(?<!TestCase)(?=[,)\]\s])")
