"""Comments and layout changed, and all that is more."""

import pytest

from tests.worker.judge.heuristics.made import changed_file, file_diff, plain_dossier
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.safe.programs import is_same_program

SAME_PROGRAM = {
    "py docstring": ("a.py", 'def f():\n    """Odl."""\n', 'def f():\n    """Old."""\n'),
    "py comment": ("a.py", "x = 1  # one\n", "x = 1  # the one\n"),
    "py new comment": ("a.py", "x = 1\n", "# says more\nx = 1\n"),
    "py white space": ("a.py", "f(a,b)\n", "f(a, b)\n"),
    "py blank lines": ("a.py", "x = 1\ny = 2\n", "x = 1\n\n\ny = 2\n"),
    "py in a string stays": ("a.py", 's = "# no"\nx = 1 # a\n', 's = "# no"\nx = 1 # b\n'),
    "go": ("a.go", "package a\n\n// F does.\nfunc F() {}\n", "package a\n\n// F does it.\n// And more.\nfunc F() {}\n"),
    "go format": ("a.go", "package a\n\nvar x=1\n", "package a\n\nvar x = 1\n"),
    "java": ("A.java", "/**\n * Odl.\n */\nclass A {}\n", "/**\n * Old.\n * @since 1\n */\nclass A {}\n"),
    "ts": ("a.ts", "/** @param a one */\nconst f = (a: 1) => a\n", "/** @param a the one */\nconst f = (a: 1) => a\n"),
    "js": ("a.js", "// one\nf()\n", "// two\nf()\n"),
    "rust doc of a function": ("a.rs", "/// Doe.\npub fn f() {}\n", "/// Does.\npub fn f() {}\n"),
    "rust doc of a plain type": (
        "a.rs",
        "/// Odl.\n#[derive(Debug, Clone)]\npub struct A;\n",
        "/// Old.\n#[derive(Debug, Clone)]\npub struct A;\n",
    ),
    "rust comment": ("a.rs", "fn f() {\n    // a\n    g();\n}\n", "fn f() {\n    // b\n    g();\n}\n"),
    "a directive elsewhere": (
        "a.py",
        "import os  # noqa: F401\n" + "x = 1\n" * 9 + "# a\n",
        "import os  # noqa: F401\n" + "x = 1\n" * 9 + "# b\n",
    ),
    "a directive nearby": ("a.py", "import os  # noqa\nx = 1\n# a\n", "import os  # noqa\nx = 1\n# b\n"),
}


@pytest.mark.parametrize(("path", "before", "after"), SAME_PROGRAM.values(), ids=SAME_PROGRAM.keys())
def test_the_same_program_with_other_comments_is_safe(path: str, before: str, after: str) -> None:
    assert is_same_program(changed_file(path, before, after))


OTHER_PROGRAM = {
    "py value": ("a.py", "x = 1  # one\n", "x = 2  # one\n"),
    "py hash in a string": ("a.py", 's = """\n# one\n"""\n', 's = """\n# two\n"""\n'),
    "py indentation": ("a.py", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n"),
    "py f-string": ("a.py", 's = f"{x=}"\n', 's = f"{x = }"\n'),
    "py commented out": ("a.py", "f()\ng()\n", "# f()\ng()\n"),
    "py in a call": ("a.py", "f(a, b)\n", "f(a)  # b\n"),
    "js return": ("a.js", "function f() {\n  return x\n}\n", "function f() {\n  return\n  x\n}\n"),
    "ts template": ("a.ts", "const s = `a // b`\n", "const s = `a  // b`\n"),
    "tsx text": ("a.tsx", "const s = <p>a b</p>\n", "const s = <p>a  b</p>\n"),
    "rust macro": ("a.rs", "fn f() {\n    m!(a /* b */);\n}\n", "fn f() {\n    m!(a /* c */);\n}\n"),
    "rust doc of a command": (
        "a.rs",
        "#[derive(Parser)]\nstruct A {\n    /// Odl.\n    b: u8,\n}\n",
        "#[derive(Parser)]\nstruct A {\n    /// Old.\n    b: u8,\n}\n",
    ),
    "rust doc test": ("a.rs", "/// ```\n/// f(1);\n/// ```\nfn f() {}\n", "/// ```\n/// f(2);\n/// ```\nfn f() {}\n"),
    "rust indented doc test": (
        "a.rs",
        "/// A.\n///\n///     f(1);\nfn f() {}\n",
        "/// A.\n///\n///     f(2);\nfn f() {}\n",
    ),
    "rust block doc": ("a.rs", "/** Odl. */\nfn f() {}\n", "/** Old. */\nfn f() {}\n"),
    "rust in a macro": ("a.rs", "m! {\n    /// Odl.\n    a\n}\n", "m! {\n    /// Old.\n    a\n}\n"),
    "cgo": ("a.go", 'package a\n\n// int x;\nimport "C"\n', 'package a\n\n// int y;\nimport "C"\n'),
    "broken": ("a.py", "def (:\n# a\n", "def (:\n# b\n"),
    "new file": ("a.py", None, "# only a comment\n"),
    "generated": ("gen/a.py", "# a\n", "# b\n"),
    "test input": ("tests/ui/a.rs", "// a\n", "// b\n"),
    "no grammar": ("a.swift", "// a\n", "// b\n"),
    "backticks": ("a.py", "``` ```\nx = 1\n", "``` ```\nx = 2\n"),
    "a further language": ("a.rb", "# a\n", "# b\n"),
    "huge": ("a.py", "x = 1\n" * 100_000 + "# a\n", "x = 1\n" * 100_000 + "# b\n"),
    "huge comment": ("a.py", "# " + "a" * 30_000 + "\n", "# " + "b" * 30_000 + "\n"),
}


@pytest.mark.parametrize(("path", "before", "after"), OTHER_PROGRAM.values(), ids=OTHER_PROGRAM.keys())
def test_what_is_another_program_or_can_not_be_proved_is_not_safe(path: str, before: str | None, after: str) -> None:
    assert not is_same_program(changed_file(path, before, after))


DIRECTIVES = {
    "py": [
        "# noqa: E501", "# type: ignore[attr-defined]", "# pragma: no cover", "# fmt: off", "# pylint: disable=all", "# isort: skip", "# nosec",
        "#!/usr/bin/env python", "# -*- coding: utf-8 -*-", "# Copyright 2026 A", "# SPDX-License-Identifier: MIT", "# ruff: noqa", "# pyright: strict",
        "# mypy: ignore-errors", "# %%", "# /// script", "# yapf: disable", "# codespell:ignore", "# [START x]", "# tag::x[]",
    ],
    "go": [
        "//go:build linux", "// +build linux", "//nolint:errcheck", "//go:noinline", "//export F", "// Output: 1", "//go:generate x",
        "//lint:ignore U1000 x", "// @Summary x", "// +kubebuilder:object:root=true", "// Deprecated: use G.",
    ],
    "ts": [
        "// eslint-disable-next-line", "// @ts-ignore", "// @ts-expect-error", "/* istanbul ignore next */", "/* v8 ignore next */", "/* c8 ignore start */",
        "// prettier-ignore", "// biome-ignore lint: x", "/* webpackChunkName: 'a' */", '/// <reference types="node" />', "/* @__PURE__ */", "// @vite-ignore",
        "// tslint:disable", "/** @internal */", "// deno-lint-ignore no-explicit-any", "// @jest-environment jsdom", "//# sourceMappingURL=a.map",
    ],
    "rs": ["// SAFETY: fine", "// rustfmt-skip", "//~ ERROR mismatched", "// tarpaulin::skip", "// clippy: x"],
    "java": ["// NOSONAR", "// CHECKSTYLE:OFF", "// @formatter:off", "//noinspection unchecked", "// NOPMD", "//$NON-NLS-1$", "//DEPS a:b:1"],
    "js": ["/** @type {number} */", "/** @param {string} a */"],
}  # fmt: skip
CODE = {
    "py": "x = 1\n",
    "go": "package a\n",
    "ts": "const x = 1\n",
    "rs": "fn f() {}\n",
    "java": "class A {}\n",
    "js": "f()\n",
}


@pytest.mark.parametrize(
    ("ending", "directive"), [(ending, one) for ending, all_ in DIRECTIVES.items() for one in all_]
)
def test_a_comment_that_a_tool_reads_is_not_safe_to_add_to_remove_or_to_change(ending: str, directive: str) -> None:
    code = CODE[ending]
    assert not is_same_program(changed_file(f"a.{ending}", code, f"{directive}\n{code}"))
    assert not is_same_program(changed_file(f"a.{ending}", f"{directive}\n{code}", code))
    assert not is_same_program(changed_file(f"a.{ending}", f"{directive}\n{code}", f"{directive} or so\n{code}"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()  # noqa\ng()\n", "f()\ng()  # noqa\n"),
        ("f()  # noqa\ng()\n", "f()\n# noqa\ng()\n"),
        ("# type: ignore\nf()\n", "# type: ignore\n\n# why\nf()\n"),
    ],
)
def test_a_directive_that_means_another_line_is_not_safe(before: str, after: str) -> None:
    assert not is_same_program(changed_file("a.py", before, after))


def test_a_changed_mode_is_not_only_a_comment() -> None:
    diff = file_diff("a.py", "# a\n", "# b\n").replace(
        "index 1111111..2222222 100644", "old mode 100644\nnew mode 100755"
    )
    (file,) = Change(plain_dossier(diff, files=[{"path": "a.py", "text": "# b\n"}])).files
    assert not is_same_program(file)


def test_a_text_that_does_not_fit_the_diff_proves_nothing() -> None:
    (file,) = Change(
        plain_dossier(file_diff("a.py", "# a\n", "# b\n"), files=[{"path": "a.py", "text": "# c\n"}])
    ).files
    assert not is_same_program(file)


def test_the_ends_of_lines_that_a_grammar_has_tokens_for_are_no_program() -> None:
    before = "package a\n\n// odl\nfunc f() {\n\tg()\n\tg()\n}\n"
    assert is_same_program(changed_file("a.go", before, before.replace("odl", "old")))


def test_of_a_long_comment_only_the_lines_that_tools_read_have_to_stay() -> None:
    before = "/**\n * Odl.\n * @internal\n */\nexport const a = 1\n"
    assert is_same_program(changed_file("a.ts", before, before.replace("Odl", "Old")))
    assert not is_same_program(changed_file("a.ts", before, before.replace("@internal", "@public")))


def test_of_a_licence_every_word_counts_but_not_how_far_it_stands() -> None:
    before = "/*\n * Licensed to you.\n * Enjoy.\n */\npackage a;\n"
    assert is_same_program(changed_file("A.java", before, before.replace("*/\n", "*/\n\n")))
    assert not is_same_program(changed_file("A.java", before, before.replace("Enjoy", "Suffer")))


@pytest.mark.parametrize("path", ["deno/lib/a.ts", "deno_dist/a.ts", "types/a.d.ts"])
def test_published_copies_and_declarations_may_be_commented(path: str) -> None:
    assert is_same_program(changed_file(path, "// odl\nf()\n", "// old\nf()\n"))


def test_what_a_generator_signed_is_not_to_be_edited() -> None:
    signed = "// Code generated by x. DO NOT EDIT.\n\npackage a\n\n// odl\nfunc f() {}\n"
    assert not is_same_program(changed_file("a.go", signed, signed.replace("odl", "old")))


def test_a_conditional_attribute_that_only_documents_is_no_macro() -> None:
    code = '/// Odl.\n#[cfg_attr(docsrs, doc(cfg(feature = "a")))]\npub struct A;\n'
    assert is_same_program(changed_file("a.rs", code, code.replace("Odl", "Old")))
