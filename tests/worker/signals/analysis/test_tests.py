"""Tests of each language, and files that only resemble tests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.signals.analysis.samples import PYTHON, SCRIPT, TEXTS
from tests.worker.signals.samples import changed_file, source_of
from worker.signals.analysis import tests as code
from worker.signals.analysis.assertions import find_assertions
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import MORE_LANGUAGES, Language
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.tests import is_test_data

KEYS = [
    (Language.PYTHON, ["test_plain", "TestBox > test_method"]),
    (Language.JAVASCRIPT, ["outer > inner > works", "outer > of %s", "outer > later", "outer > wrapped", "outer > name", "deno"]),
    (Language.GO, ["TestPlain", "TestPlain > sub", "TestPlain > subsub", "TestMethod", "of ginkgo"]),
    (Language.RUST, ["plain", "inner > asynchronous"]),
    (Language.JAVA, ["ATest > plain", "ATest > parameterized", "Old > testOld", "OfTestNg > marked"]),
    (Language.RUBY, ["CartTest > test_total", "Cart > total > adds", "Cart > total > it { is_expected.to be_empty }", "Cart > total > waits", "CartTest > rails", "CartTest > empty"]),
    (Language.CSHARP, ["CartTests > Adds", "CartTests > Counts"]),
    (Language.PHP, ["CartTest > testTotal", "CartTest > it_adds", "CartTest > adds", "works", "later"]),
    (Language.KOTLIN, ["Cart > adds up", "Cart > counts", "CartSpec > adds", "CartSpec > empty > waits", "CartSpec > plain"]),
]  # fmt: skip


@pytest.mark.parametrize(("language", "keys"), KEYS)
def test_tests_are_found_with_their_enclosing_names(language: Language, keys: list[str]) -> None:
    assert [" > ".join(test.key) for test in code.find_tests(source_of(TEXTS[language], language))] == keys


def test_kotlin_call_outside_a_spec_is_not_a_test() -> None:
    assert code.find_tests(source_of('fun f() { test("a") { } }\n', Language.KOTLIN)) == ()


@pytest.mark.parametrize(
    ("language", "name", "marks"),
    [
        (Language.KOTLIN, "waits", "xtest"),
        (Language.KOTLIN, "adds", "test"),
        (Language.PHP, "later", "test ->skip('slow')"),
        (Language.PHP, "it_adds", "public\n/** @test */"),
        (Language.CSHARP, "Adds", '[Fact(Skip = "slow")] public async'),
    ],
)
def test_test_has_its_marks(language: Language, name: str, marks: str) -> None:
    marks_of = {test.name: test.marks for test in code.find_tests(source_of(TEXTS[language], language))}
    assert marks_of[name].strip() == marks


def test_test_has_its_lines_marks_and_text() -> None:
    first, _ = code.find_tests(source_of(PYTHON, Language.PYTHON))
    assert (first.first_line, first.last_line, first.marks) == (5, 8, "@pytest.mark.slow")
    assert "assert True" in first.text
    assert not first.is_maybe_cut


def test_callback_test_starts_at_its_call() -> None:
    tests = {test.name: test for test in code.find_tests(source_of(SCRIPT, Language.JAVASCRIPT))}
    assert (tests["later"].marks, tests["later"].first_line) == ("it.skip", 7)


def test_test_at_end_of_fragment_may_be_cut() -> None:
    source = Source("def test_a():\n    x = 1\n", 7, is_whole=False, language=Language.PYTHON)
    (test,) = code.find_tests(source)
    assert test.is_maybe_cut
    assert test.first_line == 7


@pytest.mark.parametrize(
    ("path", "may"), [("tests/test_a.py", True), ("a.py", False), ("src/a.rs", True), ("tests/notes.txt", False)]
)
def test_only_test_files_and_rust_files_can_hold_tests(path: str, *, may: bool) -> None:
    assert code.can_hold_tests(changed_file(path, None, "x\n")) is may


NESTED = "%s class ATest {\n  @Test void a() {}\n  %s class Inner {\n    @Test void b() {}\n  }\n}\n"


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [("", "static", ["a"]), ("", "@Nested", ["a", "b"]), ("@RunWith(Enclosed.class)", "public static", ["a", "b"])],
    ids=["material", "nested", "enclosed"],
)
def test_inner_java_test_class_needs_nested_or_enclosed(outer: str, inner: str, expected: list[str]) -> None:
    tests = code.find_tests(source_of(NESTED % (outer, inner), Language.JAVA))
    assert [test.name for test in tests] == expected


CASES = {
    "data of a formatter": ("tests/data/cases.py", "def test_a():\n    pass\n", True),
    "what a test tool is tried on": ("test/fixtures/only/a.spec.js", "it.only('a', b)\n", True),
    "what Go's tool leaves out": ("pkg/testdata/src/a_test.go", "package a\n", True),
    "a file of tests": ("tests/test_cases.py", "def test_a():\n    pass\n", False),
    "data of a formatter that speaks of testing": (
        "tests/data/tabs.py",
        "def test():\n    'This is testing, not pytest'\n",
        True,
    ),
    "collected by what it calls": ("testing/metafunc.py", "def test_a(pytester):\n    pytest.skip()\n", False),
    "collected by another pattern": ("testing/metafunc.py", "import pytest\n", False),
    "a program for a compiler": ("tests/fail/a.rs", "#[tokio::test]\nfn test_a() {}\n\nfn main() {}\n", True),
    "a test of Rust": ("tests/a.rs", "#[test]\nfn a() {}\n", False),
    "a program of Rust": ("src/main.rs", "fn main() {}\n", False),
    "what a compiler must refuse": ("lib/src/neg-tests-compile/scala/a_test.rs", "#[test]\nfn a() {}\n", True),
    "what a macro is tried on": ("tests/ui/a_test.rs", "#[test]\nfn a() {}\n", True),
    "a test of a screen": ("src/ui/a.test.ts", "it('a', b)\n", False),
    "a module of production by that name": ("shop/tests.py", "def test_odd(value):\n    return value % 2 == 1\n", True),
    "a module of tests by that name": ("shop/tests.py", "from django.test import TestCase\n", False),
    "a project that a test tool is run in": ("e2e/teardown/__tests__/a.test.js", "test('a', () => {});\n", True),
    "a test that runs it": ("e2e/__tests__/teardown.test.js", "test('a', () => {});\n", False),
    "what a formatter is tried on": ("tests/format/js/only/only.js", "test.fixme('a', () => {});\n", True),
    "a test of Java": ("src/test/Helper.java", "class Helper {\n}\n", False),
}


@pytest.mark.parametrize(("path", "text", "expected"), CASES.values(), ids=CASES.keys())
def test_file_that_no_runner_collects_is_test_data(path: str, text: str, *, expected: bool) -> None:
    assert is_test_data(changed_file(path, None, text)) is expected


def test_file_in_fixtures_folder_is_test_data_without_its_text() -> None:
    assert is_test_data(changed_file("test/__fixtures__/a.test.ts", "x()\n", "y()\n", texts=False))


def test_partly_known_file_is_not_test_data() -> None:
    long = "x = 1\n" * 20
    assert not is_test_data(changed_file("tests/data/cases.py", long, f"{long}y = 1\n", texts=False))


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(
    st.sampled_from(sorted(MORE_LANGUAGES)),
    st.integers(0, 1_300),
    st.integers(0, 60),
    st.sampled_from(["", "{", "end\n", '"', "<<<A\n", "`"]),
)
def test_broken_syntax_yields_tests_within_the_file(language: Language, start: int, length: int, inserted: str) -> None:
    text = TEXTS[language][:start] + inserted + TEXTS[language][start + length :]
    broken = source_of(text, language)
    lines = text.count("\n") + 1
    for function in find_functions(broken):
        assert 1 <= function.first_line <= function.last_line <= lines
    for test in code.find_tests(broken):
        assert 1 <= test.first_line <= test.last_line <= lines
        assert all(assertion.text for assertion in find_assertions(broken, test.body))
