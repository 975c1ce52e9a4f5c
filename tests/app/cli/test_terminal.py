"""Progress where standard error is no terminal."""

import threading

import pytest

from app.cli import terminal


def test_where_stderr_is_no_terminal_a_line_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "INTERVAL_S", 0.001)
    was_told = threading.Event()

    def words(seconds: float) -> str:
        was_told.set()
        return f"judging, {seconds:.0f} s"

    with terminal.show_elapsed(words):
        assert was_told.wait(10)
    assert "assay: judging, 0 s\n" in capsys.readouterr().err


def test_what_is_soon_done_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.show_count(3, "dossier") as tell:
        tell(3)
    assert capsys.readouterr().err == ""
