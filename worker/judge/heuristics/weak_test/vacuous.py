"""Checks that hold whatever the code does, and tests that only ask whether something is there.

Does not evaluate an expression. Invariant: a check inside of a function that the test hands to somebody is left alone: it
may be there to be run, or not.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.oracles import EQUAL, ITSELF, NOT_AWAITED, NOT_CALLED, TRUE, Oracle, marks_prove
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.truths import Proof
from worker.judge.heuristics.weak_test.looks import Body, Look, bodies, is_handed_over, looks


@signal(Category.WEAK_TEST, Kind.FACT, Looks.TESTS)
def assertion_always_true(change: Change) -> Iterator[Place]:
    """An added assertion that no result could make fail: `assert True`, or a test that only compares with itself.

    False alarms: 5 of 4497 clean changes with tests (0.1 %, at most 0.26 %).
    """
    for body, oracle in _nothing(change):
        if oracle.why not in {NOT_AWAITED, NOT_CALLED} and not _is_idle(body, oracle):
            yield _place(body, oracle, f"this assertion can't fail: {oracle.why}")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def assertion_idle(change: Change) -> Iterator[Place]:
    """An added assertion that holds whatever the code does, beside others that may fail.

    False alarms: 4 of 4497 clean changes with tests (0.1 %, at most 0.23 %).
    """
    for body, oracle in _nothing(change):
        if oracle.why not in {NOT_AWAITED, NOT_CALLED} and _is_idle(body, oracle):
            yield _place(body, oracle, f"this assertion proves nothing: {oracle.why}")


def _is_idle(body: Body, oracle: Oracle) -> bool:
    """Others in the test may fail, or what is compared is made twice, so that even this one may."""
    if oracle.why == ITSELF and any(not _COMPARES.match(name) for name in _CALLS.findall(oracle.text)):
        return True
    return oracle.why in {TRUE, *_SAME} and not _is_all(body)


_CALLS: Final = pattern(r"([A-Za-z_]\w*)!?\(")
_COMPARES: Final = pattern(r"(?:expect|assert|require|verify|to|is|be|has|that|then|eq|equal|same|not)", re.IGNORECASE)


_SAME: Final = frozenset({ITSELF, EQUAL})
"""Beside checks that may fail, these may be the material of a test of comparing."""


def _is_all(body: Body) -> bool:
    """Whether nothing else in the test can fail; where the test is not shown, it may."""
    return bool(body.name) and all(one.proof is not Proof.VALUE or one.is_guess for one in body.oracles)


@signal(Category.WEAK_TEST, Kind.FACT, Looks.TESTS)
def matcher_not_called(change: Change) -> Iterator[Place]:
    """An added matcher that is named and not called, so that it checks nothing.

    False alarms: 0 of 4497 clean changes with tests (0.0 %, at most 0.09 %).
    """
    for body, oracle in _nothing(change):
        if oracle.why == NOT_CALLED:
            yield _place(body, oracle, "the matcher is never called")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def expectation_not_awaited(change: Change) -> Iterator[Place]:
    """An added expectation about a promise that nobody waits for: the test may be over before it is checked.

    False alarms: 6 of 4497 clean changes with tests (0.1 %, at most 0.29 %).
    """
    for body, oracle in _nothing(change):
        if oracle.why == NOT_AWAITED:
            yield _place(body, oracle, "nobody waits for this expectation about a promise")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def test_expects_presence_only(change: Change) -> Iterator[Place]:
    """A new test whose every check only asks whether there is something, whatever it is.

    False alarms: 42 of 4497 clean changes with tests (0.9 %, at most 1.26 %).
    """
    for look in looks(change):
        telling = [one for one in look.oracles if one.proof >= Proof.PRESENCE]
        is_weak = look.is_new and telling and all(one.proof is Proof.PRESENCE for one in telling)
        if is_weak and not marks_prove(look.test):
            yield _place(look, telling[0], f"the new test `{look.test.name}` only asks whether something is there")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def any_error_expected(change: Change) -> Iterator[Place]:
    """A new test expects an error, and any would do.

    False alarms: 4 of 4497 clean changes with tests (0.1 %, at most 0.23 %).
    """
    for look in looks(change):
        for number, text in enumerate(look.test.text.split("\n") if look.is_new else ()):
            if _ANY_ERROR.search(text[:_LONGEST_LINE]):
                line = look.test.body.start_point.row + look.test.source.first + number
                yield Place("any error would do here", look.file.path, line, line)


_LONGEST_LINE: Final = 500
_ANY_ERROR: Final = pattern(
    r"\b(?:pytest\.raises|assertRaises)\((?:Base)?Exception\)|\bassertThrows\((?:Exception|Throwable)\.class"
    r"|\bisInstanceOf\((?:Exception|Throwable)\.class\)"
)


def _place(place: Body | Look, oracle: Oracle, note: str) -> Place:
    node = oracle.node
    line = node.start_point.row + (place.source if isinstance(place, Body) else place.test.source).first
    return Place(note, place.file.path, line, line + node.end_point.row - node.start_point.row)


def _nothing(change: Change) -> tuple[tuple[Body, Oracle], ...]:
    return change.once(_find_nothing)


def _find_nothing(change: Change) -> tuple[tuple[Body, Oracle], ...]:
    found: dict[tuple[str, int], tuple[Body, Oracle]] = {}
    for body in bodies(change):
        for oracle in body.oracles:
            is_new = oracle.proof is Proof.NOTHING and body.is_added(oracle.node) and oracle.text not in body.known
            if is_new and not _is_on_purpose(body, oracle) and not is_handed_over(oracle.node, body.node):
                found.setdefault((body.file.path, body.line_of(oracle.node)), (body, oracle))
    return tuple(found.values())


_OF_EQUALITY: Final = pattern(
    r"equal|reflex|hash|ident|same|compar|order|clone|copy|cach|memo|stable|determin|repeat|twice|consist|singleton|(?:^|_)eq(?:_|$)",
    re.IGNORECASE,
)


def _is_on_purpose(body: Body, oracle: Oracle) -> bool:
    """A test of equality compares a thing with itself."""
    return oracle.why in _SAME and _OF_EQUALITY.search(body.name) is not None
