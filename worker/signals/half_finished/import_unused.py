"""Imports that a change brings in and that nothing in their file uses.

Only whole files are read. A name that occurs anywhere else in the file, a comment included, is used; a file whose job is to
re-export is skipped.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import descendants, register_types, text_of
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal

_STATEMENTS: Final = register_types(
    {
        Language.PYTHON: ("import_statement", "import_from_statement"),
        Language.JAVA: ("import_declaration",),
        Language.PHP: ("namespace_use_declaration",),
        Language.KOTLIN: ("import",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("import_statement",)),
    }
)


_WORD: Final = pattern(r"[^\W\d][\w$]*|\$[\w$]*")


_EXPORTING_FILE: Final = pattern(
    r"(^|/)(__init__\.py|index\.[cm]?[jt]sx?|conftest\.py|compat\w*\.py|_?typing\w*\.py|package-info\.java)$"
)


_KEEP_MARK: Final = pattern(
    r"\bnoqa\b|pylint|type: ignore|eslint|ts-ignore|side effects?|re-?exports?|import React\b|__future__"
)


_OPERATORS: Final = pattern(
    r"(?:plus|minus|times|div|rem|not|inc|dec|unaryMinus|unaryPlus)(?:Assign)?|get(?:Value)?|set(?:Value)?|invoke|contains|iterator"
    r"|next|hasNext|rangeTo|rangeUntil|compareTo|component\d|provideDelegate"
)
"""Operators of Kotlin, which are used without their names."""


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def import_unused(change: CodeChange) -> Iterator[SignalMatch]:
    """An added import whose name stands nowhere else in its file.

    Why it matters: What it was imported for may be missing.
    Example: `import json` in a file that never says `json` again.
    False alarms: 182 of 30051 clean changes with production code (0.6 %, at most 0.70 %).
    """
    for file in change.production_files():
        for name, line in find_unused_imports(file):
            yield SignalMatch(f"nothing in this file uses the new import `{name}`", file.path, line)


@memoized
def find_unused_imports(file: AnalyzedFile) -> tuple[tuple[str, int], ...]:
    """Name and line of each added import that a file does not use, where its whole text is known."""
    source = next((source for source in file.sources if source.is_whole and source.language in _STATEMENTS), None)
    if source is None or source.root.has_error or _EXPORTING_FILE.search(file.path) or not file.added_lines:
        return ()
    nodes = source.nodes.find(_STATEMENTS[source.language])
    added = [
        node
        for node in nodes
        if file.added_lines.issuperset(range(node.start_point.row + 1, node.end_point.row + 2))
        # a comment gives another reason for it, or it stands in a block, since it may fail
        and not any(map(_KEEP_MARK.search, source.lines[max(0, node.start_point.row - 1) : node.end_point.row + 1]))
        and (node.parent is None or node.parent.type != "block")
    ]
    if not added:
        return ()
    counts = Counter(_WORD.findall(source.text))
    if source.language is Language.KOTLIN:
        counts.update(word.lstrip("$") for word in list(counts) if word.startswith("$"))  # "$name" in a text
    imported = Counter(word for node in nodes for word in _WORD.findall(text_of(node)))
    return tuple(
        (name, node.start_point.row + 1)
        for node in added
        for name in _find_names(node, source.language)
        if counts[name] <= imported[name]
    )


def _find_names(node: Node, language: Language) -> Iterator[str]:
    match language:
        case Language.PYTHON:
            for child in node.children_by_field_name("name"):
                alias = child.child_by_field_name("alias")
                if alias is None:
                    yield text_of(child).partition(".")[0]
                elif text_of(alias) != text_of(child.child_by_field_name("name")):  # `x as x` re-exports x
                    yield text_of(alias)
        case Language.JAVA | Language.PHP | Language.KOTLIN:
            text = text_of(node).rstrip(" ;")
            name = _WORD.findall(text)[-1]
            if not text.endswith(("*", "}")) and (language is Language.JAVA or not _OPERATORS.fullmatch(name)):
                yield name
        case _:
            for child in descendants(node):
                if child.type == "import_specifier":
                    yield text_of(child.child_by_field_name("alias") or child.child_by_field_name("name"))
                elif child.type == "namespace_import" or (
                    child.type == "import_clause" and child.named_children[0].type == "identifier"
                ):
                    yield text_of(child.named_children[0])
