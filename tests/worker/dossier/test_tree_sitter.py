"""Trees in bounded work, and texts that the sandbox refuses."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from worker.dossier.tree_sitter import SANDBOX, Grammar, SandboxCheck, parse_tree, parse_within_limits

PYTHON = Grammar("tree_sitter_python", "language")
GO = Grammar("tree_sitter_go", "language")
KOTLIN = Grammar("tree_sitter_kotlin", "language")


def test_long_program_is_one_tree() -> None:
    text = "é = 'x'\n".encode() * 40_000
    tree = parse_within_limits(text, PYTHON)
    assert tree is not None
    assert (tree.root_node.has_error, tree.root_node.child_count, tree.root_node.end_byte) == (False, 40_000, len(text))
    assert tree.root_node.children[-1].text == "é = 'x'".encode()


def test_nodes_of_broken_text_have_their_text() -> None:
    tree = parse_within_limits(b"x = f(1)\ny = = 2\n" * 1_000, PYTHON)
    assert tree is not None
    assert tree.root_node.has_error
    assert tree.root_node.children[0].text == b"x = f(1)"


@pytest.mark.parametrize(
    ("text", "grammar"),
    [(b"| - " * 1_000 + b"\n" * 10, GO), (b"class A {\n    fun f(x: Int) = g(x" + b")x" * 2_400 + b"\n}\n", KOTLIN)],
    ids=["takes many steps", "is read again and again"],
)
def test_text_beyond_the_work_limit_has_no_tree(text: bytes, grammar: Grammar) -> None:
    assert parse_within_limits(text * 3, grammar) is None
    next_tree = parse_within_limits(b"package a\n", grammar)
    assert next_tree is not None
    assert (next_tree.root_node.has_error, next_tree.root_node.end_byte) == (False, 10)


@contextmanager
def use_sandbox(check: SandboxCheck) -> Generator[None]:
    token = SANDBOX.set(check)
    try:
        yield
    finally:
        SANDBOX.reset(token)


def test_text_refused_by_the_sandbox_is_not_parsed() -> None:
    checked: list[tuple[bytes, Grammar]] = []

    def can_parse(raw: bytes, grammar: Grammar) -> bool:
        checked.append((raw, grammar))
        return raw != b"hostile"

    with use_sandbox(can_parse):
        assert parse_tree(b"hostile", PYTHON) is None
        assert parse_tree(b"x = 1\n", PYTHON) is not None
    assert checked == [(b"hostile", PYTHON), (b"x = 1\n", PYTHON)]
    assert parse_tree(b"hostile", PYTHON) is not None, "without a sandbox"
