"""Tests found in six languages, and files that only look like tests."""

import pytest

from tests.worker.signals.made import changed_file
from worker.signals.analysis import tests as code
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.tests import is_test_data

PYTHON = """
import pytest

@pytest.mark.slow
def test_plain():
    def test_inner():
        pass
    assert True


class TestBox:
    async def test_method(self):
        assert 1

    def helper(self):
        pass


@pytest.fixture
def test_data():
    return 1
"""
SCRIPT = """
describe('outer', () => {
  describe('inner', () => {
    it('works', () => { expect(1).toBe(1) })
  })
  test.each([1])('of %s', async (x) => expect(x).toBe(1))
  it.skip(`later`, function () {})
  it('wrapped', fakeAsync(() => { tick() }))
  it('announced')
  it('elsewhere', helper)
  test.describe('no test', () => {})
  other('no test', () => {})
  xit(name, () => {})
})
Deno.test('deno', () => {})
a().b('no test', () => {})
it.a.b.c.d.e('no test', () => {})
test.each.only.skip.concurrent.serial.fails('too far', () => {})
(() => it)()('no test', () => {})
"""
GO = """package a

func TestWith(t *testing.T, f func(t *testing.T)) {
}

func TestPlain(t *testing.T) {
	t.Run("sub", func(t *testing.T) { t.Run("subsub", func(t *testing.T) {}) })
	t.Run("named", helper)
	f()()
	s.Other("x", func() {})
	Run(func() {})
}

func (s *Suite) TestMethod() {}

func TestMain(m *testing.M) {}

func Testify(t *testing.T) {}

func TestNoTest(x int) {}

func declared()

func BenchmarkX(b *testing.B) {
	b.Run("no test", func(b *testing.B) {})
}

var _ = It("of ginkgo", func() {})
"""
RUST = """
#[test]
fn plain() {}

mod inner {
    /// Says it.
    #[tokio::test]
    async fn asynchronous() {}
}

#[cfg(test)]
fn helper() {}
"""
JAVA = """
class ATest {
  @Test public void plain() {}
  @ParameterizedTest void parameterized(int x) {}
  void helper() {}
  ATest() {}
}
class Old extends TestCase {
  public void testOld() {}
  public int testNumber() { return 1; }
  public void other() {}
}
@Test
class OfTestNg {
  public void marked() {}
  public void helped(int x) {}
  public static void main(String[] args) {}
}
"""
FOUND = {
    Language.PYTHON: (PYTHON, ["test_plain", "TestBox > test_method"]),
    Language.JAVASCRIPT: (
        SCRIPT,
        ["outer > inner > works", "outer > of %s", "outer > later", "outer > wrapped", "outer > name", "deno"],
    ),
    Language.GO: (GO, ["TestPlain", "TestPlain > sub", "TestPlain > subsub", "TestMethod", "of ginkgo"]),
    Language.RUST: (RUST, ["plain", "inner > asynchronous"]),
    Language.JAVA: (JAVA, ["ATest > plain", "ATest > parameterized", "Old > testOld", "OfTestNg > marked"]),
}


def source_of(text: str, language: Language) -> Source:
    return Source(text, 1, is_whole=True, language=language)


@pytest.mark.parametrize("language", FOUND)
def test_the_tests_of_a_source_are_found_with_what_they_stand_in(language: Language) -> None:
    text, names = FOUND[language]
    assert [" > ".join(test.key) for test in code.find_tests(source_of(text, language))] == names


def test_a_test_knows_its_lines_marks_and_body() -> None:
    first, _ = code.find_tests(source_of(PYTHON, Language.PYTHON))
    assert (first.first_line, first.last_line, first.marks) == (5, 8, "@pytest.mark.slow")
    assert "assert True" in first.text
    assert not first.is_maybe_cut


def test_a_callback_begins_with_its_call_and_is_marked_by_it() -> None:
    found = {test.name: test for test in code.find_tests(source_of(SCRIPT, Language.JAVASCRIPT))}
    assert (found["later"].marks, found["later"].first_line) == ("it.skip", 7)


def test_a_test_at_the_end_of_a_fragment_may_be_cut() -> None:
    source = Source("def test_a():\n    x = 1\n", 7, is_whole=False, language=Language.PYTHON)
    (found,) = code.find_tests(source)
    assert found.is_maybe_cut
    assert found.first_line == 7


@pytest.mark.parametrize(
    ("path", "may"), [("tests/test_a.py", True), ("a.py", False), ("src/a.rs", True), ("tests/notes.txt", False)]
)
def test_only_files_of_tests_and_rust_may_hold_some(path: str, *, may: bool) -> None:
    assert code.can_hold_tests(changed_file(path, None, "x\n")) is may


NESTED = "%s class ATest {\n  @Test void a() {}\n  %s class Inner {\n    @Test void b() {}\n  }\n}\n"


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ("", "static", ["a"]),
        ("", "@Nested", ["a", "b"]),
        ("@RunWith(Enclosed.class)", "public static", ["a", "b"]),
    ],
    ids=["material", "nested", "enclosed"],
)
def test_a_class_inside_of_a_test_class_of_java_is_run_only_where_it_says_so(
    outer: str, inner: str, expected: list[str]
) -> None:
    found = code.find_tests(source_of(NESTED % (outer, inner), Language.JAVA))
    assert [one.name for one in found] == expected


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
def test_what_no_runner_collects_is_material(path: str, text: str, *, expected: bool) -> None:
    assert is_test_data(changed_file(path, None, text)) is expected


def test_what_a_test_tool_is_tried_on_is_known_by_its_folder_alone() -> None:
    assert is_test_data(changed_file("test/__fixtures__/a.test.ts", "x()\n", "y()\n", texts=False))


def test_a_file_that_is_shown_in_part_is_taken_for_one_of_tests() -> None:
    long = "x = 1\n" * 20
    assert not is_test_data(changed_file("tests/data/cases.py", long, f"{long}y = 1\n", texts=False))
