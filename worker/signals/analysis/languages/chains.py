"""Chains of calls in Ruby, C#, PHP and Kotlin: `x.Should().Be(1)`, `expect(x).to eq 1`, `x shouldBe 1`.

Does not resolve names. Invariant: as in `call_chains`, every call is part of exactly one chain.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.signals.analysis.call_chains import LONGEST_ROOT, CallChain, ChainLink
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.languages.bodies import find_block
from worker.signals.analysis.syntax import NodeIndex, find, is_comment, outermost, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CALLS: Final = {
    Language.RUBY: ("call",),
    Language.CSHARP: ("invocation_expression",),
    Language.PHP: (
        "function_call_expression",
        "member_call_expression",
        "nullsafe_member_call_expression",
        "scoped_call_expression",
    ),
    Language.KOTLIN: ("call_expression", "infix_expression", "binary_expression"),
}
_LINKING: Final = frozenset(
    {
        "member_access_expression",
        "conditional_access_expression",
        "postfix_unary_expression",
        "navigation_expression",
        "unary_expression",
    }
)
_NAMES: Final = ("method", "name")
_INNER: Final = ("receiver", "expression", "condition", "object", "scope")
_WRAPPED_ARGUMENTS: Final = frozenset({"argument", "value_argument"})
_ARGUMENTS: Final = frozenset({"argument_list", "arguments", "value_arguments"})


def find_chains(
    root: "Node", language: Language, rows: frozenset[int] | None = None, nodes: NodeIndex | None = None
) -> Iterator[CallChain]:
    """Every chain below *root*, in the order of the text; with *rows*, of those that begin in one of them."""
    seen: set[tuple[int, int]] = set()
    types = _CALLS[language]
    for call in find(root, language, types, rows) if nodes is None else nodes.find(types, root, rows):
        is_asked = rows is None or call.start_point.row in rows
        if is_asked and (call.start_byte, call.end_byte) not in seen and _is_call(call):
            top = _find_end(call)
            links, called = _walk_links(top)
            seen.update((node.start_byte, node.end_byte) for node in called)
            yield CallChain(top, links)


def _is_call(node: "Node") -> bool:
    """The grammar of Kotlin reads `assertFailsWith<Foo> { ... }` as two comparisons."""
    if node.type != "binary_expression":
        return True
    right, left = node.child_by_field_name("right"), node.child_by_field_name("left")
    is_run = right is not None and right.type == "lambda_literal"
    return is_run and left is not None and left.type == "binary_expression"


def _find_end(call: "Node") -> "Node":
    return outermost(call, lambda around: around.type in _LINKING and around.start_byte == call.start_byte)


def _walk_links(call: "Node") -> "tuple[tuple[ChainLink, ...], list[Node]]":
    """The links, the root first, and every node on the way."""
    links: list[ChainLink] = []
    nodes: list[Node] = []
    call_arguments: list[Node] | None = None
    node: Node | None = call
    while node is not None:
        nodes.append(node)
        link, call_arguments, node = _next_step(node, call_arguments)
        if link is not None:
            links.append(link)
    return tuple(reversed(links)), nodes


_Step = tuple[ChainLink | None, "list[Node] | None", "Node | None"]


def _next_step(node: "Node", call_arguments: "list[Node] | None") -> _Step:
    """The link that this node is, what was given to the next one, and where the chain goes on."""
    match node.type:
        case "function_call_expression" | "invocation_expression":
            return None, arguments(node), node.child_by_field_name("function")
        case "call_expression":
            return None, [*arguments(node), *(call_arguments or [])], _first_child(node)
        case "infix_expression" | "binary_expression" if node.named_child_count > 1:
            return _operator_step(node)
        case "navigation_expression":
            return ChainLink(text_of(node.named_children[-1]), call_arguments), None, _first_child(node)
        case "unary_expression" | "postfix_unary_expression" | "parenthesized_expression" | "await_expression":
            return None, call_arguments, _first_child(node)
        case _:
            return _field_step(node, call_arguments)


def _operator_step(node: "Node") -> _Step:
    """`x shouldBe 1`; of `assertFailsWith<Foo> { }` the name that stands before the brackets."""
    first, *others = node.named_children
    if node.type == "infix_expression":
        return ChainLink(text_of(others[0]), others[1:]), None, first
    return ChainLink(text_of(first).partition("<")[0].strip()[:LONGEST_ROOT], others), None, None


def _field_step(node: "Node", call_arguments: "list[Node] | None") -> _Step:
    inner = next((child for name in _INNER if (child := node.child_by_field_name(name)) is not None), None)
    named = next((child for name in _NAMES if (child := node.child_by_field_name(name)) is not None), None)
    if node.type == "generic_name":
        return ChainLink(text_of(_first_child(node)), call_arguments), None, None
    if node.type == "conditional_access_expression":
        named = _first_child(node.named_children[-1])
    if named is None or (inner is None and not is_call_of_name(node)):
        return ChainLink(text_of(node).rpartition("\\")[2][:LONGEST_ROOT], call_arguments), None, None
    name = text_of(_first_child(named) if named.type == "generic_name" else named)
    return ChainLink(name[:LONGEST_ROOT], arguments(node) if is_call_of_name(node) else call_arguments), None, inner


def is_call_of_name(node: "Node") -> bool:
    """Calls that hold their own name, and need no node beside them."""
    return node.type in {"call", "member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression"}


def arguments(call: "Node") -> "list[Node]":
    """What is handed over, the block behind the call included."""
    listed = next((child for child in call.named_children if child.type in _ARGUMENTS), None)
    nodes = [] if listed is None else [_unwrap(child) for child in listed.named_children if not is_comment(child)]
    block = find_block(call)
    return nodes if block is None else [*nodes, block]


def _unwrap(node: "Node") -> "Node":
    return node.named_children[-1] if node.type in _WRAPPED_ARGUMENTS and node.named_child_count else node


def _first_child(node: "Node") -> "Node | None":
    return next(iter(node.named_children), None)
