"""The generated changes that costs are measured on, and how the work of the heuristic tier grows, in function calls."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from bench.cost import exponent
from tests.bench.generated import LANGUAGES, Size, generate_dossier
from worker.domain.dossier import Criterion, Dossier, HeadFile
from worker.domain.pattern import compile_patterns
from worker.dossier.diff import diff_of, parse_diff
from worker.judge.rubric import load_rubric
from worker.signals.analysis.change import CodeChange
from worker.signals.heuristic_opinion import form_opinion

RUBRIC = load_rubric()


@pytest.mark.parametrize("language", LANGUAGES)
def test_generated_change_is_valid_code_before_and_after(language: str) -> None:
    change = CodeChange(generate_dossier([language], Size(files=4), whole=True))
    assert len(change.files) == 4
    assert all(file.base_text is not None and file.base_text != file.head_text for file in change.files)
    assert not any(source.root.has_error for file in change.files for source in file.sources)


def test_generated_diff_does_not_depend_on_whole_files() -> None:
    whole, bare = (generate_dossier(LANGUAGES, Size(files=6), whole=whole) for whole in (True, False))
    assert (whole.diff, bare.files) == (bare.diff, None)


def test_exponent_of_a_line_is_one_and_of_a_square_two() -> None:
    assert exponent([(1.0, 3.0), (10.0, 30.0), (100.0, 300.0)]) == pytest.approx(1)
    assert exponent([(1.0, 1.0), (2.0, 4.0), (4.0, 16.0)]) == pytest.approx(2)


def count_calls(run: Callable[[], object]) -> int:
    """How many functions are called, of Python and of C."""
    calls = 0

    def count(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


compile_patterns()  # else the first judging of a process counts the compilation


def measure(dossier: Dossier) -> int:
    diff_of.cache_clear()
    return count_calls(lambda: form_opinion(dossier, RUBRIC))


TWICE_WITH_ROOM = 2.6


SOME_AND_ALL = [LANGUAGES[0], *(pytest.param(language, marks=pytest.mark.slow) for language in LANGUAGES[1:])]


@pytest.mark.parametrize("language", SOME_AND_ALL)
@pytest.mark.parametrize(
    ("small", "large"),
    [(Size(files=10), Size(files=20)), (Size(files=2, added=30), Size(files=2, added=60))],
    ids=["files", "functions"],
)
def test_work_grows_linearly_with_the_change(language: str, small: Size, large: Size) -> None:
    few, many = (measure(generate_dossier([language], size, whole=True)) for size in (small, large))
    assert many <= TWICE_WITH_ROOM * few


def test_parsing_grows_linearly_with_the_diff() -> None:
    raws = [generate_dossier(LANGUAGES, Size(files=files, kept=40), whole=False).diff.encode() for files in (20, 40)]
    few, many = (count_calls(lambda raw=raw: parse_diff(raw)) for raw in raws)
    assert many <= TWICE_WITH_ROOM * few


def new_file_dossier(path: str, text: str) -> Dossier:
    frame = generate_dossier(["python"], Size(files=1), whole=True)
    lines = text.split("\n")
    diff = f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..1\n--- /dev/null\n+++ b/{path}\n"
    diff += f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
    return frame.model_copy(update={"diff": diff, "files": (HeadFile(path=path, text=f"{text}\n"),)})


NESTED = 3_000
LONG_LINE = 1_000_000


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "f(" * NESTED + ")" * NESTED),
        ("a.py", "x = " + "[" * NESTED + "]" * NESTED),
        ("a.go", "package a\n\nfunc f() " + "{ if true " * NESTED + "}" * NESTED),
        ("test_a.py", "def test_a():\n    assert " + "not " * NESTED + "x"),
        ("a.test.ts", "it('a', () => { expect(" + "a." * NESTED + "b).toBe(1) })"),
        ("a.test.js", "it('a', () => { f(a" + ".Skip()" * NESTED + ") })"),
        ("a.rs", "fn f() { a" + "[0]" * NESTED + " }"),
        ("a.ts", "}" * NESTED + "f(" * NESTED),
        ("test_a.py", "def test_a():\n    x = a" + ".b" * NESTED),
        ("a.py", "x = '" + "a" * LONG_LINE + "'"),
        ("tests/a.rs", 'fn f() { let x = "' + '\\"' * (LONG_LINE // 2) + '"; }'),
        ("A.java", "/*" * 50_000),
        ("a.py", "# " + "TODO " * 50_000),
        ("a.test.ts", "| - " * 7_500),
        ("README.md", "[" * 50_000),
        (".github/workflows/ci.yml", "run: " + "pytest || true && " * 20_000),
    ],
)
def test_deep_nesting_and_long_lines_are_judged_in_bounded_work(path: str, text: str) -> None:
    assert measure(new_file_dossier(path, text)) < 3_000_000


DEEP = 30


@pytest.mark.parametrize(
    ("path", "opens", "leaf", "closes"),
    [
        ("a.test.js", "it('a', () => { " + "if (x) { " * DEEP, "expect(f(x)).toBe(1);", "}" * DEEP + "})"),
        ("a.test.js", "describe('a', () => { " * DEEP, "it('b', () => { expect(f(x)).toBe(1) });", "})" * DEEP),
        ("src/a.js", "function f() { " * DEEP, "function g(a) { /* none */ }", "}" * DEEP),
        ("a_test.go", "package a\nfunc TestA(t *testing.T) {" + "if x { " * DEEP, "f(1)", "}" * DEEP + "}"),
        ("src/a.rs", "mod a { " * DEEP, "#[test] fn a() { assert_eq!(f(x), 1) }", "}" * DEEP),
    ],
)
def test_work_grows_linearly_with_deeply_nested_code(path: str, opens: str, leaf: str, closes: str) -> None:
    few, many = (measure(new_file_dossier(path, f"{opens}\n" + f"{leaf}\n" * leaves + closes)) for leaves in (50, 100))
    assert many <= TWICE_WITH_ROOM * few


def test_work_grows_linearly_with_criteria() -> None:
    frame = generate_dossier(["python"], Size(files=4), whole=True)
    criteria = tuple(Criterion(id=f"AC{number}", text="`convert` counts") for number in range(2_000))
    few, many = (frame.model_copy(update={"criteria": criteria[:count]}) for count in (1_000, 2_000))
    assert measure(many) <= TWICE_WITH_ROOM * measure(few)
