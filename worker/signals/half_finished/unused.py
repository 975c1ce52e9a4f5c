"""Imports, parameters and types that a change adds and nothing uses.

Imports and types are read in whole files only. A name that occurs anywhere else, a comment included, is used.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.changed_functions import DECORATION, ChangedFunction, find_new_functions
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import FunctionScope, find_unused_parameters
from worker.signals.analysis.stubs import is_idle, is_named_idle
from worker.signals.analysis.syntax import descendants, register_types, text_of
from worker.signals.half_finished.function_uncalled import is_callback, is_required_by_type
from worker.signals.half_finished.stub_body import find_stubs
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
_CUSTOMARY_NAMES: Final = pattern(
    r"(?:ctx|context|cx|req|request|res|event|e|evt|kwargs|kwds|kw|args|options|opts|next|cmd|frame|signum|tb|exc\w*|type)"
)
"""Parameters that are passed along by custom, needed or not."""
_TYPES: Final = register_types(
    {
        Language.PYTHON: ("class_definition",),
        Language.GO: ("type_spec",),
        Language.RUST: ("struct_item", "enum_item"),
        Language.JAVA: ("class_declaration", "enum_declaration", "record_declaration"),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("class_declaration",)),
    }
)
_BASE_FIELDS: Final = ("superclasses", "superclass", "interfaces")
_WRAPPERS: Final = frozenset({"decorated_definition", "export_statement"})
_FOUND_BY_PATH: Final = pattern(
    r"(?:^|/)(?:__init__\.py|index\.[cm]?[jt]sx?|mod\.rs|lib\.rs|prelude\.rs|migrations?/|plugins?/|pages/|app/|routes?/|api/|public/|views?/)"
)
_MARKED: Final = pattern(r"@\w|#\[(?!derive|allow|non_exhaustive|must_use|doc)|__all__")


class UnusedImport(NamedTuple):
    name: str
    line: int


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def import_unused(change: CodeChange) -> Iterator[SignalMatch]:
    """An added import whose name stands nowhere else in its file.

    Why it matters: What it was imported for may be missing.
    Example: `import json` in a file that never says `json` again.
    False alarms: 182 of 30051 clean changes with production code (0.6 %, at most 0.70 %).
    """
    for file in change.production_files():
        for unused in find_unused_imports(file):
            yield SignalMatch(f"nothing in this file uses the new import `{unused.name}`", file.path, unused.line)


@memoized
def find_unused_imports(file: AnalyzedFile) -> tuple[UnusedImport, ...]:
    """The added imports that a file does not use, where its whole text is known."""
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
        UnusedImport(name, node.start_point.row + 1)
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


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def parameter_unused(change: CodeChange) -> Iterator[SignalMatch]:
    """A parameter of a new function that its body never looks at, where no type above asks for it.

    Why it matters: Callers pass a value that changes nothing.
    Example: `def load(path, mode): return read(path)`
    False alarms: 101 of 30051 clean changes with production code (0.3 %, at most 0.41 %).
    """
    stubs = {(stub.changed.file.path, stub.changed.function.first_line) for stub in find_stubs(change)}
    unread: list[tuple[ChangedFunction, list[str]]] = []
    for changed in find_new_functions(change):
        file, function = changed
        is_fixed = (  # by something else
            function.scope in {FunctionScope.BRANCH, FunctionScope.UNKNOWN}
            or DECORATION.search(function.attributes)
            or is_named_idle(function)
            or (function.name.startswith("__") and function.name != "__init__")
            or is_callback(function)
            or is_required_by_type(changed, change)
        )
        if is_fixed or (file.path, function.first_line) in stubs or is_idle(function):
            continue
        names = [name for name in find_unused_parameters(function) if not _CUSTOMARY_NAMES.fullmatch(name)]
        if names:
            unread.append((changed, names))
    mentioned = references.count_beside_calls(change, frozenset(changed.function.name for changed, _ in unread))
    for changed, names in unread:
        # named beside its calls, it is passed as a value, and what takes it fixes its parameters
        own_mentions = changed.function.node.child_by_field_name("name") is None
        if mentioned[changed.function.name] <= own_mentions:
            listed = ", ".join(f"`{name}`" for name in names[:3])
            note = f"never looks at {listed}: `{changed.function.name}`"
            yield SignalMatch(note, changed.file.path, changed.function.first_line, changed.function.last_line)


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def type_unused(change: CodeChange) -> Iterator[SignalMatch]:
    """A new class or type that no other line of the change names, tests included.

    Why it matters: What was to use it is missing, or the type is left over from another attempt.
    Example: `class Store:` in a new file of a change that never says `Store` again.
    False alarms: 26 of 30051 clean changes with production code (0.1 %, at most 0.13 %).
    """
    for file in change.production_files():
        source = next((source for source in file.sources if source.is_whole and source.language in _TYPES), None)
        if source is None or not file.diff.added_lines or _FOUND_BY_PATH.search(file.path):
            continue
        rows = frozenset(line - 1 for line in file.added_lines)
        for node in source.nodes.find(_TYPES[source.language], rows=rows):
            name = text_of(node.child_by_field_name("name"))
            is_new = node.start_point.row in rows and node.end_point.row in rows
            if not is_new or name in references.find_removed_words(change):
                continue
            statement = node.parent if node.parent is not None and node.parent.type in _WRAPPERS else node
            own = references.WORD_PATTERN.findall(text_of(statement)).count(name)
            if references.count_words(change)[name] <= own and not _is_registered(node, statement):
                note = f"nothing in this change uses the new type `{name}`"
                yield SignalMatch(note, file.path, node.start_point.row + 1)


def _is_registered(node: Node, statement: Node) -> bool:
    """Whether a base, a decorator, an annotation or an attribute may hand it to a framework."""
    if any(node.child_by_field_name(field) is not None for field in _BASE_FIELDS):
        return True
    if any(child.type == "class_heritage" for child in node.children):
        return True
    attributes = (statement.prev_named_sibling, node.prev_named_sibling)
    texts = [text_of(above) for above in attributes if above is not None and above.type == "attribute_item"]
    head = text_of(statement).partition("{")[0].partition("class ")[0]
    return _MARKED.search("\n".join((head, *texts))) is not None
