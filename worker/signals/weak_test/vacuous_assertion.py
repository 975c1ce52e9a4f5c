"""Checks that hold whatever the code does, and tests that only ask whether something is there.

Does not evaluate an expression. Invariant: a check inside of a function that the test hands to somebody is no fact: it may be
there to be run, or not. One without anything in it but literals is left alone there: it says that this place is reached.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import can_match, pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.asserting_functions import has_expecting_mark
from worker.signals.analysis.assertions import (
    ALWAYS_TRUE,
    LITERAL_COMPARED,
    NOT_AWAITED,
    NOT_CALLED,
    SELF_COMPARED,
    Assertion,
    find_assertions,
)
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
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
from worker.signals.analysis.tests import find_tests, has_forbidden_path
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal
from worker.signals.weak_test.missing_assertion import find_unasserted

if TYPE_CHECKING:
    from tree_sitter import Node

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
"""A property asked twice whether it is kept, and an order of somebody's own: both may well fail."""
_CALLS: Final = pattern(r"([A-Za-z_]\w*)!?\(")
_COMPARES: Final = pattern(r"(?:expect|assert|require|verify|to|is|be|has|that|then|eq|equal|same|not)", re.IGNORECASE)
_OF_THE_PROJECT: Final = pattern(r"assert_\w+\(")
"""A function of its own, which may hold more to account than that both sides are the same."""
_SAME_SUBJECTS: Final = frozenset({SELF_COMPARED, LITERAL_COMPARED})
"""Beside checks that may fail, these may be the material of a test of comparing."""
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
"""What is run only to see it come to its end gives something back: its name says so, or it is thrown away by name."""
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

    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for body, oracle in _find_empty_checks(change):
        if oracle.weakness not in {NOT_AWAITED, NOT_CALLED} and not _can_be_intended(body, oracle, change):
            yield _build_match(body, oracle, f"this assertion can't fail: {oracle.weakness}")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def assertion_idle(change: CodeChange) -> Iterator[SignalMatch]:
    """An added assertion that holds whatever the code does, beside others that may fail.

    False alarms: 18 of 22175 clean changes with tests (0.1 %, at most 0.13 %).
    """
    for body, oracle in _find_empty_checks(change):
        if oracle.weakness not in {NOT_AWAITED, NOT_CALLED} and _can_be_intended(body, oracle, change):
            yield _build_match(body, oracle, f"this assertion proves nothing: {oracle.weakness}")
    for body in find_bodies(change):
        for oracle in body.assertions:
            name = _find_presence_subject(oracle) if body.is_added(oracle.node) else ""
            if (
                name
                and oracle.text not in body.base_checks
                and _is_written_out(name, text_of(body.node)[:_LONGEST_TEST])
            ):
                yield _build_match(body, oracle, f"this assertion proves nothing: `{name}` is written out above")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Call the matcher at {place}, with the expected value where it takes one.",
)
def matcher_not_called(change: CodeChange) -> Iterator[SignalMatch]:
    """An added matcher that is named and not called, so that it checks nothing.

    False alarms: 1 of 22175 clean changes with tests (0.0 %, at most 0.03 %).
    """
    for body, oracle in _find_empty_checks(change):
        if oracle.weakness == NOT_CALLED:
            yield _build_match(body, oracle, "the matcher is never called")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def expectation_not_awaited(change: CodeChange) -> Iterator[SignalMatch]:
    """An added expectation about a promise that the test does not await: the test may end before the check.

    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for body, oracle in _find_empty_checks(change):
        if oracle.weakness == NOT_AWAITED:
            yield _build_match(body, oracle, "nobody waits for this expectation about a promise")
    for body in find_bodies(change):
        is_waiting = body.source.language not in SCRIPT_LANGUAGES or _WAITS.search(text_of(body.node)[:_LONGEST_TEST])
        for oracle in () if is_waiting else body.assertions:
            if body.is_added(oracle.node) and not oracle.is_guess and _is_deferred(oracle.node, body.node):
                yield _build_match(body, oracle, "the test does not wait until this is checked")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_expects_presence_only(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test whose every check only asks whether there is something, whatever it is.

    False alarms: 155 of 22175 clean changes with tests (0.7 %, at most 0.82 %).
    """
    for look in find_test_pairs(change):
        telling = _select_outermost([assertion for assertion in look.assertions if assertion.proof >= Proof.PRESENCE])
        is_weak = look.is_new and telling and all(assertion.proof is Proof.PRESENCE for assertion in telling)
        if is_weak and not has_expecting_mark(look.test):
            yield _build_match(
                look, telling[0], f"the new test `{look.test.name}` only asks whether something is there"
            )


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_expects_success_only(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test computes something, and its every check only asks that nothing failed on the way.

    False alarms: 61 of 22175 clean changes with tests (0.3 %, at most 0.35 %).
    """
    unasserted = {id(look) for look in find_unasserted(change)}
    for look in find_test_pairs(change):
        is_quiet = (
            id(look) not in unasserted
            and look.is_new
            and look.assertions
            and all(assertion.proof is Proof.SUCCESS for assertion in look.assertions)
        )
        if (
            not is_quiet
            or SMOKE_TEST.search(look.test.name)
            or _SUCCEEDS.search(look.test.name)
            or has_expecting_mark(look.test)
        ):
            continue
        if not look.is_cut and (_has_bindings(look) or _has_telling_call(look)):
            yield _build_match(
                look, look.assertions[0], f"the new test `{look.test.name}` only asks that nothing fails"
            )


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def any_error_expected(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test expects an error, or a changed one does from now on, and any would do.

    False alarms: 16 of 22175 clean changes with tests (0.1 %, at most 0.12 %).
    """
    for look in find_test_pairs(change):
        is_looked_at = can_match(_ANY_ERROR, look.test.text) and (
            look.is_new or look.base is None or not _ANY_ERROR.search(look.base.text)
        )
        for number, text in enumerate(look.test.text.split("\n") if is_looked_at else ()):
            line = look.test.body.start_point.row + look.test.source.first_line + number
            if line in look.file.added_lines and _ANY_ERROR.search(text[:_LONGEST_LINE]):
                yield SignalMatch("any error would do here", look.file.path, line, line)


def _find_presence_subject(oracle: Assertion) -> str:
    """The one plain name that is asked to be something at all."""
    match = _IS_THERE.fullmatch(oracle.text[:_LONGEST_LINE]) if oracle.proof is Proof.PRESENCE else None
    return "" if match is None else next(filter(None, match.groups()))


def _is_written_out(name: str, text: str) -> bool:
    """Whether the test binds *name* once, to a value that it writes out."""
    bound = re.findall(rf"(?<![\w.]){re.escape(name)}(?:: [^=\n]{{1,80}})? ?:?= ?(?!=)(?=([^=]{{0,40}}))", text)
    return len(bound) == 1 and _WRITTEN.match(bound[0]) is not None


def _can_be_intended(body: CheckedBody, oracle: Assertion, change: CodeChange) -> bool:
    return (
        _is_idle(body, oracle)
        or _is_in_failing_branch(body, oracle)
        or (body.test_pair is not None and _is_test_data(body.test_pair))
        or has_checks_beside(body.file, change)
    )


def _is_in_failing_branch(body: CheckedBody, oracle: Assertion) -> bool:
    """The other way of an `if` around it fails: to come here is what is asked."""
    ways = (ancestor for ancestor in ancestors(oracle.node, body.node) if ancestor.type in _FORKS)
    return any(_FAILS_BY.search(text_of(way)[:_LONGEST_TEST]) for way in ways)


def _is_test_data(look: TestPair) -> bool:
    """It is what the tests of a test tool try: another one makes, runs and checks its type, or it is the only one to be run."""
    if ".only" in look.test.marks and has_forbidden_path(look.test.source):
        return True
    owner = look.test.function.type_name
    if not owner:
        return False
    named = re.compile(rf"(?<![\w.]){re.escape(owner)}\b")
    others = (
        test for test in find_tests(look.test.source) if test.function.type_name != owner and named.search(test.text)
    )
    assertions = (find_assertions(other.body, other.source.language, nodes=other.source.nodes) for other in others)
    return any(oracle.proof is Proof.VALUE and not oracle.is_guess for oracles in assertions for oracle in oracles)


def _is_idle(body: CheckedBody, oracle: Assertion) -> bool:
    """Others in the test may fail, or what is compared is made twice, so that even this one may, or it may not be run."""
    if is_in_callback(oracle.node, body.node) or (SMOKE_TEST.search(body.name) and is_constant(oracle)):
        return True
    if oracle.weakness == SELF_COMPARED and (_IS_MADE.search(oracle.text[:_LONGEST_LINE]) or _is_called_twice(oracle)):
        return True
    if oracle.weakness == SELF_COMPARED and _OF_THE_PROJECT.match(oracle.text[:_LONGEST_LINE]):
        return True
    if oracle.weakness == SELF_COMPARED and oracle.pair is not None and _is_more_than_a_name(oracle.pair[0], body):
        return True
    if _has_only_literals(oracle) and _is_counted(body):
        return True
    return oracle.weakness in {ALWAYS_TRUE, *_SAME_SUBJECTS} and (
        not (bool(body.name) and (not any(_can_fail(assertion) for assertion in body.assertions)))
    )


def _is_more_than_a_name(side: str, body: CheckedBody) -> bool:
    """A constant of a type, whose own equality may be asked for, or in Python an attribute, which a descriptor answers."""
    is_attribute = body.source.language is Language.PYTHON and "." in side
    return is_attribute or _CONSTANT.fullmatch(side) is not None


def _is_called_twice(oracle: Assertion) -> bool:
    """What is compared comes from calls, be they named like a matcher: `tokenize(x)`, `x.toString()`."""
    if oracle.pair is not None:
        return any(_CALLS.search(side) for side in oracle.pair)
    return any(not _COMPARES.match(name) for name in _CALLS.findall(oracle.text))


def is_constant(oracle: Assertion) -> bool:
    """Nothing but literals in it, so that it only marks that the test came so far."""
    return oracle.weakness in {ALWAYS_TRUE, LITERAL_COMPARED} and not any(
        not _COMPARES.match(name) for name in _CALLS.findall(oracle.text)
    )


def _can_fail(oracle: Assertion) -> bool:
    """It checks a value, or says itself that the test has failed: `t.assert.fail(...)` in a stub that nobody may call."""
    return oracle.proof is Proof.VALUE and (
        not oracle.is_guess or _FAILS.match(oracle.text[:_LONGEST_LINE]) is not None
    )


def _is_counted(body: CheckedBody) -> bool:
    """The test announces how many checks it comes past: each one tells that its place is reached, whatever it says."""
    return (
        body.source.language in SCRIPT_LANGUAGES and _ANNOUNCES.search(text_of(body.node)[:_LONGEST_TEST]) is not None
    )


def _is_deferred(node: "Node", body: "Node") -> bool:
    """It stands in what is run later, by a call that is a statement of its own."""
    callback = next((ancestor for ancestor in ancestors(node, body) if ancestor.type in _CALLBACKS), None)
    arguments = callback.parent if callback is not None else None
    call = arguments.parent if arguments is not None else None
    called = call.child_by_field_name("function") if call is not None else None
    if call is None or called is None or not _LATER.match(text_of(called)[-_LONGEST_LINE:]):
        return False
    whole = outermost(call, lambda around: around.type in {"member_expression", "call_expression"})
    return whole.parent is not None and whole.parent.type == "expression_statement"


def _has_bindings(look: TestPair) -> bool:
    """It binds something besides errors, so that there is a value to look at."""
    return any(name not in {"err", "e", "error", "_"} for name in _BOUND.findall(look.test.text))


def _has_telling_call(look: TestPair) -> bool:
    """What it calls only to see it come to its end returns something: other tests of the file compare that."""
    called = {name for assertion in look.assertions for name in _CALLED.findall(assertion.text)}
    is_named_so = any(_RETURNS.search(assertion.text[:_LONGEST_LINE]) for assertion in look.assertions)
    return is_named_so or not called.isdisjoint(look.file.cached(_find_compared_calls))


def _find_compared_calls(file: AnalyzedFile) -> frozenset[str]:
    """What is called on lines of this file that compare something."""
    lines = (line[:_LONGEST_LINE] for source in file.sources for line in source.lines if _COMPARING.search(line))
    return frozenset(name for line in lines for name in _CALLED.findall(line) if not _COMPARES.match(name))


def _select_outermost(oracles: list[Assertion]) -> list[Assertion]:
    """Without what only sounds like a check and stands in one."""
    ends = sorted((oracle.node.start_byte, oracle.node.end_byte) for oracle in oracles if not oracle.is_guess)

    def is_inside(assertion: Assertion) -> bool:
        at = bisect_right(ends, (assertion.node.start_byte, sys.maxsize)) - 1
        return at >= 0 and assertion.node.end_byte <= ends[at][1]

    return [oracle for oracle in oracles if not oracle.is_guess or not is_inside(oracle)]


def _build_match(owner: CheckedBody | TestPair, oracle: Assertion, note: str) -> SignalMatch:
    node = oracle.node
    line = node.start_point.row + (owner.source if isinstance(owner, CheckedBody) else owner.test.source).first_line
    return SignalMatch(note, owner.file.path, line, line + node.end_point.row - node.start_point.row)


def _find_empty_checks(change: CodeChange) -> tuple[tuple[CheckedBody, Assertion], ...]:
    return change.cached(_select_empty_checks)


def _select_empty_checks(change: CodeChange) -> tuple[tuple[CheckedBody, Assertion], ...]:
    first: dict[tuple[str, int], tuple[CheckedBody, Assertion]] = {}
    for body in find_bodies(change):
        for oracle in body.assertions:
            is_added = oracle.proof is Proof.NOTHING and body.is_added(oracle.node)
            if (
                is_added
                and not _is_old(body, oracle, change)
                and not _is_intended_equality(body, oracle)
                and not _is_reached_mark(body, oracle)
            ):
                at = (body.file.path, body.line_of(oracle.node))
                if at not in first or is_in_callback(first[at][1].node, first[at][0].node):  # a test within a test
                    first[at] = (body, oracle)
    return tuple(first.values())


def _is_old(body: CheckedBody, oracle: Assertion, change: CodeChange) -> bool:
    """Word for word, here or elsewhere, or another that proves as little stood here and is gone."""
    line = body.source.lines[oracle.node.start_point.row].strip()
    if oracle.text in body.base_checks or (line in change.removed_texts and oracle.text.rstrip(";") in line):
        return True
    before = body.test_pair.base_assertions if body.test_pair is not None else ()
    return _count_empty_checks(before) >= _count_empty_checks(body.assertions) > 0


def _count_empty_checks(oracles: tuple[Assertion, ...]) -> int:
    return sum(oracle.proof is Proof.NOTHING for oracle in oracles)


def _is_reached_mark(body: CheckedBody, oracle: Assertion) -> bool:
    """In a function that is handed over, to say no more than that it is run; or it is a part of what is handed over."""
    is_open = oracle.weakness in {NOT_AWAITED, NOT_CALLED} or _has_only_literals(oracle)
    return is_open and is_in_callback(oracle.node, body.node)


def _has_only_literals(oracle: Assertion) -> bool:
    """It names nothing but literals and what an assertion itself is called."""
    names = (word for word in _WORD.findall(_QUOTED.sub(" ", oracle.text)) if not _COMPARES.match(word))
    return all(map(_OF_LITERALS.fullmatch, names))


def _is_intended_equality(body: CheckedBody, oracle: Assertion) -> bool:
    """A test of equality compares a thing with itself, and with what is not equal to it."""
    if oracle.weakness not in _SAME_SUBJECTS:
        return False
    compared = oracle.text if oracle.pair is None else " ".join(oracle.pair)
    names = {name for name in _WORD.findall(compared) if not _COMPARES.match(name)}
    others = [assertion for assertion in body.assertions if assertion is not oracle and _DIFFERS.search(assertion.text)]
    telling = (other.text for other in others if other.weakness not in _SAME_SUBJECTS or "hash" in other.text)
    around = body.test_pair.test.key if body.test_pair is not None else ()
    return is_about_equality(" ".join(around)) or any(not names.isdisjoint(_WORD.findall(text)) for text in telling)
