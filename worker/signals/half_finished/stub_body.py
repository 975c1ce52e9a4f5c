"""New functions whose whole body is a stub, in production code.

A fact needs a function whose every line is new, that is called as it stands (not abstract, not made to be overridden), and whose
body does nothing but say that it is not written yet.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import stubs
from worker.signals.analysis.change import CodeChange, memoized
from worker.signals.analysis.changed_functions import (
    ChangedFunction,
    cannot_be_overridden,
    documentation_of,
    find_examples,
    find_new_functions,
    find_registered,
    find_rewritten,
    find_wrapped,
    has_working_siblings,
    is_extended,
    is_hook,
    is_runnable_example,
    is_stage,
    is_whole_program,
)
from worker.signals.analysis.file_roles import FileRole, Language
from worker.signals.analysis.functions import Function, FunctionScope, list_parameters
from worker.signals.analysis.syntax import text_of
from worker.signals.analysis.tests import find_tests
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_UNWRITTEN: Final = pattern(
    r"\bnot[ _-]?(yet[ _-])?(been )?(fully )?implemented|\bunimplemented\b|\bnotimplemented\b|\bimplementation (pending|missing|needed)"
    r"|\b(needs? to|to|will|should|must|yet to) be (implemented|written|done|filled)|\bcoming soon\b|\bimplement (me|this)\b"
    r"|\b(to ?do|fixme|tbd|wip)\b|\bplaceholder\b|\bstub(bed)?\b|\bunfinished\b|\bincomplete implementation\b|\bfollow-?up\b"
    r"|\bnot (yet (available|ready|done|finished|written|complete|wired|there)|(available|ready|done|finished|written|complete|wired|there) yet)\b"
    r"|\b(still|yet|left|remains) to be \w+|\bnot finished\b|\bnot (yet supported|supported yet)\b|\bnot ready\b|\bwork in progress\b"
    r"|\b(added|done|written|implemented|comes?|follows?) (later\b|in (a|the) (later|next|future|separate|follow-?up)\b)",
    re.IGNORECASE,
)
_DELIBERATE: Final = pattern(
    r"(?<!not yet )support(?!(ed|s)? yet\b)|subclass|overrid|abstract|inherit|derived|concrete|child class|instead|deprecat|removed|cannot|can't|should not|must not|should be \w+ (?:with|by|via|through|using)\b"
    r"|never be called|not be called|read-?only|immutable|by design|intentional|not applicable|\bn/a\b|platform|windows|linux|macos|darwin"
    r"|implemented (for|by|on|in|with|when|if|unless|without)\b",
    re.IGNORECASE,
)
_PLAN: Final = pattern(
    r"\b(todo|fixme|xxx|tbd)\b|\bnot (yet )?implemented\b|\bimplement(ation)? (me|this|it|later|pending|here|goes here)\b"
    r"|\bto be (implemented|written|done|filled|completed)\b|\b(your|add|put|insert|write) (the )?(code|logic|implementation|work)( goes)? here\b"
    r"|\brest of (the )?(code|implementation|logic|body|function|method)\b|\bcode goes here\b"
    r"|^\W*(a |an |just a |only a )?(placeholder|stub|dummy)( for now| implementation| only| value| body)?\W*$",
    re.IGNORECASE,
)
_PLAN_TO_WRITE: Final = pattern(
    r"\b(todo|fixme|xxx)\b.{0,60}?\b(implement|write|add|fill|finish|complete|replace|wire|build|handle|support|do)",
    re.IGNORECASE | re.DOTALL,
)
_GOES_LATER: Final = pattern(
    r"\b(?:todo|fixme|xxx)\b\W{0,3}(?:\(.{0,40}?\))?\W{0,3}(?:remove|drop|delete|get rid of|deprecat\w*)\b(?! (?:this |the )?(?:stub|placeholder|dummy))"
    r"|\?\W*$|\b(?:maybe|perhaps)\b",
    re.IGNORECASE,
)
"""A plan to remove something, or a question, is no work that is left."""
_YET: Final = pattern(r"\byet\b|\bfollow-?up\b|\bunfinished\b|\bpending\b|\bstill\b", re.IGNORECASE)
_LATER: Final = pattern(r"\b(yet|to ?do|fixme|tbd)\b|todo!", re.IGNORECASE)
STOP_PATTERN: Final = pattern(
    r"\b(?:raise|throw(?: new)?) [\w.\\]+|\b(?:panic|todo|unimplemented)!?(?=[(\[{])|\bTODO(?=\()"
)
_STOPS_BY_NAME: Final = pattern(r"(?i)NotImplemented|NotYetImplemented|Unimplemented|UnsupportedOperation|\btodo\b")
_NOTICE_CALL: Final = pattern(
    r"(?:[\w.]{1,40}\.)?(?:warn|warning|error|info|debug|log|print|println|printf|Print|Println|Printf|Fatal|Fatalf|Fatalln|exit|fail|abort|bail|eprintln)!?\("
    r"|assert (?:False|0), ?|throw [\"'`]|(?:return )?Promise\.reject\("
)
_NOT_IMPLEMENTED_NAME: Final = pattern(
    r"(?:return |throw |raise )?(?:\w{1,40}\.)?(?:not_?(?:yet_?)?implemented|unimplemented)\(.{0,100}\);?",
    re.IGNORECASE,
)
_MESSAGE: Final = pattern(r"[\"'`]\w+ \w")
"""A stub with a message: a bare `raise NotImplementedError` also occurs in what is to be extended."""
_MANY_ALIKE: Final = 5
"""So many bare `todo!()` are how a file marks what it does not have."""
_HOLDS_A_STUB: Final = pattern(
    r"\bPanics\w*\(|\brecover\(\)|should_panic|NotImplemented|[uU]nimplemented|not implemented"
)
_NAME: Final = pattern(r"[A-Za-z_]\w+")
_NAMES_ITS_ANSWER: Final = pattern(
    r"\breturns? (?:null|none|nil|undefined|false|an? empty \w+)\b.{0,20}\b(?:if|when|unless|where)\b", re.IGNORECASE
)
_FOR_TESTS: Final = pattern(r"\bonly\b.{0,30}\b(?:for|in|by) (?:unit )?test(?:s|ing)?\b", re.IGNORECASE)
_LONGEST: Final = 600
"""Characters read of a statement."""
_LONGEST_MESSAGE: Final = 160
"""Characters: a longer message explains a refusal."""
_MOST_STATEMENTS: Final = 5
"""Statements read of a body: one with more is no stub."""
_NO_WORK: Final = frozenset({"pass", "...", "return", "return None"})
_TELLING: Final = pattern(r"[A-Za-z]{2,}")
_MANY: Final = 4
"""Words of a message that explains a refusal."""
_ANSWERS: Final = frozenset(
    {"__str__", "__repr__", "__len__", "__hash__", "__bool__", "__iter__", "__int__", "__float__", "__bytes__"}
    | {"__copy__", "__deepcopy__", "__reduce__", "__format__", "__index__"}
)
"""Python fails where one of these returns None, or uses it as a copy."""
_IDLE_NAME: Final = pattern(
    r"_*(no_?op|nop|ignore|skip|dummy|null|empty|nothing|on|handle|callback|hook|before|after|pre|post|setup|teardown|reverse|upgrade|downgrade"
    r"|forwards?|backwards?|pytest|visit|default)(_|\d|\b)",
    re.IGNORECASE,
)
"""Names of functions that may do nothing: callbacks, hooks, migrations."""
_NOTHING: Final = pattern(r"\b(None|Optional|NoReturn|Never)\b|^([\w.]*\.)?(Any|object)$")
_REFUSED_IN_GO: Final = pattern(r"return .{0,80}?\b(?:errors\.New|fmt\.Errorf|errors\.Errorf)\((.*)\)")
_REFUSED_IN_RUST: Final = pattern(r"(?:return )?(?:Err\(|(?:\w+::)?bail!\()(.*)\);?")
_BY_NAME_IN_GO: Final = pattern(r"return .{0,80}?\b(?:[Ee]rr(?:Not|Un)\w*[Ii]mplemented|codes\.Unimplemented)\b.*")


class Certainty(Enum):
    """How sure a body is a stub. NO: it is something else."""

    FACT = "fact"
    SUSPICION = "suspicion"
    NO = "no"


class Stub(NamedTuple):
    """A function with such a body, and the node that shows it."""

    changed: ChangedFunction
    node: "Node"
    certainty: Certainty


@signal(
    Category.HALF_FINISHED,
    SignalKind.FACT,
    SignalScope.PRODUCTION,
    "Write the body of the function at {place}, or take the function out of this change.",
)
def stub_body(change: CodeChange) -> Iterator[SignalMatch]:
    """A new function whose whole body says that it is not written yet.

    None beside finished work that neither calls nor asks for it, and none where the title announces a stage.

    Why it matters: The name is there, and each call of it fails.
    Example: `def load(path): raise NotImplementedError("TODO")`
    False alarms: 26 of 30051 clean changes with production code (0.1 %, at most 0.13 %).
    """
    yield from (_build_match(stub) for stub in find_stubs(change) if stub.certainty is Certainty.FACT)


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def stub_suspected(change: CodeChange) -> Iterator[SignalMatch]:
    """A body that reads like a stub where it may be right: in a class to extend, a refusal, a stage, one that was emptied.

    Why it matters: A stub that is left by mistake fails its first caller.
    Example: `raise NotImplementedError` in a method of a class that others extend.
    False alarms: 97 of 30051 clean changes with production code (0.3 %, at most 0.39 %).
    """
    yield from (_build_match(stub) for stub in find_stubs(change) if stub.certainty is Certainty.SUSPICION)


def _build_match(stub: Stub) -> SignalMatch:
    file, function = stub.changed
    first, last = function.line_of(stub.node), stub.node.end_point.row + function.source.first_line
    return SignalMatch(
        f"the whole body of `{function.name}` is a stub",
        file.path,
        first,
        max(first, last - (stub.node.end_point.column == 0)),
        step=f"Write the body of `{function.name}` at {{place}}, or take the function out of this change.",
    )


@memoized
def find_stubs(change: CodeChange) -> tuple[Stub, ...]:
    """Functions that do nothing but say that they are not written yet."""
    return tuple(stub for stub in _judge_functions(change) if stub.certainty is not Certainty.NO)


def _judge_functions(change: CodeChange) -> Iterator[Stub]:
    plain = (*find_new_functions(change), *find_registered(change))
    for changed in plain:
        certainty, node = _judge_body(changed.function, change)
        if certainty is Certainty.FACT and _may_be_right(changed, node, change):
            certainty = Certainty.SUSPICION
        yield Stub(changed, node, certainty)
    judged = {id(changed.function) for changed in plain}
    unknown = (changed for changed in find_wrapped(change) if id(changed.function) not in judged)
    for changed in unknown:  # its decorator may mean "abstract"
        certainty, node = _judge_body(changed.function, change)
        if certainty is Certainty.FACT and _UNWRITTEN.search(text_of(node)):
            is_sure = _YET.search(text_of(node)) is not None and not stubs.is_stub_requested(change)
            yield Stub(changed, node, Certainty.FACT if is_sure else Certainty.SUSPICION)
    for changed in find_examples(change):
        if is_runnable_example(changed.file):
            certainty, node = _judge_body(changed.function, change)
            if certainty is Certainty.FACT:  # others that read like one are usual in examples
                yield Stub(changed, node, certainty if is_whole_program(changed) else Certainty.SUSPICION)
    for changed in find_rewritten(change):
        certainty, node = _judge_body(changed.function, change)
        yield Stub(changed, node, Certainty.NO if certainty is Certainty.NO else Certainty.SUSPICION)


def _may_be_right(changed: ChangedFunction, node: "Node", change: CodeChange) -> bool:
    """Whether the stub may be meant to stay, or is announced as a stage of the work."""
    function, statement, base = changed.function, text_of(node).strip(), changed.file.base_text or ""
    # the base of its file holds the same stub with its message, or many without
    is_usual = STOP_PATTERN.match(statement) is not None and base.count(statement) >= _MANY_ALIKE
    # a trait asks for it, its parameters are named as unused, and it returns a value
    is_answer = function.source.language is Language.RUST and not _has_used_parameter(function)
    return (
        _is_doubtful(function, node, change)
        or stubs.is_stub_requested(change)
        or _is_stand_in(changed, node)
        or function.name in _find_names_held_by_tests(change)
        or is_stage(function, change)
        or _NAMES_ITS_ANSWER.search(documentation_of(function)) is not None
        or _FOR_TESTS.search(_body_text(function)) is not None
        or (is_answer and not any(STOP_PATTERN.match(text_of(step)) for step in function.statements))
        or _is_variant(changed, node, change)
        or (statement in base if _MESSAGE.search(statement) else is_usual)
    )


def _is_doubtful(function: Function, node: "Node", change: CodeChange) -> bool:
    """Whether the function may be abstract, a hook, or refuse its calls on purpose."""
    text, language = text_of(node), function.source.language
    if function.scope is not FunctionScope.BRANCH and _YET.search(text):
        return False  # "yet" does not mean "abstract"
    if _LATER.search(text) or is_hook(function):
        return is_hook(function)
    # Java marks what is to be overridden, and has an exception for what is refused
    is_marked = language is Language.JAVA and "UnsupportedOperation" not in text
    can_be_extended = function.scope is FunctionScope.UNKNOWN or (is_extended(function, change) and not is_marked)
    if can_be_extended and not cannot_be_overridden(function) and not stubs.is_called_by_own_class(function, change):
        return True
    # in Go and Rust a call is refused by what is returned, which is never a fact
    return language not in {Language.GO, Language.RUST} and stubs.can_be_one_of_several(function, change)


def _is_stand_in(changed: ChangedFunction, node: "Node") -> bool:
    """Whether it stands in for the function of another platform, which may be all that there is.

    A stub that is still to be written stands in for none; that a platform is not supported yet is about the platform.
    """
    text = text_of(node)
    if (_LATER.search(text) or _YET.search(text)) and not stubs.is_declared_refusal(text):
        return False
    is_built = changed.function.source.language in {Language.GO, Language.RUST}
    return (is_built and stubs.is_platform_variant(changed)) or stubs.is_named_after_a_platform(changed.file)


@memoized
def _find_names_held_by_tests(change: CodeChange) -> frozenset[str]:
    """Names in tests that expect a function to be unwritten: a stage of the work that its author announces."""
    sources = (source for file in change.files if file.role is FileRole.TEST for source in file.sources)
    texts = (test.text for source in sources for test in find_tests(source) if _HOLDS_A_STUB.search(test.text))
    return frozenset(name for text in texts for name in _NAME.findall(text))


def _is_variant(changed: ChangedFunction, node: "Node", change: CodeChange) -> bool:
    """Whether the change writes the same function for another type or file, and a bare refusal means "not supported here"."""
    text = text_of(node)
    if _LATER.search(text) or _find_message(text) is not None:
        return False
    owner = (changed.file.path, changed.function.type_name)
    return any(
        other.function.name == changed.function.name
        and (other.file.path, other.function.type_name) != owner
        and len(other.function.statements) > 1
        for other in find_new_functions(change)
    )


def _judge_body(function: Function, change: CodeChange) -> tuple[Certainty, "Node"]:
    """How sure the body is a stub, and which node shows it."""
    texts = [(" ".join(text_of(node)[:_LONGEST].split()), node) for node in function.statements[:_MOST_STATEMENTS]]
    statements = [(text, node) for text, node in texts if not stubs.is_discard(text)]
    if not statements:  # a stub only where a comment says so, or where a value was promised (Python)
        plan = _find_plan(function)
        is_planned = plan is not None or any(_PLAN_TO_WRITE.search(text_of(note)) for note in function.nodes_above)
        is_python = function.source.language is Language.PYTHON
        promise = _judge_promise(function, change) if is_python and not is_planned else Certainty.NO
        return Certainty.FACT if is_planned else promise, plan or function.node
    text, node = statements[0]
    if len(statements) > 1:
        is_notice = len(statements) == 2 and stubs.is_constant(statements[1][0])  # noqa: PLR2004 - a notice, and a return
        return (_judge_notice(text) if is_notice else Certainty.NO), node
    certainty = _judge_statement(function, text, change)
    if certainty is Certainty.NO:
        certainty = _judge_notice(text)
    is_idle = stubs.is_constant(text) or text.removeprefix("return ").rstrip("; ") in list_parameters(function)
    plan = _find_plan(function) if certainty is Certainty.NO and is_idle else None
    return (certainty, node) if plan is None else (Certainty.FACT, plan)


def _find_plan(function: Function) -> "Node | None":
    plans = (note for note in function.comments if _PLAN.search(text_of(note)))
    return next((note for note in plans if not _GOES_LATER.search(text_of(note))), None)


def _body_text(function: Function) -> str:
    return " ".join(re.sub(r"^\W+", "", text_of(note)) for note in function.comments)


def _judge_notice(text: str) -> Certainty:
    """Judge a body that only logs a message, or stops."""
    if _NOT_IMPLEMENTED_NAME.fullmatch(text):
        return Certainty.FACT
    notice = _NOTICE_CALL.match(text)
    return Certainty.NO if notice is None else _judge_message(text[notice.end() :].strip("\"'`(); "), Certainty.NO)


def _find_message(text: str) -> str | None:
    """The text between the parentheses of a call; None without any."""
    _, opened, rest = text.partition("(")
    inner = rest.rpartition(")")[0].strip() if opened else ""
    return inner.strip("\"'`") or None


def _judge_message(message: str | None, bare: Certainty, other: Certainty = Certainty.NO) -> Certainty:
    """Judge by the message: unwritten work is a fact, a deliberate refusal none.

    *bare* is for no message, *other* for one that is neither.
    """
    if message is None:
        return bare
    if _DELIBERATE.search(message) or len(message) > _LONGEST_MESSAGE:
        return Certainty.NO
    return Certainty.FACT if _UNWRITTEN.search(message) else other


def is_unwritten(text: str) -> bool:
    """Whether a statement stops, and its name or its message says that its work is not written."""
    stops = STOP_PATTERN.match(text)
    bare = Certainty.SUSPICION if stops is not None and _STOPS_BY_NAME.search(stops[0]) else Certainty.NO
    return stops is not None and _judge_message(_find_message(text), bare, bare) is not Certainty.NO


def _judge_statement(function: Function, text: str, change: CodeChange) -> Certainty:
    match function.source.language:
        case Language.PYTHON:
            return _judge_python(function, text, change)
        case Language.GO:
            return _judge_go(function, text)
        case Language.RUST:
            return _judge_rust(function, text)
        case Language.JAVA:
            return _judge_java(function, text)
        case Language.JAVASCRIPT | Language.TYPESCRIPT | Language.TSX:
            thrown = re.match(r"throw (?:new )?([\w.]*(?:Error|Exception))\(", text)
            is_named = thrown is not None and re.search(r"NotImplemented|Unimplemented", thrown[1]) is not None
            bare = Certainty.FACT if is_named else Certainty.NO
            return Certainty.NO if thrown is None else _judge_message(_find_message(text), bare)
        case Language.RUBY | Language.CSHARP | Language.PHP | Language.KOTLIN:
            return _judge_refusal(function, text)
        case _:
            assert_never(function.source.language)


def _judge_python(function: Function, text: str, change: CodeChange) -> Certainty:
    if text in _NO_WORK:
        return _judge_promise(function, change)
    raised, message = re.match(r"raise (\w+)", text), _find_message(text)
    if raised is None:
        return Certainty.NO
    if raised[1] != "NotImplementedError":
        return _judge_message(message, Certainty.NO)
    # in a method without a message it may be the way to say "abstract"
    is_abstract = (
        function.scope is FunctionScope.TYPE
        and not stubs.is_instantiated(function, change)
        and not (stubs.is_called_by_own_class(function, change) and stubs.is_only_refusal(function))
    )
    bare = Certainty.SUSPICION if is_abstract or stubs.is_passed_as_value(function, change) else Certainty.FACT
    is_explained = len(_TELLING.findall(message or "")) >= _MANY
    return _judge_message(message, bare, Certainty.SUSPICION if is_explained else bare)


def _judge_promise(function: Function, change: CodeChange) -> Certainty:
    """A body without work is a stub where a value was promised, or where a plain function takes what it never uses."""
    if function.name in _ANSWERS and function.scope is FunctionScope.TYPE:
        return Certainty.FACT
    promised = text_of(function.node.child_by_field_name("return_type"))
    if promised:
        return Certainty.NO if _NOTHING.search(promised) else Certainty.FACT
    parent, parameters = function.node.parent, function.node.child_by_field_name("parameters")
    is_decorated = parent is not None and parent.type == "decorated_definition"
    names = map(text_of, parameters.named_children if parameters is not None else ())
    is_ignoring = (  # no decorator, name or comment makes doing nothing its job: 0 of 3,800 real changes
        function.scope is FunctionScope.MODULE
        and not is_decorated
        and not all(name.startswith(("*", "_")) for name in names)
        and not (_IDLE_NAME.match(function.name) or function.remarks or stubs.is_deprecated(function))
    )
    if not is_ignoring:
        return Certainty.NO
    return Certainty.SUSPICION if stubs.is_passed_as_value(function, change) else Certainty.FACT


def _judge_refusal(function: Function, text: str) -> Certainty:
    """`throw new NotImplementedException()`, `TODO()`; Ruby's NotImplementedError is the way to say "abstract"."""
    refusal = stubs.find_refusal(text, function.source.language)
    if refusal is None:
        return Certainty.NO
    is_abstract = function.source.language is Language.RUBY and function.scope is not FunctionScope.MODULE
    bare = Certainty.NO if not refusal.is_named else Certainty.SUSPICION if is_abstract else Certainty.FACT
    certainty = _judge_message(refusal.message, bare, bare)
    return bare if is_abstract and certainty is Certainty.FACT and not _YET.search(text) else certainty


def _judge_go(function: Function, text: str) -> Certainty:
    if text.startswith("panic("):
        return _judge_message(_find_message(text), Certainty.NO)
    if _BY_NAME_IN_GO.fullmatch(text):
        return Certainty.SUSPICION
    refused = _REFUSED_IN_GO.fullmatch(text)
    if refused is None or _judge_message(refused[1], Certainty.NO) is not Certainty.FACT:
        return Certainty.NO
    # a method may be asked for by an interface, and refuse
    is_plain = function.node.type == "function_declaration"
    return Certainty.FACT if is_plain or _PLAN_TO_WRITE.search(_body_text(function)) else Certainty.SUSPICION


def _judge_rust(function: Function, text: str) -> Certainty:
    macro = re.match(r"(todo|unimplemented|panic)!", text)
    if macro is None:
        refused = _REFUSED_IN_RUST.fullmatch(text)
        if refused is None or _judge_message(refused[1], Certainty.NO) is not Certainty.FACT:
            return Certainty.NO
        return Certainty.FACT if function.container is None else Certainty.SUSPICION
    if macro[1] == "panic":
        return _judge_message(_find_message(text), Certainty.NO)
    message = _find_message(re.sub(r"!\s*[\[{(]", "!(", text, count=1))
    if macro[1] == "todo":
        return Certainty.NO if message and _DELIBERATE.search(message) else Certainty.FACT
    refuses = has_working_siblings(function) or not _has_used_parameter(function)
    bare = Certainty.SUSPICION if refuses else Certainty.FACT
    return _judge_message(message, bare, bare)


def _has_used_parameter(function: Function) -> bool:
    """Whether a parameter has a name: as Rust warns of unused ones, a deliberate refusal names them `_`. True beyond a trait."""
    outer = function.container
    if outer is None or outer.type != "impl_item" or outer.child_by_field_name("trait") is None:
        return True
    parameters = function.node.child_by_field_name("parameters")
    names = [child.child_by_field_name("pattern") for child in parameters.named_children] if parameters else []
    return any(name is not None and not text_of(name).startswith("_") for name in names)


def _judge_java(function: Function, text: str) -> Certainty:
    thrown = re.match(r"throw new ([\w.]*(?:Exception|Error))\b", text)
    if thrown is None:
        return Certainty.NO
    bare = Certainty.NO
    if thrown[1].endswith("UnsupportedOperationException") and "@Override" not in function.attributes:
        # what no type above asks for, and takes parameters of its own, has no reason to refuse all calls
        is_required = not list_parameters(function) or stubs.has_supertypes(function)
        parameters = function.node.child_by_field_name("parameters")
        # a constructor without parameters may hide the class
        is_own = parameters is not None and parameters.named_child_count > 0
        if function.node.type == "method_declaration":
            is_own = stubs.has_private_modifier(function)
        bare = Certainty.FACT if is_own or not is_required else Certainty.SUSPICION
    if thrown[1].endswith(("NotImplementedException", "NotImplementedError")):
        bare = Certainty.FACT
    return _judge_message(_find_message(text), bare)
