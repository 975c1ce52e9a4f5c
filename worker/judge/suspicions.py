"""What code suspects, as numbered questions, and which of them an accept leaves without an answer.

Does not suspect anything itself (`worker.judge.heuristics` does). Invariant: an answer counts only with a place that could settle the
question: another line than the suspected one, that is about the same thing.
"""

from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from worker.domain.opinion import HeuristicOpinion, ModelOpinion
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.domain.verdict import Category, EvidencePointer, Finding, Side
from worker.judge.heuristics.acceptance_gap.shortfall import settles
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.relatedness import NAME, asked_of, common_stems, stems_of_all
from worker.judge.rulings import Hearing
from worker.judge.survival import AROUND

MOST: Final = 40
"""Questions of one change."""

ABOUT_THE_JUDGE: Final = "verdict_planted"
"""The signal of words that are meant for a judge: they change no decision, neither way."""

_OF_CRITERION: Final = pattern(r"([^\s:]{1,100}): ")


class Suspicion(Value):
    """*criterion*: of which one it says that the change shows less than it asks for."""

    id: str
    finding: Finding
    criterion: str | None = None


def suspicions_of(opinion: HeuristicOpinion) -> tuple[Suspicion, ...]:
    """Every finding that is no fact. That a criterion's words are not found is none by itself: it is so of one met criterion in four."""
    found = (one for one in opinion.findings if not one.fact)
    return tuple(Suspicion(f"q{number}", one, _criterion_of(one)) for number, one in enumerate(islice(found, MOST), 1))


def _criterion_of(finding: Finding) -> str | None:
    named = _OF_CRITERION.match(finding.note) if finding.category is Category.ACCEPTANCE_GAP else None
    return named[1] if named else None


def left_open(opinion: ModelOpinion, hearing: Hearing) -> tuple[Suspicion, ...]:
    """The suspicions that no answer settles."""
    suspicions = [one for one in suspicions_of(hearing.opinion) if one.finding.signal != ABOUT_THE_JUDGE]
    if not suspicions:
        return ()
    change = Change(hearing.dossier)
    places = {one.id: one.evidence for one in opinion.settled if one.why}
    return tuple(
        one for one in suspicions if not any(_settles(place, one, change, hearing) for place in places.get(one.id, ()))
    )


def _settles(place: EvidencePointer, suspicion: Suspicion, change: Change, hearing: Hearing) -> bool:
    """Whether a line could show that a suspicion is none."""
    finding = suspicion.finding
    if place.line is None or (place.path, place.line, place.side) == (finding.path, finding.line, finding.side):
        return False
    line = hearing.places.line(place.path, place.line, place.side) or ""
    if suspicion.criterion is not None:
        return settles(change, suspicion.criterion, place.path, line)
    if finding.category is Category.SCOPE_CREEP:
        asked = asked_of(change.dossier).words - common_stems()
        is_changed = (place.line, place.side) in _changed_lines(finding.path, hearing)
        return place.path == finding.path and is_changed and not _words_of((line,)).isdisjoint(asked)
    if finding.line is None:
        return finding.path in {place.path, None}
    numbers = range(max(1, finding.line - AROUND), (finding.end_line or finding.line) + AROUND + 1)
    suspected = (hearing.places.line(finding.path or "", number, finding.side) or "" for number in numbers)
    return not _words_of((line,)).isdisjoint(_words_of((finding.note, *suspected)))


def _changed_lines(path: str | None, hearing: Hearing) -> frozenset[tuple[int | None, Side]]:
    files = [file for file in hearing.diff.files if file.path == path]
    added = ((line.head_line, Side.HEAD) for file in files for line in file.added)
    return frozenset(chain(added, ((line.base_line, Side.BASE) for file in files for line in file.removed)))


def _words_of(texts: Iterable[str]) -> frozenset[str]:
    return stems_of_all({name for text in texts for name in NAME.findall(text)}) - common_stems()
