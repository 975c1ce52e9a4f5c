"""Chains of calls."""

import pytest

from tests.worker.signals.samples import source_of
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.references import find_call_chains

CHAINS = [
    (Language.PYTHON, "await a.b(x).c(1)", ["a b c"]),
    (Language.PYTHON, "self.assertEqual(f(x), 2)", ["self assertEqual", "f"]),
    (Language.JAVASCRIPT, "expect(x).not.toBe(1)", ["expect not toBe"]),
    (Language.JAVASCRIPT, "(await f()).g()", ["f g", "f"]),
    (Language.JAVASCRIPT, "expect(y).toBeFalsy", ["expect toBeFalsy"]),
    (Language.TYPESCRIPT, "a.b!.c()", ["a b c"]),
    (Language.TYPESCRIPT, "(async () => 1)()", ["async () => 1"]),
    (Language.GO, "package a\nfunc f() { require.Equal(t, 1) }", ["require Equal"]),
    (Language.RUST, "fn f() { x.f()?.unwrap(); }", ["x f ? unwrap"]),
    (Language.RUST, "fn f() { insta::assert_snapshot!(x); }", ["assert_snapshot!"]),
    (Language.RUST, "fn f() { parse::<T>(x); A::new(); }", ["parse", "A new"]),
    (Language.JAVA, "class A { void a() { assertThat(x).isTrue(); } }", ["assertThat isTrue"]),
    (Language.JAVA, "class A { void a() { this.b.c(); } }", ["this b c"]),
    (Language.RUBY, "expect(a&.b).to eq 1", ["expect to", "a b", "eq"]),
    (Language.RUBY, "a.(1)\n", ["a.(1)"]),
    (Language.CSHARP, "class A { void F() { a?.B(1).C<int>(2); d!.E(); G<int>(); (h).I(); } }", ["a B C", "d E", "G", "h I"]),
    (Language.KOTLIN, "fun f() { val x = a.b().c }", ["a b c"]),
    (Language.KOTLIN, "fun f() { a?.b(1)!!.c { d() }; x shouldBe 1; a < b; a > { 1 } }", ["a b c", "d", "x shouldBe"]),
    (Language.KOTLIN, "fun f() { assertFailsWith<E> { g() } }", ["assertFailsWith", "g"]),
    (Language.PHP, "<?php $a->b(1)?->c(2); A::b(); \\A\\f(3); $g(4); $a->b->c();", ["$a b c", "A b", "f", "$g", "$a b c"]),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "names"), CHAINS, ids=[text for _, text, _ in CHAINS])
def test_call_chain_starts_at_its_root(language: Language, text: str, names: list[str]) -> None:
    assert [" ".join(chain.names) for chain in find_call_chains(source_of(text, language))] == names


def test_call_statement_drops_its_result() -> None:
    chains = list(find_call_chains(source_of("await f()\nx = g()\n", Language.PYTHON)))
    assert [(chain.is_result_dropped, chain.is_result_bound) for chain in chains] == [(True, False), (False, True)]


def test_comments_are_not_arguments() -> None:
    (chain,) = find_call_chains(source_of("f(a, // why\n b)", Language.JAVASCRIPT))
    assert len(chain.links[0].arguments or []) == 2


@pytest.mark.parametrize(
    ("language", "text", "rows", "names"),
    [
        (Language.PYTHON, "a(\n  b(1),\n  c(2)\n)\nd(3)\n", {0, 2}, [("a",), ("c",)]),
        (Language.RUBY, "a.b\nc.d\n", {1}, [("c", "d")]),
    ],
)
def test_chains_of_rows_begin_there(
    language: Language, text: str, rows: set[int], names: list[tuple[str, ...]]
) -> None:
    assert [chain.names for chain in find_call_chains(source_of(text, language), rows=frozenset(rows))] == names
