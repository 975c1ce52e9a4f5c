"""New tests that never run: skipped for everybody, replaced by a namesake, or not marked as a test.

Does not judge a test that was there before. Invariant: what is skipped on some machines only is not skipped.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile, Source
from worker.judge.heuristics.functions import Function, Where, functions_of
from worker.judge.heuristics.oracles import oracles_of
from worker.judge.heuristics.paths import SCRIPTS, Language, Role, role_of
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.syntax import is_comment, text_of
from worker.judge.heuristics.tests import Test, tests_of
from worker.judge.heuristics.truths import Proof
from worker.judge.heuristics.weak_test.looks import looks

if TYPE_CHECKING:
    from tree_sitter import Node

_MARKS: Final = {
    Language.PYTHON: pattern(r"@(?:pytest\.)?mark\.skip\b(?!if)|@(?:unittest\.)?skip\b|@pytest\.skip\b"),
    Language.RUST: pattern(r"#\[ignore\b"),
    Language.JAVA: pattern(r"@(?:Disabled|Ignore)\b|@Test\([^)]{0,200}enabled\s*=\s*false"),
    Language.GO: pattern(r"^(?:X|P)It$"),
    **dict.fromkeys(SCRIPTS, pattern(r"^x(?:it|test|specify)\b|^\w+(?:\.\w+){0,3}\.(?:skip|fixme)\b")),
}
_CALLS: Final = {
    Language.PYTHON: pattern(r"(?:pytest\.skip|self\.skipTest)\(|raise (?:unittest\.)?SkipTest\b"),
    Language.GO: pattern(r"\w+\.Skip(?:f|Now)?\("),
    **dict.fromkeys(SCRIPTS, pattern(r"(?:this|t|ctx|context|task)\.skip\(")),
}


@signal(Category.WEAK_TEST, Kind.FACT, Looks.TESTS)
def new_test_skipped(change: Change) -> Iterator[Place]:
    """A new test that is skipped on every machine.

    False alarms: 7 of 4497 clean changes with tests (0.2 %, at most 0.32 %).
    """
    for look in looks(change):
        line = _skipped_at(look.test) if look.is_new else None
        if line is not None and line in look.file.added_lines:
            note = f"the new test `{look.test.name}` is skipped everywhere"
            yield Place(note, look.file.path, line, max(line, look.test.first))


def _skipped_at(test: Test) -> int | None:
    language = test.source.language
    mark, call = _MARKS[language], _CALLS.get(language)
    if mark.search(test.marks):
        return _line_of_mark(test) or test.first
    if language in SCRIPTS and (suite := _skipped_suite(test.node)) is not None:
        return test.function.line_of(suite)
    first = next(iter(test.function.statements), None)
    if call is not None and first is not None and call.match(text_of(first)):
        return test.function.line_of(first)
    return None


_SUITES: Final = pattern(r"(?:x(?:describe|context|suite)|(?:describe|context|suite|test\.describe)\.(?:skip|fixme))\(")


def _skipped_suite(node: "Node") -> "Node | None":
    around = node.parent
    while around is not None:
        if around.type == "call_expression" and _SUITES.match(
            text_of(around.child_by_field_name("function"))[: _FARTHEST * 4] + "("
        ):
            return around
        around = around.parent
    return None


_FARTHEST: Final = 12


def _line_of_mark(test: Test) -> int | None:
    """The line above the test, or of it, on which the mark stands."""
    lines, mark = test.source.lines, _MARKS[test.source.language]
    row = test.first - test.source.first
    near = range(row, max(-1, row - _FARTHEST), -1)
    return next((at + test.source.first for at in near if mark.search(lines[at].strip())), None)


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def new_test_may_fail(change: Change) -> Iterator[Place]:
    """A new test that is marked as failing: it may fail, and nobody is told.

    False alarms: 7 of 4497 clean changes with tests (0.2 %, at most 0.32 %).
    """
    for look in looks(change):
        if look.is_new and _MAY_FAIL.search(look.test.marks):
            yield Place(f"the new test `{look.test.name}` may fail", look.file.path, look.test.first, look.test.first)


_MAY_FAIL: Final = pattern(
    r"@(?:pytest\.)?mark\.xfail(?!\([^)]{0,200}strict=True)|@(?:unittest\.)?expectedFailure|\.(?:failing|fails)\b"
)


@signal(Category.WEAK_TEST, Kind.FACT, Looks.TESTS)
def test_shadowed(change: Change) -> Iterator[Place]:
    """Two tests of one name in one place: only the last one runs, and one of the two is new.

    False alarms: 2 of 4497 clean changes with tests (0.0 %, at most 0.16 %).
    """
    for file in change.files:
        if file.language is Language.PYTHON and role_of(file.path) is Role.TEST:
            yield from _shadowed(file)


def _shadowed(file: ChangedFile) -> Iterator[Place]:
    for source in file.sources:
        tests = [test for test in tests_of(source) if source.whole and test.function.where is not Where.BRANCH]
        for key, times in Counter(test.key for test in tests).items():
            same = [test for test in tests if times > 1 and test.key == key and "overload" not in test.marks]
            if any(test.first in file.added_lines for test in same) and not _is_one_of_several(same):
                note = f"`{same[0].name}` is defined {times} times, and only the last one runs"
                last = max(test.first for test in same if test.first in file.added_lines)
                yield Place(note, file.path, last, last)


def _is_one_of_several(tests: list[Test]) -> bool:
    """A property and its setter, a registered handler: what a decorator made of the first is not lost."""
    return any("@" in test.marks and "mark." not in test.marks and "patch" not in test.marks for test in tests)


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def test_unmarked(change: Change) -> Iterator[Place]:
    """A new function that checks something among tests, is called by nobody and has no mark or name of a test.

    False alarms: 2 of 4497 clean changes with tests (0.0 %, at most 0.16 %).
    """
    for file in change.files:
        if file.language in {Language.PYTHON, Language.RUST, Language.JAVA}:
            yield from (place for source in file.sources if source.whole for place in _unmarked(file))


def _unmarked(file: ChangedFile) -> Iterator[Place]:
    source = file.sources[0]
    tests = tests_of(source)
    known = {test.function.node for test in tests}
    siblings = {_container(test.function) for test in tests}
    for function in functions_of(source) if tests else ():
        is_new = function.first in file.added_lines and function.node not in known
        if is_new and _container(function) in siblings and _looks_like_a_test(function) and _is_named_once(function):
            note = f"`{function.name}` checks something, but nothing makes it a test and nothing calls it"
            yield Place(note, file.path, function.first, max(function.first, function.last))


def _is_named_once(function: Function) -> bool:
    return function.source.once(_words)[function.name] == 1


def _words(source: Source) -> Counter[str]:
    return Counter(_WORD.findall(source.text))


_WORD: Final = pattern(r"\w+")


def _container(function: Function) -> "Node | None":
    return function.container


_TEST_NAME: Final = pattern(r"^_?test|^should|_should_|Test$|_test$|^it_", 2)


def _looks_like_a_test(function: Function) -> bool:
    """No parameters but the instance, no decorator, and a check of a value in it."""
    given = function.node.child_by_field_name("parameters")
    names = [text_of(one) for one in given.named_children if not is_comment(one)] if given is not None else []
    if (
        any(name not in {"self", "&self"} for name in names)
        or "@" in function.attributes
        or "#[" in function.attributes
    ):
        return False
    if function.where is Where.FUNCTION or not _TEST_NAME.search(function.name) or "private" in function.attributes:
        return False
    found = oracles_of(function.body, function.source.language)
    return any(one.proof is Proof.VALUE and not one.is_guess for one in found)
