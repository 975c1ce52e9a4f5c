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
from worker.signals.acceptance_gap.change_units import ChangeIndex, ChangeUnit, UnitKind, build_index
from worker.signals.acceptance_gap.criterion_terms import CriterionName, CriterionTerms, find_terms, parse_criterion
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.analysis.relatedness import NAME_PATTERN, common_stems, fold_name, split_path, stems_of_all
from worker.signals.analysis.tests import find_tests

PARTIAL_GAP: Final = 0.45
ABSENT_GAP: Final = 0.9
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


class MissingPart(StrEnum):
    """What of a criterion is not there."""

    PATH = "path"
    NAME = "name"
    TEST = "test"
    DOCS = "docs"
    WORDS = "words"


class Gap(NamedTuple):
    """The largest gap of one criterion, from 0 to 1. `missing_name` is the path or the name that is not there."""

    terms: CriterionTerms
    size: float
    missing: MissingPart
    missing_name: str = ""


def judge_criteria(change: CodeChange) -> tuple[CriterionVerdict, ...]:
    """What code can say of each criterion that somebody wrote: that it is missing, where that is proved; else what speaks of it.

    A word that does not occur proves nothing: what does the work may be called otherwise.
    """
    return tuple(_judge_gap(gap, change) for gap in change.cached(find_gaps))


def find_doubtful_gaps(change: CodeChange) -> tuple[Gap, ...]:
    """The gaps of the criteria that the change shows nothing of, or only a part: told and scored, never decided upon."""
    return tuple(gap for gap in change.cached(find_gaps) if gap.size >= PARTIAL_GAP)


def _judge_gap(gap: Gap, change: CodeChange) -> CriterionVerdict:
    name = gap.terms.criterion.id
    if proof := _find_proven_absent(gap.terms, change):
        return CriterionVerdict(id=name, status=CriterionStatus.MISSING, note=proof)
    places = change.cached_for_family(build_index).find_evidence(gap.terms)
    note = describe_gap(gap) if gap.size >= PARTIAL_GAP else ""
    return CriterionVerdict(id=name, status=CriterionStatus.UNVERIFIABLE, note=note, evidence=places)


def _find_proven_absent(wish: CriterionTerms, change: CodeChange) -> str:
    """What the criterion names and neither side of the change is known to hold; else empty.

    A file that the change deletes proves nothing: to move, merge or drop it may be what is asked for.
    """
    absent = {file.path for file in change.dossier.files or () if not file.exists}
    for wanted in _find_demanded_paths(wish, change):
        if wanted in absent:
            return f"there is no {wanted}"
    return (
        "it asks for a test, and this change holds none"
        if wish.is_test_required and change.cached(has_no_tests)
        else ""
    )


def paths_to_look_up(change: CodeChange) -> tuple[str, ...]:
    """The files that criteria or the case name, and of which nobody knows whether they are there."""
    looked_up = {file.path for file in change.dossier.files or ()} | {file.path for file in change.dossier.files_unread}
    case = change.dossier.case
    cited = (path for path in (cited_paths(case) if case is not None else ()) if not _is_touched(path, change))
    named = (path for wish in change.cached(find_terms) for path in _find_demanded_paths(wish, change))
    return tuple(path for path in dict.fromkeys((*named, *cited)) if path not in looked_up)[:_MOST_PATHS]


_MOST_PATHS: Final = 50


def _find_demanded_paths(wish: CriterionTerms, change: CodeChange) -> Iterator[str]:
    """The files that a criterion wants to be there and the change does not touch.

    None that the program reads or writes where it runs, and no name that may be a product's (`Node.js`).
    """
    text = wish.criterion.text
    if wish.is_removal or _AT_WORK.search(text):
        return
    for wanted in wish.paths:
        if ("/" in wanted or f"`{wanted}`" in text) and not _is_touched(wanted, change):
            yield wanted


def _is_touched(wanted: str, change: CodeChange) -> bool:
    return any(path and stands_at(path, wanted) for file in change.files for path in (file.path, file.diff.old_path))


_AT_WORK: Final = pattern(
    r"(?i)\b(?:reads?|loads?|writes|wrote|written to|generates?|generated|saves?|outputs?|prints?|parses?|produces?|emits?|finds?|opens?|imports?|given|if|when|where|called|named|ignores?|skips?|e\.g|for example|such as|like)\b"
)


def has_no_tests(change: CodeChange) -> bool:
    """Whether the change is known to hold no test: all of it is read, and neither a path nor an added line has a word of one."""
    if change.dossier.files_unread or change.unparsed_count or change.cached_for_family(build_index).has_tests:
        return False
    return all(
        file.role is not FileRole.TEST
        and not file.diff.is_binary
        and (file.language is not None or file.path.lower().endswith(_WITHOUT_CODE))
        and not any(_TEST_WORD.search(text) for text in (file.path, *file.diff.added_texts))
        for file in change.files
    )


def mean_gap(change: CodeChange) -> float:
    """From 0 to 1: the mean gap of the criteria that somebody wrote."""
    gaps = change.cached(find_gaps)
    return sum(gap.size for gap in gaps) / len(gaps) if gaps else 0.0


def is_mentioned(change: CodeChange, name: str) -> bool:
    """Whether the change holds what this criterion asks for, as far as words tell. Of prose, a part of its words will do."""
    gap = next((gap for gap in change.cached(find_gaps) if gap.terms.criterion.id == name), None)
    if gap is not None:
        wish = gap.terms
        is_shown = gap.size < _SPOKEN_OF or _is_defined(wish, change.cached_for_family(build_index))
        is_prose = gap.missing is MissingPart.WORDS and not wish.names and not wish.paths
        says_something = bool(wish.words or wish.names or wish.paths)
        return (says_something and is_shown) or (is_prose and _has_words(wish, _OF_LISTED, change))
    asked = next((criterion for criterion in change.dossier.criteria or () if criterion.id == name), None)
    return asked is not None and _has_words(parse_criterion(asked), _OF_PROSE, change)


def _has_words(wish: CriterionTerms, share: float, change: CodeChange) -> bool:
    """Whether so many of its words stand anywhere in what was changed."""
    wanted = frozenset(wish.words) - common_stems()
    return bool(wanted) and len(wanted & change.cached(find_changed_words)) >= share * len(wanted)


def find_untested_criteria(change: CodeChange) -> frozenset[str]:
    """The criteria that ask for a test, where the change adds a line to none. That the tests pass asks for no new one."""
    wishes = [
        terms
        for terms in change.cached(find_terms)
        if terms.is_about_tests and not _PASSES.search(terms.criterion.text)
    ]
    if not wishes or change.cached_for_family(build_index).has_tests:
        return frozenset()
    return frozenset(terms.criterion.id for terms in wishes)


def find_unnamed_tests(change: CodeChange) -> tuple[Gap, ...]:
    """The criteria that ask for a test of something, where the change adds to some and the name of none speaks of it."""
    return tuple(
        gap
        for gap in change.cached(find_gaps)
        if gap.missing is MissingPart.TEST
        and _SPOKEN_OF <= gap.size < ABSENT_GAP
        and _TEST_OF.search(gap.terms.criterion.text)
    )


_TEST_OF: Final = pattern(
    r"(?i)\b(?:tests?|tested|specs?)(?:\s*:|\s+(?:\(|(?:for|of|that|which|where|covers?|covering|shows?|proves?|verif\w*)\b))"
    r"|\bcovered by\b"
)


def is_settled_by(change: CodeChange, name: str, path: str, number: int, line: str) -> bool:
    """Whether this line shows what seems to be missing of a criterion.

    That is the file or the name itself, a test that holds most of its words, a document, or a third of its words.
    """
    gap = next((gap for gap in change.cached(find_gaps) if gap.terms.criterion.id == name), None)
    if gap is None:
        return True
    held = frozenset(NAME_PATTERN.findall(line))
    match gap.missing:
        case MissingPart.PATH:
            return is_path_match(path, gap.missing_name)
        case MissingPart.NAME:
            return next(name for name in gap.terms.names if name.text == gap.missing_name).parts[-1] in map(
                fold_name, held
            )
        case MissingPart.TEST:
            is_unspoken = gap.size >= ABSENT_GAP  # then the test may be called otherwise as well
            return (
                role_of(path) is FileRole.TEST if is_unspoken else _mentions_criterion(path, number, gap.terms, change)
            )
        case MissingPart.DOCS:
            return _is_document(path)
        case MissingPart.WORDS:
            stems = frozenset(gap.terms.words)
            return len(stems & stems_of_all(held)) >= _OF_LINE * len(stems)
        case _:
            assert_never(gap.lack)


def _mentions_criterion(path: str, number: int, wish: CriterionTerms, change: CodeChange) -> bool:
    """Whether the test that a line stands in holds what a criterion asks a test for; of a file without a test, all that is new there."""
    files = [file for file in change.files if file.path == path]
    tests = [test for file in files for source in file.sources for test in find_tests(source)]
    around = [f"{' '.join(test.key)} {test.text}" for test in tests if test.first_line <= number <= test.last_line]
    is_test = bool(around) or (not tests and role_of(path) is FileRole.TEST)
    texts = around or [text for file in files for text in file.diff.added_texts]
    held = stems_of_all(NAME_PATTERN.findall("\n".join(texts)))
    return is_test and len(held.intersection(wish.words)) >= _OF_TEST * len(wish.words)


def _is_defined(wish: CriterionTerms, shown: ChangeIndex) -> bool:
    """Whether every name that it spells out stands in a line that the change adds, in the files that it names, if any. No test is a name."""
    if (
        wish.is_about_tests
        or not wish.names
        or not all(any(is_path_match(path, wanted) for path in shown.paths) for wanted in wish.paths)
    ):
        return False
    places = frozenset(path for path in shown.paths if any(is_path_match(path, wanted) for wanted in wish.paths))
    return all(_proof_of_name(name, wish, shown, places) >= 1 for name in wish.names)


def find_changed_words(change: CodeChange) -> frozenset[str]:
    """The words of every changed line and path."""
    paths = (split_path(file.path) for file in change.files)
    lines = (
        line.text[:_LONGEST_LINE]
        for file in change.files
        for line in (*file.diff.added_lines, *file.diff.removed_lines)
    )
    names = {name for text in islice(lines, _MOST_LINES) for name in NAME_PATTERN.findall(text)}
    return stems_of_all(names).union(*paths)


def find_gaps(change: CodeChange) -> tuple[Gap, ...]:
    """The gap of each criterion that somebody wrote; call it by `change.once(gaps)`."""
    wishes = change.cached(find_terms)
    return tuple(_largest_gap(wish, change.cached_for_family(build_index)) for wish in wishes)


def describe_gap(gap: Gap) -> str:
    match gap.missing:
        case MissingPart.PATH:
            return f"{gap.missing_name} is not changed"
        case MissingPart.NAME if gap.size >= ABSENT_GAP:
            return f"the name `{gap.missing_name}` does not occur"
        case MissingPart.NAME:
            return f"little of the change speaks of `{gap.missing_name}`"
        case MissingPart.TEST:
            return "no added test speaks of it"
        case MissingPart.DOCS:
            return "no documentation is changed"
        case MissingPart.WORDS:
            return "no line of the change speaks of all of it"
        case _:
            assert_never(gap.lack)


def _largest_gap(wish: CriterionTerms, shown: ChangeIndex) -> Gap:
    return max(_measure_gaps(wish, shown), key=lambda gap: gap.size, default=Gap(wish, 0.0, MissingPart.WORDS))


def _measure_gaps(wish: CriterionTerms, shown: ChangeIndex) -> Iterator[Gap]:
    places = frozenset(path for path in shown.paths if any(is_path_match(path, wanted) for wanted in wish.paths))
    for wanted in wish.paths:
        if not any(is_path_match(path, wanted) for path in places):
            yield Gap(wish, 1.0, MissingPart.PATH, wanted)
    for name in wish.names:
        yield Gap(wish, 1 - _proof_of_name(name, wish, shown, places), MissingPart.NAME, name.text)
    if wish.is_about_tests and not shown.has_tests:
        yield Gap(wish, 0.9, MissingPart.TEST)
    if (
        wish.is_about_documentation
        and not wish.paths
        and not any(map(_is_document, shown.paths))
        and not shown.is_documented(wish.words)
    ):
        yield Gap(wish, 0.8, MissingPart.DOCS)
    if wish.words:
        lack = MissingPart.TEST if wish.is_about_tests else MissingPart.WORDS
        share = _BESIDE_NAMES if wish.names or wish.paths else 1.0
        yield Gap(wish, share * (1 - _proof_of_words(wish, shown)), lack)


def is_path_match(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith(f"/{wanted}")


def _is_document(path: str) -> bool:
    return path.lower().endswith(_DOCUMENTS) or role_of(path) is FileRole.EXAMPLE


def _proof_of_name(name: CriterionName, wish: CriterionTerms, shown: ChangeIndex, places: frozenset[str]) -> float:
    proofs = [_proof_of_part(part, wish, shown, places) for part in name.parts]
    return sum(proofs) / len(proofs)


def _proof_of_part(part: str, wish: CriterionTerms, shown: ChangeIndex, places: frozenset[str]) -> float:
    """By the best unit; only for what stands in none, the whole texts are read."""
    units = shown.units_named(part)
    if not units:
        return _UNCHANGED if part in shown.texts else 0.0
    return max(_proof_of_unit(unit, wish) * (_ELSEWHERE if places and unit.path not in places else 1) for unit in units)


def _proof_of_words(wish: CriterionTerms, shown: ChangeIndex) -> float:
    """The share of the criterion's words, by weight, that the best single line holds."""
    weights = {word: shown.weight(word) for word in wish.words}
    rarest = sorted(wish.words, key=lambda word: -weights[word])[:_RAREST]
    near = {id(unit): unit for word in rarest for unit in shown.units_with(word)}
    total = sum(weights.values())
    return max(
        (
            sum(weights[word] for word in wish.words if word in unit.words) / total * _proof_of_unit(unit, wish)
            for unit in near.values()
        ),
        default=0.0,
    )


def _proof_of_unit(unit: ChangeUnit, wish: CriterionTerms) -> float:
    if wish.is_removal and unit.kind is UnitKind.REMOVED:
        return 1.0
    return unit.kind.test if wish.is_about_tests else unit.kind.code
