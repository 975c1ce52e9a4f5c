"""Assertions that more results meet than before."""

import pytest

from tests.worker.signals.weak_test.seen import names, seen

PY = "def test_a():\n    x = run(1)\n    {}\n"
TS = "it('a', () => {{\n  const x = run(1)\n  {}\n}})\n"
JAVA = "class ATest {{\n  @Test void a() {{\n    var x = run(1);\n    {}\n  }}\n}}\n"
GO = "package a\n\nfunc TestA(t *testing.T) {{\n\tx := run(1)\n\t{}\n}}\n"
RUST = "#[test]\nfn a() {{\n    let x = run(1);\n    {}\n}}\n"
WIDER = [
    ("test_a.py", PY, "assert x == 'abc'", "assert 'a' in x"),
    ("test_a.py", PY, "assert x == 3", "assert x >= 0"),
    ("test_a.py", PY, "assert x == 3", "assert x != 4"),
    ("test_a.py", PY, "m.assert_called_once_with(1)", "m.assert_called()"),
    ("test_a.py", PY, "assert x == pytest.approx(3, rel=0.001)", "assert x == pytest.approx(3, rel=10)"),
    ("test_a.py", PY, "self.assertAlmostEqual(x, 3, places=7)", "self.assertAlmostEqual(x, 3, places=1)"),
    ("test_a.py", PY, "assert abs(x - y) < 0.01", "assert abs(x - y) < 100"),
    ("test_a.py", PY, "with pytest.raises(KeyError, match='no'):\n        f()", "with pytest.raises(Exception):\n        f()"),
    ("test_a.py", PY, "assert x == 3", "assert parse(x) is not None"),
    ("a.test.ts", TS, "expect(x).toEqual({ a: 1 })", "expect(x).toEqual(expect.objectContaining({ a: 1 }))"),
    ("a.test.ts", TS, "expect(x).toBe(3)", "expect(x).toBeGreaterThan(2)"),
    ("a.test.ts", TS, "expect(x).toBe(3)", "expect(() => run(1)).not.toThrow()"),
    ("a.test.ts", TS, "expect(x).toBeCloseTo(3, 5)", "expect(x).toBeCloseTo(3, 0)"),
    ("a.test.ts", TS, "expect(f).toThrow('no such')", "expect(f).toThrow()"),
    ("a.test.ts", TS, "expect(f).toHaveBeenCalledWith(1)", "expect(f).toHaveBeenCalled()"),
    ("ATest.java", JAVA, "assertEquals(3, x, 0.001);", "assertEquals(3, x, 10);"),
    ("ATest.java", JAVA, "assertThrows(KeyException.class, f);", "assertThrows(Exception.class, f);"),
    ("a_test.go", GO, "require.InDelta(t, 3, x, 0.1)", "require.InDelta(t, 3, x, 100)"),
    ("a_test.go", GO, "require.ErrorIs(t, err, ErrX)", "require.Error(t, err)"),
    ("tests/a.rs", RUST, 'assert_eq!(x, "abc");', 'assert!(x.contains("a"));'),
]  # fmt: skip
AS_BEFORE = [
    (PY, "assert x == 3", "assert x == 4"),
    (PY, "assert x >3", "assert x > 3"),
    (PY, "assert 'a' in x", "assert x == 'a'"),
    (PY, "assert abs(x - y) < 100", "assert abs(x - y) < 0.01"),
    (PY, "assert x == pytest.approx(3, rel=0.001)", "assert x == pytest.approx(4, rel=0.002)"),
    (PY, "assert x == f(3, 5)", "assert x == f(3, 6)"),
    (PY, "assert x == 3", "assert other.y in z"),
    (PY, "with pytest.raises(KeyError):\n        f()", "with pytest.raises(ValueError, match='no'):\n        f()"),
    (PY, "assert x == 'abc'", "assert 'a' in x\n    assert x == 'abd'"),
]


@pytest.mark.parametrize(("path", "frame", "old", "new"), WIDER, ids=str)
def test_an_assertion_that_more_results_meet_is_suspected(path: str, frame: str, old: str, new: str) -> None:
    assert "assertion_widened" in names(seen({path: frame.format(old)}, {path: frame.format(new)}))


@pytest.mark.parametrize(("frame", "old", "new"), AS_BEFORE, ids=str)
def test_an_assertion_that_asks_for_as_much_is_left_alone(frame: str, old: str, new: str) -> None:
    assert "assertion_widened" not in names(seen({"test_a.py": frame.format(old)}, {"test_a.py": frame.format(new)}))


def test_what_is_told_as_loosened_is_not_told_again() -> None:
    found = seen({"test_a.py": PY.format("assert x == 3")}, {"test_a.py": PY.format("assert x is not None")})
    assert names(found) == ["assertion_loosened"]


def test_code_that_is_no_test_may_expect_any_error() -> None:
    before, after = "def f():\n    check(KeyError, match='a')\n", "def f():\n    raises(Exception)\n"
    assert seen({"src/a.py": before}, {"src/a.py": after}) == []
