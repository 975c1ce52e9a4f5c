"""Existing tests that are switched off: skipped without a condition, or left out because only others run.

A condition of any kind (platform, version, a missing tool) is an honest skip. Where the whole file is not known, its tests can't
be parsed, and the hunk has to show the existing line that makes the test.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff import DiffLine, LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, is_certain_revert, memoized
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.test_pairs import (
    find_skipped_suite,
    has_reason,
    is_conditional_skip,
    is_removal_declared,
    match_all_tests,
    select_unconditional_marks,
)
from worker.signals.analysis.tests import Test, can_hold_tests, has_forbidden_path, has_issue_link, modifiers_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_SUITE: Final = r"(?:it|test|describe|suite|context|specify|bench)"
_MARK: Final = {
    Language.PYTHON: pattern(
        r"\s*@(?:pytest\.)?mark\.(?:skip\b|skipif\b|parametrize\(\s*(?:[\"'][^\"']{1,80}[\"']|[(\[][^()\[\]]{1,80}[)\]]), ?(?:\[\]|\(\))\s*[,)]|xfail\b)"
        r"|\s*@(?:unittest\.)?(?:skip\(|skipIf\(|skipUnless\(|expectedFailure\b)|\s*@skip\b",
        needs=("@",),
    ),
    Language.RUST: pattern(r"\s*#\[(?:ignore\b|cfg\((?:any\(\)|FALSE|false|never|disabled)\))"),
    Language.JAVA: pattern(r"\s*@(?:\w+\.){0,6}(?:Disabled|Ignore)\b(?!\w)|.*@Test\(.*\benabled\s*=\s*false"),
    **dict.fromkeys(
        SCRIPT_LANGUAGES,
        pattern(
            rf"\s*(?:{_SUITE}(?:\.\w+)?\.(?:skip|todo|fixme|fails|failing)\b(?!If)|x(?:it|test|describe|context|specify)\b)\s*[(.<]"
            rf"|\s*{_SUITE}(?:\.\w+)?\.(?:skipIf\((?:true|1)\)|runIf\((?:false|0)\)|(?:each|for)\(\[\]\))"
        ),
    ),
    Language.GO: pattern(r"\s*(?:X|P)(?:It|Describe|Context|Specify|When)\("),
    Language.RUBY: pattern(
        r"\s*(?:x(?:it|describe|context|specify|example|feature|scenario)|pending)\b\s*[({\"']|\s*(?:it|specify|example|describe|context|scenario)\b.{1,200}?,\s*(?::skip\b|skip: ?(?:true|[\"'])|:pending\b|pending: ?(?:true|[\"']))"
    ),
    Language.CSHARP: pattern(
        r"\s*\[(?:\w+, ?){0,3}(?:\w+\.)*(?:Ignore\b(?!\()|Ignore\(|\w*(?:Fact|Theory)\(.{0,200}?\bSkip\s*=(?!.*\bSkip(?:Unless|When)\s*=))"
    ),
    Language.PHP: pattern(r".*\)\s*->(?:skip|todo)\(\s*(?:[\"'].*)?\)"),
    Language.KOTLIN: pattern(
        r"\s*@(?:\w+\.){0,6}(?:Disabled|Ignored?)\b|\s*x(?:test|it|should|describe|context|expect|scenario|given)\(|.*\.config\(enabled = false"
    ),
}
"""Marks above or at a test that switch it off unconditionally."""
_CALL: Final = {
    Language.PYTHON: pattern(
        r"\s+(?:pytest\.(?:skip|xfail)\(|self\.skipTest\(|raise (?:unittest\.)?SkipTest\b|raise pytest\.skip\b|return(?:\s+None)?\s*(?:#.*)?$)"
    ),
    Language.GO: pattern(r"\s+(?:[tbs]\.(?:Skip|Skipf|SkipNow)\(|return\s*(?://.*)?$)"),
    Language.JAVA: pattern(
        r"\s+(?:Assumptions?\.|Assume\.)?(?:assumeTrue\(\s*false|assumeFalse\(\s*true|abort\()|\s+return;"
    ),
    Language.RUST: pattern(r"\s+return(?:\s+Ok\(\(\)\))?;"),
    Language.RUBY: pattern(r"\s+(?:(?:skip|pending)\b(?!.*\b(?:if|unless)\b)(?=\s*(?:$|[(\"']))|return\s*(?:#.*)?$)"),
    Language.CSHARP: pattern(r"\s+(?:Assert\.(?:Ignore|Inconclusive|Skip)\(|return;)"),
    Language.PHP: pattern(r"\s+(?:(?:\$this->|self::|static::)markTest(?:Skipped|Incomplete)\(|return;)"),
    Language.KOTLIN: pattern(
        r"\s+(?:(?:Assumptions?\.|Assume\.)?(?:assumeTrue\(\s*false|assumeFalse\(\s*true)|return\s*(?://.*)?$)"
    ),
    **dict.fromkeys(SCRIPT_LANGUAGES, pattern(r"\s+(?:(?:this|t|ctx|context)\.(?:skip|todo)\(|return;?\s*(?://.*)?$)")),
}
"""A first statement of the body that ends the test."""
_FILE_MARK: Final = {
    Language.PYTHON: pattern(
        r"(?:pytestmark\s*=\s*\[?\s*(?:pytest\.)?mark\.skip\b(?!if)|pytest\.skip\(|__test__\s*=\s*False|raise (?:unittest\.)?SkipTest\b)"
    ),
    Language.GO: pattern(r"//\s*\+build (?:ignore|never|disabled|skip)\b|//go:build (?:ignore|never|disabled|skip)\b"),
    Language.RUST: pattern(r"#!\[cfg\((?:any\(\)|FALSE|false|never|disabled)\)"),
}
"""What switches a whole file off at its left margin."""
_ONLY_MARK: Final = {
    **dict.fromkeys(
        SCRIPT_LANGUAGES, pattern(rf"\s*(?:{_SUITE}(?:\.\w+)?\.only|f(?:it|describe|test|context))\s*[(.<]")
    ),
    Language.GO: pattern(r"\s*F(?:It|Describe|Context|Specify|When|Entry)\("),
    Language.RUBY: pattern(
        r"\s*f(?:it|describe|context|specify|example|feature|scenario)\b\s*[({\"']|\s*(?:it|describe|context|specify)\b.{1,200},\s*(?::focus\b|focus: ?true)"
    ),
    Language.PHP: pattern(r".*\)\s*->only\(\)"),
    Language.KOTLIN: pattern(r"\s*(?:fun )?f(?:test|it|should|describe|context)\(\""),
}
_SCOPES: Final = frozenset(
    {"decorated_definition", "class_definition", "function_definition", "method_declaration", "class_declaration"}
    | {"function_item", "mod_item", "call_expression"}
)
_MORE_SCOPES: Final = _SCOPES | frozenset(
    {"method", "call", "class", "function_declaration", "function_call_expression", "object_declaration"}
)
_UNMARKED: Final = pattern(r"\s*(?:it|test|specify)(?:\.(?:each|for|concurrent|failing|fails)\b[^(]{0,80})?\s*[(`]")
_COMMENTED: Final = pattern(r"\s*(?:#|//)\s*(\S.{0,300}?)\s*")
_STILL_RUNS: Final = pattern(
    r"\bmark\.xfail\b(?!.*\brun\s*=\s*False)|\bexpectedFailure\b|\.(?:fails|failing)\b|#\[ignore\b"
)
_DEPRECATES: Final = pattern(r"\s*@Deprecated\b")
_FORESEES: Final = pattern(r"\bskip(?:ped|s)?\b|\bdisabled?\b", 2)
_CONDITION: Final = pattern(r"\bmark\.skip\(\s*(?!reason\b|allow_|[rbfu]{0,2}[\"'])[A-Za-z_(]")
"""`skip` was written, and `skipif` was meant."""
_NEAR: Final = 3
_LONGEST: Final = 500
_MOST: Final = 100
"""Lines of a file that may switch something off."""
_MARK_BORDER: Final = pattern(r"\n|(?<=[\s)\]])(?=@|#\[)")
"""Between the marks of a test, which may share a line."""
_EARLY_STATEMENTS: Final = 2
"""A skip that is reached after the test did its work hides nothing."""
_DEFINES: Final = {
    Language.PYTHON: pattern(r"\s*(?:async\s+)?def (test\w*)\(|\s*class (Test\w*|\w+Tests?)\b"),
    Language.GO: pattern(r"func (?:\([^)]{0,80}\) )?((?:Test|Fuzz)\w*)\("),
    Language.RUST: pattern(r"\s*(?:pub )?(?:async )?fn (\w+)\("),
    Language.JAVA: pattern(r"\s*(?:public |protected |private |final |static )*(?:void|class) (\w+)\b"),
    Language.CSHARP: pattern(
        r"\s*(?:public |protected |private |internal |sealed |static |async )*(?:void|Task|ValueTask|class) (\w+)\b"
    ),
    Language.PHP: pattern(r"\s*(?:public |final |static )*function (test\w*|it_\w+)\("),
    Language.KOTLIN: pattern(r"\s*(?:internal |private |suspend )*(?:fun|class) `?([^`(]{1,120})`?"),
}
_UNSKIPPED: Final = pattern(r"\.(?:skip|todo|fixme)\b|^(\s*)x(?=(?:it|test|describe|context|specify)\b)")
_TITLE: Final = pattern(r"[\"'`](.{1,80}?)[\"'`]")
_TRIVIAL_LINE: Final = pattern(r"\s*(?:#|//|/?\*|@|\"\"\".*\"\"\"\s*$|$)")
_MOST_NEAR: Final = 30


class _DisabledTest(NamedTuple):
    """A test that is switched off, and the line that does it."""

    file: AnalyzedFile
    line: int
    name: str
    is_explained: bool


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Remove what switches the test off at {place}, and make the code pass it.",
)
def test_disabled(change: CodeChange) -> Iterator[SignalMatch]:
    """A test that ran before the change is skipped without a condition and a reason, by a mark, a call or an early return.

    Why it matters: The failure that the test would show stays in the code.
    Example: `+@pytest.mark.skip` above a test that ran before.
    False alarms: 20 of 22175 clean changes with tests (0.1 %, at most 0.14 %).
    """
    for off in _find_disabled(change):
        if not off.is_explained:
            yield SignalMatch(f"the test `{off.name}`, which ran before, is switched off", off.file.path, off.line)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.TESTS)
def test_disabled_explained(change: CodeChange) -> Iterator[SignalMatch]:
    """A test that ran before is skipped with a reason, beside a new test of its file, or as its text, the issue or the title asks.

    Or it is expected to fail, and so still runs, or Rust ignores it until a command asks for what is ignored.

    Why it matters: The test no longer guards the code, whatever the reason.
    Example: `+@pytest.mark.skip(reason='see #71')` above a test that ran before.
    False alarms: 40 of 22175 clean changes with tests (0.2 %, at most 0.25 %).
    """
    for off in _find_disabled(change):
        if off.is_explained:
            yield SignalMatch(f"the test `{off.name}`, which ran before, may be switched off", off.file.path, off.line)


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Remove the mark at {place} that leaves only this to run, so that all tests run.",
)
def test_only(change: CodeChange) -> Iterator[SignalMatch]:
    """A new `.only`, `fit` or the like: of all tests around it, this one alone still runs.

    None beside a test that fails by saying that it must not run, none in one of two branches, and none in a script without another test.

    Why it matters: CI runs one test and reports that all of them passed.
    Example: `it.only('adds', () => {`.
    False alarms: 3 of 22175 clean changes with tests (0.0 %, at most 0.04 %).
    """
    for file in filter(can_hold_tests, change.files):
        mark = None if file.language is None else _ONLY_MARK.get(file.language)
        if mark is None or any(map(has_forbidden_path, file.sources)):
            continue
        lines = (file.head_text or "").split("\n") if file.language in SCRIPT_LANGUAGES else []
        if file.head_text is not None and lines and not any(_UNMARKED.match(line[:_LONGEST]) for line in lines):
            continue  # every test of a whole script has such a mark, and `.only` counts within its file
        lines = file.diff.added_lines_matching(lambda text, mark=mark: mark.match(text[:_LONGEST]))
        for line in lines[:_MOST]:
            if not _is_old(line, change) and not _is_quoted(file, line) and not _is_conditional(file, line):
                note = "only this is left to run, the other tests around it are not"
                yield SignalMatch(note, file.path, line.head_line)


def _is_old(line: DiffLine, change: CodeChange) -> bool:
    """Whether it was only moved or indented."""
    return line.text.strip() in change.removed_texts


def _is_quoted(file: AnalyzedFile, line: DiffLine) -> bool:
    """Whether it is part of a string or a comment, where a constraint of Go belongs."""
    is_constraint = file.language is Language.GO and line.text.startswith("//")
    return line.head_line is not None and not is_constraint and file.is_quoted(line.head_line)


def _is_conditional(file: AnalyzedFile, line: DiffLine) -> bool:
    number = line.head_line or 0
    source = file.source_at(number)
    return source is not None and is_conditional_skip(source, number)


@memoized
def _find_disabled(change: CodeChange) -> tuple[_DisabledTest, ...]:
    disabled: list[_DisabledTest] = []
    for file in () if is_certain_revert(change) else filter(can_hold_tests, change.files):
        lines = file.diff.added_lines_matching(lambda text, file=file: _can_disable(text, file))[:_MOST]
        if not lines:
            continue
        pairs = (pair for pair in match_all_tests(change) if pair.file is file)
        ran = [test for base, test, _ in pairs if base and test and _is_same(base, test) and was_enabled(base)]
        for line in lines:
            if line.head_line is None or _is_old(line, change) or _is_quoted(file, line) or _is_conditional(file, line):
                continue
            hunk = next(hunk for hunk in file.diff.hunks if line in hunk.lines)
            marks = [other for other in hunk.lines if _can_disable(other.text, file)]
            if sum(other.base_line is None for other in marks) <= sum(other.head_line is None for other in marks):
                continue  # it removes as many such lines as it adds: a disabled test was renamed
            test = _find_disabled_test(line.head_line, file, ran)
            name = test.name if test is not None else _find_in_hunk(line, file)
            if name is not None:
                explained = _is_explained(line, file, test, change)
                disabled.append(_DisabledTest(file, line.head_line, name, is_explained=explained))
    return tuple(disabled)


def _is_explained(line: DiffLine, file: AnalyzedFile, test: Test | None, change: CodeChange) -> bool:
    """Whether it was foreseen or asked for, means some machines only, has a new test beside it, gives a reason, or still runs."""
    text, number, removed = line.text.strip(), line.head_line or 0, file.diff.removed_texts
    if (
        _STILL_RUNS.search(text)
        or has_reason(file, number)
        or any(match[1] == text for match in map(_COMMENTED.fullmatch, removed) if match is not None)
        or any(pair.file is file and pair.base is None for pair in match_all_tests(change))
        or any(map(has_issue_link, _lines_near(number, file)))
        or is_removal_declared(change, test)
        or any(map(_DEPRECATES.match, file.diff.added_texts))
    ):
        return True
    if test is None:
        return False
    docstring = test.function.docstring
    is_foreseen = _FORESEES.search(docstring) is not None and docstring in (file.base_text or "")
    return is_foreseen or _CONDITION.search(test.marks) is not None


def _lines_near(number: int, file: AnalyzedFile) -> Iterator[str]:
    """The line, and the comments right above it."""
    for source in (source for source in file.sources if source.has_line(number)):
        row = number - source.first_line
        yield source.lines[row]
        above = source.lines[max(0, row - _NEAR) : row]
        yield from (line for line in above if line.strip().startswith(("#", "//", "*", "/*")) and "#[" not in line)


def _find_in_hunk(line: DiffLine, file: AnalyzedFile) -> str | None:
    """The name of the existing test that this added line of a fragment skips."""
    if file.head_text is not None or any(_can_disable(other, file) for other in file.diff.removed_texts):
        return None
    if file.language is None or file.language in SCRIPT_LANGUAGES or file.language is Language.RUBY:
        plain = _UNSKIPPED.sub(lambda match: match[1] or "", line.text, count=1).strip()
        title, before = _TITLE.search(plain), {text.strip() for text in file.diff.removed_texts}
        return title[1] if title is not None and plain != line.text.strip() and plain in before else None
    hunk = next(hunk for hunk in file.diff.hunks if line in hunk.lines)
    head = [other for other in hunk.lines if other.kind is not LineKind.REMOVED]
    at = head.index(line)
    is_mark = line.text.lstrip().startswith(("@", "#[", "["))
    # a call is below the definition: nearest line first, and last the heading that git prints behind the second @@
    heading = DiffLine(LineKind.CONTEXT, hunk.section, None, None)
    above = [*reversed(head[max(0, at - _MOST_NEAR) : at]), heading]
    for other in head[at + 1 : at + 1 + _MOST_NEAR] if is_mark else above:
        match = _DEFINES[file.language].match(other.text)
        if match is not None:
            return next(filter(None, match.groups())) if other.kind is LineKind.CONTEXT else None
        if not is_mark and not _TRIVIAL_LINE.match(other.text):
            return None
    return None


def _can_disable(text: str, file: AnalyzedFile) -> bool:
    if file.language is None or len(text) > _LONGEST:
        return False
    looks = (marks.get(file.language) for marks in (_MARK, _CALL, _FILE_MARK))
    return any(look is not None and look.match(text) for look in looks)


def _find_disabled_test(line: int, file: AnalyzedFile, ran: list[Test]) -> Test | None:
    """The first test that ran before and that this line of the head switches off."""
    source = file.source_at(line)
    if source is None or file.language is None:
        return None
    text = source.text_at(line)
    tests = (test for test in ran if test.source is source)
    whole = _FILE_MARK.get(file.language)
    if whole is not None and whole.match(text):
        return next(tests, None)
    if not _MARK[file.language].match(text):
        # one of the body's first statements ends the test, with more below it
        early = ((test, test.function.statements[:-1][:_EARLY_STATEMENTS]) for test in tests)
        return next((test for test, first in early if line in map(source.line_of, first)), None)
    span = _find_marked_lines(line, source)
    return next((test for test in tests if span is not None and span[0] <= test.first_line <= span[1]), None)


def was_enabled(test: Test) -> bool:
    """Whether nothing switched off this test of the base, nor its suite."""
    language = test.source.language
    if language in SCRIPT_LANGUAGES and find_skipped_suite(test.node) is not None:
        return False
    marks = (select_unconditional_marks(test), *(modifiers_of(outer) for outer in ancestors(test.function.node)))
    if any(_MARK[language].match(part) for text in marks for part in _MARK_BORDER.split(text)):
        return False
    return not any(_CALL[language].match(f" {text_of(statement)}") for statement in test.function.statements[:1])


def _is_same(base: Test, head: Test) -> bool:
    """Whether name or two thirds of the lines are equal: what was paired by its position alone may be another test."""
    before, now = (
        {line.strip() for line in test.text.split("\n")[1:] if line.strip("\t )}];,")} for test in (base, head)
    )
    return base.name == head.name or 3 * len(before & now) >= 2 * len(before) > 0


def _find_marked_lines(line: int, source: Source) -> tuple[int, int] | None:
    """First and last line of what the mark on this line belongs to."""
    node = source.node_at(line)
    ends_up = _MORE_SCOPES if source.language in MORE_LANGUAGES else _SCOPES
    while node is not None and node.type not in ends_up:
        is_attribute = node.type == "attribute_item"
        node = node.next_named_sibling if is_attribute else node.parent
        while is_attribute and node is not None and (node.type == "attribute_item" or "comment" in node.type):
            node = node.next_named_sibling  # the item that a Rust attribute belongs to
    return None if node is None else (source.line_of(node), node.end_point.row + source.first_line)
