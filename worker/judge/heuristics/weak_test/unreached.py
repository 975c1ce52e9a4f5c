"""Assertions that stand in a test and are not reached: behind a `return`, or behind a switch that nobody turns on.

Does not evaluate conditions. Invariant: a test that has a check outside of the switch is left alone.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.oracles import Oracle
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.syntax import text_of
from worker.judge.heuristics.truths import Proof
from worker.judge.heuristics.weak_test.looks import Look, looks

if TYPE_CHECKING:
    from tree_sitter import Node


@signal(Category.WEAK_TEST, Kind.FACT, Looks.TESTS)
def assertion_unreached(change: Change) -> Iterator[Place]:
    """An added `return` in a test, and assertions below it that are never reached.

    False alarms: 0 of 4497 clean changes with tests (0.0 %, at most 0.09 %).
    """
    for look in looks(change):
        end = _end(look)
        if end is not None and any(_can_fail(one) and one.node.start_byte > end.end_byte for one in look.oracles):
            line = look.test.function.line_of(end)
            if line in look.file.added_lines:
                yield Place("the assertions below are never reached", look.file.path, line, line)


_ENDS: Final = pattern(r"return\b[^\n;]*;?|(?:if \(?(?:true|True|1)\)?:?\s*\{?\s*return;?\s*\}?)")


def _end(look: Look) -> "Node | None":
    """The first statement of the body behind which nothing is reached."""
    return next((one for one in look.test.function.statements[:-1] if _ENDS.fullmatch(text_of(one)[:_LONGEST])), None)


_LONGEST: Final = 200


def _can_fail(oracle: Oracle) -> bool:
    return oracle.proof >= Proof.PRESENCE


@signal(Category.WEAK_TEST, Kind.FACT, Looks.TESTS)
def assertion_behind_switch(change: Change) -> Iterator[Place]:
    """A new test whose every assertion is made only where the environment says so.

    False alarms: 0 of 4497 clean changes with tests (0.0 %, at most 0.09 %).
    """
    for look in looks(change):
        able = [one for one in look.oracles if _can_fail(one)]
        checks = [one.node for one in able if not one.is_guess] or [one.node for one in able]
        switches = [_switch(node, look.test.body) for node in checks] if look.is_new else []
        if switches and switches[0] is not None and all(one == switches[0] for one in switches):
            line = look.test.function.line_of(switches[0])
            yield Place("nothing is asserted unless the environment says so", look.file.path, line, line)


_SWITCH: Final = pattern(
    r"if\b[^\n]{0,100}(?:process\.env|os\.environ|getenv|env::var|import\.meta\.env|\bcfg!|System\.getProperty"
    r"|Boolean\.getBoolean|Deno\.env)",
    2,
)


def _switch(node: "Node", body: "Node") -> "Node | None":
    """The `if` about the environment around it."""
    around: Node | None = node
    while around is not None and around != body:
        is_alone = around.type in _IFS and around.child_by_field_name("alternative") is None
        if is_alone and _SWITCH.match(text_of(around)[:_LONGEST]):
            return around
        around = around.parent
    return None


_IFS: Final = frozenset({"if_statement", "if_expression"})
