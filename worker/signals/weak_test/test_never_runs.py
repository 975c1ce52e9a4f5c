"""New tests that never run: skipped everywhere, or replaced by a namesake. A skip on some machines only is none."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import FunctionScope
from worker.signals.analysis.syntax import text_of
from worker.signals.analysis.test_pairs import (
    TestPair,
    base_sources,
    find_skipped_suite,
    find_test_pairs,
    has_reason,
    is_conditional_callback,
    is_inherited_test_disabled,
    is_removal_declared,
    select_unconditional_marks,
)
from worker.signals.analysis.tests import Test, can_hold_tests, find_tests, has_issue_link
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal

_MARKS: Final = {
    Language.PYTHON: pattern(
        r"@(?:pytest\.)?mark\.skip(?!\w)|@(?:unittest\.)?skip\b|@pytest\.skip\b|@(?:pytest\.)?mark\.skipif\b"
        r"|@(?:unittest\.)?skip(?:If|Unless)\(|mark\.parametrize\(\s*(?:[\"'][^\"']{1,80}[\"']|[(\[][^()\[\]]{1,80}[)\]]), ?(?:\[\]|\(\))\s*[,)]"
    ),
    Language.RUST: pattern(r"#\[ignore\b|#\[cfg\((?:any\(\)|FALSE|false|never|disabled)\)\]"),
    Language.JAVA: pattern(r"@(?:\w+\.)*(?:Disabled|Ignore)\b|@Test\([^)]{0,200}enabled\s*=\s*false"),
    Language.GO: pattern(r"^(?:X|P)It$"),
    Language.RUBY: pattern(
        r"^(?:x(?:it|specify|example|scenario)|pending|skip)\b|(?:^|\s)(?::skip|:pending|(?:skip|pending): ?(?:true\b|[\"']))"
    ),
    Language.CSHARP: pattern(r"\bIgnore\b|\b(?:Fact|Theory)\(.{0,200}?\bSkip\s*=(?!.*\bSkip(?:Unless|When)\s*=)"),
    Language.PHP: pattern(r"->(?:skip|todo)\(\s*(?:[\"'].*)?\)"),
    Language.KOTLIN: pattern(r"@(?:\w+\.)*(?:Disabled|Ignored?)\b|^x(?:test|it|should|expect|scenario)\b"),
    **dict.fromkeys(
        SCRIPT_LANGUAGES,
        pattern(
            r"^x(?:it|test|specify)\b|^\w+(?:\.\w+){0,3}\.(?:skip|fixme|todo)\b|\.(?:skipIf\((?:true|1)\)|runIf\((?:false|0)\)|(?:each|for)\(\[\]\))"
        ),
    ),
}
_CALLS: Final = {
    Language.PYTHON: pattern(
        r"(?:pytest\.skip|self\.skipTest|pytest\.xfail)\(|raise (?:unittest\.)?SkipTest\b|raise (?:pytest|unittest)\.(?:skip|case)\.\w+|raise pytest\.skip\b"
        r"|if (?:True|1):\s*(?:pytest\.skip|self\.skipTest)\("
    ),
    Language.GO: pattern(r"(?:if true \{\s*)?\w+\.Skip(?:f|Now)?\("),
    Language.JAVA: pattern(
        r"(?:Assumptions?\.|Assume\.)?(?:assumeTrue\((?:\"[^\"]*\", ?)?false\b|assumeFalse\((?:\"[^\"]*\", ?)?true\b|abort\()|throw new (?:SkipException|TestAbortedException)\b"
    ),
    **dict.fromkeys(SCRIPT_LANGUAGES, pattern(r"(?:return )?(?:this|t|ctx|context|task)\.(?:skip|todo)\(")),
    Language.RUBY: pattern(r"(?:skip|pending)(?:$|[( ](?!.*\b(?:if|unless)\b))"),
    Language.CSHARP: pattern(r"Assert\.(?:Ignore|Inconclusive|Skip)\("),
    Language.PHP: pattern(r"(?:\$this->|self::|static::)markTest(?:Skipped|Incomplete)\("),
    Language.KOTLIN: pattern(r"(?:Assumptions?\.|Assume\.)?(?:assumeTrue\(false\b|assumeFalse\(true\b)"),
}
_SET_ASIDE: Final = pattern(r"^\s*(?:\w+(?:\.\w+){0,3}\.todo\(|#\[ignore\b)")
"""`test.todo` announces a test, and every report of a run counts it; what Rust ignores, `cargo test -- --ignored` runs."""
_LIVE: Final = pattern(
    r"(?:(?:^|_|\b)(?i:live|manual|e2e|end_?to_?end|integration|smoke)|(?<=[a-z])(?:Live|Manual|E2E|EndToEnd|Integration|Smoke))(?![a-z])"
)
"""The name of a test that needs a service or a person: its author starts it by hand."""
_FAILS: Final = pattern(r"\b(?:flak(?:y|ey)|broken|fail(?:s|ing|ed)?|unstable)\b", re.IGNORECASE)
_MEASURES: Final = pattern(r"perf(?:ormance)?(?:_|[A-Z]|\b)|bench|timing|by hand|manual", re.IGNORECASE)
_FARTHEST: Final = 12
_MAY_FAIL: Final = pattern(
    r"@(?:pytest\.)?mark\.xfail(?!\([^)]{0,200}strict=True)|@(?:unittest\.)?expectedFailure|\.(?:failing|fails)\b"
)


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Remove the skip at {place}, and make the test pass.",
    settled_by=SettlingLine.ANY,
)
def new_test_skipped(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test that is skipped on every machine, without a reason: of the change no test runs, or its mark names a failure.

    None in a file that skipped tests before.

    Why it matters: It stands in the diff as a proof, and no run executes it.
    Example: `@pytest.mark.skip` above a new test.
    False alarms: 2 of 22175 clean changes with tests (0.0 %, at most 0.03 %).
    """
    for pair, line in _find_skipped(change):
        if not _is_accounted_for(pair, line, change):
            note = f"the new test `{pair.test.name}` is skipped everywhere"
            yield SignalMatch(note, pair.file.path, line, max(line, pair.test.first_line))


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.ANY)
def new_test_may_fail(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test that is marked as failing, or skipped beside tests that run or for a reason: it may fail unseen.

    Why it matters: A test that may fail proves nothing about the change that adds it.
    Example: `@pytest.mark.xfail` above a new test.
    False alarms: 76 of 22175 clean changes with tests (0.3 %, at most 0.43 %).
    """
    for pair in find_test_pairs(change):
        if pair.is_new and _MAY_FAIL.search(select_unconditional_marks(pair.test)):
            note = f"the new test `{pair.test.name}` is marked as failing"
            yield SignalMatch(note, pair.file.path, pair.test.first_line, pair.test.first_line)
    for pair, line in _find_skipped(change):
        if _is_accounted_for(pair, line, change):
            note = f"the new test `{pair.test.name}` is skipped"
            yield SignalMatch(note, pair.file.path, line, max(line, pair.test.first_line))


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Rename the test at {place}, so that all tests of this file run.",
    settled_by=SettlingLine.ANY,
)
def test_shadowed(change: CodeChange) -> Iterator[SignalMatch]:
    """Two tests of one name in one place: only the last one runs, and this change adds one to those that had the name before.

    Why it matters: Python keeps only the last definition, so the other tests of that name are lost without a word.
    Example: Two functions `test_load` in one file.
    False alarms: 7 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    files = [file for file in change.files if file.language is Language.PYTHON and can_hold_tests(file)]
    whole = [(file, source) for file in files for source in file.sources if source.is_whole]
    for file, source in whole:
        before = Counter(test.key for source in base_sources(file) for test in find_tests(source))
        tests = [test for test in find_tests(source) if test.function.scope is not FunctionScope.BRANCH]
        for key, times in Counter(test.key for test in tests).items():
            same = [test for test in tests if times > max(1, before[key]) and test.key == key]
            same = [test for test in same if "overload" not in test.marks]
            # a decorator keeps the first one: a property and its setter, a registered handler
            is_kept = any(
                "@" in test.marks and "mark." not in test.marks and "patch" not in test.marks for test in same
            )
            if not is_kept and any(test.first_line in file.added_lines for test in same):
                yield _build_match(file, same)


@memoized
def _find_skipped(change: CodeChange) -> tuple[tuple[TestPair, int], ...]:
    """New tests that are skipped, and the line that does it."""
    skipped: list[tuple[TestPair, int]] = []
    for pair in (pair for pair in find_test_pairs(change) if pair.is_new):
        test, line = pair.test, _find_skip_line(pair.test)
        text = f"{test.name} {test.marks} {' '.join(map(text_of, test.function.comments))}"
        # it runs something and checks nothing: it is started by hand, to measure its time
        is_measured = len(test.function.statements) > 1 and not pair.assertions and _MEASURES.search(text) is not None
        if line is not None and line in pair.file.added_lines and not is_measured:
            skipped.append((pair, line))
    return tuple(skipped)


def _is_accounted_for(pair: TestPair, line: int, change: CodeChange) -> bool:
    """Whether it is beside tests that run, has a reason, is left to write, disables an inherited test, or has its own command."""
    test = pair.test
    if _has_older_skips(pair.file) or is_removal_declared(change, test):
        return True
    lines, first = test.source.lines, test.source.first_line
    text, above = lines[line - first], lines[max(0, line - first - 1) : line - first]
    comments = [note for note in above if note.strip().startswith(("#", "//")) and "#[" not in note]
    # from the skip to the name of the test: the subject of the test is no reason to skip it
    marks = lines[line - first : max(line - first + 1, test.first_line - first)]
    if any(map(has_issue_link, (*comments, *marks, *map(text_of, test.function.comments)))):
        return True
    if has_reason(pair.file, line) or _SET_ASIDE.search(text):
        return True
    if is_inherited_test_disabled(test) or _LIVE.search(test.name):
        return True
    return _has_running_tests(change) and _FAILS.search(text.replace(test.name, "")) is None


@memoized
def _has_running_tests(change: CodeChange) -> bool:
    """Whether the change adds or changes a test that runs: one that does not is left for later."""
    return any(_find_skip_line(pair.test) is None for pair in find_test_pairs(change))


@memoized
def _has_older_skips(file: AnalyzedFile) -> bool:
    """Whether tests of this file were skipped before: the repository has its way to return to them."""
    return any(_find_skip_line(test) is not None for source in base_sources(file) for test in find_tests(source))


def _find_skip_line(test: Test) -> int | None:
    language, source = test.source.language, test.source
    mark, call = _MARKS[language], _CALLS.get(language)
    if mark.search(select_unconditional_marks(test)) and not is_conditional_callback(test):
        row = test.first_line - source.first_line
        near = range(row, max(-1, row - _FARTHEST), -1)
        return next((at + source.first_line for at in near if mark.search(source.lines[at].strip())), test.first_line)
    if language in SCRIPT_LANGUAGES and (suite := find_skipped_suite(test.node)) is not None:
        return test.function.line_of(suite)
    first = next(iter(test.function.statements), None)
    is_skip = call is not None and first is not None and call.match(text_of(first))
    return test.function.line_of(first) if first is not None and is_skip else None


def _build_match(file: AnalyzedFile, same: list[Test]) -> SignalMatch:
    name, last = same[0].name, max(test.first_line for test in same if test.first_line in file.added_lines)
    *others, end = [str(test.first_line) for test in same]
    lines = f"{', '.join(others)} and {end}"
    note = f"`{name}` is defined {len(same)} times, at lines {lines}, and only the last one runs"
    step = f"Rename all but one of the definitions of `{name}` at lines {lines} of {file.path}, so that all tests of this file run."
    if all(test.lines == same[-1].lines for test in same):
        step = f"Keep one of the definitions of `{name}` at lines {lines} of {file.path}, and delete what repeats it."
    return SignalMatch(note, file.path, last, last, step=step)
