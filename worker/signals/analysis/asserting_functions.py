"""Which functions check something, themselves or in what they call, and which tests a mark makes able to fail.

Does not look into other files than those it is given. Invariant: a name is enough: two functions of one name are one here.
"""

import re
from collections.abc import Iterable
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import find_assertions
from worker.signals.analysis.call_chains import find_call_chains
from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.functions import Function
from worker.signals.analysis.tests import Test

AFTER_EACH_TEST: Final = "(after each test)"
_AFTER_EACH_PATTERN: Final = pattern(r"@After|^ ?tear_?down|autouse", 2)


def find_asserting_names(functions: Iterable[Function]) -> frozenset[str]:
    """Names of those that check something, themselves or in what they call among each other."""
    calls: dict[str, set[str]] = {}
    asserting: set[str] = set()
    for function in functions:
        language = function.source.language
        calls.setdefault(function.name, set()).update(
            spine.names[-1]
            for spine in find_call_chains(function.body, language, nodes=function.source.nodes)
            if spine.links[-1].arguments is not None
        )
        if any(
            assertion.proof >= Proof.PRESENCE and not assertion.is_guess
            for assertion in find_assertions(function.body, language, nodes=function.source.nodes)
        ):
            is_hook = _AFTER_EACH_PATTERN.search(f"{function.attributes} {function.name}")
            asserting.add(AFTER_EACH_TEST if is_hook else function.name)
    return frozenset(_find_callers(calls, asserting))


def _find_callers(calls: dict[str, set[str]], asserting: set[str]) -> set[str]:
    """What calls one of them, and what calls that."""
    callers: dict[str, set[str]] = {}
    for name, called in calls.items():
        for callee in called & calls.keys():
            callers.setdefault(callee, set()).add(name)
    waiting = list(asserting)
    while waiting:
        for caller in callers.get(waiting.pop(), set()) - asserting:
            asserting.add(caller)
            waiting.append(caller)
    return asserting


_MARKS_PROVE: Final = pattern(
    r"should_panic|\bexpected\w*\s*=|=>|^\w+\.(?:fails|failing|prop)\b|quickcheck|proptest"
    r"|@(?:\w+\.)*\w*(?:expect|raises|xfail|compare|check|given|benchmark|snapshot|verif|figures|image|property|theory)",
    re.IGNORECASE,
)


def has_expecting_mark(test: Test) -> bool:
    """Whether a decorator or an annotation says what is expected of it."""
    return _MARKS_PROVE.search(test.marks) is not None
