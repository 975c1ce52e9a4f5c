"""CI and tool configuration as lines: which files they are, which commands run tests, and the block around a line.

YAML, TOML, ini, Makefiles and scripts are read alike by indentation, so that a hunk is read as a whole file is. Variables,
anchors and includes are not expanded.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.dossier import Ci
from worker.domain.pattern import pattern
from worker.dossier.diff import DiffLine, LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized

_CI: Final = pattern(
    r"(^|/)(\.(github|gitea|forgejo)/(workflows|actions)/.*\.ya?ml|\.gitlab-ci[^/]*\.ya?ml|\.gitlab/.*\.ya?ml|\.circleci/.*\.ya?ml"
    r"|azure-pipelines[^/]*\.ya?ml|\.azure[^/]*/.*\.ya?ml|\.travis\.ya?ml|[Jj]enkinsfile[^/]*|bitbucket-pipelines\.ya?ml|\.buildkite/.*"
    r"|\.drone\.ya?ml|\.?appveyor\.ya?ml|\.cirrus\.ya?ml|\.woodpecker[^/]*(/.*)?\.ya?ml|\.semaphore/.*\.ya?ml|cloudbuild\.ya?ml)$",
    needs=(".yml", ".yaml", "jenkinsfile", ".buildkite"),
)
_TOOLS: Final = pattern(
    r"(^|/)(tox\.ini|noxfile\.py|setup\.cfg|pytest\.ini|pyproject\.toml|package\.json|(GNU)?[Mm]akefile|[^/]+\.mk|[Jj]ustfile|\.justfile"
    r"|Taskfile[^/]*\.ya?ml|\.coveragerc|\.?codecov\.ya?ml|(jest|vitest|vite|playwright|cypress|karma|wdio|ava|nyc|eslint|stylelint)[\w.-]*\.(config|conf|setup)\.\w+"
    r"|\.(nycrc|c8rc|mocharc|taprc|eslintrc)[^/]*|pom\.xml|build\.gradle(\.kts)?|nextest\.toml|phpunit[^/]*\.xml[^/]*|\.rspec|Rakefile"
    r"|\.pre-commit-config\.yaml|\.golangci\.ya?ml|\.?octocov[^/]*\.ya?ml|conftest\.py|tsconfig[\w.-]*\.json|\.?mypy\.ini|\.?ruff\.toml|\.flake8|\.?clippy\.toml|\.cargo/config(\.toml)?|biome\.jsonc?|deno\.jsonc?|pyrightconfig\.json|(scripts?|ci|\.ci|bin|hack|tools|build|tests?)/[^/]*\.(sh|bash|ps1)|[^/]*(test|check|ci)[^/]*\.(sh|bash))$",
    needs=(
        *(".ini", ".cfg", ".toml", ".json", ".xml", ".yml", ".yaml", ".mk", ".sh", ".bash", ".ps1", ".gradle"),
        *(".rspec", ".flake8", "noxfile", "conftest", "makefile", "justfile", "rakefile", "taskfile", "rc", "conf"),
        "setup",
    ),
)

_TEST_DATA: Final = pattern(
    r"(^|/)(fixtures?|__fixtures__|testdata|test-data|examples?|templates?|vendor|node_modules)/"
)
"""Inputs of tests are no set-up of tests."""

_RUNS_TESTS: Final = pattern(
    r"(?<![\w./-])(py\.?test|tox|nox|nosetests|gotestsum|jest|vitest|mocha|jasmine|ctest|rspec|phpunit|pest|tap|ava)(?![\w.-]*[=\]@:/]|\.\w)\b"
    r"|-m (unittest|pytest)\b|\b(manage\.py test|go test|cargo (\+\S{1,20} )?(test|nextest|hack)|dotnet test|bazel(isk)? (test|coverage)|swift test|mix test"
    r"|cypress run|playwright test|ng test|deno test|bun test|node --test|coverage run|karma start)\b"
    r"|(?<![\w./])[\w./-]{0,60}nextest[\w.-]{0,40} run\b|\bmvnw?\b.{0,120}\b(test|verify|install|package)\b|\bgradlew?\b.{0,120}\b(\w*[tT]est|check|build)\b"
    r"|\b(npm|yarn|pnpm|bun|npx|deno task|just|make|rake|task|uv run|poetry run|pdm run|hatch|invoke|inv|composer|lerna|turbo|nx|sbt)\b(?! (install|add|ci|i)\b)"
    r"[^|;&#\"']{0,80}?[\s:_-](\w*-)?(tests?|check|spec|verify|e2e|unit)(?![\w.]*[/@])"
    r"|(^|[\s;&])(\.?/|bash |sh )[\w./-]{0,60}(test|check)[\w-]*(\.sh)?(\s|$)|(^|[\s;&])[\w./-]{0,60}\b(run_?)?tests?\.(py|js|mjs|ts|sh)\b"
)
_HINT: Final = pattern(
    r"test|tox|nox|jest|mocha|jasmine|spec|unit|pest|tap|ava|cypress|coverage|karma|mvn|gradle|check|verify|e2e|hack"
)
"""Each line that runs tests has one of these."""

_RUNS_CHECKS: Final = pattern(
    r"(?<![\w./-])(ruff|flake8|pylint|mypy|pyright|eslint|tsc|golangci-lint|staticcheck|stylelint|shellcheck|biome|checkstyle|spotless|bandit)(?![\w.-]*[=\]@:/]|\.\w)\b"
    r"|\b(cargo (clippy|fmt|deny|audit)|go vet|pre-commit run|prettier .{0,40}--check|black .{0,40}--check)\b"
    r"|\b(npm|yarn|pnpm|bun|make|just|task|rake)\b[^|;&#\"']{0,60}[\s:](lint|typecheck|type-check)\b"
)
_INSTALLS: Final = pattern(
    r"\b(pip3?|npm|yarn|pnpm|bun|brew|apt|apt-get|go|cargo|gem|uv|uv tool|pipx|choco|conda|poetry|apk|dnf|composer)\s+(pip\s+|-\S+\s+)*(install|add|i|get|ci|update|inject)\b"
    r"|\bactions/|^\s*(echo|printf)\b|\bcache\b"
)
_COMMENTED: Final = pattern(r"\s*(#|//|<!--|;|\*|::|@?REM\b)")
_COMMAND: Final = pattern(
    r"\s*(?:-\s+)*(?:[\"']?[\w.:/-]{1,40}[\"']?\s*(?:[:=]|\+=)\s+|[\"']?(?:run|script|test|commands?)[\"']?\s*[:=]\s*)?(?:[|>][+-]?\s*$)?(.*)$"
)
_LONGEST: Final = 1_000


def is_ci(path: str) -> bool:
    return _CI.search(path) is not None


def is_configuration(path: str) -> bool:
    return is_ci(path) or (_TOOLS.search(path) is not None and _TEST_DATA.search(path) is None)


def find_configuration(change: CodeChange) -> Iterator[AnalyzedFile]:
    """Changed files that set up CI and the tools for tests."""
    return (file for file in change.files if is_configuration(file.path) and not file.diff.is_binary)


_MOST_LINES: Final = 5_000
"""Of one file."""


def list_added(file: AnalyzedFile) -> Iterator[DiffLine]:
    return islice(file.diff.added_lines, _MOST_LINES)


def list_removed(file: AnalyzedFile) -> Iterator[DiffLine]:
    return islice(file.diff.removed_lines, _MOST_LINES)


def command_of(text: str) -> str:
    """The command on this line, without the syntax of YAML, JSON or make around it."""
    match = _COMMAND.match(text[:_LONGEST].rstrip())
    command = match[1].strip() if match is not None else ""
    return command.rstrip(",").strip("'\"@ ")


def is_comment(text: str) -> bool:
    return _COMMENTED.match(text) is not None


def runs_tests(text: str) -> bool:
    """Whether the line has a command that runs tests."""
    text = text[:_LONGEST]
    if _HINT.search(text) is None or is_comment(text):
        return False
    return _RUNS_TESTS.search(text) is not None and _INSTALLS.search(command_of(text)) is None


_NAMED: Final = pattern(r"^\s*(?:-\s+)?(?:name\s*:.*\b[tT]ests?\b|[\w-]*\btests?\b[\w-]*\s*:\s*$)")


def mentions_tests(text: str) -> bool:
    """Whether the line runs tests, or names a step or job that does."""
    return _NAMED.search(text[:_LONGEST]) is not None or runs_tests(text)


def runs_checks(text: str) -> bool:
    """Whether the line has a command that runs tests, a linter or a type checker."""
    checks = _RUNS_CHECKS.search(text[:_LONGEST]) is not None and not is_comment(text)
    return runs_tests(text) or (checks and _INSTALLS.search(command_of(text)) is None)


class HeadLines(NamedTuple):
    """Consecutive lines of the head: the whole file, or those of a hunk."""

    first_line: int
    lines: tuple[str, ...]


def lines_around(file: AnalyzedFile, line: int) -> HeadLines:
    """The known lines around this line of the head."""
    return next(view for view in list_head_lines(file) if view.first_line <= line < view.first_line + len(view.lines))


@memoized
def list_head_lines(file: AnalyzedFile) -> tuple[HeadLines, ...]:
    if file.head_text is not None:
        return (HeadLines(1, tuple(file.head_text.split("\n"))),)
    hunks = ((hunk.head_start, hunk.lines) for hunk in file.diff.hunks if hunk.head_count)
    shown = ((first, (line.text for line in lines if line.kind is not LineKind.REMOVED)) for first, lines in hunks)
    return tuple(HeadLines(first, tuple(texts)) for first, texts in shown)


_MOST_BLOCK_LINES: Final = 200
_INDENT: Final = pattern(r"(\s*)((?:-\s+)*)")


def find_block(view: HeadLines, line: int) -> range:
    """The lines of the step, job or mapping that this line is a key of, with the line that names it."""
    lines, at = view.lines, line - view.first_line
    depth, start = _depth(lines[at]), at
    while start and at - start < _MOST_BLOCK_LINES:
        if lines[start].lstrip().startswith("- ") and _depth(lines[start]) == depth:
            break  # a step begins here
        start -= 1
        if lines[start].strip() and _depth(lines[start]) < depth:
            break
    behind = range(at + 1, min(at + _MOST_BLOCK_LINES, len(lines)))
    outside = (row for row in behind if lines[row].strip() and indentation_of(lines[row]) < depth)
    return range(start + view.first_line, next(outside, behind.stop) + view.first_line)


def _depth(text: str) -> int:
    """The column of the line's key, behind the dash of a list."""
    match = _INDENT.match(text)
    return match.end() if match is not None else 0


def indentation_of(text: str) -> int:
    return len(text) - len(text.lstrip())


FAILED_OUTCOMES: Final = frozenset({"failure", "timed_out", "startup_failure", "action_required", "cancelled", "error"})


def find_ci_doubt(ci: Ci | None) -> str | None:
    """A clause about the first check that speaks against the change although CI is green; None without one."""
    for check in ci.checks if ci is not None else ():
        if check.required is False and check.conclusion in FAILED_OUTCOMES:
            return f"{check.name} failed, though it is not required"
        if check.required and check.conclusion == "success" and check.attempt > 1:
            return f"{check.name} passed only at attempt {check.attempt}"
    return None
