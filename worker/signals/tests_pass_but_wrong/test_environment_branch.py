"""Production code that asks whether tests are running, and then does something else.

Only the condition itself is read, and a name that the same file gives to its answer; calls are not followed. A branch is a fact
only where the asking line is new, names the runner's own mark, and the branch ends the function with a value of its own.
"""

from collections.abc import Iterator
from math import inf
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff import DiffLine
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, memoized
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.syntax import consequence_of, is_comment, register_types, text_of
from worker.signals.analysis.test_pairs import is_explained_above
from worker.signals.signal import UNPARSED_ENDINGS, SignalKind, SignalMatch, SignalScope, signal

_RUNNER: Final = pattern(
    r"\bPYTEST_(CURRENT_TEST|XDIST_WORKER|VERSION|RUN\w*)\b|\bsys\.modules\b.{0,20}[\"'](_?pytest|unittest|nose2?|doctest)\b"
    r"|[\"'](_?pytest|unittest|nose2?|doctest)[\"'] (not )?in sys\.modules|\bsys\.argv\b.{0,40}\b(py\.?test|unittest|nose)"
    r"|[\"'](py\.?test|unittest)[\"'] (not )?in .{0,20}\bsys\.argv\b|\bJEST_WORKER_ID\b|\bVITEST(_WORKER_ID|_POOL_ID|_MODE)?\b"
    r"|\btypeof (jest|vi|vitest|describe|expect|beforeEach)\b|\b__vitest_\w+__\b"
    r"|\bprocess\.argv\b.{0,60}\b(jest|vitest|mocha|ava|jasmine)\b"
    r"|\bNODE_ENV\b[\"'\])]{0,3}\s*[=!]==?\s*[\"'`]test[\"'`]|[\"'`]test[\"'`]\s*[=!]==?\s*.{0,30}\bNODE_ENV\b"
    r"|\btesting\.Testing\(\)|\bflag\.Lookup\(\"test\.|\bos\.Args\b.{0,40}\.test\b|\bcfg!\((not\()?test\b"
    r"|\bsurefire\.|[\"']org\.junit|[\"']org\.testng|\bPHPUNIT_\w+|\bRails\.env\.test\?|\bRAILS_ENV\b.{0,8}==\s*[\"']test"
    r"|\benv::var(_os)?\(\"NEXTEST\w*\"|\bgetStackTrace\(\).{0,120}[\"'][\w.]{0,40}[tT]est\w*[\"']"
    r"|\b(Stack|stack|trace|frames?|Caller)\w*\b.{0,60}[\"'`/](pytest|junit|_test\.go|jest|vitest|unittest)"
)
"""Marks that only a test runner sets, and names of test runners among what is loaded or called."""
_CI: Final = pattern(
    r"(\bgetenv|\benviron(\.get)?|\bprocess\.env|\bDeno\.env\.get|\benv::var(_os)?|\bgetProperty|\bLookupEnv|\bGetenv|\bENV"
    r"|\bGetEnvironmentVariable|\bmeta\.env)[(\[.?\"'`]{1,4}((\w{1,40}_)?(TEST|TESTS|TESTING|UNITTESTS?|CI)(_(MODE|ENV|RUN|RUNNING|RUNNER))?"
    r"|GITHUB_ACTIONS|(JEST|MOCHA|CYPRESS|PLAYWRIGHT|JUNIT|PHPUNIT|RSPEC|NOSE)_?\w*)\b"
    r"|\b(APP|FLASK|DJANGO|RACK|RAILS|NODE|GO|RUST|SPRING|ASPNETCORE)?_?ENV(IRONMENT)?[\"'`\])]{0,3}\s*[=!]==?\s*[\"'`]test(s|ing)?[\"'`]"
    r"|\b(settings|config|app\.config|conf|options)(\.|\[[\"'])(TESTING|IS_TEST|TEST_MODE|testing|is_test|isTest|testMode)\b"
    r"|\b(IS_TEST(ING)?|TEST_MODE|RUNNING_TESTS?|UNDER_TEST|_called_from_test)\b"
)
"""What is true where tests run, and often elsewhere too."""
_HINT: Final = pattern(r"est|nose|typeof |mocha|ava|jasmine|surefire|unit|env|getproperty")
"""Each mark of both kinds holds one of these in small letters; searching the marks takes twenty times as long."""
_TOOL: Final = pattern(
    r"pytest|nextest|jest|vitest|mocha|junit|unittest|nose|karma|testng|phpunit|rspec|tester|testing|test[-_]?(kit|runner|lib)"
)
"""Names of test tools, whose work is asking for tests."""
BRANCHES: Final = register_types(
    {
        Language.PYTHON: ("if_statement", "elif_clause", "conditional_expression"),
        Language.GO: ("if_statement",),
        Language.RUST: ("if_expression",),
        Language.JAVA: ("if_statement", "ternary_expression"),
        Language.RUBY: ("if", "elsif", "if_modifier"),
        Language.CSHARP: ("if_statement",),
        Language.PHP: ("if_statement", "else_if_clause"),
        Language.KOTLIN: ("if_expression",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("if_statement", "ternary_expression")),
    }
)
_RETURNS: Final = frozenset({"return_statement", "return_expression", "throw_statement", "raise_statement", "return"})
_NEGATED: Final = pattern(
    r"!=|(^|[\s(])!|\bnot\b(?!\()|== *(null|nil|None|undefined|\"\"|'')|\bis None\b|is_err\(|isEmpty\(|\bfalse\b|\bFalse\b"
)
_NAMED: Final = pattern(
    r"^\s*(?:(?:export\s+)?(?:const|let|var|private|public|protected|static|final|boolean|bool|pub|def|fn|func|async|function)\s+){0,5}"
    r"(\w{2,60})\s*(?:\(\)|:\s*\w+)?\s*(?::?=|=>|->)"
)
_LINE_BRANCH: Final = pattern(r"\b(if|unless|elsif|when|guard)\b|\?.{1,80}:")
_LONGEST: Final = 500
_RUNNERS: Final = pattern(r"pytest|nextest|jest|vitest|mocha|junit|testng|phpunit|rspec")
"""A test runner looks for itself by right."""
_INNER_TESTS: Final = pattern(r"^[ \t]*#\[cfg\((?:\w+\()?test\b", 8)
_CONDITION: Final = pattern(
    r"\bif\b|\belif\b|\bwhile\b|\breturn\b|\bmatch\b|\bswitch\b|\?|&&|\|\||==|!=|\band\b|\bor\b|\w\s*:?=\s"
)
_BUILD: Final = pattern(
    r"(?:^|/)(?:(?:astro|babel|craco|esbuild|eslint|metro|next|nuxt|postcss|prettier|rollup|rsbuild|rspack|stylelint|svelte"
    r"|tailwind|tsup|vite|vue|webpack)\.config(?:\.\w{1,40})?|\.\w{1,40}rc|gatsby-\w{1,20}|[gG]ulpfile|Gruntfile)\.[cm]?[jt]s$"
)
_IS_OF_THE_RUNNER: Final = pattern(
    r"\bisinstance\(\s*\w+\s*,\s*(?:_?(?:pytest|unittest|doctest|nose)\.|sys\.modules\[[\"']_?(?:pytest|unittest|doctest|nose)[\w.]{0,40}[\"']\]\.)"
)
"""It asks for the type of a value (`isinstance(x, _pytest.fixtures.A)`), not where it runs."""
_WORK: Final = 1
"""Statements behind the branch, at least."""
_NOTHING: Final = pattern(
    r"return\s+(?:None|null|nil|undefined|\"\"|''|\[\]|\{\}|nil, nil|\"\", nil|0|-1|Ok\(\(\)\)|Default::default\(\)|Optional\.empty\(\))"
)
_OF_THE_PLACE: Final = pattern(
    r"(^|_|[a-z])(ci|tty|color|colour|terminal|interactive|prompt|progress|spinner|browser|telemetry|analytic|track|update|upgrade|notif|detect|env|log|report|cache|login|banner|sentry|metric)",
    2,
)
"""Functions that ask where they run, or that have no use in CI."""
_WORD: Final = pattern(r"\w+")
_PRESENCE: Final = pattern(r"!==?\s*(null|nil|undefined|None|\"\"|'')|\bis not None\b|!\s*=\s*null")


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    SignalKind.FACT,
    SignalScope.PRODUCTION,
    "Remove the branch at {place}: the code has to do the same in a test as elsewhere.",
)
def branch_on_test_runner(change: CodeChange) -> Iterator[SignalMatch]:
    """New production code asks for a test runner's own mark, and ends the function with another value where it is there.

    Such marks are `PYTEST_CURRENT_TEST`, `testing.Testing()`, `NODE_ENV === 'test'` and the like. None in a file that asked before,
    and none below a comment that gives a reason.

    Why it matters: What the tests prove is not what users get.
    Example: `if 'pytest' in sys.modules: return 3`.
    False alarms: 0 of 30051 clean changes with production code (0.0 %, at most 0.01 %).
    """
    for file in change.production_files():
        for line in sorted(_find_certain(file, change)):
            yield SignalMatch("the function gives another result when a test runner runs it", file.path, line)


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    SignalKind.FACT,
    SignalScope.PRODUCTION,
    "Remove the early return at {place}: the function has to do its work in CI and under test, too.",
)
def nothing_done_in_ci(change: CodeChange) -> Iterator[SignalMatch]:
    """A function begins with a new branch that returns `null`, `None` or an empty value in CI, and does its work elsewhere.

    What it asks is CI's variable, or one that is named after tests.

    Why it matters: CI proves only that the function can return early.
    Example: `if (process.env.CI) return null;` at the top of a function.
    False alarms: 1 of 30051 clean changes with production code (0.0 %, at most 0.02 %).
    """
    for file in change.production_files():
        for line in sorted(_find_idle_branches(file, change)):
            yield SignalMatch("where CI or tests run, the function returns before it does anything", file.path, line)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def asks_for_test_environment(change: CodeChange) -> Iterator[SignalMatch]:
    """New production code asks whether tests or CI are running: a runner's mark, or a variable named after tests.

    Why it matters: Code that knows that it is tested can behave otherwise in production.
    Example: `if os.environ.get('TESTING'):`.
    False alarms: 40 of 30051 clean changes with production code (0.1 %, at most 0.18 %).
    """
    for file in change.files:
        if file.role is not FileRole.PRODUCTION or (file.language is None and not file.path.endswith(UNPARSED_ENDINGS)):
            continue
        asking = [line for line in _find_candidates(file) if _is_environment_check(line.text[:_LONGEST], file)]
        if not asking or _RUNNERS.search(f"{change.dossier.pull_request.repository}/{file.path}".lower()):
            continue
        head = (file.head_text or "") if file.language is Language.RUST else ""
        tests = _INNER_TESTS.search(head)  # at the end of the file
        last = inf if tests is None else head.count("\n", 0, tests.start()) + 1
        sure = _find_certain(file, change) | _find_idle_branches(file, change) | _find_type_checks(file)
        for line in asking:
            number = line.head_line or 0
            is_comment_line = line.text.lstrip().startswith(("#", "//", "*", "/*")) or file.is_quoted(number)
            if number not in sure and number <= last and not is_comment_line:
                is_runner = _RUNNER.search(line.text[:_LONGEST]) is not None
                what = "asks whether a test runner runs it" if is_runner else "asks for a test environment"
                strength = 1.0 if is_runner else 0.8
                yield SignalMatch(f"production code {what}", file.path, line.head_line, strength=strength)


@memoized
def _find_candidates(file: AnalyzedFile) -> tuple[DiffLine, ...]:
    """Added lines that may hold a mark at all."""
    if not any(_HINT.search(text.lower()) for text in file.diff.added_passages()):
        return ()
    return file.diff.added_lines_matching(lambda text: _HINT.search(text[:_LONGEST].lower()))


def _is_environment_check(text: str, file: AnalyzedFile) -> bool:
    if file.language is None:
        return bool(_LINE_BRANCH.search(text) and (_RUNNER.search(text) or _CI.search(text)))
    return bool(_RUNNER.search(text) or (_CI.search(text) and _CONDITION.search(text)))


def _find_certain(file: AnalyzedFile, change: CodeChange) -> frozenset[int]:
    """Lines of conditions that name a runner's mark, are new, and lead to a result of their own."""
    texts = [line.text[:_LONGEST] for line in _find_candidates(file)]
    asking = [] if _is_allowed_to_check(file, change) else [text for text in texts if _RUNNER.search(text)]
    if not asking or any(_RUNNER.search(line[:_LONGEST]) for line in (file.base_text or "").split("\n")):
        return frozenset()  # a file that asked before has its way to be tested
    names = frozenset(match[1] for match in map(_NAMED.match, asking) if match)
    new = (line for source in file.sources for line in _find_answers(source, names) if line in file.added_lines)
    return frozenset(line for line in new if not is_explained_above(file, line))


def _is_allowed_to_check(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether it is part of a test tool, or configures a build: `babel.config.js` is meant to differ in tests."""
    named = f"{change.dossier.pull_request.repository}/{file.path}".lower()
    return _TOOL.search(named) is not None or _BUILD.search(file.path) is not None


def _find_answers(source: Source, names: frozenset[str]) -> Iterator[int]:
    for node in source.nodes.find(BRANCHES[source.language]):
        condition, then = node.child_by_field_name("condition"), consequence_of(node)
        if condition is None or then is None:
            continue
        text, ends = text_of(condition)[:_LONGEST], map(_unwrap, _statements(then)[-1:])
        has_result = any(end.type in _RETURNS and end.named_child_count for end in ends)
        is_asking = _RUNNER.search(text) or not names.isdisjoint(_WORD.findall(text))
        if has_result and is_asking and not _is_type_check(text) and not _is_negated(text):
            yield source.line_of(condition)


def _find_type_checks(file: AnalyzedFile) -> frozenset[int]:
    """The lines of conditions that ask for the type of a value."""
    lines: set[int] = set()
    for source in file.sources if file.language is Language.PYTHON else ():
        for branch in source.nodes.find(BRANCHES[Language.PYTHON]):
            condition = branch.child_by_field_name("condition")
            if condition is not None and _is_type_check(text_of(condition)):
                last = source.first_line + condition.end_point.row
                lines.update(range(source.line_of(condition), last + 1))
    return frozenset(lines)


def _is_type_check(condition: str) -> bool:
    return _IS_OF_THE_RUNNER.search(" ".join(condition[:_LONGEST].split())) is not None


def _find_idle_branches(file: AnalyzedFile, change: CodeChange) -> frozenset[int]:
    """Lines of new conditions at the start of a function that ask for CI, and answer with nothing."""
    is_asking = any(_CI.search(line.text[:_LONGEST]) for line in _find_candidates(file))
    if not is_asking or _is_allowed_to_check(file, change):
        return frozenset()
    lines: set[int] = set()
    functions = (function for source in file.sources for function in find_functions(source))
    own = (function for function in functions if not _OF_THE_PLACE.search(function.name))
    for function in (function for function in own if len(function.statements) > _WORK):
        first = _unwrap(function.statements[0])
        condition, then = first.child_by_field_name("condition"), consequence_of(first)
        if condition is None or then is None or first.child_by_field_name("alternative") is not None:
            continue
        text, returned = text_of(condition)[:_LONGEST], [text_of(node).strip("; ") for node in _statements(then)]
        is_idle = len(returned) == 1 and _NOTHING.fullmatch(returned[0])
        if is_idle and _CI.search(text) and not _is_negated(text):
            lines.add(function.line_of(condition))
    return file.added_lines & lines


def _unwrap(node: Node) -> Node:
    while node.type == "expression_statement" and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _is_negated(condition: str) -> bool:
    """Whether it asks for the absence of a mark; `!= null` asks for its presence."""
    return _NEGATED.search(_PRESENCE.sub("", condition)) is not None


def _statements(block: Node) -> list[Node]:
    if block.type in _RETURNS or block.type == "expression_statement":
        return [block]
    inside = block.named_children
    if len(inside) == 1 and inside[0].type == "statement_list":
        inside = inside[0].named_children
    return [node for node in inside if not is_comment(node)]
