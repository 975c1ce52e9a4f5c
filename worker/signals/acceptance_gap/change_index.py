"""What the listed criteria ask for, and an index of the change by their words and names.

Words of the request itself ("add", "support", "covered by a test") are no words of what is wanted. The index is linear in the
diff; a line counts for the most that it can prove.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import log
from typing import Final, NamedTuple

from worker.domain.dossier import Criterion
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import EvidencePointer
from worker.dossier.diff import DiffLine, LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized, memoized_for_family
from worker.signals.analysis.file_roles import FileRole, Language
from worker.signals.analysis.relatedness import (
    NAME_PATTERN,
    find_defined_names,
    fold_name,
    split_path,
    stem,
    stems_of,
    stems_of_all,
)

_LONGEST: Final = 1_500
_MOST_WORDS: Final = 24
_MOST_NAMES: Final = 8
_MOST_CRITERIA: Final = 60
_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 20_000
_LONGEST_TEXT: Final = 100_000
_MOST_KEPT: Final = 100
"""Units kept for one word: one that occurs more often decides nothing."""
_UNKNOWN: Final = 0.25
"""The weight of a word that the change does not hold: it may be what is missing, or only explain the criterion."""
_PLACES: Final = 2
_NAMED: Final = 3.0
"""The weight of a name or a number of the criterion, or of a defined name, beside the weights of words."""
_SPEAKS: Final = 0.25
"""The share of a criterion's words, by weight, from which a line is about it."""
_QUOTED: Final = pattern(r"`([^`\n]{1,200})`")
_PATH: Final = pattern(
    r"(?<![\w/.:%-])(?:\.{1,2}/)?((?:[\w.@$+-]{1,100}/){0,12}[\w.@$+-]{0,100}\w\.(?:pyi?|[mc]?[jt]sx?|go|rs|java|kts?|rb|cs|php"
    r"|swift|scala|c|cc|cpp|h|hpp|sh|sql|vue|svelte|css|scss|html?|mdx?|rst|adoc|txt|toml|jsonc?|ya?ml|xml|cfg|ini|proto|gradle"
    r"|lock))(?![\w/%-]|\.\w)"
)
_CALLED: Final = pattern(
    r"(?<![\w.])(?:--[a-z][\w-]{1,60}|[a-z]\w{0,60}_\w{1,60}|[A-Za-z]\w{0,60}[a-z][A-Z]\w{0,60})(?![\w/])"
)
"""A flag or a name in the spelling of code, without backticks."""
_OPTION: Final = pattern(r"([A-Za-z_][\w.]{0,100})=[^=]")
_NUMBER: Final = pattern(r"(?<![\w.])\d{2,9}(?![\w.])")
_TESTS: Final = pattern(
    r"(?i)\b(?:unit |regression |integration |e2e )?(?:tests?|tested|testing|test[- ]cases?|specs?)\b"
)
_NEW_TEST: Final = r"(?:(?:an?|one|some|new|more|automated|unit|regression|integration|e2e|end-to-end) ){0,4}tests?"
_ADDS_TEST: Final = pattern(
    rf"(?i)^\W*(?:(?:please )?(?:add|write|create|include|provide|introduce) {_NEW_TEST}(?: (?:for|that|which|to|covering)\b|\W*$)"
    rf"|{_NEW_TEST} (?:shows?|covers?|proves?|verif(?:y|ies)|checks?|demonstrates?)\b)"
)
_CONDITION: Final = pattern(
    r"(?i)coverage|%|\b(?:if|unless|already|exist\w*|optional\w*|needed|necessary|possible|ideally)\b"
)
"""A criterion with such a word may be met without a new test."""
_DOCS: Final = pattern(r"(?i)\b(?:docs?|documentation|readme|changelog|change log|release notes?)\b")
_GOES: Final = pattern(r"(?i)\b(?:remov|delet|drop|renam|replac|no longer|get rid)")
_PLEDGE: Final = pattern(
    r"\W*(?:if \w+, )?(?:I|we) (?:have|did|am|agree|confirm|understand|will|checked)\b|\W*(?:I|we)'(?:ve|m)\b|\W*my (?:code|change|pull request|pr)\b",
    2,
)
"""A box of a template in which the author confirms something: no line of a change shows it."""
_DEFINITION: Final = pattern(
    r"\b(?:def|func|fn|fun|void|function)\s+(?:\([^)]{0,100}\)\s*)?\w|\b(?:it|test|describe|specify|scenario|context|Run)\b[.\w]{0,40}\("
    r"|@DisplayName|\b(?:name|desc|description|title)\s*[:=]"
)
_NOTE: Final = pattern(r"\s*(?:///|//!|/\*\*|\*\s|\"\"\"|''')")
_INNER_TESTS: Final = pattern(r"#\[(?:cfg\(test\)|[\w:]*test\b)")
_REQUEST: Final = """
a an the and or not of to in on for with from by is are be was has have had it its this that these those as at if else then
than do does did can could should would will may must so no yes we you i they there here when where which who what how all
any each some into out up also one only just now both via per
test tests tested testing covered covers cover coverage check checks checked regression unit integration spec specs case cases
verify verified verifies prove proves proved show shows shown demonstrate demonstrates assert asserts exercise exercises
add added adds adding provide provides provided introduce introduces introduced implement implements implemented support
supports supported allow allows allowed ensure ensures make made makes possible exist exists available offer offers expose
exposes create creates created include includes included contain contains
caller callers user users developer change changed changes part taken take takes account handle handles handled deal deals
adapt adapts adapted use used uses update updated updates describe describes described speak speaks mention mentions
mentioned explain explains explained document documentation documented documents docs page entry extend extends extended
work works working accordingly new function functions method methods class type types constant code file files tell ask
whether asked defined define defines definition able want wants need needs needed respect respects consider considers
changelog readme release note notes given expected correct correctly properly behave behaves instead
"""


class CriterionName(NamedTuple):
    """A name as it is spelled, and its folded parts: of `Foo.bar()` the last, of a piece of code all."""

    text: str
    parts: tuple[str, ...]


class CriterionTerms(NamedTuple):
    """One criterion, taken apart."""

    criterion: Criterion
    paths: tuple[str, ...]
    names: tuple[CriterionName, ...]
    words: tuple[str, ...]
    """Stems, each once, in their order."""
    numbers: frozenset[str]
    """They only tell lines apart, and prove nothing."""
    is_about_tests: bool
    is_test_required: bool
    """It begins with the demand to add a test, or with what a test shows, names no file and sets no condition."""
    is_about_documentation: bool
    is_removal: bool
    """Something is to be taken away: it may stand in removed lines only."""


@memoized
def find_terms(change: CodeChange) -> tuple[CriterionTerms, ...]:
    """The terms of the listed criteria."""
    asked = [criterion for criterion in change.dossier.criteria or () if not criterion.inferred][:_MOST_CRITERIA]
    return tuple(parse_criterion(criterion) for criterion in asked if not _PLEDGE.match(criterion.text))


def parse_criterion(criterion: Criterion) -> CriterionTerms:
    text = criterion.text[:_LONGEST]
    paths, prose = tuple(dict.fromkeys(_PATH.findall(text))), _PATH.sub(" ", text)
    names: list[str] = [name for name in _QUOTED.findall(prose) if name.strip()] or [
        name
        for name in _CALLED.findall(prose)
        if not name.endswith("_")  # `a_` begins a pattern: `a_[b|c]`
    ]
    stems = (word for name in NAME_PATTERN.findall(prose) for word in stems_of(name))
    asked = _QUOTED.sub(" ", prose)
    return CriterionTerms(
        criterion,
        paths,
        tuple(CriterionName(name, parts) for name in names[:_MOST_NAMES] if (parts := _parts(name))),
        tuple(dict.fromkeys(word for word in stems if word not in _request_stems()))[:_MOST_WORDS],
        numbers=frozenset(_NUMBER.findall(prose)),
        is_about_tests=_TESTS.search(asked) is not None,
        is_test_required=not paths and _ADDS_TEST.search(text) is not None and _CONDITION.search(asked) is None,
        is_about_documentation=_DOCS.search(asked) is not None,
        is_removal=_GOES.search(asked) is not None,
    )


@lru_cache(maxsize=1)
def _request_stems() -> frozenset[str]:
    return frozenset(map(stem, _REQUEST.split()))


def _parts(quoted: str) -> tuple[str, ...]:
    option = _OPTION.match(quoted)  # of `option="value"` the option is wanted, the value is an example
    names = tuple(fold_name(name) for name in NAME_PATTERN.findall(option[1] if option else quoted))
    return names if " " in quoted.strip() or quoted.startswith("-") else names[-1:]


class UnitKind(Enum):
    """What a line is, with what it proves of a criterion that asks for code, and of one that asks for a test."""

    TEST_TITLE = (1.0, 1.0)
    TEST_LINE = (1.0, 0.5)
    ADDED = (1.0, 0.45)
    HEADING = (0.9, 0.6)
    """Of a hunk: the function around what was changed."""
    PATH = (0.7, 0.4)
    TEST_PATH = (0.7, 0.7)
    CONTEXT = (0.6, 0.4)
    REMOVED = (0.5, 0.3)

    def __init__(self, code: float, test: float) -> None:
        self.code = code
        self.test = test


_OF_TESTS: Final = frozenset({UnitKind.TEST_TITLE, UnitKind.TEST_LINE})
_ADDED: Final = _OF_TESTS | {UnitKind.ADDED}


class ChangeUnit(NamedTuple):
    """A line, a heading of a hunk or a path. Its words and names are those that a criterion wants, each once, names folded."""

    kind: UnitKind
    path: str
    words: tuple[str, ...]
    line: int | None = None
    """Of the head, where it is an added one."""
    defined: frozenset[str] = frozenset()
    """The names that it defines."""


class ChangeIndex:
    """The units of a change that hold anything that a criterion wants, best first, by their words and names."""

    def __init__(self, change: CodeChange, criteria: Sequence[CriterionTerms]) -> None:
        self.size, self.has_tests = 0, False
        entries: list[_NamedUnit] = []
        for unit, names in islice(_find_units(change, _WordReader(criteria)), _MOST_LINES):
            self.size += 1
            self.has_tests = self.has_tests or unit.kind in _OF_TESTS
            if unit.words or names:
                entries.append((unit, names))
        entries.sort(key=lambda entry: -(entry[0].kind.code + entry[0].kind.test))
        self._counts = Counter(chain.from_iterable(unit.words for unit, _ in entries))
        self._by_word: defaultdict[str, list[ChangeUnit]] = defaultdict(list)
        self._by_name: defaultdict[str, list[ChangeUnit]] = defaultdict(list)
        for unit, names in entries:
            for units in (*map(self._by_word.__getitem__, unit.words), *map(self._by_name.__getitem__, names)):
                if len(units) < _MOST_KEPT:
                    units.append(unit)
        self.paths = tuple(file.path for file in change.files)
        self._change = change

    def is_documented(self, stems: tuple[str, ...]) -> bool:
        """Whether an added line of documentation in code holds one of the stems."""
        return not self._documented_words.isdisjoint(stems)

    @cached_property
    def _documented_words(self) -> frozenset[str]:
        files = (file for file in self._change.files if file.role is not FileRole.TEST)
        texts = (text for file in files for text in file.diff.added_texts)
        notes = (text[:_LONGEST_LINE] for text in islice(texts, _MOST_LINES) if _NOTE.match(text))
        return frozenset(word for text in notes for word in stems_of_all(NAME_PATTERN.findall(text)))

    @cached_property
    def texts(self) -> frozenset[str]:
        """Names, folded, in the whole texts at head."""
        texts = (text[:_LONGEST_TEXT] for text in self._change.texts.values())
        return frozenset(map(fold_name, {name for text in texts for name in NAME_PATTERN.findall(text)}))

    def weight(self, word: str) -> float:
        """How much it proves that a line holds the word."""
        count = self._counts[word]
        rare = log((self.size + 5) / (max(2, count) + 0.5)) + 0.1
        return rare if count else _UNKNOWN * rare

    def find_evidence(self, terms: CriterionTerms) -> tuple[EvidencePointer, ...]:
        """The added lines that hold most of the criterion: of code two at most, of tests one."""
        weights: Counter[ChangeUnit] = Counter()
        for word in terms.words:
            weights.update(dict.fromkeys(self.units_with(word), self.weight(word)))
        for part in (part for name in terms.names for part in name.parts):
            weights.update({unit: 2 * _NAMED if part in unit.defined else _NAMED for unit in self.units_named(part)})
        for number in terms.numbers:
            weights.update(dict.fromkeys(self.units_named(number), _NAMED))
        least = _SPEAKS * sum(map(self.weight, terms.words))
        best = [unit for unit, weight in weights.most_common() if unit.line is not None and weight >= least]
        of_tests = [unit for unit in best if unit.kind in _OF_TESTS][:1]
        of_code = [unit for unit in best if unit.kind is UnitKind.ADDED][:_PLACES]
        return tuple(EvidencePointer(path=unit.path, line=unit.line) for unit in (*of_code, *of_tests))

    def units_with(self, word: str) -> list[ChangeUnit]:
        return self._by_word.get(word, [])

    def units_named(self, name: str) -> list[ChangeUnit]:
        return self._by_name.get(name, [])


@memoized_for_family
def build_index(change: CodeChange) -> ChangeIndex:
    """The index for the listed criteria."""
    return ChangeIndex(change, find_terms(change))


_Words = tuple[str, ...]
_NamedUnit = tuple[ChangeUnit, _Words]


class _WordReader:
    """Reads each text once, and keeps what the criteria want."""

    def __init__(self, criteria: Sequence[CriterionTerms]) -> None:
        self._words = frozenset(word for terms in criteria for word in terms.words)
        self._names = frozenset(part for terms in criteria for name in terms.names for part in name.parts)
        self._numbers = frozenset(number for terms in criteria for number in terms.numbers)
        self._read: dict[str, tuple[_Words, _Words]] = {}

    def read(self, text: str) -> tuple[_Words, _Words]:
        """Its words, and its folded names and numbers."""
        result = self._read.get(text)
        if result is None:
            names = set(NAME_PATTERN.findall(text))
            stems, wanted = self.select_wanted(stems_of_all(names), names)
            numbers = self._numbers.intersection(_NUMBER.findall(text)) if self._numbers else ()
            result = self._read[text] = stems, (*wanted, *numbers)
        return result

    def select_wanted(self, stems: frozenset[str], names: Iterable[str]) -> tuple[_Words, _Words]:
        wanted = self._names.intersection(map(fold_name, names)) if self._names else ()
        return tuple(stems & self._words), tuple(wanted)


def _find_units(change: CodeChange, reader: _WordReader) -> Iterator[_NamedUnit]:
    """Each with its names."""
    for file in change.files:
        kind = UnitKind.TEST_PATH if file.role is FileRole.TEST else UnitKind.PATH
        stems, names = reader.select_wanted(split_path(file.path), NAME_PATTERN.findall(file.path))
        yield ChangeUnit(kind, file.path, stems), names
    for file in change.files:
        is_test = file.role is FileRole.TEST or _has_inner_tests(file)
        for hunk in file.diff.hunks:
            if hunk.section:
                yield _build_unit(UnitKind.HEADING, file.path, hunk.section, None, reader)
            for line in hunk.iterate_lines():
                kind = _classify_line(line, is_test=is_test)
                yield _build_unit(kind, file.path, line.text, line.head_line if kind in _ADDED else None, reader)


def _has_inner_tests(file: AnalyzedFile) -> bool:
    """Whether it is a Rust file with tests of its own, and the change seems to be in some of them."""
    if file.language is not Language.RUST:
        return False
    return any(_INNER_TESTS.search(text[:_LONGEST_LINE]) for text in file.diff.added_texts) or any(
        "mod tests" in hunk.section for hunk in file.diff.hunks
    )


def _build_unit(kind: UnitKind, path: str, text: str, number: int | None, reader: _WordReader) -> _NamedUnit:
    text = text[:_LONGEST_LINE]
    stems, names = reader.read(text)
    defined = frozenset(map(fold_name, find_defined_names(text))).intersection(names) if names else frozenset[str]()
    return ChangeUnit(kind, path, stems, number, defined), names


def _classify_line(line: DiffLine, *, is_test: bool) -> UnitKind:
    if line.kind is LineKind.REMOVED:
        return UnitKind.REMOVED
    if line.kind is LineKind.CONTEXT:
        return UnitKind.CONTEXT
    if not is_test:
        return UnitKind.ADDED
    return UnitKind.TEST_TITLE if _DEFINITION.search(line.text[:_LONGEST_LINE]) else UnitKind.TEST_LINE
