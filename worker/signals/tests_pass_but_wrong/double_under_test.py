"""A test that replaces its own subject by a double, and so proves the double.

The subject is what the test calls itself and the change defines, or what the test file is named after; imports are not resolved.
A double for anything else is ordinary.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from worker.domain.pattern import can_match, pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized_for_family
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.test_pairs import match_all_tests
from worker.signals.analysis.tests import Test
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_PATCHES: Final = pattern(
    r"\bpatch(?:\.object)?\(\s*(?:[\w.]{1,80},\s*)?[\"'](?:[\w.]{1,120}\.)?(\w{3,80})[\"']|\bsetattr\(\s*(?:[\w.]{1,80},\s*)?[\"'](?:[\w.]{1,120}\.)?(\w{3,80})[\"']\s*,"
    r"|\b(?:spyOn|stub|replace)\(\s*[\w.]{1,80},\s*[\"'`](\w{3,80})[\"'`]\s*+\)?\s*+\.?(?:mock(?:Return|Resolved|Rejected|Implementation)|returns|resolves|callsFake|and\.return)"
    r"|^\s*[\w.]{1,80}\.(\w{3,80})\s*=\s*(?:(?:jest|vi|sinon)\.(?:fn|stub|mock)\(|(?:Magic|Async)?Mock\()"
    r"|\b(?:when|doReturn\([^)\n]{0,80}\)\.when)\(\s*(?:sut|subject|underTest|target|testee)\)?\.(\w{3,80})\(",
    needs=("patch", "setattr", "spyon", "stub", "replace", "mock", ".fn(", "when"),
)
_SHADOWS: Final = pattern(
    r"^\s*(?:const |let |var )?(\w{3,80})\s*:?=\s*(?:async )?(?:lambda\b|\([^()\n]{0,80}\)\s*=>|func\(|function\s*\(|\|[^|\n]{0,80}\|)"
)
"""A function of the test's own, under the name of another."""
_MODULE: Final = pattern(
    r"^\s*(?:jest|vi|vitest)\.(?:mock|doMock)\(\s*+(?:import\()?\s*+[\"'`](\.{1,2}/[\w./-]{1,200})[\"'`]\)?\s*(?:,|\))"
)
_PARTLY: Final = pattern(r"requireActual|importActual|importOriginal|importOriginalModule|spy:\s*true")
_MOCKED_TYPE: Final = pattern(
    r"(?<![\w.])mock\(\s*(\w{2,80})\.class|@Mock(?:Bean|itoBean)?(?:\([^)\n]{0,80}\))?\s+(?:private |protected |final )*(\w{2,80})\b"
)
_LONGEST: Final = 500
_CALLS: Final = pattern(r"(?<![\w.])(?:(?!mock)\w+\.)?(\w{3,80})\(")
_SUBJECT: Final = pattern(r"(?:^|/)(?:Test)?([\w-]+?)(?:[._-](?:test|spec)s?|Tests?|TestCase|IT|_Test)?\.\w+$")


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.TESTS)
def double_under_test(change: CodeChange) -> Iterator[SignalMatch]:
    """A new or changed test replaces a function of this change by a double, and then calls that.

    Or it mocks the module or class that its own file is named after.

    Why it matters: The test then asserts what the double was told to return.
    Example: `patch('shop.total', return_value=3)` around `assert total(cart) == 3`.
    False alarms: 4 of 22175 clean changes with tests (0.0 %, at most 0.05 %).
    """
    files = [file for file in change.files if file.language is not None and file.is_test]
    patching: set[str] = set()
    for file in files:
        find = _names if any(can_match(_PATCHES, text) for text in file.diff.added_passages()) else _find_shadows
        if any(any(find(text)) for text in file.diff.added_texts):
            patching.add(file.path)
    for pair in match_all_tests(change) if patching else ():
        if pair.head is not None and pair.file.path in patching:
            yield from _find_replaced(pair.head, pair.file, _find_defined(change))
    for file in files:
        yield from _find_own_module_mocks(file)


@memoized_for_family
def _find_defined(change: CodeChange) -> frozenset[str]:
    """Functions of the code with new lines."""
    return frozenset(
        function.name
        for file in change.production_files()
        for source in file.sources
        for function in find_functions(source)
        if not file.added_lines.isdisjoint(range(function.first_line, function.last_line + 1))
    )


def _find_replaced(test: Test, file: AnalyzedFile, defined: frozenset[str]) -> Iterator[SignalMatch]:
    lines = [test.source.text_at(line) for line in range(test.first_line, test.last_line + 1)]
    above = test.marks.split("\n")
    doubles = {name for text in (*lines, *above) for name in _names(text) if name in defined}
    for offset, text in enumerate(lines if doubles else ()):
        number = test.first_line + offset
        called = doubles.intersection(_CALLS.findall(text[:_LONGEST]))
        if called and number in file.added_lines and not any(_names(text)) and offset:
            yield SignalMatch(f"the test calls `{min(called)}`, which it replaced by a double", file.path, number)
            return


def _names(text: str) -> Iterator[str]:
    patched = (name for match in _PATCHES.finditer(text[:_LONGEST]) for name in match.groups() if name)
    return chain(patched, _find_shadows(text))


def _find_shadows(text: str) -> tuple[str, ...]:
    shadow = _SHADOWS.match(text[:_LONGEST])
    return () if shadow is None else (shadow[1],)


def _find_own_module_mocks(file: AnalyzedFile) -> Iterator[SignalMatch]:
    match = _SUBJECT.search(file.path)
    subject, is_java = match[1] if match is not None else "", file.language is Language.JAVA
    if not subject or not (is_java or file.language in SCRIPT_LANGUAGES):
        return
    text = file.head_text or "\n".join(file.diff.added_texts)
    look = _MOCKED_TYPE.search if is_java else _MODULE.match
    note = "replaces it by a mock" if is_java else "replaces the whole module"
    lines = file.diff.added_lines_matching(lambda text: look(text[:_LONGEST]))
    if not lines or ((f"new {subject}" in text or "spy(" in text) if is_java else _PARTLY.search(text)):
        return  # the real one is there too
    for line in lines:
        match = look(line.text[:_LONGEST])
        names = match.groups() if match is not None else ()
        if subject in (names if is_java else {name.rpartition("/")[2].partition(".")[0] for name in names}):
            yield SignalMatch(f"the test of `{subject}` {note}", file.path, line.head_line)
