r"""Functions, tests and assertions of a source text, by tree-sitter.

Reads, never edits; our own rules, not the judge's. Invariant: lines are counted from 1 and split only at `\n`; a function
or a statement is given only if it owns its lines whole, so that it can be taken out by lines.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from typing import Final

from tree_sitter import Language, Node, Parser, Query, QueryCursor


class Tongue(StrEnum):
    PYTHON = "python"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"
    TSX = "tsx"
    GO = "go"
    RUST = "rust"
    JAVA = "java"

    @property
    def is_script(self) -> bool:
        return self in {Tongue.JAVASCRIPT, Tongue.TYPESCRIPT, Tongue.TSX}


ENDINGS: Final = {
    "py": Tongue.PYTHON,
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), Tongue.JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), Tongue.TYPESCRIPT),
    "tsx": Tongue.TSX,
    "go": Tongue.GO,
    "rs": Tongue.RUST,
    "java": Tongue.JAVA,
}
SCRIPT: Final = (
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "call_expression",
    "variable_declarator",
)
FUNCTIONS: Final = {
    Tongue.PYTHON: ("function_definition",),
    Tongue.JAVASCRIPT: SCRIPT,
    Tongue.TYPESCRIPT: SCRIPT,
    Tongue.TSX: SCRIPT,
    Tongue.GO: ("function_declaration", "method_declaration"),
    Tongue.RUST: ("function_item",),
    Tongue.JAVA: ("method_declaration",),
}
STATEMENTS: Final = re.compile(r"_statement$|_declaration$|^(?:let_declaration|macro_invocation|expression_statement)$")
ORACLES: Final = {
    Tongue.PYTHON: re.compile(r"assert\b|(?:await )?(?:[\w.]+\.)?_?assert\w*\("),
    Tongue.JAVASCRIPT: re.compile(
        r"(?:await |return )?(?:expect\w*[(.]|assert\b|(?:t|p|tt?)\.(?:assert|equal|same|ok|is|deepEqual|strictEqual|match|"
        r"notEqual|throws|rejects|notOk|error|fail|deepStrictEqual|ifError|strictSame)\b)"
    ),
    Tongue.GO: re.compile(r"(?:require|assert|is|c|b|qt|tt|expect)\.(?:[A-Z]\w*)\(|assert\w*\("),
    Tongue.RUST: re.compile(r"(?:\w+::)?(?:debug_)?(?:assert\w*|prop_assert\w*|insta)!|assert\w*\(|insta::"),
    Tongue.JAVA: re.compile(r"(?:\w+\.)*(?:assert\w*|verify\w*|then\w*|expect\w*|fail)\("),
}
FAILS_IN_GO: Final = re.compile(r"\b(?:t|b|tb|tt)\.(?:Error|Fatal|Fail)\w*\(")
LIKE_AN_ORACLE: Final = re.compile(
    r"assert|expect|require|verif|should|raises|check|must|fatal|\.error|fail|ensure|compare|match|equal|throws|panic|"
    r"warns|snapshot|unwrap|\?;|\.then\(|doctest|pytester|validate|eventually|await|done\b|plan\(|satisf|\bis\w*\(",
    re.IGNORECASE,
)
"""Anything that may hold a test to something: where it remains, a test is not called empty."""


@dataclass(frozen=True, slots=True)
class Statement:
    """`is_only`: alone in its block. `indent`: white space before it."""

    first: int
    last: int
    kind: str
    text: str
    indent: str
    is_only: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """The lines within a block of an if, a loop or a handler; `line` is where it is opened."""

    line: int
    kind: str
    first: int
    last: int
    indent: str


@dataclass(frozen=True)
class Function:
    """`first` counts decorators, attributes and a comment of documentation; `inner_first`..`inner_last` is the body."""

    name: str
    tongue: Tongue
    first: int
    line: int
    last: int
    inner_first: int
    inner_last: int
    indent: str
    margin: str
    parameters: tuple[str, ...]
    returns: str
    is_test: bool
    is_async: bool
    block: Node = field(repr=False, compare=False)
    lines: list[str] = field(repr=False, compare=False)

    @property
    def length(self) -> int:
        return self.inner_last - self.inner_first + 1

    @property
    def step(self) -> str:
        """What one level of indentation adds."""
        return self.indent.removeprefix(self.margin) or "    "

    @cached_property
    def body(self) -> tuple[Statement, ...]:
        return tuple(_statements(self.block, self.lines))

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Those of all depths."""
        nodes = (node for node in _all(self.block) if STATEMENTS.search(node.type) and _owns(node, self.lines))
        return tuple(_statement(node, self.lines, is_only=_is_alone(node)) for node in nodes)

    @cached_property
    def oracles(self) -> tuple[Statement, ...]:
        return tuple(sorted(_oracles(self.block, self.tongue, self.lines), key=lambda one: one.first))

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        return tuple(sorted(_branches(self.block, self.tongue, self.lines), key=lambda one: one.first))


def tongue_of(path: str) -> Tongue | None:
    return ENDINGS.get(path.rpartition(".")[2])


@cache
def _language(tongue: Tongue) -> Language:
    is_typed = tongue in {Tongue.TYPESCRIPT, Tongue.TSX}
    module = importlib.import_module("tree_sitter_typescript" if is_typed else f"tree_sitter_{tongue}")
    capsule: object = getattr(module, f"language_{tongue}" if is_typed else "language")()
    return Language(capsule)


@cache
def _parser(tongue: Tongue) -> Parser:
    return Parser(_language(tongue))


@cache
def _query(tongue: Tongue) -> Query:
    return Query(_language(tongue), " ".join(f"({kind}) @function" for kind in FUNCTIONS[tongue]))


def is_sound(text: str, tongue: Tongue) -> bool:
    """The text parses without an error."""
    return not _parser(tongue).parse(text.encode()).root_node.has_error


@lru_cache(maxsize=512)
def functions(text: str, tongue: Tongue) -> tuple[Function, ...]:
    """The functions with a body of whole lines, in order; none in a text with errors."""
    root = _parser(tongue).parse(text.encode()).root_node
    if root.has_error:
        return ()
    lines = text.split("\n")
    nodes = QueryCursor(_query(tongue)).captures(root).get("function", [])
    found = (_function(node, tongue, lines) for node in sorted(nodes, key=lambda node: node.start_byte))
    return tuple(function for function in found if function is not None)


def _all(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.named_children)


def _words(node: Node | None) -> str:
    return (node.text or b"").decode(errors="replace") if node is not None else ""


def _function(node: Node, tongue: Tongue, lines: list[str]) -> Function | None:
    if tongue.is_script and node.type in {"call_expression", "variable_declarator"}:
        return _script_function(node, tongue, lines)
    whole = (
        node.parent
        if node.parent is not None and node.parent.type in {"decorated_definition", "export_statement"}
        else node
    )
    name = _words(node.child_by_field_name("name"))
    return _made(node, whole, name, tongue, lines)


def _script_function(node: Node, tongue: Tongue, lines: list[str]) -> Function | None:
    """A test given as a call's last argument, or an arrow function with a name."""
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        if value is None or value.type != "arrow_function" or node.parent is None:
            return None
        outer = node.parent.parent
        whole = outer if outer is not None and outer.type == "export_statement" else node.parent
        return _made(value, whole, _words(node.child_by_field_name("name")), tongue, lines)
    called = _words(node.child_by_field_name("function"))
    arguments = node.child_by_field_name("arguments")
    if called not in {"it", "test"} or arguments is None or len(arguments.named_children) < 2 or node.parent is None:
        return None
    title, given = arguments.named_children[0], arguments.named_children[-1]
    if title.type != "string" or given.type not in {"arrow_function", "function_expression"}:
        return None
    return _made(given, node.parent, _words(title).strip("\"'"), tongue, lines, test=True)


def _made(
    node: Node, whole: Node, name: str, tongue: Tongue, lines: list[str], *, test: bool = False
) -> Function | None:
    block = node.child_by_field_name("body")
    if block is None or not name:
        return None
    first, last = _inner(block, tongue, lines)
    start, end = _with_marks(whole, tongue), whole.end_point.row + 1
    if last < first or not _owns(whole, lines) or first <= node.start_point.row + 1:
        return None
    heading = "\n".join(lines[start - 1 : first - 1])
    return Function(
        name=name,
        tongue=tongue,
        first=start,
        line=node.start_point.row + 1,
        last=end,
        inner_first=first,
        inner_last=last,
        indent=_indent(next((line for line in lines[first - 1 : last] if line.strip()), "")),
        margin=_indent(lines[whole.start_point.row]),
        parameters=tuple(_parameters(node)),
        returns=_returns(node),
        is_test=test or _is_test(name, heading, tongue),
        is_async="async " in lines[node.start_point.row],
        block=block,
        lines=lines,
    )


def _inner(block: Node, tongue: Tongue, lines: list[str]) -> tuple[int, int]:
    """The lines of a body; an empty range where it does not own its lines."""
    if tongue is Tongue.PYTHON:
        return block.start_point.row + 1, block.end_point.row + 1
    opening, closing = lines[block.start_point.row], lines[block.end_point.row]
    if not opening.rstrip().endswith("{") or not closing.lstrip().startswith("}"):
        return 1, 0
    return block.start_point.row + 2, block.end_point.row


def _with_marks(whole: Node, tongue: Tongue) -> int:
    """The first line, counting Rust's attributes and documentation right above."""
    first = whole
    marks = (
        {"attribute_item", "line_comment"} if tongue is Tongue.RUST else {"comment", "block_comment", "line_comment"}
    )
    while (before := first.prev_named_sibling) is not None and before.type in marks:
        gap = first.start_point.row - before.end_point.row
        own_line = before.prev_named_sibling is None or before.prev_named_sibling.end_point.row < before.start_point.row
        if gap > 1 or not own_line or (gap == 0 and before.end_point.column > 0):
            break
        first = before
    return first.start_point.row + 1


def _owns(node: Node, lines: list[str]) -> bool:
    before = lines[node.start_point.row].encode()[: node.start_point.column]
    behind = lines[node.end_point.row].encode()[node.end_point.column :].decode(errors="replace")
    return not before.strip() and re.fullmatch(r"\s*[;,]?\s*(?://.*|#.*)?", behind) is not None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _parameters(node: Node) -> Iterator[str]:
    given = node.child_by_field_name("parameters")
    for one in given.named_children if given is not None else ():
        named = one.child_by_field_name("name") or one.child_by_field_name("pattern") or one
        while named.named_children and named.type != "identifier":
            named = named.named_children[0]
        name = _words(named)
        if named.type == "identifier" and name not in {"self", "cls", "this", "_"}:
            yield name


def _returns(node: Node) -> str:
    fields = ("return_type", "result", "type")
    return next((_words(found).lstrip(": ") for name in fields if (found := node.child_by_field_name(name))), "")


def _is_test(name: str, heading: str, tongue: Tongue) -> bool:
    match tongue:
        case Tongue.PYTHON:
            return name.startswith("test")
        case Tongue.GO:
            return name.startswith("Test") and "*testing.T" in heading
        case Tongue.RUST:
            return re.search(r"#\[(?:\w+::)*test\b", heading) is not None
        case Tongue.JAVA:
            return re.search(r"@(?:Test|ParameterizedTest|RepeatedTest)\b", heading) is not None
        case _:
            return False


def _statements(block: Node, lines: list[str]) -> Iterator[Statement]:
    children = [one for one in block.named_children if "comment" not in one.type]
    if len(children) == 1 and children[0].type == "statement_list":
        children = [one for one in children[0].named_children if "comment" not in one.type]
    for node in children:
        if _owns(node, lines):
            yield _statement(node, lines, is_only=len(children) == 1)


def _statement(node: Node, lines: list[str], *, is_only: bool) -> Statement:
    row = node.start_point.row
    return Statement(row + 1, node.end_point.row + 1, node.type, _words(node), _indent(lines[row]), is_only)


def _is_alone(node: Node) -> bool:
    return node.parent is None or sum("comment" not in one.type for one in node.parent.named_children) == 1


def _oracles(block: Node, tongue: Tongue, lines: list[str]) -> Iterator[Statement]:
    rule = ORACLES[Tongue.JAVASCRIPT if tongue.is_script else tongue]
    waiting = [block]
    while waiting:
        node = waiting.pop()
        for one in reversed(node.named_children):
            if _is_oracle(one, tongue, rule) and _owns(one, lines):
                siblings = [other for other in node.named_children if "comment" not in other.type]
                yield _statement(one, lines, is_only=len(siblings) == 1)
            else:
                waiting.append(one)


def _is_oracle(node: Node, tongue: Tongue, rule: re.Pattern[str]) -> bool:
    if not STATEMENTS.search(node.type):
        return False
    words = _words(node)
    if tongue is Tongue.GO and node.type == "if_statement":
        inner = node.child_by_field_name("consequence")
        return FAILS_IN_GO.search(_words(inner)) is not None and "t.Run(" not in words
    return rule.match(words) is not None


def _branches(block: Node, tongue: Tongue, lines: list[str]) -> Iterator[Branch]:
    kinds = {
        "if_statement",
        "if_expression",
        "else_clause",
        "elif_clause",
        "for_statement",
        "except_clause",
        "catch_clause",
    }
    kinds |= {"for_in_statement", "for_expression", "enhanced_for_statement", "match_arm"}
    for node in _all(block):
        inner = node.child_by_field_name("consequence") or node.child_by_field_name("body")
        if node.type not in kinds or inner is None or inner.type not in {"block", "statement_block"}:
            continue
        first, last = _inner(inner, tongue, lines)
        if first <= last and node.start_point.row + 1 < first:
            yield Branch(node.start_point.row + 1, node.type, first, last, _indent(lines[first - 1]))
