"""Texts that are tried in a process of their own before they are parsed here."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from worker.dossier.parser_sandbox import ParserSandbox, sandboxed_parsing
from worker.dossier.tree_sitter import SANDBOX, Grammar
from worker.signals.analysis import syntax
from worker.signals.analysis.file_roles import Language

PYTHON = Grammar("tree_sitter_python", "language")
FEW = 1 << 27
HOSTILE = b"/*\n" * 2_000
"""The parser of tree-sitter 0.26.1 takes 1.4 GB for it, and with the square of its lines ever more."""


@pytest.fixture
def taster() -> Generator[ParserSandbox]:
    with closing(ParserSandbox(FEW)) as sandbox:
        yield sandbox


def test_a_text_that_takes_too_much_memory_ends_the_taster_and_the_next_one_is_tried_by_another(
    taster: ParserSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    assert taster.can_parse(b"x = 1\n", PYTHON)
    assert not taster.can_parse(HOSTILE, PYTHON)
    assert [record.getMessage() for record in caplog.records] == [
        "parser failed, text of 6000 bytes read by lines: tree_sitter_python"
    ]
    assert "/*" not in caplog.text, "what a private source holds is not for the log"
    assert taster.can_parse(b"x = 1\n", PYTHON)
    assert taster.can_parse(b"y = 'x'\n" * 20_000, PYTHON), "long, and nothing but long"


def test_a_text_whose_taster_was_ended_while_nobody_asked_counts_as_not_survived(taster: ParserSandbox) -> None:
    assert taster.can_parse(b"x = 1\n", PYTHON)
    os.kill(taster.pid, signal.SIGKILL)  # as the system does where memory is short
    assert not taster.can_parse(b"x = 1\n" * 100_000, PYTHON)
    assert taster.can_parse(b"x = 1\n", PYTHON)


def test_a_taster_that_tasted_much_makes_room_for_another() -> None:
    with closing(ParserSandbox(FEW, life=10)) as taster:
        first = taster.pid
        assert taster.can_parse(b"x = 1\n", PYTHON)
        assert taster.can_parse(b"x = 1\n", PYTHON)
        assert taster.pid == first
        assert taster.can_parse(b"x = 1\n", PYTHON)
        assert taster.pid != first


def test_nothing_of_the_working_directory_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("worker.py", "struct.py", "tree_sitter.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    with closing(ParserSandbox(FEW)) as taster:
        assert taster.can_parse(b"x = 1\n", PYTHON)
    assert not (tmp_path / "run").exists()


def test_where_no_process_can_be_started_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with (
        closing(ParserSandbox(FEW)) as taster,
        pytest.raises(RuntimeError, match="no process that parses could be started"),
    ):
        taster.can_parse(b"x = 1\n", PYTHON)


def test_while_texts_are_tried_first_what_no_taster_survives_is_no_program() -> None:
    with sandboxed_parsing():
        root = syntax.parse((HOSTILE * 5).decode(), Language.PYTHON)
        assert syntax.is_unreadable(root)
        assert not syntax.parse("x = 1\n", Language.PYTHON).has_error
    assert SANDBOX.get() is None


def test_a_taster_ends_with_whoever_started_it() -> None:
    code = "import os; from worker.dossier.parser_sandbox import ParserSandbox; print(ParserSandbox().pid, flush=True); os._exit(0)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    try:
        child = os.pidfd_open(int(ended.stdout))
    except ProcessLookupError:
        return
    assert select.select([child], [], [], 20)[0]
    os.close(child)
