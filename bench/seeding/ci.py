"""tests_pass_but_wrong, in configuration: validators that can no longer say no.

Works line by line on workflows and tool configuration that the change touches. Invariant: one line is changed, added or
taken out.
"""

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from bench.seeding import words
from bench.seeding.defect import Case, Difficulty, Made, Place, Variant, edited
from bench.seeding.sheet import Edit, Sheet
from worker.domain.verdict.verdict import Category

WORKFLOW: Final = re.compile(
    r"(?:^|/)\.github/(?:workflows|actions)/.*\.ya?ml$|(?:^|/)\.(?:travis|gitlab-ci)\.yml$|\.circleci/"
)
RUN: Final = re.compile(r"(?P<indent>\s*)(?P<dash>- )?(?P<key>run: )(?P<command>[^|>\s#].*)")
IN_BLOCK: Final = re.compile(
    r"(?P<indent>\s{6,})(?P<command>(?:npm|pnpm|yarn|cargo|go|mvn|\./|make|tox|pytest|python|uv|nox|coverage)\b.*)"
)
VALIDATES: Final = re.compile(
    r"(?<![/\w.-])(?:[Uu]nit )?(?:[Tt]ests?|[Ll]int|[Cc]heck|clippy|mypy|pytest|tox|nox|vet|verify|pyright|ruff)(?![/\w.])"
)
GIVEN_UP: Final = (
    "{command} || true",
    "{command} || exit 0",
    "{command} || echo ignored",
    "{command}; true",
    "set +e; {command}; exit 0",
)
STEP: Final = re.compile(r"(?P<indent>\s*)- (?:name|run|uses): .*")
CONFIGURATION: Final = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.cfg|tox\.ini|pytest\.ini|\.coveragerc|codecov\.ya?ml|\.codecov\.ya?ml|noxfile\.py"
    r"|(?:vitest|jest)\.config\.[cm]?[jt]s|tsconfig[\w.-]*\.json|\.golangci\.ya?ml|package\.json|pom\.xml|nextest\.toml)$"
)
THRESHOLD: Final = re.compile(
    r"(?P<before>.*\b(?:fail[_-]under|target|threshold|minimum|branches|functions|lines|statements|max_complexity|"
    r"max-complexity|max-warnings)\"?(?: ?[=:] ?|=| )[\"']?)(?P<number>\d{1,3})(?P<behind>(?:[%\"',. ].*)?)"
)
UPWARD: Final = ("max-warnings", "max_complexity", "max-complexity")
STRICTNESS: Final = (
    (re.compile(r"(.*\bstrict\w*\"?\s*[=:]\s*)true\b(.*)", re.IGNORECASE), r"\1false\2"),
    (re.compile(r"(.*\bxfail_strict\s*=\s*)true\b(.*)"), r"\1false\2"),
    (re.compile(r"(.*)\s--strict(?:-markers|-config)?\b(.*)"), r"\1\2"),
    (re.compile(r"(.*)\s-D warnings\b(.*)"), r"\1\2"),
    (re.compile(r"(.*)\s-(?:W|-warnings-as-errors)\s?error\b(.*)"), r"\1\2"),
    (re.compile(r"(.*\b(?:disallow|warn|no)_\w+\s*=\s*)true\b(.*)", re.IGNORECASE), r"\1false\2"),
    (re.compile(r"(.*\"no\w+\":\s*)true\b(.*)"), r"\1false\2"),
    (re.compile(r"(.*\bfail_ci_if_error:\s*)true\b(.*)"), r"\1false\2"),
)
PYTEST: Final = re.compile(r"(?P<before>.*\bpytest\b)(?P<behind>(?:\s.*|))")
FEWER: Final = (
    " -k 'not slow and not network'",
    " --ignore=tests/integration",
    " -m 'not slow'",
    " --deselect tests/test_api.py",
    " --maxfail=0 -x || true",
)

EditOf = Callable[[str, Random], tuple[str, ...] | None]


def _workflows(case: Case) -> Iterator[Sheet]:
    yield from case.shuffled([sheet for path, sheet in case.opened.sheets.items() if WORKFLOW.search(path)])


def _configurations(case: Case) -> Iterator[Sheet]:
    paths = [path for path in case.opened.sheets if CONFIGURATION.search(path) or WORKFLOW.search(path)]
    yield from case.shuffled([case.opened.sheets[path] for path in paths])


def _first_line(case: Case, sheets: Iterator[Sheet], rewrite: EditOf) -> Made | None:
    for sheet in sheets:
        for at, line in case.shuffled(list(enumerate(sheet.head, 1))):
            lines = rewrite(line, case.draw)
            if lines is not None and lines != (line,):
                place = Place(sheet.path, at + (len(lines) > 1))
                return edited(case, sheet, [Edit(at, at, lines)], place)
    return None


def _given_up(line: str, draw: Random) -> tuple[str, ...] | None:
    found = RUN.fullmatch(line) or IN_BLOCK.fullmatch(line)
    if found is None or not VALIDATES.search(found["command"]) or re.search(r"[\\|]$|\|\|", line):
        return None
    command = found["command"].rstrip()
    if command.startswith(('"', "'", "{")):
        return None
    return (
        line[: found.start("command")]
        + words.chosen(GIVEN_UP, draw, command=command.replace("{", "{{").replace("}", "}}"))
        .replace("{{", "{")
        .replace("}}", "}"),
    )


def command_given_up(case: Case) -> Made | None:
    return _first_line(case, _workflows(case), _given_up)


def _carried_on(line: str, draw: Random) -> tuple[str, ...] | None:
    found = RUN.fullmatch(line)
    if found is None or not VALIDATES.search(found["command"]):
        return None
    indent = found["indent"] + "  " * bool(found["dash"])
    return (
        line,
        f"{indent}{words.chosen(('continue-on-error: true', 'continue-on-error: ${{{{ always() }}}}'), draw)}",
    )


def carried_on(case: Case) -> Made | None:
    """A step may fail, and the job goes on."""
    return _first_line(case, _workflows(case), _carried_on)


def _never_run(line: str, draw: Random) -> tuple[str, ...] | None:
    found = STEP.fullmatch(line)
    if found is None or not VALIDATES.search(line):
        return None
    return (
        line,
        f"{found['indent']}  {words.chosen(('if: false', 'if: ${{{{ false }}}}', 'if: github.actor == 0'), draw)}",
    )


def never_run(case: Case) -> Made | None:
    return _first_line(case, _workflows(case), _never_run)


def step_taken_out(case: Case) -> Made | None:
    """The step that runs the tests is gone."""
    for sheet in _workflows(case):
        for at, line in case.shuffled(list(enumerate(sheet.head, 1))):
            found = STEP.fullmatch(line)
            if found is None or not VALIDATES.search(line):
                continue
            end = _end_of_step(sheet, at, len(found["indent"]))
            if 0 <= end - at <= 10 and sheet.is_old(at, end):
                return edited(case, sheet, [Edit(at, end, ())], Place(sheet.path, sheet.base_line(at), "base"))
    return None


def _end_of_step(sheet: Sheet, start: int, indent: int) -> int:
    end = start
    for at in range(start + 1, len(sheet.head) + 1):
        line = sheet.head[at - 1]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return end
        end = at if line.strip() else end
    return end


def _lowered(line: str, draw: Random) -> tuple[str, ...] | None:
    found = THRESHOLD.fullmatch(line)
    if found is None or int(found["number"]) < 10:
        return None
    number = int(found["number"])
    moved = number * 10 if any(word in found["before"] for word in UPWARD) else max(0, number - draw.randint(8, 60))
    return (f"{found['before']}{moved}{found['behind']}",)


def threshold_moved(case: Case) -> Made | None:
    return _first_line(case, _configurations(case), _lowered)


def _loosened(line: str, _: Random) -> tuple[str, ...] | None:
    for rule, shape in STRICTNESS:
        if rule.fullmatch(line):
            return (rule.sub(shape, line),)
    return None


def strictness_off(case: Case) -> Made | None:
    return _first_line(case, _configurations(case), _loosened)


def _fewer(line: str, draw: Random) -> tuple[str, ...] | None:
    found = PYTEST.fullmatch(line)
    if found is None or re.search(r"install|pip|==|>=|#|name:|\"|'|\[|=\s*$|pytest[-_:]|\.pytest", line):
        return None
    extra = words.chosen(FEWER, draw)
    return (f"{found['before']}{extra}{found['behind']}",)


def fewer_tests_run(case: Case) -> Made | None:
    return _first_line(case, _configurations(case), _fewer)


WRONG, EASY, HARD = Category.TESTS_PASS_BUT_WRONG, Difficulty.EASY, Difficulty.HARD
ALSO: Final = (Category.WEAK_TEST, Category.SCOPE_CREEP)
VARIANTS: Final = (
    Variant("command_given_up", WRONG, EASY, command_given_up, ALSO),
    Variant("carried_on", WRONG, EASY, carried_on, ALSO),
    Variant("never_run", WRONG, EASY, never_run, ALSO),
    Variant("step_taken_out", WRONG, HARD, step_taken_out, ALSO),
    Variant("threshold_moved", WRONG, HARD, threshold_moved, ALSO),
    Variant("strictness_off", WRONG, HARD, strictness_off, ALSO),
    Variant("fewer_tests_run", WRONG, HARD, fewer_tests_run, ALSO),
)
