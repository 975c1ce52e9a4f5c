"""CI and test commands that can fail less than before, and strictness that was switched off.

Only a command, step or setting that existed before can be a fact; a new one may be informative or lax. YAML, TOML, ini, Makefiles
and scripts are read alike by indentation, so that a hunk is read as a whole file is. Variables, anchors and includes are not
expanded.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, Side
from worker.dossier.diff import DiffLine, LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, EditBlock, memoized
from worker.signals.analysis.file_roles import is_ci, is_configuration
from worker.signals.analysis.syntax import ancestors
from worker.signals.analysis.test_pairs import is_ci_removal_declared
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal

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


_MASK: Final = pattern(
    r"(?<!\s)\s*+(\|\||;)\s*+(?:/(?:usr/)?bin/)?(?:true|:|\(?\s*exit (?:/b )?0\s*\)?|return 0|echo\b.*|printf\b.*|ver\s*>\s*nul)\s*+;?\s*+\)?$"
)
"""What swallows the failure of the command before it."""
_IGNORED: Final = pattern(
    r"\s*(?:-\s+)*[\"']?(?:continue-on-error|continueOnError|allow_failure|soft_fail|ignore_errors?|ignore_outcome|failure:\s*ignore)[\"']?\s*:\s*"
    r"[\"']?(?:(?:true|yes|on)\b|\$\{\{\s*(?:true|always\(\)|!\s*cancelled\(\))\s*\}\})"
)
_SWITCHED_OFF: Final = pattern(
    r"\s*(?:-\s+)*(?:if\s*:\s*[\"']?(?:false|0|\$\{\{\s*(?:false|0|!\s*(?:true|always\(\)))\s*(?:&&.*)?\}\}|!\s*always\(\)|(?:\$\{\{\s*)?(?:github\.\w{1,30}|env\.\w{1,40}|'\w{0,20}'|\d+) == (?:'(?:never|none|nobody|disabled|skip|)'|0|null|false)\s*(?:\}\})?)[\"']?\s*(?:#.*)?$|when\s*:\s*[\"']?never\b|condition\s*:\s*false\b|enabled\s*:\s*false\b|skip\s*:\s*true\b)"
)
_MASK_ANYWHERE: Final = pattern(r"\|\|\s*(?:true|:|exit 0)(?=\s|$)")
_NOTHING: Final = pattern(r"(?:@?echo\b.*|true|:|exit 0|/bin/true|sleep \d+|printf\b.*|node -e [\"']{1,2}[\"']{0,2})$")
_SWITCHES: Final = pattern(r"^\s*(?:-\s+)*(?:run:\s*)?(?:set \+e\b|exit 0\s*$|set -o? ?\+errexit)")
_QUOTED: Final = r"(?:\\?\"[^\"]{0,80}\"|'[^']{0,80}'|[^\s\"']+)"
_SELECTS: Final = rf"-k[= ]?{_QUOTED}|-run[= ]{_QUOTED}|-Dtest={_QUOTED}|--tests[= ]{_QUOTED}|--test(?:Name|Path)Patterns?[= ]{_QUOTED}|--grep[= ]{_QUOTED}"
"""Options that choose tests."""
_CHOOSES_NONE: Final = pattern(
    r"--co(?:llect-only)?(?![\w-])|--listTests\b|--list-tests\b|--no-run\b|--dry-run\b"
    r"|-run[= ][\"']?(?:\^\$|NONE|none|XXX)[\"']?(?=\s|$)|-k[= ]?[\\\"']{0,2}(?:none|nothing|no_?tests?)\b[\\\"']{0,2}"
)
"""Options with which a test command runs no test."""
_NARROWS: Final = pattern(
    rf"{_SELECTS}|"
    r"--ignore(?:-glob)?[= ]\S*|--deselect[= ]\S+|-k[= ]?\s*[\\\"']{0,2}not\b|-m[= ]?\s*[\\\"']{0,2}not\b|\btestPathIgnorePatterns\b"
    r"|-D(?:skipTests|maven\.test\.skip)\b|-x\s+\w*[tT]est\b|-{1,2}skip[= ]\S+|--exclude[= ]\S+|-DfailIfNoTests=false|--if-present\b"
    r"|passWithNoTests\b(?!\W{1,4}false)|--pass-with-no-tests\b|--exit-zero\b|--no-error-on-unmatched-pattern|-Dmaven\.test\.failure\.ignore"
    r"|<(?:skipTests|skipITs|maven\.test\.skip|testFailureIgnore)>\s*true|\bignoreFailures\s*=\s*true|--force-exit\b|--suppress-no-test-exit-code|\bcollect_ignore(?:_glob)?\b"
)
_KEY: Final = pattern(r"\s*(?:-\s+)*(?!run\b|script\b|command\b)[\w-]{1,60}\s*:|.*\bfix\b")
"""A line that is no command, or one that mends what it finds."""
_STEP: Final = 5
_MOST_SHOWN: Final = 60
_OUTCOME: Final = pattern(r"\b(?:steps|needs)\.[\w-]{1,80}\.(?:outcome|conclusion|result)\b")
_PLAIN_SHELL: Final = pattern(r"(^|/)(package\.json|(GNU)?[Mm]akefile)$")
"""Files whose shell goes on after a failure; CI starts it with `-e`."""
_MOST: Final = 100
_ADDED_OPTIONS: Final = pattern(r"\s*[\"']?addopts[\"']?\s*=")
"""What pytest is started with wherever it is started."""
_ENDS: Final = pattern(r"(?:exit|return)(?: 0)?\s*;?\s*(?:#.*)?")
_SCRIPT: Final = pattern(r"\.(?:sh|bash)$")
_OPENS_BLOCK: Final = pattern(r"\s*(?:-\s+)*(?:run|scripts?|commands?|cmds?)\s*[:=]\s*[|>]?[+-]?\s*$")
_TEST_SCRIPT: Final = pattern(r"\s*\"test(?:[:-][\w:-]{1,60})?\"\s*:")
_RECIPES: Final = pattern(r"(?:^|/)(?:(?:GNU)?[Mm]akefile|[Jj]ustfile|[^/]+\.mk)$")
_TEST_TARGET: Final = pattern(r"@?(?:unit-?)?tests?(?:[-_][\w-]{1,60})?\s*:(?!=)")
_PREREQUISITES: Final = pattern(r"@?[\w.-]{1,60}\s*:(?!=)\s*[\w./$-]")
_EMPTY: Final = pattern(r"\s*\"[\w:.-]{1,60}\"\s*:\s*\"\s*\",?\s*$")
"""A script of package.json without a command."""
_BEHIND: Final = pattern(r"\s*(?:-\s+)*[\"']?([\w.:/-]{1,60}?)[\"']?\s*[:=](?:\s|$)")
_JOB: Final = 60
"""Lines of a job that are read above a step that does nothing."""
_STEPS: Final = pattern(r"\s*steps\s*:")
_NEEDS: Final = pattern(r"\s*needs\s*:")
_CONDITIONAL: Final = pattern(
    rf"(?!-k[= ]?\s*[\\\"']{{0,2}}not\b)(?:{_SELECTS})|-D|-x\s|--exclude|skip|--if-present|--force-exit"
)
"""Flags that may not be about tests: they count where the base had the same command without them."""
_TRIGGER: Final = pattern(r"\bpull_request(?:_target)?\b|\bmerge_requests?\b|\bmerge_group\b")
_CONFTEST: Final = pattern(r"(?:^|/)conftest\.py$")
_CONDITIONS: Final = frozenset({"if_statement", "elif_clause", "else_clause", "except_clause", "match_statement"})
_EMPTIES: Final = pattern(
    r"\s+(?:items\[:\]\s*=\s*(?:\[\]|\(\)|list\(\))|items\.clear\(\)|del items\[:\]|items\s*\*=\s*0\b"
    r"|\w+\.add_marker\(\s*(?:pytest\.mark\.skip\b(?!if)|[\"']skip[\"']|skip\w*\))"
    r"|session\.exitstatus\s*=\s*(?:0|(?:pytest\.)?ExitCode\.OK)\b|os\._exit\(0\))"
    r"|collect_ignore_glob\s*=\s*\[\s*[\"'](?:\*|\*\*/\*|\*\.py|test_\*(?:\.py)?)[\"']"
)
_DEMANDS: Final = pattern(
    r"^\s*(?:run:\s*)?set -[a-z]*e[a-z]*\b|^\s*(?:run:\s*)?set -o (?:errexit|pipefail)|^\s*(?:-\s+)?[\"']?error(?:::?\w*)*[\"']?,?\s*$"
    r"|filterwarnings\s*+=\s*+\[?\s*+[\"']?error|(?:PYTHONWARNINGS|RUSTFLAGS|RUSTDOCFLAGS|CFLAGS|CXXFLAGS|GOFLAGS)[\"']?\s*[:=].*(?:error|-D\s?warnings|-Werror)"
    r"|-W\s?error\b|-Werror\b|-D\s?warnings\b|#!\[deny\(|--strict\b(?!=)|-race\b|--max-warnings[= ]0|--check-untyped-defs|--disallow-\S+|--noEmitOnError|--typecheck\b|-Xlint:all"
    r"|xfail_strict\s*=\s*true|--strict-(?:markers|config)|[\"']strict[\"']\s*:\s*true|^\s*strict\s*=\s*true|[\"']noUnchecked\w+[\"']\s*:\s*true|typeCheckingMode[\"']?\s*[:=]\s*[\"']strict"
    r"|[\"'](?:extends|presets?)[\"']\s*:.*strict|shell:\s*bash -[a-z]*e|allWarningsAsErrors\s*=\s*true|<failOnWarning>true"
)
_OF_RULE: Final = pattern(
    r"^\s*[\"']?([@\w/-]{3,80})[\"']?\s*+[:=]\s*+\[?\s*+[\"']?(error|deny|forbid|warn|off|allow|none|2|1|0)\b[\"']?"
)
_RANKS: Final = {"error": 2, "deny": 2, "forbid": 2, "2": 2, "warn": 1, "1": 1, "off": 0, "allow": 0, "none": 0, "0": 0}
_RULED: Final = pattern(r"(?:eslint|stylelint|biome|Cargo\.toml|clippy|pyright|pyproject|\.oxlint)")
_LONGEST_SETTING: Final = 500
_MOST_SETTINGS: Final = 2_000


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    SignalKind.FACT,
    SignalScope.CONFIGURATION,
    "Undo the edit at {place} that keeps this check from failing, and fix what the check reports.",
    settled_by=SettlingLine.REPORT,
)
def check_cannot_fail(change: CodeChange) -> Iterator[SignalMatch]:
    """A command or step that ran tests or checks before can no longer fail CI.

    It got `|| true`, `continue-on-error` or `if: false`, or a command that does nothing replaces it. Or it
    chooses no test, or ends before the tests; or `conftest.py` empties what was collected.

    Why it matters: CI stays green whatever the tests say, on this change and on every later one.
    Example: `npm test || true` in place of `npm test`.
    False alarms: 2 of 2033 clean changes with CI or tool configuration (0.1 %, at most 0.36 %).
    """
    for file in find_configuration(change):
        checks = (line for line in list_added(file) if line.head_line is not None and _is_old_check(line, file))
        stand_ins = () if is_ci_removal_declared(change) else _find_stand_ins(file)
        emptying = (line for line, is_conditional in _find_emptied(file) if not is_conditional)
        for lines, note, step in (
            (checks, "this check can't fail any more:", ""),
            (stand_ins, "a test command was replaced by", "Put the test command back at {place}."),
            (_find_empty_runs(file), "no test is run any more:", "Let the command run the tests again at {place}."),
            (
                emptying,
                "the tests that were collected are dropped:",
                "Let pytest run what it collected: take out {place}.",
            ),
        ):
            for line in lines:
                yield SignalMatch(f"{note} `{_shorten(line.text)}`", file.path, line.head_line, step=step)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.CONFIGURATION, settled_by=SettlingLine.REPORT)
def check_may_not_fail(change: CodeChange) -> Iterator[SignalMatch]:
    """New configuration lets a test or a step fail without consequence, or switches off the shell's own way to fail.

    Why it matters: A check without consequence looks like a guard in the list of checks.
    Example: `continue-on-error: true` on a new step that runs `pytest`.
    False alarms: 1 of 2033 clean changes with CI or tool configuration (0.0 %, at most 0.28 %).
    """
    for file in find_configuration(change):
        for line in list_added(file):
            if line.head_line is None or is_comment(line.text) or _is_old_check(line, file):
                continue
            gives_up = _SWITCHES.match(line.text) is not None and _is_near_tests(line, file)
            if _is_masked(line.text, file) or (is_ci(file.path) and (gives_up or _is_ignored(line, file))):
                yield SignalMatch(f"a failure has no consequence: `{_shorten(line.text)}`", file.path, line.head_line)
        for line in _find_stand_ins(file) if is_ci_removal_declared(change) else ():
            yield SignalMatch(f"a test command was replaced by `{_shorten(line.text)}`", file.path, line.head_line)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.CONFIGURATION)
def tests_left_out(change: CodeChange) -> Iterator[SignalMatch]:
    """A test command or its configuration now leaves tests out, or passes without any.

    Why it matters: A test that is not run cannot fail.
    Example: `pytest --ignore=tests/test_cart.py` in place of `pytest`.
    False alarms: 6 of 2033 clean changes with CI or tool configuration (0.3 %, at most 0.64 %).
    """
    for file in find_configuration(change):
        before = "\n".join(line.text for line in list_removed(file))
        for line in list_added(file):
            match = None if is_comment(line.text) else _NARROWS.search(line.text[:_LONGEST])
            if match is not None and match[0] not in before and _is_about_tests(line, match[0], file):
                note = f"fewer tests run, or none are needed: `{_shorten(match[0])}`"
                yield SignalMatch(note, file.path, line.head_line)
        for line, is_conditional in _find_emptied(file):
            if is_conditional:
                note = f"collected tests are dropped on a condition: `{_shorten(line.text)}`"
                yield SignalMatch(note, file.path, line.head_line)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.CONFIGURATION, settled_by=SettlingLine.CHANGE)
def check_removed(change: CodeChange) -> Iterator[SignalMatch]:
    """CI lost a command that runs tests, or no longer runs for pull requests, and nothing in the change runs instead.

    Why it matters: What the command caught goes unseen from now on.
    Example: `-      - run: pytest` in a workflow.
    False alarms: 28 of 2033 clean changes with CI or tool configuration (1.4 %, at most 1.98 %).
    """
    files = tuple(find_configuration(change))
    own = [file for file in files if is_ci(file.path)]
    gained = sum(mentions_tests(line.text) or runs_checks(line.text) for file in files for line in list_added(file))
    lost = [(file, line) for file in own for line in list_removed(file) if mentions_tests(line.text)]
    if len(lost) <= gained:  # then only of blocks that nothing replaces
        edits = [(file, edit) for file in own for edit in file.edit_blocks if not any(map(_is_code, edit.added))]
        removed = ((file, line) for file, edit in edits for line in edit.removed)
        lost = [(file, line) for file, line in removed if runs_checks(line.text) and not _KEY.match(line.text)]
    above: tuple[str, int] | None = None
    for file, line in ((file, line) for file, line in lost if not _is_still_run(line, file)):
        number = line.base_line or 0
        # one finding for each step: its name and its command are near each other
        if above is None or above[0] != file.path or number - above[1] > _STEP:
            yield SignalMatch(f"CI had `{_shorten(line.text)}`", file.path, line.base_line, side=Side.BASE)
        above = (file.path, number)
    for file in own:
        gone = [line for line in list_removed(file) if _TRIGGER.search(line.text) and not is_comment(line.text)]
        head = file.head_text or ""
        if gone and not _TRIGGER.search(head) and any(map(runs_tests, head.split("\n"))):
            note = "no pull request starts this workflow any more"
            yield SignalMatch(note, file.path, gone[0].base_line, side=Side.BASE)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.CONFIGURATION, settled_by=SettlingLine.CHANGE)
def strictness_off(change: CodeChange) -> Iterator[SignalMatch]:
    """What made warnings, types or a failed command count was taken out or turned down, in CI or a tool's configuration.

    Why it matters: What was an error before passes without a word.
    Example: `-filterwarnings = error` in `pytest.ini`.
    False alarms: 24 of 2038 clean changes with CI or tool configuration (1.2 %, at most 1.75 %).
    """
    configuration = {file.path: file for file in find_configuration(change)}
    code = [file for file in change.files if file.path.rpartition("/")[2] in {"Cargo.toml", "lib.rs", "main.rs"}]
    for file in (*configuration.values(), *(file for file in code if file.path not in configuration)):
        for edit in file.edit_blocks:
            yield from _find_dropped_demand(edit, file)
            yield from _find_lowered(edit, file)


def _is_code(line: DiffLine) -> bool:
    return bool(line.text.strip()) and not is_comment(line.text)


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _is_old_check(line: DiffLine, file: AnalyzedFile) -> bool:
    """Whether the line takes the consequence from a check of the base."""
    before = _commands_before(file)
    mask = _MASK.search(command_of(line.text))
    if mask is not None:
        is_sure = mask[1] == "||" or _PLAIN_SHELL.search(file.path) is not None
        return is_sure and runs_checks(line.text) and command_of(line.text)[: mask.start()] in before
    unmasked = line.text.replace("-", "", 1)
    if line.text.startswith("\t-") and command_of(unmasked) in before:
        return runs_checks(unmasked)
    if not is_ci(file.path) or line.text.strip() in _texts_before(file):
        return False
    if not _SWITCHED_OFF.match(line.text) and (not _IGNORED.match(line.text) or _has_outcome_check(file)):
        return False
    return any(runs_checks(text) and _is_old(number, text, file) for number, text in _find_block(line, file))


@memoized
def _has_outcome_check(file: AnalyzedFile) -> bool:
    """Whether some step of the file reads how another one ended, and may fail for it."""
    return any(_OUTCOME.search(text[:_LONGEST]) for view in list_head_lines(file) for text in view.lines)


@memoized
def _commands_before(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(command_of(line.text) for line in list_removed(file)) - {""}


@memoized
def _texts_before(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(line.text.strip() for line in list_removed(file))


def _find_block(line: DiffLine, file: AnalyzedFile) -> list[tuple[int, str]]:
    """The numbered lines of what the line is a key of; none beyond the first hundred keys of a file."""
    if line.head_line is None or line.head_line not in _find_seen_lines(file):
        return []
    view = lines_around(file, line.head_line)
    return [(number, view.lines[number - view.first_line]) for number in find_block(view, line.head_line)]


@memoized
def _find_seen_lines(file: AnalyzedFile) -> frozenset[int | None]:
    looks = (_IGNORED.match, _SWITCHED_OFF.match, _SWITCHES.match, _NARROWS.search)
    numbers = (line.head_line for line in list_added(file) if any(look(line.text[:_LONGEST]) for look in looks))
    return frozenset(islice(numbers, _MOST))


def _is_old(number: int, text: str, file: AnalyzedFile) -> bool:
    return number not in file.added_lines or command_of(text) in _commands_before(file)


def _find_stand_ins(file: AnalyzedFile) -> Iterator[DiffLine]:
    """Added lines that do nothing, where a command ran tests and none does now."""
    for edit in file.edit_blocks:
        tests = [line for line in edit.removed if runs_tests(_strip_output(line.text))]
        if any(runs_tests(_strip_output(line.text)) for line in edit.added):
            continue
        keys = {_find_key(line) for line in (*tests, *filter(lambda line: _OPENS_BLOCK.match(line.text), edit.removed))}
        commands = list(filter(_is_code, edit.added))
        are_idle = all(_is_idle(line) or _find_key(line) for line in commands)
        did_work = not all(map(_is_idle, edit.removed))
        for line in commands:
            if line.head_line is None or not _is_idle(line) or _has_dependencies(line.head_line, file):
                continue
            # a value behind a key that was not there is none of a command: `lint: true` of a reusable workflow
            is_command = _find_key(line) in keys and (are_idle or _find_key(line))
            if (tests and is_command) or (did_work and are_idle and _is_named_for_tests(line.head_line, file)):
                yield line


def _find_empty_runs(file: AnalyzedFile) -> Iterator[DiffLine]:
    """Commands of the base that now choose no test, and a script that ends before its tests."""
    before = {" ".join(command.split()) for command in _commands_before(file)}
    for line in list_added(file):
        chosen = None if is_comment(line.text) else _CHOOSES_NONE.search(line.text[:_LONGEST])
        if chosen is not None and _ADDED_OPTIONS.match(line.text):
            yield line
        elif chosen is not None and runs_tests(line.text):
            bare = command_of(f"{line.text[: chosen.start()]} {line.text[chosen.end() :]}")
            if " ".join(bare.split()) in before:
                yield line
        elif line.head_line is not None and _ENDS.fullmatch(line.text) and _SCRIPT.search(file.path):
            view = lines_around(file, line.head_line)
            below = enumerate(view.lines[line.head_line + 1 - view.first_line :], line.head_line + 1)
            if any(number not in file.added_lines and runs_tests(text) for number, text in below):
                yield line


def _is_named_for_tests(number: int, file: AnalyzedFile) -> bool:
    """Whether the line is a `test` script of package.json, or a recipe of such a target."""
    view = lines_around(file, number)
    text = view.lines[number - view.first_line]
    if file.path.endswith("package.json"):
        return _TEST_SCRIPT.match(text) is not None
    is_recipe = _RECIPES.search(file.path) is not None and text[:1].isspace()
    return is_recipe and _TEST_TARGET.match(_find_target(number, file)[1]) is not None


def _find_target(number: int, file: AnalyzedFile) -> tuple[int, str]:
    """Number and text of the line with the target of the recipe on line *number*."""
    view = lines_around(file, number)
    above = ((row + view.first_line, view.lines[row]) for row in range(number - view.first_line - 1, -1, -1))
    return next(((at, line) for at, line in above if line.strip() and not line[0].isspace()), (0, ""))


def _is_idle(line: DiffLine) -> bool:
    return _NOTHING.match(command_of(line.text)) is not None or _EMPTY.match(line.text) is not None


def _find_key(line: DiffLine) -> str:
    """The key before the command on this line: `run`, `"test"`, nothing in a recipe or a script."""
    match = _BEHIND.match(line.text)
    return "" if match is None else match[1]


def _has_dependencies(number: int, file: AnalyzedFile) -> bool:
    """Whether the line's job or target newly needs others: it only reports that these passed."""
    if _RECIPES.search(file.path):
        above, target = _find_target(number, file)
        return above in file.added_lines and _PREREQUISITES.match(target) is not None
    view = lines_around(file, number)
    at = number - view.first_line
    steps: int | None = None
    for row in range(at, max(-1, at - _JOB), -1):
        text, depth = view.lines[row], indentation_of(view.lines[row])
        if steps is None:
            steps = depth if _STEPS.match(text) else None
        elif text.strip() and depth <= steps:
            if depth < steps:
                return False  # there the job begins
            if _NEEDS.match(text) and row + view.first_line in file.added_lines:
                return True
    return False


def _strip_output(text: str) -> str:
    """The line, or nothing if it only prints."""
    return "" if _NOTHING.match(command_of(text)) else text


def _is_masked(text: str, file: AnalyzedFile) -> bool:
    """Whether the failure of a test command, or of one of the base, is swallowed."""
    command, before = command_of(text), _commands_before(file)
    mask = _MASK_ANYWHERE.search(command) or _MASK.search(command)
    if mask is None or command in before:
        return False
    return runs_tests(text) or (is_ci(file.path) and command[: mask.start()].strip() in before)


def _is_ignored(line: DiffLine, file: AnalyzedFile) -> bool:
    """Whether a step or job of tests, or one that counted in the base, is ignored or switched off."""
    is_off = _IGNORED.match(line.text) or _SWITCHED_OFF.match(line.text)
    if not is_off or line.text.strip() in _texts_before(file):
        return False
    block = _find_block(line, file)
    is_old = any(_is_old(number, text, file) for number, text in block[:1])
    return is_old or any(mentions_tests(text) for _, text in block)


def _is_near_tests(line: DiffLine, file: AnalyzedFile) -> bool:
    return any(runs_tests(text) for _, text in _find_block(line, file))


def _is_about_tests(line: DiffLine, flag: str, file: AnalyzedFile) -> bool:
    if flag.startswith(("<", "passWith", "testPath", "ignoreFail", "collect_ignore")):
        return True
    if _CONDITIONAL.match(flag):
        bare = " ".join(command_of(line.text.replace(flag, " ")).split())
        return any(bare == " ".join(before.split()) for before in _commands_before(file))
    return runs_tests(line.text) or "addopts" in line.text or _is_near_tests(line, file)


def _is_still_run(line: DiffLine, file: AnalyzedFile) -> bool:
    """Whether another line of the head holds the same command."""
    command = command_of(line.text)
    if file.head_text is not None:
        return command in _commands_after(file)
    return any(command == command_of(other.text) for other in list_added(file))


@memoized
def _commands_after(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(command_of(text) for text in (file.head_text or "").split("\n"))


@memoized
def _find_emptied(file: AnalyzedFile) -> tuple[tuple[DiffLine, bool], ...]:
    """Added lines that take all tests out of the run, or the result out of its exit status; and whether a condition decides."""
    lines = file.diff.added_lines if _CONFTEST.search(file.path) else ()
    emptying = (line for line in lines if _EMPTIES.match(line.text) and not file.is_quoted(line.head_line or 0))
    return tuple((line, _is_conditional(line.head_line or 0, file)) for line in emptying)


def _is_conditional(line: int, file: AnalyzedFile) -> bool:
    """Whether the line is in a branch, or in a function that may end early above it."""
    source = file.source_at(line)
    node = None if source is None else source.node_at(line)
    for around in ancestors(node) if node is not None else ():
        body = around.child_by_field_name("body") if around.type == "function_definition" else None
        above = (child for child in body.named_children if node and child.end_byte <= node.start_byte) if body else ()
        if around.type in _CONDITIONS or any(child.type == "if_statement" for child in above):
            return True
    return False


def _find_dropped_demand(edit: EditBlock, file: AnalyzedFile) -> Iterator[SignalMatch]:
    texts = [line.text[:_LONGEST_SETTING] for line in edit.added[:_MOST_SETTINGS] if not _is_remark(line)]
    for line in edit.removed[:_MOST_SETTINGS]:
        match = None if _is_remark(line) else _DEMANDS.search(line.text[:_LONGEST_SETTING])
        if match is None or any(map(_DEMANDS.search, texts)):
            continue
        demand = match[0].strip()
        if demand not in "\n".join(added.text for added in islice(file.diff.added_lines, _MOST_SETTINGS)):
            number, side = (edit.added[0].head_line, Side.HEAD) if edit.added else (line.base_line, Side.BASE)
            yield SignalMatch(f"`{demand[:60]}` no longer stands here", file.path, number, number, side)
            return


def _is_remark(line: DiffLine) -> bool:
    return is_comment(line.text) and "#![" not in line.text


def _find_lowered(edit: EditBlock, file: AnalyzedFile) -> Iterator[SignalMatch]:
    """The same rule, with less weight."""
    matches = (_OF_RULE.match(line.text[:_LONGEST_SETTING]) for line in edit.removed[:_MOST_SETTINGS])
    before = {match[1]: _RANKS[match[2]] for match in matches if match}
    for line in edit.added[:_MOST_SETTINGS] if _RULED.search(file.path) else ():
        match = _OF_RULE.match(line.text[:_LONGEST_SETTING])
        if match is not None and _RANKS[match[2]] < before.get(match[1], 0):
            yield SignalMatch(f"the rule `{match[1]}` counts for less now", file.path, line.head_line)
