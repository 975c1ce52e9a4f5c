"""Assertions that stand in a test and are not reached: behind a `return`, a switch that nobody turns on, in a loop over nothing.

Does not evaluate conditions, but for what is false as it stands. Invariant: as a fact only what no run reaches, or a new
test that checks nothing else; what some runs reach is at most a suspicion.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.assertions import LITERAL_COMPARED, SELF_COMPARED, Assertion
from worker.signals.analysis.change import CodeChange, Source
from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.skip_reasons import is_explained_above
from worker.signals.analysis.syntax import ancestors, text_of, with_ancestors
from worker.signals.analysis.test_pairs import CheckedBody, TestPair, find_bodies, find_test_pairs
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_ENDS: Final = pattern(r"return\b[^\n;]*;?|(?:if \(?(?:true|True|1)\)?:?\s*+\{?\s*+return;?\s*+\}?)")
_OPENS: Final = frozenset({"with_statement", "try_with_resources_statement"})
"""Blocks that are run to their end, and then closed."""
_MODIFIED: Final = frozenset({"if_modifier", "unless_modifier"})
"""`return if slow` of Ruby."""
_LONGEST: Final = 200
_OF_SUCCESS: Final = pattern(
    r"\b(?:assert|require|expect)\w*!?[.(].{0,150}(?:no_?err|throw|panic)|\bassert_ok!", re.IGNORECASE
)
"""`require.NoError(t, err)` was written to check; a call that fails where it fails, like `unwrap`, was not."""
_NEVER: Final = pattern(
    r"(?:if|while)\b ?\(?\s*(?:[Ff]alse|0|not True|!true|None|null|cfg!\(any\(\)\)|[\w.()]{1,80} (?:&&|and) [Ff]alse)(?!\w)\)?\s*(?:\{|:|$|[a-zA-Z])"
    r"|for\b[^\n]{1,80}(?: in | of | : |range )\(?(?:\[\]|\(\)|\{\}|set\(\)|range\(0\)|\[\] as [\w\[\]]{1,40}|new \w+\[0\]|new \w+\[\]\s*\{\s*\}|\[\][\w.]+\{\}"
    r"|Vec(?:::<\w+>)?::new\(\)|vec!\[\]|0\.\.0|(?:List|Set)\.(?:<\w+>)?of\(\)|Collections\.(?:<\w+>)?empty\w+\(\)|std::iter::empty(?:::<\w+>)?\(\))\)?\s*[:{)]"
    r"|\[\]\.(?:forEach|map)\(|(?:List|Stream|Collections)\.(?:<\w+>)?(?:of|empty\w*)\(\)\.forEach\(|[Ff]alse (?:&&|and) "
)
_GATES: Final = frozenset(
    {"if_statement", "if_expression", "while_statement", "for_statement", "for_in_statement", "for_expression"}
    | {"enhanced_for_statement", "call_expression", "method_invocation", "binary_expression", "boolean_operator"}
)
_SWITCH: Final = pattern(
    r"if\b[^\n]{0,100}(?:process\.(?:env|argv)|os\.environ|getenv|env::var|import\.meta\.env|\bcfg!\((?:not\()?feature|System\.getProperty"
    r"|Boolean\.getBoolean|Deno\.env|sys\.argv|os\.Args|testing\.Verbose|\b(?:globalThis|global|window)\.\w)",
    2,
)
_BY_DEFAULT: Final = pattern(
    r"if\b[^\n{]{0,160}?(?:!==? ?[\"'][^\"']|\bis None\b|==+ ?(?:\"\"|''|None|nil|null|undefined|\"0\"|'0')|\bnot in\b|\.is_err\(\))"
    r"|if \(?(?:!|not )[^\n]{0,60}?(?:env|argv|Boolean|getProperty|Args|Verbose)"
)
_ASKS_FOR_PLATFORM: Final = pattern(
    r"if\b[^\n{:]{0,100}(?:\bcfg!\((?:not\(|any\(|all\()*(?:unix|windows|target_|miri)|\bGOOS\b|\bGOARCH\b|sys\.platform|process\.platform"
    r"|\bos\.name\b|platform\.(?:system|machine)\(|sys\.version_info|\bis_?(?:windows|win32|linux|mac(?:os)?|darwin)\b|\.IsOSPlatform\()",
    2,
)
"""The condition names an operating system, a processor or a version of the language: an honest conditional skip."""
_IFS: Final = frozenset({"if_statement", "if_expression"})
_IF: Final = pattern(r"\bif\b", re.IGNORECASE, needs=("if",))
_OF_ENVIRONMENT: Final = pattern(
    r"if\b[^\n]{0,100}(?:process\.env|os\.environ|getenv|env::var|option_env!|import\.meta\.env|Boolean\.getBoolean|System\.getProperty|testing\.Verbose|globalThis\.__)",
    2,
)
_LEAVES: Final = pattern(r"if\b[^\n{]{1,120}[:{)]\s*return(?: Ok\(\(\)\))?;?\s*\}?")
_CALLED_BY_NAME: Final = frozenset(
    {"function_definition", "function_declaration", "variable_declarator", "let_declaration"}
)
_LAMBDAS: Final = frozenset(
    {"lambda", "arrow_function", "function_expression", "closure_expression", "lambda_expression"}
)
_WORD: Final = pattern(r"\w+")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Remove the early return at {place}, so that the assertions below it run.",
)
def assertion_unreached(change: CodeChange) -> Iterator[SignalMatch]:
    """Assertions of a test are never reached: behind an added `return`, where `false` holds, or in a loop over nothing.

    False alarms: 0 of 22175 clean changes with tests (0.0 %, at most 0.02 %).
    """
    for look in find_test_pairs(change):
        end = _find_end(look)
        if end is not None and any(
            _is_intended_check(assertion) and assertion.node.start_byte > end.end_byte for assertion in look.assertions
        ):
            line = look.test.function.line_of(end)
            if line in look.file.added_lines:
                yield SignalMatch("the assertions below are never reached", look.file.path, line, line)
    for body in find_bodies(change):
        for gate in _find_never_run(body):
            line = body.line_of(gate)
            if is_explained_above(body.file, line):
                continue  # a suspicion below
            step = "Make the condition at {place} one that can hold, or remove it, so that the assertions under it run."
            yield SignalMatch("the assertions in here are never reached", body.file.path, line, line, step=step)


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Move the assertions out of the condition at {place}, so that they run wherever the test runs.",
)
def assertion_behind_switch(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test whose every assertion is made only where the environment says so.

    False alarms: 0 of 22175 clean changes with tests (0.0 %, at most 0.02 %).
    """
    for look in find_test_pairs(change):
        gate = _find_only_gate(look)
        asked = "" if gate is None else text_of(gate)[:_LONGEST]
        if gate is not None and _is_switch(asked) and not _ASKS_FOR_PLATFORM.match(asked):
            line = look.test.function.line_of(gate)
            yield SignalMatch("nothing is asserted unless the environment says so", look.file.path, line, line)


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def assertion_conditional(change: CodeChange) -> Iterator[SignalMatch]:
    """Assertions are made on a condition only: all those of a new test, or one that was made in any case before.

    The condition is an added `if` around them, or one that ends the test before them. Or nobody calls what they stand in.

    False alarms: 125 of 22175 clean changes with tests (0.6 %, at most 0.67 %).
    """
    for look in find_test_pairs(change):
        for gate in _find_doubtful(look):
            line = look.test.function.line_of(gate)
            if line in look.file.added_lines and not _ASKS_FOR_PLATFORM.match(text_of(gate)[:_LONGEST]):
                yield SignalMatch("what is asserted here may never be", look.file.path, line, line)
    for body in find_bodies(change):
        for line in map(body.line_of, _find_never_run(body)):
            if is_explained_above(body.file, line):
                yield SignalMatch("what is asserted here is never run", body.file.path, line, line)


def _find_end(look: TestPair) -> "Node | None":
    """The first statement of the body, or of a `with` in it, behind which nothing is reached."""
    statements = look.test.function.statements
    opened = (statement.child_by_field_name("body") for statement in statements if statement.type in _OPENS)
    blocks = (block.named_children for block in opened if block is not None)
    first = [*statements[:-1], *(statement for block in blocks for statement in block[:-1])]
    return next(
        (
            statement
            for statement in first
            if statement.type not in _MODIFIED and _ENDS.fullmatch(text_of(statement)[:_LONGEST])
        ),
        None,
    )


def _can_fail(oracle: Assertion) -> bool:
    return oracle.proof >= Proof.PRESENCE


def _is_intended_check(oracle: Assertion) -> bool:
    """It was written as a check, even if of a thing with itself: behind a `return` that is not run either."""
    asks = oracle.proof is Proof.SUCCESS and _OF_SUCCESS.search(oracle.text[:_LONGEST]) is not None
    return asks or _can_fail(oracle) or (oracle.weakness in {SELF_COMPARED, LITERAL_COMPARED} and not oracle.is_guess)


def _find_never_run(body: CheckedBody) -> "Iterator[Node]":
    """Added statements that run nothing of what they hold, each once."""
    reported: set[int] = set()
    cache: dict[int, bool] = {}
    for oracle in body.assertions:
        for around in with_ancestors(oracle.node, body.node):
            if around.id not in cache:
                cache[around.id] = body.is_added(around) and (
                    around.type in _GATES and _NEVER.match(text_of(around)[:_LONGEST]) is not None
                )
            if cache[around.id] and around.start_byte not in reported and _is_inside_gate(around, oracle.node):
                reported.add(around.start_byte)
                yield around


def _is_inside_gate(around: "Node", inside: "Node") -> bool:
    """It stands in what the gate closes, and not in what is done instead."""
    otherwise = around.child_by_field_name("alternative")
    return otherwise is None or inside.start_byte < otherwise.start_byte


def _is_switch(condition: str) -> bool:
    """Whether the environment has to say so; what holds where it says nothing runs by default."""
    return _SWITCH.match(condition) is not None and _BY_DEFAULT.match(condition) is None


def _find_doubtful(look: TestPair) -> "Iterator[Node]":
    gate = _find_only_gate(look)
    if gate is None:
        yield from _find_new_gates(look)
    elif not _is_switch(text_of(gate)[:_LONGEST]) and not _NEVER.match(text_of(gate)[:_LONGEST]):
        yield gate
    yield from _find_early_exits(look)
    yield from _find_idle_functions(look)
    yield from _find_switches(look)


def _find_checks(look: TestPair) -> "list[Node]":
    able = [assertion for assertion in look.assertions if _can_fail(assertion)]
    return [assertion.node for assertion in able if not assertion.is_guess] or [assertion.node for assertion in able]


def _find_only_gate(look: TestPair) -> "Node | None":
    """The `if` around all checks of a new test."""
    gates = (
        [_find_gate(node, look.test.body) for node in _find_checks(look)]
        if look.is_new and _has_condition(look)
        else []
    )
    return gates[0] if gates and all(gate == gates[0] for gate in gates) else None


def _has_condition(look: TestPair) -> bool:
    """False where no `if` stands in its file: to ask each check for what is around it takes far longer."""
    return look.test.source.cached(_holds_an_if)


def _holds_an_if(source: Source) -> bool:
    return _IF.search(source.text) is not None


def _find_gate(node: "Node", body: "Node") -> "Node | None":
    """The innermost `if` around it that has no other branch; of Go's own checks, around those."""
    around = (ancestor for ancestor in ancestors(node, body) if ancestor.type in _IFS and not _has_else(ancestor))
    return next(around, None)


def _find_switches(look: TestPair) -> "Iterator[Node]":
    """Switches of the environment around some of the checks of a new test."""
    gates = (
        {
            ancestor.start_byte: ancestor
            for check in look.assertions
            for ancestor in ancestors(check.node, look.test.body)
        }
        if look.is_new and _has_condition(look)
        else {}
    )
    only = _find_only_gate(look) if gates else None
    for gate in gates.values():
        is_switch = gate.type in _IFS and not _has_else(gate) and _OF_ENVIRONMENT.match(text_of(gate)[:_LONGEST])
        if is_switch and gate != only:
            yield gate


def _has_else(branch: "Node") -> bool:
    """Whether there is an `else`; Kotlin's grammar gives it no name."""
    if branch.child_by_field_name("alternative") is not None:
        return True
    return branch.type == "if_expression" and any(child.type == "else" for child in branch.children)


def _find_new_gates(look: TestPair) -> "Iterator[Node]":
    """Gates around what was checked in any case before: of most tests, none has to be looked at as it was."""
    base = look.base
    if base is None or not _has_condition(look):
        return
    gates = [
        (assertion, _find_gate(assertion.node, look.test.body)) for assertion in look.assertions if _can_fail(assertion)
    ]
    closed = [(assertion, gate) for assertion, gate in gates if gate is not None]
    if not closed:
        return
    free = frozenset(assertion.text for assertion in look.base_assertions if not _find_gate(assertion.node, base.body))
    reported: set[int] = set()
    for oracle, gate in closed:
        if oracle.text in free and gate.start_byte not in reported:
            reported.add(gate.start_byte)
            yield gate


def _find_early_exits(look: TestPair) -> "Iterator[Node]":
    """An added `if` that ends the test before all that it checks."""
    checks = _find_checks(look)
    first = min((check.start_byte for check in checks), default=0)
    for statement in look.test.function.statements[:-1]:
        if (
            statement.end_byte < first
            and _LEAVES.fullmatch(text_of(statement)[:_LONGEST])
            and not _ENDS.fullmatch(text_of(statement))
        ):
            yield statement


def _find_idle_functions(look: TestPair) -> "Iterator[Node]":
    """A function in the test that holds all its checks, and that nothing names again."""
    holders = [_find_holder(node, look.test.body) for node in _find_checks(look)]
    if holders and holders[0] is not None and all(holder == holders[0] for holder in holders):
        name = text_of(holders[0].child_by_field_name("name") or holders[0].child_by_field_name("pattern"))
        if name and _WORD.findall(look.test.text).count(name) == 1:
            yield holders[0]


def _find_holder(node: "Node", body: "Node") -> "Node | None":
    """The function with a name inside of *body* that it stands in."""
    around = next((ancestor for ancestor in ancestors(node, body) if ancestor.type in _CALLED_BY_NAME), None)
    value = around.child_by_field_name("value") if around is not None else None
    return around if value is None or value.type in _LAMBDAS else None
