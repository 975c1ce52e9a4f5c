"""Trees in bounded work, texts that the sandbox refuses, and the process that parses a text first."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from worker.dossier.tree_sitter import (
    SANDBOX,
    Grammar,
    ParserSandbox,
    SandboxCheck,
    parse_tree,
    parse_within_limits,
    sandboxed_parsing,
)
from worker.signals.analysis import syntax
from worker.signals.analysis.file_roles import Language

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


MEMORY_LIMIT = 1 << 27
HOSTILE = b"/*\n" * 2_000
"""tree-sitter 0.26.1 takes 1.4 GB for it, growing with the square of its lines."""


@pytest.fixture
def sandbox() -> Generator[ParserSandbox]:
    with closing(ParserSandbox(MEMORY_LIMIT)) as sandbox:
        yield sandbox


def test_sandbox_restarts_after_running_out_of_memory(sandbox: ParserSandbox, caplog: pytest.LogCaptureFixture) -> None:
    assert sandbox.can_parse(b"x = 1\n", PYTHON)
    assert not sandbox.can_parse(HOSTILE, PYTHON)
    assert [record.getMessage() for record in caplog.records] == [
        "parser failed, text of 6000 bytes read by lines: tree_sitter_python"
    ]
    assert "/*" not in caplog.text, "the log holds no source text"
    assert sandbox.can_parse(b"x = 1\n", PYTHON)
    assert sandbox.can_parse(b"y = 'x'\n" * 20_000, PYTHON)


def test_text_is_not_parsable_when_the_sandbox_process_was_killed(sandbox: ParserSandbox) -> None:
    assert sandbox.can_parse(b"x = 1\n", PYTHON)
    os.kill(sandbox.pid, signal.SIGKILL)  # as the system does when memory is short
    assert not sandbox.can_parse(b"x = 1\n" * 100_000, PYTHON)
    assert sandbox.can_parse(b"x = 1\n", PYTHON)


def test_sandbox_process_is_replaced_after_its_number_of_texts() -> None:
    with closing(ParserSandbox(MEMORY_LIMIT, life=10)) as sandbox:
        first = sandbox.pid
        assert sandbox.can_parse(b"x = 1\n", PYTHON)
        assert sandbox.can_parse(b"x = 1\n", PYTHON)
        assert sandbox.pid == first
        assert sandbox.can_parse(b"x = 1\n", PYTHON)
        assert sandbox.pid != first


def test_sandbox_loads_nothing_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("worker.py", "struct.py", "tree_sitter.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    with closing(ParserSandbox(MEMORY_LIMIT)) as sandbox:
        assert sandbox.can_parse(b"x = 1\n", PYTHON)
    assert not (tmp_path / "run").exists()


def test_sandbox_reports_a_process_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with (
        closing(ParserSandbox(MEMORY_LIMIT)) as sandbox,
        pytest.raises(RuntimeError, match="no process that parses could be started"),
    ):
        sandbox.can_parse(b"x = 1\n", PYTHON)


def test_text_that_kills_the_sandbox_is_unreadable() -> None:
    with sandboxed_parsing():
        root = syntax.parse((HOSTILE * 5).decode(), Language.PYTHON)
        assert syntax.is_unreadable(root)
        assert not syntax.parse("x = 1\n", Language.PYTHON).has_error
    assert SANDBOX.get() is None


def test_sandbox_process_ends_with_its_parent() -> None:
    code = "import os; from worker.dossier.tree_sitter import ParserSandbox; print(ParserSandbox().pid, flush=True); os._exit(0)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    try:
        child = os.pidfd_open(int(ended.stdout))
    except ProcessLookupError:
        return
    assert select.select([child], [], [], 20)[0]
    os.close(child)
