"""Signs that somebody outside of a function decides what it must look like, or whether it does anything.

Does not read bodies. Invariant: in doubt there is such a sign.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.changed_functions import ChangedFunction
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.syntax import ancestors, register_types, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_IDLE_NAME: Final = pattern(
    r"no_?op|NoOp|^_*(?:a?nop|ignore|skip|dummy|null|empty|nothing|never|always|default|unused|reserved|identity|disabled?|fallback|stub|fake|mock)$"
    r"|^_*(?:nop|ignore|dummy|null|nothing|never|fake|mock)_|^(?:ignore|dummy|nothing|never)[A-Z]"
    r"|^_*(?:on|handle|callback|hook|before|after|pre|post|reverse|upgrade|downgrade|forwards?|backwards?|pytest|assert_?never)(?:_|[A-Z]|$)"
    r"|^(?:setUp|tearDown|setup|teardown|close|Dispose(?:Async)?|InitializeLifetimeService)$|^__(?:a?enter|a?exit|del|init_subclass|post_init|copy|deepcopy|call)__$"
)
"""What such a function is called, it may do nothing: callbacks, hooks, migrations."""
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


def is_named_idle(function: Function) -> bool:
    """It is called like one that may do nothing: a callback, a hook, a migration, a default."""
    return _IDLE_NAME.search(function.name) is not None


def is_platform_variant(changed: ChangedFunction) -> bool:
    """It stands in for the same function of another platform or feature."""
    file, function = changed
    if _STAND_IN_FILE.search(file.path) or (_PLATFORM.search(function.attributes) and not _is_only_variant(function)):
        return True
    if any(map(_has_macro_body, _modules_around(function))):
        return True
    return _WHOLE_FILE.search("\n".join(function.source.lines[:_BEGINNING])) is not None


def is_named_after_a_platform(file: AnalyzedFile) -> bool:
    return _OF_A_PLATFORM.search(file.path) is not None


def is_declared_refusal(text: str) -> bool:
    """It refuses by an error, and says that something is not supported or implemented here."""
    return _REFUSES.search(text) is not None and _NOT_SUPPORTED.search(text) is not None


_REFUSES: Final = pattern(
    r"\braise\b|\bthrow\b|\breturn\b.{0,200}\b[\w.]*[Ee]rr|\bErr\(|\bbail!|\bunimplemented!|\bpanic\b"
)
_NOT_SUPPORTED: Final = pattern(r"\b(?:supported|available|implemented)\b", 2)


def _is_only_variant(function: Function) -> bool:
    """Built with a feature of Rust, and no other function of its file has the name: then it stands in for none."""
    is_plain = function.container is None and _FEATURE.fullmatch(function.attributes) is not None
    return is_plain and function.source.is_whole and function.source.text.count(f"fn {function.name}") == 1


_FEATURE: Final = pattern(
    r"(?:pub(?:\([\w:]{1,40}\))? ?)?#\[cfg\(feature = \"[\w-]+\"\)\](?: pub(?:\([\w:]{1,40}\))?)?"
)


def _has_macro_body(around: "Node") -> bool:
    """A macro may write the bodies of a module anew; one above an implementation is there for what the bodies do."""
    above = _attributes_above(around)
    return bool(above) and (around.type == "mod_item" or _PLATFORM.search(above) is not None)


def _modules_around(function: Function) -> Iterator["Node"]:
    """The modules and implementations of Rust around it."""
    return (node for node in ancestors(function.node) if node.type in {"mod_item", "impl_item"})


def _attributes_above(node: "Node") -> str:
    texts: list[str] = []
    before = node.prev_named_sibling
    while before is not None and before.type == "attribute_item":
        texts.append(text_of(before))
        before = before.prev_named_sibling
    return " ".join(texts)


def can_be_override(function: Function) -> bool:
    """A type above may ask for it as it is; Rust's compiler asks for `_` before what is not used."""
    language, owner = function.source.language, function.container
    if language in {Language.RUST, Language.GO}:
        return function.scope is FunctionScope.UNKNOWN
    modifiers = function.attributes.lower().replace("@", " ").split()
    if "override" in modifiers:
        return True
    if language in SCRIPT_LANGUAGES and function.node.type == "arrow_function":
        return ":" in text_of(function.node.parent).partition("=")[0]
    if function.scope is not FunctionScope.TYPE or owner is None:
        return function.scope in {FunctionScope.BRANCH, FunctionScope.UNKNOWN} and not has_private_modifier(function)
    if owner.type in {"object", "object_creation_expression", "enum_declaration"}:
        return True
    has_a_word = language in {Language.JAVA, Language.KOTLIN}  # who writes Java writes @Override
    return not has_a_word and has_supertypes(function)


def is_called_by_own_class(function: Function, change: CodeChange) -> bool:
    """A new private method of a class of Python that was there before: the class calls it, and nobody else defines its name."""
    owner, name = function.container, function.name
    if owner is None or owner.type != "class_definition" or not name.startswith("_") or name.startswith("__"):
        return False
    file = next((file for file in change.files if function.source in file.sources), None)
    if file is None or not function.source.is_whole or function.line_of(owner) in file.added_lines:
        return False
    return f"self.{name}(" in text_of(owner) and references.count_definitions(change)[name] == 1


def can_be_one_of_several(function: Function, change: CodeChange) -> bool:
    """Whether an interface may ask several types for the method: by its type's name, or since another one has it too."""
    if not function.type_name or has_private_modifier(function):
        return False
    others = change.cached(_types_by_method)[function.name] - {function.type_name}
    return bool(others) or _ONE_OF_SEVERAL.search(function.type_name) is not None


_ONE_OF_SEVERAL: Final = pattern(
    r"(?:Plugin|Extension|Adapter|Provider|Backend|Driver|Middleware|Transport|Client)(?=[A-Z_]|$)"
)
"""What a type is called of which a program has several, all used alike."""


def _types_by_method(change: CodeChange) -> defaultdict[str, set[str]]:
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


_DECLARED: Final = register_types(
    {
        Language.GO: ("method_elem",),
        Language.RUST: ("function_signature_item",),
        **dict.fromkeys((Language.TYPESCRIPT, Language.TSX), ("method_signature", "abstract_method_signature")),
    }
)


def is_instantiated(function: Function, change: CodeChange) -> bool:
    """Whether something makes an object of the class around it, so that it is no abstract one."""
    owner = function.container
    name = text_of(owner.child_by_field_name("name")) if owner is not None else ""
    return name in references.find_instantiated(change) and not has_supertypes(function)


def is_only_refusal(function: Function) -> bool:
    """A class with several leaves them to those below."""
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


_HERITAGE: Final = frozenset(
    {"class_heritage", "base_list", "base_clause", "class_interface_clause", "delegation_specifiers"}
)
