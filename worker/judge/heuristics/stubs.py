"""Whole bodies that are stubs, in added production code.

Does not look at bodies that do half of their work, nor at what stood there before. Invariant: a fact needs a
function whose every line is new, that is called as it stands (not abstract, not made to be overridden), and
whose body does nothing but say that it is not written yet.
"""

import re
from collections.abc import Iterator
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final, assert_never

from worker.domain.verdict import Category, Finding
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.functions import Function, Where, functions_of
from worker.judge.heuristics.overriding import is_a_hook, is_declaration, is_extended, others_do_their_work
from worker.judge.heuristics.paths import Language
from worker.judge.heuristics.syntax import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

STUB: Final = "stub_body"
SUSPECT: Final = "stub_suspected"


class Sure(Enum):
    """How sure a body is a stub. NO: it is something else."""

    FACT = "fact"
    SUSPICION = "suspicion"
    NO = "no"


_HINT: Final = re.compile(
    r"\bpass\b|\.\.\.|NotImplemented|todo|unimplemented|not[ _-]*(yet[ _-]*)?implemented|UnsupportedOperation|fixme|implement",
    re.IGNORECASE,
)
"""A diff without any of this has no stub: its files need not be parsed."""

_UNWRITTEN: Final = re.compile(
    r"\bnot[ _-]?(yet[ _-])?(been )?(fully )?implemented|\bunimplemented\b|\bnotimplemented\b|\bimplementation (pending|missing|needed)"
    r"|\b(needs? to|to|will|should|must|yet to) be (implemented|written|done|filled)|\bcoming soon\b|\bimplement (me|this)\b"
    r"|\b(to ?do|fixme|tbd)\b|\bplaceholder\b|\bstub(bed)?\b",
    re.IGNORECASE,
)
_DELIBERATE: Final = re.compile(
    r"support|subclass|overrid|abstract|inherit|derived|concrete|child class|instead|deprecat|removed|cannot|can't|should not|must not"
    r"|never be called|not be called|read-?only|immutable|by design|intentional|not applicable|\bn/a\b|platform|windows|linux|macos|darwin"
    r"|implemented (for|by|on|in|with|when|if|unless|without)\b",
    re.IGNORECASE,
)
_PLAN: Final = re.compile(
    r"\b(todo|fixme|xxx|tbd)\b|\bnot (yet )?implemented\b|\bimplement(ation)? (me|this|later|pending)\b", re.IGNORECASE
)
_PLAN_TO_WRITE: Final = re.compile(
    r"\b(todo|fixme|xxx)\b.{0,60}?\b(implement|write|add|fill|finish|complete|replace|wire|build|handle|support|do)",
    re.IGNORECASE | re.DOTALL,
)
_TRIVIAL: Final = re.compile(
    r"(return\s*)?(None|nil|null|undefined|true|false|True|False|0|-1|\"\"|''|\[\]|\{\}|Default::default\(\)|Ok\(\(\)\))?;?\s*|pass|\.\.\."
)


_MOST: Final = 10
"""A file full of stubs need not be told stub by stub."""


def stubs(change: Change) -> Iterator[Finding]:
    """Find the functions of this change that do nothing but say that they are not written yet."""
    for file in change.production():
        if any(_HINT.search(line.text) for line in file.diff.added):
            yield from islice(_in_file(file, change), _MOST)


def _in_file(file: ChangedFile, change: Change) -> Iterator[Finding]:
    for source in file.sources:
        for function in functions_of(source):
            if _is_new(function, file, change):
                yield from _finding(function, file, change)
            elif _is_emptied(function, file):
                found = _finding(function, file, change)
                yield from (one.model_copy(update={"signal": SUSPECT, "fact": False}) for one in found)


def _is_new(function: Function, file: ChangedFile, change: Change) -> bool:
    """Every line of it was added, and it was not merely moved or given another indentation."""
    lines = function.source.lines
    numbers = range(function.first, function.last + 1)
    texts = {number: lines[number - function.source.first].strip() for number in numbers}
    whole = all(number in file.added_lines or text in _CLOSING for number, text in texts.items())
    was_there = change.removed_texts.issuperset(set(texts.values()) - _CLOSING)
    return whole and function.first in file.added_lines and not was_there


def _is_emptied(function: Function, file: ChangedFile) -> bool:
    """It was there, and all that its body says now was written by this change: perhaps the work was taken out."""
    body, first = function.body, function.source.first
    rows = range(body.start_point.row, body.end_point.row + 1)
    opening = -1 if function.source.language is Language.PYTHON else body.start_point.row
    said = [row + first for row in rows if row != opening and function.source.lines[row].strip() not in _CLOSING]
    return bool(file.diff.removed and said) and all(line in file.added_lines for line in said)


# a diff may take a closing line from the neighbour below
_CLOSING: Final = frozenset({"", "}", "};", "},", ")", "})", "});"})


def _finding(function: Function, file: ChangedFile, change: Change) -> Iterator[Finding]:
    sure, place = _judge(function)
    if sure is Sure.NO or is_declaration(function):
        return
    if sure is Sure.FACT and (_is_doubtful(function, place, change) or _is_asked_for(change)):
        sure = Sure.SUSPICION
    first, last = function.line_of(place), place.end_point.row + function.source.first
    yield Finding(
        signal=STUB if sure is Sure.FACT else SUSPECT,
        category=Category.HALF_FINISHED,
        fact=sure is Sure.FACT,
        path=file.path,
        line=first,
        end_line=max(first, last - (place.end_point.column == 0)),
        note=f"the whole body of `{function.name}` is a stub",
    )


def _is_doubtful(function: Function, place: "Node", change: Change) -> bool:
    if function.where is Where.UNKNOWN or is_a_hook(function):
        return True
    # who writes "yet" does not mean "abstract"
    return not _LATER.search(text_of(place)) and is_extended(function, change)


_LATER: Final = re.compile(r"\b(yet|to ?do|fixme|tbd)\b|todo!", re.IGNORECASE)


def _is_asked_for(change: Change) -> bool:
    """An issue may ask for stubs; the author's own words can't."""
    texts = [f"{issue.title}\n{issue.body}" for issue in change.dossier.issues]
    return any(_ASKED.search(text) for text in texts)


_ASKED: Final = re.compile(
    r"\b(stubs?|skeletons?|scaffold(ing)?|placeholders?|no-?ops?|NotImplementedError)\b", re.IGNORECASE
)


_LONGEST: Final = 600
"""Characters of a statement that we read: no stub needs more."""


def _judge(function: Function) -> tuple[Sure, "Node"]:
    """Say how sure the body is a stub, and which node shows it."""
    statements = function.statements
    if len(statements) > 1:
        return Sure.NO, function.node
    plan = next((note for note in function.comments if _PLAN.search(text_of(note))), None)
    if not statements:
        return _empty(function, plan)
    words = " ".join(text_of(statements[0])[:_LONGEST].split())
    sure = _by_statement(function, words)
    if sure is Sure.NO and plan is not None and _TRIVIAL.fullmatch(words):
        return Sure.FACT, plan
    return sure, statements[0]


def _words(function: Function) -> str:
    return " ".join(re.sub(r"^\W+", "", text_of(note)) for note in function.comments)


def _empty(function: Function, plan: "Node | None") -> tuple[Sure, "Node"]:
    """An empty body is a stub only where a comment says so, or where a value was promised (Python)."""
    if plan is not None:
        return Sure.FACT, plan
    if any(_PLAN_TO_WRITE.search(text_of(note)) for note in function.above):
        return Sure.FACT, function.node
    if function.source.language is Language.PYTHON:
        return _promised(function), function.node
    return Sure.NO, function.node


def _message(words: str) -> str | None:
    """The text between the parentheses of a call; None without any."""
    _, opened, rest = words.partition("(")
    inner = rest.rpartition(")")[0].strip() if opened else ""
    return inner.strip("\"'`") or None


def _says(message: str | None, bare: Sure) -> Sure:
    """Judge by the message: unwritten work is a fact, a deliberate refusal none, and *bare* is for no message."""
    if message is None:
        return bare
    if _DELIBERATE.search(message):
        return Sure.NO
    return Sure.FACT if _UNWRITTEN.search(message) else Sure.NO


def _by_statement(function: Function, words: str) -> Sure:
    match function.source.language:
        case Language.PYTHON:
            return _python(function, words)
        case Language.GO:
            return _go(function, words)
        case Language.RUST:
            return _rust(function, words)
        case Language.JAVA:
            return _java(function, words)
        case Language.JAVASCRIPT | Language.TYPESCRIPT | Language.TSX:
            return _script(words)
        case _:
            assert_never(function.source.language)


def _python(function: Function, words: str) -> Sure:
    if words in {"pass", "..."}:
        return _promised(function)
    raised = re.match(r"raise (\w+)", words)
    if raised is None:
        return Sure.NO
    if raised[1] == "NotImplementedError":
        # in a method, without a word, it may be the way to say "abstract"
        return _says(_message(words), Sure.SUSPICION if function.where is Where.TYPE else Sure.FACT)
    return _says(_message(words), Sure.NO)


def _promised(function: Function) -> Sure:
    """Nothing is done: a stub where a value was promised, or where a plain function takes what it never uses."""
    promised = text_of(function.node.child_by_field_name("return_type"))
    if not promised and _takes_something(function):
        return Sure.FACT
    return Sure.NO if not promised or _NOTHING.search(promised) else Sure.FACT


def _takes_something(function: Function) -> bool:
    """A plain function of a module with named parameters, no decorator, and no sign that doing nothing is its job.

    Measured: 0 of 3,800 real changes are rejected by it.
    """
    parent, parameters = function.node.parent, function.node.child_by_field_name("parameters")
    is_decorated = parent is not None and parent.type == "decorated_definition"
    if function.where is not Where.MODULE or is_decorated or parameters is None:
        return False
    if _IDLE_NAME.match(function.name) or function.comments:
        return False
    return any(not text_of(one).startswith(("*", "_")) for one in parameters.named_children)


_IDLE_NAME: Final = re.compile(
    r"_*(no_?op|nop|ignore|skip|dummy|null|empty|nothing|on|handle|callback|hook|before|after|pre|post|setup|teardown|reverse|upgrade|downgrade"
    r"|forwards?|backwards?|pytest|visit|default)(_|\d|\b)",
    re.IGNORECASE,
)
"""What such a function is called, it may do nothing: callbacks, hooks, migrations."""


_NOTHING: Final = re.compile(r"\b(None|Optional|NoReturn|Never)\b|^([\w.]*\.)?(Any|object)$")


def _script(words: str) -> Sure:
    thrown = re.match(r"throw new (\w*Error|\w*Exception)\b", words)
    return _says(_message(words), Sure.NO) if thrown else Sure.NO


def _go(function: Function, words: str) -> Sure:
    if words.startswith("panic("):
        return _says(_message(words), Sure.NO)
    refused = re.match(r"return .*?\b(errors\.New|fmt\.Errorf|errors\.Errorf)\((.*)\)$", words)
    if refused is None or _says(refused[2], Sure.NO) is not Sure.FACT:
        return Sure.NO
    return Sure.FACT if _PLAN_TO_WRITE.search(_words(function)) else Sure.SUSPICION


def _rust(function: Function, words: str) -> Sure:
    macro = re.match(r"(todo|unimplemented|panic)!", words)
    if macro is None:
        return Sure.NO
    if macro[1] == "panic":
        return _says(_message(words), Sure.NO)
    message = _message(re.sub(r"!\s*[\[{(]", "!(", words, count=1))
    if macro[1] == "todo":
        return Sure.NO if message and _DELIBERATE.search(message) else Sure.FACT
    refuses = others_do_their_work(function) or not _names_an_unused_parameter(function)
    bare = Sure.SUSPICION if refuses else Sure.FACT
    return bare if message is None else _says(message, bare)


def _names_an_unused_parameter(function: Function) -> bool:
    """Rust warns of a parameter that is not used, so who refuses on purpose names it `_`."""
    outer = function.container
    if outer is None or outer.type != "impl_item" or outer.child_by_field_name("trait") is None:
        return True
    parameters = function.node.child_by_field_name("parameters")
    names = [one.child_by_field_name("pattern") for one in parameters.named_children] if parameters else []
    return any(name is not None and not text_of(name).startswith("_") for name in names)


def _java(function: Function, words: str) -> Sure:
    thrown = re.match(r"throw new ([\w.]*(?:Exception|Error))\b", words)
    if thrown is None:
        return Sure.NO
    bare = Sure.NO
    if thrown[1].endswith("UnsupportedOperationException") and "@Override" not in function.attributes:
        bare = Sure.FACT if _only_the_class_calls_it(function) else Sure.SUSPICION
    if thrown[1].endswith(("NotImplementedException", "NotImplementedError")):
        bare = Sure.FACT
    return _says(_message(words), bare)


def _only_the_class_calls_it(function: Function) -> bool:
    """Nobody refuses a call of his own, nor a constructor with parameters (one without may hide the class)."""
    if function.node.type == "method_declaration":
        return "private" in function.attributes.split()
    parameters = function.node.child_by_field_name("parameters")
    return parameters is not None and parameters.named_child_count > 0
