"""Branches that do nothing."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.half_finished.empty_branch import branch_empty


def lines(path: str, after: str, before: str | None = None, *, texts: bool = True) -> list[int | None]:
    change = change_of({} if before is None else {path: before}, {path: after}, texts=texts)
    return [finding.line for finding in branch_empty.findings(change)]


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


ARMS = {
    "py match": ("a.py", "match x:\n    case 1:\n        a()\n    case _:\n        b()\n", ("        a()", "        pass"), 2),
    "go switch": ("a.go", "package a\n\nfunc f(x int) {\n\tswitch x {\n\tcase 1:\n\t\ta()\n\tdefault:\n\t\tb()\n\t}\n}\n", ("\t\ta()\n", ""), 5),
    "go select": ("a.go", "package a\n\nfunc f(c chan int) {\n\tselect {\n\tcase <-c:\n\t\ta()\n\tdefault:\n\t\tb()\n\t}\n}\n", ("\t\ta()\n", ""), 5),
    "rust match": ("a.rs", "fn f(x: u8) {\n    match x {\n        1 => {\n            a();\n        }\n        _ => b(),\n    }\n}\n", ("            a();\n", ""), 3),
    "rust expression": ("a.rs", "fn f(x: u8) {\n    match x {\n        1 => a(),\n        _ => b(),\n    }\n}\n", ("1 => a()", "1 => ()"), 3),
    "rust select in a macro": ("a.rs", "async fn f(x: u8) {\n    tokio::select! {\n        _ = x => { a() }\n        y = z => { b(y) }\n    }\n}\n", ("x => { a() }", "x => {}"), 3),
    "java switch": ("A.java", "class A {\n  void f(int x) {\n    switch (x) {\n      case 1:\n        a();\n        break;\n      default:\n        b();\n    }\n  }\n}\n", ("        a();\n", ""), 4),
    "java rule": ("A.java", "class A {\n  void f(int x) {\n    switch (x) {\n      case 1 -> a();\n      default -> b();\n    }\n  }\n}\n", ("-> a();", "-> {}"), 4),
    "ts switch": ("a.ts", "switch (x) {\n  case 1: {\n    a()\n    break\n  }\n  default:\n    b()\n}\n", ("    a()\n", ""), 2),
    "c# switch": ("A.cs", "class A {\n  void F(int x) {\n    switch (x) {\n      case 1:\n        A1();\n        break;\n      default:\n        B();\n        break;\n    }\n  }\n}\n", ("        A1();\n", ""), 4),
    "php switch": ("a.php", "<?php\nswitch ($x) {\n  case 1:\n    a();\n    break;\n  default:\n    b();\n}\n", ("    a();\n", ""), 3),
    "kotlin when": ("A.kt", "fun f(x: Int) {\n  when (x) {\n    1 -> a()\n    else -> b()\n  }\n}\n", ("-> a()", "-> {}"), 3),
    "ruby when": ("a.rb", "case x\nwhen 1\n  a()\nelse\n  b()\nend\n", ("  a()\n", ""), 2),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code", "edit", "line"), ARMS.values(), ids=ARMS.keys())
def test_an_arm_that_was_emptied_is_suspected_and_an_empty_one_that_was_there_is_not(
    path: str, code: str, edit: tuple[str, str], line: int
) -> None:
    after = code.replace(*edit)
    assert lines(path, after, code) == [line]
    assert lines(path, f"{after}\n\n", after) == []
    assert lines(path, after) == []


ANSWERS = {
    "says why": ("    case 1:\n        pass  # the default is right\n", "    case 1:\n        a()\n"),
    "still works": ("    case 1:\n        c()\n", "    case 1:\n        a()\n"),
    "another one": ("    case 2:\n        pass\n", "    case 1:\n        a()\n"),
    "moved": ("    case 1:\n        pass\n    case 2:\n        a()\n", "    case 1:\n        a()\n"),
}


GO = "package a\n\nfunc f(c chan int) {\n\tselect {\n%s\tdefault:\n\t\tb()\n\t}\n}\n"
RUST = "fn f(x: A) {\n    match x {\n%s        _ => b(),\n    }\n}\n"


@pytest.mark.parametrize(
    ("path", "code", "before", "after"),
    [
        ("a.go", GO, "\tcase v := <-c:\n\t\ta(v)\n", "\tcase <-c:\n"),
        ("a.go", GO, "\tcase v, ok := <-c:\n\t\ta(v, ok)\n", "\tcase _, ok = <-c:\n"),
        ("a.rs", RUST, "        Some(y) => a(y),\n", "        Some(_) => {}\n"),
        ("a.rs", RUST, "        B { y, ref z } => {\n            a(y, z);\n        }\n", "        B { .. } => {}\n"),
    ],
)
def test_an_arm_that_was_emptied_and_binds_no_name_any_more_is_suspected(
    path: str, code: str, before: str, after: str
) -> None:
    assert len(lines(path, code % after, code % before)) == 1


@pytest.mark.parametrize(
    ("path", "code", "before", "after"),
    [
        ("a.go", GO, "\tcase v := <-c:\n\t\ta(v)\n", "\tcase <-d:\n"),
        ("a.rs", RUST, "        Some(y) => a(y),\n", "        None => {}\n"),
    ],
)
def test_an_arm_for_something_else_is_not_the_emptied_one(path: str, code: str, before: str, after: str) -> None:
    assert lines(path, code % after, code % before) == []


def test_an_arm_of_ruby_that_does_something_else_is_not_mentioned() -> None:
    before = "case x\nwhen 1\n  a()\nelse\n  b()\nend\n"
    assert lines("a.rb", before.replace("a()", "c()"), before) == []


@pytest.mark.parametrize(("after", "before"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_arm_that_answers_is_not_mentioned(after: str, before: str) -> None:
    assert lines("a.py", f"match x:\n{after}", f"match x:\n{before}") == []


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.go", '\tcase "",\n\t\t"a",\n\t\t"b":\n', '\tcase "",\n\t\ta,\n\t\tb:\n'),
        ("a.go", "\tcase x == nil:\n\tcase x.y == nil:\n\t\tgo1()\n", "\tcase x == nil:\n"),
        ("a.rs", "        A::B | A::C => {}\n", "        A::D | A::B | A::C => {}\n"),
        ("a.rs", "        A::B => {}\n        A::C => {\n            a();\n        }\n", "        A::B | A::C => {}\n"),
    ],
)
def test_an_arm_that_matches_something_else_was_not_emptied(path: str, before: str, after: str) -> None:
    around = (
        ("package a\n\nfunc f(x T) {\n\tswitch x {\n{}\tdefault:\n\t\tgo2()\n\t}\n}\n")
        if path == "a.go"
        else "fn f(x: A) {\n    match x {\n{}        _ => b(),\n    }\n}\n"
    )
    assert lines(path, around.replace("{}", after, 1), around.replace("{}", before, 1)) == []


STUBS = {
    "py": ("a.py", "match x:\n    case 1:\n        return do_a()\n    case _:\n        b()\n", "return do_a()", "raise NotImplementedError", 2),
    "py if": ("a.py", "def f(x):\n    if x:\n        x *= rate\n    return x\n", "x *= rate", 'raise NotImplementedError("tax")', 2),
    "py elif": ("a.py", "def f(x):\n    if x:\n        a()\n    elif y:\n        b()\n    return x\n", "b()", "raise NotImplementedError", 4),
    "py else": ("a.py", "def f(x):\n    if x:\n        a()\n    else:\n        b()\n", "b()", 'raise ValueError("not implemented yet")', 4),
    "go switch": ("a.go", "package a\n\nfunc f(x int) int {\n\tswitch x {\n\tcase 1:\n\t\treturn a()\n\tdefault:\n\t\treturn b()\n\t}\n}\n", "return a()", 'panic("not implemented")', 5),
    "go if": ("a.go", "package a\n\nfunc f(x bool) {\n\tif x {\n\t\ta()\n\t}\n\tb()\n}\n", "a()", 'panic("TODO")', 4),
    "rust arm": ("a.rs", "fn f(x: u8) {\n    match x {\n        1 => do_a(),\n        _ => b(),\n    }\n}\n", "do_a()", "todo!()", 3),
    "rust block": ("a.rs", "fn f(x: u8) {\n    match x {\n        1 => {\n            a();\n        }\n        _ => b(),\n    }\n}\n", "a();", "unimplemented!()", 3),
    "rust if": ("a.rs", "fn f(x: bool) {\n    if x {\n        a();\n    }\n    b();\n}\n", "a();", "todo!();", 2),
    "java rule": ("A.java", "class A {\n  void f(int x) {\n    switch (x) {\n      case 1 -> a();\n      default -> b();\n    }\n  }\n}\n", "a();", "throw new UnsupportedOperationException();", 4),
    "java switch": ("A.java", "class A {\n  int f(int x) {\n    switch (x) {\n      case 1:\n        return a();\n      default:\n        return b();\n    }\n  }\n}\n", "return a();", "throw new UnsupportedOperationException();", 4),
    "ts switch": ("a.ts", "switch (x) {\n  case 1:\n    return a()\n  default:\n    b()\n}\n", "return a()", 'throw new Error("not implemented")', 2),
    "ts else": ("a.ts", "if (x) {\n  a()\n} else {\n  b()\n}\n", "b()", 'throw new Error("Not implemented yet");', 3),
    "c# switch": ("A.cs", "class A {\n  int F(int x) {\n    switch (x) {\n      case 1:\n        return A1();\n      default:\n        return B();\n    }\n  }\n}\n", "return A1();", "throw new NotImplementedException();", 4),
    "php switch": ("a.php", "<?php\nswitch ($x) {\n  case 1:\n    return a();\n  default:\n    b();\n}\n", "return a();", 'throw new \\Exception("not implemented");', 3),
    "kotlin when": ("A.kt", "fun f(x: Int) {\n  when (x) {\n    1 -> a()\n    else -> b()\n  }\n}\n", "-> a()", "-> TODO()", 3),
    "ruby when": ("a.rb", "case x\nwhen 1\n  a()\nelse\n  b()\nend\n", "a()", "raise NotImplementedError", 2),
}  # fmt: skip


@pytest.mark.parametrize(("path", "code", "work", "stub", "line"), STUBS.values(), ids=STUBS.keys())
def test_a_branch_whose_work_a_stub_took_the_place_of_is_suspected(
    path: str, code: str, work: str, stub: str, line: int
) -> None:
    after = code.replace(work, stub)
    assert lines(path, after, code) == [line]
    assert lines(path, f"{after}\n\n", after) == []
    assert lines(path, after) == []


IF = "def f(x):\n    if x:\n        %s\n    return x\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (IF % "raise ValueError(x)", IF % "raise NotImplementedError(x)"),
        (IF % "pass", IF % "raise NotImplementedError"),
        (IF % "#TODO: the tax", IF % "raise NotImplementedError"),
        (IF % "a()", IF % 'raise ValueError("too many")'),
        (IF % "a()", IF % 'raise NotImplementedError("not supported on Windows")'),
        (IF % "a()", IF % "a()\n    else:\n        raise NotImplementedError"),
        (IF % "a()", IF % "b()\n        raise NotImplementedError"),
        (IF % "a()", "def f(x):\n    if x:\n        raise NotImplementedError\n    a()\n    return x\n"),
        ("def f(x):\n    a()\n    return x\n", IF % "raise NotImplementedError"),
    ],
    ids=[
        "refused before",
        "idle before",
        "a plan before",
        "refuses",
        "on purpose",
        "a new branch",
        "works first",
        "moved",
        "a new guard",
    ],
)
def test_a_refusal_that_took_no_work_away_is_not_mentioned(before: str, after: str) -> None:
    assert lines("a.py", after, before) == []


def test_an_arm_that_falls_through_to_the_next_one_is_not_empty() -> None:
    before = "switch (x) {\n  case 1:\n    return a()\n  case 2:\n    return b()\n}\n"
    assert lines("a.ts", before.replace("    return a()\n", ""), before) == []


def test_a_branch_from_which_the_work_was_taken_out_is_suspected() -> None:
    before = "function f(x) {\n  if (x) {\n    go()\n  }\n  return x\n}\n"
    assert lines("a.ts", before.replace("    go()\n", ""), before) == [2]


def test_a_branch_that_was_only_moved_is_not_new() -> None:
    code = "if (x) {\n}\n"
    assert [*branch_empty.findings(change_of({"a.ts": code}, {"b.ts": code}))] == []
