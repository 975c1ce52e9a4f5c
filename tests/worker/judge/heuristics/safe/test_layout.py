"""What a formatter does to a program, and what only looks like it."""

import pytest

from tests.worker.judge.heuristics.made import changed_file
from worker.judge.heuristics.safe.programs import is_same_program

FORMATTED = {
    "py f-string": ("a.py", "x = f'{a=}' f'b'\n", 'x = f"{a=}" f"b"\n'),
    "py empty tuple": ("a.py", "x = ( )\n", "x = ()\n"),
    "py bare tuple": (
        "a.py",
        "a, b = 1, 2\nfor c in 1, 2: pass\n",
        "a, b = (\n    1,\n    2,\n)\nfor c in (1, 2): pass\n",
    ),
    "py tuple of one, bare": ("a.py", "x = 1,\n", "x = (1,)\n"),
    "py index": ("a.py", "x: A[b, c] = d[e, f]\n", "x: A[\n    b,\n    c,\n] = d[\n    e,\n    f,\n]\n"),
    "py brackets around one name": ("a.py", "from a import b\n", "from a import (\n    b,\n)\n"),
    "py last comma": ("a.py", "f([1, 2])\n", "f(\n    [\n        1,\n        2,\n    ],\n)\n"),
    "py tuple of two": ("a.py", "x = (1, 2)\n", "x = (\n    1,\n    2,\n)\n"),
    "py quotes": ("a.py", "x = 'it is \"so\"'\n", 'x = "it is \\"so\\""\n'),
    "py long quotes": ("a.py", "x = '''a'''\n", 'x = """a"""\n'),
    "py prefix": ("a.py", "x = B'a' + R'\\d'\n", "x = b'a' + r'\\d'\n"),
    "py numbers": ("a.py", "x = 0XFF + 1E5\n", "x = 0xff + 1e5\n"),
    "py brackets": ("a.py", "x = a + b\nassert (x)\n", "x = (\n    a\n    + b\n)\nassert x\n"),
    "py continued lines": ("a.py", "x = a + \\\n    b\n", "x = (a +\n    b)\n"),
    "py split string": ("a.py", "x = 'one two'\n", "x = ('one '\n     'two')\n"),
    "py statements": ("a.py", "x = 1; y = 2\n", "x = 1\ny = 2\n"),
    "py class without bases": ("a.py", "class A():\n    x = 1\n", "class A:\n    x = 1\n"),
    "py import in brackets": ("a.py", "from a import (b, c)\n", "from a import (\n    b,\n    c,\n)\n"),
    "js semicolon": ("a.js", "const a = 1\nf()\n", "const a = 1;\nf();\n"),
    "js quotes": ("a.js", "f('a')\n", 'f("a")\n'),
    "js last comma": ("a.js", "f({ a: 1, b: [1, 2] })\n", "f({\n  a: 1,\n  b: [1, 2,],\n});\n"),
    "js parameter": ("a.js", "f(x => x)\n", "f((x) => x)\n"),
    "ts parameter": ("a.ts", "f(x => x)\n", "f((x) => x)\n"),
    "js brackets": ("a.js", "const f = () => (a)\n", "const f = () => ((a))\n"),
    "js names of an import": ("a.js", "import { b, a } from 'x'\n", "import { a, b, } from 'x'\n"),
    "js semicolon at the end": ("a.js", "f();\n", "f()\n"),
    "jsx indentation": (
        "a.tsx",
        "const a = (\n<p>\none {two}\n</p>\n)\n",
        "const a = (\n  <p>\n    one {two}\n  </p>\n)\n",
    ),
    "jsx attribute": ("a.tsx", "const a = <p a='b' />\n", 'const a = <p a="b" />\n'),
    "go imports": (
        "a.go",
        'package a\n\nimport (\n\t"b"\n\t"a"\n)\n',
        'package a\n\nimport (\n\t"a"\n\n\t"b"\n)\n',
    ),
    "go last comma": ("a.go", "package a\n\nvar x = f(1, 2)\n", "package a\n\nvar x = f(\n\t1,\n\t2,\n)\n"),
    "js comment behind a semicolon": (
        "a.ts",
        "interface A {\n  a: 1; // b\n  b: 2;\n}\n",
        "interface A {\n  a: 1;\n  b: 2\n}\n",
    ),
    "jsx self-closing": ("a.tsx", "const a = <p b={1} />\n", "const a = (\n  <p\n    b={1}\n  />\n)\n"),
    "go semicolon": ("a.go", "package a\n\nfunc f() { g(); h() }\n", "package a\n\nfunc f() {\n\tg()\n\th()\n}\n"),
    "go indentation": ("a.go", "package a\n\nfunc f() {\ng()\n}\n", "package a\n\nfunc f() {\n\tg()\n}\n"),
    "rust uses": ("a.rs", "use b::{d, c};\nuse a::x;\nfn f() {}\n", "use a::x;\nuse b::{c, d};\nfn f() {}\n"),
    "rust last comma": ("a.rs", "fn f() { g(1, 2) }\n", "fn f() {\n    g(\n        1,\n        2,\n    )\n}\n"),
    "rust arms": (
        "a.rs",
        "fn f() { match x { 1 => {} _ => g() } }\n",
        "fn f() {\n    match x {\n        1 => {},\n        _ => g(),\n    }\n}\n",
    ),
    "rust macro": (
        "a.rs",
        'fn f() { println!("{}  {}", a,b == 1) }\n',
        'fn f() {\n    println!(\n        "{}  {}",\n        a,\n        b == 1,\n    )\n}\n',
    ),
    "java imports": ("A.java", "import b.B;\nimport a.A;\nclass C {}\n", "import a.A;\n\nimport b.B;\n\nclass C {}\n"),
    "java array": ("A.java", "class A { int[] a = {1, 2}; }\n", "class A {\n  int[] a = {\n    1,\n    2,\n  };\n}\n"),
}


@pytest.mark.parametrize(("path", "before", "after"), FORMATTED.values(), ids=FORMATTED.keys())
def test_layout_alone_makes_no_other_program(path: str, before: str, after: str) -> None:
    assert is_same_program(changed_file(path, before, after))
    assert is_same_program(changed_file(path, after, before))


CHANGED = {
    "py f-string of a later grammar": ("a.py", """x = f'{a["b"]}'\n""", """x = f"{a["b"]}"\n"""),
    "js parts of a loop": ("a.js", "for (a;;) {}\n", "for (;a;) {}\n"),
    "js division": ("a.js", "a();\n/b/g.exec(c)\n", "a()\n/b/g.exec(c)\n"),
    "js getter": ("a.js", "class A {\n  get;\n  b() {}\n}\n", "class A {\n  get\n  b() {}\n}\n"),
    "go comment that ends a line": (
        "a.go",
        "package a\n\nfunc f() int { return /* a */ x }\n",
        "package a\n\nfunc f() int { return /*\n*/ x }\n",
    ),
    "py comment between strings": ("a.py", "x = ('a'  # b\n  'c')\n", "x = ('a'  # d\n  'c')\n"),
    "py comment that parts strings": ("a.py", "x = ('a'  # noqa\n  'c')\n", "x = 'ac'\n"),
    "py unpacked, bare": ("a.py", "def f():\n    return (*a, b)\n", "def f():\n    return *a, b\n"),
    "py with brackets": ("a.py", "with a as b, c as d:\n    pass\n", "with (a as b, c as d):\n    pass\n"),
    "py tuple of one": ("a.py", "x = 1\n", "x = 1,\n"),
    "py f-string with a quote": ("a.py", """x = f'{a["b"]}'\n""", 'x = f"{a[\'b\']}"\n'),
    "py assertion": ("a.py", "assert a, b\n", "assert (a, b)\n"),
    "py index of a tuple": ("a.py", "x = a[(1,)]\n", "x = a[1]\n"),
    "py tuple": ("a.py", "x = (1)\n", "x = (1,)\n"),
    "py index": ("a.py", "x = a[1]\n", "x = a[1,]\n"),
    "py target": ("a.py", "a = b\n", "a, = b\n"),
    "py empty": ("a.py", "f()\n", "f(())\n"),
    "py groups": ("a.py", "x = (a + b) * c\n", "x = a + b * c\n"),
    "py chain": ("a.py", "x = (a < b) < c\n", "x = a < b < c\n"),
    "py annotated": ("a.py", "x: int = 1\n", "(x): int = 1\n"),
    "py octal": ("a.py", "x = '\\12'\n", "x = '\\1' '2'\n"),
    "py prefixes": ("a.py", "x = 'a'\n", "x = b'a'\n"),
    "py mixed strings": ("a.py", "x = 'a' r'b'\n", "x = 'ab'\n"),
    "py escape": ("a.py", "x = '\\\\'\n", "x = '\\\\\\\\'\n"),
    "py imports": ("a.py", "import b\nimport a\n", "import a\nimport b\n"),
    "py names of an import": ("a.py", "from x import b, a\n", "from x import a, b\n"),
    "py indentation": ("a.py", "for a in b:\n    c()\n    d()\n", "for a in b:\n    c()\nd()\n"),
    "py string with an interpolation": ("a.py", "x = 'a' f'b'\n", "x = f'b' 'a'\n"),
    "js hole": ("a.js", "f([1,])\n", "f([1,,])\n"),
    "js empty hole": ("a.js", "f([])\n", "f([,])\n"),
    "js hazard": ("a.js", "a();\n[1].map(f)\n", "a()\n[1].map(f)\n"),
    "js far hazard": ("a.js", "a();" + " " * 3000 + "[1].map(f)\n", "a()\n[1].map(f)\n"),
    "js loop": ("a.js", "for (;;a()) {}\n", "for (;a();) {}\n"),
    "js empty statement": ("a.js", "if (a) b()\n", "if (a); b()\n"),
    "js chain": ("a.js", "x = (a?.b).c\n", "x = a?.b.c\n"),
    "js directive": ("a.js", "'use strict'\n", "('use strict')\n"),
    "js object": ("a.js", "const f = () => {}\n", "const f = () => ({})\n"),
    "js imports": ("a.js", "import 'b'\nimport 'a'\n", "import 'a'\nimport 'b'\n"),
    "js parameters": ("a.js", "f((x, y) => x)\n", "f((y, x) => x)\n"),
    "js default": ("a.js", "f((x = 1) => x)\n", "f(x => x)\n"),
    "ts typed": ("a.ts", "f((x: A) => x)\n", "f(x => x)\n"),
    "js regular expression": ("a.js", "x = /a b/\n", "x = /a  b/\n"),
    "js comment that ends a line": ("a.js", "function f() { return /* a */ x }\n", "function f() { return /*\n*/ x }\n"),
    "jsx long string": ("a.tsx", 'const a = <p b="c\nd" />\n', 'const a = <p b="c\n  d" />\n'),
    "jsx long string within": ("a.tsx", 'const a = <p b="c\nd"></p>\n', 'const a = <p b="c\n  d"></p>\n'),
    "jsx template": ("a.tsx", "const a = <p>{`\nb`}</p>\n", "const a = <p>{`\n  b`}</p>\n"),
    "jsx quotes": ("a.tsx", "const a = <p b='\"' />\n", "const a = <p b='\\'\" />\n"),
    "go raw string": ("a.go", "package a\n\nvar x = `a\nb`\n", "package a\n\nvar x = `a\n\tb`\n"),
    "go return": ("a.go", "package a\n\nfunc f() {\n\treturn g()\n}\n", "package a\n\nfunc f() {\n\treturn\n\tg()\n}\n"),
    "go import with a directive": (
        "a.go",
        'package a\n\nimport (\n\t"b" //nolint\n\t"a"\n)\n',
        'package a\n\nimport (\n\t"a" //nolint\n\t"b"\n)\n',
    ),
    "rust tuple": ("a.rs", "fn f() { g((1)) }\n", "fn f() { g((1,)) }\n"),
    "rust value": ("a.rs", "fn f() -> u8 { g() }\n", "fn f() -> u8 { g(); }\n"),
    "rust attributed use": (
        "a.rs",
        "#[cfg(test)]\nuse b::B;\nuse a::A;\n",
        "#[cfg(test)]\nuse a::A;\nuse b::B;\n",
    ),
    "rust modules": ("a.rs", "mod b;\nmod a;\n", "mod a;\nmod b;\n"),
    "rust own macro": ("a.rs", "fn f() { sql!(a  b) }\n", "fn f() { sql!(a b) }\n"),
    "rust signs": ("a.rs", "fn f() { assert!(a & &b) }\n", "fn f() { assert!(a && b) }\n"),
    "rust string in a macro": ("a.rs", 'fn f() { println!("a  b") }\n', 'fn f() { println!("a b") }\n'),
    "java text": ("A.java", 'class A { String a = "a b"; }\n', 'class A { String a = "a  b"; }\n'),
    "java deprecation": ("A.java", "class A {\n  /** Old. */\n  int a;\n}\n", "class A {\n  /** @deprecated Old. */\n  int a;\n}\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "before", "after"), CHANGED.values(), ids=CHANGED.keys())
def test_what_only_looks_like_layout_is_another_program(path: str, before: str, after: str) -> None:
    assert not is_same_program(changed_file(path, before, after))
    assert not is_same_program(changed_file(path, after, before))
