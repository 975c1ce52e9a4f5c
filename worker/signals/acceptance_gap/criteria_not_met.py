"""Criteria of which the change shows nothing, each with what was looked for.

Invariant: at most one finding for a criterion but for claims; none has a line, for what is missing has no place.
"""

from collections.abc import Iterator

from worker.domain.verdict.verdict import Category
from worker.dossier.claim_pointer import read_pointer
from worker.signals.acceptance_gap.change_units import UnitKind, build_index
from worker.signals.acceptance_gap.criterion_terms import CriterionTerms
from worker.signals.acceptance_gap.shortfall import (
    ABSENT_GAP,
    PARTIAL_GAP,
    MissingPart,
    describe_gap,
    find_gaps,
    is_path_match,
)
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import SignalKind as Says
from worker.signals.signal import SignalMatch, SignalScope, signal


def _find_gaps(change: CodeChange, lack: MissingPart, least: float) -> Iterator[SignalMatch]:
    for gap in change.cached(find_gaps):
        if gap.missing is lack and gap.size >= least:
            yield SignalMatch(f"{gap.terms.criterion.id}: {describe_gap(gap)}", strength=gap.size)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, SignalScope.ISSUE)
def path_not_changed(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion names a file, and the change leaves it as it was.

    False alarms: 10 of 463 clean changes with listed criteria (2.2 %, at most 3.93 %).
    """
    yield from _find_gaps(change, MissingPart.PATH, ABSENT_GAP)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, SignalScope.ISSUE)
def name_not_found(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion spells out a name, and neither the change nor the files that it touches hold it.

    False alarms: 20 of 463 clean changes with listed criteria (4.3 %, at most 6.58 %).
    """
    yield from _find_gaps(change, MissingPart.NAME, ABSENT_GAP)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, SignalScope.ISSUE)
def test_not_found(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion asks for a test, and no added line of a test speaks of what it should cover.

    False alarms: 8 of 463 clean changes with listed criteria (1.7 %, at most 3.37 %).
    """
    yield from _find_gaps(change, MissingPart.TEST, ABSENT_GAP)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, SignalScope.ISSUE)
def docs_not_changed(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion asks for documentation or a changelog entry, and no such file is changed.

    False alarms: 3 of 463 clean changes with listed criteria (0.6 %, at most 1.89 %).
    """
    yield from _find_gaps(change, MissingPart.DOCS, 0.0)


@signal(Category.ACCEPTANCE_GAP, Says.SUSPICION, SignalScope.CASE)
def claim_shows_nothing(change: CodeChange) -> Iterator[SignalMatch]:
    """The case says where a criterion is met that the change falls short of, and nothing of it is changed there.

    False alarms: 19 of 870 clean changes with a case (2.2 %, at most 3.39 %).
    """
    case = change.dossier.case
    short = {gap.terms.criterion.id.casefold(): gap for gap in change.cached(find_gaps) if gap.size >= PARTIAL_GAP}
    for claim in case.ac_coverage if case and short else ():
        gap = short.get(claim.criterion.split()[0].casefold().rstrip(":."))
        pointer = read_pointer(claim.addressed_by)
        if gap is not None and pointer is not None and not _mentions_criterion(pointer.path, gap.terms, change):
            note = f"{gap.terms.criterion.id}: the case points at {pointer.path}, where nothing of it is changed"
            yield SignalMatch(note, strength=gap.size)


def _mentions_criterion(path: str, wish: CriterionTerms, change: CodeChange) -> bool:
    """Whether a changed line, or the path itself, holds a word of the criterion."""
    if not any(is_path_match(file.path, path) for file in change.files):
        return False
    shown = change.cached_for_family(build_index)
    near = [unit for word in wish.words for unit in shown.units_with(word)]
    near += [unit for name in wish.names for part in name.parts for unit in shown.units_named(part)]
    named = any(is_path_match(path, wanted) or is_path_match(wanted, path) for wanted in wish.paths)
    return named or any(is_path_match(unit.path, path) and unit.kind is not UnitKind.CONTEXT for unit in near)
