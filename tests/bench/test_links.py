"""Which issues a text closes and mentions, as the bench says it."""

from pathlib import Path

import pytest

from bench.links import answer, main
from bench.rows import read, write


def test_a_text_that_nobody_wrote_names_no_issue() -> None:
    assert answer({"id": "a", "repository": "o/r", "text": None}) == {"id": "a", "closes": [], "mentions": []}


def test_what_a_text_closes_is_no_mention() -> None:
    said = answer({"id": "a", "repository": "o/r", "text": "Fixes #1, see #1 and o2/r2#3"})
    assert said == {"id": "a", "closes": ["o/r#1"], "mentions": ["o2/r2#3"]}


def test_a_call_without_files_is_told_how_it_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "IN OUT" in capsys.readouterr().err
    write(tmp_path / "in.jsonl", [{"id": "a", "repository": "o/r", "text": "#2", "expect": {"mentions": ["o/r#2"]}}])
    main([str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl")])
    assert [row["mentions"] for row in read(tmp_path / "out.jsonl")] == [["o/r#2"]]
    assert capsys.readouterr().out == "plain: 1 of 1 right\n"
