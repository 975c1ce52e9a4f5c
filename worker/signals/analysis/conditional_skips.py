"""Marks that switch a test off under a condition only: `xfail(IS_WINDOWS)`, `skipif(...)`, a skip in one of two branches.

Does not evaluate a condition, but for literals. Invariant: a mark whose condition always holds is unconditional.
"""

from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.tests import Test

if TYPE_CHECKING:
    from tree_sitter import Node


def is_conditional_skip(source: Source, line: int) -> bool:
    """Whether the mark that begins on this line of the source takes effect under a condition only."""
    row = line - source.first_line
    if source.language is Language.PYTHON:
        calls = source.nodes.find(("call",), source.root, frozenset({row}))
        return any(_is_conditional_mark(call) for call in calls if call.start_point.row == row)
    if source.language not in SCRIPT_LANGUAGES:
        return False
    text = source.lines[row]
    column = len(text) - len(text.lstrip())
    return _is_in_branch(source.root.descendant_for_point_range((row, column), (row, column + 1)))


def select_unconditional_marks(test: Test) -> str:
    """The marks of a test, each on a line of its own, without those that depend on a condition."""
    outer = test.function.node.parent
    if test.source.language is not Language.PYTHON or outer is None or outer.type != "decorated_definition":
        return test.marks
    marks = [mark for mark in outer.named_children if mark.type == "decorator"]
    calls = [next((child for child in mark.named_children if child.type == "call"), None) for mark in marks]
    pairs = zip(marks, calls, strict=True)
    return "\n".join(text_of(mark) for mark, call in pairs if call is None or not _is_conditional_mark(call))


def is_conditional_callback(test: Test) -> bool:
    """Whether the file decides between this callback and something else: `if (isWindows) { it.skip(...) } else { it(...) }`."""
    return test.source.language in SCRIPT_LANGUAGES and _is_in_branch(test.node)


def find_skipped_suite(node: "Node") -> "Node | None":
    """The call around this one that skips a whole suite: `describe.skip(...)`."""
    calls = (ancestor for ancestor in ancestors(node) if ancestor.type == "call_expression")
    return next((call for call in calls if _SUITES.match(text_of(call)[:_LONGEST])), None)


_LONGEST: Final = 80
_SUITES: Final = pattern(r"(?:x(?:describe|context|suite)|(?:describe|context|suite|test\.describe)\.(?:skip|fixme))\(")


def _is_in_branch(node: "Node | None") -> bool:
    return node is not None and any(around.type in _BRANCHES for around in ancestors(node))


_BRANCHES: Final = frozenset({"if_statement", "ternary_expression"})


def _is_conditional_mark(call: "Node") -> bool:
    """Marks of pytest and unittest that take a condition; an `xfail` for a named error says what the code does today."""
    name = text_of(call.child_by_field_name("function")).rpartition(".")[2]
    arguments = call.child_by_field_name("arguments")
    if _UNLESS.match(name) and name not in _ALWAYS:
        return True
    always = _ALWAYS.get(name, frozenset())
    for argument in arguments.named_children if always and arguments is not None else ():
        keyword = text_of(argument.child_by_field_name("name")) if argument.type == "keyword_argument" else ""
        if keyword == "raises":
            return True
        if keyword in {"", "condition"} and argument.type != "comment":
            condition = argument.child_by_field_name("value") if keyword else argument
            return text_of(condition).strip("\"'") not in always
    return False


_UNLESS: Final = pattern(r"(?:skip_)?(?:unless|if|without)_\w")
"""A mark of the repository's own that says when it skips: `skip.unless_module("sqlalchemy")`."""

_ALWAYS: Final = {
    **dict.fromkeys(("xfail", "skipif", "skipIf"), frozenset({"True", "1"})),
    "skipUnless": frozenset({"False", "0", "None"}),
}
"""With what each mark that takes a condition needs none."""
