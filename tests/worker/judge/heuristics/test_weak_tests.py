"""Tests that were deleted, switched off, or prove nothing."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.domain.verdict import Category, Finding, Side
from worker.judge.heuristics.weak_tests import DELETED, ONLY, SKIPPED, UNASSERTED, weak_tests

KEPT = "def test_kept():\n    assert up() == 1\n\n\n"
GONE = "def test_gone():\n    assert down() == 1\n"


def found(path: str, before: str | None, after: str) -> list[Finding]:
    return list(weak_tests(change_of({} if before is None else {path: before}, {path: after})))


def signals(path: str, before: str | None, after: str) -> list[tuple[str, Category]]:
    return [(finding.signal, finding.category) for finding in found(path, before, after)]


DELETIONS = {
    "py": ("tests/test_a.py", KEPT, GONE),
    "ts": (
        "a.test.ts",
        "it('keeps', () => {\n  expect(1).toBe(1)\n})\n",
        "it('goes', () => {\n  expect(2).toBe(2)\n})\n",
    ),
    "go": ("a_test.go", "package a\n\n", 'func TestGone(t *testing.T) {\n\tt.Error("x")\n}\n'),
    "rust": ("src/a.rs", "fn a() {}\n\n", "#[test]\nfn gone() {\n    assert!(true);\n}\n"),
    "java": ("ATest.java", "class ATest {\n}\n", "  @Test\n  void gone() {\n    assertThat(1);\n  }\n"),
}


@pytest.mark.parametrize(("path", "kept", "gone"), DELETIONS.values(), ids=DELETIONS.keys())
def test_a_deleted_test_is_suspected_at_its_old_line(path: str, kept: str, gone: str) -> None:
    (finding,) = found(path, kept + gone, kept)
    assert (finding.signal, finding.category, finding.side) == (DELETED, Category.TESTS_PASS_BUT_WRONG, Side.BASE)
    assert finding.line is not None
    assert not finding.fact
    assert "gone" in finding.note.lower() or "goes" in finding.note


def test_several_deleted_tests_are_one_finding_a_file() -> None:
    more = GONE + "\n\n" + GONE.replace("gone", "gone_too")
    (finding,) = found("tests/test_a.py", KEPT + more, KEPT)
    assert finding.note == "the test `test_gone` and 1 more was deleted"


def test_a_rewritten_test_is_not_deleted() -> None:
    assert found("tests/test_a.py", KEPT + GONE, KEPT + GONE.replace("gone", "renamed")) == []


def test_a_moved_test_is_not_deleted() -> None:
    moved = change_of({"tests/test_a.py": KEPT + GONE}, {"tests/test_a.py": KEPT, "tests/test_b.py": GONE})
    assert list(weak_tests(moved)) == []


def test_a_test_that_goes_with_its_code_is_not_suspected() -> None:
    before = {"tests/test_a.py": KEPT + GONE, "a.py": "def down():\n    return 1\n\n\nx = 1\n"}
    assert list(weak_tests(change_of(before, {"tests/test_a.py": KEPT, "a.py": "x = 1\n"}))) == []


def test_a_test_file_written_anew_is_not_deleted() -> None:
    other = "def test_new():\n    assert up() == 2\n"
    assert list(weak_tests(change_of({"tests/test_a.py": GONE}, {"tests/test_b.py": other}))) == []
    (finding,) = weak_tests(change_of({"tests/test_a.py": GONE}, {}))
    assert finding.signal == DELETED


SKIPS = {
    "pytest": ("tests/test_a.py", '@pytest.mark.skip("later")\n', "def test_a():\n    assert up()\n"),
    "expected to fail": ("tests/test_a.py", "@pytest.mark.xfail\n", "def test_a():\n    assert up()\n"),
    "unittest": ("tests/test_a.py", '@unittest.skip("x")\n', "def test_a():\n    assert up()\n"),
    "rust": ("tests/a.rs", "#[ignore]\n", "#[test]\nfn a() {\n    assert!(up());\n}\n"),
    "java": ("ATest.java", "  @Disabled\n", "  @Test\n  void a() {\n    assertThat(1);\n  }\n"),
}


@pytest.mark.parametrize(("path", "mark", "test"), SKIPS.values(), ids=SKIPS.keys())
def test_a_mark_switches_an_existing_test_off_or_comes_with_a_new_one(path: str, mark: str, test: str) -> None:
    assert signals(path, test, mark + test) == [(SKIPPED, Category.TESTS_PASS_BUT_WRONG)]
    assert signals(path, "\n\n", "\n\n" + mark + test) == [(SKIPPED, Category.WEAK_TEST)]


@pytest.mark.parametrize("call", ['    pytest.skip("x")', '    self.skipTest("x")', '    raise unittest.SkipTest("x")'])
def test_a_call_that_skips_is_suspected(call: str) -> None:
    test = "def test_a():\n    assert up()\n"
    assert signals("tests/test_a.py", test, f"def test_a():\n{call}\n    assert up()\n") == [
        (SKIPPED, Category.TESTS_PASS_BUT_WRONG)
    ]


def test_go_skips_by_a_call() -> None:
    test = "func TestA(t *testing.T) {\n\tcheck(t)\n}\n"
    off = 'func TestA(t *testing.T) {\n\tt.Skip("x")\n\tcheck(t)\n}\n'
    assert signals("a_test.go", test, off) == [(SKIPPED, Category.TESTS_PASS_BUT_WRONG)]
    assert signals("a_test.go", "package a\n", "package a\n\n" + off) == [(SKIPPED, Category.WEAK_TEST)]


@pytest.mark.parametrize(
    "line",
    ["it.skip('a', () => {", "xit('a', () => {", "describe.skip('a', () => {", "test.todo('a', () => {"],
)
def test_scripts_skip_by_name(line: str) -> None:
    before = "it('a', () => {\n  expect(1).toBe(1)\n})\n"
    assert signals("a.test.ts", before, f"{line}\n  expect(1).toBe(1)\n}})\n") == [
        (SKIPPED, Category.TESTS_PASS_BUT_WRONG)
    ]
    assert signals("a.test.ts", "\n", f"\n{line}\n  expect(1).toBe(1)\n}})\n") == [(SKIPPED, Category.WEAK_TEST)]


def test_a_mark_that_leaves_only_one_test_is_suspected() -> None:
    before = "it('a', () => {\n  expect(1).toBe(1)\n})\n"
    assert signals("a.test.ts", before, before.replace("it(", "it.only(")) == [(ONLY, Category.TESTS_PASS_BUT_WRONG)]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_a.py", "", "def test_a():\n    if windows:\n        pytest.skip('x')\n    assert up()\n"),
        ("tests/test_a.py", "", "@pytest.mark.skipif(windows, reason='x')\ndef test_a():\n    assert up()\n"),
        (
            "tests/test_a.py",
            "",
            'def test_a(tool):\n    tool("""\n@pytest.mark.skip\ndef test_b(): pass\n""").check()\n',
        ),
        (
            "tests/test_a.py",
            "@pytest.mark.skip\ndef test_a():\n    assert 1\n",
            "x = 1\n@pytest.mark.skip\ndef test_a():\n    assert 1\n",
        ),
        ("ATest.java", "", "  @DisabledOnOs(WINDOWS)\n  @Test\n  void a() {\n    assertThat(1);\n  }\n"),
        ("src/a.py", "", "@pytest.mark.skip\ndef test_a():\n    pass\n"),
        ("tests/a.txt", "", "@pytest.mark.skip\ndef test_a():\n    pass\n"),
        ("a_test.go", "", "func TestA(t *testing.T) {\n\tif short {\n\t\tt.Skip()\n\t}\n\tcheck(t)\n}\n"),
    ],
)
def test_conditions_strings_and_what_stood_there_are_not_suspected(path: str, before: str, after: str) -> None:
    assert signals(path, before or "\n", after) == []


EMPTY_TESTS = {
    "py": ("tests/test_a.py", "def test_a():\n    up(1)\n"),
    "ts": ("a.test.ts", "it('a', async () => {\n  await up(1)\n})\n"),
    "go": ("a_test.go", "package a\n\nfunc TestA(x *testing.T) {\n\tup(1)\n}\n"),
    "rust": ("tests/a.rs", "#[test]\nfn a() {\n    up(1);\n}\n"),
    "java": ("ATest.java", "class ATest {\n  @Test\n  void a() {\n    up(1);\n  }\n}\n"),
}


@pytest.mark.parametrize(("path", "test"), EMPTY_TESTS.values(), ids=EMPTY_TESTS.keys())
def test_a_new_test_that_only_calls_is_suspected(path: str, test: str) -> None:
    (finding,) = found(path, None, test)
    assert (finding.signal, finding.category, finding.fact) == (UNASSERTED, Category.WEAK_TEST, False)
    assert "asserts nothing" in finding.note


@pytest.mark.parametrize(("path", "test"), EMPTY_TESTS.values(), ids=EMPTY_TESTS.keys())
@pytest.mark.parametrize("check", ["assert_up", "expectUp", "check_it", "verify"])
def test_a_call_that_may_check_is_enough(path: str, test: str, check: str) -> None:
    assert found(path, None, test.replace("up(", f"{check}(")) == []


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/test_a.py", "@pytest.fixture\ndef test_app():\n    up(1)\n"),
        ("tests/test_a.py", "def test_a():\n    def test():\n        up(1)\n    assert test\n"),
        ("tests/test_a.py", "def helper():\n    up(1)\n"),
        ("tests/test_a.py", "@pytest.mark.parametrize('x', [1])\ndef test_a(x):\n    up(x)\n"),
        ("a_test.go", "package a\n\nfunc TestMain(x *testing.M) {\n\tup(1)\n}\n"),
        ("tests/a.rs", "#[test]\n#[should_panic]\nfn a() {\n    up(1);\n}\n"),
        ("ATest.java", "class ATest {\n  void helper() {\n    up(1);\n  }\n}\n"),
        ("a.test.ts", "describe('a', () => {\n  up(1)\n})\n"),
        ("src/a.rs", "#[test]\nfn a() {\n    up(1);\n}\n"),
    ],
)
def test_what_is_no_test_needs_no_assertion(path: str, test: str) -> None:
    assert found(path, None, test) == []


def test_an_existing_test_without_an_assertion_is_not_new() -> None:
    test = "def test_a():\n    up(1)\n"
    assert found("tests/test_a.py", test, test + "\n\nX = 1\n") == []
    assert found("tests/test_a.py", test, test.replace("up(1)", "up(2)")) == []


def test_a_file_of_skipped_tests_is_told_ten_times() -> None:
    tests = "".join(f"@pytest.mark.skip\ndef test_{n}():\n    assert up()\n\n\n" for n in range(30))
    assert len(found("tests/test_a.py", "\n", "\n" + tests)) == 10
