"""Functions that do nothing: empty bodies, and bodies that only return a constant.

A fact needs a new function that is promised more work than it does (it takes what it never looks at, it is documented as doing
something, or its work stands there as a comment), and that nothing else may ask for as it is.
"""

import re
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import stubs
from worker.signals.analysis.change import CodeChange, memoized
from worker.signals.analysis.changed_functions import (
    ChangedFunction,
    documentation_of,
    find_examples,
    find_new_functions,
    find_rewritten,
    find_wrapped,
    is_extended,
    is_hook,
    is_import_fallback,
    is_of_a_trait,
    is_overridable,
    is_run_by_a_framework,
    is_stage,
)
from worker.signals.analysis.file_roles import MORE_LANGUAGES, Language
from worker.signals.analysis.functions import Function, FunctionScope, has_ignored_parameters, list_parameters
from worker.signals.analysis.syntax import text_of
from worker.signals.half_finished.commented_out_code import is_commented_code
from worker.signals.half_finished.import_unused import find_unused_imports
from worker.signals.half_finished.stub_body import Certainty, find_stubs
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_TELLING: Final = 7
"""Words of a documentation that describes work."""
_WORD: Final = pattern(r"[A-Za-z]{2,}")
_DENIAL: Final = pattern(
    r"(?:^|[.!?]\s)\W{0,20}(?:\w{1,20} ){0,2}(?:do(?:es)?n't|(?:do(?:es)?|must|should|shall|will) not|can't|cannot|won't|never)\b[^.!?]*",
    re.IGNORECASE,
)
"""A sentence about what is not done, which promises no work."""
_YIELDING: Final = pattern(r"@(?:contextlib\.)?(?:async)?contextmanager\b")
_MAKER_OF_GO: Final = pattern(r"[nN]ew(?=[A-Z]|$)")
"""It returns a new value, and may take what all of its kind take."""
_BY_VALUE: Final = pattern(r"\(\s*(?:(?:mut )?self\s*[,):]|(?:\w+\s*:\s*)?(?:Option<)?Box<)")
_DEFAULT: Final = pattern(r"_*default_?(?=[A-Z_a-z]{2})\w*(?:callback|handler|hook|listener|filter)s?$", re.IGNORECASE)
"""A default callback, which may do nothing."""
_FALSE: Final = pattern(r"return (?:false;|False)")
_YES_OR_NO: Final = pattern(r"return (?:[tT]rue|[fF]alse|-?\d+);?")


class _EmptyReason(Enum):
    """What promises more work than there is."""

    COMMENTED_OUT = "its work stands there as a comment"
    TAKES = "it takes `{}` and never looks at it"
    DOCUMENTED = "its documentation promises more"
    PRIVATE = "nobody else can fill it in"
    IMPORTED = "nothing uses what the change imports for it"
    NULL = "it only hands back null"
    YIELDS_NOTHING = "a context manager has to yield"
    EMPTIED = "its work was taken out"
    NOTHING = "nothing says why"


_SURE_REASONS: Final = frozenset(_EmptyReason) - {
    _EmptyReason.YIELDS_NOTHING,
    _EmptyReason.EMPTIED,
    _EmptyReason.NOTHING,
}


class _EmptyBody(NamedTuple):
    changed: ChangedFunction
    reason: _EmptyReason
    is_sure: bool


@signal(
    Category.HALF_FINISHED,
    SignalKind.FACT,
    SignalScope.PRODUCTION,
    "Write the body of the function at {place}, or take the function out of this change.",
)
def body_does_nothing(change: CodeChange) -> Iterator[SignalMatch]:
    """A new function that does nothing, though it has parameters, a documentation or a body in comments.

    Does nothing: it is empty, or returns a constant. None where anything shows that this is its job, none beside finished
    work that neither calls nor asks for it, and none where the title announces a stage.

    Why it matters: Its callers get an answer without the work behind it, and nothing fails.
    Example: `def is_allowed(user, path): return False`, where neither parameter is looked at.
    False alarms: 13 of 30051 clean changes with production code (0.0 %, at most 0.07 %).
    """
    yield from (_build_match(body) for body in _find_empty_bodies(change) if body.is_sure)


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def body_empty_suspected(change: CodeChange) -> Iterator[SignalMatch]:
    """A body that does nothing where that may be right (an override, a hook), or from which the work was taken out.

    Why it matters: Work that was taken out is missed only by what relied on it.
    Example: A method of a subclass whose whole body is `return None`.
    False alarms: 359 of 30051 clean changes with production code (1.2 %, at most 1.32 %).
    """
    yield from (_build_match(body) for body in _find_empty_bodies(change) if not body.is_sure)


def _build_match(body: _EmptyBody) -> SignalMatch:
    file, function = body.changed
    names = ", ".join(list_parameters(function))
    rows = function.statements or (function.body,)
    first = min(function.first_line, function.line_of(rows[0]))
    note = f"`{function.name}` does nothing: {body.reason.value.format(names)}"
    step = f"Write the body of `{function.name}` at {{place}}, or take the function out of this change."
    return SignalMatch(note, file.path, first, function.last_line, step=step)


@memoized
def _find_empty_bodies(change: CodeChange) -> tuple[_EmptyBody, ...]:
    certainties = {
        (stub.changed.file.path, stub.changed.function.first_line): stub.certainty for stub in find_stubs(change)
    }
    new = (
        _judge_new(changed, certainties.get((changed.file.path, changed.function.first_line)), change)
        for changed in find_new_functions(change)
        if stubs.is_idle(changed.function)
    )
    wrapped = (_judge_wrapped(changed, change) for changed in find_wrapped(change) if stubs.is_idle(changed.function))
    examples = (  # others there may be brief on purpose
        _EmptyBody(changed, _EmptyReason.COMMENTED_OUT, is_sure=False)
        for changed in find_examples(change)
        if stubs.is_idle(changed.function) and _find_reason(changed.function) is _EmptyReason.COMMENTED_OUT
    )
    emptied = (
        _EmptyBody(changed, _EmptyReason.EMPTIED, is_sure=False)
        for changed in find_rewritten(change)
        if stubs.is_idle(changed.function) and not changed.function.comments and _is_odd(changed.function)
    )
    return tuple(filter(None, chain(new, wrapped, examples, emptied)))


def _judge_new(changed: ChangedFunction, stub: Certainty | None, change: CodeChange) -> _EmptyBody | None:
    function, reason = changed.function, _find_reason(changed.function)
    # a stub is reported as one, but where it may be right, a body in comments is still wrong
    if stub is Certainty.FACT or (stub is not None and reason is not _EmptyReason.COMMENTED_OUT):
        return None
    is_known = reason in _SURE_REASONS and not is_import_fallback(function)
    is_sure = is_known and not _is_doubtful(changed, reason, change)
    if not is_sure and not _is_intended(changed, change) and find_unused_imports(changed.file):
        # it came with the work, and the work is gone
        reason, is_sure = _EmptyReason.IMPORTED, True
    is_sure = is_sure and not is_stage(function, change)
    return _EmptyBody(changed, reason, is_sure) if is_sure or _is_odd(function) else None


def _judge_wrapped(changed: ChangedFunction, change: CodeChange) -> _EmptyBody | None:
    """Judge a decorated body: the decorator may give it work, but a context manager fails, and work in comments is gone."""
    if _YIELDING.search(changed.function.attributes):
        return _EmptyBody(changed, _EmptyReason.YIELDS_NOTHING, is_sure=is_run_by_a_framework(changed.function))
    if _find_reason(changed.function) is _EmptyReason.COMMENTED_OUT:
        return _EmptyBody(changed, _EmptyReason.COMMENTED_OUT, is_sure=not stubs.is_stub_requested(change))
    return None


def _is_intended(changed: ChangedFunction, change: CodeChange) -> bool:
    """Whether anything but a hook or a type asks for it as it is."""
    function = changed.function
    return (
        stubs.is_stub_requested(change)
        or "@Override" in function.attributes
        or stubs.is_required_by_others(function)
        or stubs.is_constructor(function)
        or is_import_fallback(function)
        or stubs.is_platform_variant(changed)
        or stubs.is_declared_idle(function)
        or _YES_OR_NO.fullmatch(_answer_of(function)) is not None
    )


def _answer_of(function: Function) -> str:
    """The text of its first statement, empty without one."""
    return text_of(function.statements[0]) if function.statements else ""


def _find_reason(function: Function) -> _EmptyReason:
    notes = [text_of(note) for note in function.remarks]
    if notes and is_commented_code(notes, function.source.language):
        return _EmptyReason.COMMENTED_OUT
    if list_parameters(function):
        return _EmptyReason.TAKES
    if not function.statements and _is_final(function):
        return _EmptyReason.PRIVATE
    if function.source.language is Language.JAVA and _answer_of(function) == "return null;":
        return _EmptyReason.NULL
    return _find_documented_reason(function)


def _find_documented_reason(function: Function) -> _EmptyReason:
    if stubs.is_constructor(function) or has_ignored_parameters(function):
        return _EmptyReason.NOTHING
    promise = _DENIAL.sub(" ", documentation_of(function))
    return _EmptyReason.DOCUMENTED if len(_WORD.findall(promise)) >= _TELLING else _EmptyReason.NOTHING


def _is_final(function: Function) -> bool:
    """Whether nothing can override it: a private method, a plain function, or one of a type of Rust."""
    match function.node.type:
        case "function_item":
            owner = function.container
            return owner is None or owner.child_by_field_name("trait") is None
        case "function_declaration" if function.source.language is Language.KOTLIN:
            return "private" in function.attributes.split()
        case "function_declaration":
            return not function.name[:1].isupper()
        case "method_declaration" | "method_definition":
            return "private" in function.attributes.split() or function.name.startswith("#")
        case _:
            return False


def _is_doubtful(changed: ChangedFunction, reason: _EmptyReason, change: CodeChange) -> bool:
    function, language = changed.function, changed.function.source.language
    if reason is _EmptyReason.COMMENTED_OUT or stubs.is_stub_requested(change):
        return stubs.is_stub_requested(change)
    parameters = text_of(function.node.child_by_field_name("parameters"))
    # Rust drops what a function takes by value, its receiver or a box
    is_dropping = language is Language.RUST and not function.statements and _BY_VALUE.match(parameters)
    is_of_a_field = function.name.startswith("default_") and not list_parameters(function)  # serde asks for its value
    return bool(
        function.source.is_of_macro
        or stubs.is_platform_variant(changed)
        or stubs.is_declared_idle(function)
        or is_dropping
        or is_of_a_field
        or (_DEFAULT.match(function.name) and not function.type_name)
        or (language is Language.GO and _MAKER_OF_GO.match(function.name))
        or (reason is _EmptyReason.PRIVATE and stubs.is_required_by_framework(function))
        or (not stubs.has_private_modifier(function) and _has_purpose(changed, change))
    )


def _has_purpose(changed: ChangedFunction, change: CodeChange) -> bool:
    function, answer = changed.function, _answer_of(changed.function)
    is_override = "override" in function.attributes.lower().replace("@", " ").split()
    is_of_ruby = function.source.language is Language.RUBY and function.scope is FunctionScope.TYPE
    is_virtual = is_of_ruby or is_overridable(function) or stubs.can_be_override(function)
    if (
        (is_override and not list_parameters(function) and _YES_OR_NO.fullmatch(answer))  # a constant state or kind
        or (function.source.language in MORE_LANGUAGES and is_virtual)
        or stubs.is_compile_check(function)
        or stubs.is_required_by_others(function)
        or stubs.is_passed_as_value(function, change)
    ):
        return True
    if stubs.is_constructor(function) or stubs.is_called_by_own_class(function, change):
        return False  # what a constructor takes, it asked for
    if function.name in {"equals", "__eq__", "Equals"} and _FALSE.fullmatch(answer):
        return False  # an object equals itself, whatever a type asks for
    return (
        _can_be_required_by_type(function)
        or stubs.can_satisfy_interface(changed, change)
        or stubs.can_be_one_of_several(function, change)
        or stubs.is_replaceable(function, change)
        or is_hook(function)
        or is_extended(function, change)
    )


def _can_be_required_by_type(function: Function) -> bool:
    if is_of_a_trait(function):
        return not list_parameters(function)  # the compiler warns of one that is not used and has no `_`
    is_java = function.source.language is Language.JAVA
    is_silent = not function.statements or _find_reason(function) is _EmptyReason.NULL
    if is_java and is_silent and stubs.has_supertypes(function):
        return True  # older code implements a type without `@Override`
    modifiers = set(function.attributes.replace("@", " ").split())
    if not is_java or function.scope is not FunctionScope.UNKNOWN or modifiers & {"Override", "default"}:
        return stubs.can_be_override(function)
    # an implementation is public, and documented by its type
    is_closed = modifiers.isdisjoint({"public", "protected", "Nullable"}) and _answer_of(function) == "return null;"
    is_documented = _find_documented_reason(function) is _EmptyReason.DOCUMENTED
    return not is_closed and not is_documented and stubs.can_be_override(function)


def _is_odd(function: Function) -> bool:
    """Whether nothing asks for it as it is."""
    is_to_be_filled = is_overridable(function) and _find_documented_reason(function) is _EmptyReason.NOTHING
    return not stubs.is_constructor(function) and not is_to_be_filled and not stubs.is_declared_idle(function)
