"""Bodies without work, and signs that such a body was meant: others ask for the function, or there is nothing to do.

It answers a type that this object has no use for, keeps a place for types below, is a mark by its name alone, or asks something
of the compiler. In doubt there is such a sign.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, memoized
from worker.signals.analysis.changed_functions import ChangedFunction, documentation_of
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import (
    Function,
    FunctionScope,
    declares_properties,
    find_functions,
    list_parameters,
)
from worker.signals.analysis.syntax import ancestors, is_comment, register_types, siblings_above, text_of

_ZERO: Final = r"None|nil|null|undefined|NULL|true|false|True|False|void 0|0|0\.0|-1|\"\"|''|``|\(\)|\[\]|\{\}|set\(\)|dict\(\)|list\(\)|tuple\(\)"
_CONSTANT: Final = pattern(
    rf"(?:return\s*)?\(?(?:(?:{_ZERO}"
    r"|(?:std::)?(?:default::)?Default::default\(\)|(?:String|Vec|HashMap|HashSet|BTreeMap)::new\(\)|(?:std::)?vec!\[\]|Ok\((?:\(\)|None|(?:std::)?(?:default::)?Default::default\(\)|Vec::new\(\)|vec!\[\]|false|true|0)?\)"
    rf"|(?:Optional|Collections|List|Map|Set|Stream)\.(?:empty|emptyList|emptyMap|emptySet|of)\(\)|Promise\.resolve\((?:{_ZERO})?\)|<></>)"
    r"(?: as (?:any|never|unknown|[A-Z]\w{0,40}(?:\[\])?)){0,2}(?:,\s*)?){0,4}\)?;?|pass|\.\.\."
)
"""A statement that does nothing."""
_FRESH: Final = pattern(
    r"(?:return )?(?:(?:(?:Ok|Some)\()?[\w:]{1,60}::(?:new|default)\(\)\)?|(?:Ok\()?(?:String::from\(\"\"\)|\"\"\.(?:to_string|to_owned|into)\(\))\)?|new \w+(?:<[^<>]{0,40}>)?\(\)|&?[\w.\[\]]{1,60}\{\}(?:, nil)?|self|this);?"
)
"""A new object, or the same: a factory without parameters returns nothing else."""
_CREATED: Final = pattern(
    rf"(?:(?:let|const|var|val|final|mut) )*(?:[A-Z][\w<>\[\], ]{{0,60}} )?(?P<name>\w+)(?:: ?[^=]{{1,60}})? :?= (?:{_ZERO}|(?:String|Vec|HashMap|HashSet|BTreeMap)::new\(\)|vec!\[\]|new \w+(?:<[^<>]{{0,40}}>)?\(\));?"
    r"|var (?P<declared>\w+) [\w.*\[\]]{1,60}"
)
_RETURNED: Final = pattern(r"(?:return )?(\w+)(?:, nil)?;?")
_DISCARD: Final = pattern(r"(?:let )?_ ?= ?\(?&?[\w, ]{1,80}\)?;?|void \w+;?|del [\w, ]{1,80}")


def is_constant(text: str) -> bool:
    return _CONSTANT.fullmatch(text) is not None


def is_new_object(text: str) -> bool:
    return _FRESH.fullmatch(text) is not None


def is_discard(text: str) -> bool:
    """Whether a statement names something only to say that it is not used."""
    return _DISCARD.fullmatch(text) is not None


def is_empty_result(statements: Sequence[str]) -> bool:
    """Whether two statements make an empty thing and return it."""
    if len(statements) != 2:  # noqa: PLR2004 - made and returned
        return False
    made, back = _CREATED.fullmatch(statements[0]), _RETURNED.fullmatch(statements[1])
    name = None if made is None else made["name"] or made["declared"]
    return name == (back[1] if back is not None else "")


class StubRefusal(NamedTuple):
    """An error that a statement throws: whether its name says that nothing is written, and its first text."""

    is_named: bool
    message: str | None


_THROWS: Final = {
    Language.RUBY: pattern(r"(?:raise|fail)\b[ (]*(?P<name>[\w:]*)"),
    Language.CSHARP: pattern(r"(?:=> ?)?throw new (?P<name>[\w.]*Exception)\b"),
    Language.PHP: pattern(r"throw new (?P<name>[\w\\\\]*(?:Exception|Error))\b"),
    Language.KOTLIN: pattern(r"(?:throw (?P<name>[\w.]*(?:Exception|Error))|TODO|error)\b(?=\()"),
}
_NAMED: Final = pattern(r"NotImplemented|Unimplemented|NotYetImplemented")
_TEXT: Final = pattern(r"[\"'](.*)[\"']")


def find_refusal(statement: str, language: Language) -> StubRefusal | None:
    """The refusal that a statement of Ruby, C#, PHP or Kotlin is, by its text with white space folded."""
    match = _THROWS[language].match(statement)
    if match is None:
        return None
    text = _TEXT.search(statement)
    is_named = statement.startswith("TODO") or _NAMED.search(match["name"] or "") is not None
    return StubRefusal(is_named, text[1] if text is not None else None)


_STUB_REQUEST: Final = pattern(
    r"\b(add|create|write|provide|leave|introduce|start|only|just|with|as|return|raise|be|make|use|into)s?\b[^.\n]{0,40}?"
    r"(\b(stubs?|skeletons?|scaffold(ing)?|no-?ops?|NotImplementedError)\b(?! (package|file)s?)|\bplaceholder (implementation|function|method|class|module|body)s?\b)"
    r"|\bscaffold(ing)?\b",
    re.IGNORECASE,
    needs=("stub", "skeleton", "scaffold", "noop", "no-op", "notimplemented", "placeholder"),
)


def is_stub_requested(change: CodeChange) -> bool:
    """Whether an issue asks for stubs; the author's own words do not count."""
    texts = [f"{issue.title}\n{issue.body}" for issue in change.dossier.issues]
    return any(_STUB_REQUEST.search(text) for text in texts)


_LONGEST: Final = 200


def is_idle(function: Function) -> bool:
    """Whether its body is empty or returns a constant, and its signature does no work."""
    texts = (" ".join(text_of(statement)[:_LONGEST].split()) for statement in function.statements)
    statements = [text for text in texts if not is_discard(text)]
    if len(statements) > 1:
        return is_empty_result(statements)
    only = statements[0] if statements else ""
    is_nothing = is_constant(only) or (is_new_object(only) and bool(list_parameters(function)))
    return is_nothing and not declares_properties(function)


_IDLE_WORDS: Final = pattern(
    r"\bno-?op|\bnever (?:returns? (?:an? )?error|fails?|errors)\b|\bnothing\b(?! (?:if|when|unless|where)\b)|\balways\b(?! (?:throw|rais|call|run|updat|send|writ|creat|remov)\w*)|\bby default\b|\bignored\b|\bunused\b|\bnot used\b|intentional|deliberate|suppress|placeholder|\bdummy\b|\bmarker\b|compatib"
    r"|\breturns? (?:false|true|nil|null|none|nothing|zero|undefined|an? empty \w+)(?: (?:because|as|since|for)\b|\.|,|$)|\b(?:does|do) not support"
    r"|by design|overrid|\bsub-?class(?:es)? (?:may|can|should|must)|implementors|constructs? (?:a )?new|private constructor|instantiation|unsupported|not supported|stand-?in|disabled"
    r"|not (?:yet )?implemented",
    re.IGNORECASE,
)
"""Words of an author who knows that it does nothing."""
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
"""A comment on code that only has to compile; one about bounds means those of types where there are types."""
_DEPRECATED: Final = pattern(
    r"\bdeprecated\b|\bobsolete\b|\b(?:has|have) no (?:longer (?:any )?)?effect\b|\bno longer (?:has|have|does|do|used|needed|necessary)\b"
    r"|\bdo(?:es)? nothing\b(?! (?:if|when|unless|where)\b)|\bno-?op\b",
    re.IGNORECASE,
)
_IS_A_DUMMY: Final = pattern(
    r"\b(?:dummy|no-?op|null object|empty|stub|fake|mock)\b|\bfor compilation\b", re.IGNORECASE
)
"""The documentation of a class that does nothing on purpose."""
_IDLE_TYPE: Final = pattern(
    r"^_*(?:[Nn]ull|[Nn]il|[Nn]o_?[Oo]p|[Nn]op|Silent|[Dd]ummy|[Dd]iscard|Ignore\w*Nothing|Disabled|Blackhole|Void)(?=[A-Z_]|$)"
    r"|(?:Null|Nil|No_?[Oo]p|Noop|Nop|Discard)$"
)


def is_declared_idle(function: Function) -> bool:
    """Whether its name, its documentation, its class or a comment of its body says that it does nothing."""
    name = function.name.lower()
    # a word of its name says what it is about: `isIgnored` does not do nothing
    by_words = any(match[0].lower() not in name for match in _IDLE_WORDS.finditer(documentation_of(function)))
    has_note = function.scope is FunctionScope.FUNCTION and any(map(is_comment, function.nodes_above))
    is_left = has_note or bool(function.remarks) or is_deprecated(function) or _is_declared_type_check(function)
    return by_words or is_left or _is_in_idle_class(function) or is_named_idle(function)


def _is_declared_type_check(function: Function) -> bool:
    """Whether a comment above it, or above a function around it, says that it only has to compile."""
    if function.statements:
        return False
    around = (ancestor for ancestor in ancestors(function.node) if ancestor.type in _FUNCTIONS)
    explained = " ".join(" ".join(map(_comments_above, (function.node, *around))).split())
    has_types = function.node.child_by_field_name("type_parameters") is not None
    return _WHEN_COMPILED.search(explained) is not None or (has_types and _OF_BOUNDS.search(explained) is not None)


def _comments_above(node: Node) -> str:
    texts = [_MARKS.sub(" ", text_of(above)) for above in siblings_above(node, is_comment)]
    return " ".join(reversed(texts))


def is_deprecated(function: Function) -> bool:
    """Whether its documentation or a mark says that there is nothing left for it to do."""
    return _DEPRECATED.search(f"{documentation_of(function)} {function.attributes}") is not None


def _is_in_idle_class(function: Function) -> bool:
    """Whether it is of a null object, or of one that Kotlin makes in an expression, which answers all that its type asks."""
    owner = function.container
    if owner is not None and owner.type == "object_literal":
        return "override" in function.attributes.split()
    above = "" if owner is None else _comments_above(owner)
    return _IDLE_TYPE.search(function.type_name) is not None or _IS_A_DUMMY.search(above) is not None


_REQUIRED_TYPE: Final = pattern(
    r"(?:Stub|Fake|Mock|Empty|Unimplemented|Visitor|Listener|Observer|Callbacks?|Hooks?|Interceptor|Delegate)(?=[A-Z_]|$)"
    r"|^(?:stub|fake|mock|empty|unimplemented)(?=[A-Z_]|$)"
)
_REQUIRED_WORDS: Final = pattern(
    r"\bimplement(?:s|ing|ation of)\b|\b(?:satisf|fulfil)\w*|\bpart of the \w+ (?:interface|protocol|contract)\b|\brequired by\b"
    r"|\b(?:called|invoked|run|executed) (?:by|when|whenever|before|after|once|on|for)\b|\bhooks?\b",
    re.IGNORECASE,
)
"""The purpose of a method: who else calls it, and when."""


def is_required_by_others(function: Function) -> bool:
    """Whether its type or its documentation says that others call it, or another method of its type does nothing as well."""
    if not function.type_name:
        return False
    is_named_so = _REQUIRED_TYPE.search(function.type_name) is not None
    if is_named_so or _REQUIRED_WORDS.search(documentation_of(function)) is not None:
        return True
    return bool(_find_idle_methods(function.source)[function.type_name] - {function.name})


@memoized
def _find_idle_methods(source: Source) -> defaultdict[str, set[str]]:
    """By the name of the type, the names of its methods that do nothing."""
    names = defaultdict[str, set[str]](set)
    for function in find_functions(source):
        if function.type_name and not is_constructor(function) and is_idle(function):
            names[function.type_name].add(function.name)
    return names


def is_constructor(function: Function) -> bool:
    return "constructor" in function.node.type or function.name in {"constructor", "__init__"}


_INTERFACE_METHOD: Final = pattern(r"^[ \t]+(\w+)\(", 8)
_TYPE_USE: Final = pattern(r"type (\w+)|func \((?:\w+ )?\*?(\w+)")


def can_satisfy_interface(changed: ChangedFunction, change: CodeChange) -> bool:
    """Whether it is a method of Go that an interface may ask for.

    Only its own package can ask for a private one. If its type was there before, the interface is new or asks for more, and the
    change names the method.
    """
    function = changed.function
    if function.source.language is not Language.GO or function.node.type != "method_declaration":
        return False
    if function.name[:1].isupper() or function.type_name not in _find_older_types(changed.file):
        return True
    return function.name in _find_interface_methods(change)


@memoized
def _find_interface_methods(change: CodeChange) -> frozenset[str]:
    """Names at the beginning of an indented line, as an interface of Go has one for each method."""
    texts = (source.text for file in change.files if file.language is Language.GO for source in file.sources)
    return frozenset(chain.from_iterable(map(_INTERFACE_METHOD.findall, texts)))


@memoized
def _find_older_types(file: AnalyzedFile) -> frozenset[str]:
    """The types of Go that an unchanged line defines or gives a method."""
    kept = (line for source in file.sources for line in enumerate(source.lines, source.first_line))
    matches = (_TYPE_USE.match(text) for number, text in kept if number not in file.added_lines)
    return frozenset(match[1] or match[2] for match in matches if match is not None)


def is_passed_as_value(function: Function, change: CodeChange) -> bool:
    """Whether the change hands the function to code that decides what it has to accept."""
    if function.scope not in {FunctionScope.MODULE, FunctionScope.FUNCTION} or function.type_name:
        return False
    if function.name in references.find_passed_names(change):
        return True
    # the place of a missing argument: `if callback is None: def callback(reply): return None`
    around = (ancestor.child_by_field_name("parameters") for ancestor in ancestors(function.node))
    parameters = next((node for node in around if node is not None), None)
    return re.search(rf"\b{re.escape(function.name)}\b", text_of(parameters)) is not None


def is_replaceable(function: Function, change: CodeChange) -> bool:
    """Whether it is a method of a class that the change hands to a loader, which may take another class.

    A method that is called by the name of its class is not.
    """
    if not function.type_name or function.type_name not in references.find_passed_names(change):
        return False
    call = f"{function.type_name}.{function.name}("
    return not any(call in line for file in change.files for line in file.diff.added_texts)


def is_required_by_framework(function: Function) -> bool:
    """Whether it is an exported function of a script, or the start of a program: what loads the file may need it."""
    if function.source.language in SCRIPT_LANGUAGES:
        return any(around.type == "export_statement" for around in ancestors(function.node))
    return function.name == "main"


_DOES_NOT_COMPILE: Final = pattern(r"```[\w, ]{0,40}compile_fail")
_COMPILE_CHECK_NAME: Final = pattern(r"_*(?:assert|expect|check|ensure|require|static|is|type)(?=[A-Z_]|$)")


def is_compile_check(function: Function) -> bool:
    """Whether it only asks if some types fit: it has parameters for them and no body. Or its documentation does not compile."""
    types = text_of(function.node.child_by_field_name("type_parameters"))
    if function.statements or function.type_name:
        return False
    if _DOES_NOT_COMPILE.search(documentation_of(function)):
        return True
    is_named_so = _COMPILE_CHECK_NAME.match(function.name) is not None
    if not types:
        parameters = function.node.child_by_field_name("parameters")
        is_of_types = parameters is not None and parameters.named_child_count > 0 and not list_parameters(function)
        return is_of_types and is_named_so
    is_bound = function.source.language is not Language.RUST or ":" in types
    return is_bound and (not list_parameters(function) or is_named_so)


_IDLE_NAME: Final = pattern(
    r"no_?op|NoOp|^_*(?:a?nop|ignore|skip|dummy|null|empty|nothing|never|always|default|unused|reserved|identity|disabled?|fallback|stub|fake|mock)$"
    r"|^_*(?:nop|ignore|dummy|null|nothing|never|fake|mock)_|^(?:ignore|dummy|nothing|never)[A-Z]"
    r"|^_*(?:on|handle|callback|hook|before|after|pre|post|reverse|upgrade|downgrade|forwards?|backwards?|pytest|assert_?never)(?:_|[A-Z]|$)"
    r"|^(?:setUp|tearDown|setup|teardown|close|Dispose(?:Async)?|InitializeLifetimeService)$|^__(?:a?enter|a?exit|del|init_subclass|post_init|copy|deepcopy|call)__$"
)
"""Names of functions that may do nothing: callbacks, hooks, migrations."""
_PLATFORM: Final = pattern(r"#\[cfg\(|#\[cfg_attr|allow\((?:unused|dead_code|clippy|warnings)")
_WHOLE_FILE: Final = pattern(
    r"^#!\[cfg\(|^#!\[allow\((?:unused|dead_code)|^//go:build|^// \+build", 8, needs=("#![", "go:build", "+build")
)
_BEGINNING: Final = 30
_PLATFORMS: Final = "windows|win(?:32|64)?|unix|linux|darwin|mac(?:os)?|posix|plan9|wasm(?:32)?|wasi|android|ios|(?:free|net|open)?bsd|dragonfly|solaris|illumos|aix|nacl|cygwin"
_OF_A_PLATFORM: Final = pattern(rf"(?:^|[/_.-])(?:{_PLATFORMS})(?:[/_.-]|$)", 2)
_STAND_IN_FILE: Final = pattern(
    rf"(?:^|[/_.-])(?:no_?op|null|dummy|fake|mock|stub|compat|shim|polyfill|{_PLATFORMS}|nocgo|other|unsupported)s?(?:[/_.-]|$)",
    2,
)
_REFUSES: Final = pattern(
    r"\braise\b|\bthrow\b|\breturn\b.{0,200}\b[\w.]*[Ee]rr|\bErr\(|\bbail!|\bunimplemented!|\bpanic\b"
)
_NOT_SUPPORTED: Final = pattern(r"\b(?:supported|available|implemented)\b", 2)
_FEATURE: Final = pattern(
    r"(?:pub(?:\([\w:]{1,40}\))? ?)?#\[cfg\(feature = \"[\w-]+\"\)\](?: pub(?:\([\w:]{1,40}\))?)?"
)


def is_named_idle(function: Function) -> bool:
    """Whether its name is one of a callback, a hook, a migration or a default."""
    return _IDLE_NAME.search(function.name) is not None


def is_platform_variant(changed: ChangedFunction) -> bool:
    """Whether it stands in for the same function of another platform or feature."""
    file, function = changed
    if _STAND_IN_FILE.search(file.path):
        return True
    # built with a feature of Rust, it may be the only function of its file that has the name
    is_plain = function.container is None and _FEATURE.fullmatch(function.attributes) is not None
    is_only = is_plain and function.source.is_whole and function.source.text.count(f"fn {function.name}") == 1
    if _PLATFORM.search(function.attributes) and not is_only:
        return True
    for around in (node for node in ancestors(function.node) if node.type in {"mod_item", "impl_item"}):
        # a macro above a module may write its bodies; one above an implementation is there for what they do
        above = " ".join(map(text_of, siblings_above(around, lambda node: node.type == "attribute_item")))
        if above and (around.type == "mod_item" or _PLATFORM.search(above)):
            return True
    return _WHOLE_FILE.search("\n".join(function.source.lines[:_BEGINNING])) is not None


def is_named_after_a_platform(file: AnalyzedFile) -> bool:
    return _OF_A_PLATFORM.search(file.path) is not None


def is_declared_refusal(text: str) -> bool:
    """Whether it fails with the message that something is not supported or implemented here."""
    return _REFUSES.search(text) is not None and _NOT_SUPPORTED.search(text) is not None


_ONE_OF_SEVERAL: Final = pattern(
    r"(?:Plugin|Extension|Adapter|Provider|Backend|Driver|Middleware|Transport|Client)(?=[A-Z_]|$)"
)
"""Names of types of which a program has several, all used alike."""
_DECLARED: Final = register_types(
    {
        Language.GO: ("method_elem",),
        Language.RUST: ("function_signature_item",),
        **dict.fromkeys((Language.TYPESCRIPT, Language.TSX), ("method_signature", "abstract_method_signature")),
    }
)
_HERITAGE: Final = frozenset(
    {"class_heritage", "base_list", "base_clause", "class_interface_clause", "delegation_specifiers"}
)


def can_be_override(function: Function) -> bool:
    """Whether a type above may ask for it as it is. Rust's compiler asks for `_` before what is not used."""
    language, owner = function.source.language, function.container
    if language in {Language.RUST, Language.GO}:
        return function.scope is FunctionScope.UNKNOWN
    if "override" in function.attributes.lower().replace("@", " ").split():
        return True
    if language in SCRIPT_LANGUAGES and function.node.type == "arrow_function":
        return ":" in text_of(function.node.parent).partition("=")[0]
    if function.scope is not FunctionScope.TYPE or owner is None:
        return function.scope in {FunctionScope.BRANCH, FunctionScope.UNKNOWN} and not has_private_modifier(function)
    if owner.type in {"object", "object_creation_expression", "enum_declaration"}:
        return True
    has_a_word = language in {Language.JAVA, Language.KOTLIN}  # authors of Java write @Override
    return not has_a_word and has_supertypes(function)


def is_called_by_own_class(function: Function, change: CodeChange) -> bool:
    """Whether an older class of Python calls its new private method, and no other one has its name."""
    owner, name = function.container, function.name
    if owner is None or owner.type != "class_definition" or not name.startswith("_") or name.startswith("__"):
        return False
    file = next((file for file in change.files if function.source in file.sources), None)
    if file is None or not function.source.is_whole or function.line_of(owner) in file.added_lines:
        return False
    return f"self.{name}(" in text_of(owner) and references.count_definitions(change)[name] == 1


def can_be_one_of_several(function: Function, change: CodeChange) -> bool:
    """Whether an interface may ask several types for the method: by its type's name, or since another type has it too."""
    if not function.type_name or has_private_modifier(function):
        return False
    others = _find_types_by_method(change)[function.name] - {function.type_name}
    return bool(others) or _ONE_OF_SEVERAL.search(function.type_name) is not None


@memoized
def _find_types_by_method(change: CodeChange) -> defaultdict[str, set[str]]:
    """By the name of a method, the types that define or declare it. A declaration counts as a type of its own."""
    types_by_method = defaultdict[str, set[str]](set)
    for source in (source for file in change.production_files() for source in file.sources):
        for function in find_functions(source):
            if function.type_name and "constructor" not in function.node.type:
                types_by_method[function.name].add(function.type_name)
        types = _DECLARED.get(source.language)
        for node in source.nodes.find(types) if types else ():
            types_by_method[text_of(node.child_by_field_name("name"))].add("")
    return types_by_method


def is_instantiated(function: Function, change: CodeChange) -> bool:
    """Whether some code makes an object of the class around it, so that the class is not abstract."""
    owner = function.container
    name = text_of(owner.child_by_field_name("name")) if owner is not None else ""
    return name in references.find_instantiated(change) and not has_supertypes(function)


def is_only_refusal(function: Function) -> bool:
    """Whether it is the only one of its class; a class with several leaves them to those below."""
    return text_of(function.container).count("NotImplementedError") == 1


def has_private_modifier(function: Function) -> bool:
    modifiers = function.attributes.split()
    return "private" in modifiers or "static" in modifiers or function.name.startswith("#")


def has_supertypes(function: Function) -> bool:
    owner = function.container
    if owner is None:
        return False
    fields = ("superclasses", "superclass", "interfaces")
    bases = " ".join(text_of(owner.child_by_field_name(field)) for field in fields).strip("() ")
    is_below = bool(bases) and bases not in {"object", "BaseModel", "NamedTuple", "typing.NamedTuple"}
    return is_below or any(child.type in _HERITAGE for child in owner.children)
