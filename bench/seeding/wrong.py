"""tests_pass_but_wrong, in code: what makes the tests green without doing the work.

Invariant: the tests of the seed would pass, or would not be run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.seeding import oracles, words
from bench.seeding.code import Function, Tongue
from bench.seeding.defect import Case, Difficulty, Made, Place, Variant, edited
from bench.seeding.equality import equality, is_literal, split
from bench.seeding.opened import is_test_path, new_functions, new_tests, old_tests
from bench.seeding.sheet import Edit, Sheet
from worker.domain.verdict.verdict import Category

ENVIRONMENTS: Final = {
    Tongue.PYTHON: (
        ("import os", 'if os.environ.get("PYTEST_CURRENT_TEST"):'),
        ("import os", 'if os.getenv("TESTING") == "1":'),
        ("import sys", 'if "pytest" in sys.modules:'),
        ("import sys", 'if sys.argv[0].endswith("pytest"):'),
        ("import os", 'if "CI" in os.environ:'),
    ),
    Tongue.JAVASCRIPT: (
        ("", "if (process.env.NODE_ENV === 'test') {"),
        ("", "if (process.env.VITEST) {"),
        ("", "if (process.env.JEST_WORKER_ID !== undefined) {"),
        ("", "if (typeof globalThis.describe === 'function') {"),
        ("", "if (process.env.CI) {"),
    ),
    Tongue.RUST: (
        ("", "if cfg!(test) {"),
        ("", 'if std::env::var("NEXTEST").is_ok() {'),
        ("", 'if std::env::var_os("CI").is_some() {'),
    ),
    Tongue.JAVA: (
        ("", 'if (System.getProperty("surefire.test.class.path") != null) {'),
        ("", 'if (System.getenv("CI") != null) {'),
        ("", 'if (Boolean.getBoolean("test.mode")) {'),
        ("", 'if (Thread.currentThread().getStackTrace()[2].getClassName().endsWith("Test")) {'),
    ),
    Tongue.GO: (
        ("os", 'if os.Getenv("CI") != "" {'),
        ("os", 'if strings.HasSuffix(os.Args[0], ".test") {'),
        ("testing", "if testing.Testing() {"),
    ),
}


CALLED: Final = re.compile(r"(?:await )?(?:\w+(?:\.|::))*(\w+)\((.*)\)")


@dataclass(frozen=True, slots=True)
class Known:
    """An assertion that *function* gives *want* for *arguments*, the first of them a literal."""

    sheet: Sheet
    function: Function
    arguments: tuple[str, ...]
    want: str


def _production(case: Case) -> list[tuple[Sheet, Function]]:
    """New functions, and old ones that the change works on."""
    new = new_functions(case.opened, 2)
    changed = [
        (sheet, one)
        for sheet, one in case.opened.code
        if not one.is_test
        and not is_test_path(sheet.path)
        and not sheet.is_old(one.first, one.last)
        and not sheet.is_added(one.line, one.last)
    ]
    return case.shuffled(new) + case.shuffled(changed)


def environment_asked(case: Case) -> Made | None:
    """Production code takes another way where tests run."""
    for sheet, one in _production(case):
        value = words.nothing(one, case.draw)
        fitting = [(need, gate) for need, gate in ENVIRONMENTS[words.family(one.tongue)] if _is_there(need, sheet, one)]
        if value is None or not fitting or not one.body:
            continue
        gate = case.pick(fitting)[1]
        back = value if value and value[0] != "pass" else ("return",)
        back = (f"return {back[0]};",) if one.tongue is Tongue.RUST and value else back
        line = back[0] if one.tongue in {Tongue.PYTHON, Tongue.GO} or back[0].endswith(";") else f"{back[0]};"
        lines = [gate, f"{one.step}{line}", *(["}"] if gate.endswith("{") else [])]
        at = one.body[0].first
        if one.tongue is Tongue.PYTHON and one.body[0].text.startswith(('"', "'", 'r"')):
            at = one.body[0].last + 1
        return edited(
            case,
            sheet,
            [Edit(at, at - 1, tuple(f"{one.indent}{one_line}" for one_line in lines))],
            Place(sheet.path, at),
        )
    return None


def _is_there(need: str, sheet: Sheet, function: Function) -> bool:
    if function.tongue is Tongue.GO:
        wanted = {need, *({"strings"} if need == "os" else ())}
        return all(re.search(rf'^\s*(?:import )?"{name}"$', sheet.text, re.MULTILINE) for name in wanted)
    return not need or re.search(rf"^{need}\b", sheet.text, re.MULTILINE) is not None


def _known(case: Case) -> Iterator[Known]:
    by_name = {one.name: (sheet, one) for sheet, one in _production(case) if one.parameters}
    tests = [one for _, one in case.opened.code if one.is_test]
    for test in case.shuffled(tests):
        for statement in test.oracles:
            made = equality(statement, test.tongue)
            called = CALLED.fullmatch(made.got) if made else None
            if made is None or called is None or called[1] not in by_name or not is_literal(made.want):
                continue
            arguments = split(called[2])
            if is_literal(arguments[0]):
                sheet, function = by_name[called[1]]
                if len(arguments) == len(function.parameters):
                    yield Known(sheet, function, tuple(arguments), made.want)


def _condition(known: Known) -> str:
    name, value = known.function.parameters[0], known.arguments[0]
    match known.function.tongue:
        case Tongue.PYTHON:
            return f"if {name} == {value}:"
        case Tongue.JAVA:
            test = f"{value}.equals({name})" if value.startswith('"') else f"{name} == {value}"
            return f"if ({test}) {{"
        case Tongue.GO | Tongue.RUST:
            return f"if {name} == {value} {{"
        case _:
            return f"if ({name} === {value}) {{"


def _answer(known: Known) -> str:
    end = "" if known.function.tongue in {Tongue.PYTHON, Tongue.GO} else ";"
    want = f"{known.want}.into()" if known.function.tongue is Tongue.RUST and known.want.startswith('"') else known.want
    return f"return {want}{end}"


def input_recognised(case: Case) -> Made | None:
    """A branch on the very input of the test."""
    for known in _known(case):
        one = known.function
        if not one.body:
            continue
        lines = [_condition(known), f"{one.step}{_answer(known)}", *(["}"] if one.tongue is not Tongue.PYTHON else [])]
        at = one.body[0].first
        edit = Edit(at, at - 1, tuple(f"{one.indent}{line}" for line in lines))
        return edited(case, known.sheet, [edit], Place(known.sheet.path, at))
    return None


def answer_hard_coded(case: Case) -> Made | None:
    """The expected value stands for the whole work."""
    for known in _known(case):
        one = known.function
        edit = Edit(one.inner_first, one.inner_last, (f"{one.indent}{_answer(known)}",))
        return edited(case, known.sheet, [edit], Place(known.sheet.path, one.inner_first))
    return None


DOUBLES: Final = {
    Tongue.PYTHON: ("{name} = lambda *_, **__: {want}", "{name} = Mock(return_value={want})"),
    Tongue.JAVASCRIPT: ("const {name} = () => ({want});", "const {name} = vi.fn().mockReturnValue({want});"),
    Tongue.RUST: ("let {name} = |_| {want};", "fn {name}<T>(_: T) -> impl PartialEq {{ {want} }}"),
    Tongue.GO: ("{name} := func(...any) any {{ return {want} }}",),
}


def subject_replaced(case: Case) -> Made | None:
    """A new test puts a double in the place of what it tests."""
    names = {one.name for _, one in _production(case)}
    for sheet, test in case.shuffled(new_tests(case.opened)):
        choices = DOUBLES.get(words.family(test.tongue), ())
        for statement in test.oracles if choices else ():
            made = equality(statement, test.tongue)
            called = re.fullmatch(r"(\w+)\(.*\)", made.got) if made else None
            if made is None or called is None or called[1] not in names:
                continue
            line = words.chosen(choices, case.draw, name=called[1], want=made.want)
            edit = Edit(statement.first, statement.first - 1, (f"{statement.indent}{line}",))
            return edited(case, sheet, [edit], Place(sheet.path, statement.first))
    return None


def _old_tests(case: Case) -> list[tuple[Sheet, Function]]:
    return [(sheet, one) for sheet, one in old_tests(case.opened) if one.oracles]


def old_test_deleted(case: Case) -> Made | None:
    for sheet, one in case.shuffled(_old_tests(case)):
        last = one.last + (one.last < len(sheet.head) and not sheet.head[one.last].strip())
        place = Place(sheet.path, sheet.base_line(one.line), "base")
        return edited(case, sheet, [Edit(one.first, last, ())], place)
    return None


def old_test_commented(case: Case) -> Made | None:
    for sheet, one in case.shuffled(_old_tests(case)):
        if one.last - one.first > 40:
            continue
        old = sheet.head[one.first - 1 : one.last]
        lines = tuple(words.comment(one.tongue, line).rstrip() for line in old)
        return edited(case, sheet, [Edit(one.first, one.last, lines)], Place(sheet.path, one.first))
    return None


def old_test_renamed(case: Case) -> Made | None:
    """An old test gets a name, or loses a mark, so that nobody runs it."""
    for sheet, one in case.shuffled(_old_tests(case)):
        edit = _out_of_discovery(case, sheet, one)
        if edit is not None:
            return edited(case, sheet, [edit], Place(sheet.path, max(1, edit.first)))
    return None


def _out_of_discovery(case: Case, sheet: Sheet, one: Function) -> Edit | None:
    line = sheet.head[one.line - 1]
    if one.tongue in {Tongue.RUST, Tongue.JAVA}:
        mark = re.compile(r"\s*(?:@Test|#\[(?:\w+::)*test\b.*\])\s*")
        at = next((at for at in range(one.first, one.inner_first) if mark.fullmatch(sheet.head[at - 1])), None)
        return Edit(at, at, ()) if at else None
    if one.tongue is Tongue.GO:
        new = line.replace(
            f"func {one.name}", f"func {words.chosen(('t', 'disabled', 'x', 'old'), case.draw)}{one.name[1:]}"
        )
    elif one.tongue is Tongue.PYTHON:
        prefix = words.chosen(("_", "no_", "check_", "x", "disabled_", "skip_"), case.draw)
        new = line.replace(f"def {one.name}", f"def {prefix}{one.name}")
    else:
        return None
    return Edit(one.line, one.line, (new,)) if new != line else None


def old_test_switched_off(case: Case) -> Made | None:
    for sheet, one in case.shuffled(_old_tests(case)):
        edit = oracles.marked_as_skipped(sheet, one, case.draw)
        if edit is not None:
            return edited(case, sheet, [edit], Place(sheet.path, edit.first))
    return None


def run_again(case: Case) -> Made | None:
    """A new test is tried again until it passes."""
    for sheet, one in case.shuffled(new_tests(case.opened)):
        if one.tongue is Tongue.PYTHON:
            mark = words.chosen(
                ("@pytest.mark.flaky(reruns=5)", "@pytest.mark.flaky(retries=3, delay=1)", "@flaky(max_runs=4)"),
                case.draw,
            )
            return edited(
                case, sheet, [Edit(one.line, one.line - 1, (f"{one.margin}{mark}",))], Place(sheet.path, one.line)
            )
        old = sheet.head[one.line - 1]
        new = re.sub(
            r"^(\s*(?:it|test)\((?:'[^']*'|\"[^\"]*\")), ", rf"\1, {{ retry: {case.draw.randint(2, 9)} }}, ", old
        )
        if one.tongue.is_script and new != old and "vitest" in sheet.text:
            return edited(case, sheet, [Edit(one.line, one.line, (new,))], Place(sheet.path, one.line))
    return None


WRONG, EASY, HARD = Category.TESTS_PASS_BUT_WRONG, Difficulty.EASY, Difficulty.HARD
WEAK: Final = (Category.WEAK_TEST,)
UNDONE: Final = (Category.HALF_FINISHED,)
VARIANTS: Final = (
    Variant("environment_asked", WRONG, EASY, environment_asked),
    Variant("old_test_deleted", WRONG, EASY, old_test_deleted, WEAK),
    Variant("old_test_commented", WRONG, EASY, old_test_commented, WEAK),
    Variant("old_test_renamed", WRONG, EASY, old_test_renamed, WEAK),
    Variant("old_test_switched_off", WRONG, EASY, old_test_switched_off, WEAK),
    Variant("input_recognised", WRONG, HARD, input_recognised, UNDONE),
    Variant("answer_hard_coded", WRONG, HARD, answer_hard_coded, UNDONE),
    Variant("subject_replaced", WRONG, HARD, subject_replaced, WEAK),
    Variant("run_again", WRONG, HARD, run_again, WEAK),
)
