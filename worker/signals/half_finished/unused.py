"""Imports, parameters, types and command-line options that a change adds and nothing uses.

But for parameters, only whole files are read. A name that occurs anywhere else in a file, a comment included, is used. An option
counts as unread only where no line of the change names it in any spelling but where it is declared, and nothing in its file takes
all options together.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, takewhile
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized, memoized_for_family
from worker.signals.analysis.changed_functions import DECORATION, ChangedFunction, find_new_functions
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language, language_of
from worker.signals.analysis.functions import FunctionScope, find_unused_parameters
from worker.signals.analysis.stubs import is_idle, is_named_idle
from worker.signals.analysis.syntax import ancestors, descendants, find, register_types, text_of
from worker.signals.half_finished.function_uncalled import is_fixed_by_others
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
_DECLARING: Final = {
    Language.PYTHON: pattern(r"(?:^|\.)(?:add_argument|option)$"),
    Language.GO: pattern(r"[Ff]lags?(?:\(\))?\.(?:String|Bool|Int|Uint|Float|Duration|Count)\w*$"),
    Language.RUST: pattern(r"^(?:\w+::)*Arg::(?:new|with_name)$"),
    **dict.fromkeys(SCRIPT_LANGUAGES, pattern(r"\.(?:option|requiredOption)$")),
}
_NODE_TYPES: Final = {
    Language.PYTHON: ("call",),
    Language.RUST: ("attribute_item", "call_expression"),
    **dict.fromkeys((Language.GO, *SCRIPT_LANGUAGES), ("call_expression",)),
}
_LONG: Final = pattern(r"""["'`](?:-\w(?:,? |\|))?--(?:\[no-?\]|no-)?([A-Za-z][\w-]{1,60})""")
_PLAIN: Final = pattern(r"""["'`]([A-Za-z][\w-]{1,60})["'`]""")
_BOUND: Final = pattern(r"&(?:\w+\.){0,4}(\w+)")
_DEST: Final = pattern(r"\bdest\s*=\s*[\"'](\w+)[\"']")
_NO_VALUE_ACTION: Final = pattern(
    r"\baction\s*=\s*(?![\"'](?:store|append|count|extend))|\bcallback\s*=|\bexpose_value\s*=|SUPPRESS|deprecat|hidden|\bhide\(|no longer|ignored|no-op|compat",
    2,
)
"""The option does its work where it is declared, or is declared to do none."""
_TAKES_ALL: Final = pattern(
    r"\bvars\(|__dict__|_get_kwargs|\*\*\w|getattr\(|\.\.\.\w|Object\.(?:assign|entries|keys|values|fromEntries)\(|BindPFlags?\(|VisitAll\(|\.Visit\("
    r"|\.params\b|parse_known_args|JSON\.stringify"
)
_DASHED: Final = pattern(r"[\"'`]([A-Za-z]\w*(?:-\w+)+)[\"'`]")
_CLAP: Final = pattern(r"^#\[(?:arg|clap|structopt)\(.{0,500}?\blong\b", 16)
_HINTS: Final = pattern(r"add_argument|ption\(|[Ff]lags?(?:\(\))?\.|\bArg::|#\[(?:arg|clap|structopt)\(")
_FIELD: Final = pattern(r"([A-Za-z]\w*)\s+[*\[\]]{0,3}[A-Za-z][\w.]*(?:\s*(?:`[^`]*`|//.*))?")
_LONGEST: Final = 1_000


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
            or is_fixed_by_others(changed, change)
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
    bases = filter(None, map(node.child_by_field_name, _BASE_FIELDS))
    if any(bases) or any(child.type == "class_heritage" for child in node.children):
        return True
    attributes = (statement.prev_named_sibling, node.prev_named_sibling)
    texts = [text_of(above) for above in attributes if above is not None and above.type == "attribute_item"]
    head = text_of(statement).partition("{")[0].partition("class ")[0]
    return _MARKED.search("\n".join((head, *texts))) is not None


class _Option(NamedTuple):
    """`own_text` declares it; for that, its names occur up to `other_uses` times elsewhere."""

    name: str
    spellings: frozenset[str]
    node: Node
    own_text: str
    other_uses: int = 0


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def option_unread(change: CodeChange) -> Iterator[SignalMatch]:
    """A new option of a command line that nothing in the change names again, so that giving it does nothing.

    Why it matters: Users give an option that changes nothing.
    Example: `parser.add_argument("--dry-run")`, and no line that says `dry_run`.
    False alarms: 6 of 30051 clean changes with production code (0.0 %, at most 0.04 %).
    """
    for file in change.production_files():
        source = next((source for source in file.sources if source.is_whole and source.language in _DECLARING), None)
        if source is None or not any(_HINTS.search(text[:_LONGEST]) for text in file.diff.added_texts):
            continue
        if _TAKES_ALL.search(source.text):
            continue
        rows = frozenset(line - 1 for line in file.added_lines)
        for node in find(source.root, source.language, _NODE_TYPES[source.language], rows):
            option = _read_option(node, source.language) if node.start_point.row in rows else None
            if option is None or not option.spellings.isdisjoint(references.find_removed_words(change)):
                continue
            counts, own = _count_names(change), Counter(_list_names(option.own_text))
            uses = {name: counts[name] - own[name] - _count_typed_fields(change)[name] for name in option.spellings}
            if max(uses.values()) <= option.other_uses:
                note = f"nothing reads the new option `--{option.name}`"
                yield SignalMatch(note, file.path, option.node.start_point.row + 1, option.node.end_point.row + 1)


def _read_option(node: Node, language: Language) -> _Option | None:
    if node.type == "attribute_item":  # clap derives the option from the field below
        field, text = node.next_named_sibling, text_of(node)
        if field is None or field.type != "field_declaration":
            return None
        name = text_of(field.child_by_field_name("name"))
        is_option = _CLAP.search(text) and not _NO_VALUE_ACTION.search(text)
        return _Option(name.replace("_", "-"), frozenset({name}), field, text_of(field)) if is_option else None
    called = text_of(node.child_by_field_name("function"))[-200:]
    whole = node.child_by_field_name("arguments")
    if language is Language.RUST:  # the last call of the chain: the whole of `Arg::new("x").long("x")`
        around = ancestors(node)
        pairs = takewhile(lambda pair: pair[0].type == "field_expression", zip(around, around, strict=False))
        whole = [node, *(call for _, call in pairs)][-1]
    arguments = text_of(whole)
    long = (_LONG if language not in {Language.GO, Language.RUST} else _PLAIN).search(arguments)
    if long is None or not _DECLARING[language].search(called) or _NO_VALUE_ACTION.search(arguments):
        return None
    bound = _BOUND.search(arguments) if language is Language.GO else _DEST.search(arguments)
    spellings = frozenset(_spell(long[1], bound[1] if bound else ""))
    is_parameter = node.parent is not None and node.parent.type == "decorator"
    return _Option(long[1], spellings, node, arguments, int(is_parameter))


def _spell(*names: str) -> Iterator[str]:
    """Each name as the languages write it: with underscores, and in camel case."""
    for name in filter(None, names):
        parts = [part for part in name.replace("-", "_").split("_") if part]
        joined = "".join(part[:1].upper() + part[1:] for part in parts)
        yield from ("_".join(parts), joined, joined[:1].lower() + joined[1:], name)


def _list_names(text: str) -> list[str]:
    """Every word, and each quoted name with dashes in it; one that begins with dashes is none."""
    return [*references.WORD_PATTERN.findall(text), *_DASHED.findall(text)]


@memoized_for_family
def _count_names(change: CodeChange) -> Counter[str]:
    """How often each name occurs in code."""
    changed = {file.path for file in change.files}
    unchanged = (text for path, text in change.texts.items() if path not in changed and language_of(path))
    visible = (file.visible_text for file in change.files if file.language is not None)
    return Counter(name for text in chain(unchanged, visible) for name in _list_names(text))


@memoized
def _count_typed_fields(change: CodeChange) -> Counter[str]:
    """Names that a line only gives a type, as Go writes it."""
    return Counter(match[1] for text in change.added_texts if (match := _FIELD.fullmatch(text)))
