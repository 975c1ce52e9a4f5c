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
from worker.signals.analysis.assertions import Oracle, oracles_of
from worker.signals.analysis.calls_gone import calls_gone, errors_of
from worker.signals.analysis.change import Change, ChangedFile, Source
from worker.signals.analysis.declared import is_declared
from worker.signals.analysis.file_roles import Role, role_of
from worker.signals.analysis.reverts import is_certain_revert
from worker.signals.analysis.sounding import may_assert
from worker.signals.analysis.test_pairs import Look
from worker.signals.analysis.tests import Pair, all_paired, base_sources, may_hold_tests
from worker.signals.analysis.truths import Proof
from worker.signals.signal import Kind, Looks, Place, signal
from worker.signals.weak_test.missing_assertion import unread
from worker.signals.weak_test.reworded import is_about_changed_text
from worker.signals.weak_test.strength import is_weaker, names_of, words_of
from worker.signals.weak_test.vacuous_assertion import is_implied, may_be_implied


class Stand(NamedTuple):
    """A check of a value or a presence, at its line on one side of the diff."""

    oracle: Oracle
    first: int
    last: int
    block: int
    """The run of changed lines that it begins in."""
    words: frozenset[str]
    """All that it says."""


class Block(NamedTuple):
    """A run of changed lines: the numbers of those that are not empty."""

    removed: frozenset[int]
    added: frozenset[int]


class Loss(NamedTuple):
    """A check that a test lost, and the weaker one that took its place, if any did."""

    file: ChangedFile
    stand: Stand
    pair: Pair | None
    """The test, before and after; None where a fragment does not show it."""
    instead: Stand | None
    is_moved: bool
    """Another test says the same now."""


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def assertion_dropped(change: Change) -> Iterator[Place]:
    """A test that stays lost an assertion that no issue asks to remove; all it names is still there and nothing else left the test.

    None that the test makes twice, that a kept one implies, or about a text that the change words differently.

    False alarms: 20 of 22175 clean changes with tests (0.1 %, at most 0.14 %).
    """
    gone = _without_successor(change)
    # where several were removed, the behaviour changed, and somebody went through the tests
    if len(gone) == 1 and _is_plain(gone[0], change) and not is_declared(change):
        yield _place(gone[0], "this assertion was removed, and all that it names is still there")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def assertion_removed(change: Change) -> Iterator[Place]:
    """An assertion was removed from a test that stays, and none took its place.

    False alarms: 330 of 22175 clean changes with tests (1.5 %, at most 1.66 %).
    """
    gone = _without_successor(change)
    told: set[tuple[str, int]] = set()
    is_plain = len(gone) == 1 and _is_plain(gone[0], change) and not is_declared(change)
    for loss in () if is_plain else gone:
        at = (loss.file.path, loss.stand.block)
        if at not in told:
            told.add(at)
            yield _place(loss, "this assertion was removed from a test that stays")
    for loss in _calls_lost(change):
        if (loss.file.path, loss.stand.block) not in told:
            yield _place(loss, "this call of what checks was removed from a test that stays")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def assertion_loosened(change: Change) -> Iterator[Place]:
    """An assertion about a value became one that only asks whether there is something, or none at all.

    False alarms: 15 of 22175 clean changes with tests (0.1 %, at most 0.11 %).
    """
    for loss in losses(change):
        if loss.instead is not None:
            note = "this asserts less than what stood here before"
            before = (loss.stand.first, loss.stand.last)
            yield Place(note, loss.file.path, loss.instead.first, loss.instead.last, instead_of=before)


def _without_successor(change: Change) -> list[Loss]:
    return [loss for loss in losses(change) if loss.instead is None]


def _place(loss: Loss, note: str) -> Place:
    return Place(note, loss.file.path, loss.stand.first, loss.stand.last, Side.BASE)


def losses(change: Change) -> tuple[Loss, ...]:
    """Every check that a kept test lost, each once."""
    return change.once(_losses)


_MOST: Final = 50
"""Checks lost by one file that we look at: beyond that it was written anew."""


def _losses(change: Change) -> tuple[Loss, ...]:
    files = [file for file in change.files if may_hold_tests(file)]
    if not any(map(_removed, files)) or is_certain_revert(change):
        return ()
    moved = frozenset(stand.oracle.text for file in files for stand in _added(file))
    return tuple(loss for file in files if file.sources for loss in _of_file(change, file, moved))


def _of_file(change: Change, file: ChangedFile, moved: frozenset[str]) -> Iterator[Loss]:
    gone = _removed(file)[:_MOST]
    tests = _tests_by_line(change, file) if gone else {}
    for stand in gone:
        loss = Loss(file, stand, tests.get(stand.first), None, stand.oracle.text in moved)
        if (loss.is_moved and not _is_all_of_block(loss)) or _is_still_asked(loss):
            continue
        near = [one for one in _added(file) if one.block == stand.block and _is_in(one, loss)] or _where_moved(loss)
        dropped = _thrown_away(loss)
        if dropped is not None:
            yield loss._replace(instead=dropped)
            continue
        if not near and _stays(loss, change) and not _is_rewritten(loss):
            yield loss
        weak = [one for one in near if is_weaker(one.oracle, stand.oracle)]
        if weak and len(weak) == len(near):
            yield loss._replace(instead=max(weak, key=lambda one: len(one.words & stand.words)))


def _is_still_asked(loss: Loss) -> bool:
    base, head, _ = loss.pair or Pair(None, None, loss.file)
    return base is not None and head is not None and is_implied(loss.stand.oracle, base, head)


def _calls_lost(change: Change) -> Iterator[Loss]:
    """Calls of what checks that are gone from a test that stays, with all else that they name still there."""
    for file in () if is_certain_revert(change) else change.files:
        blocks = blocks_of(file) if may_hold_tests(file) and file.sources else ()
        alone = {line: number for number, block in enumerate(blocks) for line in block.removed if not block.added}
        gone = list(calls_gone(file, {line: blocks[number].removed for line, number in alone.items()}))[:_MOST]
        tests = _tests_by_line(change, file) if gone else {}
        for oracle, first, last, text in gone:
            stand = Stand(oracle, first, last, alone[first], frozenset(_WORD.findall(text)))
            loss = Loss(file, stand, tests.get(first), None, is_moved=False)
            is_there = _is_said_without(loss) and not stand.words & change.once(_lost_words)
            if is_there and not _is_said_elsewhere(text, change):
                yield loss


def _is_said_elsewhere(text: str, change: Change) -> bool:
    """Whether the change adds the same somewhere: it was moved, or put into a function."""
    lines = [line.strip() for line in text.split("\n")]
    return change.added_texts.issuperset(lines) or any(lines[0] in one for one in change.added_texts if len(lines) == 1)


def _where_moved(loss: Loss) -> list[Stand]:
    """Where the whole test stands elsewhere now, what it asks of the same there."""
    base, head, _ = loss.pair or Pair(None, None, loss.file)
    if base is None or head is None or head.first not in loss.file.added_lines:
        return []
    names = words_of(loss.stand.oracle)
    return [one for one in _added(loss.file) if names and names <= words_of(one.oracle) and _is_in(one, loss)]


def _thrown_away(loss: Loss) -> Stand | None:
    """A line in its place that looks at what it compared, and throws that away: `let _ = x.len();`."""
    sides = {_SPACE.sub("", one) for one in loss.stand.oracle.pair or ()}
    for line in sorted(blocks_of(loss.file)[loss.stand.block].added) if sides else ():
        source = next((one for one in loss.file.sources if one.holds(line)), None)
        found = _DROPS.fullmatch(source.lines[line - source.first][:_LONGEST_LINE]) if source is not None else None
        if found is not None and _SPACE.sub("", found[1]) in sides:
            return loss.stand._replace(first=line, last=line)
    return None


_SPACE: Final = pattern(r"\s+")
_DROPS: Final = pattern(r"\s*(?:let _ =|_ =|void) (.*?);?\s*")


class Replaced(NamedTuple):
    """A check that was removed, and those that stand in its place now, in the same test."""

    file: ChangedFile
    old: Stand
    new: tuple[Stand, ...]


def replaced(change: Change) -> tuple[Replaced, ...]:
    """Every check that others took the place of."""
    return change.once(_replaced)


def _replaced(change: Change) -> tuple[Replaced, ...]:
    found: list[Replaced] = []
    for file in () if is_certain_revert(change) else change.files:
        gone = _removed(file)[:_MOST] if may_hold_tests(file) and file.sources else []
        tests = _tests_by_line(change, file) if gone else {}
        for stand in gone:
            loss = Loss(file, stand, tests.get(stand.first), None, is_moved=False)
            near = tuple(one for one in _added(file) if one.block == stand.block and _is_in(one, loss))
            if near:
                found.append(Replaced(file, stand, near))
    return tuple(found)


def _tests_by_line(change: Change, file: ChangedFile) -> dict[int, Pair]:
    """The innermost test around each line of the version before."""
    found = [(pair.base, pair) for pair in change.once(_by_file).get(id(file), ()) if pair.base is not None]
    ordered = sorted(found, key=lambda both: both[0].first)
    return {line: pair for base, pair in ordered for line in range(base.first, base.last + 1)}


def _by_file(change: Change) -> dict[int, list[Pair]]:
    found: defaultdict[int, list[Pair]] = defaultdict(list)
    for pair in all_paired(change):
        found[id(pair.file)].append(pair)
    return found


def _is_in(new: Stand, loss: Loss) -> bool:
    """Whether the new check stands in the test as it is now; where that can't be seen, the place must be small."""
    if loss.pair is None:
        return len(blocks_of(loss.file)[new.block].added) <= _SMALL
    head = loss.pair.head
    return head is not None and head.first <= new.first <= head.last


_SMALL: Final = 12


def _is_rewritten(loss: Loss) -> bool:
    """Something much like it stands in the same test now."""
    words = loss.stand.words
    within = (one.words for one in _added(loss.file) if loss.pair is not None and _is_in(one, loss))
    return any(2 * len(words & other) >= len(words | other) for other in within)


def _stays(loss: Loss, change: Change) -> bool:
    """Its test is there as before, and so is everything that it names."""
    head = loss.pair.head if loss.pair is not None else None
    if head is not None and not head.function.statements:
        return True  # all was taken out of it
    is_there = _is_named_in_test(loss, names_of(loss.stand.oracle)) or _is_taken_out(loss)
    return is_there and not loss.stand.words & change.once(_lost_words)


def _is_named_in_test(loss: Loss, words: frozenset[str]) -> bool:
    """The test still names all these *words* of it; where a fragment does not show the test, the fragments do."""
    if loss.pair is None:
        there = frozenset[str]() if loss.file.sources[0].whole else loss.file.once(_shown_words)
    else:
        there = frozenset(_WORD.findall(loss.pair.head.text if loss.pair.head is not None else ""))
    return bool(words) and words <= there


def _is_taken_out(loss: Loss) -> bool:
    """Its lines alone went from a test that stays, with all that the rest of the test says: `assert run() == 1`."""
    if not _is_all_of_block(loss):
        return False
    return not loss.file.sources[0].whole if loss.pair is None else _is_said_without(loss)


def _is_said_without(loss: Loss) -> bool:
    """Of what it names, the test says now all that it said outside of it."""
    base, head, _ = loss.pair or Pair(None, None, loss.file)
    words = words_of(loss.stand.oracle) or errors_of(loss.stand.oracle) or names_of(loss.stand.oracle)
    if base is None or head is None or not words:
        return False
    rest = range(base.first, base.last + 1)
    lines = (base.source.lines[line - base.source.first] for line in rest if line not in _lines(loss.stand))
    said = {word for text in lines for word in _WORD.findall(text)}
    return words & said <= set(_WORD.findall(head.text))


def _shown_words(file: ChangedFile) -> frozenset[str]:
    return frozenset(word for source in file.sources for word in _WORD.findall(source.text))


def _lost_words(change: Change) -> frozenset[str]:
    """What is gone from the changed files as well, as far as they are known whole."""
    gone = change.once(_gone_words)
    heads = [file.head for file in change.files if gone and file.head and role_of(file.path) is not Role.TEST]
    return gone.difference(word for head in heads for word in _WORD.findall(head))


def _gone_words(change: Change) -> frozenset[str]:
    """What the change takes out of the code, so that no test needs to speak of it."""
    gone, left = set[str](), set[str]()
    for line in (line for file in change.files if role_of(file.path) is not Role.TEST for line in file.diff.lines()):
        (gone if line.head_line is None else left).update(_WORD.findall(line.text[:_LONGEST_LINE]))
    return frozenset(word for word in gone - left if len(word) >= _TELLING)


def _redefined(change: Change) -> frozenset[str]:
    """Functions of the code whose signature was changed: they may refuse now what a test gave them."""
    lines = (line.text[:_LONGEST_LINE] for file in change.production() for line in file.diff.removed)
    return frozenset(found[1] for found in map(_SIGNATURE.match, lines) if found is not None)


_SIGNATURE: Final = pattern(
    r"\s*(?:(?:export|default|pub(?:\([^)]{0,20}\))?|public|private|protected|static|final|async|def|func|fn|function|const|unsafe|abstract|override)\s+){1,6}"
    r"(?:\([^)]{0,80}\)\s*)?(?:<[^>]{0,80}>\s*)?(?:[\w.<>\[\]?, ]{1,80}\s)?([A-Za-z_]\w*)\s*(?:<[^>]{0,80}>|\[[^\]]{0,80}\])?\("
)
_LONGEST_LINE: Final = 1_000
_TELLING: Final = 4


def _is_plain(loss: Loss, change: Change) -> bool:
    """Nothing else left the test, or the test still computes what nobody reads now."""
    base, head, _ = loss.pair or Pair(None, None, loss.file)
    if base is None or head is None or loss.is_moved or _is_named_again(loss):
        return False
    if may_be_implied(loss.stand.oracle, head) or is_about_changed_text(loss.stand.oracle, change):
        return False
    if not (change.once(_redefined) | change.once(_gone_words)).isdisjoint(loss.stand.words):
        return False
    if head.function.statements and not _is_named_in_test(loss, words_of(loss.stand.oracle)):
        return False
    if words_of(loss.stand.oracle).intersection(unread(Look(head, loss.file, base, is_new=False))):
        return True
    removed = {line for block in blocks_of(loss.file) for line in block.removed if base.first <= line <= base.last}
    return removed <= _lines(loss.stand) and not blocks_of(loss.file)[loss.stand.block].added


def _is_named_again(loss: Loss) -> bool:
    """Another check was added to the test that speaks of the same: it may say more."""
    return any(one.words & loss.stand.words for one in _added(loss.file) if _is_in(one, loss))


def _lines(stand: Stand) -> set[int]:
    return set(range(stand.first, stand.last + 1))


def _is_all_of_block(loss: Loss) -> bool:
    """Nothing was changed beside it but other assertions that went."""
    block = blocks_of(loss.file)[loss.stand.block]
    gone = [one for one in _removed(loss.file) if one.block == loss.stand.block]
    return not block.added and block.removed <= {line for one in gone for line in _lines(one)}


def blocks_of(file: ChangedFile) -> tuple[Block, ...]:
    return file.once(_find_blocks)


def _find_blocks(file: ChangedFile) -> tuple[Block, ...]:
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
    return tuple(Block(frozenset(removed), frozenset(added)) for removed, added in runs)


def _removed(file: ChangedFile) -> list[Stand]:
    return file.once(_find_removed)


def _find_removed(file: ChangedFile) -> list[Stand]:
    sources = base_sources(file)
    at = {line: number for number, block in enumerate(blocks_of(file) if sources else ()) for line in block.removed}
    return _stands(sources, at)


def _added(file: ChangedFile) -> list[Stand]:
    return file.once(_find_added)


def _find_added(file: ChangedFile) -> list[Stand]:
    sources = file.sources
    at = {line: number for number, block in enumerate(blocks_of(file) if sources else ()) for line in block.added}
    return _stands(sources, at)


def _stands(sources: tuple[Source, ...], at: dict[int, int]) -> list[Stand]:
    stands: list[Stand] = []
    lines = sorted(at)
    for source in filter(may_assert, sources):
        start, end = (bisect_left(lines, source.first + count) for count in (0, len(source.lines)))
        rows = frozenset(line - source.first for line in lines[start:end])
        for oracle in oracles_of(source.root, source.language, rows, source.nodes) if rows else ():
            first = oracle.node.start_point.row + source.first
            if first in at and not oracle.is_guess and _is_assertion(oracle):
                words = frozenset(_WORD.findall(oracle.text))
                stands.append(Stand(oracle, first, oracle.node.end_point.row + source.first, at[first], words))
    return stands


def _is_assertion(oracle: Oracle) -> bool:
    """`unwrap()` and the like are none."""
    return oracle.proof is not Proof.SUCCESS or _ASSERTS.match(oracle.text) is not None


_ASSERTS: Final = pattern(r"(?:self\.)?assert|expect\(|require\.|is\.")
_WORD: Final = pattern(r"[A-Za-z_]\w*")
