"""How much of each criterion the change does not show, and what of it.

Reads words, not meaning: a criterion whose words stand in the change is taken as met here, and the model decides.
Invariant: prose that was taken as one criterion falls short of nothing.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from worker.domain.verdict import CriterionStatus, CriterionVerdict
from worker.judge.heuristics.acceptance_gap.asking import Name, Wish, wishes_of
from worker.judge.heuristics.acceptance_gap.shown import Kind, Shown, Unit, shown_by
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.paths import Role, role_of

MISSING: Final = 0.8
PARTIAL: Final = 0.45
_ELSEWHERE: Final = 0.5
"""What a name proves that stands in another file than the criterion says."""
_UNCHANGED: Final = 0.5
_BESIDE_NAMES: Final = 0.4
"""What the words weigh in a criterion that spells out names: those are what is wanted, the words are about them."""
_RAREST: Final = 6
_DOCUMENTS: Final = (".md", ".mdx", ".rst", ".adoc", ".txt")


class Lack(StrEnum):
    """What of a criterion is not there."""

    PATH = "path"
    NAME = "name"
    TEST = "test"
    DOCS = "docs"
    WORDS = "words"


class Gap(NamedTuple):
    """The largest gap of one criterion, from 0 to 1. `what` is the path or the name that is not there."""

    wish: Wish
    size: float
    lack: Lack
    what: str = ""


def unmet(change: Change) -> tuple[CriterionVerdict, ...]:
    """The criteria that the change shows nothing of, or only a part."""
    return tuple(
        CriterionVerdict(
            id=gap.wish.criterion.id,
            status=CriterionStatus.MISSING if gap.size >= MISSING else CriterionStatus.PARTIAL,
            note=note_of(gap),
        )
        for gap in change.once(gaps)
        if gap.size >= PARTIAL
    )


def shortfall(change: Change) -> float:
    """From 0 to 1: the mean gap of the criteria that somebody wrote."""
    known = change.once(gaps)
    return sum(gap.size for gap in known) / len(known) if known else 0.0


def gaps(change: Change) -> tuple[Gap, ...]:
    """The gap of each criterion that somebody wrote; call it by `change.once(gaps)`."""
    wishes = change.once(wishes_of)
    return tuple(_largest(wish, change.meanwhile(shown_by)) for wish in wishes)


def note_of(gap: Gap) -> str:
    match gap.lack:
        case Lack.PATH:
            return f"{gap.what} is not changed"
        case Lack.NAME:
            return f"{gap.what} is not found in the change"
        case Lack.TEST:
            return "no added test speaks of it"
        case Lack.DOCS:
            return "no documentation is changed"
        case Lack.WORDS:
            return "no line of the change speaks of all of it"
        case _:
            assert_never(gap.lack)


def _largest(wish: Wish, shown: Shown) -> Gap:
    return max(_gaps(wish, shown), key=lambda gap: gap.size, default=Gap(wish, 0.0, Lack.WORDS))


def _gaps(wish: Wish, shown: Shown) -> Iterator[Gap]:
    places = frozenset(path for path in shown.paths if any(is_at(path, wanted) for wanted in wish.paths))
    for wanted in wish.paths:
        if not any(is_at(path, wanted) for path in places):
            yield Gap(wish, 1.0, Lack.PATH, wanted)
    for name in wish.names:
        yield Gap(wish, 1 - _proof_of_name(name, wish, shown, places), Lack.NAME, name.spelled)
    if wish.tests and not shown.has_tests:
        yield Gap(wish, 0.9, Lack.TEST)
    if wish.docs and not wish.paths and not any(map(_is_document, shown.paths)) and not shown.documents(wish.words):
        yield Gap(wish, 0.8, Lack.DOCS)
    if wish.words:
        lack = Lack.TEST if wish.tests else Lack.WORDS
        share = _BESIDE_NAMES if wish.names or wish.paths else 1.0
        yield Gap(wish, share * (1 - _proof_of_words(wish, shown)), lack)


def is_at(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith(f"/{wanted}")


def _is_document(path: str) -> bool:
    return path.lower().endswith(_DOCUMENTS) or role_of(path) is Role.EXAMPLE


def _proof_of_name(name: Name, wish: Wish, shown: Shown, places: frozenset[str]) -> float:
    proofs = [_proof_of_part(one, wish, shown, places) for one in name.parts]
    return sum(proofs) / len(proofs)


def _proof_of_part(part: str, wish: Wish, shown: Shown, places: frozenset[str]) -> float:
    """By the best unit; only for what stands in none, the whole texts are read."""
    units = shown.units_named(part)
    if not units:
        return _UNCHANGED if part in shown.texts else 0.0
    return max(_proof(unit, wish) * (_ELSEWHERE if places and unit.path not in places else 1) for unit in units)


def _proof_of_words(wish: Wish, shown: Shown) -> float:
    """The share of the criterion's words, by weight, that the best single line holds."""
    weights = {word: shown.weight(word) for word in wish.words}
    rarest = sorted(wish.words, key=lambda word: -weights[word])[:_RAREST]
    near = {id(unit): unit for word in rarest for unit in shown.units_with(word)}
    total = sum(weights.values())
    return max(
        (
            sum(weights[word] for word in wish.words if word in unit.words) / total * _proof(unit, wish)
            for unit in near.values()
        ),
        default=0.0,
    )


def _proof(unit: Unit, wish: Wish) -> float:
    if wish.goes and unit.kind is Kind.REMOVED:
        return 1.0
    return unit.kind.test if wish.tests else unit.kind.code
