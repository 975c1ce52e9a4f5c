"""What is called, link by link: `expect(x).not.toBe(1)` is expect, not, toBe; in all languages alike.

Does not resolve names. Invariant: every call is part of exactly one spine, and all spines of a text together take linear
time.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import find_block
from worker.signals.analysis.syntax import (
    NodeGroup,
    NodeIndex,
    ancestors,
    find,
    is_comment,
    outermost,
    register_types,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_CALLS: Final = register_types(
    {
        Language.PYTHON: ("call",),
        Language.GO: ("call_expression",),
        Language.RUST: ("call_expression", "macro_invocation"),
        Language.JAVA: ("method_invocation",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("call_expression",)),
    },
    NodeGroup.TESTS,
)
_INNER: Final = ("function", "object", "operand", "value", "path")
_NAMES: Final = ("attribute", "property", "field", "name")
_PASSED_NODES: Final = frozenset({"try_expression", "await_expression", "await", "parenthesized_expression"})
_PASSED_SCRIPT_NODES: Final = frozenset({"non_null_expression", "generic_function", "index_expression", "subscript"})
_LINKING: Final = frozenset(
    {
        "attribute",
        "member_expression",
        "selector_expression",
        "field_expression",
        "field_access",
        "scoped_identifier",
        "generic_function",
        "try_expression",
        "non_null_expression",
    }
)


class ChainLink(NamedTuple):
    """One name of a spine, with what it was called with; None where it was not called."""

    name: str
    arguments: "list[Node] | None" = None


class CallChain(NamedTuple):
    """A whole chain: its outermost node and its links, the root first. `is_awaited` only knows an `await` around it."""

    node: "Node"
    links: tuple[ChainLink, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(link.name for link in self.links)

    @property
    def is_result_dropped(self) -> bool:
        """Whether nobody looks at what it returns: it is a statement of its own."""
        around = next((ancestor for ancestor in ancestors(self.node) if ancestor.type not in _PASSED_NODES), None)
        return around is not None and around.type == "expression_statement"

    @property
    def is_result_bound(self) -> bool:
        """Whether what it returns gets a name."""
        around = next(
            (ancestor for ancestor in ancestors(self.node) if ancestor.type not in _PASSED_NODES | {"expression_list"}),
            None,
        )
        return around is not None and around.type in _BINDINGS


_BINDINGS: Final = frozenset(
    {"assignment", "short_var_declaration", "let_declaration", "variable_declarator", "assignment_statement"}
    | {"property_declaration"}
)


def find_call_chains(
    root: "Node", language: Language, rows: frozenset[int] | None = None, nodes: NodeIndex | None = None
) -> Iterator[CallChain]:
    """Every chain of calls below *root*, in the order of the text; with *rows*, of those that begin in one of them.

    *nodes*: those of the whole tree, where somebody keeps them.
    """
    if language in MORE_LANGUAGES:
        yield from find_chains(root, language, rows, nodes)
        return
    seen: set[tuple[int, int]] = set()
    types = _CALLS[language]
    for call in find(root, language, types, rows) if nodes is None else nodes.find(types, root, rows):
        is_asked = rows is None or call.start_point.row in rows
        if is_asked and (call.start_byte, call.end_byte) not in seen:
            # the last call of a chain comes first; to ask each one for its parent would take too long
            chain = _build_chain(call) if nodes is None else nodes.cached(_build_chain, call)
            seen.update(chain.calls)
            yield chain.chain


class _ChainWithCalls(NamedTuple):
    chain: CallChain
    calls: tuple[tuple[int, int], ...]


def _build_chain(call: "Node") -> _ChainWithCalls:
    """The chain of which this is the last call, with where its calls begin and end."""
    top = _find_end(call)
    return _ChainWithCalls(CallChain(top, tuple(reversed(list(_links(top))))), tuple(_calls(call)))


def _calls(call: "Node") -> Iterator[tuple[int, int]]:
    """Where the calls of the chain begin and end."""
    node: Node | None = call
    while node is not None:
        if node.type in _CALLING:
            yield node.start_byte, node.end_byte
        node = _field(node, _INNER) or (_only_child(node) if node.type in _LINKING else None)


def _find_end(call: "Node") -> "Node":
    """The end of the chain whose last call this is."""
    return outermost(call, lambda around: around.type in _LINKING and around.start_byte == call.start_byte)


_CALLING: Final = frozenset({"call", "call_expression", "method_invocation"})


def _links(top: "Node") -> Iterator[ChainLink]:
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
                yield ChainLink(
                    text_of(node.child_by_field_name("macro")).rpartition("::")[2] + "!", node.named_children
                )
                return
            case "try_expression":
                yield ChainLink("?", [])
                node = _only_child(node)
            case kind if kind in _PASSED_NODES or kind in _PASSED_SCRIPT_NODES:
                node = _only_child(node)
            case _:
                named = _field(node, _NAMES)
                inner = _field(node, _INNER) if named is not None else None
                yield ChainLink(text_of(named if inner is not None else node)[:LONGEST_ROOT], call_arguments)
                call_arguments, node = None, inner


LONGEST_ROOT: Final = 200
"""Of a root that is no name but an expression, this much."""


def arguments(call: "Node") -> "list[Node]":
    listed = call.child_by_field_name("arguments")
    return [] if listed is None else [child for child in listed.named_children if not is_comment(child)]


def _only_child(node: "Node") -> "Node | None":
    return next(iter(node.named_children), None)


def _field(node: "Node", names: tuple[str, ...]) -> "Node | None":
    for name in (
        names if node.named_child_count else ()
    ):  # a generator takes twice as long, and this is asked of every link
        child = node.child_by_field_name(name)
        if child is not None:
            return child
    return None


_MORE_CALLS: Final = {
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
_MORE_LINKING: Final = frozenset(
    {
        "member_access_expression",
        "conditional_access_expression",
        "postfix_unary_expression",
        "navigation_expression",
        "unary_expression",
    }
)
_MORE_NAMES: Final = ("method", "name")
_MORE_INNER: Final = ("receiver", "expression", "condition", "object", "scope")
_WRAPPED_ARGUMENTS: Final = frozenset({"argument", "value_argument"})
_ARGUMENTS: Final = frozenset({"argument_list", "arguments", "value_arguments"})


def find_chains(
    root: "Node", language: Language, rows: frozenset[int] | None = None, nodes: NodeIndex | None = None
) -> Iterator[CallChain]:
    """Every chain below *root*, in the order of the text; with *rows*, of those that begin in one of them."""
    seen: set[tuple[int, int]] = set()
    types = _MORE_CALLS[language]
    for call in find(root, language, types, rows) if nodes is None else nodes.find(types, root, rows):
        is_asked = rows is None or call.start_point.row in rows
        if is_asked and (call.start_byte, call.end_byte) not in seen and _is_call(call):
            top = _find_more_end(call)
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


def _find_more_end(call: "Node") -> "Node":
    return outermost(call, lambda around: around.type in _MORE_LINKING and around.start_byte == call.start_byte)


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
            return None, arguments_and_block(node), node.child_by_field_name("function")
        case "call_expression":
            return None, [*arguments_and_block(node), *(call_arguments or [])], _only_child(node)
        case "infix_expression" | "binary_expression" if node.named_child_count > 1:
            return _operator_step(node)
        case "navigation_expression":
            return ChainLink(text_of(node.named_children[-1]), call_arguments), None, _only_child(node)
        case "unary_expression" | "postfix_unary_expression" | "parenthesized_expression" | "await_expression":
            return None, call_arguments, _only_child(node)
        case _:
            return _field_step(node, call_arguments)


def _operator_step(node: "Node") -> _Step:
    """`x shouldBe 1`; of `assertFailsWith<Foo> { }` the name that stands before the brackets."""
    first, *others = node.named_children
    if node.type == "infix_expression":
        return ChainLink(text_of(others[0]), others[1:]), None, first
    return ChainLink(text_of(first).partition("<")[0].strip()[:LONGEST_ROOT], others), None, None


def _field_step(node: "Node", call_arguments: "list[Node] | None") -> _Step:
    inner = next((child for name in _MORE_INNER if (child := node.child_by_field_name(name)) is not None), None)
    named = next((child for name in _MORE_NAMES if (child := node.child_by_field_name(name)) is not None), None)
    if node.type == "generic_name":
        return ChainLink(text_of(_only_child(node)), call_arguments), None, None
    if node.type == "conditional_access_expression":
        named = _only_child(node.named_children[-1])
    if named is None or (inner is None and not is_call_of_name(node)):
        return ChainLink(text_of(node).rpartition("\\")[2][:LONGEST_ROOT], call_arguments), None, None
    name = text_of(_only_child(named) if named.type == "generic_name" else named)
    return (
        ChainLink(name[:LONGEST_ROOT], arguments_and_block(node) if is_call_of_name(node) else call_arguments),
        None,
        inner,
    )


def is_call_of_name(node: "Node") -> bool:
    """Calls that hold their own name, and need no node beside them."""
    return node.type in {"call", "member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression"}


def arguments_and_block(call: "Node") -> "list[Node]":
    """What is handed over, the block behind the call included."""
    listed = next((child for child in call.named_children if child.type in _ARGUMENTS), None)
    nodes = [] if listed is None else [_unwrap(child) for child in listed.named_children if not is_comment(child)]
    block = find_block(call)
    return nodes if block is None else [*nodes, block]


def _unwrap(node: "Node") -> "Node":
    return node.named_children[-1] if node.type in _WRAPPED_ARGUMENTS and node.named_child_count else node
