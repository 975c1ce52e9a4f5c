"""How much of each criterion the change does not show, and what of it.

Reads words, not meaning: a criterion whose words stand in the change is taken as met here, and the model decides.
Invariant: prose that was taken as one criterion falls short of nothing.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple, assert_never

from worker.domain.dossier.lookups import stands_at
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import CriterionStatus, CriterionVerdict
from worker.dossier.claim_pointer import cited_paths
from worker.signals.acceptance_gap.asking import Name, Wish, wish_of, wishes_of
from worker.signals.acceptance_gap.shown import Kind, Shown, Unit, shown_by
from worker.signals.analysis.change import Change
from worker.signals.analysis.file_roles import Role, role_of
from worker.signals.analysis.relatedness import NAME, common_stems, folded, stems_of_all, words_of_path
from worker.signals.analysis.tests import tests_of

PARTIAL: Final = 0.45
ABSENT: Final = 0.9
"""From this gap on nothing of it was seen at all."""

_ELSEWHERE: Final = 0.5
"""What a name proves that stands in another file than the criterion says."""
_UNCHANGED: Final = 0.5
_BESIDE_NAMES: Final = 0.4
"""What the words weigh in a criterion that spells out names: those are what is wanted, the words are about them."""
_RAREST: Final = 6
_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 20_000
_PASSES: Final = pattern(
    r"(?i)\b(?:all|existing|current|other|present|the) (?:\w+ ){0,3}(?:tests?|specs?|suite)\b|\b(?:tests?|specs?|suite) (?:\w+ ){0,2}(?:pass|succeed|green|run)"
)
_TEST_WORD: Final = pattern(r"(?i)test|spec|feature|check|assert|expect|>>>|```")
"""What a test of any framework has in its path or in its lines."""
_DOCUMENTS: Final = (".md", ".mdx", ".rst", ".adoc", ".txt")
_WITHOUT_CODE: Final = (*_DOCUMENTS, ".toml", ".cfg", ".ini", ".lock")


_SPOKEN_OF: Final = 0.25
"""A criterion with a smaller gap stands in the change, word for word or nearly so."""
_OF_PROSE: Final = 0.25
"""The share of the words of prose that the change that answers it holds: nine of ten do, and three of ten others."""

_OF_LISTED: Final = 0.5
"""The same of a listed criterion that spells out no name and asks for no test."""

_OF_TEST: Final = 5 / 6
"""The share of a criterion's words that the test holds that it asks for."""


_OF_LINE: Final = 1 / 3
"""The share of a criterion's words that a line holds that is about it."""


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


def seen_of(change: Change) -> tuple[CriterionVerdict, ...]:
    """What code can say of each criterion that somebody wrote: that it is missing, where that is proved; else what speaks of it.

    A word that does not occur proves nothing: what does the work may be called otherwise.
    """
    return tuple(_seen(gap, change) for gap in change.once(gaps))


def in_doubt(change: Change) -> tuple[Gap, ...]:
    """The gaps of the criteria that the change shows nothing of, or only a part: told and scored, never decided upon."""
    return tuple(gap for gap in change.once(gaps) if gap.size >= PARTIAL)


def _seen(gap: Gap, change: Change) -> CriterionVerdict:
    name = gap.wish.criterion.id
    if proof := _proven_absent(gap.wish, change):
        return CriterionVerdict(id=name, status=CriterionStatus.MISSING, note=proof)
    places = change.meanwhile(shown_by).places_of(gap.wish)
    note = note_of(gap) if gap.size >= PARTIAL else ""
    return CriterionVerdict(id=name, status=CriterionStatus.UNVERIFIABLE, note=note, evidence=places)


def _proven_absent(wish: Wish, change: Change) -> str:
    """What the criterion names and neither side of the change is known to hold; else empty.

    A file that the change deletes proves nothing: to move, merge or drop it may be what is asked for.
    """
    absent = {file.path for file in change.dossier.files or () if not file.exists}
    for wanted in _demanded(wish, change):
        if wanted in absent:
            return f"there is no {wanted}"
    return "it asks for a test, and this change holds none" if wish.needs_test and change.once(is_testless) else ""


def paths_to_look_up(change: Change) -> tuple[str, ...]:
    """The files that criteria or the case name, and of which nobody knows whether they are there."""
    known = {file.path for file in change.dossier.files or ()} | {file.path for file in change.dossier.files_unread}
    case = change.dossier.case
    cited = (path for path in (cited_paths(case) if case is not None else ()) if not _is_touched(path, change))
    named = (path for wish in change.once(wishes_of) for path in _demanded(wish, change))
    return tuple(path for path in dict.fromkeys((*named, *cited)) if path not in known)[:_MOST_PATHS]


_MOST_PATHS: Final = 50


def _demanded(wish: Wish, change: Change) -> Iterator[str]:
    """The files that a criterion wants to be there and the change does not touch.

    None that the program reads or writes where it runs, and no name that may be a product's (`Node.js`).
    """
    text = wish.criterion.text
    if wish.goes or _AT_WORK.search(text):
        return
    for wanted in wish.paths:
        if ("/" in wanted or f"`{wanted}`" in text) and not _is_touched(wanted, change):
            yield wanted


def _is_touched(wanted: str, change: Change) -> bool:
    return any(path and stands_at(path, wanted) for file in change.files for path in (file.path, file.diff.old_path))


_AT_WORK: Final = pattern(
    r"(?i)\b(?:reads?|loads?|writes|wrote|written to|generates?|generated|saves?|outputs?|prints?|parses?|produces?|emits?|finds?|opens?|imports?|given|if|when|where|called|named|ignores?|skips?|e\.g|for example|such as|like)\b"
)


def is_testless(change: Change) -> bool:
    """Whether the change is known to hold no test: all of it is read, and neither a path nor an added line has a word of one."""
    if change.dossier.files_unread or change.unparsed or change.meanwhile(shown_by).has_tests:
        return False
    return all(
        file.role is not Role.TEST
        and not file.diff.is_binary
        and (file.language is not None or file.path.lower().endswith(_WITHOUT_CODE))
        and not any(_TEST_WORD.search(text) for text in (file.path, *file.diff.added_texts))
        for file in change.files
    )


def shortfall(change: Change) -> float:
    """From 0 to 1: the mean gap of the criteria that somebody wrote."""
    known = change.once(gaps)
    return sum(gap.size for gap in known) / len(known) if known else 0.0


def is_spoken_of(change: Change, name: str) -> bool:
    """Whether the change holds what this criterion asks for, as far as words tell. Of prose, a part of its words will do."""
    gap = next((one for one in change.once(gaps) if one.wish.criterion.id == name), None)
    if gap is not None:
        wish = gap.wish
        is_shown = gap.size < _SPOKEN_OF or _is_defined(wish, change.meanwhile(shown_by))
        is_prose = gap.lack is Lack.WORDS and not wish.names and not wish.paths
        says_something = bool(wish.words or wish.names or wish.paths)
        return (says_something and is_shown) or (is_prose and _occurs(wish, _OF_LISTED, change))
    asked = next((one for one in change.dossier.criteria or () if one.id == name), None)
    return asked is not None and _occurs(wish_of(asked), _OF_PROSE, change)


def _occurs(wish: Wish, share: float, change: Change) -> bool:
    """Whether so many of its words stand anywhere in what was changed."""
    wanted = frozenset(wish.words) - common_stems()
    return bool(wanted) and len(wanted & change.once(changed_words)) >= share * len(wanted)


def untested_criteria(change: Change) -> frozenset[str]:
    """The criteria that ask for a test, where the change adds a line to none. That the tests pass asks for no new one."""
    wishes = [one for one in change.once(wishes_of) if one.tests and not _PASSES.search(one.criterion.text)]
    if not wishes or change.meanwhile(shown_by).has_tests:
        return frozenset()
    return frozenset(one.criterion.id for one in wishes)


def untold_tests(change: Change) -> tuple[Gap, ...]:
    """The criteria that ask for a test of something, where the change adds to some and the name of none speaks of it."""
    return tuple(
        gap
        for gap in change.once(gaps)
        if gap.lack is Lack.TEST and _SPOKEN_OF <= gap.size < ABSENT and _TEST_OF.search(gap.wish.criterion.text)
    )


_TEST_OF: Final = pattern(
    r"(?i)\b(?:tests?|tested|specs?)(?:\s*:|\s+(?:\(|(?:for|of|that|which|where|covers?|covering|shows?|proves?|verif\w*)\b))"
    r"|\bcovered by\b"
)


def settles(change: Change, name: str, path: str, number: int, line: str) -> bool:
    """Whether this line shows what seems to be missing of a criterion.

    That is the file or the name itself, a test that holds most of its words, a document, or a third of its words.
    """
    gap = next((one for one in change.once(gaps) if one.wish.criterion.id == name), None)
    if gap is None:
        return True
    held = frozenset(NAME.findall(line))
    match gap.lack:
        case Lack.PATH:
            return is_at(path, gap.what)
        case Lack.NAME:
            return next(one for one in gap.wish.names if one.spelled == gap.what).parts[-1] in map(folded, held)
        case Lack.TEST:
            is_unspoken = gap.size >= ABSENT  # then the test may be called otherwise as well
            return role_of(path) is Role.TEST if is_unspoken else _speaks_of(path, number, gap.wish, change)
        case Lack.DOCS:
            return _is_document(path)
        case Lack.WORDS:
            words = frozenset(gap.wish.words)
            return len(words & stems_of_all(held)) >= _OF_LINE * len(words)
        case _:
            assert_never(gap.lack)


def _speaks_of(path: str, number: int, wish: Wish, change: Change) -> bool:
    """Whether the test that a line stands in holds what a criterion asks a test for; of a file without a test, all that is new there."""
    files = [file for file in change.files if file.path == path]
    tests = [one for file in files for source in file.sources for one in tests_of(source)]
    around = [f"{' '.join(one.key)} {one.text}" for one in tests if one.first <= number <= one.last]
    is_test = bool(around) or (not tests and role_of(path) is Role.TEST)
    texts = around or [text for file in files for text in file.diff.added_texts]
    held = stems_of_all(NAME.findall("\n".join(texts)))
    return is_test and len(held.intersection(wish.words)) >= _OF_TEST * len(wish.words)


def _is_defined(wish: Wish, shown: Shown) -> bool:
    """Whether every name that it spells out stands in a line that the change adds, in the files that it names, if any. No test is a name."""
    if wish.tests or not wish.names or not all(any(is_at(path, one) for path in shown.paths) for one in wish.paths):
        return False
    places = frozenset(path for path in shown.paths if any(is_at(path, wanted) for wanted in wish.paths))
    return all(_proof_of_name(one, wish, shown, places) >= 1 for one in wish.names)


def changed_words(change: Change) -> frozenset[str]:
    """The words of every changed line and path."""
    paths = (words_of_path(file.path) for file in change.files)
    lines = (line.text[:_LONGEST_LINE] for file in change.files for line in (*file.diff.added, *file.diff.removed))
    names = {name for text in islice(lines, _MOST_LINES) for name in NAME.findall(text)}
    return stems_of_all(names).union(*paths)


def gaps(change: Change) -> tuple[Gap, ...]:
    """The gap of each criterion that somebody wrote; call it by `change.once(gaps)`."""
    wishes = change.once(wishes_of)
    return tuple(_largest(wish, change.meanwhile(shown_by)) for wish in wishes)


def note_of(gap: Gap) -> str:
    match gap.lack:
        case Lack.PATH:
            return f"{gap.what} is not changed"
        case Lack.NAME if gap.size >= ABSENT:
            return f"the name `{gap.what}` does not occur"
        case Lack.NAME:
            return f"little of the change speaks of `{gap.what}`"
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
