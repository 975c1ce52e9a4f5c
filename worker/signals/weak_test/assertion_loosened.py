"""Assertions that a kept test lost, or that ask for less than before: a presence or a range for a value, any error for one.

Checks on removed lines are looked at; one that was moved, or replaced in the same block, is not lost, nor is one that names
something which went with the change or a text that the change words differently.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, Side
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, is_certain_revert, memoized
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.proofs import Proof, can_assert
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.test_pairs import MatchedTest, TestPair, base_sources, is_removal_declared, match_all_tests
from worker.signals.analysis.tests import Test, can_hold_tests
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal
from worker.signals.weak_test.assertion_strength import (
    assertion_names,
    assertion_words,
    can_be_implied,
    is_implied,
    is_opposite,
    is_weaker,
)
from worker.signals.weak_test.missing_assertion import find_unread_names

_MOST: Final = 50
"""Lost checks of one file that are looked at: a file with more of them was rewritten."""
_SPACE: Final = pattern(r"\s+")
_DISCARD: Final = pattern(r"\s*(?:let _ =|_ =|void) (.*?);?\s*")
_SMALL_BLOCK: Final = 12
_SIGNATURE: Final = pattern(
    r"\s*(?:(?:export|default|pub(?:\([^)]{0,20}\))?|public|private|protected|static|final|async|def|func|fn|function|const|unsafe|abstract|override)\s+){1,6}"
    r"(?:\([^)]{0,80}\)\s*)?(?:<[^>]{0,80}>\s*)?(?:[\w.<>\[\]?, ]{1,80}\s)?([A-Za-z_]\w*)\s*(?:<[^>]{0,80}>|\[[^\]]{0,80}\])?\("
)
_LONGEST_LINE: Final = 1_000
_TELLING_LENGTH: Final = 4
_ASSERTS: Final = pattern(r"(?:self\.)?assert|expect\(|require\.|is\.")
_WORD: Final = pattern(r"[A-Za-z_]\w*")
_LITERAL: Final = pattern(r"\"((?:[^\"\\]|\\.){1,300})\"|'((?:[^'\\]|\\.){1,300})'|`([^`]{1,300})`")
_ERRORS: Final = pattern(r"\b\w{0,40}[eE]rr\b")
_STATEMENT_TYPES: Final = frozenset({"expression_statement", "with_statement"})
_HEADS: Final = frozenset({"await", "await_expression", "with_item", "with_clause", "as_pattern"})
_LONG_WORD: Final = pattern(r"[^\W\d_]{3,}")
_RENDERING: Final = pattern(
    r"fmt|__(?:str|repr|format)__|__toString|to_?[sS]tring|ToString|to_s|inspect|String|Error|getMessage"
)
_RENDERED: Final = pattern(
    r"\.to_?[sS]tring\(|\.ToString\(|\b(?:str|repr|format|String)\(|\bformat!\(|\.to_s\b|\.inspect\b|\.(?:String|Error|getMessage)\(\)|\.message\b"
)
_REWRITTEN: Final = 10
"""Replaced assertions that are compared: with more of them, tests were rewritten."""
_PART: Final = pattern(
    r"\b(?:assert_?)?(?:to)?(?:contains?|include|match|startsWith|starts_with|endsWith|ends_with|contain)\w*!?\(|\bassertIn\(|\b(?:is|be|toBe|assert)?(?:Greater|Less)\w*\("
    r"| in | >=? | <=? | != | !== |assert_ne!|[nN]ot_?[eE]qual|\.not\.to(?:Be|Equal)\w*\(|objectContaining|arrayContaining|stringContaining|stringMatching"
    r"|\bat(?:_l|L)east\w*\(|\.(?:to\.)?be\.(?:above|below|at)\b|toHaveBeenCalled\(\)|toBeCalled\(\)|assert_called\(|assert_any_call\(|\bany\w*\(\)|\bANY\b|matches!"
    r"|[iI]s_?[iI]nstance|InstanceOf\(|toHaveProperty\([^,()]{1,80}\)|hasSizeGreaterThan|assertRegex|called\b(?!\w)"
)
_NUMBER: Final = pattern(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?")
_MARGIN: Final = pattern(
    r"(?:delta|rel|abs|tol|atol|rtol|epsilon|eps|precision)\s*=\s*$|(?:within|offset|withPercentage|Percentage\w*|abs\w*|InDelta|InEpsilon|[cC]loseTo|AlmostEqual\w*|assertEquals"
    r"|approx\w*!?|relative_eq!?)\(.{0,200}$|\babs\b.{0,80}<=?\s*$",
    2,
)
_DIGITS: Final = pattern(r"(?:places|digits|decimals?)\s*=\s*$|toBeCloseTo\(.{1,80}$", 2)
_LONGEST_CHECK: Final = 300
_ONE_ERROR: Final = pattern(
    r"toThrow\w*\(\s*[^)\s]|\braises\((?!(?:Base)?Exception\b)\w|\bmatch=|assertRaises(?:Regex)?\((?!(?:Base)?Exception\b)\w|assertThrows\((?!(?:Exception|Throwable)\b)\w"
    r"|\b(?:EqualError|ErrorIs|ErrorContains|ErrorAs)\(|\b(?:throws|rejects)\([^\n]{1,200}, |hasMessage\w*\(|isInstanceOf\((?!Exception|Throwable|Object)\w|should_panic\(expected|unwrap_err\(\)"
)
_ANY_ERROR: Final = pattern(
    r"toThrow\w*\(\)|\braises\((?:(?:Base)?Exception|\w+)\)|assertRaises\((?:Base)?Exception\b|assertThrows\((?:Exception|Throwable)\.class|\.Error\(t, \w+\)|\.Error\(err\)"
    r"|\.is_err\(\)|isInstanceOf\((?:Exception|Throwable)\.class\)|\b(?:throws|rejects)\((?:\(\) =>|async|\w+\()[^\n,]{1,200}\)\s*;?$|#\[should_panic\]"
)


class LocatedCheck(NamedTuple):
    """A check of a value or a presence, at its line on one side of the diff."""

    assertion: Assertion
    first_line: int
    last_line: int
    block: int
    """The run of changed lines that it begins in."""
    words: frozenset[str]

    @property
    def lines(self) -> range:
        return range(self.first_line, self.last_line + 1)


class LineBlock(NamedTuple):
    """A run of changed lines: the numbers of those that are not empty."""

    removed_lines: frozenset[int]
    added_lines: frozenset[int]


class LostCheck(NamedTuple):
    """A check that a test lost, and the weaker one that replaced it, if any."""

    file: AnalyzedFile
    check: LocatedCheck
    matched_test: MatchedTest | None
    """The test, before and after; None where a fragment does not show it."""
    replacement: LocatedCheck | None = None
    is_moved: bool = False
    """Another test has the same check now."""

    @property
    def versions(self) -> tuple[Test | None, Test | None]:
        """The test before and after."""
        return (None, None) if self.matched_test is None else (self.matched_test.base, self.matched_test.head)

    @property
    def lost_block(self) -> LineBlock:
        return _find_blocks(self.file)[self.check.block]

    @property
    def added_checks(self) -> list[LocatedCheck]:
        """The added checks of its test as it is now; where a fragment does not show the test, those of small blocks."""
        added = _added_checks(self.file)
        if self.matched_test is None:
            blocks = _find_blocks(self.file)
            return [new for new in added if len(blocks[new.block].added_lines) <= _SMALL_BLOCK]
        head = self.matched_test.head
        return [new for new in added if head is not None and head.first_line <= new.first_line <= head.last_line]

    @property
    def checks_in_place(self) -> list[LocatedCheck]:
        """Added checks of the same block and test."""
        return [new for new in self.added_checks if new.block == self.check.block]

    @property
    def is_all_of_block(self) -> bool:
        """Whether nothing was changed beside it but other assertions that went."""
        checks = (check for check in _removed_checks(self.file) if check.block == self.check.block)
        block = self.lost_block
        return not block.added_lines and block.removed_lines <= {line for check in checks for line in check.lines}


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.CHANGE)
def assertion_dropped(change: CodeChange) -> Iterator[SignalMatch]:
    """A test that stays lost an assertion that no issue asks to remove; all it names is still there and nothing else left the test.

    None that the test makes twice, that a kept one implies, or about a text that the change words differently.

    Why it matters: The quickest way to a green run is to delete the assertion that fails.
    Example: `-    assert cart.total == 3` from a test that still reads `cart.total`.
    False alarms: 20 of 22175 clean changes with tests (0.1 %, at most 0.14 %).
    """
    gone = _find_unreplaced(change)
    # where several were removed, the behaviour changed, and the tests were revised
    if len(gone) == 1 and _is_only_loss(gone[0], change) and not is_removal_declared(change):
        yield _build_match(gone[0], "this assertion was removed, and all that it names is still there")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.CHANGE)
def assertion_removed(change: CodeChange) -> Iterator[SignalMatch]:
    """An assertion was removed from a test that stays, and none took its place.

    Why it matters: The test asks for less than before, and the change may break what it asked for.
    Example: `-    check_all(cart)` from a test that stays.
    False alarms: 330 of 22175 clean changes with tests (1.5 %, at most 1.66 %).
    """
    gone = _find_unreplaced(change)
    seen: set[tuple[str, int]] = set()
    is_plain = len(gone) == 1 and _is_only_loss(gone[0], change) and not is_removal_declared(change)
    for loss in () if is_plain else gone:
        at = (loss.file.path, loss.check.block)
        if at not in seen:
            seen.add(at)
            yield _build_match(loss, "this assertion was removed from a test that stays")
    for loss in _find_lost_calls(change):
        if (loss.file.path, loss.check.block) not in seen:
            yield _build_match(loss, "this call of what checks was removed from a test that stays")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.CHANGE)
def assertion_loosened(change: CodeChange) -> Iterator[SignalMatch]:
    """An assertion about a value became one that only asks whether there is something, or none at all.

    Why it matters: The test passes with results that failed it before.
    Example: `assert cart.total is not None` in place of `assert cart.total == 3`.
    False alarms: 15 of 22175 clean changes with tests (0.1 %, at most 0.11 %).
    """
    for loss in _find_lost_checks(change):
        new, old = loss.replacement, (loss.check.first_line, loss.check.last_line)
        if new is not None:
            note = "this asserts less than what stood here before"
            yield SignalMatch(note, loss.file.path, new.first_line, new.last_line, instead_of=old)


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.CHANGE)
def assertion_widened(change: CodeChange) -> Iterator[SignalMatch]:
    """An assertion of a kept test now lets more results pass: a range or a part for a value, a wider margin, any error.

    Why it matters: A wrong result that failed the test before may pass it now.
    Example: `assert total > 0` in place of `assert total == 3`.
    False alarms: 74 of 22175 clean changes with tests (0.3 %, at most 0.42 %).
    """
    losses = ((loss.file.path, loss.replacement) for loss in _find_lost_checks(change))
    reported = {(path, replacement.first_line) for path, replacement in losses if replacement is not None}
    replaced = ((loss, loss.checks_in_place) for loss in _find_removed_checks(change))
    for loss, checks in islice(((loss, checks) for loss, checks in replaced if checks), _REWRITTEN):
        old, new, path = loss.check, checks[0], loss.file.path
        is_reported = (path, new.first_line) in reported
        if not is_reported and all(_is_wider(old.assertion, check.assertion) for check in checks):
            yield SignalMatch("more results pass here than before", path, new.first_line, new.last_line)
    for file in (file for file in change.files if file.language is not None and file.is_test):
        had_one = any(_ONE_ERROR.search(text[:_LONGEST_CHECK]) for text in file.diff.removed_texts)
        for edit in file.edit_blocks if had_one else ():
            before, now = ([line.text[:_LONGEST_CHECK] for line in lines] for lines in (edit.removed, edit.added))
            if not any(map(_ONE_ERROR.search, before)) or any(map(_ONE_ERROR.search, now)):
                continue
            for line in (line for line, text in zip(edit.added, now, strict=True) if _ANY_ERROR.search(text)):
                yield SignalMatch("here one error was expected, and now any would do", file.path, line.head_line)


def _find_unreplaced(change: CodeChange) -> list[LostCheck]:
    return [loss for loss in _find_lost_checks(change) if loss.replacement is None]


def _build_match(loss: LostCheck, note: str) -> SignalMatch:
    return SignalMatch(note, loss.file.path, loss.check.first_line, loss.check.last_line, Side.BASE)


@memoized
def _find_lost_checks(change: CodeChange) -> tuple[LostCheck, ...]:
    """Every check that a kept test lost, each once."""
    losses = (_judge_removal(removed, change) for removed in _find_removed_checks(change))
    return tuple(loss for loss in losses if loss is not None)


@memoized
def _find_removed_checks(change: CodeChange) -> tuple[LostCheck, ...]:
    """Every check that went from its line, whether something took its place or not."""
    files = [file for file in change.files if can_hold_tests(file) and file.sources]
    if not any(map(_removed_checks, files)) or is_certain_revert(change):
        return ()
    moved = frozenset(check.assertion.text for file in files for check in _added_checks(file))
    removed: list[LostCheck] = []
    for file in files:
        gone = _removed_checks(file)[:_MOST]
        tests = _map_tests_by_line(change, file) if gone else {}
        removed += (
            LostCheck(file, check, tests.get(check.first_line), is_moved=check.assertion.text in moved)
            for check in gone
        )
    return tuple(removed)


def _judge_removal(removed: LostCheck, change: CodeChange) -> LostCheck | None:
    """What the test lost with a removed check; None if it still asks for as much."""
    check, (base, head) = removed.check, removed.versions
    if removed.is_moved and not removed.is_all_of_block:
        return None
    if base is not None and head is not None and is_implied(check.assertion, base, head):
        return None
    discarded = _find_discarded(removed)
    if discarded is not None:
        return removed._replace(replacement=discarded)
    near = removed.checks_in_place
    names = assertion_words(check.assertion)
    if not near and names and base is not None and head is not None and head.first_line in removed.file.added_lines:
        # the test was moved as a whole
        near = [new for new in removed.added_checks if names <= assertion_words(new.assertion)]
    if near:
        is_weak = all(is_weaker(other.assertion, check.assertion) for other in near)
        best = max(near, key=lambda other: len(other.words & check.words))
        return removed._replace(replacement=best) if is_weak else None
    # the same test may have a new check that is much like it
    own, within = check.words, removed.added_checks if removed.matched_test is not None else ()
    is_rewritten = any(2 * len(own & other.words) >= len(own | other.words) for other in within)
    return removed if not is_rewritten and _is_context_kept(removed, change) else None


def _find_lost_calls(change: CodeChange) -> Iterator[LostCheck]:
    """Removed calls of functions that check, in a test that stays and still has all else that they name."""
    for file in () if is_certain_revert(change) else change.files:
        gone = list(_find_removed_calls(file))[:_MOST] if can_hold_tests(file) and file.sources else []
        tests = _map_tests_by_line(change, file) if gone else {}
        for check, text in gone:
            loss = LostCheck(file, check, tests.get(check.first_line))
            lines = [line.strip() for line in text.split("\n")]
            # the change adds the same somewhere: it was moved, or put into a function
            is_moved = change.added_texts.issuperset(lines) or (
                len(lines) == 1 and any(lines[0] in added for added in change.added_texts)
            )
            if not is_moved and _has_same_context(loss) and not check.words & _find_lost_words(change):
                yield loss


def _find_removed_calls(file: AnalyzedFile) -> Iterator[tuple[LocatedCheck, str]]:
    """Whole statements that check something and were removed without a replacement, with their texts."""
    blocks = _find_blocks(file)
    alone = {at: number for number, block in enumerate(blocks) if not block.added_lines for at in block.removed_lines}
    for source in base_sources(file) if alone else ():
        rows = frozenset(line - source.first_line for line in alone if source.has_line(line))
        for assertion in find_assertions(source, rows=rows) if rows else ():
            whole = _statement_of(assertion, source.language)
            first = None if whole is None else source.line_of(whole)
            if whole is None or first is None or first not in alone:
                continue
            last, text = whole.end_point.row + source.first_line, text_of(whole)
            if blocks[alone[first]].removed_lines <= set(range(first, last + 1)):
                yield LocatedCheck(assertion, first, last, alone[first], frozenset(_WORD.findall(text))), text


def _statement_of(assertion: Assertion, language: Language) -> Node | None:
    """The statement that a call is, or the `with` around it; in Go an `if` that fails on an error."""
    node = assertion.node
    if language is Language.GO and assertion.proof is Proof.SUCCESS and node.type == "if_statement":
        return node
    around = next((ancestor for ancestor in ancestors(node) if ancestor.type not in _HEADS), None)
    return around if around is not None and assertion.is_guess and around.type in _STATEMENT_TYPES else None


def _find_discarded(loss: LostCheck) -> LocatedCheck | None:
    """A line in its place that evaluates what it compared, and discards that: `let _ = x.len();`."""
    sides = {_SPACE.sub("", side) for side in loss.check.assertion.pair or ()}
    for line in sorted(loss.lost_block.added_lines) if sides else ():
        source = loss.file.source_at(line)
        match = None if source is None else _DISCARD.fullmatch(source.text_at(line)[:_LONGEST_LINE])
        if match is not None and _SPACE.sub("", match[1]) in sides:
            return loss.check._replace(first_line=line, last_line=line)
    return None


def _map_tests_by_line(change: CodeChange, file: AnalyzedFile) -> dict[int, MatchedTest]:
    """The innermost test around each line of the version before."""
    pairs = [(pair.base, pair) for pair in match_all_tests(change) if pair.file is file and pair.base is not None]
    ordered = sorted(pairs, key=lambda both: both[0].first_line)
    return {line: pair for base, pair in ordered for line in range(base.first_line, base.last_line + 1)}


def _is_context_kept(loss: LostCheck, change: CodeChange) -> bool:
    """Whether its test is there as before, and so is everything that it names."""
    head = loss.versions[1]
    if head is not None and not head.function.statements:
        return True  # all was taken out of it
    is_there = _is_named_in_test(loss, assertion_names(loss.check.assertion))
    if not is_there and loss.is_all_of_block:  # `assert run() == 1`, and the rest of the test names the same as before
        is_there = not loss.file.sources[0].is_whole if loss.matched_test is None else _has_same_context(loss)
    return is_there and not loss.check.words & _find_lost_words(change)


def _is_named_in_test(loss: LostCheck, names: frozenset[str]) -> bool:
    """Whether the test still has all these *names* of it; where a fragment does not show the test, the fragments do."""
    head = loss.versions[1]
    there = frozenset(_WORD.findall(head.text) if head is not None else ())
    if loss.matched_test is None and not loss.file.sources[0].is_whole:
        there = _visible_words(loss.file)
    return bool(names) and names <= there


def _has_same_context(loss: LostCheck) -> bool:
    """Whether of its names the test has all that it had outside of it."""
    base, head = loss.versions
    assertion = loss.check.assertion
    is_of_success = assertion.proof is Proof.SUCCESS and not assertion.is_guess
    errors = frozenset(_ERRORS.findall(assertion.text) if is_of_success else ())  # `require.NoError(t, err)`
    names = assertion_words(assertion) or errors or assertion_names(assertion)
    if base is None or head is None or not names:
        return False
    rest = range(base.first_line, base.last_line + 1)
    lines = (base.source.text_at(line) for line in rest if line not in loss.check.lines)
    rest_names = {word for text in lines for word in _WORD.findall(text)}
    return names & rest_names <= set(_WORD.findall(head.text))


@memoized
def _visible_words(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(word for source in file.sources for word in _WORD.findall(source.text))


@memoized
def _find_lost_words(change: CodeChange) -> frozenset[str]:
    """Removed words that the changed files, as far as they are known whole, do not have elsewhere."""
    gone = _find_removed_words(change)
    files = (file for file in change.files if gone and file.head_text and not file.is_test)
    return gone.difference(word for file in files for word in _WORD.findall(file.head_text or ""))


@memoized
def _find_removed_words(change: CodeChange) -> frozenset[str]:
    """Words that the change takes out of the code, so that no test needs them."""
    gone, left = set[str](), set[str]()
    for file in (file for file in change.files if not file.is_test):
        for line in file.diff.lines():
            (gone if line.head_line is None else left).update(_WORD.findall(line.text[:_LONGEST_LINE]))
    return frozenset(word for word in gone - left if len(word) >= _TELLING_LENGTH)


@memoized
def _find_redefined(change: CodeChange) -> frozenset[str]:
    """Functions of the code whose signature was changed: they may refuse what a test passed."""
    lines = (line.text[:_LONGEST_LINE] for file in change.production_files() for line in file.diff.removed_lines)
    return frozenset(match[1] for match in map(_SIGNATURE.match, lines) if match is not None)


def _is_only_loss(loss: LostCheck, change: CodeChange) -> bool:
    """Whether nothing else left the test, or the test still computes what it no longer reads."""
    (base, head), assertion, own = loss.versions, loss.check.assertion, loss.check.words
    if base is None or head is None or loss.is_moved:
        return False
    if any(check.words & own for check in loss.added_checks):
        return False  # another check of the same may ask for more
    changed = _find_redefined(change) | _find_removed_words(change)
    if can_be_implied(assertion, head) or _is_about_changed_text(assertion, change) or not own.isdisjoint(changed):
        return False
    names = assertion_words(assertion)
    if head.function.statements and not _is_named_in_test(loss, names):
        return False
    if not names.isdisjoint(find_unread_names(TestPair(head, loss.file, base, is_new=False))):
        return True
    removed = (line for block in _find_blocks(loss.file) for line in block.removed_lines)
    rest = range(base.first_line, base.last_line + 1)
    return not loss.lost_block.added_lines and all(line in loss.check.lines for line in removed if line in rest)


@memoized
def _find_blocks(file: AnalyzedFile) -> tuple[LineBlock, ...]:
    return tuple(
        LineBlock(
            frozenset(line.base_line for line in edit.removed if line.base_line is not None and line.text.strip()),
            frozenset(line.head_line for line in edit.added if line.head_line is not None and line.text.strip()),
        )
        for edit in file.edit_blocks
    )


@memoized
def _removed_checks(file: AnalyzedFile) -> list[LocatedCheck]:
    return _find_checks(base_sources(file), [block.removed_lines for block in _find_blocks(file)])


@memoized
def _added_checks(file: AnalyzedFile) -> list[LocatedCheck]:
    return _find_checks(file.sources, [block.added_lines for block in _find_blocks(file)])


def _find_checks(sources: tuple[Source, ...], blocks: list[frozenset[int]]) -> list[LocatedCheck]:
    checks: list[LocatedCheck] = []
    at = {line: number for number, block in enumerate(blocks) for line in block}
    lines = sorted(at)
    for source in filter(can_assert, sources):
        start, end = (bisect_left(lines, source.first_line + count) for count in (0, len(source.lines)))
        rows = frozenset(line - source.first_line for line in lines[start:end])
        for assertion in find_assertions(source, rows=rows) if rows else ():
            first, last = source.line_of(assertion.node), assertion.node.end_point.row + source.first_line
            is_check = assertion.proof is not Proof.SUCCESS or _ASSERTS.match(assertion.text)  # `unwrap()` is none
            if first in at and not assertion.is_guess and is_check:
                own = frozenset(_WORD.findall(assertion.text))
                checks.append(LocatedCheck(assertion, first, last, at[first], own))
    return checks


def _is_about_changed_text(assertion: Assertion, change: CodeChange) -> bool:
    """Whether it compares with a text, and the change rewrites that text or the function that renders it."""
    text = assertion.text[:_LONGEST_LINE]
    expected = _find_literals(text)
    if expected and _RENDERED.search(text) is not None and _has_changed_rendering(change):
        return True
    removed = _find_removed_literals(change) if expected else ()
    # the shorter text is mostly part of the longer one
    return any(2 * len(own & other) > min(len(own), len(other)) for own in expected for other in removed)


@memoized
def _has_changed_rendering(change: CodeChange) -> bool:
    """Whether a function that turns a value into text lost a line."""
    for file in change.production_files():
        removed = {line.base_line for line in file.diff.removed_lines}
        for source in base_sources(file) if removed else ():
            for function in find_functions(source):
                lines = range(function.first_line, function.last_line + 1)
                if _RENDERING.fullmatch(function.name) and not removed.isdisjoint(lines):
                    return True
    return False


@memoized
def _find_removed_literals(change: CodeChange) -> tuple[frozenset[str], ...]:
    """The words of each text that the change takes out of the code and does not put back."""
    files = list(change.production_files())
    added = {literal for file in files for text in file.diff.added_texts for literal in _find_literals(text)}
    gone = (literal for file in files for text in file.diff.removed_texts for literal in _find_literals(text))
    return tuple(literal for literal in dict.fromkeys(gone) if literal not in added)


def _find_literals(text: str) -> list[frozenset[str]]:
    """The words of each literal of several words."""
    literals = (_LONG_WORD.findall("".join(parts)) for parts in _LITERAL.findall(text[:_LONGEST_LINE]))
    return [frozenset(literal) for literal in literals if len(literal) > 1]


def _is_wider(old: Assertion, new: Assertion) -> bool:
    if _is_margin_wider(old.text, new.text):
        return True
    if "".join(old.text.split()) == "".join(new.text.split()):
        return False  # `x >3` asks for no more than `x > 3`
    if new.proof < old.proof:
        is_about_it = new.proof is Proof.SUCCESS or not assertion_words(new).isdisjoint(assertion_words(old))
        return is_about_it and not is_opposite(new, old)
    is_about_it = assertion_words(new) <= assertion_words(old) | frozenset(_WORD.findall(old.text))
    return is_about_it and bool(_PART.search(new.text)) and not _PART.search(old.text)


def _is_margin_wider(old: str, new: str) -> bool:
    """Whether only one number differs, and it allows a greater difference."""
    if _NUMBER.sub("0", old) != _NUMBER.sub("0", new):
        return False
    pairs = zip_longest(_NUMBER.finditer(old), _NUMBER.finditer(new))
    changed = [(first, other) for first, other in pairs if first[0] != other[0]]
    if len(changed) != 1 or old.count(",") + old.count("<") == 0:
        return False
    first, other = changed[0]
    before, is_last = old[: first.start()], not _NUMBER.search(old, first.end())
    more = float(other[0].replace("_", "")) > float(first[0].replace("_", ""))
    if _DIGITS.search(before):
        return is_last and "," in before and not more
    return is_last and _MARGIN.search(before) is not None and more and ("," in before or "<" in before or "=" in before)
