"""Checks that something is there, of which one that stays asks more."""

import pytest

from tests.worker.signals.weak_test.seen import seen
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.weak_test.assertion_strength import assertion_words, is_opposite, is_weaker

TESTS = {
    "test_a.py": "def test_a():\n    use()\n    x = run()\n    {gone}\n    {kept}\n    done(x)\n",
    "a.test.ts": "it('a', () => {{\n  use()\n  const x = run()\n  {gone}\n  {kept}\n  done(x)\n}})\n",
    "ATest.java": "class ATest {{\n  @Test void a() {{\n    A x = run();\n    {gone}\n    {kept}\n    done(x);\n  }}\n}}\n",
    "a_test.go": "package a\n\nfunc TestA(t *testing.T) {{\n\tx := run()\n\t{gone}\n\t{kept}\n\tdone(x)\n}}\n",
}


def of_losses(path: str, gone: str, kept: str) -> list[str]:
    return losses_between(path, TESTS[path].format(gone=gone, kept=kept), gone)


def losses_between(path: str, before: str, gone: str) -> list[str]:
    lines = before.split("\n")
    after = "\n".join(line for line in lines if line.strip() != gone)
    assert after != before
    found = seen({path: before}, {path: after})
    return [name for name, _ in found if name in {"assertion_dropped", "assertion_removed", "assertion_loosened"}]


@pytest.mark.parametrize(
    ("path", "gone", "kept"),
    [
        ("test_a.py", "assert x is not None", "assert x.size == 1"),
        ("test_a.py", "assert x is not None", "assert x == 1"),
        ("test_a.py", "self.assertIsNotNone(x)", "self.assertEqual(x[0], 1)"),
        ("test_a.py", "assert x.find('a') is not None", "assert x.find('a').size == 1"),
        ("a.test.ts", "expect(x).toBeDefined()", "expect(x.size).toBe(1)"),
        ("a.test.ts", "expect(x).not.toBeNull()", "expect(x).toEqual([1])"),
        ("a.test.ts", "expect(x).toBeTruthy()", "expect(x).toHaveLength(1)"),
        ("a.test.ts", "expect(x.find('a')).toBeDefined()", "expect(x.find('a')?.size).toBe(1)"),
        ("ATest.java", "assertThat(x).isNotNull();", "assertThat(x.get()).isSameAs(B);"),
        ("ATest.java", "assertNotNull(x);", "assertEquals(1, x);"),
        ("a_test.go", "require.NotNil(t, x)", "require.Equal(t, 1, x.Size)"),
        ("a_test.go", "require.NotNil(t, x)", "if x.Size != 1 { t.Error(x) }"),
        ("test_a.py", "assert x > 1", "assert x == 2"),
        ("test_a.py", "assert x.size > 0", "assert x.size == 2"),
        ("test_a.py", "assert 1 < x", "assert x == 2"),
        ("test_a.py", "assert x != 'a'", "assert x == 'b'"),
        ("test_a.py", "self.assertGreater(x, 1)", "self.assertEqual(x, 2)"),
        ("a.test.ts", "expect(x.size).toBeGreaterThan(0)", "expect(x.size).toBe(2)"),
        ("a.test.ts", "expect(x).not.toBe(1)", "expect(x).toBe(2)"),
        ("a.test.ts", "expect(x[1]).toBeFalsy()", "expect(x.length).toEqual(1)"),
        ("a.test.ts", "expect(x[1]).toBeUndefined()", "expect(x).toHaveLength(1)"),
        ("ATest.java", "assertTrue(x > 1);", "assertEquals(2, x);"),
        ("ATest.java", "assertThat(x).isGreaterThan(1);", "assertThat(x).isEqualTo(2);"),
        ("a_test.go", "require.Greater(t, x, 1)", "require.Equal(t, 2, x)"),
    ],
)
def test_what_a_stronger_assertion_that_stays_implies_is_no_loss(path: str, gone: str, kept: str) -> None:
    assert of_losses(path, gone, kept) == []


@pytest.mark.parametrize(
    ("path", "gone", "kept"),
    [
        ("test_a.py", "assert x is not None", "assert other.x == 1"),
        ("test_a.py", "assert x is not None", "assert x != 1"),
        ("test_a.py", "assert x is not None", "assert size(x) == 1"),
        ("test_a.py", "assert x.size is not None", "assert x.name == 1"),
        ("test_a.py", "assert x == 1", "assert x.size == 1"),
        ("a.test.ts", "expect(x).toBeDefined()", "expect(x?.size).toBeUndefined()"),
        ("a.test.ts", "expect(x).toBeDefined()", "expect(x).not.toBe(1)"),
        ("a.test.ts", "expect(x).toBeDefined()", "expect(sent).toBe(1)"),
        ("ATest.java", "assertThat(x).isNotNull();", "assertThat(x).isNotEqualTo(B);"),
        ("a_test.go", "require.NotNil(t, x)", "require.NotNil(t, other)"),
        ("a_test.go", "require.NotNil(t, x)", "if other != 1 { t.Error(x.Size) }"),
        ("test_a.py", "assert x > 1", "assert other == 2"),
        ("test_a.py", "assert x == 2", "assert x > 1"),
        ("test_a.py", "assert x > low", "assert x == 2"),
        ("a.test.ts", "expect(x[1]).toBeFalsy()", "expect(x.length).toEqual(2)"),
        ("a.test.ts", "expect(x[1]).toBeFalsy()", "expect(y.length).toEqual(1)"),
    ],
)
def test_what_nothing_that_stays_implies_is_missed(path: str, gone: str, kept: str) -> None:
    assert of_losses(path, gone, kept) != []


STEPS = {
    "a step between asks again": ("assert x.find('a') is not None", "    x.drop()\n    assert x.find('a').size == 1\n"),
    "bound anew": ("assert x is not None", "    x = more()\n    assert x.size == 1\n"),
}


@pytest.mark.parametrize(("gone", "rest"), STEPS.values(), ids=STEPS.keys())
def test_what_was_there_before_a_further_step_is_missed(gone: str, rest: str) -> None:
    before = f"def test_a():\n    x = run()\n    {gone}\n{rest}"
    assert losses_between("test_a.py", before, gone) != []


def test_with_nothing_but_checks_and_empty_lines_between_the_stronger_one_speaks_for_it() -> None:
    gone = "assert x.find('a') is not None"
    before = f"def test_a():\n    x = run()\n    {gone}\n\n    assert y == 1\n    assert x.find('a').size == 1\n"
    assert losses_between("test_a.py", before, gone) == []


def without_the_last(path: str, before: str, line: str) -> list[str]:
    head, _, rest = before.rpartition(line + "\n")
    found = seen({path: before}, {path: head + rest})
    return [name for name, _ in found if name in {"assertion_dropped", "assertion_removed"}]


TWICE = "def test_a():\n    x = run()\n    assert f(x) == 2\n{between}    assert f(x) == 2\n    done(x)\n"


@pytest.mark.parametrize(
    ("between", "found"),
    [("", []), ("    assert f(3) == 4\n", []), ("    x.drop()\n", ["assertion_removed"])],
    ids=["right below", "below another check", "below a step"],
)
def test_what_stands_twice_is_no_fact(between: str, found: list[str]) -> None:
    assert without_the_last("test_a.py", TWICE.format(between=between), "    assert f(x) == 2") == found


@pytest.mark.parametrize(
    ("gone", "kept", "found"),
    [
        ("assert isinstance(x, int)", "assert x == 2", "assertion_removed"),
        ("assert x.size == 1", "assert x == [1]", "assertion_removed"),
        ("assert x.size == y.size", "assert x == [1]", "assertion_dropped"),
        ("assert x.size == 1", "assert x.name == 'a'", "assertion_dropped"),
        ("assert x == 1", "assert x == 2", "assertion_dropped"),
    ],
)
def test_what_speaks_of_a_value_alone_that_stays_asserted_is_no_fact(gone: str, kept: str, found: str) -> None:
    before = f"def test_a():\n    x, y = run()\n    {gone}\n    {kept}\n    done(x, y)\n"
    assert losses_between("test_a.py", before, gone) == [found]


def oracle(text: str) -> Assertion:
    (found,) = find_assertions(Source(text, 1, is_whole=True, language=Language.PYTHON))
    return found


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("assert x is not None", "assert x == 1", True),
        ("assert x == 1", "assert x is not None", False),
        ("assert y is not None", "assert x == 1", False),
        ("assert x is not None", "assert x is None", False),
    ],
    ids=["less", "more", "of something else", "the opposite"],
)
def test_what_only_asks_that_something_is_there_asks_less_of_the_same(new: str, old: str, *, expected: bool) -> None:
    assert is_weaker(oracle(new), oracle(old)) is expected


def test_what_was_absent_and_is_there_now_is_the_opposite() -> None:
    assert is_opposite(oracle("assert x is not None"), oracle("assert x is None"))
    assert not is_opposite(oracle("assert x is not None"), oracle("assert x == 1"))


def test_a_check_names_what_it_asks_about_and_not_its_own_words() -> None:
    assert assertion_words(oracle("assert len(rows) == total and 'name' in rows[0].names")) == {"rows", "total"}
