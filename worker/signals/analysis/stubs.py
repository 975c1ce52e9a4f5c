"""Signs that a body which does nothing was meant to: somebody else asks for the function, and here there is nothing to do.

Such a body answers a type above that this object has no use for, keeps a place for types below, is a mark by its name alone,
or asks something of the compiler. Does not read what the function promises. Invariant: names, words and neighbours only ever
speak for a purpose.
"""

import re
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.changed_functions import ChangedFunction, documentation_of
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.outside_requirements import is_named_idle
from worker.signals.analysis.parameters import declares_properties, list_parameters
from worker.signals.analysis.syntax import ancestors, is_comment, text_of
from worker.signals.analysis.values import is_constant, is_discard, is_empty_result, is_new_object

if TYPE_CHECKING:
    from tree_sitter import Node


def is_idle(function: Function) -> bool:
    """Its body is empty, or hands back a constant, and so does its signature."""
    read = (" ".join(text_of(statement)[:_LONGEST].split()) for statement in function.statements)
    statements = [statement for statement in read if not is_discard(statement)]
    if len(statements) > 1:
        return is_empty_result(statements)
    only = statements[0] if statements else ""
    is_nothing = is_constant(only) or (is_new_object(only) and bool(list_parameters(function)))
    return is_nothing and not declares_properties(function)


_LONGEST: Final = 200

_IDLE_WORDS: Final = pattern(
    r"\bno-?op|\bnever (?:returns? (?:an? )?error|fails?|errors)\b|\bnothing\b(?! (?:if|when|unless|where)\b)|\balways\b(?! (?:throw|rais|call|run|updat|send|writ|creat|remov)\w*)|\bby default\b|\bignored\b|\bunused\b|\bnot used\b|intentional|deliberate|suppress|placeholder|\bdummy\b|\bmarker\b|compatib"
    r"|\breturns? (?:false|true|nil|null|none|nothing|zero|undefined|an? empty \w+)(?: (?:because|as|since|for)\b|\.|,|$)|\b(?:does|do) not support"
    r"|by design|overrid|\bsub-?class(?:es)? (?:may|can|should|must)|implementors|constructs? (?:a )?new|private constructor|instantiation|unsupported|not supported|stand-?in|disabled"
    r"|not (?:yet )?implemented",
    re.IGNORECASE,
)
"""Who writes so knows that it does nothing."""


def is_declared_idle(function: Function) -> bool:
    """By its name, in its documentation, or in a comment of its body."""
    name = function.name.lower()
    # a word of its name says what it is about: `isIgnored` does not do nothing
    by_words = any(match[0].lower() not in name for match in _IDLE_WORDS.finditer(documentation_of(function)))
    is_told = function.scope is FunctionScope.FUNCTION and any(map(is_comment, function.nodes_above))
    is_left = is_told or bool(function.remarks) or is_deprecated(function) or _is_declared_type_check(function)
    return by_words or is_left or _is_in_idle_class(function) or is_named_idle(function)


def _is_declared_type_check(function: Function) -> bool:
    """A comment above it, or above the function that it stands in, says that to compile is all it is for."""
    if function.statements:
        return False
    around = (ancestor for ancestor in ancestors(function.node) if ancestor.type in _FUNCTIONS)
    explained = " ".join(" ".join(map(_comments_above, (function.node, *around))).split())
    has_types = function.node.child_by_field_name("type_parameters") is not None
    return _WHEN_COMPILED.search(explained) is not None or (has_types and _OF_BOUNDS.search(explained) is not None)


def _comments_above(node: "Node") -> str:
    """The comments right above it."""
    comments: list[str] = []
    above = node.prev_named_sibling
    while above is not None and is_comment(above):
        comments.insert(0, _MARKS.sub(" ", text_of(above)))
        above = above.prev_named_sibling
    return " ".join(comments)


_FUNCTIONS: Final = frozenset({"function_item", "function_declaration"})
_MARKS: Final = pattern(r"//[/!]?")
_CHECKS: Final = r"\b(?:check|assert|prov|ensur|verif|detect|guarante|enforc)\w*\b"
_WHEN_COMPILED: Final = pattern(
    rf"\b(?:compile[- ]?time|static) (?:type[- ])?(?:check|assert|proof|guard)|{_CHECKS}.{{0,80}}\bat compile[- ]?time\b|{_CHECKS} .{{0,80}}\bcompiles\b",
    re.IGNORECASE,
)
_OF_BOUNDS: Final = pattern(
    rf"\bbounds\b.*{_CHECKS}|{_CHECKS}.*\b(?:bounds|implements?|auto[- ]?traits?)\b", re.IGNORECASE
)
"""What a comment says of code that only has to compile; one about bounds means those of types where there are types."""


def is_deprecated(function: Function) -> bool:
    """Its documentation or a mark says that there is nothing left for it to do."""
    return _DEPRECATED.search(f"{documentation_of(function)} {function.attributes}") is not None


_DEPRECATED: Final = pattern(
    r"\bdeprecated\b|\bobsolete\b|\b(?:has|have) no (?:longer (?:any )?)?effect\b|\bno longer (?:has|have|does|do|used|needed|necessary)\b"
    r"|\bdo(?:es)? nothing\b(?! (?:if|when|unless|where)\b)|\bno-?op\b",
    re.IGNORECASE,
)


def _is_in_idle_class(function: Function) -> bool:
    """A null object, or one of Kotlin made on the spot, which must say something to all that its type asks."""
    if function.container is not None and function.container.type == "object_literal":
        return "override" in function.attributes.split()
    above = "" if function.container is None else _comments_above(function.container)
    return _IDLE_TYPE.search(function.type_name) is not None or _IS_A_DUMMY.search(above) is not None


_IS_A_DUMMY: Final = pattern(
    r"\b(?:dummy|no-?op|null object|empty|stub|fake|mock)\b|\bfor compilation\b", re.IGNORECASE
)
"""What the documentation of a class says that does nothing on purpose."""
_IDLE_TYPE: Final = pattern(
    r"^_*(?:[Nn]ull|[Nn]il|[Nn]o_?[Oo]p|[Nn]op|Silent|[Dd]ummy|[Dd]iscard|Ignore\w*Nothing|Disabled|Blackhole|Void)(?=[A-Z_]|$)"
    r"|(?:Null|Nil|No_?[Oo]p|Noop|Nop|Discard)$"
)


def is_required_by_others(function: Function) -> bool:
    """A method that a type above or below it may ask for, of a type that does nothing elsewhere either, or says what it is for."""
    if not function.type_name:
        return False
    is_named_so = _REQUIRED_TYPE.search(function.type_name) is not None
    return is_named_so or _REQUIRED_WORDS.search(documentation_of(function)) is not None or _is_one_of_several(function)


_REQUIRED_TYPE: Final = pattern(
    r"(?:Stub|Fake|Mock|Empty|Unimplemented|Visitor|Listener|Observer|Callbacks?|Hooks?|Interceptor|Delegate)(?=[A-Z_]|$)"
    r"|^(?:stub|fake|mock|empty|unimplemented)(?=[A-Z_]|$)"
)
_REQUIRED_WORDS: Final = pattern(
    r"\bimplement(?:s|ing|ation of)\b|\b(?:satisf|fulfil)\w*|\bpart of the \w+ (?:interface|protocol|contract)\b|\brequired by\b"
    r"|\b(?:called|invoked|run|executed) (?:by|when|whenever|before|after|once|on|for)\b|\bhooks?\b",
    re.IGNORECASE,
)
"""What a method is there for: who else calls it, and when."""


def _is_one_of_several(function: Function) -> bool:
    """Of its type another method does nothing as well: then that is what this type is like."""
    return bool(function.source.cached(_find_idle_methods)[function.type_name] - {function.name})


def _find_idle_methods(source: Source) -> defaultdict[str, set[str]]:
    """By the name of the type, the names of its methods that do nothing."""
    names = defaultdict[str, set[str]](set)
    for function in find_functions(source):
        if function.type_name and not is_constructor(function) and is_idle(function):
            names[function.type_name].add(function.name)
    return names


def is_constructor(function: Function) -> bool:
    return "constructor" in function.node.type or function.name in {"constructor", "__init__"}


def can_satisfy_interface(changed: ChangedFunction, change: CodeChange) -> bool:
    """In Go nobody writes down which interface a method is for.

    A private one can only be asked for by its own package. If its type was there before, that interface is new, or asks for
    one thing more: then the change names it.
    """
    function = changed.function
    if function.source.language is not Language.GO or function.node.type != "method_declaration":
        return False
    if function.name[:1].isupper() or function.type_name not in changed.file.cached(_find_older_types):
        return True
    return function.name in change.cached(_find_interface_methods)


def _find_interface_methods(change: CodeChange) -> frozenset[str]:
    """Names with which an indented line begins, as that of an interface of Go does for each method."""
    texts = (source.text for file in change.files if file.language is Language.GO for source in file.sources)
    return frozenset(chain.from_iterable(map(_INTERFACE_METHOD.findall, texts)))


def _find_older_types(file: AnalyzedFile) -> frozenset[str]:
    """The types of Go that a line which the change left alone makes, or gives a method."""
    kept = (line for source in file.sources for line in enumerate(source.lines, source.first_line))
    matches = (_TYPE_USE.match(text) for number, text in kept if number not in file.added_lines)
    return frozenset(match[1] or match[2] for match in matches if match is not None)


_INTERFACE_METHOD: Final = pattern(r"^[ \t]+(\w+)\(", 8)
_TYPE_USE: Final = pattern(r"type (\w+)|func \((?:\w+ )?\*?(\w+)")


def is_passed_as_value(function: Function, change: CodeChange) -> bool:
    """A function that the change hands to code that says what it has to accept."""
    is_plain = function.scope in {FunctionScope.MODULE, FunctionScope.FUNCTION} and not function.type_name
    return is_plain and (function.name in references.find_passed_names(change) or _is_default(function))


def is_replaceable(function: Function, change: CodeChange) -> bool:
    """A method of a class that the change hands to a loader, which may take another one in its place.

    What is called by the name of its class is called as it stands.
    """
    if not function.type_name or function.type_name not in references.find_passed_names(change):
        return False
    call = f"{function.type_name}.{function.name}("
    return not any(call in line for file in change.files for line in file.diff.added_texts)


def _is_default(function: Function) -> bool:
    """It takes the place of a parameter that is not given: `if callback is None: def callback(reply): return None`."""
    around = (ancestor.child_by_field_name("parameters") for ancestor in ancestors(function.node))
    parameters = next((node for node in around if node is not None), None)
    return re.search(rf"\b{re.escape(function.name)}\b", text_of(parameters)) is not None


def is_required_by_framework(function: Function) -> bool:
    """An exported function of a script, or the start of a program: who loads the file may want it to be there."""
    if function.source.language in SCRIPT_LANGUAGES:
        return any(around.type == "export_statement" for around in ancestors(function.node))
    return function.name == "main"


def is_compile_check(function: Function) -> bool:
    """Whether some types fit is all that it asks: it has parameters for them, and no body. Or its documentation does not compile."""
    types = text_of(function.node.child_by_field_name("type_parameters"))
    if function.statements or function.type_name:
        return False
    if _DOES_NOT_COMPILE.search(documentation_of(function)):
        return True
    if not types:
        parameters = function.node.child_by_field_name("parameters")
        is_of_types = parameters is not None and parameters.named_child_count > 0 and not list_parameters(function)
        return is_of_types and _COMPILE_CHECK_NAME.match(function.name) is not None
    is_bound = function.source.language is not Language.RUST or ":" in types
    return is_bound and (not list_parameters(function) or _COMPILE_CHECK_NAME.match(function.name) is not None)


_DOES_NOT_COMPILE: Final = pattern(r"```[\w, ]{0,40}compile_fail")
_COMPILE_CHECK_NAME: Final = pattern(r"_*(?:assert|expect|check|ensure|require|static|is|type)(?=[A-Z_]|$)")
