"""Hunks of files of which nothing else is known."""

import difflib

import pytest

from tests.worker.judge.heuristics.made import changed_file, plain_dossier
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.safe.programs import is_same_program

SAFE = {
    "py comment": ("a.py", "x = 1\n# odl\ny = 2\n", "x = 1\n# old\ny = 2\n"),
    "py blank lines": ("a.py", "x = 1\ny = 2\n", "x = 1\n\n\ny = 2\n"),
    "py white space": ("a.py", "x = f(a,b)\n", "x = f(a, b)\n"),
    "py docstring of a function": ("a.py", 'x = 1\n\n\ndef f():\n    """Odl."""\n', 'x = 1\n\n\ndef f():\n    """Old."""\n'),
    "py docstring of a class": (
        "a.py",
        'x = 1\n\n\nclass A(object):\n    """Odl.\n',
        'x = 1\n\n\nclass A(object):\n    """Old.\n',
    ),
    "go comment": ("a.go", "package a\n\n// odl\nfunc f() {}\n", "package a\n\n// old\nfunc f() {}\n"),
    "go tags": ("a.go", 'type A struct {\n\t// odl\n\tB int `json:"b"`\n}\n', 'type A struct {\n\t// old\n\tB int `json:"b"`\n}\n'),
    "go alignment": ("a.go", "type A struct {\n\tB  int\n}\n", "type A struct {\n\tB int\n}\n"),
    "java doc": ("A.java", "/**\n * Odl.\n */\nclass A {\n}\n", "/**\n * Old.\n */\nclass A {\n}\n"),
    "java doc on a line": ("A.java", "/** Odl. */\nclass A {\n}\n", "/** Old. */\nclass A {\n}\n"),
    "java lines": ("A.java", "class A {\n  int f(int a,\n      int b) {}\n", "class A {\n  int f(int a, int b) {}\n"),
    "java string": ("A.java", 'class A {\n  f("a  b",1);\n}\n', 'class A {\n  f("a  b", 1);\n}\n'),
    "java line with a comment": ("A.java", "class A {\n  f(); // a\n\n\n}\n", "class A {\n  f(); // a\n}\n"),
    "rust comment": ("a.rs", "fn f() {\n    // odl\n    g('a');\n}\n", "fn f() {\n    // old\n    g('a');\n}\n"),
    "ts indentation": ("a.ts", "if (a) {\nf()\n}\n", "if (a) {\n  f()\n}\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "before", "after"), SAFE.values(), ids=SAFE.keys())
def test_a_hunk_shows_that_only_comments_or_layout_changed(path: str, before: str, after: str) -> None:
    far = {"py": "z = 0\n", "rs": "static Z: u8 = 0;\n", "go": "var z int\n", "ts": "var z;\n"}.get(
        path[-2:], "int z;\n"
    )
    assert is_same_program(changed_file(path, far * 9 + before, far * 9 + after, texts=False))


OPEN = {
    "py code": ("a.py", "x = 1\ny = 2\n", "x = 1\ny = 3\n"),
    "py indentation": ("a.py", "if a:\n    x = 1\ny = 2\n", "if a:\n    x = 1\n    y = 2\n"),
    "py in a string": ("a.py", 'x = """\n# odl\n"""\n', 'x = """\n# old\n"""\n'),
    "py test": ("tests/test_a.py", "x = 1\n# odl\n", "x = 1\n# old\n"),
    "py directive": ("a.py", "x = 1\n# noqa\n", "x = 1\n# noqa: E1\n"),
    "py directive nearby": ("a.py", "x = 1\n# fmt: off\n# odl\n", "x = 1\n# fmt: off\n# old\n"),
    "py words only": ("a.py", "some words here\n# odl\n", "some words here\n# old\n"),
    "py trailing comment": ("a.py", "x = 1  # odl\n", "x = 1  # old\n"),
    "py comment's white space": ("a.py", "x = 1  #noqa\n", "x = 1  # noqa\n"),
    "py decorated": ("a.py", 'x = 1\n\n\n@tool\ndef f():\n    """Odl."""\n', 'x = 1\n\n\n@tool\ndef f():\n    """Old."""\n'),
    "py decorated over lines": (
        "a.py",
        'x = 1\n\n@tool(\n)\ndef f():\n    """Odl."""\n',
        'x = 1\n\n@tool(\n)\ndef f():\n    """Old."""\n',
    ),
    "py model": ("a.py", 'x = 1\n\n\nclass A(BaseModel):\n    """Odl."""\n', 'x = 1\n\n\nclass A(BaseModel):\n    """Old."""\n'),
    "py method of whom": (
        "a.py",
        '    x = 1\n\n    def f(self):\n        """Odl."""\n',
        '    x = 1\n\n    def f(self):\n        """Old."""\n',
    ),
    "py example": (
        "a.py",
        'x = 1\n\n\ndef f():\n    """A.\n    >>> 1\n    """\n',
        'x = 1\n\n\ndef f():\n    """A.\n    >>> 2\n    """\n',
    ),
    "py nothing above": ("a.py", 'def f():\n    """Odl."""\n', 'def f():\n    """Old."""\n'),
    "py two docstrings": (
        "a.py",
        'x = 1\n\ndef f():\n    """Odl."""\ndef g():\n    """Odl."""\n',
        'x = 1\n\ndef f():\n    """Old."""\ndef g():\n    """Old."""\n',
    ),
    "py text that goes on": ("a.py", "x = a + \\\n    1\n# odl\n", "x = a + \\\n    1\n# old\n"),
    "py reader": ("tools.py", "x = 1\n# odl\n", "x = 1\n# old\n"),
    "go test": ("a_test.go", "x := 1\n// odl\n", "x := 1\n// old\n"),
    "go block": ("a.go", "x := 1\n/* odl */\n", "x := 1\n/* old */\n"),
    "go inside a block": ("a.go", " * odl\n */\nx := 1\n", " * old\n */\nx := 1\n"),
    "go raw string": ("a.go", "x := `\n// odl\n", "x := `\n// old\n"),
    "go lines": ("a.go", "x := f(a,\n\tb)\n", "x := f(a, b)\n"),
    "rust documentation": ("a.rs", "/// Odl.\nfn f() {\n", "/// Old.\nfn f() {\n"),
    "java deprecation": ("A.java", "/**\n * Odl.\n */\nclass A {\n", "/**\n * @deprecated\n */\nclass A {\n"),
    "java rest of a line": ("A.java", "/*\n * odl\n */ class A {\n", "/*\n * old\n */ class A {\n"),
    "java no star": ("A.java", "/*\n odl\n */\nclass A {\n", "/*\n old\n */\nclass A {\n"),
    "java comment in a line": ("A.java", "class A {\n f(/* odl */);\n", "class A {\n f(/* old */);\n"),
    "java text": ("A.java", 'class A {\n f("a b");\n', 'class A {\n f("a  b");\n'),
    "java signs": ("A.java", "class A {\n a = b + +c;\n", "class A {\n a = b ++c;\n"),
    "ts expression": ("a.ts", "if (a) {\n x = /a b/\n", "if (a) {\n x = /a  b/\n"),
    "ts element": ("a.tsx", "if (a) {\n <p>a b</p>\n", "if (a) {\n <p>a  b</p>\n"),
    "long": ("a.go", "x := 1\n// " + "a" * 3000 + "\n", "x := 1\n// " + "b" * 3000 + "\n"),
    "both sides differ": ("A.java", "class A {\n// odl\n", "class A {\n/* old\n */ int a;\n"),
}  # fmt: skip


GAPS = {
    "behind a docstring": ('"""\nWords.\n"""\nimport os\n', '"""\nWords.\n"""\n\nimport os\n'),
    "behind the end of one": ('Words of it.\n"""\nimport os\n', 'Words of it.\n"""\n\nimport os\n'),
    "between texts": (
        '"""\nSome words.\n"""\nx = 1\ny = 2\n"""\nMore words.\n"""\n',
        '"""\nSome words.\n"""\nx = 1\n\ny = 2\n"""\nMore words.\n"""\n',
    ),
    "in a method": ("    x = 1\n    y = 2\n", "    x = 1\n\n    y = 2\n"),
}


@pytest.mark.parametrize(("before", "after"), GAPS.values(), ids=GAPS.keys())
def test_empty_lines_between_statements_are_layout_wherever_the_hunk_begins(before: str, after: str) -> None:
    (file,) = Change(plain_dossier(_alone("a.py", before, after))).files
    assert is_same_program(file)


NO_GAPS = {
    "in a text": ('x = """\nOne.\nTwo.\n"""\n', 'x = """\nOne.\n\nTwo.\n"""\n'),
    "in a text that began above": ('Words one.\nWords two.\n"""\nimport os\n', 'Words one.\n\nWords two.\n"""\nimport os\n'),
    "in a text or not": ('one\n"""\ntwo\n', 'one\n\n"""\ntwo\n'),
    "in no program": ('x = )\n"""\ny = )\n', 'x = )\n\n"""\ny = )\n'),
    "in a line": ("x = 1 + \\\n    2\n", "x = 1 + \\\n\n    2\n"),
    "before a directive": ("x = 1\n# -*- coding: utf-8 -*-\n", "x = 1\n\n# -*- coding: utf-8 -*-\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), NO_GAPS.values(), ids=NO_GAPS.keys())
def test_empty_lines_elsewhere_count(before: str, after: str) -> None:
    (file,) = Change(plain_dossier(_alone("a.py", before, after))).files
    assert not is_same_program(file)


def test_before_an_import_from_the_future_stands_the_docstring_of_the_module() -> None:
    text = '"""\nOdl words.\n"""\n\nfrom __future__ import annotations\n'
    for before, is_same in ((text, True), (text.replace("__future__", "future"), False), (f"x = {text}", False)):
        (file,) = Change(plain_dossier(_alone("a.py", before, before.replace("Odl", "Old")))).files
        assert is_same_program(file) is is_same


@pytest.mark.parametrize(("path", "before", "after"), OPEN.values(), ids=OPEN.keys())
def test_what_a_hunk_leaves_open_is_code(path: str, before: str, after: str) -> None:
    (file,) = Change(plain_dossier(_alone(path, before, after))).files
    assert not is_same_program(file)


def _alone(path: str, before: str, after: str, section: str = "") -> str:
    """One hunk from the middle of a file, with nothing around it."""
    old, new = before.split("\n")[:-1], after.split("\n")[:-1]
    lines: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        marks = (" ",) if tag == "equal" else ("-", "+")
        lines += [f"{mark}{line}" for mark, side in zip(marks, (old[a:b], new[c:d]), strict=False) for line in side]
    head = f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{head}@@ -40,{len(old)} +40,{len(new)} @@ {section}\n" + "\n".join(lines) + "\n"


INSIDE = {
    "java stars": ("A.java", " * One\n * odl\n * two\n", " * One\n * old\n * two\n", "public class A {"),
    "java end": ("A.java", " * odl\n */\n int f() {\n", " * old\n */\n int f() {\n", ""),
    "go words like a macro": ("a.go", "//\t# If odl\nfunc f() {\n", "//\t# If old\nfunc f() {\n", "func g() {"),
    "go preamble's look": ("a.go", "// odl {\nfunc f() {\n", "// old {\nfunc f() {\n", "type A struct {"),
    "py fields": ("a.py", "    :param a: odl\n\n    Words.\n", "    :param a: old\n\n    Words.\n", "class A:"),
    "py end of fields": ("a.py", '    :param a: odl\n    """\n    x = 1\n', '    :param a: old\n    """\n    x = 1\n', "class A(object):"),
    "py method": (
        "a.py",
        '    x = 1\n\n    def f(self):\n        """Odl.\n',
        '    x = 1\n\n    def f(self):\n        """Old.\n',
        "class A(Generic[T]):",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "before", "after", "section"), INSIDE.values(), ids=INSIDE.keys())
def test_what_git_prints_behind_the_hunks_line_numbers_tells_where_it_is(
    path: str, before: str, after: str, section: str
) -> None:
    (file,) = Change(plain_dossier(_alone(path, before, after, section))).files
    assert is_same_program(file)


UNTOLD = {
    "go macro": ("a.go", "//\t# if ODL\nfunc f() {\n", "//\t# if OLD\nfunc f() {\n", "func g() {"),
    "go preamble": ("a.go", "// int odl;\nvar x = 1\n", "// int old;\nvar x = 1\n", ""),
    "py words": ("a.py", "    Some odl words.\n", "    Some old words.\n", "class A:"),
    "py fields of whom": ("a.py", "    :param a: odl\n", "    :param a: old\n", "def f():"),
    "py fields of a model": ("a.py", "    :param a: odl\n", "    :param a: old\n", "class A(BaseModel):"),
    "py text that ends": ("a.py", '    odl\n""".format(\n', '    old\n""".format(\n', "class A:"),
    "stars of what": ("A.java", " * odl\n", " * old\n", "some words"),
}


@pytest.mark.parametrize(("path", "before", "after", "section"), UNTOLD.values(), ids=UNTOLD.keys())
def test_without_it_nothing_is_guessed(path: str, before: str, after: str, section: str) -> None:
    (file,) = Change(plain_dossier(_alone(path, before, after, section))).files
    assert not is_same_program(file)
