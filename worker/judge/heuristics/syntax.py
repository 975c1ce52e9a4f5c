"""Syntax trees, by tree-sitter: one grammar per language, loaded when the first file of it is read.

Does not know any signal. Invariant: never raises for any text; a text that is no program gives a tree with
`has_error`.
"""

import importlib
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.judge.heuristics.paths import Language

if TYPE_CHECKING:
    import tree_sitter
    from tree_sitter import Node

_GRAMMARS: Final = {
    Language.PYTHON: ("tree_sitter_python", "language"),
    Language.JAVASCRIPT: ("tree_sitter_javascript", "language"),
    Language.TYPESCRIPT: ("tree_sitter_typescript", "language_typescript"),
    Language.TSX: ("tree_sitter_typescript", "language_tsx"),
    Language.GO: ("tree_sitter_go", "language"),
    Language.RUST: ("tree_sitter_rust", "language"),
    Language.JAVA: ("tree_sitter_java", "language"),
}

COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "html_comment", "hash_bang_line"})


@lru_cache(maxsize=len(Language))
def _grammar(language: Language) -> "tree_sitter.Language":
    import tree_sitter  # noqa: PLC0415 - 15 ms that a diff without code need not spend

    module, function = _GRAMMARS[language]
    capsule: object = getattr(importlib.import_module(module), function)()
    return tree_sitter.Language(capsule)


@lru_cache(maxsize=len(Language))
def _parser(language: Language) -> "tree_sitter.Parser":
    import tree_sitter  # noqa: PLC0415 - as above

    return tree_sitter.Parser(_grammar(language))


@lru_cache(maxsize=256)
def _query(language: Language, types: tuple[str, ...]) -> "tree_sitter.Query":
    import tree_sitter  # noqa: PLC0415 - as above

    return tree_sitter.Query(_grammar(language), " ".join(f"({one}) @found" for one in types))


def find(root: "Node", language: Language, types: tuple[str, ...], rows: frozenset[int] | None = None) -> "list[Node]":
    """The nodes of these types, in the order of the text; far faster than to walk over all.

    With *rows*, at least those that begin in one of these rows, and none that lies before the first or behind the last.
    """
    import tree_sitter  # noqa: PLC0415 - as above

    cursor = tree_sitter.QueryCursor(_query(language, types))
    if rows:
        cursor.set_point_range((min(rows), 0), (max(rows) + 1, 0))
    found = cursor.captures(root).get("found", [])
    return sorted(found, key=lambda node: (node.start_byte, -node.end_byte))


def parse(text: str, language: Language) -> "Node":
    """The root of the text's tree. Line numbers of nodes count from 0."""
    return _parser(language).parse(text.encode("utf-8", "replace")).root_node


def text_of(node: "Node | None") -> str:
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def descendants(root: "Node") -> Iterator["Node"]:
    """Every named node below *root* and itself, in the order of the text. Never deep recursion."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.named_children))


def is_comment(node: "Node") -> bool:
    return node.type in COMMENTS


_STRINGS: Final = pattern(r"string|template|char_literal|text_block|jsx_text|regex")


def begins_in_text(root: "Node", row: int, column: int = 0) -> bool:
    """Whether what stands there is inside of a string or a comment."""
    node = root.descendant_for_point_range((row, column), (row, column + 1))
    while node is not None:
        if is_comment(node) or _STRINGS.search(node.type):
            return True
        node = node.parent
    return False
