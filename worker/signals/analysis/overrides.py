"""Whether a body without work is right where it stands: abstract, an interface, a hook, an overload, a test.

Does not read the body. Invariant: in doubt a function is meant to be overridden, so that it is no fact.
"""

import re
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import MORE_LANGUAGES, Language
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.syntax import ancestors, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DECLARING: Final = pattern(
    r"\b(abstractmethod|abstractproperty|abstractclassmethod|overload|abstract|type_check_only)\b"
)
_PLAIN_DECORATOR: Final = pattern(
    r"@(staticmethod|classmethod|property|cached_property|functools\.cached_property|\w+\.setter)\b"
)
_RUNNING: Final = pattern(
    r"@(?:\w+\.){0,4}(?:route|get|post|put|patch|delete|websocket|command|option|argument|pass_context|pass_obj|task|shared_task|fixture|errorhandler"
    r"|lru_cache|cache|wraps|contextmanager|asynccontextmanager|login_required|retry|(?:field_|model_)?validator)\b(?:\([^@]{0,500}\))?"
)
"""Decorators of Python that run the body as it stands."""

_TESTS: Final = pattern(r"#\[(?:cfg\((?>.{0,300}?\btest\b).{0,300}?\)|(?:\w{1,60}::){0,6}test\b.{0,300}?|bench)\]")
_ABSTRACT_BASES: Final = pattern(r"\b(Protocol|ABC|ABCMeta|Interface)\b")
_ABSTRACT_NAME: Final = pattern(
    r"^_*(Base|Abstract|Null|NoOp|Noop|Dummy)|Ignor(ed|es|ing)$|Disabled$|(Base|Abstract|Mixin|Interface|Protocol|Template|Hooks?|Stub|Fake|Mock|Null|NoOp|Noop)$"
)
_OVERRIDE_WORDS: Final = pattern(
    r"overrid|subclass|abstract|must be implemented|should be implemented|implemented by|no-?op", re.IGNORECASE
)

_OPEN: Final = pattern(r"\b(?:virtual|open|partial|actual|Deprecated|Obsolete)\b")
"""What C# and Kotlin write before a method that may be overridden, is written elsewhere too, or is to be called no more."""


def is_declaration(function: Function) -> bool:
    """It declares, or is a test: nothing to say about its body."""
    language = function.source.language
    if language is Language.PYTHON:
        return _is_python_declaration(function, function.attributes)
    if language is Language.RUST:
        return _is_rust_declaration(function)
    return _is_in_interface(function) or _DECLARING.search(function.attributes) is not None


def is_run_by_a_framework(function: Function) -> bool:
    """A function of Python that is registered or wrapped, by decorators that all run its body as it stands."""
    if function.source.language is not Language.PYTHON or not _RUNNING.search(function.attributes):
        return False
    return not _is_python_declaration(function, _RUNNING.sub("", function.attributes))


def is_wrapped(function: Function) -> bool:
    """A function of Python under a decorator that does not say that it only declares."""
    decorators = function.attributes
    if function.source.language is not Language.PYTHON or "@" not in _PLAIN_DECORATOR.sub("", decorators):
        return False
    return _DECLARING.search(decorators) is None and not _is_python_declaration(function, "")


def is_concrete_in_abstract_class(function: Function) -> bool:
    """A method of an abstract class of Python that is not abstract itself, as far as its decorators say."""
    is_python = function.source.language is Language.PYTHON and function.scope is FunctionScope.TYPE
    plain = not is_wrapped(function) and "@" not in _PLAIN_DECORATOR.sub("", function.attributes)
    return is_python and plain and is_declaration(function)


def _is_python_declaration(function: Function, decorators: str) -> bool:
    if _is_type_checking_only(function) or _is_among_stubs(function):
        return True
    if _DECLARING.search(decorators) or "@" in _PLAIN_DECORATOR.sub("", decorators):
        return True  # what a decorator we do not know makes of an empty body, nobody can say
    owner = function.container
    if owner is None or owner.type != "class_definition":
        return False
    bases = text_of(owner.child_by_field_name("superclasses"))
    return _ABSTRACT_BASES.search(bases) is not None or "abstractmethod" in text_of(owner)


def _is_type_checking_only(function: Function) -> bool:
    """It stands below `if TYPE_CHECKING:`, where nothing is ever run."""
    conditions = (
        ancestor.child_by_field_name("condition")
        for ancestor in ancestors(function.node)
        if ancestor.type == "if_statement"
    )
    return any(text_of(condition).endswith("TYPE_CHECKING") for condition in conditions)


def _is_among_stubs(function: Function) -> bool:
    """It and its neighbour are dots alone, as in a protocol whose head is not shown."""
    if [text_of(statement) for statement in function.statements] != ["..."]:
        return False
    lines = function.source.lines
    near = (function.first_line - function.source.first_line - 1, function.last_line - function.source.first_line + 1)
    return any(0 <= row < len(lines) and lines[row].rstrip().endswith(": ...") for row in near)


def _is_rust_declaration(function: Function) -> bool:
    if _TESTS.search(function.attributes):
        return True
    return any(
        ancestor.type == "trait_item" or (ancestor.type == "mod_item" and _TESTS.search(_attributes_above(ancestor)))
        for ancestor in ancestors(function.node)
    )


def _attributes_above(node: "Node") -> str:
    texts: list[str] = []
    before = node.prev_named_sibling
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        texts.append(text_of(before))
        before = before.prev_named_sibling
    return " ".join(texts)


def _is_in_interface(function: Function) -> bool:
    owner = function.container
    is_there = owner is not None and owner.type in {"interface_declaration", "annotation_type_declaration"}
    return is_there and not cannot_be_overridden(function)


def is_hook(function: Function) -> bool:
    """It is one of several definitions, or it or its class says that it is there to be overridden."""
    if function.scope is FunctionScope.BRANCH:
        return True
    if function.source.language is Language.GO or cannot_be_overridden(function):
        return False
    if any(_OVERRIDE_WORDS.search(text) for text in (function.docstring, *map(text_of, function.nodes_above))):
        return True
    if is_overridable(function):
        return True
    owner = _class_of(function)
    if owner is None:
        return False
    name = text_of(owner.child_by_field_name("name"))
    return (
        owner.type == "abstract_class_declaration"
        or "abstract" in _modifiers(owner)
        or bool(_ABSTRACT_NAME.search(name))
    )


def cannot_be_overridden(function: Function) -> bool:
    """Its own words say so: `private` and, in Java, `static`."""
    modifiers = function.attributes.split()
    return "private" in modifiers or (function.source.language is Language.JAVA and "static" in modifiers)


def is_overridable(function: Function) -> bool:
    """C# and Kotlin: it says that it may be overridden, or it stands in an interface of Kotlin, a kind of class."""
    if function.source.language not in MORE_LANGUAGES:
        return False
    owner = _class_of(function)
    is_in_interface = owner is not None and any(child.type == "interface" for child in owner.children)
    return is_in_interface or _OPEN.search(function.attributes) is not None


def is_extended(function: Function, change: CodeChange) -> bool:
    """Whether any text of the dossier extends the class around it, and could override it."""
    owner = _class_of(function)
    name = text_of(owner.child_by_field_name("name")) if owner else ""
    if not name or "private" in function.attributes.split():
        return False
    return name in change.extended_classes


def _class_of(function: Function) -> "Node | None":
    owner = function.container
    return owner if owner is not None and owner.type in _CLASSES else None


_CLASSES: Final = frozenset({"class_definition", "class_declaration", "abstract_class_declaration", "class"})
_MODIFIERS: Final = frozenset({"modifiers", "modifier", "abstract_modifier"})


def _modifiers(owner: "Node") -> str:
    return " ".join(text_of(child) for child in owner.children if child.type in _MODIFIERS)


def has_working_siblings(function: Function) -> bool:
    """In an implementation of a trait whose other methods work, one that refuses does so on purpose."""
    owner = function.container
    if owner is None or owner.type != "impl_item" or owner.child_by_field_name("trait") is None:
        return False
    others = (
        other for other in find_functions(function.source) if other.container == owner and other.node != function.node
    )
    return any(
        not re.match(r"(todo|unimplemented)!", text_of(other.statements[0]) if len(other.statements) == 1 else "")
        for other in others
    )
