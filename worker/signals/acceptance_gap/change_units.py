"""What a change shows, line by line, for criteria to be looked up in.

Does not know criteria. Invariant: bounded, and linear in the diff; a line counts for the most that it can prove.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from itertools import chain, islice
from math import log
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import EvidencePointer
from worker.dossier.diff.parser import DiffLine, LineKind
from worker.signals.acceptance_gap.criterion_terms import NUMBER_PATTERN, CriterionTerms, find_terms
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.file_roles import FileRole, Language
from worker.signals.analysis.relatedness import NAME_PATTERN, find_defined_names, fold_name, split_path, stems_of_all

_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 20_000
_LONGEST_TEXT: Final = 100_000
_MOST_KEPT: Final = 100
"""Lines of one word that are looked at: where a word stands more often, it decides nothing."""

_UNKNOWN: Final = 0.25
"""What a word weighs that stands nowhere in the change: it may be what is missing, or be about the wish only."""

_PLACES: Final = 2
_NAMED: Final = 3.0
"""What it says that a line holds a name or a number of the wish, or defines a name, beside the weights of words."""

_SPEAKS: Final = 0.25
"""The share of a wish's words, by weight, from which on a line speaks of it."""

_DEFINITION: Final = pattern(
    r"\b(?:def|func|fn|fun|void|function)\s+(?:\([^)]{0,100}\)\s*)?\w|\b(?:it|test|describe|specify|scenario|context|Run)\b[.\w]{0,40}\("
    r"|@DisplayName|\b(?:name|desc|description|title)\s*[:=]"
)
_NOTE: Final = pattern(r"\s*(?:///|//!|/\*\*|\*\s|\"\"\"|''')")
_INNER_TESTS: Final = pattern(r"#\[(?:cfg\(test\)|[\w:]*test\b)")


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


class ChangeUnit(NamedTuple):
    """A line, a heading of a hunk or a path, in words."""

    kind: UnitKind
    path: str
    words: tuple[str, ...]
    """Of those that are wished for, each once."""
    line: int | None = None
    """Of the head, where it is one that was added."""
    defined: frozenset[str] = frozenset()
    """Names of those that are wished for, folded."""


class ChangeIndex:
    """All units of a change that hold anything of what is wished for, best first, by their words and names."""

    def __init__(self, change: CodeChange, wishes: Sequence[CriterionTerms]) -> None:
        reader = _WordReader(wishes)
        entries: list[_Named] = []
        self.size, self.has_tests = 0, False
        for entry in islice(_find_units(change, reader), _MOST_LINES):
            self.size += 1
            self.has_tests = self.has_tests or entry[0].kind in _OF_TESTS
            if entry[0].words or entry[1]:
                entries.append(entry)
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

    def is_documented(self, terms: tuple[str, ...]) -> bool:
        """Whether an added line of documentation in code speaks of one of the words."""
        return not self._documented_words.isdisjoint(terms)

    @cached_property
    def _documented_words(self) -> frozenset[str]:
        files = (file for file in self._change.files if file.role is not FileRole.TEST)
        texts = (text for file in files for text in file.diff.added_texts)
        notes = (text[:_LONGEST_LINE] for text in islice(texts, _MOST_LINES) if _NOTE.match(text))
        return frozenset(word for text in notes for word in stems_of_all(NAME_PATTERN.findall(text)))

    @cached_property
    def texts(self) -> frozenset[str]:
        """Names, folded, in the whole texts at head: what is there already."""
        names: set[str] = set()
        for text in self._change.texts.values():
            names.update(NAME_PATTERN.findall(text[:_LONGEST_TEXT]))
        return frozenset(map(fold_name, names))

    def weight(self, word: str) -> float:
        """How much it says that a line holds the word."""
        count = self._counts[word]
        rare = log((self.size + 5) / (max(2, count) + 0.5)) + 0.1
        return rare if count else _UNKNOWN * rare

    def find_evidence(self, wish: CriterionTerms) -> tuple[EvidencePointer, ...]:
        """The added lines that speak most of *wish*: of code two at most, of tests one."""
        weights: Counter[ChangeUnit] = Counter()
        for word in wish.words:
            weights.update(dict.fromkeys(self.units_with(word), self.weight(word)))
        for name in wish.names:
            for part in name.parts:
                weights.update(
                    {unit: 2 * _NAMED if part in unit.defined else _NAMED for unit in self.units_named(part)}
                )
        for number in wish.numbers:
            weights.update(dict.fromkeys(self.units_named(number), _NAMED))
        least = _SPEAKS * sum(map(self.weight, wish.words))
        best = [unit for unit, weight in weights.most_common() if unit.line is not None and weight >= least]
        of_tests = [unit for unit in best if unit.kind in _OF_TESTS][:1]
        of_code = [unit for unit in best if unit.kind is UnitKind.ADDED][:_PLACES]
        return tuple(EvidencePointer(path=unit.path, line=unit.line) for unit in (*of_code, *of_tests))

    def units_with(self, word: str) -> list[ChangeUnit]:
        return self._by_word.get(word, [])

    def units_named(self, name: str) -> list[ChangeUnit]:
        return self._by_name.get(name, [])


_OF_TESTS: Final = frozenset({UnitKind.TEST_TITLE, UnitKind.TEST_LINE})
_ADDED: Final = _OF_TESTS | {UnitKind.ADDED}


def build_index(change: CodeChange) -> ChangeIndex:
    return ChangeIndex(change, change.cached(find_terms))


_Words = tuple[str, ...]
_Named = tuple[ChangeUnit, _Words]


class _WordReader:
    """What was read already: a line that stands in many places is read once, and of all only what is wished for is kept."""

    def __init__(self, wishes: Sequence[CriterionTerms]) -> None:
        self._words = frozenset(word for wish in wishes for word in wish.words)
        self._names = frozenset(part for wish in wishes for name in wish.names for part in name.parts)
        self._numbers = frozenset[str]().union(*(wish.numbers for wish in wishes))
        self._read: dict[str, tuple[_Words, _Words]] = {}

    def read(self, text: str) -> tuple[_Words, _Words]:
        """Its words and its names, folded."""
        result = self._read.get(text)
        if result is None:
            names = set(NAME_PATTERN.findall(text))
            wanted, named = self.select_wanted(stems_of_all(names), names)
            numbers = self._numbers.intersection(NUMBER_PATTERN.findall(text)) if self._numbers else ()
            result = self._read[text] = wanted, (*named, *numbers)
        return result

    def select_wanted(self, read_words: frozenset[str], names: Iterable[str]) -> tuple[_Words, _Words]:
        return tuple(read_words & self._words), tuple(
            self._names.intersection(map(fold_name, names)) if self._names else ()
        )


def _find_units(change: CodeChange, reader: _WordReader) -> Iterator[_Named]:
    """Each with its names."""
    for file in change.files:
        kind = UnitKind.TEST_PATH if file.role is FileRole.TEST else UnitKind.PATH
        stems, names = reader.select_wanted(split_path(file.path), NAME_PATTERN.findall(file.path))
        yield ChangeUnit(kind, file.path, stems), names
    for file in change.files:
        yield from _find_line_units(file, reader)


def _find_line_units(file: AnalyzedFile, reader: _WordReader) -> Iterator[_Named]:
    is_test = file.role is FileRole.TEST or _has_inner_tests(file)
    for hunk in file.diff.hunks:
        if hunk.section:
            yield _build_unit(UnitKind.HEADING, file.path, hunk.section, reader)
        for line in hunk.iterate_lines():
            kind = _classify_line(line, is_test=is_test)
            unit, names = _build_unit(kind, file.path, line.text, reader)
            yield unit._replace(line=line.head_line) if kind in _ADDED else unit, names


def _has_inner_tests(file: AnalyzedFile) -> bool:
    """Whether it is a Rust file with its tests at its end, and the change is in some of them, as far as one can see."""
    if file.language is not Language.RUST:
        return False
    return any(_INNER_TESTS.search(text[:_LONGEST_LINE]) for text in file.diff.added_texts) or any(
        "mod tests" in hunk.section for hunk in file.diff.hunks
    )


def _build_unit(kind: UnitKind, path: str, text: str, reader: _WordReader) -> _Named:
    stems, names = reader.read(text[:_LONGEST_LINE])
    defined = (
        frozenset(map(fold_name, find_defined_names(text[:_LONGEST_LINE]))) & frozenset(names)
        if names
        else frozenset[str]()
    )
    return ChangeUnit(kind, path, stems, defined=defined), names


def _classify_line(line: DiffLine, *, is_test: bool) -> UnitKind:
    if line.kind is LineKind.REMOVED:
        return UnitKind.REMOVED
    if line.kind is LineKind.CONTEXT:
        return UnitKind.CONTEXT
    if not is_test:
        return UnitKind.ADDED
    return UnitKind.TEST_TITLE if _DEFINITION.search(line.text[:_LONGEST_LINE]) else UnitKind.TEST_LINE
