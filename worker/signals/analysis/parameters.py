"""The parameters of a function by name, and which of them its body never looks at.

Does not say why. Invariant: what is taken apart in the signature, or named so that nobody misses it (`_x`), is not among
them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis.functions import Function, FunctionScope
from worker.signals.analysis.syntax import descendants, is_comment, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED: Final = {
    "typed_parameter": "",
    "default_parameter": "name",
    "typed_default_parameter": "name",
    "parameter_declaration": "name",
    "parameter": "pattern",
    "formal_parameter": "name",
    "required_parameter": "pattern",
    "optional_parameter": "pattern",
    "assignment_pattern": "left",
}
_PROPERTY: Final = frozenset({"accessibility_modifier", "readonly", "override_modifier"})
_WORD: Final = pattern(r"[A-Za-z_$][\w$]*")
_COMMENT_STARTS: Final = (b"#", b"//", b"/*", b"<!--", b"-->", b"=begin")
"""Of these each comment holds one, in every language of ours."""
_READS_ALL: Final = frozenset({"locals", "vars", "arguments", "eval"})


def list_parameters(function: Function) -> tuple[str, ...]:
    """The names that its callers fill and that it may use, in their order."""
    return tuple(name for name in _all_names(function) if not name.startswith("_"))


def has_ignored_parameters(function: Function) -> bool:
    """Every parameter begins with an underscore: the function says that it uses none of them."""
    names = _all_names(function)
    return bool(names) and all(name.startswith("_") for name in names)


def _all_names(function: Function) -> list[str]:
    parameters = function.node.child_by_field_name("parameters")
    single = function.node.child_by_field_name("parameter")
    nodes = parameters.named_children if parameters is not None else [single] if single is not None else []
    names = [name for node in nodes for name in _names(node)]
    if function.scope in {FunctionScope.TYPE, FunctionScope.UNKNOWN} and names and names[0] in {"self", "cls", "mcs"}:
        del names[0]
    return names


def _names(node: "Node") -> Iterator[str]:
    if node.type == "identifier":
        yield text_of(node)
    elif node.type in _NAMED and not any(child.type in _PROPERTY for child in node.children):
        field = _NAMED[node.type]
        nodes = node.children_by_field_name(field) if field else node.named_children[:1]
        yield from (text_of(child) for child in map(_unwrap_mutable, nodes) if child.type == "identifier")


def _unwrap_mutable(node: "Node") -> "Node":
    """`mut x` of Rust is x."""
    return node.named_children[-1] if node.type == "mut_pattern" and node.named_children else node


def declares_properties(function: Function) -> bool:
    """Whether a constructor's parameters declare the properties of its class: then its signature does its work."""
    parameters = function.node.child_by_field_name("parameters")
    return parameters is not None and any(
        node.type == "property_promotion_parameter" or any(child.type in _PROPERTY for child in node.children)
        for node in parameters.named_children
    )


def find_unused_parameters(function: Function) -> tuple[str, ...]:
    """Those that its body never names."""
    names = list_parameters(function)
    if not names:
        return ()
    body = body_words(function)
    return () if body & _READS_ALL else tuple(name for name in names if name not in body)


def body_words(function: Function) -> frozenset[str]:
    """Every word of the body, strings included, but not of its comments and its docstring."""
    whole, start = function.body.text or b"", function.body.start_byte
    may_hold_notes = any(sign in whole for sign in _COMMENT_STARTS)
    notes = [note for note in descendants(function.body) if is_comment(note)] if may_hold_notes else []
    kept: list[bytes] = []
    at = 0
    for note in notes:
        kept.append(whole[at : note.start_byte - start])
        at = note.end_byte - start
    text = b" ".join((*kept, whole[at:])).decode("utf-8", "replace")
    return frozenset(_WORD.findall(text.replace(function.docstring, " ", 1)))
