"""Branches that do nothing."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.half_finished.branches import branch_empty


def lines(path: str, after: str, before: str | None = None, *, texts: bool = True) -> list[int | None]:
    change = change_of({} if before is None else {path: before}, {path: after}, texts=texts)
    return [one.line for one in branch_empty.findings(change)]


EMPTY = {
    "py if": ("a.py", "def f(x):\n    if x:\n        pass\n    return x\n", 2),
    "py else": ("a.py", "def f(x):\n    if x:\n        go()\n    else:\n        ...\n", 4),
    "py for": ("a.py", "for x in y:\n    pass\n", 1),
    "go": ("a.go", "package a\n\nfunc f(x bool) {\n\tif x {\n\t}\n}\n", 4),
    "rust": ("a.rs", "fn f(x: bool) {\n    if x {\n    }\n}\n", 2),
    "rust else": ("a.rs", "fn f(x: bool) {\n    if x {\n        go();\n    } else {\n    }\n}\n", 4),
    "java": ("A.java", "class A {\n  void f(boolean x) {\n    if (x) {\n    }\n  }\n}\n", 3),
    "java else": (
        "A.java",
        "class A {\n  void f(boolean x) {\n    if (x) {\n      go();\n    } else {\n    }\n  }\n}\n",
        5,
    ),
    "ts": ("a.ts", "function f(x) {\n  if (x) {\n  }\n}\n", 2),
    "ts in a line": ("a.ts", "if (x) {}\n", 1),
}


@pytest.mark.parametrize(("path", "code", "line"), EMPTY.values(), ids=EMPTY.keys())
def test_a_new_branch_without_a_statement_is_suspected(path: str, code: str, line: int) -> None:
    assert lines(path, code) == [line]


@pytest.mark.parametrize(("path", "code", "line"), EMPTY.values(), ids=EMPTY.keys())
def test_an_old_one_is_not_mentioned(path: str, code: str, line: int) -> None:
    assert line
    assert lines(path, code + "\n\n\n", code) == []


RIGHT = {
    "py says why": ("a.py", "if x:\n    pass  # the default is right\n"),
    "py says why before": ("a.py", "if x:\n    # the default is right\n    pass\n"),
    "py handler": ("a.py", "try:\n    go()\nexcept E:\n    pass\n"),
    "py works": ("a.py", "if x:\n    go()\n"),
    "go says why": ("a.go", "package a\n\nfunc f(x bool) {\n\tif x {\n\t\t// right\n\t}\n}\n"),
    "ts handler": ("a.ts", "try {\n  go()\n} catch {\n}\n"),
    "ts wait": ("a.ts", "while (x()) {\n}\n"),
    "ts broken": ("a.ts", "if (x ( {\n}\n"),
}


@pytest.mark.parametrize(("path", "code"), RIGHT.values(), ids=RIGHT.keys())
def test_what_is_an_answer_is_not_mentioned(path: str, code: str) -> None:
    assert lines(path, code) == []


def test_a_branch_from_which_the_work_was_taken_out_is_suspected() -> None:
    before = "function f(x) {\n  if (x) {\n    go()\n  }\n  return x\n}\n"
    assert lines("a.ts", before.replace("    go()\n", ""), before) == [2]


def test_a_branch_that_was_only_moved_is_not_new() -> None:
    code = "if (x) {\n}\n"
    assert [*branch_empty.findings(change_of({"a.ts": code}, {"b.ts": code}))] == []
