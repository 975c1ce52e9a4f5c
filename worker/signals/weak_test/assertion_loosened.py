"""Assertions that a kept test lost, or that ask less than before.

Looks at the checks whose lines the change removes; what was moved, or replaced in the same place, is not lost.
Invariant: an assertion that names something which went away with the change is not missed.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, Side
from worker.dossier.diff.parser import LineKind
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.check_names import can_assert
from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.declared_removals import is_removal_declared
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.removed_calls import find_error_names, find_removed_calls
from worker.signals.analysis.reverts import is_certain_revert
from worker.signals.analysis.test_pairs import TestPair
from worker.signals.analysis.tests import MatchedTest, base_sources, can_hold_tests, match_all_tests
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal
from worker.signals.weak_test.assertion_strength import (
    assertion_names,
    assertion_words,
    can_be_implied,
    is_implied,
    is_weaker,
)
from worker.signals.weak_test.missing_assertion import find_unread_names

_MOST: Final = 50
"""Checks lost by one file that we look at: beyond that it was written anew."""
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
_LONG_WORD: Final = pattern(r"[^\W\d_]{3,}")
_RENDERING: Final = pattern(
    r"fmt|__(?:str|repr|format)__|__toString|to_?[sS]tring|ToString|to_s|inspect|String|Error|getMessage"
)
_RENDERED: Final = pattern(
    r"\.to_?[sS]tring\(|\.ToString\(|\b(?:str|repr|format|String)\(|\bformat!\(|\.to_s\b|\.inspect\b|\.(?:String|Error|getMessage)\(\)|\.message\b"
)


class LocatedCheck(NamedTuple):
    """A check of a value or a presence, at its line on one side of the diff."""

    assertion: Assertion
    first_line: int
    last_line: int
    block: int
    """The run of changed lines that it begins in."""
    words: frozenset[str]
    """All that it says."""


class LineBlock(NamedTuple):
    """A run of changed lines: the numbers of those that are not empty."""

    removed_lines: frozenset[int]
    added_lines: frozenset[int]


class LostCheck(NamedTuple):
    """A check that a test lost, and the weaker one that took its place, if any did."""

    file: AnalyzedFile
    check: LocatedCheck
    matched_test: MatchedTest | None
    """The test, before and after; None where a fragment does not show it."""
    replacement: LocatedCheck | None
    is_moved: bool
    """Another test says the same now."""


class ReplacedCheck(NamedTuple):
    """A check that was removed, and those that stand in its place now, in the same test."""

    file: AnalyzedFile
    old_check: LocatedCheck
    new_checks: tuple[LocatedCheck, ...]


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def assertion_dropped(change: CodeChange) -> Iterator[SignalMatch]:
    """A test that stays lost an assertion that no issue asks to remove; all it names is still there and nothing else left the test.

    None that the test makes twice, that a kept one implies, or about a text that the change words differently.

    False alarms: 20 of 22175 clean changes with tests (0.1 %, at most 0.14 %).
    """
    gone = _find_unreplaced(change)
    # where several were removed, the behaviour changed, and somebody went through the tests
    if len(gone) == 1 and _is_only_loss(gone[0], change) and not is_removal_declared(change):
        yield _build_match(gone[0], "this assertion was removed, and all that it names is still there")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def assertion_removed(change: CodeChange) -> Iterator[SignalMatch]:
    """An assertion was removed from a test that stays, and none took its place.

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


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def assertion_loosened(change: CodeChange) -> Iterator[SignalMatch]:
    """An assertion about a value became one that only asks whether there is something, or none at all.

    False alarms: 15 of 22175 clean changes with tests (0.1 %, at most 0.11 %).
    """
    for loss in find_lost_checks(change):
        if loss.replacement is not None:
            note = "this asserts less than what stood here before"
            before = (loss.check.first_line, loss.check.last_line)
            yield SignalMatch(
                note, loss.file.path, loss.replacement.first_line, loss.replacement.last_line, instead_of=before
            )


def _find_unreplaced(change: CodeChange) -> list[LostCheck]:
    return [loss for loss in find_lost_checks(change) if loss.replacement is None]


def _build_match(loss: LostCheck, note: str) -> SignalMatch:
    return SignalMatch(note, loss.file.path, loss.check.first_line, loss.check.last_line, Side.BASE)


def find_lost_checks(change: CodeChange) -> tuple[LostCheck, ...]:
    """Every check that a kept test lost, each once."""
    return change.cached(_select_lost_checks)


def _select_lost_checks(change: CodeChange) -> tuple[LostCheck, ...]:
    files = [file for file in change.files if can_hold_tests(file)]
    if not any(map(_removed_checks, files)) or is_certain_revert(change):
        return ()
    moved = frozenset(stand.assertion.text for file in files for stand in _added_checks(file))
    return tuple(loss for file in files if file.sources for loss in _find_in_file(change, file, moved))


def _find_in_file(change: CodeChange, file: AnalyzedFile, moved: frozenset[str]) -> Iterator[LostCheck]:
    gone = _removed_checks(file)[:_MOST]
    tests = _map_tests_by_line(change, file) if gone else {}
    for stand in gone:
        loss = LostCheck(file, stand, tests.get(stand.first_line), None, stand.assertion.text in moved)
        if (loss.is_moved and not _is_all_of_block(loss)) or _is_still_checked(loss):
            continue
        near = [
            check for check in _added_checks(file) if check.block == stand.block and _is_in_test(check, loss)
        ] or _find_moved_checks(loss)
        dropped = _find_discarded(loss)
        if dropped is not None:
            yield loss._replace(replacement=dropped)
            continue
        if not near and _is_context_kept(loss, change) and not _is_rewritten(loss):
            yield loss
        weak = [check for check in near if is_weaker(check.assertion, stand.assertion)]
        if weak and len(weak) == len(near):
            yield loss._replace(replacement=max(weak, key=lambda check: len(check.words & stand.words)))


def _is_still_checked(loss: LostCheck) -> bool:
    base, head, _ = loss.matched_test or MatchedTest(None, None, loss.file)
    return base is not None and head is not None and is_implied(loss.check.assertion, base, head)


def _find_lost_calls(change: CodeChange) -> Iterator[LostCheck]:
    """Calls of what checks that are gone from a test that stays, with all else that they name still there."""
    for file in () if is_certain_revert(change) else change.files:
        blocks = find_blocks(file) if can_hold_tests(file) and file.sources else ()
        alone = {
            line: number for number, block in enumerate(blocks) for line in block.removed_lines if not block.added_lines
        }
        gone = list(find_removed_calls(file, {line: blocks[number].removed_lines for line, number in alone.items()}))[
            :_MOST
        ]
        tests = _map_tests_by_line(change, file) if gone else {}
        for oracle, first, last, text in gone:
            stand = LocatedCheck(oracle, first, last, alone[first], frozenset(_WORD.findall(text)))
            loss = LostCheck(file, stand, tests.get(first), None, is_moved=False)
            is_there = _has_same_context(loss) and not stand.words & change.cached(_find_lost_words)
            if is_there and not _is_added_elsewhere(text, change):
                yield loss


def _is_added_elsewhere(text: str, change: CodeChange) -> bool:
    """Whether the change adds the same somewhere: it was moved, or put into a function."""
    lines = [line.strip() for line in text.split("\n")]
    return change.added_texts.issuperset(lines) or any(
        lines[0] in text for text in change.added_texts if len(lines) == 1
    )


def _find_moved_checks(loss: LostCheck) -> list[LocatedCheck]:
    """Where the whole test stands elsewhere now, what it asks of the same there."""
    base, head, _ = loss.matched_test or MatchedTest(None, None, loss.file)
    if base is None or head is None or head.first_line not in loss.file.added_lines:
        return []
    names = assertion_words(loss.check.assertion)
    return [
        check
        for check in _added_checks(loss.file)
        if names and names <= assertion_words(check.assertion) and _is_in_test(check, loss)
    ]


def _find_discarded(loss: LostCheck) -> LocatedCheck | None:
    """A line in its place that looks at what it compared, and throws that away: `let _ = x.len();`."""
    sides = {_SPACE.sub("", side) for side in loss.check.assertion.pair or ()}
    for line in sorted(find_blocks(loss.file)[loss.check.block].added_lines) if sides else ():
        source = next((source for source in loss.file.sources if source.has_line(line)), None)
        match = (
            _DISCARD.fullmatch(source.lines[line - source.first_line][:_LONGEST_LINE]) if source is not None else None
        )
        if match is not None and _SPACE.sub("", match[1]) in sides:
            return loss.check._replace(first_line=line, last_line=line)
    return None


def find_replaced_checks(change: CodeChange) -> tuple[ReplacedCheck, ...]:
    """Every check that others took the place of."""
    return change.cached(_select_replaced_checks)


def _select_replaced_checks(change: CodeChange) -> tuple[ReplacedCheck, ...]:
    replaced: list[ReplacedCheck] = []
    for file in () if is_certain_revert(change) else change.files:
        gone = _removed_checks(file)[:_MOST] if can_hold_tests(file) and file.sources else []
        tests = _map_tests_by_line(change, file) if gone else {}
        for stand in gone:
            loss = LostCheck(file, stand, tests.get(stand.first_line), None, is_moved=False)
            near = tuple(
                check for check in _added_checks(file) if check.block == stand.block and _is_in_test(check, loss)
            )
            if near:
                replaced.append(ReplacedCheck(file, stand, near))
    return tuple(replaced)


def _map_tests_by_line(change: CodeChange, file: AnalyzedFile) -> dict[int, MatchedTest]:
    """The innermost test around each line of the version before."""
    pairs = [(pair.base, pair) for pair in change.cached(_group_by_file).get(id(file), ()) if pair.base is not None]
    ordered = sorted(pairs, key=lambda both: both[0].first_line)
    return {line: pair for base, pair in ordered for line in range(base.first_line, base.last_line + 1)}


def _group_by_file(change: CodeChange) -> dict[int, list[MatchedTest]]:
    groups: defaultdict[int, list[MatchedTest]] = defaultdict(list)
    for pair in match_all_tests(change):
        groups[id(pair.file)].append(pair)
    return groups


def _is_in_test(new: LocatedCheck, loss: LostCheck) -> bool:
    """Whether the new check stands in the test as it is now; where that can't be seen, the place must be small."""
    if loss.matched_test is None:
        return len(find_blocks(loss.file)[new.block].added_lines) <= _SMALL_BLOCK
    head = loss.matched_test.head
    return head is not None and head.first_line <= new.first_line <= head.last_line


def _is_rewritten(loss: LostCheck) -> bool:
    """Something much like it stands in the same test now."""
    own = loss.check.words
    within = (
        check.words for check in _added_checks(loss.file) if loss.matched_test is not None and _is_in_test(check, loss)
    )
    return any(2 * len(own & other) >= len(own | other) for other in within)


def _is_context_kept(loss: LostCheck, change: CodeChange) -> bool:
    """Its test is there as before, and so is everything that it names."""
    head = loss.matched_test.head if loss.matched_test is not None else None
    if head is not None and not head.function.statements:
        return True  # all was taken out of it
    is_there = _is_named_in_test(loss, assertion_names(loss.check.assertion)) or _is_only_removal(loss)
    return is_there and not loss.check.words & change.cached(_find_lost_words)


def _is_named_in_test(loss: LostCheck, names: frozenset[str]) -> bool:
    """The test still names all these *names* of it; where a fragment does not show the test, the fragments do."""
    if loss.matched_test is None:
        there = frozenset[str]() if loss.file.sources[0].is_whole else loss.file.cached(_visible_words)
    else:
        there = frozenset(_WORD.findall(loss.matched_test.head.text if loss.matched_test.head is not None else ""))
    return bool(names) and names <= there


def _is_only_removal(loss: LostCheck) -> bool:
    """Its lines alone went from a test that stays, with all that the rest of the test says: `assert run() == 1`."""
    if not _is_all_of_block(loss):
        return False
    return not loss.file.sources[0].is_whole if loss.matched_test is None else _has_same_context(loss)


def _has_same_context(loss: LostCheck) -> bool:
    """Of what it names, the test says now all that it said outside of it."""
    base, head, _ = loss.matched_test or MatchedTest(None, None, loss.file)
    names = (
        assertion_words(loss.check.assertion)
        or find_error_names(loss.check.assertion)
        or assertion_names(loss.check.assertion)
    )
    if base is None or head is None or not names:
        return False
    rest = range(base.first_line, base.last_line + 1)
    lines = (base.source.lines[line - base.source.first_line] for line in rest if line not in _line_numbers(loss.check))
    rest_names = {word for text in lines for word in _WORD.findall(text)}
    return names & rest_names <= set(_WORD.findall(head.text))


def _visible_words(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(word for source in file.sources for word in _WORD.findall(source.text))


def _find_lost_words(change: CodeChange) -> frozenset[str]:
    """What is gone from the changed files as well, as far as they are known whole."""
    gone = change.cached(_find_removed_words)
    heads = [
        file.head_text for file in change.files if gone and file.head_text and role_of(file.path) is not FileRole.TEST
    ]
    return gone.difference(word for head in heads for word in _WORD.findall(head))


def _find_removed_words(change: CodeChange) -> frozenset[str]:
    """What the change takes out of the code, so that no test needs to speak of it."""
    gone, left = set[str](), set[str]()
    for line in (
        line for file in change.files if role_of(file.path) is not FileRole.TEST for line in file.diff.lines()
    ):
        (gone if line.head_line is None else left).update(_WORD.findall(line.text[:_LONGEST_LINE]))
    return frozenset(word for word in gone - left if len(word) >= _TELLING_LENGTH)


def _find_redefined(change: CodeChange) -> frozenset[str]:
    """Functions of the code whose signature was changed: they may refuse now what a test gave them."""
    lines = (line.text[:_LONGEST_LINE] for file in change.production_files() for line in file.diff.removed_lines)
    return frozenset(match[1] for match in map(_SIGNATURE.match, lines) if match is not None)


def _is_only_loss(loss: LostCheck, change: CodeChange) -> bool:
    """Nothing else left the test, or the test still computes what nobody reads now."""
    base, head, _ = loss.matched_test or MatchedTest(None, None, loss.file)
    if base is None or head is None or loss.is_moved or _is_named_again(loss):
        return False
    if can_be_implied(loss.check.assertion, head) or is_about_changed_text(loss.check.assertion, change):
        return False
    if not (change.cached(_find_redefined) | change.cached(_find_removed_words)).isdisjoint(loss.check.words):
        return False
    if head.function.statements and not _is_named_in_test(loss, assertion_words(loss.check.assertion)):
        return False
    if assertion_words(loss.check.assertion).intersection(
        find_unread_names(TestPair(head, loss.file, base, is_new=False))
    ):
        return True
    removed = {
        line
        for block in find_blocks(loss.file)
        for line in block.removed_lines
        if base.first_line <= line <= base.last_line
    }
    return removed <= _line_numbers(loss.check) and not find_blocks(loss.file)[loss.check.block].added_lines


def _is_named_again(loss: LostCheck) -> bool:
    """Another check was added to the test that speaks of the same: it may say more."""
    return any(check.words & loss.check.words for check in _added_checks(loss.file) if _is_in_test(check, loss))


def _line_numbers(stand: LocatedCheck) -> set[int]:
    return set(range(stand.first_line, stand.last_line + 1))


def _is_all_of_block(loss: LostCheck) -> bool:
    """Nothing was changed beside it but other assertions that went."""
    block = find_blocks(loss.file)[loss.check.block]
    gone = [check for check in _removed_checks(loss.file) if check.block == loss.check.block]
    return not block.added_lines and block.removed_lines <= {line for check in gone for line in _line_numbers(check)}


def find_blocks(file: AnalyzedFile) -> tuple[LineBlock, ...]:
    return file.cached(_select_blocks)


def _select_blocks(file: AnalyzedFile) -> tuple[LineBlock, ...]:
    runs: list[tuple[set[int], set[int]]] = []
    for hunk in file.diff.hunks:
        before = LineKind.CONTEXT
        for line in hunk.lines:
            if line.kind is not LineKind.CONTEXT:
                if before is LineKind.CONTEXT:
                    runs.append((set(), set()))
                number = line.base_line if line.kind is LineKind.REMOVED else line.head_line
                if number is not None and line.text.strip():
                    runs[-1][line.kind is LineKind.ADDED].add(number)
            before = line.kind
    return tuple(LineBlock(frozenset(removed), frozenset(added)) for removed, added in runs)


def _removed_checks(file: AnalyzedFile) -> list[LocatedCheck]:
    return file.cached(_select_removed_checks)


def _select_removed_checks(file: AnalyzedFile) -> list[LocatedCheck]:
    sources = base_sources(file)
    at = {
        line: number
        for number, block in enumerate(find_blocks(file) if sources else ())
        for line in block.removed_lines
    }
    return _find_checks(sources, at)


def _added_checks(file: AnalyzedFile) -> list[LocatedCheck]:
    return file.cached(_select_added_checks)


def _select_added_checks(file: AnalyzedFile) -> list[LocatedCheck]:
    sources = file.sources
    at = {
        line: number for number, block in enumerate(find_blocks(file) if sources else ()) for line in block.added_lines
    }
    return _find_checks(sources, at)


def _find_checks(sources: tuple[Source, ...], at: dict[int, int]) -> list[LocatedCheck]:
    stands: list[LocatedCheck] = []
    lines = sorted(at)
    for source in filter(can_assert, sources):
        start, end = (bisect_left(lines, source.first_line + count) for count in (0, len(source.lines)))
        rows = frozenset(line - source.first_line for line in lines[start:end])
        for oracle in find_assertions(source.root, source.language, rows, source.nodes) if rows else ():
            first = oracle.node.start_point.row + source.first_line
            if (
                first in at
                and (not oracle.is_guess)
                and (oracle.proof is not Proof.SUCCESS or _ASSERTS.match(oracle.text) is not None)
            ):
                names = frozenset(_WORD.findall(oracle.text))
                stands.append(
                    LocatedCheck(oracle, first, oracle.node.end_point.row + source.first_line, at[first], names)
                )
    return stands


def is_about_changed_text(oracle: Assertion, change: CodeChange) -> bool:
    """Whether it compares with a text, and the change rewrites that text or the function that renders it."""
    text = oracle.text[:_LONGEST_LINE]
    expected = _find_literals(text)
    if not expected:
        return False
    if _RENDERED.search(text) is not None and change.cached(_has_changed_rendering):
        return True
    return any(
        _is_mostly_part(literal, other) for literal in expected for other in change.cached(_find_removed_literals)
    )


def _has_changed_rendering(change: CodeChange) -> bool:
    """Whether a line of the code is gone from a function that turns a value into text."""
    return any(_has_removed_rendering(file) for file in change.production_files())


def _has_removed_rendering(file: AnalyzedFile) -> bool:
    removed = {line.base_line for line in file.diff.removed_lines}
    functions = (function for source in base_sources(file) for function in find_functions(source)) if removed else ()
    return any(
        not removed.isdisjoint(range(function.first_line, function.last_line + 1))
        for function in functions
        if _RENDERING.fullmatch(function.name)
    )


def _find_removed_literals(change: CodeChange) -> tuple[frozenset[str], ...]:
    """The words of each text that the change takes out of the code and does not put back."""
    added = {
        literal
        for file in change.production_files()
        for text in file.diff.added_texts
        for literal in _find_literals(text)
    }
    gone = (
        literal
        for file in change.production_files()
        for text in file.diff.removed_texts
        for literal in _find_literals(text)
    )
    return tuple(literal for literal in dict.fromkeys(gone) if literal not in added)


def _find_literals(text: str) -> list[frozenset[str]]:
    """The words of each literal of several words."""
    literals = (_LONG_WORD.findall("".join(parts)) for parts in _LITERAL.findall(text[:_LONGEST_LINE]))
    return [frozenset(literal) for literal in literals if len(literal) > 1]


def _is_mostly_part(left: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the shorter text is mostly part of the longer one."""
    return 2 * len(left & other) > min(len(left), len(other))
