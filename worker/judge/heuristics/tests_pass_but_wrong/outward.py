"""Whether a test names anything outside of itself but the language and its test tools.

Does not follow what it names. Invariant: in doubt it does, as where its file is not known whole, or in a language that is not
looked through.
"""

import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.change import Source
from worker.judge.heuristics.paths import SCRIPTS, Language
from worker.judge.heuristics.syntax import ancestors, find, text_of
from worker.judge.heuristics.tests import Test

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES: Final = {
    Language.PYTHON: ("identifier",),
    **dict.fromkeys(SCRIPTS, ("identifier", "type_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern")),
}  # fmt: skip
_OPEN: Final = frozenset({"open", "exec", "eval", "compile", "globals", "locals", "vars", "__import__", "input"})
"""Builtins through which anything may be reached."""
_PURE: Final = frozenset(
    {"abc", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "itertools"}
    | {"json", "math", "operator", "pytest", "re", "statistics", "string", "textwrap", "types", "typing", "uuid"}
)
"""Modules of the standard library that reach nothing of a project, and the test tool."""
_OF_SCRIPTS: Final = frozenset(
    {"Array", "BigInt", "Boolean", "Date", "Error", "Infinity", "JSON", "Map", "Math", "NaN", "Number", "Object", "Promise"}
    | {"RangeError", "Record", "RegExp", "Set", "String", "Symbol", "TypeError", "WeakMap", "WeakSet"}
    | {"assert", "console", "expect", "isNaN", "parseFloat", "parseInt", "structuredClone", "undefined"}
)  # fmt: skip
_KNOWN: Final = {
    Language.PYTHON: frozenset(dir(builtins)) - _OPEN | _PURE,
    **dict.fromkeys(SCRIPTS, _OF_SCRIPTS),
}
_TEST_TOOLS: Final = pattern(r"['\"](?:vitest|bun:test|chai|@jest/globals|(?:node:)?(?:test|assert(?:/strict)?))['\"]")


def names_nothing_outside(test: Test) -> bool:
    """Whether all that it names is of its own, of the language or of its test tools: it tells nothing of the project."""
    source = test.source
    if source.language not in _NAMES or not source.whole or "@" in test.marks:
        return False
    nodes = find(test.body, source.language, _NAMES[source.language])
    bound = frozenset(text_of(node) for node in nodes if _is_bound(node))
    given = (test.function.node.child_by_field_name(field) for field in ("parameters", "parameter"))
    mine = [name for one in given for name in _PARAMETERS.findall(text_of(one))]
    known = (bound | _KNOWN[source.language]) - source.once(_of_file)
    named = (node for node in nodes if not _is_member(node))
    return all(_is_own(node, test) if text_of(node) in mine else text_of(node) in known for node in named)


_PARAMETERS: Final = pattern(r"[A-Za-z_$][\w$]*")


def _is_own(node: "Node", test: Test) -> bool:
    """What is named like a parameter of the test: of a function inside of it, or only asked to assert."""
    if any(one.type.startswith(_DEFINES) for one in ancestors(node, test.body)):
        return True
    return _ASSERTS.match(text_of(node.parent)) is not None


_ASSERTS: Final = pattern(r"self\.(?:assert|fail|subTest)|t\.(?!context\b)|done\(")
_DEFINES: Final = ("class_def", "class_decl", "function_")
_BINDS: Final = {
    **dict.fromkeys(("class_definition", "function_definition", "default_parameter", "typed_default_parameter"), "name"),
    **dict.fromkeys(("class_declaration", "function_declaration", "function_expression", "variable_declarator"), "name"),
    **dict.fromkeys(("named_expression", "interface_declaration", "type_alias_declaration"), "name"),
    **dict.fromkeys(("assignment", "for_statement", "for_in_clause", "for_in_statement"), "left"),
    **dict.fromkeys(("assignment_pattern", "object_assignment_pattern"), "left"),
    **dict.fromkeys(("required_parameter", "optional_parameter"), "pattern"),
    **dict.fromkeys(("arrow_function", "catch_clause"), "parameter"),
    **dict.fromkeys(("parameters", "lambda_parameters", "formal_parameters", "typed_parameter", "as_pattern_target"), ""),
    **dict.fromkeys(("list_splat_pattern", "dictionary_splat_pattern", "pattern_list", "tuple_pattern"), ""),
    **dict.fromkeys(("array_pattern", "object_pattern", "rest_pattern"), ""),
    "pair_pattern": "value",
}  # fmt: skip
"""What binds a name, and in which of its fields; without one, in all of them."""


def _is_bound(node: "Node") -> bool:
    around = node.parent
    field = _BINDS.get(around.type) if around is not None else None
    return around is not None and field is not None and (not field or around.child_by_field_name(field) == node)


def _is_member(node: "Node") -> bool:
    """The part of a value, or the name that an argument is given by."""
    around = node.parent
    field = {"attribute": "attribute", "keyword_argument": "name"}.get(around.type) if around is not None else None
    return around is not None and field is not None and around.child_by_field_name(field) == node


def _of_file(source: Source) -> frozenset[str]:
    """What the file itself defines or imports, but for what is of the language or the test tools."""
    return frozenset(name for node in source.root.named_children for name in _brought(node, source.language))


def _brought(node: "Node", language: Language) -> Iterator[str]:
    """What one statement of the file's own level gives names to."""
    if language is Language.PYTHON and "import" in node.type:
        module = _MODULE.match(text_of(node)[:_LONGEST])
        is_pure = module is not None and module[1] in _PURE
        yield from () if is_pure else map(text_of, find(node, language, _NAMES[language]))
    elif _TEST_TOOLS.search(text_of(node)[:_LONGEST]) is None:
        parts = [] if node.type in _TOP else node.named_children
        for one in (node, *parts, *(inner for part in parts if part.type not in _TOP for inner in part.named_children)):
            field = _TOP.get(one.type)
            named = one.child_by_field_name(field) if field else one if field is not None else None
            yield from (text_of(name) for name in (find(named, language, _NAMES[language]) if named else ()))


_LONGEST: Final = 200
_MODULE: Final = pattern(r"(?:from|import) (\w+)")
_TOP: Final = {
    **dict.fromkeys(("class_definition", "function_definition", "class_declaration", "function_declaration"), "name"),
    "variable_declarator": "name",
    "assignment": "left",
    "import_clause": "",
}
