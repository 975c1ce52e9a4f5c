"""What is left in a test where a check was."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.signal import Signal
from worker.judge.heuristics.weak_test.remnants import assertion_repeated, check_announced_only, test_branch_empty

branch_empty, announced = test_branch_empty, check_announced_only
EMPTY = {
    "py": ("tests/test_a.py", "def test_a():\n    if load():\n        pass\n    else:\n        pass\n"),
    "py chain": ("tests/test_a.py", "def test_a():\n    if load():\n        pass\n    elif x:\n        ...\n"),
    "go": ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif load() != nil {\n\t}\n}\n"),
    "rust": (
        "tests/a.rs",
        "#[test]\nfn a() {\n    if load() {\n        // yes\n    } else if x {\n    } else {\n    }\n}\n",
    ),
    "java": ("ATest.java", "class ATest {\n  @Test\n  void a() {\n    if (load()) {\n    } else {\n    }\n  }\n}\n"),
    "ts": ("a.test.ts", "test('a', () => {\n  if (load()) {\n  } else if (x) {\n  }\n})\n"),
}


def told(signal: Signal, path: str, code: str, before: str | None = None) -> list[int | None]:
    change = change_of({} if before is None else {path: before}, {path: code})
    return [one.line for one in signal.findings(change)]


@pytest.mark.parametrize(("path", "code"), EMPTY.values(), ids=EMPTY.keys())
def test_a_new_test_that_decides_and_does_nothing_is_told_once(path: str, code: str) -> None:
    line = next(number for number, text in enumerate(code.split("\n"), 1) if "if" in text)
    assert told(branch_empty, path, code) == [line]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("tests/test_a.py", "def test_a():\n    if load():\n        pass\n    else:\n        assert x\n"),
        ("tests/test_a.py", "def test_a():\n    if load():\n        assert x\n"),
        ("tests/test_a.py", "def test_a():\n    if load():\n        pass\n    elif x:\n        assert x\n"),
        ("a.test.ts", "test('a', () => {\n  if (load()) done()\n  else if (x) {\n    fail()\n  }\n})\n"),
        ("a.test.ts", "test('a', () => {\n  if (load()) {\n  } else if (x) {\n    fail()\n  }\n})\n"),
        ("a.test.ts", "test('a', () => {\n  if (load()) x\n})\n"),
        ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif load() != nil {\n\t\tt.Fatal(1)\n\t}\n}\n"),
    ],
)
def test_one_that_does_something_in_any_case_is_nothing(path: str, code: str) -> None:
    assert told(branch_empty, path, code) == []


def test_an_old_test_is_left_alone() -> None:
    path, code = EMPTY["py"]
    assert told(branch_empty, path, code + "    load()\n", code) == []


REPEATED = {
    "py": ("tests/test_a.py", "def test_a():\n    x = load()\n    assert x == 1\n    assert x == 1\n", 4),
    "go": (
        "a_test.go",
        "package a\n\nfunc TestA(t *testing.T) {\n\terr := load()\n\trequire.Error(t, err)\n\trequire.Error(t, err)\n}\n",
        6,
    ),
    "ts": ("a.test.ts", "test('a', () => {\n  const x = load()\n  expect(x).toBe(1)\n  expect(x).toBe(1)\n})\n", 4),
}


@pytest.mark.parametrize(("path", "code", "line"), REPEATED.values(), ids=REPEATED.keys())
def test_the_same_check_twice_in_a_row_is_told(path: str, code: str, line: int) -> None:
    assert told(assertion_repeated, path, code) == [line]


@pytest.mark.parametrize(
    "body",
    [
        "assert x == 1\n    assert x == 2\n",
        "assert next(x) == 1\n    assert next(x) == 1\n",
        "assert x == 1\n    x.go()\n    assert x == 1\n",
        "assert x == 1\n",
    ],
)
def test_a_check_of_something_else_or_after_something_is_nothing(body: str) -> None:
    assert told(assertion_repeated, "tests/test_a.py", f"def test_a():\n    {body}") == []


@pytest.mark.parametrize(
    ("path", "code", "line"),
    [
        ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tload()\n\t// then the file must be there\n}\n", 5),
        ("a.test.ts", "test('a', () => {\n  load()\n  // expect both to be there\n})\n", 3),
        ("a.test.ts", "test('a', () => {\n  // check the result\n})\n", 2),
        ("ATest.java", "class ATest {\n  @Test\n  void a() {\n    load();\n    // assert\n  }\n}\n", 5),
    ],
)
def test_a_last_comment_that_announces_a_check_is_told(path: str, code: str, line: int) -> None:
    assert told(announced, path, code) == [line]


@pytest.mark.parametrize(
    "body",
    [
        "load() // check it",
        "load()\n  // should not throw",
        "load()\n  // the end",
        "// check it\n  expect(load()).toBe(1)",
        "",
    ],
)
def test_a_comment_that_a_check_follows_or_that_explains_is_nothing(body: str) -> None:
    assert told(announced, "a.test.ts", f"test('a', () => {{\n  {body}\n}})\n") == []


ABOVE = "test('a', () => {\n  const x = load()\n  %s\n  expect(x).toBe(1)\n})\n\ntest('b', () => {\n  load()\n  // by hand\n})\n"


@pytest.mark.parametrize(("comment", "lines"), [("// by hand", [9]), ("// by word", []), ("by_hand()", [])])
def test_a_last_comment_that_stands_above_a_check_elsewhere_is_told(comment: str, lines: list[int]) -> None:
    assert told(announced, "a.test.ts", ABOVE % comment) == lines
