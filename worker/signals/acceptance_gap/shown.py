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
from worker.signals.acceptance_gap.asking import NUMBER, Wish, wishes_of
from worker.signals.analysis.change import Change, ChangedFile
from worker.signals.analysis.file_roles import Language, Role
from worker.signals.analysis.relatedness import NAME, defined_in, folded, stems_of_all, words_of_path

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


class Kind(Enum):
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


class Unit(NamedTuple):
    """A line, a heading of a hunk or a path, in words."""

    kind: Kind
    path: str
    words: tuple[str, ...]
    """Of those that are wished for, each once."""
    line: int | None = None
    """Of the head, where it is one that was added."""
    defined: frozenset[str] = frozenset()
    """Names of those that are wished for, folded."""


class Shown:
    """All units of a change that hold anything of what is wished for, best first, by their words and names."""

    def __init__(self, change: Change, wishes: Sequence[Wish]) -> None:
        known = _Known(wishes)
        found: list[_Named] = []
        self.size, self.has_tests = 0, False
        for one in islice(_units(change, known), _MOST_LINES):
            self.size += 1
            self.has_tests = self.has_tests or one[0].kind in _OF_TESTS
            if one[0].words or one[1]:
                found.append(one)
        found.sort(key=lambda one: -(one[0].kind.code + one[0].kind.test))
        self._counts = Counter(chain.from_iterable(unit.words for unit, _ in found))
        self._by_word: defaultdict[str, list[Unit]] = defaultdict(list)
        self._by_name: defaultdict[str, list[Unit]] = defaultdict(list)
        for unit, names in found:
            for units in (*map(self._by_word.__getitem__, unit.words), *map(self._by_name.__getitem__, names)):
                if len(units) < _MOST_KEPT:
                    units.append(unit)
        self.paths = tuple(file.path for file in change.files)
        self._change = change

    def documents(self, words: tuple[str, ...]) -> bool:
        """Whether an added line of documentation in code speaks of one of the words."""
        return not self._documented.isdisjoint(words)

    @cached_property
    def _documented(self) -> frozenset[str]:
        files = (file for file in self._change.files if file.role is not Role.TEST)
        texts = (text for file in files for text in file.diff.added_texts)
        notes = (text[:_LONGEST_LINE] for text in islice(texts, _MOST_LINES) if _NOTE.match(text))
        return frozenset(word for text in notes for word in stems_of_all(NAME.findall(text)))

    @cached_property
    def texts(self) -> frozenset[str]:
        """Names, folded, in the whole texts at head: what is there already."""
        found: set[str] = set()
        for text in self._change.texts.values():
            found.update(NAME.findall(text[:_LONGEST_TEXT]))
        return frozenset(map(folded, found))

    def weight(self, word: str) -> float:
        """How much it says that a line holds the word."""
        count = self._counts[word]
        rare = log((self.size + 5) / (max(2, count) + 0.5)) + 0.1
        return rare if count else _UNKNOWN * rare

    def places_of(self, wish: Wish) -> tuple[EvidencePointer, ...]:
        """The added lines that speak most of *wish*: of code two at most, of tests one."""
        said: Counter[Unit] = Counter()
        for word in wish.words:
            said.update(dict.fromkeys(self.units_with(word), self.weight(word)))
        for name in wish.names:
            for part in name.parts:
                said.update({unit: 2 * _NAMED if part in unit.defined else _NAMED for unit in self.units_named(part)})
        for number in wish.numbers:
            said.update(dict.fromkeys(self.units_named(number), _NAMED))
        least = _SPEAKS * sum(map(self.weight, wish.words))
        best = [unit for unit, weight in said.most_common() if unit.line is not None and weight >= least]
        of_tests = [unit for unit in best if unit.kind in _OF_TESTS][:1]
        of_code = [unit for unit in best if unit.kind is Kind.ADDED][:_PLACES]
        return tuple(EvidencePointer(path=unit.path, line=unit.line) for unit in (*of_code, *of_tests))

    def units_with(self, word: str) -> list[Unit]:
        return self._by_word.get(word, [])

    def units_named(self, name: str) -> list[Unit]:
        return self._by_name.get(name, [])


_OF_TESTS: Final = frozenset({Kind.TEST_TITLE, Kind.TEST_LINE})
_ADDED: Final = _OF_TESTS | {Kind.ADDED}


def shown_by(change: Change) -> Shown:
    return Shown(change, change.once(wishes_of))


_Words = tuple[str, ...]
_Named = tuple[Unit, _Words]


class _Known:
    """What was read already: a line that stands in many places is read once, and of all only what is wished for is kept."""

    def __init__(self, wishes: Sequence[Wish]) -> None:
        self._words = frozenset(word for wish in wishes for word in wish.words)
        self._names = frozenset(part for wish in wishes for name in wish.names for part in name.parts)
        self._numbers = frozenset[str]().union(*(wish.numbers for wish in wishes))
        self._read: dict[str, tuple[_Words, _Words]] = {}

    def read(self, text: str) -> tuple[_Words, _Words]:
        """Its words and its names, folded."""
        found = self._read.get(text)
        if found is None:
            names = set(NAME.findall(text))
            words, named = self.wished(stems_of_all(names), names)
            numbers = self._numbers.intersection(NUMBER.findall(text)) if self._numbers else ()
            found = self._read[text] = words, (*named, *numbers)
        return found

    def wished(self, words: frozenset[str], names: Iterable[str]) -> tuple[_Words, _Words]:
        return tuple(words & self._words), tuple(self._names.intersection(map(folded, names)) if self._names else ())


def _units(change: Change, known: _Known) -> Iterator[_Named]:
    """Each with its names."""
    for file in change.files:
        kind = Kind.TEST_PATH if file.role is Role.TEST else Kind.PATH
        words, names = known.wished(words_of_path(file.path), NAME.findall(file.path))
        yield Unit(kind, file.path, words), names
    for file in change.files:
        yield from _lines(file, known)


def _lines(file: ChangedFile, known: _Known) -> Iterator[_Named]:
    is_test = file.role is Role.TEST or _has_inner_tests(file)
    for hunk in file.diff.hunks:
        if hunk.section:
            yield _unit(Kind.HEADING, file.path, hunk.section, known)
        for line in hunk.walk():
            kind = _kind(line, is_test=is_test)
            unit, names = _unit(kind, file.path, line.text, known)
            yield unit._replace(line=line.head_line) if kind in _ADDED else unit, names


def _has_inner_tests(file: ChangedFile) -> bool:
    """Whether it is a Rust file with its tests at its end, and the change is in some of them, as far as one can see."""
    if file.language is not Language.RUST:
        return False
    return any(_INNER_TESTS.search(text[:_LONGEST_LINE]) for text in file.diff.added_texts) or any(
        "mod tests" in hunk.section for hunk in file.diff.hunks
    )


def _unit(kind: Kind, path: str, text: str, known: _Known) -> _Named:
    words, names = known.read(text[:_LONGEST_LINE])
    defined = frozenset(map(folded, defined_in(text[:_LONGEST_LINE]))) & frozenset(names) if names else frozenset[str]()
    return Unit(kind, path, words, defined=defined), names


def _kind(line: DiffLine, *, is_test: bool) -> Kind:
    if line.kind is LineKind.REMOVED:
        return Kind.REMOVED
    if line.kind is LineKind.CONTEXT:
        return Kind.CONTEXT
    if not is_test:
        return Kind.ADDED
    return Kind.TEST_TITLE if _DEFINITION.search(line.text[:_LONGEST_LINE]) else Kind.TEST_LINE
