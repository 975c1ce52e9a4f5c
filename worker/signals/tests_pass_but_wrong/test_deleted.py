"""Tests that no runner finds any longer: deleted, renamed out of discovery, without their mark, or commented out.

A deleted test is a suspicion, and so is a hidden one whose code went with it or that gives a reason. Any other hidden test is a
fact. A test that became a helper of other tests is not hidden.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, Side
from worker.dossier.diff import ChangeKind
from worker.signals.analysis.change import (
    AnalyzedFile,
    CodeChange,
    EditBlock,
    is_certain_revert,
    memoized,
    memoized_for_family,
)
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function, find_functions
from worker.signals.analysis.syntax import text_of
from worker.signals.analysis.test_pairs import base_sources, is_explained_above, is_removal_declared, match_all_tests
from worker.signals.analysis.tests import Test, can_hold_tests, find_tests
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal
from worker.signals.tests_pass_but_wrong.test_disabled import was_enabled

Deletion = tuple["LostTest", ...]
"""What was deleted by one decision: a test of a file that stays, or all tests of a file."""
_MANY_TESTS: Final = 3
"""Deleted tests beyond which the tests were rebuilt."""
_REMOVING_KINDS: Final = frozenset({ChangeKind.MODIFIED, ChangeKind.DELETED})
_STEM: Final = 4
_PACKAGE: Final = pattern(r"""from ['"](\.\.(?:/\.\.){0,5})(?:/index)?(?:\.[jt]sx?)?/?['"]""")
_PARTS: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CALLED: Final = pattern(r"([A-Za-z_]\w{2,200}+)\s*(?:::<[^>()]{0,80}>)?!?\(")
_COMMON: Final = pattern(
    r"(assert|expect|require|should|test_|Test)\w*$|(to|is)(Be|Equal|Have|Not|Throw|Match|Contain|Null|True|False|One|Empty)\w*$"
    r"|(func|len|str|int|print|println|range|list|dict|set|tuple|map|filter|for|while|switch|match|catch|vec|format|String|Run|Parallel|Helper"
    r"|describe|test|Errorf?|Fatalf?|Logf?|make|append|string|byte|raises|unwrap|isinstance|sorted|then|with|Some|None|async|function)$"
)
"""Names that every test calls."""
_WORD: Final = pattern(r"[A-Za-z_]\w{3,}")
_MARKS: Final = pattern(
    r"\"[^\"]{0,200}\"|'[^']{0,200}'|@(?:\w{1,60}\.){0,6}\w{1,80}|#!?\[[\w:]{1,80}|\b(?:it|test|\w{0,20}params?|(?:\w{1,60}\.){0,6}\w{1,80}(?=\())"
)
"""Texts in marks and the marks themselves: they name no data of the change."""
_COMMENT: Final = pattern(r"\s*(?://|#(?!\[)|/?\*)")
_MOST_LOST: Final = 30
"""Lost tests that are looked at: with more of them, none is hidden."""
_MOST_MOVED: Final = 0.6
_COLLECTED: Final = {
    Language.PYTHON: pattern(r"(^|/)(test_[^/]*|[^/]*_tests?)\.py$"),
    Language.GO: pattern(r"_test\.go$"),
    Language.JAVA: pattern(r"(^|/)([^/]*Test[^/]*|[^/]*(IT|Spec))\.java$"),
    Language.RUBY: pattern(r"_(?:spec|test)\.rb$|(^|/)test_[^/]*\.rb$"),
    Language.PHP: pattern(r"Test\.php$"),
    **dict.fromkeys(
        SCRIPT_LANGUAGES, pattern(r"(\.|-|_)(test|spec|cy|e2e)s?\.[cm]?[jt]sx?$|(^|/)__tests__/[^_][^/]*$")
    ),
}
"""Files that the usual runners of a language look at. Rust's, C#'s and Kotlin's find tests by their marks alone."""
_TELLING_LINES: Final = 3
"""Lines of a body that identify a test, whatever its name."""
_IDENTIFIER: Final = pattern(r"\w+")
_COMMENT_MARK: Final = pattern(r"\s*(?:#|//|--|\*|/\*+)+\s?")
_LONGEST: Final = 1_000
_ENCLOSING_MARKS: Final = pattern(r"/\*|\"\"\"|'''|`|=begin|\bif (?:false|0)\b|#if\b")
"""The beginning of a comment, a string or a branch that never runs."""


class LostTest(NamedTuple):
    """A test that the head does not have."""

    test: Test
    file: AnalyzedFile
    block: EditBlock
    """The changed lines that removed it."""

    @property
    def is_of_deleted_file(self) -> bool:
        return self.file.diff.change is ChangeKind.DELETED

    @property
    def is_alone(self) -> bool:
        """Whether the block only removes lines."""
        has_addition = any(line.text.strip() for line in self.block.added)
        return self.file.diff.change in _REMOVING_KINDS and not has_addition

    @property
    def called_names(self) -> frozenset[str]:
        return _find_called_names(self.test) | frozenset(_WORD.findall(_MARKS.sub(" ", self.test.marks)))

    def has_dropped_word(self, change: CodeChange) -> bool:
        """Whether the code lost a word of the test."""
        return not _words([self.test.name, self.test.text]).isdisjoint(_find_words(change).dropped)

    def is_untouched(self, change: CodeChange) -> bool:
        """Whether it calls something that no removed line of other tests and no changed line of the code names."""
        called, path = self.called_names, self.file.path
        if not called or not called.isdisjoint(_find_words(change).touched) or self.has_dropped_word(change):
            return False
        # lines that other tests gained name the file, or call what it called
        added, own = _find_words(change).added_in_tests, _path_words(path)
        is_named = not called.isdisjoint(added) or not own.isdisjoint(map(str.casefold, added))
        if self.is_of_deleted_file and is_named:
            return False
        if any(self._is_covered_by(test) for test in _new_tests(change)):
            return False
        rewritten = _find_rewritten_code(change)
        folders = {code.rpartition("/")[0] for code in rewritten}
        if _has_new_test_data(change) or not folders.isdisjoint(_find_package_folders(self.file)):
            return False
        # the name of one file holds all words of the other's
        others = (_path_words(code) for code in rewritten if code != path)
        return not any(own and other and (own <= other or other <= own) for other in others)

    def is_unexplained(self, change: CodeChange) -> bool:
        """Whether its code did not go with it, and no new test replaces it."""
        if self.file.diff.change not in _REMOVING_KINDS or self.has_dropped_word(change):
            return False
        if self.is_of_deleted_file:
            return not any(self._is_covered_by(test) for test in _new_tests(change))
        # a new test that calls the same for the greater part is this one, rewritten
        called, others = self.called_names, map(_find_called_names, _new_tests(change))
        return not called or not any(2 * len(called & other) > len(called | other) for other in others)

    def _is_covered_by(self, new: Test) -> bool:
        """Whether a new test shares a call or most of the name: it may replace this one."""
        alike = _stems_of(self.test.name) & _stems_of(new.name)
        return len(alike) > 1 or not self.called_names.isdisjoint(_find_called_names(new))


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.CHANGE)
def test_deleted_alone(change: CodeChange) -> Iterator[SignalMatch]:
    """One existing test, or one whole file of tests, was deleted, and nothing was put in its place.

    No other line of the change touches what the tests call, and the code they are named after lost no line.

    Why it matters: A test that fails is gone the moment it is deleted, and so is the proof of what it covered.
    Example: `-def test_total():` as the whole change of a file of tests.
    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    deletion = _find_lone_deletion(change)
    if deletion is not None:
        yield _build_match(deletion, ", although nothing that it names was changed")


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.CHANGE)
def test_deleted(change: CodeChange) -> Iterator[SignalMatch]:
    """An existing test or a file of tests was deleted, and neither its code nor a new test accounts for it.

    Or a test is hidden whose code went with it, that has a reason, that the issue or the title asks to remove, or beside a new one.

    Why it matters: The code that the test covered is still there, and nothing covers it now.
    Example: `-def test_total():` beside an edit of another function.
    False alarms: 195 of 22175 clean changes with tests (0.9 %, at most 1.01 %).
    """
    unexplained = [
        deletion for deletion in _find_deletions(change) if all(lost.is_unexplained(change) for lost in deletion)
    ]
    if len(unexplained) <= _MANY_TESTS and _find_lone_deletion(change) is None:
        for deletion in unexplained:
            yield _build_match(deletion, "")
    for test, file, line in _find_hidden(change):
        if _is_accounted_for(test, file, line, change):
            yield _build_hidden_match(test, file, line)


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Give the test at {place} back the name and the marks by which the test runner finds it, and make it pass.",
)
def test_hidden(change: CodeChange) -> Iterator[SignalMatch]:
    """An existing test is still written there, but no runner finds it.

    It was renamed, lost its mark, is in a comment, or in a file that no runner collects.

    Why it matters: It reads like a test and is never run, so that it cannot fail.
    Example: `def _test_total():`, which was `def test_total():`.
    False alarms: 10 of 22175 clean changes with tests (0.0 %, at most 0.08 %).
    """
    for test, file, line in _find_hidden(change):
        if not _is_accounted_for(test, file, line, change):
            yield _build_hidden_match(test, file, line)
    for file in change.files:
        collected, old = _COLLECTED.get(file.language) if file.language is not None else None, file.diff.old_path
        if collected is None or old is None or file.diff.change is not ChangeKind.RENAMED:
            continue
        if collected.search(old) and not collected.search(file.path) and any(map(find_tests, file.sources)):
            note = f"no test runner collects this file, as it did {old}"
            step = f"Give {file.path} a name that the test runner collects, such as {old}."
            yield SignalMatch(note, file.path, 1, step=step)


@memoized
def _find_lone_deletion(change: CodeChange) -> Deletion | None:
    deletions = _find_deletions(change)
    if len(deletions) != 1 or len(deletions[0]) != len(_find_deleted(change)):
        return None
    is_alone = all(lost.is_alone and lost.is_untouched(change) for lost in deletions[0])
    return deletions[0] if is_alone and not is_removal_declared(change, deletions[0][0].test) else None


@memoized
def _find_deletions(change: CodeChange) -> tuple[Deletion, ...]:
    """Lost tests by decision. A deleted file with a test that lives on elsewhere was rewritten, and is none."""
    files: defaultdict[str, list[LostTest]] = defaultdict(list)
    for lost in _find_deleted(change):
        files[lost.file.path].append(lost)
    whole: list[Deletion] = []
    for many in (many for many in files.values() if many[0].is_of_deleted_file):
        tests = [test for source in base_sources(many[0].file) for test in find_tests(source) if was_enabled(test)]
        keys = {test.key for test in tests}
        if len(many) == min(sum(test.outer_names not in keys for test in tests), _MOST_LOST):
            whole.append(tuple(many))
    return (*((lost,) for many in files.values() for lost in many if not lost.is_of_deleted_file), *whole)


@memoized
def _find_hidden(change: CodeChange) -> tuple[tuple[Test, AnalyzedFile, int], ...]:
    hidden = ((test, file, _find_hidden_line(test, file)) for test, file in _select_lost(change))
    return tuple((test, file, line) for test, file, line in hidden if line is not None)


def _is_accounted_for(test: Test, file: AnalyzedFile, line: int, change: CodeChange) -> bool:
    """Whether the change is meant to remove it, removes what it calls, adds another test beside it, or gives a reason."""
    return (
        is_removal_declared(change, test)
        or not _find_called_names(test).isdisjoint(_find_words(change).withdrawn)
        or any(pair.base is None and pair.file.path == file.path for pair in match_all_tests(change))
        or is_explained_above(file, line)
    )


def _build_hidden_match(test: Test, file: AnalyzedFile, line: int) -> SignalMatch:
    source = file.source_at(line)
    is_marked = source is not None and _COMMENT_MARK.match(source.text_at(line)) is not None
    if not is_marked and (file.language is Language.PYTHON or not file.is_quoted(line)):
        return SignalMatch(f"the test `{test.name}` is still there, but no runner finds it", file.path, line)
    step = "Take the comment marks away from the test at {place}, and make it pass, or delete it."
    return SignalMatch(f"the test `{test.name}` is commented out", file.path, line, step=step)


def _build_match(deletion: Deletion, more: str) -> SignalMatch:
    lost = deletion[0]
    what = f"this file with its {len(deletion)} tests" if len(deletion) > 1 else f"the test `{lost.test.name}`"
    return SignalMatch(f"{what} was deleted{more}", lost.file.path, lost.test.first_line, side=Side.BASE)


def _stems_of(name: str) -> frozenset[str]:
    return frozenset(word[:_STEM].casefold() for word in _PARTS.findall(name)) - {"test", "shou", "when"}


@memoized
def _new_tests(change: CodeChange) -> tuple[Test, ...]:
    return tuple(pair.head for pair in match_all_tests(change) if pair.base is None and pair.head is not None)


@memoized
def _has_new_test_data(change: CodeChange) -> bool:
    """Whether data of tests gained lines: cases may have moved there."""
    files = (file for file in change.files if file.language is None and file.is_test)
    return any(line.text.strip() for file in files for line in file.diff.added_lines)


def _find_package_folders(file: AnalyzedFile) -> frozenset[str]:
    """Folders that a test of JavaScript imports as a whole, which does not tell what code it tests."""
    folders = file.path.split("/")[:-1]
    is_script = file.language in SCRIPT_LANGUAGES
    ups = (match[1].count("..") for match in _PACKAGE.finditer((file.base_text or "") if is_script else ""))
    return frozenset("/".join(folders[: len(folders) - up]) for up in ups)


@memoized
def _find_rewritten_code(change: CodeChange) -> tuple[str, ...]:
    """Code that behaves differently, as far as removed lines tell."""
    return tuple(
        file.path for file in change.production_files() if any(line.text.strip() for line in file.diff.removed_lines)
    )


def _path_words(path: str) -> frozenset[str]:
    """The words of a file's name, without those that mark a test."""
    name = path.rpartition("/")[2].partition(".")[0]
    parts = frozenset(word.casefold().rstrip("s") for word in _PARTS.findall(name))
    return parts - {"test", "tests", "spec", "it", "case"}


def _find_called_names(test: Test) -> frozenset[str]:
    if test.source.language is Language.RUBY:
        return frozenset(_WORD.findall(test.text))  # calls need no brackets there
    return frozenset(name for name in _CALLED.findall(test.text) if not _COMMON.match(name))


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(text))


class _ChangedWords(NamedTuple):
    """Words of the changed lines, but for the deleted tests themselves, which Rust has in files of code."""

    touched: frozenset[str]
    """Of changed lines of the code, and of removed lines of tests."""
    dropped: frozenset[str]
    """Those that the code lost."""
    withdrawn: frozenset[str]
    """Those that the code lost, its comments aside: what is commented out is gone as well."""
    added_in_tests: frozenset[str]


@memoized_for_family
def _find_words(change: CodeChange) -> _ChangedWords:
    own = {(lost.file.path, line.base_line) for lost in _find_deleted(change) for line in lost.block.removed}
    code = [file for file in change.files if not file.is_test]
    tests = [file for file in change.files if file.is_test]

    def find_removed(files: list[AnalyzedFile]) -> frozenset[str]:
        lines = ((file.path, line) for file in files for line in file.diff.removed_lines)
        return _words(line.text for path, line in lines if (path, line.base_line) not in own)

    added = [text for file in code for text in file.diff.added_texts]
    added_words, removed_words = _words(added), find_removed(code)
    return _ChangedWords(
        touched=added_words | removed_words | find_removed(tests),
        dropped=removed_words - added_words,
        withdrawn=removed_words - _words(text for text in added if not _COMMENT.match(text)),
        added_in_tests=_words(text for file in tests for text in file.diff.added_texts),
    )


@memoized
def _select_lost(change: CodeChange) -> tuple[tuple[Test, AnalyzedFile], ...]:
    """Whole tests that are gone; a subtest that went with its test is not counted again."""
    diffs = (file.diff for file in change.files if can_hold_tests(file))
    # lines of tests were removed, or something was put around them
    may_lose = any(diff.removed_lines or diff.added_lines_matching(_ENCLOSING_MARKS.search) for diff in diffs)
    pairs = match_all_tests(change) if may_lose and not is_certain_revert(change) else ()
    old = [(pair.base, pair.file) for pair in pairs if pair.head is None and pair.base is not None]
    gone = [(test, file) for test, file in old if was_enabled(test)]
    keys = {(file.path, test.key) for test, file in gone}
    whole = ((test, file) for test, file in gone if (file.path, test.outer_names) not in keys)
    return tuple(islice(whole, _MOST_LOST))


@memoized
def _find_deleted(change: CodeChange) -> tuple[LostTest, ...]:
    """Lost tests of removed blocks that are neither hidden, nor moved, nor equal to another test of their file."""
    edits = ((test, file, edit) for test, file in _select_lost(change) for edit in file.edit_blocks)
    tests = (LostTest(*lost) for lost in edits if any(line.base_line == lost[0].first_line for line in lost[2].removed))
    deleted: list[LostTest] = []
    for lost in tests:
        lines = [line for line in lost.test.lines if _WORD.search(line)]
        kept = sum(line in change.added_texts for line in lines)  # in a file of type tests or a benchmark
        is_moved = lines and _MOST_MOVED * len(lines) <= kept
        is_there = is_moved or _find_hidden_line(lost.test, lost.file) is not None
        if not is_there and _wording_of(lost.test) not in _find_wordings(lost.file):
            deleted.append(lost)
    return tuple(deleted)


@memoized
def _find_wordings(file: AnalyzedFile) -> frozenset[tuple[object, ...]]:
    return frozenset(_wording_of(test) for source in file.sources for test in find_tests(source))


def _wording_of(test: Test) -> tuple[object, ...]:
    """All that tells a test from another of its file but its name."""
    return test.text, test.outer_names, test.marks, text_of(test.function.node.child_by_field_name("parameters"))


def _find_hidden_line(test: Test, file: AnalyzedFile) -> int | None:
    """The line of the head with the code of a test that is no test now."""
    if file.diff.change is ChangeKind.DELETED:
        return None
    return _find_renamed(test, file) or _find_commented_out(test, file) or _find_enclosed(test, file)


@memoized
def _find_functions(file: AnalyzedFile) -> tuple[tuple[Function, Counter[str]], ...]:
    """The functions that are no tests, each with the lines of its body."""
    tests = {test.function.first_line for source in file.sources for test in find_tests(source)}
    functions = (function for source in file.sources for function in find_functions(source))
    others = [function for function in functions if function.first_line not in tests]
    bodies = ((line.strip() for line in text_of(other.body).split("\n")) for other in others)
    return tuple((other, Counter(filter(None, body))) for other, body in zip(others, bodies, strict=True))


def _find_renamed(test: Test, file: AnalyzedFile) -> int | None:
    """A function with the code of the test that nothing calls."""
    text = file.head_text or "\n".join(source.text for source in file.sources)
    plain, count = test.name.lower(), test.lines.total()
    for function, lines in _find_functions(file):
        if function.first_line not in file.added_lines and function.name != test.name:
            continue
        name, shared = function.name.lower(), (lines & test.lines).total()
        is_same = count >= _TELLING_LINES and 10 * shared >= 9 * max(count, lines.total())
        if plain in name or plain.removeprefix("test") == name.lstrip("_"):  # but for what hides it
            is_same = 2 * shared >= count
        if is_same and _IDENTIFIER.findall(text).count(function.name) == 1:
            return function.first_line
    return None


def _find_commented_out(test: Test, file: AnalyzedFile) -> int | None:
    """The added line that is the definition of the test behind a comment mark."""
    definition = test.source.text_at(test.first_line).strip()
    for line in file.diff.added_lines if definition else ():
        mark = _COMMENT_MARK.match(line.text[:_LONGEST])
        if mark and line.text[mark.end() :].strip() == definition:
            return line.head_line
    return None


def _find_enclosed(test: Test, file: AnalyzedFile) -> int | None:
    """The unchanged first line of the test, where the whole head has it in a new comment or string.

    Where the change opens none, a grammar that reads the line as quoted is wrong.
    """
    if not (test.source.is_whole and file.sources and file.sources[0].is_whole):
        return None
    if not any(_ENCLOSING_MARKS.search(line.text) for line in file.diff.added_lines):
        return None
    line = test.first_line
    for hunk in file.diff.hunks:
        if test.first_line < hunk.base_start:
            break
        if test.first_line < hunk.base_start + hunk.base_count:
            line = next((line.head_line for line in hunk.lines if line.base_line == test.first_line), None)
            break
        line += hunk.head_count - hunk.base_count
    return line if line is not None and file.is_quoted(line) else None
