"""Criteria of which the change shows nothing, and how much of each it does not show.

Reads words, not meaning: a criterion whose words the change holds is taken as met here, and the model decides. What is missing
has no line. Prose that was taken as one criterion falls short of nothing.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import chain, islice
from typing import Final, NamedTuple, assert_never

from worker.domain.dossier import stands_at
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, CriterionStatus, CriterionVerdict
from worker.dossier.case import cited_paths, read_pointer
from worker.signals.acceptance_gap.change_index import (
    ChangeIndex,
    ChangeUnit,
    CriterionName,
    CriterionTerms,
    UnitKind,
    build_index,
    find_terms,
    parse_criterion,
)
from worker.signals.analysis.change import CodeChange, memoized
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.analysis.relatedness import NAME_PATTERN, common_stems, fold_name, split_path, stems_of_all
from worker.signals.analysis.tests import find_tests
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_PARTIAL_GAP: Final = 0.45
_ABSENT_GAP: Final = 0.9
"""From this gap on, the change shows nothing of it."""
_ELSEWHERE: Final = 0.5
"""The proof of a name in another file than the criterion names."""
_UNCHANGED: Final = 0.5
_BESIDE_NAMES: Final = 0.4
"""The weight of the words in a criterion that spells out names, which the words are about."""
_RAREST: Final = 6
_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 20_000
_MOST_PATHS: Final = 50
_PASSES: Final = pattern(
    r"(?i)\b(?:all|existing|current|other|present|the) (?:\w+ ){0,3}(?:tests?|specs?|suite)\b|\b(?:tests?|specs?|suite) (?:\w+ ){0,2}(?:pass|succeed|green|run)"
)
_TEST_WORD: Final = pattern(r"(?i)test|spec|feature|check|assert|expect|>>>|```")
"""Tests of any framework have this in their path or in their lines."""
_TEST_OF: Final = pattern(
    r"(?i)\b(?:tests?|tested|specs?)(?:\s*:|\s+(?:\(|(?:for|of|that|which|where|covers?|covering|shows?|proves?|verif\w*)\b))"
    r"|\bcovered by\b"
)
_AT_WORK: Final = pattern(
    r"(?i)\b(?:reads?|loads?|writes|wrote|written to|generates?|generated|saves?|outputs?|prints?|parses?|produces?|emits?|finds?|opens?|imports?|given|if|when|where|called|named|ignores?|skips?|e\.g|for example|such as|like)\b"
)
_DOCUMENTS: Final = (".md", ".mdx", ".rst", ".adoc", ".txt")
_WITHOUT_CODE: Final = (*_DOCUMENTS, ".toml", ".cfg", ".ini", ".lock")
_SPOKEN_OF: Final = 0.25
"""The change holds a criterion with a smaller gap, nearly word for word."""
_OF_PROSE: Final = 0.25
"""The share of the words of prose that a change has to hold: nine of ten that answer it do, and three of ten others."""
_OF_LISTED: Final = 0.5
"""The same of a listed criterion that spells out no name and asks for no test."""
_OF_TEST: Final = 5 / 6
"""The share of a criterion's words that the test holds which it asks for."""
_OF_LINE: Final = 1 / 3
"""The share of a criterion's words that a line about it holds."""


class MissingPart(StrEnum):
    """The part of a criterion that is not there."""

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


@signal(Category.ACCEPTANCE_GAP, SignalKind.SUSPICION, SignalScope.ISSUE)
def path_not_changed(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion names a file, and the change leaves it as it was.

    Why it matters: A file that is named is where the work was expected.
    Example: "Extend the tests in `tests/test_upload.py`", in a change that does not touch this file.
    False alarms: 10 of 463 clean changes with listed criteria (2.2 %, at most 3.93 %).
    """
    yield from _report_gaps(change, MissingPart.PATH, _ABSENT_GAP)


@signal(Category.ACCEPTANCE_GAP, SignalKind.SUSPICION, SignalScope.ISSUE)
def name_not_found(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion spells out a name, and neither the change nor the files that it touches hold it.

    Why it matters: A name that is spelled out is what others will call or configure.
    Example: "Add `retry_all()`", in a change that never says `retry_all`.
    False alarms: 20 of 463 clean changes with listed criteria (4.3 %, at most 6.58 %).
    """
    yield from _report_gaps(change, MissingPart.NAME, _ABSENT_GAP)


@signal(Category.ACCEPTANCE_GAP, SignalKind.SUSPICION, SignalScope.ISSUE)
def test_not_found(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion asks for a test, and no added line of a test speaks of what it should cover.

    Why it matters: Without its test, nothing shows that the criterion is met.
    Example: "There is a test for an empty key", in a change whose tests say nothing of an empty key.
    False alarms: 8 of 463 clean changes with listed criteria (1.7 %, at most 3.37 %).
    """
    yield from _report_gaps(change, MissingPart.TEST, _ABSENT_GAP)


@signal(Category.ACCEPTANCE_GAP, SignalKind.SUSPICION, SignalScope.ISSUE)
def docs_not_changed(change: CodeChange) -> Iterator[SignalMatch]:
    """A criterion asks for documentation or a changelog entry, and no such file is changed.

    Why it matters: Its users learn nothing of the change.
    Example: "The README describes the option", in a change that touches no document.
    False alarms: 3 of 463 clean changes with listed criteria (0.6 %, at most 1.89 %).
    """
    yield from _report_gaps(change, MissingPart.DOCS, 0.0)


def _report_gaps(change: CodeChange, missing: MissingPart, least: float) -> Iterator[SignalMatch]:
    for gap in find_gaps(change):
        if gap.missing is missing and gap.size >= least:
            yield SignalMatch(f"{gap.terms.criterion.id}: {describe_gap(gap)}", strength=gap.size)


@signal(Category.ACCEPTANCE_GAP, SignalKind.SUSPICION, SignalScope.CASE)
def claim_shows_nothing(change: CodeChange) -> Iterator[SignalMatch]:
    """The case says where a criterion is met that the change falls short of, and nothing of it is changed there.

    Why it matters: A reviewer who trusts the case looks where nothing is.
    Example: "AC1: src/upload.py:12", where the change edits other files alone.
    False alarms: 19 of 870 clean changes with a case (2.2 %, at most 3.39 %).
    """
    case = change.dossier.case
    short = {gap.terms.criterion.id.casefold(): gap for gap in find_gaps(change) if gap.size >= _PARTIAL_GAP}
    for claim in case.ac_coverage if case and short else ():
        gap = short.get(claim.criterion.split()[0].casefold().rstrip(":."))
        pointer = read_pointer(claim.addressed_by)
        if gap is not None and pointer is not None and not _is_changed_at(pointer.path, gap.terms, change):
            note = f"{gap.terms.criterion.id}: the case points at {pointer.path}, where nothing of it is changed"
            yield SignalMatch(note, strength=gap.size)


def _is_changed_at(path: str, terms: CriterionTerms, change: CodeChange) -> bool:
    """Whether a changed line of the file, or its path, holds a word of the criterion."""
    if not any(is_path_match(file.path, path) for file in change.files):
        return False
    if any(is_path_match(path, wanted) or is_path_match(wanted, path) for wanted in terms.paths):
        return True
    index = build_index(change)
    parts = (part for name in terms.names for part in name.parts)
    units = chain.from_iterable((*map(index.units_with, terms.words), *map(index.units_named, parts)))
    return any(is_path_match(unit.path, path) and unit.kind is not UnitKind.CONTEXT for unit in units)


def judge_criteria(change: CodeChange) -> tuple[CriterionVerdict, ...]:
    """A verdict on each listed criterion: missing where that is proved, else unverifiable, with the lines that are about it.

    A word that does not occur proves nothing: what does the work may have another name.
    """
    verdicts: list[CriterionVerdict] = []
    for gap in find_gaps(change):
        proof, name = _find_proven_absent(gap.terms, change), gap.terms.criterion.id
        evidence = () if proof else build_index(change).find_evidence(gap.terms)
        note = proof or (describe_gap(gap) if gap.size >= _PARTIAL_GAP else "")
        status = CriterionStatus.MISSING if proof else CriterionStatus.UNVERIFIABLE
        verdicts.append(CriterionVerdict(id=name, status=status, note=note, evidence=evidence))
    return tuple(verdicts)


def _find_proven_absent(terms: CriterionTerms, change: CodeChange) -> str:
    """What the criterion asks for and neither side of the change holds, empty where that is not proved.

    A file that the change deletes proves nothing: to move, merge or drop it may be what is asked for.
    """
    absent = {file.path for file in change.dossier.files or () if not file.exists}
    wanted = next((path for path in _find_demanded_paths(terms, change) if path in absent), None)
    if wanted is not None:
        return f"there is no {wanted}"
    is_untested = terms.is_test_required and has_no_tests(change)
    return "it asks for a test, and this change holds none" if is_untested else ""


def find_doubtful_gaps(change: CodeChange) -> tuple[Gap, ...]:
    """The gaps of criteria that the change shows nothing of, or only a part."""
    return tuple(gap for gap in find_gaps(change) if gap.size >= _PARTIAL_GAP)


def paths_to_look_up(change: CodeChange) -> tuple[str, ...]:
    """The files that criteria or the case name, and that may or may not exist."""
    looked_up = {file.path for file in change.dossier.files or ()} | {file.path for file in change.dossier.files_unread}
    case = change.dossier.case
    cited = (path for path in (cited_paths(case) if case is not None else ()) if not _is_touched(path, change))
    named = (path for terms in find_terms(change) for path in _find_demanded_paths(terms, change))
    return tuple(path for path in dict.fromkeys((*named, *cited)) if path not in looked_up)[:_MOST_PATHS]


def _find_demanded_paths(terms: CriterionTerms, change: CodeChange) -> Iterator[str]:
    """The files that a criterion asks for and the change does not touch.

    None that the program reads or writes where it runs, and no name that may be a product's (`Node.js`).
    """
    text = terms.criterion.text
    for wanted in () if terms.is_removal or _AT_WORK.search(text) else terms.paths:
        if ("/" in wanted or f"`{wanted}`" in text) and not _is_touched(wanted, change):
            yield wanted


def _is_touched(wanted: str, change: CodeChange) -> bool:
    return any(path and stands_at(path, wanted) for file in change.files for path in (file.path, file.diff.old_path))


@memoized
def has_no_tests(change: CodeChange) -> bool:
    """Whether the change certainly holds no test: all of it is read, and neither a path nor an added line has a word of one."""
    if change.dossier.files_unread or change.unparsed_count or build_index(change).has_tests:
        return False
    return all(
        file.role is not FileRole.TEST
        and not file.diff.is_binary
        and (file.language is not None or file.path.lower().endswith(_WITHOUT_CODE))
        and not any(_TEST_WORD.search(text) for text in (file.path, *file.diff.added_texts))
        for file in change.files
    )


def mean_gap(change: CodeChange) -> float:
    """The mean gap of the listed criteria, from 0 to 1."""
    gaps = find_gaps(change)
    return sum(gap.size for gap in gaps) / len(gaps) if gaps else 0.0


def is_mentioned(change: CodeChange, name: str) -> bool:
    """Whether the change holds what this criterion asks for, as far as words tell. Of prose, a part of its words will do."""
    gap = _gap_of(name, change)
    if gap is not None:
        terms = gap.terms
        is_shown = gap.size < _SPOKEN_OF or _is_defined(terms, build_index(change))
        is_prose = gap.missing is MissingPart.WORDS and not terms.names and not terms.paths
        has_terms = bool(terms.words or terms.names or terms.paths)
        return (has_terms and is_shown) or (is_prose and _has_words(terms, _OF_LISTED, change))
    asked = next((criterion for criterion in change.dossier.criteria or () if criterion.id == name), None)
    return asked is not None and _has_words(parse_criterion(asked), _OF_PROSE, change)


def _gap_of(name: str, change: CodeChange) -> Gap | None:
    return next((gap for gap in find_gaps(change) if gap.terms.criterion.id == name), None)


def _has_words(terms: CriterionTerms, share: float, change: CodeChange) -> bool:
    """Whether the changed lines and paths hold so many of its words."""
    wanted = frozenset(terms.words) - common_stems()
    return bool(wanted) and len(wanted & _find_changed_words(change)) >= share * len(wanted)


@memoized
def _find_changed_words(change: CodeChange) -> frozenset[str]:
    lines = (line.text for file in change.files for line in (*file.diff.added_lines, *file.diff.removed_lines))
    names = {name for text in islice(lines, _MOST_LINES) for name in NAME_PATTERN.findall(text[:_LONGEST_LINE])}
    return stems_of_all(names).union(*(split_path(file.path) for file in change.files))


def _is_defined(terms: CriterionTerms, index: ChangeIndex) -> bool:
    """Whether an added line, in the files that it names, if any, holds each name that it spells out. No test is a name."""
    if terms.is_about_tests or not terms.names:
        return False
    named = _find_named_paths(terms, index)
    is_touched = all(any(is_path_match(path, wanted) for path in named) for wanted in terms.paths)
    return is_touched and all(_proof_of_name(name, terms, index, named) >= 1 for name in terms.names)


def find_untested_criteria(change: CodeChange) -> frozenset[str]:
    """The criteria that ask for a test, where the change adds a line to none. That the tests pass asks for no new one."""
    asking = [terms for terms in find_terms(change) if terms.is_about_tests]
    wanted = frozenset(terms.criterion.id for terms in asking if not _PASSES.search(terms.criterion.text))
    return frozenset() if not wanted or build_index(change).has_tests else wanted


def find_unnamed_tests(change: CodeChange) -> tuple[Gap, ...]:
    """The criteria that ask for a test of something, where the change adds tests and none is named after it."""
    return tuple(
        gap
        for gap in find_gaps(change)
        if gap.missing is MissingPart.TEST
        and _SPOKEN_OF <= gap.size < _ABSENT_GAP
        and _TEST_OF.search(gap.terms.criterion.text)
    )


def is_settled_by(change: CodeChange, name: str, path: str, number: int, line: str) -> bool:
    """Whether this line shows what seems to be missing of a criterion.

    That is the file or the name itself, a test that holds most of its words, a document, or a third of its words.
    """
    gap = _gap_of(name, change)
    if gap is None:
        return True
    held = frozenset(NAME_PATTERN.findall(line))
    match gap.missing:
        case MissingPart.PATH:
            return is_path_match(path, gap.missing_name)
        case MissingPart.NAME:
            wanted = next(name for name in gap.terms.names if name.text == gap.missing_name)
            return wanted.parts[-1] in map(fold_name, held)
        case MissingPart.TEST:
            may_have_any_name = gap.size >= _ABSENT_GAP
            is_test = role_of(path) is FileRole.TEST
            return is_test if may_have_any_name else _is_in_test(path, number, gap.terms, change)
        case MissingPart.DOCS:
            return _is_document(path)
        case MissingPart.WORDS:
            return len(stems_of_all(held).intersection(gap.terms.words)) >= _OF_LINE * len(gap.terms.words)
        case _:
            assert_never(gap.missing)


def _is_in_test(path: str, number: int, terms: CriterionTerms, change: CodeChange) -> bool:
    """Whether the test around a line holds what a criterion asks a test for; in a file without a test, all that is new counts."""
    files = [file for file in change.files if file.path == path]
    tests = [test for file in files for source in file.sources for test in find_tests(source)]
    around = [f"{' '.join(test.key)} {test.text}" for test in tests if test.first_line <= number <= test.last_line]
    is_test = bool(around) or (not tests and role_of(path) is FileRole.TEST)
    texts = around or [text for file in files for text in file.diff.added_texts]
    held = stems_of_all(NAME_PATTERN.findall("\n".join(texts)))
    return is_test and len(held.intersection(terms.words)) >= _OF_TEST * len(terms.words)


@memoized
def find_gaps(change: CodeChange) -> tuple[Gap, ...]:
    """The largest gap of each listed criterion."""
    return tuple(
        max(
            _measure_gaps(terms, build_index(change)),
            key=lambda gap: gap.size,
            default=Gap(terms, 0.0, MissingPart.WORDS),
        )
        for terms in find_terms(change)
    )


def _measure_gaps(terms: CriterionTerms, index: ChangeIndex) -> Iterator[Gap]:
    named = _find_named_paths(terms, index)
    for wanted in terms.paths:
        if not any(is_path_match(path, wanted) for path in named):
            yield Gap(terms, 1.0, MissingPart.PATH, wanted)
    for name in terms.names:
        yield Gap(terms, 1 - _proof_of_name(name, terms, index, named), MissingPart.NAME, name.text)
    if terms.is_about_tests and not index.has_tests:
        yield Gap(terms, 0.9, MissingPart.TEST)
    wants_document = terms.is_about_documentation and not terms.paths
    if wants_document and not any(map(_is_document, index.paths)) and not index.is_documented(terms.words):
        yield Gap(terms, 0.8, MissingPart.DOCS)
    if terms.words:
        missing = MissingPart.TEST if terms.is_about_tests else MissingPart.WORDS
        share = _BESIDE_NAMES if terms.names or terms.paths else 1.0
        yield Gap(terms, share * (1 - _proof_of_words(terms, index)), missing)


def describe_gap(gap: Gap) -> str:
    match gap.missing:
        case MissingPart.PATH:
            return f"{gap.missing_name} is not changed"
        case MissingPart.NAME if gap.size >= _ABSENT_GAP:
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
            assert_never(gap.missing)


def _find_named_paths(terms: CriterionTerms, index: ChangeIndex) -> frozenset[str]:
    return frozenset(path for path in index.paths if any(is_path_match(path, wanted) for wanted in terms.paths))


def is_path_match(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith(f"/{wanted}")


def _is_document(path: str) -> bool:
    return path.lower().endswith(_DOCUMENTS) or role_of(path) is FileRole.EXAMPLE


def _proof_of_name(name: CriterionName, terms: CriterionTerms, index: ChangeIndex, named: frozenset[str]) -> float:
    """The mean proof of its parts by the best unit of each; only for one that no unit holds, the whole texts are read."""
    proofs: list[float] = []
    for part in name.parts:
        units = [(_proof_of_unit(unit, terms), not named or unit.path in named) for unit in index.units_named(part)]
        held = max((proof if is_here else proof * _ELSEWHERE for proof, is_here in units), default=None)
        proofs.append((_UNCHANGED if part in index.texts else 0.0) if held is None else held)
    return sum(proofs) / len(proofs)


def _proof_of_words(terms: CriterionTerms, index: ChangeIndex) -> float:
    """The share of the criterion's words, by weight, that the best single line holds."""
    weights = {word: index.weight(word) for word in terms.words}
    rarest = sorted(terms.words, key=lambda word: -weights[word])[:_RAREST]
    units = {id(unit): unit for word in rarest for unit in index.units_with(word)}.values()
    total = sum(weights.values())
    return max(
        (
            sum(weights[word] for word in terms.words if word in unit.words) / total * _proof_of_unit(unit, terms)
            for unit in units
        ),
        default=0.0,
    )


def _proof_of_unit(unit: ChangeUnit, terms: CriterionTerms) -> float:
    if terms.is_removal and unit.kind is UnitKind.REMOVED:
        return 1.0
    return unit.kind.test if terms.is_about_tests else unit.kind.code
