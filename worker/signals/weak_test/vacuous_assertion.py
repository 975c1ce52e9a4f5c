"""Checks that hold whatever the code does, and tests that only ask whether something is there.

Expressions are not evaluated. A check in a function that the test passes to other code is no fact, since it may run or not; one
of literals only is left alone there: it marks that this point is reached.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import can_match, pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.assertions import (
    ALWAYS_TRUE,
    LITERAL_COMPARED,
    NOT_AWAITED,
    NOT_CALLED,
    SELF_COMPARED,
    Assertion,
)
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.proofs import Proof
from worker.signals.analysis.syntax import ancestors, outermost, text_of
from worker.signals.analysis.test_pairs import (
    SMOKE_TEST,
    CheckedBody,
    TestPair,
    find_bodies,
    find_test_pairs,
    has_checks_beside,
    is_about_equality,
    is_in_callback,
)
from worker.signals.analysis.tests import Test, find_tests, has_expecting_mark, has_forbidden_path
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal
from worker.signals.weak_test.missing_assertion import find_unasserted

_IS_THERE: Final = pattern(
    r"assert ([A-Za-z_]\w*) is not None|self\.assertIsNotNone\(([A-Za-z_]\w*)\)|(?:require|assert)\.NotNil\(t, ([A-Za-z_]\w*)\)"
    r"|expect\(([A-Za-z_$]\w*)\)\.(?:toBeDefined\(\)|not\.toBe(?:Undefined|Null)\(\));?"
)
_WRITTEN: Final = pattern(r"[\[{\"'`\d]|[bfr][\"']|\(\s*[\"'\d]|&?\[\]|map")
_FORKS: Final = frozenset({"if_statement", "if_expression", "switch_statement", "match_expression", "match_statement"})
_FAILS_BY: Final = pattern(
    r"\b(?:throw|raise)\s+\w|\b(?:panic|unreachable)!?\(|\b[fF]ail(?:Now|f)?\(|\b(?:Fatal|Error)f?\("
)
_CONSTANT: Final = pattern(r"(?:\w{1,60}(?:\.|::)){0,3}[A-Z][A-Z\d_]{2,60}")
_IS_MADE: Final = pattern(r"\.\w{1,80} is [A-Za-z_]|\bassertIs\([\w.]{0,80}\.|\w [<>]= \w")
"""A property that is read twice, and an order defined by the code: both may well fail."""
_CALLS: Final = pattern(r"([A-Za-z_]\w*)!?\(")
_COMPARES: Final = pattern(r"(?:expect|assert|require|verify|to|is|be|has|that|then|eq|equal|same|not)", re.IGNORECASE)
_OF_THE_PROJECT: Final = pattern(r"assert_\w+\(")
"""An assertion of the project, which may check more than equality."""
_UNRUN: Final = frozenset({NOT_AWAITED, NOT_CALLED})
_SAME_SUBJECTS: Final = frozenset({SELF_COMPARED, LITERAL_COMPARED})
"""Weaknesses that may be the data of a test of equality, beside checks that may fail."""
_FAILS: Final = pattern(r"(?:[$\w]{1,40}(?:\.|->|::)){0,3}(?:[fF]ail|flunk)\b")
_ANNOUNCES: Final = pattern(r"\b(?:(?:t|tt|st|tap|test|assert)\.plan|expect\.assertions|assert\.expect)\(\s*[1-9]")
_WAITS: Final = pattern(
    r"\b(?:done|resolve|resolved|reject|completed|end|plan|assertions|hasAssertions|advanceTimers\w*|runAllTimers\w*|tick|clock)\b"
)
_LONGEST_TEST: Final = 20_000
_CALLBACKS: Final = frozenset({"arrow_function", "function_expression"})
_LATER: Final = pattern(
    r"(?:setTimeout|setImmediate|queueMicrotask|process\.nextTick)$|.*\.(?:then|finally)$", re.DOTALL
)
_SUCCEEDS: Final = pattern(
    r"valid|success|succeed|allow|accept|works?\b|ok\b|no_?op|no_?err|can_|ignore|default|empty|pass|skip",
    re.IGNORECASE,
)
_BOUND: Final = pattern(r"\b([A-Za-z_]\w*)(?:, ?\w+)* ?:?= ?[^=]")
_RETURNS: Final = pattern(
    r"\(\(?\) -> [\w.]{0,80}\b(?:to|get|is|has|as|from|of|parse|find|compute|read|value|split|join|wrap|max|min|count|size|index|contains|equals|compare)[A-Z]\w*\("
    r"|\{ _ = "
)
"""A call run only to its end that returns something: by its name, or since the result is dropped by name."""
_CALLED: Final = pattern(r"([A-Za-z_][\w.]{2,80})\(")
_COMPARING: Final = pattern(
    r"assert(?:_?eq|Equals|_equal|That|Same|Array|True|False)|\.Equal\(|\.toBe\(|\.toEqual\(|\bassert .+ == ", 2
)
_LONGEST_LINE: Final = 500
_ANY_ERROR: Final = pattern(
    r"\b(?:pytest\.raises|assertRaises)\((?:Base)?Exception\)|\bassertThrows\((?:Exception|Throwable)\.class"
    r"|\bisInstanceOf\((?:Exception|Throwable)\.class\)",
    needs=("exception", "throwable"),
)
_QUOTED: Final = pattern(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`")
_OF_LITERALS: Final = pattern(
    r"t|self|ok|chai|pass|[tT]rue|[fF]alse|[nN]one|null|nil|undefined|or|and|in|expr|[oO]bject|typeof"
)
_WORD: Final = pattern(r"[A-Za-z_]\w*")
_DIFFERS: Final = pattern(r"!=\s*[A-Za-z_]|\bhash(?:Code)?\(|[nN]ot_?[eE]qual|assert_ne|\.not\.")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Replace the assertion at {place} by one that compares what the code returns with the expected value.",
)
def assertion_always_true(change: CodeChange) -> Iterator[SignalMatch]:
    """An added assertion that no result could make fail: `assert True`, or a test that only compares with itself.

    None in a branch whose other way fails, in a type that another test runs and checks, or beside the configuration of its case.

    Why it matters: A check that cannot fail hides that the test proves nothing.
    Example: `assert True`, or `expect(total).toBe(total)`.
    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for body, assertion in _find_empty_checks(change):
        if assertion.weakness not in _UNRUN and not _can_be_intended(body, assertion, change):
            yield _build_match(body, assertion, f"this assertion can't fail: {assertion.weakness}")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def assertion_idle(change: CodeChange) -> Iterator[SignalMatch]:
    """An added assertion that holds whatever the code does, beside others that may fail.

    Why it matters: It adds to the number of assertions without adding a way to fail.
    Example: `assert x == x` above `assert x != 1`.
    False alarms: 18 of 22175 clean changes with tests (0.1 %, at most 0.13 %).
    """
    for body, assertion in _find_empty_checks(change):
        if assertion.weakness not in _UNRUN and _can_be_intended(body, assertion, change):
            yield _build_match(body, assertion, f"this assertion proves nothing: {assertion.weakness}")
    for body in find_bodies(change):
        for assertion in body.assertions:
            is_new = body.is_added(assertion.node) and assertion.text not in body.base_checks
            match = _IS_THERE.fullmatch(assertion.text[:_LONGEST_LINE]) if assertion.proof is Proof.PRESENCE else None
            if match is None or not is_new:
                continue
            name = next(filter(None, match.groups()))
            binding = rf"(?<![\w.]){re.escape(name)}(?:: [^=\n]{{1,80}})? ?:?= ?(?!=)(?=([^=]{{0,40}}))"
            bound = re.findall(binding, text_of(body.node)[:_LONGEST_TEST])
            if len(bound) == 1 and _WRITTEN.match(bound[0]):
                yield _build_match(body, assertion, f"this assertion proves nothing: `{name}` is written out above")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Call the matcher at {place}, with the expected value where it takes one.",
    settled_by=SettlingLine.ANY,
)
def matcher_not_called(change: CodeChange) -> Iterator[SignalMatch]:
    """An added matcher that is named and not called, so that it checks nothing.

    Why it matters: JavaScript and Python read the name of the matcher and drop it, so that nothing is compared.
    Example: `expect(total).toBeFalsy` without brackets.
    False alarms: 1 of 22175 clean changes with tests (0.0 %, at most 0.03 %).
    """
    for body, assertion in _find_empty_checks(change):
        if assertion.weakness == NOT_CALLED:
            yield _build_match(body, assertion, "the matcher is never called")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def expectation_not_awaited(change: CodeChange) -> Iterator[SignalMatch]:
    """An added expectation about a promise that the test does not await: the test may end before the check.

    Why it matters: The test may end before the check runs, and a failure then reaches no report.
    Example: `expect(load()).rejects.toThrow()` without `await`.
    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for body, assertion in _find_empty_checks(change):
        if assertion.weakness == NOT_AWAITED:
            yield _build_match(body, assertion, "nobody waits for this expectation about a promise")
    for body in find_bodies(change):
        is_waiting = body.source.language not in SCRIPT_LANGUAGES or _WAITS.search(text_of(body.node)[:_LONGEST_TEST])
        for assertion in () if is_waiting else body.assertions:
            is_new = body.is_added(assertion.node) and not assertion.is_guess
            if is_new and _is_deferred(assertion.node, body.node):
                yield _build_match(body, assertion, "the test does not wait until this is checked")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_expects_presence_only(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test whose every check only asks whether there is something, whatever it is.

    Why it matters: Nearly any wrong result is there, too.
    Example: `assert total() is not None` as the only check.
    False alarms: 155 of 22175 clean changes with tests (0.7 %, at most 0.82 %).
    """
    for pair in find_test_pairs(change):
        telling = _select_outermost([assertion for assertion in pair.assertions if assertion.proof >= Proof.PRESENCE])
        is_weak = pair.is_new and telling and all(assertion.proof is Proof.PRESENCE for assertion in telling)
        if is_weak and not has_expecting_mark(pair.test):
            note = f"the new test `{pair.test.name}` only asks whether something is there"
            yield _build_match(pair, telling[0], note)


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_expects_success_only(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test computes something, and its every check only asks that nothing failed on the way.

    Why it matters: The result may be wrong in every way that raises no error.
    Example: `got, err := Parse(text)` and then only `require.NoError(t, err)`.
    False alarms: 61 of 22175 clean changes with tests (0.3 %, at most 0.35 %).
    """
    unasserted = {id(pair) for pair in find_unasserted(change)}
    for pair in find_test_pairs(change):
        name, assertions = pair.test.name, pair.assertions
        if id(pair) in unasserted or not pair.is_new or not assertions or pair.is_cut or has_expecting_mark(pair.test):
            continue
        is_meant = SMOKE_TEST.search(name) or _SUCCEEDS.search(name)
        if is_meant or not all(assertion.proof is Proof.SUCCESS for assertion in assertions):
            continue
        # it binds something besides errors, which it could look at
        has_bindings = not {"err", "e", "error", "_"}.issuperset(_BOUND.findall(pair.test.text))
        # a call that it only runs to its end returns something: other tests of the file compare that
        called = {name for assertion in assertions for name in _CALLED.findall(assertion.text)}
        is_compared = not called.isdisjoint(_find_compared_calls(pair.file))
        is_named_so = any(_RETURNS.search(assertion.text[:_LONGEST_LINE]) for assertion in assertions)
        if has_bindings or is_compared or is_named_so:
            yield _build_match(pair, assertions[0], f"the new test `{name}` only asks that nothing fails")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def any_error_expected(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test expects an error, or a changed one does from now on, and any would do.

    Why it matters: A misspelt name or a failed import satisfies it as well as the error that is meant.
    Example: `with pytest.raises(Exception):`.
    False alarms: 16 of 22175 clean changes with tests (0.1 %, at most 0.12 %).
    """
    for pair in find_test_pairs(change):
        test, base = pair.test, pair.base
        is_old = not pair.is_new and base is not None and _ANY_ERROR.search(base.text)
        texts = test.text.split("\n") if can_match(_ANY_ERROR, test.text) and not is_old else ()
        for line, text in enumerate(texts, test.source.line_of(test.body)):
            if line in pair.file.added_lines and _ANY_ERROR.search(text[:_LONGEST_LINE]):
                yield SignalMatch("any error would do here", pair.file.path, line, line)


def _can_be_intended(body: CheckedBody, assertion: Assertion, change: CodeChange) -> bool:
    # to come to a branch may be what is asked: the other way of an `if` around it fails
    forks = (ancestor for ancestor in ancestors(assertion.node, body.node) if ancestor.type in _FORKS)
    return (
        _is_idle(body, assertion)
        or any(_FAILS_BY.search(text_of(fork)[:_LONGEST_TEST]) for fork in forks)
        or (body.test_pair is not None and _is_test_data(body.test_pair.test))
        or has_checks_beside(body.file, change)
    )


def _is_test_data(test: Test) -> bool:
    """Whether a test tool is tried with it: another test makes, runs and checks its type, or it alone is to be run."""
    if ".only" in test.marks and has_forbidden_path(test.source):
        return True
    owner = test.function.type_name
    if not owner:
        return False
    named = re.compile(rf"(?<![\w.]){re.escape(owner)}\b")
    others = (
        other for other in find_tests(test.source) if other.function.type_name != owner and named.search(other.text)
    )
    checks = (check for other in others for check in other.assertions)
    return any(check.proof is Proof.VALUE and not check.is_guess for check in checks)


def _is_idle(body: CheckedBody, assertion: Assertion) -> bool:
    """Whether others in the test may fail, or both sides are made separately, so that even this one may, or it may not run."""
    text, weakness, pair = assertion.text[:_LONGEST_LINE], assertion.weakness, assertion.pair
    has_own_call = any(not _COMPARES.match(name) for name in _CALLS.findall(assertion.text))
    # it only marks that the test came so far
    is_mark = weakness in {ALWAYS_TRUE, LITERAL_COMPARED} and not has_own_call and SMOKE_TEST.search(body.name)
    if is_mark or is_in_callback(assertion.node, body.node):
        return True
    if weakness == SELF_COMPARED:
        # calls make what is compared, maybe with the name of a matcher: `tokenize(x)`, `x.toString()`
        is_called_twice = has_own_call if pair is None else any(map(_CALLS.search, pair))
        # a constant of a type, whose own equality may be tested, or an attribute of Python, maybe a descriptor
        is_attribute = pair is not None and body.source.language is Language.PYTHON and "." in pair[0]
        is_constant = pair is not None and _CONSTANT.fullmatch(pair[0]) is not None
        if is_called_twice or is_attribute or is_constant or _IS_MADE.search(text) or _OF_THE_PROJECT.match(text):
            return True
    # where a script announces its number of checks, each one, whatever it asks for, proves that it is reached
    is_counted = body.source.language in SCRIPT_LANGUAGES and _has_only_literals(assertion)
    if is_counted and _ANNOUNCES.search(text_of(body.node)[:_LONGEST_TEST]):
        return True
    checks = (check for check in body.assertions if check.proof is Proof.VALUE)
    # also what fails the test itself: `t.assert.fail(...)` in a stub that must not be called
    can_fail = any(not check.is_guess or _FAILS.match(check.text[:_LONGEST_LINE]) for check in checks)
    return weakness in {ALWAYS_TRUE, *_SAME_SUBJECTS} and (can_fail or not body.name)


def _is_deferred(node: Node, body: Node) -> bool:
    """Whether it is run later, by a call that is a statement of its own."""
    callback = next((ancestor for ancestor in ancestors(node, body) if ancestor.type in _CALLBACKS), None)
    arguments = callback.parent if callback is not None else None
    call = arguments.parent if arguments is not None else None
    called = call.child_by_field_name("function") if call is not None else None
    if call is None or called is None or not _LATER.match(text_of(called)[-_LONGEST_LINE:]):
        return False
    whole = outermost(call, lambda around: around.type in {"member_expression", "call_expression"})
    return whole.parent is not None and whole.parent.type == "expression_statement"


@memoized
def _find_compared_calls(file: AnalyzedFile) -> frozenset[str]:
    """Names of calls on lines of this file that compare something."""
    lines = (line[:_LONGEST_LINE] for source in file.sources for line in source.lines if _COMPARING.search(line))
    return frozenset(name for line in lines for name in _CALLED.findall(line) if not _COMPARES.match(name))


def _select_outermost(assertions: list[Assertion]) -> list[Assertion]:
    """Without guesses that are inside of a check."""
    ends = sorted((check.node.start_byte, check.node.end_byte) for check in assertions if not check.is_guess)

    def is_inside(assertion: Assertion) -> bool:
        at = bisect_right(ends, (assertion.node.start_byte, sys.maxsize)) - 1
        return at >= 0 and assertion.node.end_byte <= ends[at][1]

    return [assertion for assertion in assertions if not assertion.is_guess or not is_inside(assertion)]


def _build_match(owner: CheckedBody | TestPair, assertion: Assertion, note: str) -> SignalMatch:
    node = assertion.node
    line = (owner.source if isinstance(owner, CheckedBody) else owner.test.source).line_of(node)
    return SignalMatch(note, owner.file.path, line, line + node.end_point.row - node.start_point.row)


@memoized
def _find_empty_checks(change: CodeChange) -> tuple[tuple[CheckedBody, Assertion], ...]:
    """Added checks that prove nothing, one for each line."""
    first: dict[tuple[str, int], tuple[CheckedBody, Assertion]] = {}
    for body in find_bodies(change):
        empty = [assertion for assertion in body.assertions if assertion.proof is Proof.NOTHING]
        before = body.test_pair.base_assertions if empty and body.test_pair is not None else ()
        if sum(assertion.proof is Proof.NOTHING for assertion in before) >= len(empty):
            continue  # each replaces one that proved as little
        for assertion in empty:
            line = body.source.lines[assertion.node.start_point.row].strip()
            is_moved = line in change.removed_texts and assertion.text.rstrip(";") in line
            if is_moved or assertion.text in body.base_checks or not body.is_added(assertion.node):
                continue
            # in a function that is passed on, it may mark that this is run, or be a part of what is passed on
            is_open = assertion.weakness in _UNRUN or _has_only_literals(assertion)
            is_mark = is_open and is_in_callback(assertion.node, body.node)
            if not is_mark and not _is_intended_equality(body, assertion):
                at = (body.file.path, body.line_of(assertion.node))
                if at not in first or is_in_callback(first[at][1].node, first[at][0].node):  # a test within a test
                    first[at] = (body, assertion)
    return tuple(first.values())


def _has_only_literals(assertion: Assertion) -> bool:
    """Whether it names nothing but literals and words of assertions."""
    names = (word for word in _WORD.findall(_QUOTED.sub(" ", assertion.text)) if not _COMPARES.match(word))
    return all(map(_OF_LITERALS.fullmatch, names))


def _is_intended_equality(body: CheckedBody, assertion: Assertion) -> bool:
    """Whether a test of equality compares a thing with itself, and with what is not equal to it."""
    if assertion.weakness not in _SAME_SUBJECTS:
        return False
    compared = assertion.text if assertion.pair is None else " ".join(assertion.pair)
    names = {name for name in _WORD.findall(compared) if not _COMPARES.match(name)}
    others = [other for other in body.assertions if other is not assertion and _DIFFERS.search(other.text)]
    telling = (other.text for other in others if other.weakness not in _SAME_SUBJECTS or "hash" in other.text)
    around = body.test_pair.test.key if body.test_pair is not None else ()
    return is_about_equality(" ".join(around)) or any(not names.isdisjoint(_WORD.findall(text)) for text in telling)
