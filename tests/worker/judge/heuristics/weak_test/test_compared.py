"""Expected values that expect nothing."""

import pytest

from tests.worker.judge.heuristics.weak_test.seen import names, seen, seen_new

ALIASES = [
    ("test_a.py", "def test_a():\n    got = run(1)\n    want = got\n    assert got == want\n", 4),
    ("a.test.ts", "it('a', () => {\n  const got = run(1)\n  const want = got\n  expect(got).toEqual(want)\n})\n", 4),
    ("tests/a.rs", "#[test]\nfn a() {\n    let got = run(1);\n    let want = got.clone();\n    assert_eq!(got, want);\n}\n", 5),
    ("ATest.java", "class ATest {\n  @Test void a() {\n    var got = run(1);\n    var want = got;\n    assertEquals(want, got);\n  }\n}\n", 5),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tgot := run(1)\n\twant := got\n\tif got != want { t.Error(got) }\n}\n", 6),
]  # fmt: skip
ALIKE = [
    ("test_a.py", "def test_a():\n    got = run(1)\n    want = run(1)\n    assert got == want\n", 4),
    ("test_a.py", "def test_a():\n    want = run(1)\n    assert run(1) == want\n", 3),
    ("a.test.ts", "it('a', async () => {\n  const got = await run(1)\n  const want = await run(1)\n  expect(got).toBe(want)\n})\n", 4),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tgot, _ := run(1)\n\twant, _ := run(1)\n\trequire.Equal(t, want, got)\n}\n", 6),
]  # fmt: skip
TELLING = [
    "def test_a():\n    got = run(1)\n    want = other(1)\n    assert got == want\n",
    "def test_a():\n    before = count()\n    run()\n    after = count()\n    assert before == after\n",
    "def test_a():\n    want = got = 1\n    got = run()\n    assert got == want\n",
    "def test_a():\n    got = 1\n    want = 1\n    assert got == want\n",
    "def test_a():\n    got = run(1)\n    assert got == 'x'\n",
    "def test_a():\n    want = 'a' + f()\n    assert got == want\n",
    "def test_equal():\n    got = run(1)\n    want = got\n    assert got == want\n",
    "def test_a():\n    def make():\n        want = got\n    assert got == want\n",
]
DOUBLES = [
    ("test_a.py", "def test_a():\n    cart.total = Mock(return_value=3)\n    assert cart.total() == 3\n", 3),
    ("test_a.py", "def test_a():\n    cart.total.return_value = 3\n    got = cart.total()\n    assert got == 3\n", 4),
    ("a.test.ts", "it('a', () => {\n  const f = vi.fn().mockReturnValue(3)\n  expect(f()).toBe(3)\n})\n", 3),
    ("a.test.ts", "it('a', () => {\n  cart.f = jest.fn(() => 3)\n  expect(cart.f()).toBe(3)\n})\n", 3),
    ("a.test.ts", "it('a', () => {\n  vi.spyOn(cart, 'total').mockReturnValue(3)\n  expect(cart.total()).toBe(3)\n})\n", 3),
    ("ATest.java", "class ATest {\n  @Test void a() {\n    when(c.total()).thenReturn(3);\n    assertEquals(3, c.total());\n  }\n}\n", 4),
    ("a_test.go", 'package a\n\nfunc TestA(t *testing.T) {\n\tm.On("Total").Return(3)\n\trequire.Equal(t, 3, m.Total())\n}\n', 5),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "line"), ALIASES, ids=range(len(ALIASES)))
def test_a_result_compared_with_itself_under_another_name_is_found(path: str, text: str, line: int) -> None:
    assert ("expected_is_result", line) in seen_new(path, text)


@pytest.mark.parametrize(("path", "text", "line"), ALIKE, ids=range(len(ALIKE)))
def test_an_expectation_that_the_same_call_computed_is_suspected(path: str, text: str, line: int) -> None:
    assert ("expected_computed_alike", line) in seen_new(path, text)


@pytest.mark.parametrize("text", TELLING, ids=range(len(TELLING)))
def test_an_expectation_of_its_own_is_left_alone(text: str) -> None:
    assert not {"expected_is_result", "expected_computed_alike"}.intersection(names(seen_new("test_a.py", text)))


def test_a_comparison_that_stood_there_before_is_not_blamed() -> None:
    before = "def test_a():\n    got = run(1)\n    want = got\n    assert got == want\n"
    assert seen({"test_a.py": before}, {"test_a.py": before.replace("run(1)", "run(2)")}) == []


@pytest.mark.parametrize(("path", "text", "line"), DOUBLES, ids=range(len(DOUBLES)))
def test_a_double_compared_with_what_it_was_told_is_found(path: str, text: str, line: int) -> None:
    assert ("double_compared", line) in seen_new(path, text)


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    store.load.return_value = 3\n    assert run(store) == 3\n",
        "def test_a():\n    store.load.return_value = 3\n    assert store.load() == 4\n",
        "def test_a():\n    store.load.return_value = 3\n    run(store)\n    store.load.assert_called_once_with(1)\n",
    ],
)
def test_a_double_that_serves_the_code_is_left_alone(text: str) -> None:
    assert "double_compared" not in names(seen_new("test_a.py", text))
