"""Rules that forbid code, held against added lines."""

import pytest

from tests.worker.signals.made import dossier_of
from tests.worker.signals.spec_violation.ruled import found, ruled, signals
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation import SIGNALS
from worker.signals.spec_violation.repo_rules import find_violations

FACT, DOUBT = "forbidden_code_added", "rule_perhaps_broken"


def adds(rule: str, path: str, line: str, *, before: str = "a\n", texts: bool = True) -> set[str]:
    return signals(ruled(rule, {path: before}, {path: f"{before}{line}\n"}, texts=texts))


BROKEN = [
    ("Never use `print()` in library code.", "src/a.py", "print(1)"),
    ("Do not use `print`.", "src/a.py", "x = print (1)"),
    ("Do not use `eval` or `exec`.", "src/a.py", "exec('x')"),
    ("Do not use `time.sleep`; use the clock.", "src/a.py", "time.sleep(1)"),
    ("Do not use `time.sleep` in tests.", "tests/test_a.py", "time.sleep(1)"),
    ("Do not use `time.sleep` anywhere.", "tests/test_a.py", "time.sleep(1)"),
    ("Do not use `time.sleep`.", "src/clock.py", "time.sleep(1)"),
    ("Do not import `unittest.mock`.", "tests/test_a.py", "from unittest.mock import Mock"),
    ("Never use `.unwrap()`; handle the error.", "src/a.rs", "fn f() { g().unwrap(); }"),
    ("Do not use `time.sleep()`.", "src/a.py", "__import__('time').sleep(1)"),
    ("No `# type: ignore` or `# noqa` comments.", "src/a.py", "x = 1  #type: ignore[x]"),
    ("No TODO comments.", "src/a.py", "# TODO: later"),
    ("No bare `except:`; name the exception.", "src/a.py", "try:\n    pass\nexcept:\n    pass"),
    ("Do not import `requests`.", "src/a.py", "from requests.api import get"),
    ("Never use `requests`; use `httpx`.", "src/a.py", "import os, requests"),
    ("No `@staticmethod` decorators.", "src/a.py", "@staticmethod\ndef f(): ..."),
    ("No `staticmethod` decorators.", "src/a.py", "@staticmethod\ndef f(): ..."),
    ("Do not use `from x import ...`.", "src/a.py", "from x import y"),
    ("Never use `console.log` in source files.", "src/a.ts", "console.log(1)"),
    ("Never call `alert()`.", "src/a.ts", "globalThis.alert(1)"),
    ("Never call `thread::sleep()` in library code.", "src/cargo_config.rs", "fn f() { thread::sleep(1) }"),
    ("Do not use `any` casts (`as any`).", "src/a.ts", "let x = y as any"),
    ("Do not use `any`.", "src/a.ts", "let x: any = y"),
    ("Do not use `debugger` statements.", "src/a.js", "debugger;"),
    ("No `@ts-ignore` comments.", "src/a.ts", "// @ts-ignore"),
    ("Do not import `lodash`.", "src/a.ts", "import { x } from 'lodash/fp'"),
    ("Do not print with `fmt.Println` in packages.", "a/a.go", 'func f() { fmt.Println("x") }'),
    ("Do not call `panic` in library code.", "a/a.go", 'func f() { panic("x") }'),
    ("No `//nolint` directives.", "a/a.go", "var x = 1 // nolint:errcheck"),
    ("Do not use `println!` or `dbg!` in library code.", "src/a.rs", 'fn f() { println!("x"); }'),
    ("No `.unwrap()` outside of tests.", "src/a.rs", "fn f() { g().unwrap(); }"),
    ("No `.unwrap()` outside of tests.", "src/a.rs", "#[inline]\nfn f() { g().unwrap(); }"),
    ("No `unsafe` blocks.", "src/a.rs", "fn f() { unsafe { g() } }"),
    ("Do not add `#[allow(...)]` attributes.", "src/a.rs", "#[allow(dead_code)]\nfn f() {}"),
    ("Never use `System.out.println`.", "src/A.java", "class A { void f() { System.out.println(1); } }"),
    ("Do not call `printStackTrace()`.", "src/A.java", "class A { void f() { e.printStackTrace(); } }"),
    ("Do not use `@SuppressWarnings`.", "src/A.java", '@SuppressWarnings("x") class A {}'),
]


@pytest.mark.parametrize(
    ("rule", "path", "line"),
    [
        ("Never use `any`.", "src/a.ts", "// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a bound\ntype A = B<any>;"),
        ("Never use `print()`.", "src/a.py", "print(1)  # noqa: T201"),
        ("Do not use `unwrap()`.", "src/a.rs", "#[allow(clippy::unwrap_used)]\nlet x = g().unwrap();"),
    ],
)  # fmt: skip
def test_code_that_a_directive_excuses_is_only_suspected(rule: str, path: str, line: str) -> None:
    assert adds(rule, path, line, before="") == {DOUBT}


@pytest.mark.parametrize(
    ("rule", "path", "before", "line"),
    [
        ("Do not use `await`.", "src/a.ts", "const x = await f()\n", "const y = await g()"),
        ("Do not call `panic` in library code.", "a/a.go", 'func e() { panic("e") }\n', 'func f() { panic("x") }'),
    ],
)
def test_a_rule_that_the_file_did_not_keep_before_is_only_suspected(
    rule: str, path: str, before: str, line: str
) -> None:
    assert adds(rule, path, line, before=before) == {DOUBT}
    assert adds(rule, path, line, before=f"// {before}") == {FACT}


@pytest.mark.parametrize(("rule", "path", "line"), BROKEN)
def test_an_added_line_with_forbidden_code_is_a_fact(rule: str, path: str, line: str) -> None:
    assert adds(rule, path, line, before="") == {FACT}


@pytest.mark.parametrize(
    ("rule", "path", "line"),
    [
        ("Never use `print()`.", "src/a.py", "x = 'print(1)'"),
        ("Never use `print()`.", "src/a.py", "# print(1)"),
        ("Never use `print()`.", "src/a.py", "x = 1  # print(1)"),
        ("Never use `print()`.", "src/a.py", "log.print(1); pprint(2)"),
        ("Never use `print()`.", "src/a.py", "def print(): ..."),
        ("Never use `print`.", "src/a.js", "print(1)"),
        ("Never use `print()`.", "README.md", "print(1)"),
        ("Never use `print()`.", "vendor/a.py", "print(1)"),
        ("Never use `print()` in library code.", "tests/test_a.py", "print(1)"),
        ("Never use `print()` in library code.", "examples/a.py", "print(1)"),
        ("Never use `time.sleep` in tests.", "src/a.py", "time.sleep(1)"),
        ("Never use `print()` in `lib/`.", "src/a.py", "print(1)"),
        ("Never use `print()` except in `src/`.", "src/a.py", "print(1)"),
        ("Never use `x.y` in Go code.", "src/a.py", "x.y(1)"),
        ("Never use `console.log`.", "src/a.ts", "console.log = jest.fn()"),
        ("Never call `alert()`.", "src/a.ts", "bus.alert(1)"),
        ("No TODO comments.", "src/a.py", "TODO = 1"),
        ("Do not call `panic` in library code.", "a/a.go", "func panic() {}"),
        ("No `.unwrap()` outside of tests.", "src/a.rs", "#[cfg(test)]\nmod tests { fn f() { g().unwrap(); } }"),
        ("Do not use `any`.", "src/a.ts", "let x = any(y)"),
        ("No `unsafe` blocks.", "src/a.rs", "unsafe fn f() {}"),
        ("Do not use `x y z`.", "src/a.py", "print(1)" + " " * 1200 + "x y z"),
        ("Do not import `a b`.", "src/a.py", "import a"),
        ("Prefer not to use `print()`.", "src/a.py", "print(1)"),
    ],
)
def test_strings_comments_other_names_and_other_places_break_nothing(rule: str, path: str, line: str) -> None:
    assert adds(rule, path, line, before="") == set()


@pytest.mark.parametrize(
    ("rule", "path", "line"),
    [
        ("Never use `print()`.", "scripts/a.py", "print(1)"),
        ("Never use `console.log`.", "measure.mjs", "console.log(1)"),
        ("Never call `sleep()` in library code.", "src/server_config.py", "sleep(1)"),
        ("Never use `print()` in library code.", "src/a/__main__.py", "print(1)"),
        ("Never use `print()` in library code.", "src/a.py", 'if __name__ == "__main__":\n    print(1)'),
        ("Do not print with `fmt.Println` in packages.", "a/b.go", 'package main\nfunc f() { fmt.Println("x") }'),
        ("Never use `x.y()`.", "examples/a.py", "x.y()"),
        ("Never use `eval()`.", "src/a.py", "from inspect_ai import eval\neval(1)"),
        ("Never use `print()` unless debugging.", "src/a.py", "print(1)"),
        ("Do not use `time.sleep`.", "tests/test_a.py", "time.sleep(1)"),
        ("Never use `.unwrap()`; handle the error.", "tests/a.rs", "fn f() { g().unwrap(); }"),
        (
            "Never use `.unwrap()`; handle the error.",
            "src/a.rs",
            "#[cfg(test)]\nmod tests { fn f() { g().unwrap(); } }",
        ),
    ],
)
def test_a_doubtful_place_or_rule_is_a_suspicion(rule: str, path: str, line: str) -> None:
    assert adds(rule, path, line, before="") == {DOUBT}


def test_the_finding_quotes_the_rule_with_its_line() -> None:
    change = ruled("Never use `print()`; use the logger.", {"src/a.py": "a\n"}, {"src/a.py": "a\nprint(1)\n"})
    assert found(change) == [(FACT, "src/a.py", 2)]
    (breach,) = find_violations(change)
    assert breach.match.note == 'AGENTS.md:3 says "Never use `print()`", and this line adds `print()`'


def test_moved_and_edited_lines_add_nothing() -> None:
    rule = "Never use `print()`."
    assert not signals(ruled(rule, {"src/a.py": "a\nprint(1)\n"}, {"src/a.py": "if a:\n    print(1)\n"}))
    assert not signals(ruled(rule, {"src/a.py": "a\nprint(1)\n"}, {"src/a.py": "a\nprint(2)\n"}))


def test_one_more_where_there_was_one_is_a_suspicion() -> None:
    change = ruled("Never use `print()`.", {"src/a.py": "a\nprint(1)\n"}, {"src/a.py": "a\nprint(2)\nprint(3)\n"})
    assert signals(change) == {DOUBT}


LONG = "".join(f"a{number} = 1\n" for number in range(20))


@pytest.mark.parametrize(
    ("rule", "path", "line", "signal"),
    [
        ("Never use `print()`.", "src/a.py", "print(1)", FACT),
        ("Never use `print()`.", "src/a.py", 'b = """\nprint(1)', DOUBT),
        ("Never use `eval()`.", "src/a.py", "eval(1)", DOUBT),
        ("Never use `console.log`.", "src/a.ts", "console.log(1)", FACT),
        ("Never use `console.log`.", "src/a.ts", "console.log(1)\n// `", DOUBT),
        ("Never use `a.b`.", "src/a.go", "a.b(1)\n// */", DOUBT),
    ],
)
def test_a_piece_of_a_file_is_sure_where_no_string_can_begin_above_it(
    rule: str, path: str, line: str, signal: str
) -> None:
    after = LONG + line + "\n" + LONG
    assert signals(ruled(rule, {path: LONG + LONG}, {path: after}, texts=False)) <= {signal}


def test_a_file_that_cannot_be_parsed_is_left_alone() -> None:
    deep = "(" * 200 + "\nprint(1)\n"
    assert adds("Never use `print()`.", "src/a.py", deep) == set()


def test_a_rule_of_a_folder_holds_in_that_folder() -> None:
    after = {"lib/src/a.py": "print(1)\n", "src/a.py": "print(1)\n"}
    change = CodeChange(dossier_of({}, after, guidance=[{"path": "lib/AGENTS.md", "text": "- Never use `print()`."}]))
    assert found(change) == [(FACT, "lib/src/a.py", 1)]


def test_facts_and_suspicions_are_told_apart_by_their_signals() -> None:
    assert [signal.name for signal in SIGNALS if signal.kind.value == "suspicion"] == [
        DOUBT,
        "citation_doubtful",
        "claimed_change_missing",
    ]


@pytest.mark.parametrize(
    ("path", "before", "expected"),
    [
        ("src/a.ts", "a\n", {FACT}),
        ("src/a.ts", "console.log('x')\n", {DOUBT}),
        ("src/a.ts", "// console.log('x')\n", {FACT}),
        ("src/prepare-build-config.cjs", "a\n", {DOUBT}),
    ],
    ids=["library", "printed before", "only in a comment", "build script"],
)
def test_output_where_output_is_usual_is_a_suspicion(path: str, before: str, expected: set[str]) -> None:
    rule = "Never use `console.log` in production code."
    assert adds(rule, path, "console.log(1)", before=before) == expected


@pytest.mark.parametrize(
    ("rule", "path", "line", "expected"),
    [
        ("Do not use `time.Sleep` in production code.", "cmd/gh/main.go", "func f() { time.Sleep(1) }", FACT),
        ("Do not use `time.Sleep` outside of tests.", "cmd/gh/main.go", "func f() { time.Sleep(1) }", FACT),
        ("Do not use `time.Sleep` in library code.", "cmd/gh/main.go", "func f() { time.Sleep(1) }", DOUBT),
        ("Do not use `os.Exit` in production code.", "cmd/gh/main.go", "func f() { os.Exit(1) }", DOUBT),
        (
            "Do not use `time.Sleep` in production code.",
            "scripts/main_test_data.go",
            "func f() { time.Sleep(1) }",
            DOUBT,
        ),
    ],
)
def test_a_program_is_production_code_and_no_library_and_may_exit(
    rule: str, path: str, line: str, expected: str
) -> None:
    assert adds(rule, path, f"package main\n\n{line}", before="") == {expected}


@pytest.mark.parametrize(
    ("path", "around", "expected"),
    [
        ("src/a.go", " * of a\n */\nfunc F() {{\n{}\n}}\n", FACT),
        ("src/a.go", "func F() {{\n{}\n}}\n/*\n * of a\n", FACT),
        ("src/a.go", "/*\n{}\n", DOUBT),
        ("src/a.py", 'words"""\nx = 1\n\n\ndef f():\n    """Do."""\n{}\n', FACT),
        ("src/a.py", 'words"""\nx = 1\n{}\n\n\ndef f():\n    """Do."""\n', FACT),
        ("src/a.py", 'x = 1\n{}\n"""\n\n\ndef f():\n    """Do."""\n', DOUBT),
        ("src/a.py", 'def f():\n    """Do.\n\n    More."""\n{}\nx = """\n', FACT),
    ],
    ids=[
        "below a comment",
        "above one",
        "in one",
        "below a string",
        "between strings",
        "in a string",
        "above a string",
    ],
)
def test_what_stands_above_a_line_shows_whether_it_is_text(path: str, around: str, expected: str) -> None:
    added = around.format("    a.b(1)")
    fragment = ruled("Never use `a.b`.", {path: LONG + LONG}, {path: LONG + added + LONG}, texts=False)
    assert signals(fragment) <= {expected}
