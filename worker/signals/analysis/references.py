"""Which names the head version mentions, and its calls link by link: `expect(x).not.toBe(1)` is expect, not, toBe.

Names are looked for in whole texts where they are known, else in what hunks show. They are not resolved: one that two things
share is mentioned for both. Every call is part of exactly one chain, and finding all chains of a text takes linear time.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange, Source, memoized, memoized_for_family
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import find_block
from worker.signals.analysis.syntax import (
    ancestors,
    child_of_type,
    first_child,
    is_comment,
    outermost,
    register_types,
    text_of,
)

WORD_PATTERN: Final = pattern(r"[A-Za-z_$][\w$]*")
_CALL: Final = pattern(r"([A-Za-z_$](?<![A-Za-z_$].)[\w$]{0,200}+)(?:::<[^>\n]{0,80}>|<[^>\n(]{0,80}>)?\(")
_INSTANTIATION: Final = pattern(r"[A-Z](?<![\w.].)(?<!class .)(?<!def .)\w*+(?=\()")
"""Look-behinds follow the first letter, so that only letters are tried, which takes a fifth of the time."""
_DEF: Final = pattern(r"\bdef (\w+)")
_VALUE: Final = pattern(r"(?:[(,=:\[{]|\breturn)\s{0,4}&?(?:\w{1,40}\.)?([A-Za-z_$][\w$]*)(?=\s{0,4}(?:[,)\]};]|$))")
_BUILT_NAME: Final = pattern(
    r"[\"'`]([A-Za-z_]\w{0,60}?)(?:\$?\{|#\{|\$(?=\w)|%[sv]|[\"'`]\s{0,4}(?:\+|\.(?!\w))|(?<=_)[\"'`])"
)
"""A literal that ends where a value goes on. One that ends with an underscore is the beginning of a name."""
_IMPORT_LINE: Final = pattern(
    r"\s*(?:import|from|export \{|export \*|use|pub use|//|#|\*|/\*|package|\w+,?$|[\"'`]\w+[\"'`],?$)"
)
"""Imports, exports and comments name what they do not use."""
_LONGEST: Final = 1_000


@memoized_for_family
def count_words(change: CodeChange) -> Counter[str]:
    """Count each word of all texts."""
    return Counter(chain.from_iterable(map(WORD_PATTERN.findall, _texts(change))))


def count_beside_calls(change: CodeChange, names: frozenset[str]) -> Counter[str]:
    """Count each name in lines that are no import, export or comment, less those before a parenthesis.

    Before a parenthesis are calls and most definitions.
    """
    counts: Counter[str] = Counter()
    for text in _texts(change) if names else ():
        if not names.isdisjoint(WORD_PATTERN.findall(text)):
            used = (line for line in text.split("\n") if not _IMPORT_LINE.match(line))
            counts.update(word for line in used for word in WORD_PATTERN.findall(line) if word in names)
            counts.subtract(word for word in _CALL.findall(text) if word in names)
    return counts


@memoized_for_family
def count_definitions(change: CodeChange) -> Counter[str]:
    """Count the functions of each name, in the way that Python writes them."""
    return Counter(chain.from_iterable(map(_DEF.findall, _texts(change))))


@memoized
def find_passed_names(change: CodeChange) -> frozenset[str]:
    """Names in the place of a value: an argument, a default, an element, an assigned or returned one."""
    lines = (line[:_LONGEST] for text in _texts(change) for line in text.split("\n") if not _IMPORT_LINE.match(line))
    return frozenset(chain.from_iterable(map(_VALUE.findall, lines)))


@memoized
def find_name_prefixes(change: CodeChange) -> frozenset[str]:
    """Beginnings of names that the program builds: `_cmd_` in `"_cmd_" + name`, `f"_cmd_{name}"` and `"_cmd_%s"`."""
    return frozenset(chain.from_iterable(map(_BUILT_NAME.findall, _texts(change))))


@memoized_for_family
def find_instantiated(change: CodeChange) -> frozenset[str]:
    """Classes of which some code makes an object, in the way that Python writes it."""
    return frozenset(chain.from_iterable(map(_INSTANTIATION.findall, _texts(change))))


@memoized_for_family
def find_removed_words(change: CodeChange) -> frozenset[str]:
    """Every word of the removed lines."""
    lines = (text[:_LONGEST] for file in change.files for text in file.diff.removed_texts)
    return frozenset(chain.from_iterable(map(WORD_PATTERN.findall, lines)))


def _texts(change: CodeChange) -> Iterator[str]:
    changed = {file.path for file in change.files}
    yield from (text for path, text in change.texts.items() if path not in changed)
    yield from (file.visible_text for file in change.files)


_PHP_METHOD_CALLS: Final = ("member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression")
_CALLS: Final = register_types(
    {
        Language.PYTHON: ("call",),
        Language.GO: ("call_expression",),
        Language.RUST: ("call_expression", "macro_invocation"),
        Language.JAVA: ("method_invocation",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("call_expression",)),
    },
)
_MORE_CALLS: Final = {
    Language.RUBY: ("call",),
    Language.CSHARP: ("invocation_expression",),
    Language.PHP: ("function_call_expression", *_PHP_METHOD_CALLS),
    Language.KOTLIN: ("call_expression", "infix_expression", "binary_expression"),
}
_CALLING: Final = frozenset({"call", "call_expression", "method_invocation"})
_INNER: Final = ("function", "object", "operand", "value", "path")
_NAMES: Final = ("attribute", "property", "field", "name")
_MORE_INNER: Final = ("receiver", "expression", "condition", "object", "scope")
_MORE_NAMES: Final = ("method", "name")
_PASSED_NODES: Final = frozenset({"try_expression", "await_expression", "await", "parenthesized_expression"})
_PASSED_SCRIPT_NODES: Final = frozenset({"non_null_expression", "generic_function", "index_expression", "subscript"})
_LINKING: Final = frozenset(
    {"attribute", "member_expression", "selector_expression", "field_expression", "field_access", "scoped_identifier"}
    | {"generic_function", "try_expression", "non_null_expression", "member_access_expression", "unary_expression"}
    | {"conditional_access_expression", "postfix_unary_expression", "navigation_expression"}
)
_BINDINGS: Final = frozenset(
    {"assignment", "short_var_declaration", "let_declaration", "variable_declarator", "assignment_statement"}
    | {"property_declaration"}
)
_WRAPPERS: Final = frozenset({"argument", "value_argument"})
LONGEST_ROOT: Final = 200
"""Characters of a root that is no name but an expression."""


class ChainLink(NamedTuple):
    """One name of a chain with its arguments; None where it was not called."""

    name: str
    arguments: list[Node] | None = None


class CallChain(NamedTuple):
    """A whole chain: its outermost node and its links, the root first."""

    node: Node
    links: tuple[ChainLink, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(link.name for link in self.links)

    @property
    def is_result_dropped(self) -> bool:
        """Whether it is a statement of its own."""
        around = next((ancestor for ancestor in ancestors(self.node) if ancestor.type not in _PASSED_NODES), None)
        return around is not None and around.type == "expression_statement"

    @property
    def is_result_bound(self) -> bool:
        """Whether its result gets a name."""
        passed = _PASSED_NODES | {"expression_list"}
        around = next((ancestor for ancestor in ancestors(self.node) if ancestor.type not in passed), None)
        return around is not None and around.type in _BINDINGS


class _ChainWithCalls(NamedTuple):
    chain: CallChain
    calls: tuple[tuple[int, int], ...]
    """Where its calls begin and end."""


def find_call_chains(
    source: Source, within: Node | None = None, rows: frozenset[int] | None = None
) -> Iterator[CallChain]:
    """Every chain of calls *within* a node, in the order of the text; with *rows*, of those that begin in one of them."""
    language = source.language
    is_more = language in MORE_LANGUAGES
    types, build = (_MORE_CALLS[language], _build_more_chain) if is_more else (_CALLS[language], _build_chain)
    seen: set[tuple[int, int]] = set()
    for call in source.nodes.find(types, within, rows):
        is_asked = rows is None or call.start_point.row in rows
        if is_asked and (call.start_byte, call.end_byte) not in seen and not (is_more and _is_comparison(call)):
            # the last call of a chain comes first; to ask each one for its parent would take too long
            chain = source.nodes.cache(build, call)
            seen.update(chain.calls)
            yield chain.chain


def _build_chain(call: Node) -> _ChainWithCalls:
    """The chain of which this is the last call."""
    top = _find_top(call)
    calls: list[tuple[int, int]] = []
    node: Node | None = call
    while node is not None:
        if node.type in _CALLING:
            calls.append((node.start_byte, node.end_byte))
        node = _field(node, _INNER) or (first_child(node) if node.type in _LINKING else None)
    return _ChainWithCalls(CallChain(top, tuple(reversed(list(_links(top))))), tuple(calls))


def _find_top(call: Node) -> Node:
    return outermost(call, lambda around: around.type in _LINKING and around.start_byte == call.start_byte)


def _links(top: Node) -> Iterator[ChainLink]:
    """From the end to the root."""
    node: Node | None = top
    call_arguments: list[Node] | None = None
    while node is not None:
        match node.type:
            case "call" | "call_expression":
                call_arguments = arguments(node)
                node = node.child_by_field_name("function")
            case "method_invocation":
                yield ChainLink(text_of(node.child_by_field_name("name")), arguments(node))
                node = node.child_by_field_name("object")
            case "macro_invocation":
                name = text_of(node.child_by_field_name("macro")).rpartition("::")[2]
                yield ChainLink(f"{name}!", node.named_children)
                return
            case "try_expression":
                yield ChainLink("?", [])
                node = first_child(node)
            case kind if kind in _PASSED_NODES or kind in _PASSED_SCRIPT_NODES:
                node = first_child(node)
            case _:
                named = _field(node, _NAMES)
                inner = _field(node, _INNER) if named is not None else None
                yield ChainLink(text_of(named if inner is not None else node)[:LONGEST_ROOT], call_arguments)
                call_arguments, node = None, inner


def arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [] if listed is None else [child for child in listed.named_children if not is_comment(child)]


def _field(node: Node, names: tuple[str, ...]) -> Node | None:
    for name in names if node.named_child_count else ():  # asked of every link, and half as fast as a generator
        child = node.child_by_field_name(name)
        if child is not None:
            return child
    return None


def _is_comparison(node: Node) -> bool:
    """Whether it compares; the grammar of Kotlin reads `assertFailsWith<Foo> { ... }` as two comparisons."""
    if node.type != "binary_expression":
        return False
    right, left = node.child_by_field_name("right"), node.child_by_field_name("left")
    is_run = right is not None and right.type == "lambda_literal"
    return not is_run or left is None or left.type != "binary_expression"


def _build_more_chain(call: Node) -> _ChainWithCalls:
    """The chain of which this is the last call, in Ruby, C#, PHP and Kotlin."""
    top = _find_top(call)
    links: list[ChainLink] = []
    calls: list[tuple[int, int]] = []
    call_arguments: list[Node] | None = None
    node: Node | None = top
    while node is not None:
        calls.append((node.start_byte, node.end_byte))
        link, call_arguments, node = _next_step(node, call_arguments)
        if link is not None:
            links.append(link)
    return _ChainWithCalls(CallChain(top, tuple(reversed(links))), tuple(calls))


_Step = tuple[ChainLink | None, list[Node] | None, Node | None]


def _next_step(node: Node, call_arguments: list[Node] | None) -> _Step:
    """The link that this node is, the arguments of the next one, and where the chain goes on."""
    match node.type:
        case "function_call_expression" | "invocation_expression":
            return None, arguments_and_block(node), node.child_by_field_name("function")
        case "call_expression":
            return None, [*arguments_and_block(node), *(call_arguments or [])], first_child(node)
        case "unary_expression" | "postfix_unary_expression" | "parenthesized_expression" | "await_expression":
            return None, call_arguments, first_child(node)
        case _:
            return _link_step(node, call_arguments)


def _link_step(node: Node, call_arguments: list[Node] | None) -> _Step:
    match node.type:
        case "infix_expression" if node.named_child_count > 1:  # `x shouldBe 1`
            first, name, *others = node.named_children
            return ChainLink(text_of(name), others), None, first
        case "binary_expression" if node.named_child_count > 1:  # `assertFailsWith<Foo> { }`
            first, *others = node.named_children
            return ChainLink(text_of(first).partition("<")[0].strip()[:LONGEST_ROOT], others), None, None
        case "navigation_expression":
            return ChainLink(text_of(node.named_children[-1]), call_arguments), None, first_child(node)
        case "generic_name":
            return ChainLink(text_of(first_child(node)), call_arguments), None, None
        case _:
            return _field_step(node, call_arguments)


def _field_step(node: Node, call_arguments: list[Node] | None) -> _Step:
    inner, named = _field(node, _MORE_INNER), _field(node, _MORE_NAMES)
    if node.type == "conditional_access_expression":
        named = first_child(node.named_children[-1])
    has_own_name = node.type == "call" or node.type in _PHP_METHOD_CALLS
    if named is None or (inner is None and not has_own_name):
        return ChainLink(text_of(node).rpartition("\\")[2][:LONGEST_ROOT], call_arguments), None, None
    name = text_of(first_child(named) if named.type == "generic_name" else named)
    return ChainLink(name[:LONGEST_ROOT], arguments_and_block(node) if has_own_name else call_arguments), None, inner


def arguments_and_block(call: Node) -> list[Node]:
    """The arguments of a call of Ruby, C#, PHP or Kotlin, and the block behind it."""
    listed = child_of_type(call, "argument_list", "arguments", "value_arguments")
    nodes = [] if listed is None else [child for child in listed.named_children if not is_comment(child)]
    nodes = [node.named_children[-1] if node.type in _WRAPPERS and node.named_child_count else node for node in nodes]
    block = find_block(call)
    return nodes if block is None else [*nodes, block]
