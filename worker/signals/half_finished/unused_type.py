"""New types and handlers of requests that nothing in a change names: classes that nobody makes, routes that lead nowhere.

Does not know the rest of the repository, and need not: a new name can be used only in lines of the change. Invariant: what a
framework finds by its place, its base or a decoration is silence.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import register_types, text_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES: Final = register_types(
    {
        Language.PYTHON: ("class_definition",),
        Language.GO: ("type_spec",),
        Language.RUST: ("struct_item", "enum_item"),
        Language.JAVA: ("class_declaration", "enum_declaration", "record_declaration"),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("class_declaration",)),
    }
)
_ABOVE: Final = frozenset({"superclasses", "superclass", "interfaces"})
_DECORATED: Final = frozenset({"decorated_definition", "export_statement"})
_FOUND_BY_PLACE: Final = pattern(
    r"(?:^|/)(?:__init__\.py|index\.[cm]?[jt]sx?|mod\.rs|lib\.rs|prelude\.rs|migrations?/|plugins?/|pages/|app/|routes?/|api/|public/|views?/)"
)
_MARKED: Final = pattern(r"@\w|#\[(?!derive|allow|non_exhaustive|must_use|doc)|__all__")


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def type_unused(change: CodeChange) -> Iterator[SignalMatch]:
    """A new class or type that no other line of the change names, tests included.

    False alarms: 26 of 30051 clean changes with production code (0.1 %, at most 0.13 %).
    """
    for file in change.production_files():
        source = next((source for source in file.sources if source.is_whole and source.language in _TYPES), None)
        if source is None or not file.diff.added_lines or _FOUND_BY_PLACE.search(file.path):
            continue
        for node in _find_new_types(source, file):
            name = text_of(node.child_by_field_name("name"))
            if _is_unnamed(name, node, change) and not _is_found_by_decoration(node):
                yield SignalMatch(
                    f"nothing in this change uses the new type `{name}`", file.path, node.start_point.row + 1
                )


def _find_new_types(source: Source, file: AnalyzedFile) -> Iterator["Node"]:
    rows = frozenset(line - 1 for line in file.added_lines)
    for node in source.nodes.find(_TYPES[source.language], rows=rows):
        if node.start_point.row in rows and node.end_point.row in rows:
            yield node


def _is_unnamed(name: str, node: "Node", change: CodeChange) -> bool:
    """Whether only its own text says its name, and no line said it before."""
    if name in references.find_removed_words(change):
        return False
    own = sum(word == name for word in references.WORD_PATTERN.findall(text_of(_find_statement(node))))
    return references.count_words(change)[name] <= own


def _find_statement(node: "Node") -> "Node":
    return node.parent if node.parent is not None and node.parent.type in _DECORATED else node


def _is_found_by_decoration(node: "Node") -> bool:
    """By a base, a decoration, an annotation or a mark: then somebody else may make use of it."""
    has_base = any(node.child_by_field_name(field) is not None for field in _ABOVE)
    has_base = has_base or any(child.type == "class_heritage" for child in node.children)
    whole = _find_statement(node)
    above = [
        text_of(sibling)
        for sibling in (whole.prev_named_sibling, node.prev_named_sibling)
        if sibling is not None and sibling.type == "attribute_item"
    ]
    return has_base or _MARKED.search("\n".join((_head_text(whole), *above))) is not None


def _head_text(node: "Node") -> str:
    return text_of(node).partition("{")[0].partition("class ")[0]
