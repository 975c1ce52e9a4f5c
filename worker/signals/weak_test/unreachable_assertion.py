"""Assertions of a test that are not reached: behind a `return` or a switch that is off by default, in a loop over nothing.

Conditions are not evaluated, except for literals. A fact is what no run reaches, or a new test that checks nothing else; what
some runs reach is at most a suspicion.
"""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.assertions import LITERAL_COMPARED, SELF_COMPARED, Assertion
from worker.signals.analysis.change import CodeChange, Source, memoized
from worker.signals.analysis.proofs import Proof
from worker.signals.analysis.syntax import ancestors, text_of, with_ancestors
from worker.signals.analysis.test_pairs import CheckedBody, TestPair, find_bodies, find_test_pairs, is_explained_above
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

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

    Why it matters: The assertions are there to read, and no run executes them.
    Example: `return` above `assert run() == 1`.
    False alarms: 0 of 22175 clean changes with tests (0.0 %, at most 0.02 %).
    """
    for pair in find_test_pairs(change):
        end = _find_end(pair)
        checks = (check for check in pair.assertions if _is_intended_check(check)) if end is not None else ()
        if end is not None and any(check.node.start_byte > end.end_byte for check in checks):
            line = pair.test.function.line_of(end)
            if line in pair.file.added_lines:
                yield SignalMatch("the assertions below are never reached", pair.file.path, line, line)
    for body in find_bodies(change):
        for line in map(body.line_of, _find_never_run(body)):
            if not is_explained_above(body.file, line):  # else a suspicion below
                step = "Make the condition at {place} one that can hold, or remove it, so that the assertions under it run."
                yield SignalMatch("the assertions in here are never reached", body.file.path, line, line, step=step)


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Move the assertions out of the condition at {place}, so that they run wherever the test runs.",
)
def assertion_behind_switch(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test whose every assertion is made only where the environment asks for it.

    Why it matters: Where the variable is not set, as in most runs, the test checks nothing and passes.
    Example: `if os.environ.get('SLOW'):` around the only assertion.
    False alarms: 0 of 22175 clean changes with tests (0.0 %, at most 0.02 %).
    """
    for pair in find_test_pairs(change):
        gate = _find_only_gate(pair)
        asked = "" if gate is None else text_of(gate)[:_LONGEST]
        if gate is not None and _is_switch(asked) and not _ASKS_FOR_PLATFORM.match(asked):
            line = pair.test.function.line_of(gate)
            yield SignalMatch("nothing is asserted unless the environment says so", pair.file.path, line, line)


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def assertion_conditional(change: CodeChange) -> Iterator[SignalMatch]:
    """Assertions are made on a condition only: all those of a new test, or one that was made in any case before.

    The condition is an added `if` around them, or one that ends the test before them. Or nothing calls the function around them.

    Why it matters: Where the condition does not hold, the test passes without a check.
    Example: `if result:` around `assert result.total == 3`.
    False alarms: 125 of 22175 clean changes with tests (0.6 %, at most 0.67 %).
    """
    for pair in find_test_pairs(change):
        for gate in _find_doubtful(pair):
            line = pair.test.function.line_of(gate)
            if line in pair.file.added_lines and not _ASKS_FOR_PLATFORM.match(text_of(gate)[:_LONGEST]):
                yield SignalMatch("what is asserted here may never be", pair.file.path, line, line)
    for body in find_bodies(change):
        for line in map(body.line_of, _find_never_run(body)):
            if is_explained_above(body.file, line):
                yield SignalMatch("what is asserted here is never run", body.file.path, line, line)


def _find_end(pair: TestPair) -> Node | None:
    """The first statement of the body, or of a `with` in it, that ends the test before more statements."""
    statements = pair.test.function.statements
    opened = (statement.child_by_field_name("body") for statement in statements if statement.type in _OPENS)
    inner = (statement for block in opened if block is not None for statement in block.named_children[:-1])
    plain = (statement for statement in (*statements[:-1], *inner) if statement.type not in _MODIFIED)
    return next((statement for statement in plain if _ENDS.fullmatch(text_of(statement)[:_LONGEST])), None)


def _can_fail(assertion: Assertion) -> bool:
    return assertion.proof >= Proof.PRESENCE


def _is_intended_check(assertion: Assertion) -> bool:
    """Whether it was written as a check, even if of a thing with itself: behind a `return` that is not run either."""
    asks = assertion.proof is Proof.SUCCESS and _OF_SUCCESS.search(assertion.text[:_LONGEST]) is not None
    is_same = assertion.weakness in {SELF_COMPARED, LITERAL_COMPARED} and not assertion.is_guess
    return asks or is_same or _can_fail(assertion)


def _find_never_run(body: CheckedBody) -> Iterator[Node]:
    """Added statements that run nothing of their content, each once."""
    reported: set[int] = set()
    cache: dict[int, bool] = {}
    for assertion in body.assertions:
        for gate in with_ancestors(assertion.node, body.node):
            if gate.id not in cache:
                is_gate = gate.type in _GATES and body.is_added(gate)
                cache[gate.id] = is_gate and _NEVER.match(text_of(gate)[:_LONGEST]) is not None
            otherwise = gate.child_by_field_name("alternative") if cache[gate.id] else None
            is_inside = otherwise is None or assertion.node.start_byte < otherwise.start_byte
            if cache[gate.id] and is_inside and gate.start_byte not in reported:
                reported.add(gate.start_byte)
                yield gate


def _is_switch(condition: str) -> bool:
    """Whether the environment has to turn it on; what holds without a variable runs by default."""
    return _SWITCH.match(condition) is not None and _BY_DEFAULT.match(condition) is None


def _find_doubtful(pair: TestPair) -> Iterator[Node]:
    gate = _find_only_gate(pair)
    if gate is None:
        yield from _find_new_gates(pair)
    elif not _is_switch(text_of(gate)[:_LONGEST]) and not _NEVER.match(text_of(gate)[:_LONGEST]):
        yield gate
    yield from _find_early_exits(pair)
    yield from _find_idle_functions(pair)
    yield from _find_switches(pair, gate)


def _find_checks(pair: TestPair) -> list[Node]:
    checks = [assertion for assertion in pair.assertions if _can_fail(assertion)]
    certain = [assertion for assertion in checks if not assertion.is_guess]
    return [assertion.node for assertion in certain or checks]


def _find_only_gate(pair: TestPair) -> Node | None:
    """The `if` around all checks of a new test."""
    checks = _find_checks(pair) if pair.is_new and _has_condition(pair.test.source) else []
    gates = [_find_gate(node, pair.test.body) for node in checks]
    return gates[0] if gates and all(gate == gates[0] for gate in gates) else None


@memoized
def _has_condition(source: Source) -> bool:
    """False for a text without `if`: asking each check for its surroundings takes far longer."""
    return _IF.search(source.text) is not None


def _find_gate(node: Node, body: Node) -> Node | None:
    """The innermost `if` around it that has no other branch."""
    return next((outer for outer in ancestors(node, body) if outer.type in _IFS and not _has_else(outer)), None)


def _find_switches(pair: TestPair, only: Node | None) -> Iterator[Node]:
    """Switches of the environment around some of the checks of a new test, but for the *only* one around all."""
    if not pair.is_new or not _has_condition(pair.test.source):
        return
    outers = (outer for check in pair.assertions for outer in ancestors(check.node, pair.test.body))
    for gate in {outer.start_byte: outer for outer in outers}.values():
        is_switch = gate.type in _IFS and not _has_else(gate) and _OF_ENVIRONMENT.match(text_of(gate)[:_LONGEST])
        if is_switch and gate != only:
            yield gate


def _has_else(branch: Node) -> bool:
    """Whether there is an `else`; Kotlin's grammar gives it no field."""
    if branch.child_by_field_name("alternative") is not None:
        return True
    return branch.type == "if_expression" and any(child.type == "else" for child in branch.children)


def _find_new_gates(pair: TestPair) -> Iterator[Node]:
    """Gates around checks that were made in any case before."""
    base, body = pair.base, pair.test.body
    if base is None or not _has_condition(pair.test.source):
        return
    gates = [(check.text, _find_gate(check.node, body)) for check in pair.assertions if _can_fail(check)]
    closed = [(text, gate) for text, gate in gates if gate is not None]
    if not closed:  # of most tests; then the old version need not be read
        return
    free = frozenset(check.text for check in pair.base_assertions if not _find_gate(check.node, base.body))
    yield from {gate.start_byte: gate for text, gate in closed if text in free}.values()


def _find_early_exits(pair: TestPair) -> Iterator[Node]:
    """An added `if` that ends the test before all of its checks."""
    first = min((check.start_byte for check in _find_checks(pair)), default=0)
    for statement in pair.test.function.statements[:-1]:
        text = text_of(statement) if statement.end_byte < first else ""
        if _LEAVES.fullmatch(text[:_LONGEST]) and not _ENDS.fullmatch(text):
            yield statement


def _find_idle_functions(pair: TestPair) -> Iterator[Node]:
    """A function in the test that holds all its checks, and that nothing names again."""
    holders: list[Node | None] = []
    for node in _find_checks(pair):  # the innermost named function around it
        outer = (outer for outer in ancestors(node, pair.test.body) if outer.type in _CALLED_BY_NAME)
        holder = next(outer, None)
        value = holder.child_by_field_name("value") if holder is not None else None
        holders.append(holder if value is None or value.type in _LAMBDAS else None)
    first = holders[0] if holders else None
    if first is not None and all(holder == first for holder in holders):
        name = text_of(first.child_by_field_name("name") or first.child_by_field_name("pattern"))
        if name and _WORD.findall(pair.test.text).count(name) == 1:
            yield first
