"""Criteria of which the change shows nothing, each with what was looked for.

Invariant: at most one finding for a criterion but for claims; none has a line, for what is missing has no place.
"""

from collections.abc import Iterator

from worker.domain.verdict.verdict import Category
from worker.dossier.claim_pointer import read_pointer
from worker.signals.acceptance_gap.asking import Wish
from worker.signals.acceptance_gap.shortfall import ABSENT, PARTIAL, Lack, gaps, is_at, note_of
from worker.signals.acceptance_gap.shown import Kind, shown_by
from worker.signals.analysis.change import Change
from worker.signals.signal import Kind as Says
from worker.signals.signal import Looks, Place, signal


def _found(change: Change, lack: Lack, least: float) -> Iterator[Place]:
    for gap in change.once(gaps):
        if gap.lack is lack and gap.size >= least:
            yield Place(f"{gap.wish.criterion.id}: {note_of(gap)}", strength=gap.size)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, Looks.ISSUE)
def path_not_changed(change: Change) -> Iterator[Place]:
    """A criterion names a file, and the change leaves it as it was.

    False alarms: 10 of 463 clean changes with listed criteria (2.2 %, at most 3.93 %).
    """
    yield from _found(change, Lack.PATH, ABSENT)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, Looks.ISSUE)
def name_not_found(change: Change) -> Iterator[Place]:
    """A criterion spells out a name, and neither the change nor the files that it touches hold it.

    False alarms: 20 of 463 clean changes with listed criteria (4.3 %, at most 6.58 %).
    """
    yield from _found(change, Lack.NAME, ABSENT)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, Looks.ISSUE)
def test_not_found(change: Change) -> Iterator[Place]:
    """A criterion asks for a test, and no added line of a test speaks of what it should cover.

    False alarms: 8 of 463 clean changes with listed criteria (1.7 %, at most 3.37 %).
    """
    yield from _found(change, Lack.TEST, ABSENT)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, Looks.ISSUE)
def docs_not_changed(change: Change) -> Iterator[Place]:
    """A criterion asks for documentation or a changelog entry, and no such file is changed.

    False alarms: 3 of 463 clean changes with listed criteria (0.6 %, at most 1.89 %).
    """
    yield from _found(change, Lack.DOCS, 0.0)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, Looks.CASE)
def claim_shows_nothing(change: Change) -> Iterator[Place]:
    """The case says where a criterion is met that the change falls short of, and nothing of it is changed there.

    False alarms: 19 of 870 clean changes with a case (2.2 %, at most 3.39 %).
    """
    case = change.dossier.case
    short = {gap.wish.criterion.id.casefold(): gap for gap in change.once(gaps) if gap.size >= PARTIAL}
    for claim in case.ac_coverage if case and short else ():
        gap = short.get(claim.criterion.split()[0].casefold().rstrip(":."))
        pointer = read_pointer(claim.addressed_by)
        if gap is not None and pointer is not None and not _speaks_of(pointer.path, gap.wish, change):
            note = f"{gap.wish.criterion.id}: the case points at {pointer.path}, where nothing of it is changed"
            yield Place(note, strength=gap.size)


def _speaks_of(path: str, wish: Wish, change: Change) -> bool:
    """Whether a changed line, or the path itself, holds a word of the criterion."""
    if not any(is_at(file.path, path) for file in change.files):
        return False
    shown = change.meanwhile(shown_by)
    near = [unit for word in wish.words for unit in shown.units_with(word)]
    near += [unit for name in wish.names for part in name.parts for unit in shown.units_named(part)]
    named = any(is_at(path, wanted) or is_at(wanted, path) for wanted in wish.paths)
    return named or any(is_at(unit.path, path) and unit.kind is not Kind.CONTEXT for unit in near)
