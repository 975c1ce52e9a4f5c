"""Existing tests that are switched off: skipped without a condition, or left out because only others run.

New tests that are skipped belong to the weak tests. Invariant: a condition of any kind (platform, version, a missing
tool) is an honest skip, and none of these.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff.parser import DiffLine
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.conditional_skips import (
    find_skipped_suite,
    is_conditional_skip,
    select_unconditional_marks,
)
from worker.signals.analysis.declared_removals import is_removal_declared
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.reverts import is_certain_revert
from worker.signals.analysis.skip_reasons import has_reason
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.test_data import modifiers_of
from worker.signals.analysis.tests import (
    MatchedTest,
    Test,
    can_hold_tests,
    has_forbidden_path,
    has_issue_link,
    match_all_tests,
)
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node
from worker.dossier.diff.parser import Hunk, LineKind

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
"""What stands above or at a test, and switches it off whatever the circumstances."""
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
"""What switches a whole file off, where it stands at the left margin."""
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
    {
        "decorated_definition",
        "class_definition",
        "function_definition",
        "method_declaration",
        "class_declaration",
        "function_item",
        "mod_item",
    }
    | {"call_expression"}
)
_MORE_SCOPES: Final = _SCOPES | {
    "method",
    "call",
    "class",
    "function_declaration",
    "function_call_expression",
    "object_declaration",
}
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
"""Between the marks of a test, which may stand on one line."""
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

    False alarms: 20 of 22175 clean changes with tests (0.1 %, at most 0.14 %).
    """
    for off in change.cached(_all_disabled_tests):
        if not off.is_explained:
            yield SignalMatch(f"the test `{off.name}`, which ran before, is switched off", off.file.path, off.line)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.TESTS)
def test_disabled_explained(change: CodeChange) -> Iterator[SignalMatch]:
    """A test that ran before is skipped with a reason, beside a new test of its file, or as its text, the issue or the title asks.

    Or it is expected to fail, and so still runs, or Rust ignores it until a command asks for what is ignored.

    False alarms: 40 of 22175 clean changes with tests (0.2 %, at most 0.25 %).
    """
    for off in change.cached(_all_disabled_tests):
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

    False alarms: 3 of 22175 clean changes with tests (0.0 %, at most 0.04 %).
    """
    for file in _test_files(change):
        is_about_it = any(map(has_forbidden_path, file.sources)) or _is_only_everywhere(file)
        only = None if file.language is None or is_about_it else _ONLY_MARK.get(file.language)
        lines = (
            file.diff.added_lines_matching(lambda text, only=only: only.match(text[:_LONGEST]))
            if only is not None
            else ()
        )
        for line in lines[:_MOST]:
            if not _is_old(line, change) and not _is_quoted(file, line) and not _is_conditional(file, line):
                yield SignalMatch(
                    "only this is left to run, the other tests around it are not", file.path, line.head_line
                )


def _is_only_everywhere(file: AnalyzedFile) -> bool:
    """Every test of a whole script bears such a mark: `.only` counts within its file."""
    if file.language not in SCRIPT_LANGUAGES or file.head_text is None:
        return False
    return not any(_UNMARKED.match(line[:_LONGEST]) for line in file.head_text.split("\n"))


def _test_files(change: CodeChange) -> Iterator[AnalyzedFile]:
    return (file for file in change.files if can_hold_tests(file))


def _is_old(line: DiffLine, change: CodeChange) -> bool:
    """It stood there before, and was only moved or indented."""
    return line.text.strip() in change.removed_texts


def _is_quoted(file: AnalyzedFile, line: DiffLine) -> bool:
    """A test of a test tool holds tests in strings; a constraint of Go stands in a comment by right."""
    is_constraint = file.language is Language.GO and line.text.startswith("//")
    return line.head_line is not None and not is_constraint and file.is_quoted(line.head_line)


def _is_conditional(file: AnalyzedFile, line: DiffLine) -> bool:
    number = line.head_line or 0
    return any(is_conditional_skip(source, number) for source in file.sources if source.has_line(number))


def _all_disabled_tests(change: CodeChange) -> tuple[_DisabledTest, ...]:
    return () if is_certain_revert(change) else tuple(_find_disabled(change))


def _find_disabled(change: CodeChange) -> Iterator[_DisabledTest]:
    for file in _test_files(change):
        lines = file.diff.added_lines_matching(lambda text, file=file: _can_disable(text, file))[:_MOST]
        if not lines:
            continue
        ran = [pair.head for pair in match_all_tests(change) if pair.file is file and pair.head and _was_running(pair)]
        for line in lines:
            if line.head_line is None or _is_old(line, change) or _is_quoted(file, line):
                continue
            if _is_conditional(file, line) or _was_disabled(file, line):
                continue
            test = _find_disabled_test(line.head_line, file, ran)
            name = test.name if test is not None else _find_in_hunk(line, file)
            if name is not None:
                yield _DisabledTest(file, line.head_line, name, _is_explained(line, file, test, change))


def _was_disabled(file: AnalyzedFile, line: DiffLine) -> bool:
    """The hunk takes as many such lines away as it adds: what was off before got another name."""
    hunk = next(hunk for hunk in file.diff.hunks if line in hunk.lines)
    off = [other for other in hunk.lines if _can_disable(other.text, file)]
    return sum(other.base_line is None for other in off) <= sum(other.head_line is None for other in off)


def _is_explained(line: DiffLine, file: AnalyzedFile, test: Test | None, change: CodeChange) -> bool:
    """It was foreseen or asked for, means some machines only, has a new test beside it, says why, or still runs."""
    text = line.text.strip()
    if _STILL_RUNS.search(text) or has_reason(file, line.head_line or 0):
        return True
    if any(match[1] == text for match in map(_COMMENTED.fullmatch, file.diff.removed_texts) if match is not None):
        return True
    if (
        any(pair.file is file and pair.base is None for pair in match_all_tests(change))
        or _has_link(line.head_line or 0, file)
        or is_removal_declared(change, test)
        or any(map(_DEPRECATES.match, file.diff.added_texts))
    ):
        return True
    if test is None:
        return False
    docstring = test.function.docstring
    is_foreseen = _FORESEES.search(docstring) is not None and docstring in (file.base_text or "")
    return is_foreseen or _CONDITION.search(test.marks) is not None


def _has_link(number: int, file: AnalyzedFile) -> bool:
    """Whether the line, or a comment right above it, names an address or an issue."""
    return any(
        has_issue_link(text)
        for source in file.sources
        if source.has_line(number)
        for text in _lines_near(number, source)
    )


def _lines_near(number: int, source: Source) -> tuple[str, ...]:
    row = number - source.first_line
    above = source.lines[max(0, row - _NEAR) : row]
    comments = (line for line in above if line.strip().startswith(("#", "//", "*", "/*")) and "#[" not in line)
    return (source.lines[row], *comments)


def _find_in_hunk(line: DiffLine, file: AnalyzedFile) -> str | None:
    if file.head_text is not None or any(_can_disable(other, file) for other in file.diff.removed_texts):
        return None
    return find_skipped_in_hunk(line, file)


def _can_disable(text: str, file: AnalyzedFile) -> bool:
    if file.language is None or len(text) > _LONGEST:
        return False
    for looks in (_MARK, _CALL, _FILE_MARK):
        look = looks.get(file.language)
        if look is not None and look.match(text):
            return True
    return False


def _find_disabled_test(line: int, file: AnalyzedFile, ran: list[Test]) -> Test | None:
    """The first test that ran before and that this line of the head switches off."""
    source = next((candidate for candidate in file.sources if candidate.has_line(line)), None)
    if source is None or file.language is None:
        return None
    text = source.lines[line - source.first_line]
    whole, is_mark = _FILE_MARK.get(file.language), _MARK[file.language].match(text) is not None
    if whole is not None and whole.match(text):
        span = (0, source.first_line + len(source.lines))
    else:
        span = _find_marked_lines(line, source) if is_mark else (line, line)
    there = (test for test in ran if test.source is source)
    if span == (line, line) and not is_mark:
        return next((test for test in there if _ends_body(line, test)), None)
    return next((test for test in there if span is not None and span[0] <= test.first_line <= span[1]), None)


def _was_running(pair: MatchedTest) -> bool:
    """It was there before, and ran."""
    test = pair.base
    return test is not None and pair.head is not None and _is_same(test, pair.head) and was_enabled(test)


def was_enabled(test: Test) -> bool:
    """Whether nothing switched off this test of the base, nor what it stands in."""
    language = test.source.language
    mark, call = _MARK[language], _CALL[language]
    if language in SCRIPT_LANGUAGES and find_skipped_suite(test.node) is not None:
        return False
    marks = (select_unconditional_marks(test), *(modifiers_of(ancestor) for ancestor in ancestors(test.function.node)))
    is_marked = any(mark.match(part) for text in marks for part in _MARK_BORDER.split(text))
    return not is_marked and not any(call.match(f" {text_of(statement)}") for statement in test.function.statements[:1])


def _is_same(base: Test, head: Test) -> bool:
    """The same name, or two thirds of its lines: what was paired by its place alone may be another test."""
    before, now = _telling_lines(base), _telling_lines(head)
    return base.name == head.name or 3 * len(before & now) >= 2 * len(before) > 0


def _telling_lines(test: Test) -> frozenset[str]:
    """Its lines, but for closing brackets."""
    return frozenset(line.strip() for line in test.text.split("\n")[1:] if line.strip("\t )}];,"))


def _find_marked_lines(line: int, source: Source) -> tuple[int, int] | None:
    """First and last line of what the mark on this line belongs to."""
    text = source.lines[line - source.first_line]
    row, column = line - source.first_line, len(text) - len(text.lstrip())
    node = source.root.descendant_for_point_range((row, column), (row, column + 1))
    ends_up = _MORE_SCOPES if source.language in MORE_LANGUAGES else _SCOPES
    while node is not None and node.type not in ends_up:
        node = _node_below(node) if node.type == "attribute_item" else node.parent
    if node is None:
        return None
    return node.start_point.row + source.first_line, node.end_point.row + source.first_line


def _node_below(node: "Node") -> "Node | None":
    """What a Rust attribute stands above."""
    after = node.next_named_sibling
    while after is not None and (after.type == "attribute_item" or "comment" in after.type):
        after = after.next_named_sibling
    return after


def _ends_body(line: int, test: Test) -> bool:
    """Whether the body's own first statement on this line ends the test: not one in a branch, and more stands below it."""
    statements = test.function.statements
    at = next(
        (n for n, statement in enumerate(statements) if statement.start_point.row + test.source.first_line == line),
        None,
    )
    return at is not None and at < _EARLY_STATEMENTS and at < len(statements) - 1


def find_skipped_in_hunk(line: DiffLine, file: AnalyzedFile) -> str | None:
    """The name of the test that stood there before and that this added line skips."""
    if file.language is None or file.language in SCRIPT_LANGUAGES or file.language is Language.RUBY:
        return _find_unskipped(line, file)
    hunk = next(other for other in file.diff.hunks if line in other.lines)
    defines = _DEFINES[file.language]
    head = [line for line in hunk.lines if line.kind is not LineKind.REMOVED]
    at = head.index(line)
    is_mark = line.text.lstrip().startswith(("@", "#[", "["))
    near = head[at + 1 : at + 1 + _MOST_NEAR] if is_mark else _lines_above(head, at, hunk)
    for other in near:
        match = defines.match(other.text)
        if match is not None:
            return next(filter(None, match.groups())) if other.kind is LineKind.CONTEXT else None
        if not is_mark and not _TRIVIAL_LINE.match(other.text):
            return None
    return None


def _lines_above(head: list[DiffLine], at: int, hunk: Hunk) -> list[DiffLine]:
    """The lines above, nearest first, and the one that git prints behind the second @@."""
    section = DiffLine(LineKind.CONTEXT, hunk.section, None, None)
    return [*reversed(head[max(0, at - _MOST_NEAR) : at]), section]


def _find_unskipped(line: DiffLine, file: AnalyzedFile) -> str | None:
    plain = _UNSKIPPED.sub(lambda match: match[1] or "", line.text, count=1).strip()
    title = _TITLE.search(plain)
    before = {line.text.strip() for line in file.diff.removed_lines}
    return title[1] if title is not None and plain != line.text.strip() and plain in before else None
