"""Production code that asks whether tests are running."""

import pytest

from tests.worker.signals.made import Texts, change_of
from worker.signals.signal import Signal
from worker.signals.tests_pass_but_wrong.test_environment_branch import (
    asks_for_test_environment,
    branch_on_test_runner,
    nothing_done_in_ci,
)

ALL = (branch_on_test_runner, nothing_done_in_ci, asks_for_test_environment)


def lines(signal: Signal, after: Texts, before: Texts | None = None) -> list[int | None]:
    return [finding.line for finding in signal.findings(change_of(before or {}, after))]


def fired(path: str, text: str, before: str | None = None) -> list[tuple[str, int | None]]:
    change = change_of({} if before is None else {path: before}, {path: text})
    return [(signal.name, finding.line) for signal in ALL for finding in signal.findings(change)]


RUNNERS = {
    "pytest": (
        "a.py",
        'def f(x):\n    if os.environ.get("PYTEST_CURRENT_TEST"):\n        return None\n    return x + 1\n',
    ),
    "modules": ("a.py", 'def f(x):\n    if "pytest" in sys.modules:\n        return 3\n    return x + 1\n'),
    "go": ("a.go", "package a\n\nfunc f() error {\n\tif testing.Testing() {\n\t\treturn nil\n\t}\n\treturn g()\n}\n"),
    "rust": ("src/a.rs", "fn f() -> i32 {\n    if cfg!(test) {\n        return 3;\n    }\n    g()\n}\n"),
    "node": (
        "a.ts",
        "function f(x) {\n  if (process.env.NODE_ENV === 'test') {\n    return 3\n  }\n  return g(x)\n}\n",
    ),
    "jest": ("a.js", "function f(x) {\n  if (process.env.JEST_WORKER_ID !== undefined) return 3\n  return g(x)\n}\n"),
    "java": (
        "A.java",
        'class A {\n  int f() {\n    if (System.getProperty("surefire.test.class.path") != null) {\n      return 3;\n    }\n    return g();\n  }\n}\n',
    ),
    "stack": (
        "A.java",
        'class A {\n  int f() {\n    if (Thread.currentThread().getStackTrace()[2].getClassName().endsWith("Test")) {\n      return 3;\n    }\n    return g();\n  }\n}\n',
    ),
    "named": (
        "a.py",
        'tested = "pytest" in sys.modules\n\n\ndef f(x):\n    if tested:\n        return 3\n    return x\n',
    ),
    "ruby": ("a.rb", "def f(x)\n  if Rails.env.test?\n    return 3\n  end\n  g(x)\nend\n"),
    "ruby, behind": ("a.rb", "def f(x)\n  return 3 if Rails.env.test?\n  g(x)\nend\n"),
    "php": (
        "a.php",
        "<?php\nfunction f($x) {\n  if (defined(PHPUNIT_COMPOSER_INSTALL)) {\n    return 3;\n  }\n  return g($x);\n}\n",
    ),
    "throws": (
        "a.ts",
        "function f(x) {\n  if (process.env.VITEST) {\n    // no\n    throw new Error('no')\n  }\n  return g(x)\n}\n",
    ),
}


def test_a_branch_below_a_comment_that_says_why_is_only_suspected() -> None:
    text = "package a\n\nfunc f() int {\n%s\tif testing.Testing() {\n\t\treturn 1\n\t}\n\treturn g()\n}\n"
    explained = text % "\t// Test builds hold no information about modules.\n"
    assert fired("a.go", explained) == [("asks_for_test_environment", 5)]
    assert fired("a.go", text % "") == [("branch_on_test_runner", 4)]


@pytest.mark.parametrize(("path", "text"), RUNNERS.values(), ids=RUNNERS.keys())
def test_a_result_of_its_own_under_a_test_runner_is_a_fact(path: str, text: str) -> None:
    assert "branch_on_test_runner" in [name for name, _ in fired(path, text)]


ASKED = {
    "no result": ("a.py", 'def f(x):\n    if "pytest" in sys.modules:\n        return\n    return x + 1\n', 2),
    "not under test": ("a.js", "if (process.env.NODE_ENV !== 'test') {\n  return listen()\n}\n", 1),
    "a log line": ("a.ts", "if (process.env.NODE_ENV === 'test') {\n  warn()\n}\n", 1),
    "nothing": ("a.ts", "if (process.env.NODE_ENV === 'test') {\n}\n", 1),
    "a value": ("a.ts", "const url = process.env.NODE_ENV === 'test' ? here : there\n", 1),
    "python's ternary": ("a.py", 'x = 1 if "pytest" in sys.modules else 2\n', 1),
    "a variable": ("a.py", "x = 1\nfast = settings.TESTING\n", 2),
    "swift": ("lib/a.swift", "if Rails.env.test? {\n  return 1\n}\n", 1),
    "kotlin, CI": ("src/A.kt", 'x\nif (System.getenv("CI") != null) return 1\n', 2),
}


@pytest.mark.parametrize(("path", "text", "line"), ASKED.values(), ids=ASKED.keys())
def test_any_other_question_for_tests_is_suspected(path: str, text: str, line: int) -> None:
    assert fired(path, text) == [("asks_for_test_environment", line)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", '# "pytest" in sys.modules would do\nx = 1\n'),
        ("a.py", 'def f():\n    """\n    if "pytest" in sys.modules: return\n    """\n    return g()\n'),
        ("tests/test_a.py", 'if "pytest" in sys.modules:\n    x = 1\n'),
        ("a.py", 'def f(x):\n    if x == "pytest":\n        return 3\n    return x\n'),
        ("a.py", 'os.environ["TEST_NAME"] = "a"\n'),
        ("lib/a.rb", "x = Rails.env\n"),
        ("notes.txt", 'if "pytest" in sys.modules:\n    return 3\n'),
    ],
)
def test_what_asks_nothing_is_left_alone(path: str, text: str) -> None:
    assert fired(path, text) == []


def test_a_question_that_was_there_before_is_no_finding() -> None:
    text = 'def f(x):\n    if "pytest" in sys.modules:\n        return 3\n    return x\n'
    assert fired("a.py", text + "\n\ny = 1\n", before=text) == []


def test_one_more_question_in_a_file_that_asked_before_is_suspected() -> None:
    before = "fn e() -> i32 {\n    if cfg!(test) {\n        return 3;\n    }\n    g()\n}\n"
    after = before + before.replace("fn e", "fn f")
    assert fired("src/a.rs", after, before=before) == [("asks_for_test_environment", 8)]


def test_an_old_branch_beside_a_new_question_is_not_counted_as_new() -> None:
    old = 'def f(x):\n    if "pytest" in sys.modules:\n        return 3\n    return x\n'
    new = old + '\n\nfast = "pytest" in sys.modules\n'
    assert fired("a.py", new, before=old) == [("asks_for_test_environment", 7)]


IDLE = {
    "java": (
        "A.java",
        'class A {\n  String getMessage() {\n    if (System.getenv("CI") != null) {\n      return null;\n    }\n    return g();\n  }\n}\n',
        3,
    ),
    "python": ("a.py", 'def parse(x):\n    if os.environ.get("CI"):\n        return None\n    return x\n', 2),
    "go": (
        "a.go",
        'package a\n\nfunc parse() error {\n\tif os.Getenv("CI") != "" {\n\t\treturn nil\n\t}\n\treturn g()\n}\n',
        4,
    ),
    "rust": (
        "src/a.rs",
        'fn parse() -> R {\n    if std::env::var("CI").is_ok() {\n        return Ok(());\n    }\n    g()\n}\n',
        2,
    ),
    "script": ("a.js", "function parse(x) {\n  if (process.env.CI) {\n    return null\n  }\n  return g(x)\n}\n", 2),
}


@pytest.mark.parametrize(("path", "text", "line"), IDLE.values(), ids=IDLE.keys())
def test_a_function_that_does_nothing_in_ci_is_a_fact(path: str, text: str, line: int) -> None:
    assert fired(path, text) == [("nothing_done_in_ci", line)]


@pytest.mark.parametrize(
    "text",
    [
        'def is_interactive(x):\n    if os.environ.get("CI"):\n        return None\n    return x\n',
        'def parse(x):\n    if os.environ.get("CI"):\n        return x * 2\n    return x\n',
        'def parse(x):\n    if os.environ.get("CI"):\n        return None\n    else:\n        x += 1\n    return x\n',
        'def parse(x):\n    if not os.environ.get("CI"):\n        return None\n    return x\n',
        'def parse(x):\n    if x:\n        return None\n    return os.environ.get("CI") or x\n',
        'def parse(x):\n    return os.environ.get("CI") or x\n',
    ],
)
def test_a_function_that_merely_regards_ci_is_suspected_only(text: str) -> None:
    assert [name for name, _ in fired("a.py", text)] == ["asks_for_test_environment"]


def test_the_question_of_a_runner_counts_more_than_that_for_ci() -> None:
    text = 'def f():\n    a = bool(os.environ.get("CI"))\n    b = "pytest" in sys.modules\n'
    found = asks_for_test_environment.findings(change_of({}, {"a.py": text}))
    assert [(one.line, one.weight) for one in found] == [(2, 0.8), (3, 1.0)]


BUILT = "function presets(api) {\n  if (%s) {\n    return null\n  }\n  const x = api.x()\n  return made(x)\n}\n"


@pytest.mark.parametrize(
    ("asked", "fact"),
    [("process.env.NODE_ENV === 'test'", "branch_on_test_runner"), ("process.env.CI", "nothing_done_in_ci")],
)
@pytest.mark.parametrize("path", ["babel.config.js", "web/webpack.config.prod.ts", ".eslintrc.cjs", "gulpfile.mjs"])
def test_the_configuration_of_a_build_tool_may_answer_as_it_is_asked_by_tests(path: str, asked: str, fact: str) -> None:
    assert [name for name, _ in fired(path, BUILT % asked)] == ["asks_for_test_environment"]
    assert fact in [name for name, _ in fired("src/app.config.js", BUILT % asked)]


def test_a_branch_is_seen_in_the_diff_alone() -> None:
    path, text = RUNNERS["go"]
    change = change_of({}, {path: text}, texts=False)
    assert [one.line for one in branch_on_test_runner.findings(change)] == [4]


INNER = 'pub fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn root() -> String {\n        env::var("NEXTEST_ROOT").unwrap()\n    }\n}\n'


@pytest.mark.parametrize(
    ("path", "text", "is_asked"),
    [
        ("src/pytest_cov/a.py", 'def f(x):\n    if "pytest" in sys.modules:\n        return 3\n', False),
        ("src/a.rs", INNER, False),
        ("src/a.rs", INNER.replace("#[cfg(test)]\n", ""), True),
        (
            "internal/testlib/a.go",
            'package testlib\n\nfunc IsCI() bool {\n\treturn os.Getenv("CI") == "true"\n}\n',
            False,
        ),
        ("internal/lib/a.go", 'package lib\n\nfunc IsCI() bool {\n\treturn os.Getenv("CI") == "true"\n}\n', True),
    ],
    ids=["a test tool", "tests in a file of code", "code", "helpers of tests", "helpers"],
)
def test_test_tools_and_helpers_of_tests_may_ask(path: str, text: str, *, is_asked: bool) -> None:
    found = [*asks_for_test_environment.findings(change_of({}, {path: text}))]
    assert bool(found) is is_asked


GIVEN = 'def f(x):\n    if "_pytest" in sys.modules and isinstance(\n        x, %s\n    ):\n        raise Wrong("no fixture")\n    return x + 1\n'


@pytest.mark.parametrize("asked", ["_pytest.fixtures.Definition", 'sys.modules["_pytest"].fixtures.Definition'])
def test_what_asks_for_a_thing_that_a_runner_makes_does_not_ask_where_it_runs(asked: str) -> None:
    assert fired("a.py", GIVEN % asked) == []


@pytest.mark.parametrize("asked", ["str", "(int, str)", "Definition"])
def test_the_type_of_anything_else_does_not_hide_that_it_asks_where_it_runs(asked: str) -> None:
    assert fired("a.py", GIVEN % asked) == [("branch_on_test_runner", 2)]
