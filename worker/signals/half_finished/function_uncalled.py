"""New functions without a caller.

A new name can be called only from lines of the change, but a restored function has callers already. What could be called from
outside (public, overriding, registered, asked for by a name or an attribute) is no fact, nor what files without a text in the
dossier could call until it is looked up there, nor what a call finds by a name that it builds.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.dossier import Definition
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import references
from worker.signals.analysis.change import CodeChange, memoized
from worker.signals.analysis.changed_functions import (
    DECORATION,
    ChangedFunction,
    documentation_of,
    find_new_functions,
    is_extended,
    is_hook,
)
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.stubs import can_be_override, can_satisfy_interface, is_platform_variant
from worker.signals.analysis.syntax import ancestors, is_comment, text_of
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal

_NAME: Final = pattern(r"#?[A-Za-z_$][\w$]*")
_MOST_LOOKED_UP: Final = 50
_BEGINNING: Final = pattern(r"(?<=[A-Za-z0-9])_(?=\w)|[a-z0-9](?=[A-Z])")
_NO_BINARY: Final = (
    r"^(?!.*\.(?:png|jpe?g|gif|ico|webp|avif|bmp|tiff?|psd|pdf|zip|gz|tgz|bz2|xz|zst|7z|jar|war|whl|exe|dll|so|dylib|a|o|bin|wasm"
    r"|woff2?|ttf|otf|eot|mp[34]|mov|avi|webm|ogg|wav|flac|pyc|class|npy|npz|parquet|sqlite3?|db)$)"
)
"""A template, a configuration or a document of any kind may name what is called: only binary files are left out."""
_CALLERS: Final = {
    Language.PYTHON: "pyx?|ipynb|toml|cfg|ini|ya?ml",
    Language.GO: "go|s|tmpl",
    Language.RUST: "rs",
    Language.JAVA: "java|kts?|groovy|scala|xml",
    Language.KOTLIN: "java|kts?|groovy|scala|xml",
    Language.RUBY: "rb|rake|erb|gemspec|haml|slim",
    Language.CSHARP: "cs|cshtml|razor|xaml|vb",
    Language.PHP: "php|phtml|twig|ya?ml",
    **dict.fromkeys(SCRIPT_LANGUAGES, "[cm]?[jt]sx?|html?|vue|svelte|astro"),
}
_SPREAD: Final = pattern(r"\bpartial\s+(?:class|struct|record|interface)\b|^\s*trait\s", re.MULTILINE)
"""Other files hold the rest of a partial class, or use a trait."""
_CHILD_MODULE: Final = pattern(r"^\s*(?:pub(?:\([^)]*\))? )?mod \w+;", re.MULTILINE)
_IS_MODULE: Final = pattern(r"^\s*(?:import|export)\b|\brequire\(|\bmodule\.exports\b|\bexports\.", re.MULTILINE)
"""Without an import or export a script's functions belong to the page."""
_CALLED_BY_NAME: Final = pattern(
    r"__\w+__|_(?:load_)?jupyter_\w+|model_(?:post_init|rebuild)|main|init|_missing_|_generate_next_value_|_repr_\w+_|read(?:Object|Resolve|ObjectNoData)|write(?:Object|Replace)|(?:test|pytest|visit|do|on|handle|action|watch|compose|render|get|set|is|has)_?(?:[A-Z_]\w*)?"
    r"|constructor|setup|teardown|upgrade|downgrade|default|toString|hashCode|equals|compareTo|finalize|clone|close|next|then|toJSON|configure|register|apply"
)
"""Names that a language or a framework calls."""
_EXPORTED: Final = pattern(r"^//(?:export|go:linkname|go:wasmexport)[ \t]+(\w+)", re.MULTILINE)
"""Functions that Go exports to C, to another package, or to the host of a WebAssembly module."""
_PRIVATE_MODIFIERS: Final = frozenset({"private", "protected", "internal"})
_CALLED_BY_LANGUAGE: Final = pattern(
    r"__\w+|initialize\w*|method_missing|respond_to_missing\?|(?:inherit|includ|extend|prepend)ed|method_added|const_missing|call|each|inspect|perform"
    r"|to_\w+|coerce|invoke|Dispose(?:Async)?|Equals|GetHashCode|ToString|Main|Configure\w*|Invoke(?:Async)?|On[A-Z]\w*|component\d+|provideDelegate"
)
"""Names that Ruby, C#, PHP, Kotlin or their frameworks call."""


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def function_uncalled(change: CodeChange) -> Iterator[SignalMatch]:
    """A new private function that no line of the change and no file of the head tree names, so that nothing can call it.

    Why it matters: Code that cannot run was meant to be called from somewhere.
    Example: A new `def _retry(call):` whose name stands nowhere else.
    False alarms: 18 of 30051 clean changes with production code (0.1 %, at most 0.09 %).
    """
    for changed, is_sure in _find_uncalled(change):
        if is_sure:
            yield _build_match(changed, "nothing calls the new private function")


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION, settled_by=SettlingLine.USE)
def function_uncalled_suspected(change: CodeChange) -> Iterator[SignalMatch]:
    """A new function that no other line of the change names, tests included; others may call it from outside.

    Or a private one that was not looked up in the files of the head tree that could call it, or beside another one whose name
    begins alike, that was there before, and that nothing names either: both may be called by a name that is built.

    Why it matters: The call may be what is missing of the change.
    Example: A new public `def retry(call):` that neither code nor tests of the change name.
    False alarms: 146 of 30051 clean changes with production code (0.5 %, at most 0.57 %).
    """
    for changed, is_sure in _find_uncalled(change):
        if not is_sure:
            yield _build_match(changed, "nothing in this change calls the new")


def _build_match(changed: ChangedFunction, note: str) -> SignalMatch:
    file, function = changed
    return SignalMatch(f"{note} `{function.name}`", file.path, function.first_line, function.last_line)


def is_fixed_by_others(changed: ChangedFunction, change: CodeChange) -> bool:
    """Whether what it is passed to, a trait, a base, a platform or a class that extends its own asks for it as it is."""
    function, around, owner = changed.function, changed.function.node.parent, changed.function.container
    is_named = around is not None and around.type == "variable_declarator"
    return (
        (function.node.type in {"arrow_function", "function_expression"} and not is_named)
        or can_be_override(function)
        or is_platform_variant(changed)
        or is_hook(function)
        or is_extended(function, change)
        or (owner is not None and owner.child_by_field_name("trait") is not None)
    )


@memoized
def _find_uncalled(change: CodeChange) -> tuple[tuple[ChangedFunction, bool], ...]:
    """New functions that nothing calls, and whether nothing else can."""
    uncalled: list[tuple[ChangedFunction, bool]] = []
    for changed, is_closed in _find_unnamed(change):
        name = changed.function.name
        callers, prefixes = _find_other_callers(name, change), _name_prefixes(name)
        # a text may begin like the name and go on with a value: `getattr(module, "_cmd_" + command)`
        is_built = not prefixes.isdisjoint(references.find_name_prefixes(change))
        if not callers and not is_built and not any(_find_other_callers(prefix, change) for prefix in prefixes):
            is_looked_up = callers is not None or _is_kept_to_its_file(changed.function)
            is_sure = is_closed and is_looked_up and not _has_uncalled_sibling(changed, change)
            uncalled.append((changed, is_sure))
    return tuple(uncalled)


@memoized
def _find_unnamed(change: CodeChange) -> tuple[tuple[ChangedFunction, bool], ...]:
    """New functions that no line of the dossier names, and whether the language keeps other code from calling them."""
    unnamed: list[tuple[ChangedFunction, bool]] = []
    for changed in find_new_functions(change):
        function = changed.function
        if not _NAME.fullmatch(function.name) or _is_called_from_outside(changed, change):
            continue
        is_new = function.name not in references.find_removed_words(change)
        if is_new and references.count_words(change)[function.name.lstrip("#")] <= _count_own_uses(function):
            is_private = function.source.is_whole and _is_private(function)
            unnamed.append((changed, is_private and not can_satisfy_interface(changed, change)))
    return tuple(unnamed)


def _has_uncalled_sibling(changed: ChangedFunction, change: CodeChange) -> bool:
    """Whether an older function begins alike and is named nowhere: what calls it may call the new one."""
    prefixes = _name_prefixes(changed.function.name)
    new = {written.function.name for written in find_new_functions(change)}
    return bool(prefixes) and any(
        function.name not in new
        and not prefixes.isdisjoint(_name_prefixes(function.name))
        and references.count_words(change)[function.name] <= _count_own_uses(function)
        for function in find_functions(changed.function.source)
    )


def find_definitions_to_look_up(change: CodeChange) -> tuple[Definition, ...]:
    """The uncalled functions that a file without a text in the dossier could call: the private ones first.

    Behind them the prefixes of the private ones' names: a file that holds one as a word builds such names.
    """
    names: list[Definition] = []
    prefixes: dict[str, Definition] = {}
    for changed, is_closed in _find_unnamed(change):
        function = changed.function
        if is_closed and _is_kept_to_its_file(function):
            continue
        callers = _build_caller_pattern(changed)
        names.append(Definition(function.name, callers, is_closed))
        if is_closed and function.source.language not in {Language.GO, Language.RUST}:
            built = (prefix for prefix in sorted(_name_prefixes(function.name)) if prefix.endswith("_"))
            prefixes.update((prefix, Definition(prefix, callers, is_private=True)) for prefix in built)
    names.sort(key=lambda definition: not definition.is_private)
    return (*names[:_MOST_LOOKED_UP], *tuple(prefixes.values())[:_MOST_LOOKED_UP])


def _name_prefixes(name: str) -> frozenset[str]:
    """The name up to each underscore and each capital letter inside: `_cmd_` of `_cmd_add`, `on` of `onStart`."""
    return frozenset(name[: match.end()] for match in _BEGINNING.finditer(name))


def _find_other_callers(name: str, change: CodeChange) -> tuple[str, ...] | None:
    """Files without a text in the dossier that hold the name; None: it was not looked up."""
    lookup = next((lookup for lookup in change.dossier.lookups if lookup.name == name), None)
    read = {file.path for file in change.files if file.head_text is not None}
    return None if lookup is None else tuple(path for path in lookup.paths if path not in read)


def _build_caller_pattern(changed: ChangedFunction) -> str:
    """A regular expression for the paths of files that could call the function, by the language's own rules."""
    file, function = changed
    folder = re.escape(file.path.rpartition("/")[0] + "/") if "/" in file.path else ""
    match function.source.language:
        case Language.GO if _is_private(function):
            return rf"^{folder}[^/]+\.(?:go|[sSchm]|cc|cpp)$"
        case Language.RUST if _is_private(function):
            return rf"^{folder}.*\.rs$"
        case _ if _is_private(function):
            return _NO_BINARY
        case language:
            return rf"\.(?:{_CALLERS[language]})$"


def _is_kept_to_its_file(function: Function) -> bool:
    """Whether no other file can call the private function: then its own text shows all callers."""
    match function.source.language:
        case Language.JAVA | Language.KOTLIN:
            return True
        case Language.CSHARP | Language.PHP:
            return not _SPREAD.search(function.source.text)
        case Language.RUST:
            return not _CHILD_MODULE.search(function.source.text)
        case Language.JAVASCRIPT | Language.TYPESCRIPT | Language.TSX:
            return function.scope is not FunctionScope.MODULE or _IS_MODULE.search(function.source.text) is not None
        case _:
            return function.scope is FunctionScope.FUNCTION


def _count_own_uses(function: Function) -> int:
    """How often a function names itself: where it is defined, described, and calls itself."""
    texts = (text_of(function.node), *(text_of(note) for note in function.nodes_above if is_comment(note)))
    name = function.name.lstrip("#")
    count = sum(word == name for text in texts for word in references.WORD_PATTERN.findall(text))
    is_outside = function.node.child_by_field_name("name") is None
    return count + is_outside


def _is_called_from_outside(changed: ChangedFunction, change: CodeChange) -> bool:
    file, function = changed
    language, modifiers = function.source.language, frozenset(function.attributes.split())
    if function.scope in {FunctionScope.UNKNOWN, FunctionScope.BRANCH} or DECORATION.search(function.attributes):
        return True
    if language is Language.GO and function.node.type == "method_declaration":
        return function.name[:1].isupper()
    if language in MORE_LANGUAGES:
        is_open = "public" in modifiers if language is Language.CSHARP else modifiers.isdisjoint(_PRIVATE_MODIFIERS)
        if _CALLED_BY_LANGUAGE.fullmatch(function.name) or (is_open and documentation_of(function)):
            return True  # a library offers what is public and documented
    return (
        (language is Language.GO and function.name in _EXPORTED.findall(function.source.text))
        or file.path.endswith(("__init__.py", "/index.ts", "/index.js", "mod.rs", "lib.rs"))
        or _CALLED_BY_NAME.fullmatch(function.name) is not None
        or is_fixed_by_others(changed, change)
    )


def _is_private(function: Function) -> bool:
    """Whether the language keeps code outside of its file, class or function from calling it."""
    match function.source.language:
        case Language.GO:
            return not function.name[:1].isupper()
        case Language.RUST:
            return not any(child.type == "visibility_modifier" for child in function.node.children)
        case Language.JAVA | Language.RUBY | Language.CSHARP | Language.PHP | Language.KOTLIN:
            return "private" in function.attributes.split()
        case Language.PYTHON:
            is_marked = function.scope is FunctionScope.MODULE and function.name.startswith("_")
            return function.scope is FunctionScope.FUNCTION or is_marked
        case _ if function.scope is FunctionScope.TYPE:
            return function.name.startswith("#") or "private" in function.attributes.split()
        case _:
            exports = {"export_statement", "assignment_expression", "pair"}
            is_inner = function.scope is FunctionScope.FUNCTION
            return is_inner or not any(around.type in exports for around in ancestors(function.node))
