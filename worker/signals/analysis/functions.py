"""The functions of a source in every language: what they stand in, what is above them, their statements and parameters.

A function without a body is none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Source, memoized
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import (
    ancestors,
    child_of_type,
    comments_in,
    descendants,
    first_child,
    is_comment,
    outermost,
    register_types,
    text_of,
)

_OF_SCRIPTS: Final = (
    *("function_declaration", "generator_function_declaration", "function_expression"),
    *("arrow_function", "method_definition"),
)
_TYPES: Final = register_types(
    {
        Language.PYTHON: ("function_definition",),
        Language.GO: ("function_declaration", "method_declaration"),
        Language.RUST: ("function_item",),
        Language.JAVA: ("method_declaration", "constructor_declaration", "compact_constructor_declaration"),
        **dict.fromkeys(SCRIPT_LANGUAGES, _OF_SCRIPTS),
        Language.RUBY: ("method", "singleton_method"),
        Language.CSHARP: (
            *("method_declaration", "constructor_declaration", "local_function_statement"),
            "property_declaration",
        ),
        Language.PHP: ("function_definition", "method_declaration"),
        Language.KOTLIN: ("function_declaration",),
    }
)
_FUNCTIONS: Final = frozenset(kind for types in _TYPES.values() for kind in types)

_CONTAINERS: Final = frozenset(
    {"class_definition", "class_declaration", "abstract_class_declaration", "class", "interface_declaration"}
    | {"annotation_type_declaration", "enum_declaration", "record_declaration", "impl_item", "trait_item", "mod_item"}
    | {"object", "object_creation_expression", "struct_declaration", "trait_declaration", "anonymous_class"}
    | {"object_declaration", "object_literal", "companion_object", "singleton_class"}
)
_BLOCKS: Final = frozenset(
    {"block", "statement_block", "constructor_body"}
    | {"body_statement", "block_body", "do_block", "compound_statement", "lambda_literal"}
)
_MODIFIERS: Final = frozenset({"modifiers", "accessibility_modifier", "override_modifier"})
_MORE_MODIFIERS: Final = frozenset(
    {"modifier", "attribute_list", "visibility_modifier", "abstract_modifier", "static_modifier"} | {"final_modifier"}
)
_MODIFYING: Final = {
    **dict.fromkeys((Language.JAVA, Language.TYPESCRIPT, Language.TSX), _MODIFIERS),
    **dict.fromkeys(MORE_LANGUAGES, _MODIFIERS | _MORE_MODIFIERS),
}
"""Children of a function that belong to its attributes."""
_TEST_CALL: Final = pattern(r"(it|test)(\.(each|only|concurrent|serial)\b.*)?$", re.DOTALL)
_WORD: Final = pattern(r"\w+")
_PARAMETER_BLOCKS: Final = frozenset({"block_parameters", "lambda_parameters"})
_BRANCHES: Final = frozenset({"if_statement", "try_statement"})
_BRANCHES_OF_RUBY: Final = frozenset({"if", "unless", "begin", "block", "do_block"})
"""A block may be the body of a class that is made at run time."""
_NAMING: Final = frozenset({"variable_declarator", "pair", "public_field_definition", "field_definition"})
_STATEMENT_TYPES: Final = frozenset(
    {"decorated_definition", "export_statement", "variable_declarator", "lexical_declaration", "variable_declaration"}
)


class FunctionScope(StrEnum):
    """The kind of code around a function."""

    MODULE = "module"
    FUNCTION = "function"
    BRANCH = "branch"
    """An `if`, `try` or `with` at the top: one of several definitions of the same name."""
    TYPE = "type"
    UNKNOWN = "unknown"
    """A fragment does not show what is around an indented function."""


@dataclass(frozen=True)
class Function:
    node: Node
    body: Node
    source: Source

    @cached_property
    def name(self) -> str:
        named = self.node.child_by_field_name("name")
        parent = self.node.parent
        if named is None and parent is not None and parent.type in _NAMING:
            fields = map(parent.child_by_field_name, ("name", "key", "property"))
            named = next(filter(None, fields), None)
        return text_of(named).strip("`") or self._title

    @cached_property
    def _title(self) -> str:
        """The title of a callback of `it("...", () => ...)`."""
        arguments = self.node.parent
        call = arguments.parent if arguments is not None and arguments.type == "arguments" else None
        if call is None or not _TEST_CALL.match(text_of(call.child_by_field_name("function"))):
            return ""
        title = first_child(arguments)
        return text_of(title).strip("'\"`") if title is not None and "string" in title.type else ""

    @property
    def is_test_callback(self) -> bool:
        return bool(self._title)

    @property
    def first_line(self) -> int:
        """The line of the signature, below its decorators and annotations."""
        named = self.node.child_by_field_name("name")
        return self.line_of(self.node if named is None else named)

    @property
    def last_line(self) -> int:
        return self.node.end_point.row + self.source.first_line

    def line_of(self, node: Node) -> int:
        return self.source.line_of(node)

    @cached_property
    def statements(self) -> tuple[Node, ...]:
        """The statements of the body without comments and docstring."""
        if self.body == self.node:
            return ()  # a method of Ruby without any
        if self.body.type not in _BLOCKS:
            return (self.body,)  # an arrow function that is one expression
        nodes = (node for node in self.body.named_children if not is_comment(node))
        statements = [node for node in nodes if node.type not in _PARAMETER_BLOCKS]
        if len(statements) == 1 and statements[0].type == "statement_list":
            statements = [node for node in statements[0].named_children if not is_comment(node)]
        return tuple(statements[1:] if statements and _is_docstring(statements[0]) else statements)

    @cached_property
    def docstring(self) -> str:
        first = next((node for node in self.body.named_children if not is_comment(node)), None)
        return text_of(first) if first is not None and _is_docstring(first) else ""

    @cached_property
    def comments(self) -> tuple[Node, ...]:
        return tuple(comments_in(self.node, self.source.language))

    @cached_property
    def remarks(self) -> tuple[Node, ...]:
        """Its comments, without those among its parameters."""
        parameters = self.node.child_by_field_name("parameters")
        start = self.body.start_byte if parameters is None else parameters.end_byte
        return tuple(note for note in self.comments if note.start_byte >= start)

    @cached_property
    def nodes_above(self) -> tuple[Node, ...]:
        """Comments, attributes and decorators right above it, nearest first."""
        return tuple(_nodes_above(outermost(self.node, lambda around: around.type in _STATEMENT_TYPES)))

    @cached_property
    def attributes(self) -> str:
        """Decorators (Python), attributes (Rust) and modifiers (Java, TypeScript), as one text."""
        parts = [text_of(node) for node in self.nodes_above if not is_comment(node)]
        modifying = _MODIFYING.get(self.source.language)
        parts += [text_of(node) for node in self.node.children if node.type in modifying] if modifying else []
        outer = self.node.parent
        if outer is not None and outer.type == "decorated_definition":
            parts += [text_of(node) for node in outer.named_children if node.type == "decorator"]
        if outer is not None and outer.type == "argument_list" and outer.parent is not None:
            parts.append(text_of(outer.parent.child_by_field_name("method")))  # `private def` of Ruby
        return " ".join(parts)

    @cached_property
    def container(self) -> Node | None:
        """The class, trait, impl or object around it."""
        types = _CONTAINERS | {"module"} if self.source.language is Language.RUBY else _CONTAINERS
        return next((node for node in ancestors(self.node) if node.type in types or node.type in _FUNCTIONS), None)

    @cached_property
    def type_name(self) -> str:
        """The type that it is a method of; "" for none or an unknown one."""
        receiver = self.node.child_by_field_name("receiver")
        if receiver is not None:
            return next(reversed(_WORD.findall(text_of(receiver).partition("[")[0])), "")
        owner = self.container
        if owner is None or owner.type in _FUNCTIONS:
            return ""
        return text_of(owner.child_by_field_name("name") or owner.child_by_field_name("type")).partition("<")[0]

    @cached_property
    def scope(self) -> FunctionScope:
        outer = self.container
        if outer is not None:
            return FunctionScope.FUNCTION if outer.type in _FUNCTIONS else FunctionScope.TYPE
        if self.source.language is Language.GO:
            return FunctionScope.MODULE
        if not self.source.is_whole and self.source.lines[self.node.start_point.row][:1].isspace():
            return FunctionScope.UNKNOWN
        branches = _BRANCHES_OF_RUBY if self.source.language is Language.RUBY else _BRANCHES
        is_in_branch = any(node.type in branches for node in ancestors(self.node))
        return FunctionScope.BRANCH if is_in_branch else FunctionScope.MODULE


def find_functions(source: Source) -> tuple[Function, ...]:
    """Every function with a body and a name, in the order of the text; those in macros of Rust behind the others."""
    return _find_functions(source) + _find_in_macros(source)


@memoized
def _find_in_macros(source: Source) -> tuple[Function, ...]:
    """Functions that are written out in macros of Rust, whose tokens are parsed as a fragment."""
    if source.language is not Language.RUST or "!" not in source.text:
        return ()
    functions = list[Function]()
    for macro in source.nodes.find(("macro_invocation", "macro_definition")):
        text = text_of(macro)
        if "fn " in text:
            inside = _UP_TO_ITS_TOKENS.sub(lambda head: _NO_LINE_END.sub(" ", head[0]), text, count=1)[:-1]
            first = source.first_line + macro.start_point.row
            tokens = Source(inside, first, is_whole=False, language=Language.RUST, is_of_macro=True)
            readable = (function for function in _find_functions(tokens) if not function.node.has_error)
            functions += (function for function in readable if not function.name.startswith("$"))
    return tuple(functions)


_UP_TO_ITS_TOKENS: Final = pattern(r"[^({\[]*+[({\[]")
_NO_LINE_END: Final = pattern(r"[^\n]")


@memoized
def _find_functions(source: Source) -> tuple[Function, ...]:
    nodes = source.nodes.find(_TYPES[source.language])
    bodies = ((node, _find_body(node, source.language)) for node in nodes)
    functions = (Function(node, body, source) for node, body in bodies if body is not None)
    return tuple(function for function in functions if function.name)


def _find_body(node: Node, language: Language) -> Node | None:
    """The block or the only expression of a function; a method of Ruby without any statement is its own body."""
    body = node.child_by_field_name("body")
    if language is Language.RUBY:
        return body or node
    if language is Language.KOTLIN:
        return first_child(child_of_type(node, "function_body"))
    if node.type == "property_declaration":  # of C#: a function only where it does nothing but throw
        value = first_child(node.child_by_field_name("value"))
        return value if value is not None and value.type == "throw_expression" else None
    return first_child(body) if body is not None and body.type == "arrow_expression_clause" else body


def _is_docstring(node: Node) -> bool:
    return node.type == "expression_statement" and [child.type for child in node.named_children] == ["string"]


def _nodes_above(node: Node) -> Iterator[Node]:
    row = node.start_point.row
    before = node.prev_named_sibling
    if before is None and node.parent is not None and node.parent.type == "body_statement":
        before = node.parent.prev_named_sibling  # the first method of a class of Ruby
    while before is not None and (is_comment(before) or before.type in {"attribute_item", "decorator"}):
        # a Rust doc comment holds its newline and ends on the row below
        end = before.end_point.row - (before.end_point.column == 0)
        if end < row - 1:
            return
        yield before
        row, before = before.start_point.row, before.prev_named_sibling


def find_block(call: Node) -> Node | None:
    """The block behind a call of Ruby or Kotlin: `do ... end`, `{ ... }`."""
    return call.child_by_field_name("block") or child_of_type(child_of_type(call, "annotated_lambda"), "lambda_literal")


_PARAMETER_FIELDS: Final = {
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
_BODY_WORD: Final = pattern(r"[A-Za-z_$][\w$]*")
_COMMENT_STARTS: Final = (b"#", b"//", b"/*", b"<!--", b"-->", b"=begin")
"""Each comment holds one of these, in every language."""
_READS_ALL: Final = frozenset({"locals", "vars", "arguments", "eval"})


def list_parameters(function: Function) -> tuple[str, ...]:
    """The names of its parameters in their order, without `self` and those with an underscore before them.

    Parameters that the signature takes apart are left out.
    """
    return tuple(name for name in _all_names(function) if not name.startswith("_"))


def has_ignored_parameters(function: Function) -> bool:
    """Whether every parameter begins with an underscore."""
    names = _all_names(function)
    return bool(names) and all(name.startswith("_") for name in names)


def _all_names(function: Function) -> list[str]:
    parameters = function.node.child_by_field_name("parameters")
    single = function.node.child_by_field_name("parameter")
    nodes = parameters.named_children if parameters is not None else [single] if single is not None else []
    names = [name for node in nodes for name in _parameter_names(node)]
    if function.scope in {FunctionScope.TYPE, FunctionScope.UNKNOWN} and names and names[0] in {"self", "cls", "mcs"}:
        del names[0]
    return names


def _parameter_names(node: Node) -> Iterator[str]:
    if node.type == "identifier":
        yield text_of(node)
    elif node.type in _PARAMETER_FIELDS and not any(child.type in _PROPERTY for child in node.children):
        field = _PARAMETER_FIELDS[node.type]
        nodes = node.children_by_field_name(field) if field else node.named_children[:1]
        bare = (
            child.named_children[-1] if child.type == "mut_pattern" and child.named_children else child
            for child in nodes
        )
        yield from (text_of(child) for child in bare if child.type == "identifier")


def declares_properties(function: Function) -> bool:
    """Whether a constructor's parameters declare the properties of its class."""
    parameters = function.node.child_by_field_name("parameters")
    return parameters is not None and any(
        node.type == "property_promotion_parameter" or any(child.type in _PROPERTY for child in node.children)
        for node in parameters.named_children
    )


def find_unused_parameters(function: Function) -> tuple[str, ...]:
    """The parameters that its body never names."""
    names = list_parameters(function)
    if not names:
        return ()
    body = body_words(function)
    return () if body & _READS_ALL else tuple(name for name in names if name not in body)


def body_words(function: Function) -> frozenset[str]:
    """Every word of the body without comments and docstring, strings included."""
    whole, start = function.body.text or b"", function.body.start_byte
    may_hold_notes = any(sign in whole for sign in _COMMENT_STARTS)
    notes = [note for note in descendants(function.body) if is_comment(note)] if may_hold_notes else []
    kept: list[bytes] = []
    at = 0
    for note in notes:
        kept.append(whole[at : note.start_byte - start])
        at = note.end_byte - start
    text = b" ".join((*kept, whole[at:])).decode("utf-8", "replace")
    return frozenset(_BODY_WORD.findall(text.replace(function.docstring, " ", 1)))
