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
from worker.signals.analysis.announced import is_a_stage, is_of_a_trait
from worker.signals.analysis.asked import is_asked_for
from worker.signals.analysis.change import Change
from worker.signals.analysis.changed_functions import (
    Written,
    documentation,
    exemplary,
    is_stand_in,
    new_functions,
    rewritten,
    wrapped,
)
from worker.signals.analysis.file_roles import FURTHER, Language
from worker.signals.analysis.functions import Function, Where
from worker.signals.analysis.outside import (
    has_types_above,
    is_called_as_it_is,
    is_platform,
    is_private_by_word,
    may_be_an_override,
    may_be_one_of_several,
)
from worker.signals.analysis.overrides import is_a_hook, is_extended, is_open, is_run_by_a_framework
from worker.signals.analysis.parameters import parameters, takes_what_it_ignores
from worker.signals.analysis.stubs import (
    asks_the_compiler,
    does_nothing,
    is_asked_for_by_a_framework,
    is_constructor,
    is_handed_over,
    is_there_for_others,
    may_be_replaced,
    may_meet_an_interface,
    says_that_it_is_idle,
)
from worker.signals.analysis.syntax import text_of
from worker.signals.half_finished.commented_out_code import is_commented_code
from worker.signals.half_finished.stub_body import Sure, stubs
from worker.signals.half_finished.unused_import import unused_imports
from worker.signals.signal import Kind, Looks, Place, signal


class _Why(Enum):
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


_SURE: Final = frozenset({_Why.COMMENTED_OUT, _Why.TAKES, _Why.DOCUMENTED, _Why.PRIVATE, _Why.NULL, _Why.IMPORTED})


class _Hollow(NamedTuple):
    written: Written
    why: _Why
    is_sure: bool


@signal(
    Category.HALF_FINISHED,
    Kind.FACT,
    Looks.PRODUCTION,
    "Write the body of the function at {place}, or take the function out of this change.",
)
def body_does_nothing(change: Change) -> Iterator[Place]:
    """A new function that does nothing, though it has parameters, a documentation or a body in comments.

    Does nothing: it is empty, or hands back a constant. Where anything says that this is its job, it is not told. None beside
    finished work that neither calls nor asks for it, and none where the title announces a stage.

    False alarms: 13 of 30051 clean changes with production code (0.0 %, at most 0.07 %).
    """
    yield from (_place(one) for one in change.once(_hollow) if one.is_sure)


@signal(Category.HALF_FINISHED, Kind.SUSPICION, Looks.PRODUCTION)
def body_empty_suspected(change: Change) -> Iterator[Place]:
    """A body that does nothing where that may be right (an override, a hook), or from which the work was taken out.

    False alarms: 359 of 30051 clean changes with production code (1.2 %, at most 1.32 %).
    """
    yield from (_place(one) for one in change.once(_hollow) if not one.is_sure)


def _place(one: _Hollow) -> Place:
    file, function = one.written
    names = ", ".join(parameters(function))
    rows = function.statements or (function.body,)
    first = min(function.first, function.line_of(rows[0]))
    note = f"`{function.name}` does nothing: {one.why.value.format(names)}"
    step = f"Write the body of `{function.name}` at {{place}}, or take the function out of this change."
    return Place(note, file.path, first, function.last, step=step)


def _hollow(change: Change) -> tuple[_Hollow, ...]:
    return tuple(_found(change))


def _found(change: Change) -> Iterator[_Hollow]:
    told = {(one.written.file.path, one.written.function.first): one.sure for one in stubs(change)}
    for one in filter(lambda one: does_nothing(one.function), new_functions(change)):
        sure, why = told.get((one.file.path, one.function.first)), _why(one.function)
        # what a stub may be, in a class to extend, a body in comments is not
        is_told = sure is Sure.FACT or (sure is not None and why is not _Why.COMMENTED_OUT)
        if not is_told:
            is_sure = why in _SURE and not is_stand_in(one.function) and not _is_doubtful(one, why, change)
            if not is_sure and _lacks_its_work(one, change):
                why, is_sure = _Why.IMPORTED, True
            is_sure = is_sure and not is_a_stage(one.function, change)
            if is_sure or _is_odd(one.function):
                yield _Hollow(one, why, is_sure)
    yield from _found_elsewhere(change)
    for one in rewritten(change):
        if does_nothing(one.function) and not one.function.comments and _is_odd(one.function):
            yield _Hollow(one, _Why.EMPTIED, is_sure=False)


def _found_elsewhere(change: Change) -> Iterator[_Hollow]:
    for one in wrapped(change):
        if does_nothing(one.function):
            yield from _under_decorators(one, change)
    for one in exemplary(change):  # what else does nothing there may be brief on purpose
        if does_nothing(one.function) and _why(one.function) is _Why.COMMENTED_OUT:
            yield _Hollow(one, _Why.COMMENTED_OUT, is_sure=False)


def _under_decorators(one: Written, change: Change) -> Iterator[_Hollow]:
    """What a decorator makes of an empty body, nobody can say, but that a context manager fails, and that its work was there."""
    if _YIELDING.search(one.function.attributes):
        yield _Hollow(one, _Why.YIELDS_NOTHING, is_sure=is_run_by_a_framework(one.function))
    elif _why(one.function) is _Why.COMMENTED_OUT:
        yield _Hollow(one, _Why.COMMENTED_OUT, is_sure=not is_asked_for(change))


_YIELDING: Final = pattern(r"@(?:contextlib\.)?(?:async)?contextmanager\b")


def _lacks_its_work(one: Written, change: Change) -> bool:
    """The change imports what nothing in the file uses: it came with the work, and the work is gone."""
    function = one.function
    is_asked = is_asked_for(change) or "@Override" in function.attributes
    if is_constructor(function) or is_stand_in(function) or is_asked or is_platform(one):
        return False
    says = text_of(function.statements[0]) if function.statements else ""
    if says_that_it_is_idle(function) or is_there_for_others(function) or _YES_OR_NO.fullmatch(says):
        return False
    return bool(one.file.once(unused_imports))


def _why(function: Function) -> _Why:
    notes = [text_of(note) for note in function.remarks]
    if notes and is_commented_code(notes, function.source.language):
        return _Why.COMMENTED_OUT
    if not parameters(function):
        return _why_without_parameters(function)
    return _Why.TAKES


def _why_without_parameters(function: Function) -> _Why:
    if not function.statements:
        return _Why.PRIVATE if _cannot_be_filled(function) else _documented(function)
    is_null = function.source.language is Language.JAVA and text_of(function.statements[0]) == "return null;"
    return _Why.NULL if is_null else _documented(function)


def _documented(function: Function) -> _Why:
    if is_constructor(function) or takes_what_it_ignores(function):
        return _Why.NOTHING
    promise = _DENIAL.sub(" ", documentation(function))
    return _Why.DOCUMENTED if len(_WORD.findall(promise)) >= _TELLING else _Why.NOTHING


_TELLING: Final = 7
"""Words of a documentation that says what is done."""
_WORD: Final = pattern(r"[A-Za-z]{2,}")
_DENIAL: Final = pattern(
    r"(?:^|[.!?]\s)\W{0,20}(?:\w{1,20} ){0,2}(?:do(?:es)?n't|(?:do(?:es)?|must|should|shall|will) not|can't|cannot|won't|never)\b[^.!?]*",
    re.IGNORECASE,
)
"""A sentence that says what is not done: it promises no work."""


def _cannot_be_filled(function: Function) -> bool:
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


def _is_doubtful(one: Written, why: _Why, change: Change) -> bool:
    function = one.function
    if why is _Why.COMMENTED_OUT:
        return is_asked_for(change)
    if function.source.is_of_macro or is_asked_for(change) or is_platform(one) or says_that_it_is_idle(function):
        return True
    if _drops_what_it_takes(function) or (why is _Why.PRIVATE and is_asked_for_by_a_framework(function)):
        return True
    if _is_named_for_its_answer(function):
        return True
    return not is_private_by_word(function) and _has_a_purpose(one, change)


def _is_named_for_its_answer(function: Function) -> bool:
    """A default that does nothing, one that serde takes for the value of a field, or a maker of Go."""
    is_default = _DEFAULT.match(function.name) is not None and not function.type_name
    is_of_a_field = function.name.startswith("default_") and not parameters(function)
    is_maker = function.source.language is Language.GO and _MAKER_OF_GO.match(function.name) is not None
    return is_default or is_of_a_field or is_maker


def _drops_what_it_takes(function: Function) -> bool:
    """Rust drops what a function takes by value, its receiver or a box, so an empty body does something."""
    is_empty = function.source.language is Language.RUST and not function.statements
    return is_empty and _BY_VALUE.match(text_of(function.node.child_by_field_name("parameters"))) is not None


_MAKER_OF_GO: Final = pattern(r"[nN]ew(?=[A-Z]|$)")
"""It hands back a new thing, and may take what all of its kind take."""
_BY_VALUE: Final = pattern(r"\(\s*(?:(?:mut )?self\s*[,):]|(?:\w+\s*:\s*)?(?:Option<)?Box<)")
_DEFAULT: Final = pattern(r"_*default_?(?=[A-Z_a-z]{2})\w*(?:callback|handler|hook|listener|filter)s?$", re.IGNORECASE)
"""What is called where nothing else was given: to do nothing is right."""


def _has_a_purpose(one: Written, change: Change) -> bool:
    function = one.function
    if _is_an_answer(function) or _is_for_a_type(function) or asks_the_compiler(function):
        return True
    if is_there_for_others(function) or is_handed_over(function, change):
        return True
    if is_constructor(function) or is_called_as_it_is(function, change) or _is_never_equal(function):
        return False  # what a constructor takes, it asked for
    is_asked_by_a_type = _may_be_asked_by_a_type(function) or may_meet_an_interface(one, change)
    is_asked_by_a_type = is_asked_by_a_type or may_be_one_of_several(function, change)
    is_asked_by_a_type = is_asked_by_a_type or may_be_replaced(function, change)
    return is_asked_by_a_type or is_a_hook(function) or is_extended(function, change)


def _may_be_asked_by_a_type(function: Function) -> bool:
    if is_of_a_trait(function):
        return not parameters(function)  # of one that is not used and has no `_`, the compiler warns
    is_silent = not function.statements or _why(function) is _Why.NULL
    if function.source.language is Language.JAVA and is_silent and has_types_above(function):
        return True  # older code answers a type without a word
    return may_be_an_override(function) and not _is_of_the_package(function)


def _is_never_equal(function: Function) -> bool:
    """Whatever a type asks for, an object equals itself."""
    says = text_of(function.statements[0]) if function.statements else ""
    return function.name in {"equals", "__eq__", "Equals"} and _FALSE.fullmatch(says) is not None


_FALSE: Final = pattern(r"return (?:false;|False)")


def _is_of_the_package(function: Function) -> bool:
    """A method of Java that a fragment shows, and that no type above can ask for: who answers one is public, or says so."""
    if function.source.language is not Language.JAVA or function.where is not Where.UNKNOWN:
        return False
    words = set(function.attributes.replace("@", " ").split())
    says = text_of(function.statements[0]) if function.statements else ""
    is_closed = words.isdisjoint({"Override", "public", "protected", "default", "Nullable"}) and says == "return null;"
    return is_closed or (_documented(function) is _Why.DOCUMENTED and words.isdisjoint({"Override", "default"}))


def _is_for_a_type(function: Function) -> bool:
    """In the further languages: an override, one to be overridden, or what anybody may override (a method of Ruby)."""
    if function.source.language not in FURTHER or is_private_by_word(function):
        return False
    is_of_ruby = function.source.language is Language.RUBY and function.where is Where.TYPE
    return is_of_ruby or is_open(function) or may_be_an_override(function)


def _is_an_answer(function: Function) -> bool:
    """A method without parameters that a type above asks for, and that says the same always: a state, a kind."""
    says = text_of(function.statements[0]) if function.statements else ""
    is_asked = "override" in function.attributes.lower().replace("@", " ").split()
    return is_asked and not parameters(function) and _YES_OR_NO.fullmatch(says) is not None


_YES_OR_NO: Final = pattern(r"return (?:[tT]rue|[fF]alse|-?\d+);?")


def _is_odd(function: Function) -> bool:
    """A constant for an answer is the way of many a method; an empty one is odd where nothing asks for it."""
    is_to_be_filled = is_open(function) and _documented(function) is _Why.NOTHING
    return not is_constructor(function) and not is_to_be_filled and not says_that_it_is_idle(function)
