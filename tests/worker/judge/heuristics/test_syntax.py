"""Trees: what is found in a part of them, and what is given up."""

import pytest

from worker.judge.heuristics.paths import Language
from worker.judge.heuristics.syntax import SMALL, find, parse, text_of

CALLS = "a(\n  b(1),\n  c(2)\n)\nd(3)\n"


def test_only_what_touches_the_rows_is_found() -> None:
    root = parse(CALLS, Language.PYTHON)
    found = find(root, Language.PYTHON, ("call",), frozenset({2}))
    assert [text_of(one.child_by_field_name("function")) for one in found] == ["a", "c"]


PARTS = "".join(
    f"def f{n}(a, b=g(1)):\n    if a:\n        return [h(x) for x in k(b)]\n    l(m(n())); o(1)\n    return p(\n        q()\n    )\n\n\n"
    for n in range(40)
)
"""A tree that is too big to walk over, of functions that are not."""


@pytest.mark.parametrize("text", [PARTS, PARTS.replace("(m(", "(((m((("), PARTS.replace("return [", "return @[")])
@pytest.mark.parametrize("rows", [None, frozenset({3}), frozenset({9, 12}), frozenset({40, 200}), frozenset({10_000})])
def test_in_a_small_part_is_found_what_the_whole_has_there(text: str, rows: frozenset[int] | None) -> None:
    root = parse(text, Language.PYTHON)
    functions = find(root, Language.PYTHON, ("function_definition",))
    assert functions
    everything = find(root, Language.PYTHON, ("call", "identifier"), rows)
    for function in functions:
        assert function.descendant_count <= SMALL < root.descendant_count
        there = [
            one for one in everything if function.start_byte <= one.start_byte and one.end_byte <= function.end_byte
        ]
        assert find(function, Language.PYTHON, ("call", "identifier"), rows) == there


@pytest.mark.parametrize("language", Language)
def test_what_no_grammar_gets_through_is_no_program(language: Language) -> None:
    """A table of Markdown in a fragment that begins in a comment: without a bound it takes minutes."""
    text = {Language.PYTHON: "f(", Language.RUST: "fn f() { a::<"}.get(language, "") + "| - " * 10_000
    root = parse(text, language)
    assert root.has_error
    if language not in {Language.RUST, Language.KOTLIN}:  # whose grammars get through
        assert text_of(root) == ")"


def test_a_parser_that_was_stopped_parses_the_next_text() -> None:
    parse("| - " * 10_000, Language.GO)
    assert not parse("package a\n", Language.GO).has_error


def test_a_text_of_many_chunks_is_one_tree() -> None:
    root = parse("é = 'x'\n" * 40_000, Language.PYTHON)
    assert (root.has_error, root.child_count) == (False, 40_000)
