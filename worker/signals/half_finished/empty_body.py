"""Functions that do nothing: empty bodies, and bodies that only hand back a constant.

Does not look at bodies that say why they are unwritten (those are stubs). Invariant: a fact needs a new function that is
promised more work than it does (it takes what it never looks at, it is documented as doing something, or its work stands
there as a comment), and that nobody else may ask for as it is.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.changed_functions import (
    ChangedFunction,
    documentation_of,
    find_examples,
    find_new_functions,
    find_rewritten,
    find_wrapped,
    is_import_fallback,
)
from worker.signals.analysis.file_roles import MORE_LANGUAGES, Language
from worker.signals.analysis.functions import Function, FunctionScope
from worker.signals.analysis.outside_requirements import (
    can_be_one_of_several,
    can_be_override,
    has_private_modifier,
    has_supertypes,
    is_called_by_own_class,
    is_platform_variant,
)
from worker.signals.analysis.overrides import is_extended, is_hook, is_overridable, is_run_by_a_framework
from worker.signals.analysis.parameters import has_ignored_parameters, list_parameters
from worker.signals.analysis.staged_work import is_of_a_trait, is_stage
from worker.signals.analysis.stub_requests import is_stub_requested
from worker.signals.analysis.stubs import (
    can_satisfy_interface,
    is_compile_check,
    is_constructor,
    is_declared_idle,
    is_idle,
    is_passed_as_value,
    is_replaceable,
    is_required_by_framework,
    is_required_by_others,
)
from worker.signals.analysis.syntax import text_of
from worker.signals.half_finished.commented_out_code import is_commented_code
from worker.signals.half_finished.stub_body import Certainty, find_stubs
from worker.signals.half_finished.unused_import import find_unused_imports
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal


class _EmptyReason(Enum):
    """What speaks for more work than there is."""

    COMMENTED_OUT = "its work stands there as a comment"
    TAKES = "it takes `{}` and never looks at it"
    DOCUMENTED = "its documentation promises more"
    PRIVATE = "nobody else can fill it in"
    IMPORTED = "nothing uses what the change imports for it"
    NULL = "it only hands back null"
    YIELDS_NOTHING = "a context manager has to yield"
    EMPTIED = "its work was taken out"
    NOTHING = "nothing says why"


_SURE_REASONS: Final = frozenset(
    {
        _EmptyReason.COMMENTED_OUT,
        _EmptyReason.TAKES,
        _EmptyReason.DOCUMENTED,
        _EmptyReason.PRIVATE,
        _EmptyReason.NULL,
        _EmptyReason.IMPORTED,
    }
)


class _EmptyBody(NamedTuple):
    function: ChangedFunction
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

    Does nothing: it is empty, or hands back a constant. Where anything says that this is its job, it is not told. None beside
    finished work that neither calls nor asks for it, and none where the title announces a stage.

    False alarms: 13 of 30051 clean changes with production code (0.0 %, at most 0.07 %).
    """
    yield from (_build_match(body) for body in change.cached(_find_empty_bodies) if body.is_sure)


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def body_empty_suspected(change: CodeChange) -> Iterator[SignalMatch]:
    """A body that does nothing where that may be right (an override, a hook), or from which the work was taken out.

    False alarms: 359 of 30051 clean changes with production code (1.2 %, at most 1.32 %).
    """
    yield from (_build_match(body) for body in change.cached(_find_empty_bodies) if not body.is_sure)


def _build_match(body: _EmptyBody) -> SignalMatch:
    file, function = body.function
    names = ", ".join(list_parameters(function))
    rows = function.statements or (function.body,)
    first = min(function.first_line, function.line_of(rows[0]))
    note = f"`{function.name}` does nothing: {body.reason.value.format(names)}"
    step = f"Write the body of `{function.name}` at {{place}}, or take the function out of this change."
    return SignalMatch(note, file.path, first, function.last_line, step=step)


def _find_empty_bodies(change: CodeChange) -> tuple[_EmptyBody, ...]:
    return tuple(_select_empty_bodies(change))


def _select_empty_bodies(change: CodeChange) -> Iterator[_EmptyBody]:
    stubs = {(stub.changed.file.path, stub.changed.function.first_line): stub.certainty for stub in find_stubs(change)}
    for changed in filter(lambda changed: is_idle(changed.function), find_new_functions(change)):
        sure, why = stubs.get((changed.file.path, changed.function.first_line)), _find_reason(changed.function)
        # what a stub may be, in a class to extend, a body in comments is not
        is_told = sure is Certainty.FACT or (sure is not None and why is not _EmptyReason.COMMENTED_OUT)
        if not is_told:
            is_sure = (
                why in _SURE_REASONS
                and not is_import_fallback(changed.function)
                and not _is_doubtful(changed, why, change)
            )
            if not is_sure and _has_unused_import(changed, change):
                why, is_sure = _EmptyReason.IMPORTED, True
            is_sure = is_sure and not is_stage(changed.function, change)
            if is_sure or _is_odd(changed.function):
                yield _EmptyBody(changed, why, is_sure)
    yield from _find_in_other_files(change)
    for changed in find_rewritten(change):
        if is_idle(changed.function) and not changed.function.comments and _is_odd(changed.function):
            yield _EmptyBody(changed, _EmptyReason.EMPTIED, is_sure=False)


def _find_in_other_files(change: CodeChange) -> Iterator[_EmptyBody]:
    for changed in find_wrapped(change):
        if is_idle(changed.function):
            yield from _find_under_decorators(changed, change)
    for changed in find_examples(change):  # what else does nothing there may be brief on purpose
        if is_idle(changed.function) and _find_reason(changed.function) is _EmptyReason.COMMENTED_OUT:
            yield _EmptyBody(changed, _EmptyReason.COMMENTED_OUT, is_sure=False)


def _find_under_decorators(changed: ChangedFunction, change: CodeChange) -> Iterator[_EmptyBody]:
    """What a decorator makes of an empty body, nobody can say, but that a context manager fails, and that its work was there."""
    if _YIELDING.search(changed.function.attributes):
        yield _EmptyBody(changed, _EmptyReason.YIELDS_NOTHING, is_sure=is_run_by_a_framework(changed.function))
    elif _find_reason(changed.function) is _EmptyReason.COMMENTED_OUT:
        yield _EmptyBody(changed, _EmptyReason.COMMENTED_OUT, is_sure=not is_stub_requested(change))


_YIELDING: Final = pattern(r"@(?:contextlib\.)?(?:async)?contextmanager\b")


def _has_unused_import(changed: ChangedFunction, change: CodeChange) -> bool:
    """The change imports what nothing in the file uses: it came with the work, and the work is gone."""
    function = changed.function
    is_asked = is_stub_requested(change) or "@Override" in function.attributes
    if is_constructor(function) or is_import_fallback(function) or is_asked or is_platform_variant(changed):
        return False
    says = text_of(function.statements[0]) if function.statements else ""
    if is_declared_idle(function) or is_required_by_others(function) or _YES_OR_NO.fullmatch(says):
        return False
    return bool(changed.file.cached(find_unused_imports))


def _find_reason(function: Function) -> _EmptyReason:
    notes = [text_of(note) for note in function.remarks]
    if notes and is_commented_code(notes, function.source.language):
        return _EmptyReason.COMMENTED_OUT
    if not list_parameters(function):
        return _find_reason_without_parameters(function)
    return _EmptyReason.TAKES


def _find_reason_without_parameters(function: Function) -> _EmptyReason:
    if not function.statements:
        return _EmptyReason.PRIVATE if _is_final(function) else _find_documented_reason(function)
    is_null = function.source.language is Language.JAVA and text_of(function.statements[0]) == "return null;"
    return _EmptyReason.NULL if is_null else _find_documented_reason(function)


def _find_documented_reason(function: Function) -> _EmptyReason:
    if is_constructor(function) or has_ignored_parameters(function):
        return _EmptyReason.NOTHING
    promise = _DENIAL.sub(" ", documentation_of(function))
    return _EmptyReason.DOCUMENTED if len(_WORD.findall(promise)) >= _TELLING else _EmptyReason.NOTHING


_TELLING: Final = 7
"""Words of a documentation that says what is done."""
_WORD: Final = pattern(r"[A-Za-z]{2,}")
_DENIAL: Final = pattern(
    r"(?:^|[.!?]\s)\W{0,20}(?:\w{1,20} ){0,2}(?:do(?:es)?n't|(?:do(?:es)?|must|should|shall|will) not|can't|cannot|won't|never)\b[^.!?]*",
    re.IGNORECASE,
)
"""A sentence that says what is not done: it promises no work."""


def _is_final(function: Function) -> bool:
    """Nobody can override it: a private method, a plain function, or one of a type of Rust."""
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
    function = changed.function
    if reason is _EmptyReason.COMMENTED_OUT:
        return is_stub_requested(change)
    if (
        function.source.is_of_macro
        or is_stub_requested(change)
        or is_platform_variant(changed)
        or is_declared_idle(function)
    ):
        return True
    if _is_dropping_argument(function) or (reason is _EmptyReason.PRIVATE and is_required_by_framework(function)):
        return True
    if _has_default_name(function):
        return True
    return not has_private_modifier(function) and _has_purpose(changed, change)


def _has_default_name(function: Function) -> bool:
    """A default that does nothing, one that serde takes for the value of a field, or a maker of Go."""
    is_default = _DEFAULT.match(function.name) is not None and not function.type_name
    is_of_a_field = function.name.startswith("default_") and not list_parameters(function)
    is_maker = function.source.language is Language.GO and _MAKER_OF_GO.match(function.name) is not None
    return is_default or is_of_a_field or is_maker


def _is_dropping_argument(function: Function) -> bool:
    """Rust drops what a function takes by value, its receiver or a box, so an empty body does something."""
    is_empty = function.source.language is Language.RUST and not function.statements
    return is_empty and _BY_VALUE.match(text_of(function.node.child_by_field_name("parameters"))) is not None


_MAKER_OF_GO: Final = pattern(r"[nN]ew(?=[A-Z]|$)")
"""It hands back a new thing, and may take what all of its kind take."""
_BY_VALUE: Final = pattern(r"\(\s*(?:(?:mut )?self\s*[,):]|(?:\w+\s*:\s*)?(?:Option<)?Box<)")
_DEFAULT: Final = pattern(r"_*default_?(?=[A-Z_a-z]{2})\w*(?:callback|handler|hook|listener|filter)s?$", re.IGNORECASE)
"""What is called where nothing else was given: to do nothing is right."""


def _has_purpose(changed: ChangedFunction, change: CodeChange) -> bool:
    function = changed.function
    if _is_constant_answer(function) or _is_required_by_type(function) or is_compile_check(function):
        return True
    if is_required_by_others(function) or is_passed_as_value(function, change):
        return True
    if is_constructor(function) or is_called_by_own_class(function, change) or _is_never_equal(function):
        return False  # what a constructor takes, it asked for
    is_asked_by_a_type = _can_be_required_by_type(function) or can_satisfy_interface(changed, change)
    is_asked_by_a_type = is_asked_by_a_type or can_be_one_of_several(function, change)
    is_asked_by_a_type = is_asked_by_a_type or is_replaceable(function, change)
    return is_asked_by_a_type or is_hook(function) or is_extended(function, change)


def _can_be_required_by_type(function: Function) -> bool:
    if is_of_a_trait(function):
        return not list_parameters(function)  # of one that is not used and has no `_`, the compiler warns
    is_silent = not function.statements or _find_reason(function) is _EmptyReason.NULL
    if function.source.language is Language.JAVA and is_silent and has_supertypes(function):
        return True  # older code answers a type without a word
    return can_be_override(function) and not _is_package_private(function)


def _is_never_equal(function: Function) -> bool:
    """Whatever a type asks for, an object equals itself."""
    says = text_of(function.statements[0]) if function.statements else ""
    return function.name in {"equals", "__eq__", "Equals"} and _FALSE.fullmatch(says) is not None


_FALSE: Final = pattern(r"return (?:false;|False)")


def _is_package_private(function: Function) -> bool:
    """A method of Java that a fragment shows, and that no type above can ask for: who answers one is public, or says so."""
    if function.source.language is not Language.JAVA or function.scope is not FunctionScope.UNKNOWN:
        return False
    modifiers = set(function.attributes.replace("@", " ").split())
    says = text_of(function.statements[0]) if function.statements else ""
    is_closed = (
        modifiers.isdisjoint({"Override", "public", "protected", "default", "Nullable"}) and says == "return null;"
    )
    return is_closed or (
        _find_documented_reason(function) is _EmptyReason.DOCUMENTED and modifiers.isdisjoint({"Override", "default"})
    )


def _is_required_by_type(function: Function) -> bool:
    """In the further languages: an override, one to be overridden, or what anybody may override (a method of Ruby)."""
    if function.source.language not in MORE_LANGUAGES or has_private_modifier(function):
        return False
    is_of_ruby = function.source.language is Language.RUBY and function.scope is FunctionScope.TYPE
    return is_of_ruby or is_overridable(function) or can_be_override(function)


def _is_constant_answer(function: Function) -> bool:
    """A method without parameters that a type above asks for, and that says the same always: a state, a kind."""
    says = text_of(function.statements[0]) if function.statements else ""
    is_asked = "override" in function.attributes.lower().replace("@", " ").split()
    return is_asked and not list_parameters(function) and _YES_OR_NO.fullmatch(says) is not None


_YES_OR_NO: Final = pattern(r"return (?:[tT]rue|[fF]alse|-?\d+);?")


def _is_odd(function: Function) -> bool:
    """A constant for an answer is the way of many a method; an empty one is odd where nothing asks for it."""
    is_to_be_filled = is_overridable(function) and _find_documented_reason(function) is _EmptyReason.NOTHING
    return not is_constructor(function) and not is_to_be_filled and not is_declared_idle(function)
