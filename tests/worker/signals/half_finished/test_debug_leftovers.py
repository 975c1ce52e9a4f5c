"""What was left from debugging."""

import pytest

from tests.worker.signals.made import change_of, dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.debug_leftovers import debug_output, debugger_left


def left(path: str, line: str, before: str = "a\n", *, texts: bool = True) -> list[int | None]:
    return [
        finding.line
        for finding in debugger_left.findings(change_of({path: before}, {path: before + line + "\n"}, texts=texts))
    ]


STOPS = {
    "py": ("a.py", "    breakpoint()"),
    "pdb": ("a.py", "import pdb; pdb.set_trace()"),
    "import": ("a.py", "import ipdb"),
    "js": ("a.js", "  debugger;"),
    "shell": ("a.py", "from IPython import embed; embed()"),
    "rust": ("a.rs", "    let x = dbg!(y);"),
    "rust, behind a text": ("a.rs", '    run("a \\" b", c / d, dbg!(y));'),
    "go": ("a.go", "\truntime.Breakpoint()"),
}


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("    dbg!(y);", "Delete the debugging statement at a.rs:2."),
        ("    let x = dbg!(y);", "Take `dbg!` away from around the expression at a.rs:2."),
        ("    dbg!(k + 1)", "Take `dbg!` away from around the expression at a.rs:2."),
    ],
)
def test_the_step_keeps_an_expression_that_dbg_stands_around(line: str, step: str) -> None:
    (finding,) = debugger_left.findings(change_of({"a.rs": "a\n"}, {"a.rs": "a\n" + line + "\n"}))
    assert finding.step == step


@pytest.mark.parametrize(("path", "line"), STOPS.values(), ids=STOPS.keys())
def test_a_statement_for_debugging_is_a_fact(path: str, line: str) -> None:
    assert left(path, line) == [2]
    assert left(path, line, texts=False) == [2]
    assert left(f"tests/{path}", line) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "breakpoint() + 1"),
        ("a.py", 'x = "breakpoint()"'),
        ("a.py", "import pdb"),
        ("a.py", "    import pdb, traceback"),
        ("a.py", "from IPython import embed"),
        ("a.rs", '    log("how dbg!(x) works");'),
        ("a.rs", "    run(); // dbg!(x)"),
        ("a.js", "// debugger"),
        ("A.java", "debugger;"),
        ("a.md", "debugger;"),
    ],
)
def test_what_only_looks_like_one_is_not(path: str, line: str) -> None:
    assert left(path, line) == []


def test_what_a_program_ends_with_is_what_it_prints() -> None:
    printed, left = "fn main() {\n    let x = f();\n    dbg!(x);\n}\n", "fn main() {\n    dbg!(x);\n    f(x);\n}\n"
    reported = [list(debugger_left.findings(change_of({}, {"src/main.rs": code}))) for code in (printed, left)]
    assert [len(findings) for findings in reported] == [0, 1]


def test_one_in_a_string_or_moved_is_none() -> None:
    assert left("a.py", "breakpoint()\n'''", 'x = """\n'.replace('"""', "'''")) == []
    moved = change_of({"a.py": "breakpoint()\n"}, {"b.py": "breakpoint()\n"})
    assert list(debugger_left.findings(moved)) == []


WANTED = {
    "of a debugger": ("debugger/run.py", "breakpoint()\n", None),
    "asked for by an option": ("a.py", "if options.use_pdb:\n    log(x)\n    pdb.set_trace()\n", None),
    "asked for in a line": ("a.py", "if settings.debug_on_error: breakpoint()\n", None),
    "asked for by a person": ("a.py", "pdb.set_trace()\n", "Run pdb on failure"),
    "asked for by the issue": ("a.js", "debugger;\n", "A `debugger` statement in what is compiled"),
    "in a test beside the code": ("a.rs", "fn f() {\n}\n#[test]\nfn size() {\n    dbg!(x);\n}\n", None),
    "a macro of its own": ("a.rs", "macro_rules! dbg {\n}\nfn f() {\n    dbg!(x);\n}\n", None),
    "a macro of another crate": ("a.rs", "use log::dbg;\nfn f() {\n    dbg!(x);\n}\n", None),
    "called by its crate": ("a.rs", "fn f() {\n    log::dbg!(x);\n}\n", None),
}


@pytest.mark.parametrize(("path", "code", "issue"), WANTED.values(), ids=WANTED.keys())
def test_a_debugger_that_somebody_wants_is_not_left_behind(path: str, code: str, issue: str | None) -> None:
    assert list(debugger_left.findings(change_of({}, {path: code}, issue=issue))) == []


def test_a_debugger_that_the_documentation_tells_of_or_that_is_the_product_is_not_left_behind() -> None:
    code = {"a.py": "breakpoint()\n"}
    assert list(debugger_left.findings(change_of({}, code | {"README.md": "Calls `breakpoint()` then.\n"}))) == []
    assert list(debugger_left.findings(change_of({}, code, title="Call breakpoint on failure"))) == []
    dossier = dossier_of({}, code)
    pull = dossier.pull_request.model_copy(update={"repository": "acme/pudb"})
    assert list(debugger_left.findings(CodeChange(dossier.model_copy(update={"pull_request": pull})))) == []


LEFT = {
    "behind a condition that ended": ("a.py", "def f():\n    if debug:\n        log(x)\n    breakpoint()\n", None),
    "behind another condition": ("a.py", "if failed:\n    breakpoint()\n", None),
    "where it is to be removed": ("a.py", "pdb.set_trace()\n", "Remove the calls of pdb.set_trace()"),
    "where another one is asked for": ("a.py", "breakpoint()\n", "Run pdb on failure"),
    "in a database": ("src/db/a.py", "breakpoint()\n", None),
    "beside a test": ("a.rs", "#[test]\nfn size() {\n}\nfn f() {\n    dbg!(x);\n}\n", None),
    "of the standard library": ("a.rs", "use std::{dbg, fs};\nfn f() {\n    std::dbg!(x);\n}\n", None),
}


@pytest.mark.parametrize(("path", "code", "issue"), LEFT.values(), ids=LEFT.keys())
def test_a_debugger_that_nobody_wants_is_left_behind(path: str, code: str, issue: str | None) -> None:
    assert len(list(debugger_left.findings(change_of({}, {path: code}, issue=issue)))) == 1


def printed(path: str, code: str, before: str = "a = 1\n", *, texts: bool = True) -> list[float]:
    change = change_of({path: before}, {path: before + code}, texts=texts)
    return [finding.weight for finding in debug_output.findings(change)]


OUTPUT = {
    "py value": ("a.py", "print(result)\n"),
    "py mark": ("a.py", 'print(">>>", x)\n'),
    "py f-string": ("a.py", 'print(f"{x=}")\n'),
    "js": ("src/a.js", "console.log('route', route)\n"),
    "go": ("a.go", 'fmt.Println("DEBUG", x)\n'),
    "rust": ("src/a.rs", 'println!("router hit");\n'),
    "java": ("A.java", 'System.out.println("before assertion");\n'),
}


@pytest.mark.parametrize(("path", "code"), OUTPUT.values(), ids=OUTPUT.keys())
def test_output_that_reads_like_debugging_is_suspected_everywhere(path: str, code: str) -> None:
    assert printed(path, code) == [1.0]
    assert printed(f"cmd/{path}", code) == [0.5]


def test_other_output_is_suspected_where_nobody_prints() -> None:
    text = 'print("The file was read and all is well.")\n'
    assert printed("a.py", text) == [0.5]
    assert printed("cli/a.py", text) == []
    assert printed("a.py", text, "print('A word.' + x())\n" * 3) == []
    assert printed("A.java", "e.printStackTrace();\n") == [0.5]


@pytest.mark.parametrize(
    "code",
    [
        "if verbose:\n    print(x)\n",
        "def show(x):\n    print(x)\n",
        "print(x, file=out)\n",
        '"""\nprint(x)\n"""\n',
        "# print(x)\n",
    ],
)
def test_output_that_somebody_asked_for_is_not_mentioned(code: str) -> None:
    assert printed("a.py", code) == []


def test_a_file_too_deep_to_be_read_is_looked_at_line_by_line() -> None:
    deep = "x = " + "[" * 200 + "]" * 200 + "\n"
    assert printed("a.py", deep + "print(x)\n") == [1.0]


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ('print("error: no such file", name)\n', False),
        ("print(f'Usage: {name} FILE')\n", False),
        ('print("error=", error)\n', True),
        ('print("loaded", name)\n', True),
    ],
)
def test_what_whoever_runs_the_program_must_know_is_no_debugging(code: str, *, is_told: bool) -> None:
    assert bool(printed("a.py", code)) is is_told
