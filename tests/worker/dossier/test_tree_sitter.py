"""Trees in bounded work: what is given up, and what somebody else tries first."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from worker.dossier.tree_sitter import SANDBOX, Grammar, SandboxCheck, parse_tree, parse_within_limits

PYTHON = Grammar("tree_sitter_python", "language")
GO = Grammar("tree_sitter_go", "language")
KOTLIN = Grammar("tree_sitter_kotlin", "language")


def test_a_text_that_is_a_program_is_one_tree_however_long() -> None:
    text = "é = 'x'\n".encode() * 40_000
    tree = parse_within_limits(text, PYTHON)
    assert tree is not None
    assert (tree.root_node.has_error, tree.root_node.child_count, tree.root_node.end_byte) == (False, 40_000, len(text))
    assert tree.root_node.children[-1].text == "é = 'x'".encode()


def test_of_a_text_that_is_none_every_node_still_knows_its_words() -> None:
    tree = parse_within_limits(b"x = f(1)\ny = = 2\n" * 1_000, PYTHON)
    assert tree is not None
    assert tree.root_node.has_error
    assert tree.root_node.children[0].text == b"x = f(1)"


@pytest.mark.parametrize(
    ("text", "grammar"),
    [(b"| - " * 1_000 + b"\n" * 10, GO), (b"class A {\n    fun f(x: Int) = g(x" + b")x" * 2_400 + b"\n}\n", KOTLIN)],
    ids=["takes many steps", "is read again and again"],
)
def test_what_takes_far_more_work_than_it_is_long_has_no_tree_and_the_next_text_has_one(
    text: bytes, grammar: Grammar
) -> None:
    assert parse_within_limits(text * 3, grammar) is None
    following = parse_within_limits(b"package a\n", grammar)
    assert following is not None
    assert (following.root_node.has_error, following.root_node.end_byte) == (False, 10)


@contextmanager
def given_first_to(taster: SandboxCheck) -> Generator[None]:
    token = SANDBOX.set(taster)
    try:
        yield
    finally:
        SANDBOX.reset(token)


def test_what_the_taster_does_not_survive_is_never_parsed_here() -> None:
    tasted: list[tuple[bytes, Grammar]] = []

    def survives(raw: bytes, grammar: Grammar) -> bool:
        tasted.append((raw, grammar))
        return raw != b"hostile"

    with given_first_to(survives):
        assert parse_tree(b"hostile", PYTHON) is None
        assert parse_tree(b"x = 1\n", PYTHON) is not None
    assert tasted == [(b"hostile", PYTHON), (b"x = 1\n", PYTHON)]
    assert parse_tree(b"hostile", PYTHON) is not None, "it is a name, and nobody is asked"
