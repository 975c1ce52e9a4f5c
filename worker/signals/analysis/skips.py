"""How a change takes tests away: skips under a condition, reasons beside a skip, and requests to remove tests.

A mark whose condition always holds is unconditional. A text that only says that the test is skipped, or that something is left
to do, is no reason. A body that mentions a removal in passing requests none.
"""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, is_revert
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import ancestors, child_of_type, text_of
from worker.signals.analysis.tests import Test

_LONGEST: Final = 80
_SUITES: Final = pattern(r"(?:x(?:describe|context|suite)|(?:describe|context|suite|test\.describe)\.(?:skip|fixme))\(")
_BRANCHES: Final = frozenset({"if_statement", "ternary_expression"})
_UNLESS: Final = pattern(r"(?:skip_)?(?:unless|if|without)_\w")
"""A mark of the repository's own that names its condition: `skip.unless_module("sqlalchemy")`."""
_ALWAYS: Final = {
    **dict.fromkeys(("xfail", "skipif", "skipIf"), frozenset({"True", "1"})),
    "skipUnless": frozenset({"False", "0", "None"}),
}
"""The conditions under which a mark always skips."""


def is_conditional_skip(source: Source, line: int) -> bool:
    """Whether the mark that begins on this line of the source takes effect under a condition only."""
    if source.language is Language.PYTHON:
        calls = source.nodes.find(("call",), source.root, frozenset({line - source.first_line}))
        return any(_is_conditional_mark(call) for call in calls if source.line_of(call) == line)
    return source.language in SCRIPT_LANGUAGES and _is_in_branch(source.node_at(line))


def select_unconditional_marks(test: Test) -> str:
    """The marks of a test, one a line, without those that depend on a condition."""
    outer = test.function.node.parent
    if test.source.language is not Language.PYTHON or outer is None or outer.type != "decorated_definition":
        return test.marks
    marks = [mark for mark in outer.named_children if mark.type == "decorator"]
    pairs = ((mark, child_of_type(mark, "call")) for mark in marks)
    return "\n".join(text_of(mark) for mark, call in pairs if call is None or not _is_conditional_mark(call))


def is_conditional_callback(test: Test) -> bool:
    """Whether the file chooses between this callback and another: `if (isWindows) { it.skip(...) } else { it(...) }`."""
    return test.source.language in SCRIPT_LANGUAGES and _is_in_branch(test.node)


def find_skipped_suite(node: Node) -> Node | None:
    """The call around this one that skips a whole suite: `describe.skip(...)`."""
    calls = (ancestor for ancestor in ancestors(node) if ancestor.type == "call_expression")
    return next((call for call in calls if _SUITES.match(text_of(call)[:_LONGEST])), None)


def _is_in_branch(node: Node | None) -> bool:
    return node is not None and any(around.type in _BRANCHES for around in ancestors(node))


def _is_conditional_mark(call: Node) -> bool:
    """Whether a mark of pytest or unittest has a condition; an `xfail` for a named error describes today's code."""
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


_TEXT: Final = r"\s*(?:\(|=)\s*(?:(?:true|false)\s*,\s*|(?:reason|value)\s*=\s*\(?\s*)?[rbfu]?([\"'`])(?P<reason>(?:(?!\1).){0,300})"
_REASON_ARGUMENT: Final = pattern(rf"\b(?:skip\w*|xfail|ignore|disabled|abort|assume\w*)\b{_TEXT}", re.IGNORECASE)
_SCRIPT_REASON_ARGUMENT: Final = pattern(rf"\b(?:this|t|ctx|context|task)\.(?:skip|todo)\b{_TEXT}")
"""The first text of `it.skip(...)` is the test's name."""
_REASON_BESIDE: Final = pattern(r"\S\s+(?:#(?!\[)|//|/\*)(?P<reason>.{0,300})")
_REASON_ABOVE: Final = pattern(r"\s*(?:#(?!\[)|//|/\*|\*\s)(?P<reason>.{0,300})")
_REASON_WORD: Final = pattern(r"[A-Za-z]{2,}")
_EMPTY_WORDS: Final = frozenset(
    {"todo", "fixme", "xxx", "wip", "skip", "skips", "skipped", "skipping", "disable", "disabled", "ignore", "ignored"}
    | {"test", "tests", "this", "it", "is", "was", "for", "now", "at", "the", "moment", "temporarily", "temporary"}
    | {"temp", "later", "until", "fix", "fixed", "me", "to", "be", "broken", "flaky", "fails", "failing", "fail"}
)
_FEWEST_WORDS: Final = 2
"""Of a reason, without empty ones: every skip can carry a single one."""
_MOST_ABOVE: Final = 3
_MOST_LINES: Final = 3
"""Lines of a skip with its reason."""


def has_reason(file: AnalyzedFile, line: int) -> bool:
    """Whether the skip on this *line* of the head has a reason beside it or above."""
    source = file.source_at(line)
    if source is None or is_explained_above(file, line):
        return source is not None
    row = line - source.first_line
    form = _SCRIPT_REASON_ARGUMENT if source.language in SCRIPT_LANGUAGES else _REASON_ARGUMENT
    argument = form.search(" ".join(source.lines[row : row + _MOST_LINES]))
    return any(match and _is_reason(match["reason"]) for match in (argument, _REASON_BESIDE.search(source.lines[row])))


def is_explained_above(file: AnalyzedFile, line: int) -> bool:
    """Whether added comments right above this *line* of the head give a reason; code in a comment gives none."""
    sources = (source for source in file.sources if source.has_line(line))
    return any(_is_reason(" ".join(_comments_above(file, source, line))) for source in sources)


def _comments_above(file: AnalyzedFile, source: Source, line: int) -> Iterator[str]:
    removed = {text.strip() for text in file.diff.removed_texts}
    for number in range(line - 1, max(source.first_line, line - _MOST_ABOVE) - 1, -1):
        match = _REASON_ABOVE.match(source.text_at(number))
        if match is None or number not in file.added_lines:
            return
        if match["reason"].strip() not in removed:
            yield match["reason"]


def _is_reason(text: str) -> bool:
    return len({word.casefold() for word in _REASON_WORD.findall(text)} - _EMPTY_WORDS) >= _FEWEST_WORDS


_NAME_PARTS: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONG_PART: Final = 6
_MOST_ASKED: Final = 20_000
_PARTS: Final = pattern(r"[:,;] ")
_ASKS_TO_REMOVE: Final = pattern(
    r"^(?:[^\w\n]|\d{1,3}[.)]|\[x\]){0,20}(?:please )?(?:temporarily )?(?:skip|disabl|quarantin|xfail|ignor|remov|delet|drop|clean(?:ed|s|ing)?[ -]?up)(?:ed|e|es|s|ing|ped|ping)?\b.{1,200}",
    re.IGNORECASE | re.MULTILINE,
)
_NAMES_TESTS: Final = pattern(r"\b(?:tests?|specs?|suites?|test ?cases?|test_\w+|assert(?:ion)?s?)\b", 2)
_NAMES_CI: Final = pattern(r"\b(?:ci|actions?|workflows?|jobs?|checks?|tests?)\b", 2)


def is_removal_declared(change: CodeChange, test: Test | None = None) -> bool:
    """Whether an issue, or the title of a change without one, asks to remove or skip tests, assertions or this *test*.

    A revert needs no request.
    """
    if is_revert(change):
        return True
    issues = change.dossier.issues
    texts = [text for issue in issues for text in (issue.title, issue.body[:_MOST_ASKED])]
    asking = [match[0] for text in texts or [_title_subject(change)] for match in _ASKS_TO_REMOVE.finditer(text)]
    if any(map(_NAMES_TESTS.search, asking)):
        return True
    if test is None:
        return False
    # the test's name, or a long word of it: what is removed is what it tests
    parts = {word.casefold() for word in _NAME_PARTS.findall(test.name) if len(word) >= _LONG_PART}
    asked = {word.casefold() for line in asking for word in _NAME_PARTS.findall(line)}
    return any(test.name in line for line in asking) or not parts.isdisjoint(asked)


def is_ci_removal_declared(change: CodeChange) -> bool:
    """Whether the title of a change without an issue asks to remove a part of CI: `ci: disable the workflow for now`."""
    asking = _ASKS_TO_REMOVE.match(_title_subject(change)) if not change.dossier.issues else None
    return asking is not None and _NAMES_CI.search(asking[0]) is not None


def _title_subject(change: CodeChange) -> str:
    """The title from the last colon or comma on: `client: retry, disable a flaky test` says two things."""
    return _PARTS.split(change.dossier.pull_request.title)[-1]
