"""Where the body of a function stands, in Ruby, C#, PHP and Kotlin.

Does not read it. Invariant: what is only declared (abstract, of an interface) has no body.
"""

from typing import TYPE_CHECKING

from worker.signals.analysis.file_roles import Language

if TYPE_CHECKING:
    from tree_sitter import Node


def find_body(node: "Node", language: Language) -> "Node | None":
    """Its block, or the one expression that it is; a method of Ruby without any statement is its own body."""
    match language:
        case Language.RUBY:
            return node.child_by_field_name("body") or node
        case Language.KOTLIN:
            return _only_child(next((child for child in node.named_children if child.type == "function_body"), None))
        case _:
            if node.type == "property_declaration":
                return _find_thrown(node)
            body = node.child_by_field_name("body")
            return _only_child(body) if body is not None and body.type == "arrow_expression_clause" else body


def _find_thrown(node: "Node") -> "Node | None":
    """A property of C# is a function only where it does nothing but throw: any other answer is its value."""
    value = _only_child(node.child_by_field_name("value"))
    return value if value is not None and value.type == "throw_expression" else None


def _only_child(node: "Node | None") -> "Node | None":
    return None if node is None else next(iter(node.named_children), None)


def find_block(call: "Node") -> "Node | None":
    """What a call of Ruby or Kotlin is given to run: `do ... end`, `{ ... }`."""
    block = call.child_by_field_name("block")
    if block is not None:
        return block
    lambdas = next((child for child in call.named_children if child.type == "annotated_lambda"), None)
    return (
        None
        if lambdas is None
        else next((child for child in lambdas.named_children if child.type == "lambda_literal"), None)
    )
