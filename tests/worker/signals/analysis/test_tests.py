"""Tests found in six languages, and paired with what they were before."""

import pytest

from tests.worker.signals.made import change_of, changed_file, diff_of, plain_dossier
from worker.signals.analysis import tests as code
from worker.signals.analysis.change import CodeChange, Source
from worker.signals.analysis.file_roles import Language

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


def body(name: str, *lines: str) -> str:
    return f"def test_{name}():\n" + "".join(f"    {line}\n" for line in lines) + "\n\n"


LONG = ("one = make()", "two = one.more()", "assert two == 2")


def names(pairs: tuple[code.MatchedTest, ...]) -> set[tuple[str | None, str | None]]:
    return {(pair.base and pair.base.name, pair.head and pair.head.name) for pair in pairs}


def test_tests_are_paired_by_their_names() -> None:
    before, after = (
        body("a", "assert 1") + body("gone", *LONG),
        body("a", "assert 2") + "x = 1\n\n\n" + body("new", "f()"),
    )
    file = changed_file("test_a.py", before, after)
    assert names(code.match_tests(file)) == {("test_a", "test_a"), ("test_gone", None), (None, "test_new")}


def test_a_test_whose_class_was_renamed_is_the_same() -> None:
    method = "    def test_a(self):\n        assert 1\n"
    file = changed_file("test_a.py", f"class A:\n{method}", f"class B:\n{method}")
    assert names(code.match_tests(file)) == {("test_a", "test_a")}


def test_a_renamed_test_is_known_by_its_lines() -> None:
    file = changed_file("test_a.py", body("old", *LONG), body("kept", "g()", "h()") + body("new", *LONG))
    assert names(code.match_tests(file)) == {("test_old", "test_new"), (None, "test_kept")}


def test_a_line_that_many_tests_share_tells_nothing() -> None:
    before = "".join(body(f"old_{number}", "same()") for number in range(25))
    change = change_of({"test_a.py": before}, {"test_a.py": "x = 1\n", "test_b.py": body("new", "same()")})
    assert (None, "test_new") in names(code.match_all_tests(change))


def test_a_test_renamed_in_its_place_is_the_same_whatever_it_says() -> None:
    around = body("before", "assert 1")
    file = changed_file("test_a.py", around + body("old", "f()"), around + body("new", "g()", "h()"))
    assert ("test_old", "test_new") in names(code.match_tests(file))


def test_a_test_that_moved_to_another_file_is_one_pair() -> None:
    change = change_of({"test_a.py": body("a", *LONG)}, {"test_a.py": "x = 1\n", "test_b.py": body("a", *LONG)})
    (pair,) = code.match_all_tests(change)
    assert (pair.file.path, pair.base is not None, pair.head is not None) == ("test_b.py", True, True)


def test_without_texts_the_tests_of_the_hunks_are_paired() -> None:
    file = changed_file("test_a.py", body("a", "assert 1"), body("a", "assert 2"), texts=False)
    (pair,) = code.match_tests(file)
    assert pair.base is not None
    assert pair.head is not None
    assert not pair.base.source.is_whole


def test_the_tests_of_a_deleted_file_are_gone() -> None:
    change = CodeChange(plain_dossier(diff_of({"test_a.py": body("a", "assert 1")}, {})))
    assert names(code.match_all_tests(change)) == {("test_a", None)}


def test_what_no_grammar_reads_has_no_version_before() -> None:
    assert code.base_sources(changed_file("notes.txt", "a\n", "b\n")) == ()


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


@pytest.mark.parametrize(
    ("path", "without", "with_some"),
    [
        ("a_test.go", "package a\n\nfunc f() { g(1) }\n", "package a\n\nfunc TestG(t *testing.T) { g(1) }\n"),
        ("a.test.js", "f(() => { g(1) })\n", "it('works', () => { g(1) })\n"),
        ("src/a.rs", "fn f() { g(1) }\n", "#[test]\nfn f() { g(1) }\n"),
    ],
)
def test_a_file_whose_text_announces_no_test_holds_none(path: str, without: str, with_some: str) -> None:
    before, after = changed_file(path, without, without + "\n"), changed_file(path, None, with_some)
    assert code.match_tests(before) == ()
    assert [pair.base for pair in code.match_tests(after)] == [None]
