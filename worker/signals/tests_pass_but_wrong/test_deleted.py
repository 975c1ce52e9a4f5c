"""Tests that no runner finds any more: deleted, renamed out of discovery, without their mark, or commented out.

Does not understand what a test proved. Invariant: a deleted test is a suspicion, and so is a hidden one whose code went with it
or that says why; a hidden one is a fact otherwise.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, Side
from worker.dossier.diff.parser import ChangeKind, DiffLine, LineKind
from worker.signals.analysis.change import Change, ChangedFile
from worker.signals.analysis.declared import is_declared
from worker.signals.analysis.file_roles import SCRIPTS, Language, Role, role_of
from worker.signals.analysis.reverts import is_certain_revert
from worker.signals.analysis.skip_reasons import is_explained_above
from worker.signals.analysis.syntax import text_of
from worker.signals.analysis.tests import Test, all_paired, base_sources, may_hold_tests, tests_of
from worker.signals.signal import Kind, Looks, Place, signal
from worker.signals.tests_pass_but_wrong.hidden import OPENS, left_collection, stands_in_comment, still_there
from worker.signals.tests_pass_but_wrong.test_disabled import ran_before


@signal(Category.TESTS_PASS_BUT_WRONG, Kind.SUSPICION, Looks.TESTS)
def test_deleted_alone(change: Change) -> Iterator[Place]:
    """One existing test, or one whole file of tests, was deleted, and nothing was put in its place.

    No other line of the change touches what the tests call, and the code they are named after lost no line.

    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    deletion = change.once(_deleted_alone)
    if deletion is not None:
        yield _place(deletion, ", although nothing that it names was changed")


@signal(Category.TESTS_PASS_BUT_WRONG, Kind.SUSPICION, Looks.TESTS)
def test_deleted(change: Change) -> Iterator[Place]:
    """An existing test or a file of tests was deleted, and neither its code nor a new test accounts for it.

    Or a test is hidden whose code went with it, that says why, that the issue or the title asks to remove, or beside a new one.

    False alarms: 195 of 22175 clean changes with tests (0.9 %, at most 1.01 %).
    """
    unexplained = [one for one in change.once(_deletions) if all(lost.is_unexplained(change) for lost in one)]
    if len(unexplained) <= _MANY and change.once(_deleted_alone) is None:
        for deletion in unexplained:
            yield _place(deletion, "")
    for test, file, line in change.once(_hidden):
        if _is_accounted_for(test, file, line, change):
            yield _hidden_place(test, file, line)


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    Kind.FACT,
    Looks.TESTS,
    "Give the test at {place} back the name and the marks by which the test runner finds it, and make it pass.",
)
def test_hidden(change: Change) -> Iterator[Place]:
    """An existing test is still written there, but no runner finds it.

    It was renamed, lost its mark, stands in a comment, or in a file that no runner collects.

    False alarms: 10 of 22175 clean changes with tests (0.0 %, at most 0.08 %).
    """
    for test, file, line in change.once(_hidden):
        if not _is_accounted_for(test, file, line, change):
            yield _hidden_place(test, file, line)
    for file in change.files:
        if left_collection(file):
            note = f"no test runner collects this file, as it did {file.diff.old_path}"
            step = f"Give {file.path} a name that the test runner collects, such as {file.diff.old_path}."
            yield Place(note, file.path, 1, step=step)


Deletion = tuple["Lost", ...]
"""What was deleted by one decision: a test of a file that stays, or all tests of a file."""


def _deleted_alone(change: Change) -> Deletion | None:
    deletions = change.once(_deletions)
    if len(deletions) != 1 or len(deletions[0]) != len(_deleted(change)):
        return None
    is_alone = all(lost.is_alone and lost.is_untouched(change) for lost in deletions[0])
    return deletions[0] if is_alone and not is_declared(change, deletions[0][0].test) else None


def _deletions(change: Change) -> tuple[Deletion, ...]:
    """A file of which one test lives on elsewhere was rewritten, and is none of them."""
    files: defaultdict[str, list[Lost]] = defaultdict(list)
    for lost in _deleted(change):
        files[lost.file.path].append(lost)
    singles = ((lost,) for many in files.values() for lost in many if not lost.is_of_deleted_file)
    whole = (tuple(many) for many in files.values() if many[0].is_of_deleted_file and _is_complete(many))
    return (*singles, *whole)


def _is_complete(lost: "list[Lost]") -> bool:
    tests = [test for source in base_sources(lost[0].file) for test in tests_of(source) if ran_before(test)]
    keys = {test.key for test in tests}
    whole = [test for test in tests if test.outer not in keys]
    return len(lost) == min(len(whole), _REBUILT)


def _hidden(change: Change) -> tuple[tuple[Test, ChangedFile, int], ...]:
    found = ((test, file, still_there(test, file)) for test, file in change.once(_find_lost))
    return tuple((test, file, line) for test, file, line in found if line is not None)


def _is_accounted_for(test: Test, file: ChangedFile, line: int, change: Change) -> bool:
    """The change is meant to take it away, takes away what it calls, puts another beside it, or says beside it why."""
    if is_declared(change, test) or not _called(test).isdisjoint(change.once(_withdrawn_words)):
        return True
    return file.path in change.once(_gaining) or is_explained_above(file, line)


def _gaining(change: Change) -> frozenset[str]:
    """Files with a new test, be it one that was hidden until now."""
    return frozenset(pair.file.path for pair in all_paired(change) if pair.base is None)


def _hidden_place(test: Test, file: ChangedFile, line: int) -> Place:
    place = Place(f"the test `{test.name}` is still there, but no runner finds it", file.path, line)
    if not stands_in_comment(file, line):
        return place
    note = f"the test `{test.name}` is commented out"
    return place._replace(
        note=note, step="Take the comment marks away from the test at {place}, and make it pass, or delete it."
    )


_MANY: Final = 3
"""Tests deleted at once, beyond which somebody rebuilt the tests and did not hide one."""


def _place(deletion: Deletion, more: str) -> Place:
    lost = deletion[0]
    what = f"this file with its {len(deletion)} tests" if len(deletion) > 1 else f"the test `{lost.test.name}`"
    return Place(f"{what} was deleted{more}", lost.file.path, lost.test.first, side=Side.BASE)


class Lost(NamedTuple):
    """A test that the head does not have."""

    test: Test
    file: ChangedFile
    around: tuple[DiffLine, ...]
    """The block of changed lines that took it away."""

    @property
    def is_of_deleted_file(self) -> bool:
        return self.file.diff.change is ChangeKind.DELETED

    @property
    def is_alone(self) -> bool:
        """The block only takes away."""
        has_addition = any(line.kind is LineKind.ADDED and line.text.strip() for line in self.around)
        return self.file.diff.change in _TAKES_AWAY and not has_addition

    @property
    def called(self) -> frozenset[str]:
        return _called(self.test) | frozenset(_WORD.findall(_MARKS.sub(" ", self.test.marks)))

    def is_untouched(self, change: Change) -> bool:
        """Something is called, and neither other tests' removed lines nor any changed line of the code names it."""
        called = self.called
        if not called:
            return False
        touched = change.once(_touched_words) | _words(_removed(change.files, change))
        if not called.isdisjoint(touched) or not self._said.isdisjoint(change.once(_dropped_words)):
            return False
        is_named = self.is_of_deleted_file and self._is_named_in_tests(change)
        if is_named or any(self._is_spoken_of_by(test) for test in change.once(_new_tests)):
            return False
        if change.once(_has_new_material) or _whole_package(self.file).intersection(change.once(_rewritten_folders)):
            return False
        return not any(
            path != self.file.path and _is_namesake(self.file.path, path) for path in change.once(_rewritten_code)
        )

    def is_unexplained(self, change: Change) -> bool:
        """The code that it speaks of did not go with it, and no new test stands in for it."""
        if self.file.diff.change not in _TAKES_AWAY or not self._said.isdisjoint(change.once(_dropped_words)):
            return False
        if self.is_of_deleted_file:
            return not any(self._is_spoken_of_by(test) for test in change.once(_new_tests))
        mine = self.called
        return not any(mine and 2 * len(mine & other) > len(mine | other) for other in change.once(_called_anew))

    def _is_spoken_of_by(self, new: Test) -> bool:
        """Whether a new test calls something that this one called, or is named alike: it may stand in for it."""
        alike = _stems_of(self.test.name) & _stems_of(new.name)
        return len(alike) > 1 or not self.called.isdisjoint(_called(new))

    def _is_named_in_tests(self, change: Change) -> bool:
        """Whether lines that other tests gained speak of the file, or call what it called."""
        added = change.once(_words_added_in_tests)
        return not self.called.isdisjoint(added) or not _stems(self.file.path).isdisjoint(map(str.casefold, added))

    @property
    def _said(self) -> frozenset[str]:
        return _words([self.test.name, self.test.text])


def _words_added_in_tests(change: Change) -> frozenset[str]:
    files = (file for file in change.files if role_of(file.path) is Role.TEST)
    return frozenset(word for file in files for text in file.diff.added_texts for word in _WORD.findall(text))


_TAKES_AWAY: Final = frozenset({ChangeKind.MODIFIED, ChangeKind.DELETED})


def _stems_of(name: str) -> frozenset[str]:
    return frozenset(word[:_STEM].casefold() for word in _PARTS.findall(name)) - {"test", "shou", "when"}


_STEM: Final = 4


def _new_tests(change: Change) -> tuple[Test, ...]:
    return tuple(pair.head for pair in all_paired(change) if pair.base is None and pair.head is not None)


def _has_new_material(change: Change) -> bool:
    """Data of tests got lines: cases may live there now."""
    files = (file for file in change.files if file.language is None and role_of(file.path) is Role.TEST)
    return any(line.text.strip() for file in files for line in file.diff.added)


def _whole_package(file: ChangedFile) -> frozenset[str]:
    """The folder that a test of JavaScript imports as a whole, and so says not which code it tests."""
    folders = file.path.split("/")[:-1]
    ups = [found[1].count("..") for found in _PACKAGE.finditer(file.base or "")] if file.language in SCRIPTS else []
    return frozenset("/".join(folders[: len(folders) - up]) for up in ups)


_PACKAGE: Final = pattern(r"""from ['"](\.\.(?:/\.\.){0,5})(?:/index)?(?:\.[jt]sx?)?/?['"]""")


def _rewritten_folders(change: Change) -> frozenset[str]:
    return frozenset(path.rpartition("/")[0] for path in change.once(_rewritten_code))


def _rewritten_code(change: Change) -> tuple[str, ...]:
    """Code that behaves otherwise now, as far as removed lines tell."""
    return tuple(file.path for file in change.production() if any(line.text.strip() for line in file.diff.removed))


def _is_namesake(test: str, code: str) -> bool:
    """Whether one file's name holds all words of the other's, but for those that say that it is a test."""
    one, other = _stems(test), _stems(code)
    return bool(one and other) and (one <= other or other <= one)


def _stems(path: str) -> frozenset[str]:
    name = path.rpartition("/")[2].partition(".")[0]
    return frozenset(word.casefold().rstrip("s") for word in _PARTS.findall(name)) - {
        "test",
        "tests",
        "spec",
        "it",
        "case",
    }


_PARTS: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _called(test: Test) -> frozenset[str]:
    if test.source.language is Language.RUBY:
        return frozenset(_WORD.findall(test.text))  # who calls there needs no brackets
    return frozenset(name for name in _CALLED.findall(test.text) if not _COMMON.match(name))


def _called_anew(change: Change) -> tuple[frozenset[str], ...]:
    """What each new test calls: one that calls the same for the greater part was rewritten."""
    return tuple(map(_called, change.once(_new_tests)))


_CALLED: Final = pattern(r"([A-Za-z_]\w{2,200}+)\s*(?:::<[^>()]{0,80}>)?!?\(")
_COMMON: Final = pattern(
    r"(assert|expect|require|should|test_|Test)\w*$|(to|is)(Be|Equal|Have|Not|Throw|Match|Contain|Null|True|False|One|Empty)\w*$"
    r"|(func|len|str|int|print|println|range|list|dict|set|tuple|map|filter|for|while|switch|match|catch|vec|format|String|Run|Parallel|Helper"
    r"|describe|test|Errorf?|Fatalf?|Logf?|make|append|string|byte|raises|unwrap|isinstance|sorted|then|with|Some|None|async|function)$"
)
"""Names that every test calls: they say nothing about what it tests."""

_WORD: Final = pattern(r"[A-Za-z_]\w{3,}")
_MARKS: Final = pattern(
    r"\"[^\"]{0,200}\"|'[^']{0,200}'|@(?:\w{1,60}\.){0,6}\w{1,80}|#!?\[[\w:]{1,80}|\b(?:it|test|\w{0,20}params?|(?:\w{1,60}\.){0,6}\w{1,80}(?=\())"
)
"""What in marks names no data of the change: texts, and the marks themselves."""


def _words(texts: "Iterator[str] | list[str]") -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text))


def _own_lines(change: Change) -> frozenset[tuple[str, int | None]]:
    """What went with the tests: in Rust it stands in files of code."""
    return frozenset((lost.file.path, line.base_line) for lost in _deleted(change) for line in lost.around)


def _removed(files: Iterable[ChangedFile], change: Change) -> Iterator[str]:
    """What the removed lines of these files said, but for those of the deleted tests themselves."""
    own = change.once(_own_lines)
    with_own = {path for path, _ in own}
    for file in files:
        if file.path in with_own:
            yield from (line.text for line in file.diff.removed if (file.path, line.base_line) not in own)
        else:
            yield from file.diff.removed_texts


def _code(change: Change) -> Iterator[ChangedFile]:
    return (file for file in change.files if role_of(file.path) is not Role.TEST)


def _added_words(change: Change) -> frozenset[str]:
    return _words(text for file in _code(change) for text in file.diff.added_texts)


def _removed_words(change: Change) -> frozenset[str]:
    return _words(_removed(_code(change), change))


def _touched_words(change: Change) -> frozenset[str]:
    return change.meanwhile(_added_words) | change.meanwhile(_removed_words)


def _dropped_words(change: Change) -> frozenset[str]:
    """Words that the code lost."""
    return change.meanwhile(_removed_words) - change.meanwhile(_added_words)


def _withdrawn_words(change: Change) -> frozenset[str]:
    """Words that the code lost, but for its comments: what is commented out is gone as well."""
    added = (text for file in _code(change) for text in file.diff.added_texts if not _COMMENT.match(text))
    return change.meanwhile(_removed_words) - _words(added)


_COMMENT: Final = pattern(r"\s*(?://|#(?!\[)|/?\*)")


def _find_lost(change: Change) -> tuple[tuple[Test, ChangedFile], ...]:
    """Whole tests that are gone; a subtest that went with its test is not counted again."""
    may_lose = any(_may_lose(file) for file in change.files) and not is_certain_revert(change)
    pairs = all_paired(change) if may_lose else ()
    old = [(pair.base, pair.file) for pair in pairs if pair.head is None and pair.base is not None]
    gone = [(test, file) for test, file in old if ran_before(test)]
    keys = {(file.path, test.key) for test, file in gone}
    whole = ((test, file) for test, file in gone if (file.path, test.outer) not in keys)
    return tuple(islice(whole, _REBUILT))


_REBUILT: Final = 30
"""Lost tests that are looked at: where there are more, nobody hid one."""


def _may_lose(file: ChangedFile) -> bool:
    """Something was removed from tests, or put around them."""
    if not may_hold_tests(file):
        return False
    return bool(file.diff.removed) or any(OPENS.search(line.text) for line in file.diff.added)


def _deleted(change: Change) -> tuple[Lost, ...]:
    return change.once(_find_deleted)


def _find_deleted(change: Change) -> tuple[Lost, ...]:
    found = (Lost(test, file, _block(test, file)) for test, file in change.once(_find_lost))
    gone = (lost for lost in found if lost.around and still_there(lost.test, lost.file) is None)
    return tuple(lost for lost in gone if not _is_said_again(lost) and not _is_moved(lost, change))


def _is_moved(lost: Lost, change: Change) -> bool:
    """Most of its lines are added elsewhere: in a file of type tests, or among what is measured."""
    lines = [line for line in lost.test.lines if _WORD.search(line)]
    return bool(lines) and _MOST_MOVED * len(lines) <= sum(line in change.added_texts for line in lines)


_MOST_MOVED: Final = 0.6


def _is_said_again(lost: Lost) -> bool:
    """Another test beside it that stays is the same but for its name, so that what it proved is proved as before."""
    return _wording(lost.test) in lost.file.once(_wordings)


def _wordings(file: ChangedFile) -> frozenset[tuple[object, ...]]:
    return frozenset(_wording(test) for source in file.sources for test in tests_of(source))


def _wording(test: Test) -> tuple[object, ...]:
    given = text_of(test.function.node.child_by_field_name("parameters"))
    return (test.text, test.outer, test.marks, given)


def _block(test: Test, file: ChangedFile) -> tuple[DiffLine, ...]:
    """The changed lines without a break around the first line of the test; none if that line stays."""
    for hunk in file.diff.hunks:
        at = next((n for n, line in enumerate(hunk.lines) if line.base_line == test.first), None)
        if at is None or hunk.lines[at].kind is not LineKind.REMOVED:
            continue
        start = end = at
        while start and hunk.lines[start - 1].kind is not LineKind.CONTEXT:
            start -= 1
        while end < len(hunk.lines) and hunk.lines[end].kind is not LineKind.CONTEXT:
            end += 1
        return hunk.lines[start:end]
    return ()
