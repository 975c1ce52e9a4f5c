"""What of a syntax tree is only layout, language by language.

Does not look at comments. Invariant: two trees that come out alike here are one program by the language's own
grammar; what only usually makes no difference stays a difference.

Order: `use` in Rust, imports in Java and in Go (the compiler sorts them), and the names between the braces of one
import or export do nothing when they are moved. An import in Python or JavaScript runs a module: its place counts.
Brackets: Python's are dropped around an expression (the tree keeps what they held together); in JavaScript only
where a whole expression is expected, since `(a?.b).c` and `("use strict")` differ from what they hold.
"""

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.paths import SCRIPTS, Language
from worker.judge.heuristics.safe import literals
from worker.judge.heuristics.syntax import descendants, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CLOSED: Final = {
    Language.PYTHON: "argument_list parameters list dictionary set subscript type_parameter",
    Language.GO: "argument_list literal_value parameter_list type_arguments",
    Language.RUST: "arguments parameters array_expression field_initializer_list field_declaration_list enum_variant_list"
    " tuple_expression type_arguments type_parameters tuple_type struct_pattern ordered_field_declaration_list",
    Language.JAVA: "array_initializer element_value_array_initializer",
    Language.JAVASCRIPT: "arguments formal_parameters array object object_pattern",
    Language.TYPESCRIPT: "arguments formal_parameters array object object_pattern enum_body type_parameters type_arguments",
    Language.TSX: "arguments formal_parameters array object object_pattern enum_body type_parameters type_arguments",
}
"""Nodes between brackets whose last comma means nothing."""

_LAST_COMMA: Final = {language: frozenset(names.split()) for language, names in _CLOSED.items()}
_TUPLES: Final = frozenset({"subscript", "type_parameter"})
"""With one element the comma makes a tuple of what is between these brackets."""

_BARE: Final = frozenset({"tuple", "expression_list", "import_from_statement"})
"""What in Python may stand in brackets or not."""

_BARE_IN: Final = frozenset({"assignment", "return_statement", "yield", "for_statement"})

_OPENERS: Final = frozenset("([{<,")
_CLOSERS: Final = frozenset(")]}>")

_LISTS: Final = frozenset({"import_spec_list", "use_list", "named_imports", "export_clause"})
"""Names whose order and commas do nothing."""

_RUNS: Final = {Language.RUST: "use_declaration", Language.JAVA: "import_declaration"}

_WHOLE_EXPRESSIONS: Final = frozenset(
    {"return_statement", "arrow_function", "variable_declarator", "assignment_expression", "pair", "jsx_expression"}
)
_SEPARATED: Final = frozenset({"block", "module", "statement_list", "source_file", "import_spec_list"})
"""Where a semicolon in Python or Go does what the end of a line does."""


def children_of(node: "Node", language: Language) -> "list[Node]":
    """The children of a node; brackets that only hold an expression are no nodes of their own."""
    children = node.children
    if language is Language.PYTHON:
        return [inner for child in children for inner in _inner(child)]
    if node.type in _WHOLE_EXPRESSIONS and language in SCRIPTS:
        loose = node.type == "arrow_function"
        return [inner for child in children for inner in (_parameter(child) if loose else None) or _inner(child)]
    return children


def _inner(node: "Node") -> "list[Node]":
    held = [node]
    while len(held) == 1 and held[0].type == "parenthesized_expression":
        held = held[0].children[1:-1]
    return held


def _parameter(node: "Node") -> "list[Node] | None":
    """The name alone, where an arrow function has one parameter that is nothing but a name."""
    if node.type != "formal_parameters" or node.child_count != len("(x)"):
        return None
    only = node.children[1]
    while only.child_count == 1 and only.type == "required_parameter":
        only = only.children[0]
    return [only] if only.type == "identifier" else None


def without_layout(node: "Node", children: "list[Node]", language: Language) -> "list[Node]":
    """The children that mean something; *children* are those of `children_of` without comments."""
    if node.type in _LISTS:
        return [child for child in children if child.type not in _LIST_MARKS]
    kept = [child for child in children if child.is_named or not _is_mark(child, node, language)]
    if _has_last_comma(node, kept, language):
        kept = [*kept[:-2], kept[-1]]
    if node.type == "class_definition":
        return [child for child in kept if child.type != "argument_list" or child.named_children]
    if language is not Language.PYTHON:
        return kept
    if node.type in _BARE:
        return _bare(kept)
    return [child for child in kept if child.type != "line_continuation"]


def _bare(children: "list[Node]") -> "list[Node]":
    """Without brackets and the last comma: a tuple is one by its type."""
    kept = [child for child in children if child.type not in {"(", ")", "line_continuation"}]
    return kept[:-1] if kept and kept[-1].type == "," else kept


def kind_of(node: "Node", parent: str, language: Language) -> str:
    """The type of a node: a tuple without brackets and one string in pieces have types of their own in the grammar."""
    if node.type == "expression_list" and parent in _BARE_IN and language is Language.PYTHON:
        return "expression_list" if any(child.type == "list_splat" for child in node.children) else "tuple"
    return "string" if node.type == "concatenated_string" else node.type


_LIST_MARKS: Final = frozenset({",", ";"})


def _is_mark(mark: "Node", parent: "Node", language: Language) -> bool:
    """Whether it only ends a statement that would end there anyway, or a match arm."""
    if mark.type == ",":
        return parent.type in {"match_arm", "where_clause"} and mark.end_byte == parent.end_byte
    if mark.type != ";" or language in {Language.RUST, Language.JAVA}:
        return False
    if language not in SCRIPTS:
        return parent.type in _SEPARATED
    return parent.type != "class_body"  # a field may be named `get`


def _has_last_comma(node: "Node", children: "list[Node]", language: Language) -> bool:
    if node.type not in _LAST_COMMA[language] or len(children) < len("(x,)"):
        return False
    *most, element, comma, closer = children
    if comma.type != "," or closer.type not in _CLOSERS or element.type in _OPENERS:
        return False
    return node.type not in _TUPLES or any(child.type == "," for child in most)


def in_order(node: "Node", children: "list[Node]", language: Language) -> "list[Node]":
    """The children, sorted where their order does nothing. Not to be asked where a directive stands between them."""
    if node.type in _LISTS:
        return sorted(children, key=text_of)
    movable = _RUNS.get(language)
    if movable is None or not any(child.type == movable for child in children):
        return children
    runs = groupby(zip([None, *children], children, strict=False), lambda pair: _is_movable(pair, movable))
    return [
        child
        for moves, run in runs
        for child in (sorted((child for _, child in run), key=text_of) if moves else [child for _, child in run])
    ]


def _is_movable(pair: "tuple[Node | None, Node]", movable: str) -> bool:
    before, child = pair
    return child.type == movable and (before is None or before.type != "attribute_item")


_WHOLE: Final = pattern(
    r"string|template|char_literal|regex|jsx_text|jsx_element|jsx_fragment|token_tree|heredoc|raw_text"
)


@lru_cache(maxsize=2048)
def _is_whole(kind: str) -> bool:
    return _WHOLE.search(kind) is not None


def leaf_of(node: "Node", parent: str, language: Language) -> str | None:
    """The text of a node that is to be compared as a whole, in its normal form; None for one that has parts."""
    kind = node.type
    if kind in {"string", "concatenated_string"} and (language is Language.PYTHON or language in SCRIPTS):
        return _string(node, parent, language)
    if kind == "macro_invocation":
        return literals.rust_macro(text_of(node))
    if kind in {"jsx_element", "jsx_fragment"}:
        return _element(node)
    if node.child_count and not _is_whole(kind):
        return None
    text = text_of(node) if _is_whole(kind) else text_of(node).strip()
    return text.lower() if kind in {"integer", "float"} and language is Language.PYTHON else text


def _string(node: "Node", parent: str, language: Language) -> str:
    if language is Language.PYTHON:
        return _python_string(node)
    return (literals.attribute_string if parent == "jsx_attribute" else literals.script_string)(text_of(node))


def _python_string(node: "Node") -> str:
    parts = node.named_children if node.type == "concatenated_string" else [node]
    strings = [part for part in parts if part.type == "string"]
    if len(strings) != len(parts):
        return text_of(node)
    return literals.python_strings([text_of(part) for part in strings])


def _element(node: "Node") -> str:
    """An element without the indentation of its lines, which JSX trims, unless a string in it goes over them."""
    text = text_of(node)
    if "`" in text or any(one.type == "string" and "\n" in text_of(one) for one in descendants(node)):
        return text
    return "\n".join(line.strip() for line in text.split("\n") if line.strip())
