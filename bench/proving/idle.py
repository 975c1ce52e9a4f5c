"""Assertions that hold whatever the code does: of Python by `ast`, of the others by patterns.

Does not evaluate. Invariant: two calls may differ, be they written alike; `calls_twice` tells those.
"""

import ast
import re
from typing import Final

from bench.proving.routines import parsed

CHECK_CALLS: Final = re.compile(r"assert|expect|raises|warns|fail|verify|check", re.IGNORECASE)

_ONE_CALL: Final = re.compile(r"\bor True\b|isinstance\(.*, object\)|>= 0|assertTrue\(True|assert True")


def calls_twice(node: ast.AST, raw: str) -> bool:
    """A comparison of one call with the same one: it says something where calls differ."""
    if _ONE_CALL.search(raw):
        return False
    sides = next(((one.left, one.comparators[0]) for one in ast.walk(node) if isinstance(one, ast.Compare)), None)
    if sides is None and isinstance(node, ast.Call) and len(node.args) > 1:
        sides = (node.args[0], node.args[1])
    return sides is not None and all(any(isinstance(n, ast.Call) for n in ast.walk(side)) for side in sides)


def is_idle(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return _is_true(node.test)
    assert isinstance(node, ast.Call)
    given = [ast.dump(one) for one in node.args]
    name = ast.unparse(node.func)
    if not CHECK_CALLS.search(name):
        return False
    if re.search(r"[eE]qual|assertIs$", name) and len(given) > 1:
        return given[0] == given[1]
    return bool(node.args) and _is_true(node.args[0]) and "False" not in name


def _is_true(node: ast.expr) -> bool:
    match node:
        case ast.Constant() | ast.JoinedStr():
            holds = isinstance(node, ast.JoinedStr) or bool(node.value)
        case ast.Tuple():
            holds = bool(node.elts)
        case ast.BoolOp(op=ast.Or()):
            holds = any(map(_is_true, node.values)) or _are_opposites(node.values)
        case ast.Compare(ops=[_]):
            holds = _always_compares(node)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            holds = not value
        case ast.Call():
            holds = ast.unparse(node.func) == "isinstance" and ast.unparse(node.args[-1]) == "object"
        case _:
            holds = False
    return holds


def _always_compares(node: ast.Compare) -> bool:
    left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
    match node.ops[0]:
        case ast.Eq() | ast.Is() | ast.LtE():
            return left == right
        case ast.GtE():
            return left == right or (left.startswith("len(") and right == "0")
        case ast.In():
            return right in {"[True, False]", "(True, False)", "{True, False}"}
        case ast.IsNot() | ast.NotEq():
            return isinstance(node.left, ast.Constant | ast.JoinedStr) and right == "None"
        case _:
            return False


def _are_opposites(values: list[ast.expr]) -> bool:
    one, other = ast.unparse(values[0]), ast.unparse(values[-1])
    return one != other and one.replace("!=", "==") == other.replace("!=", "==")


_LITERAL: Final = r"(?:true|1|\"[^\"]*\"|'[^']*'|\d+)"
_IDLE_TEXTS: Final = tuple(
    re.compile(one, re.DOTALL)
    for one in (
        r"assert!\s*\(\s*(?:true|!false)\b",
        r"(?:assert|debug_assert)(?:_eq)?!\s*\(\s*(?P<a>.+?)\s*,\s*(?P=a)\s*[,)]",
        r"assert!\s*\(\s*(?P<b>.+?)\s*==\s*(?P=b)\s*[,)]",
        r"expect\(\s*(?P<c>.+)\s*\)\s*\.(?:to\.)?(?:toBe|toEqual|toStrictEqual|equal|eql|be)\(\s*(?P=c)\s*\)",
        r"expect\(\s*(?:true|1|!!true)\s*\)\s*\.(?:toBe|toEqual|toBeTruthy|to\.be\.true|to\.equal)",
        r"assert(?:True|\.ok|\.True|\.isTrue)?\(\s*(?:t,\s*)?(?:true|1)\b",
        r"(?:assertEquals|assertSame|Equal|strictEqual|deepEqual|equal)\(\s*(?:t,\s*)?(?P<d>.+?)\s*,\s*(?P=d)\s*[,)]",
        r"\b(?:assertThat|then)\(\s*(?P<e>.+)\s*\)\s*\.(?:isEqualTo|isSameAs)\(\s*(?P=e)\s*\)",
        r"assertThat\(\s*true\s*\)\s*\.isTrue\(",
        r"require\.True\(\s*t,\s*true\b",
        r"\|\|\s*true\b|\btrue\s*\|\|",
        r"\.(?:len\(\)|length|size\(\))\s*>=\s*0\b",
        r"(?:toBeGreaterThanOrEqual|isGreaterThanOrEqualTo|isNotNegative)\(\s*0?\s*\)",
        r"if\s+(?P<f>[\w.()]+)\s*!=\s*(?P=f)\s*\{",
        r"if\s+\(?false\b|&&\s*false\b",
        rf"assert\s+{_LITERAL}\s*;",
        r"assert\s*\(?\s*true\s*\)?\s*[;:]",
        rf"assert_(?:eq|ne)!\s*\(\s*{_LITERAL}\s*,\s*{_LITERAL}\s*[,)]",
        rf"(?:assertNotNull|toBeDefined|NotNil)\(\s*(?:t,\s*)?{_LITERAL}",
    )
)


_OF_THE_ASSERTION: Final = 3
"""Parentheses that hold something, beyond which calls are compared."""


def calls_twice_as_text(code: str) -> bool:
    return code.count("(") - code.count("()") > _OF_THE_ASSERTION


def is_idle_text(code: str) -> bool:
    return any(one.search(code) for one in _IDLE_TEXTS) or _expects_nothing(code)


def _expects_nothing(code: str) -> bool:
    """`assertThat(x);`: the parentheses close, and nothing follows."""
    called = re.match(r"\s*(?:\w+\.)?(?:assertThat|expect)\(", code)
    depth = 1
    for at in range(called.end() if called else len(code), len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if not depth:
            return code[at + 1 :].strip() in {"", ";"}
    return False


def is_idle_line(raw: str) -> bool:
    """A line that asserts what always holds."""
    tree = parsed(raw.strip())
    nodes = [one for one in ast.walk(tree) if isinstance(one, ast.Assert | ast.Call)] if tree is not None else []
    return (bool(nodes) and is_idle(nodes[0])) or is_idle_text(raw)
