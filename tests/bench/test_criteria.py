"""Where the benches say that a criterion stands."""

from pathlib import Path

import pytest

from bench.criteria import answer, main
from bench.rows import read, write


def placed(body: str) -> list[str]:
    """What stands at the places of the criteria, with what is around it."""
    said = answer({"id": "a", "issue": {"title": None, "body": body}})
    return [body[one["span"][0] - 2 : one["span"][1] + 1] for one in said["criteria"] if "span" in one]


def test_a_criterion_stands_where_it_is_listed_and_not_where_its_words_occur_before() -> None:
    assert placed("Add retries, someone said.\n\n## Acceptance criteria\n\n- [x] one\n- Add retries\n") == [
        "] one\n",
        "- Add retries\n",
    ]


def test_a_criterion_in_prose_stands_where_it_is_written() -> None:
    assert placed("\n\nPlease add\n  retries.\n") == ["\n\nPlease add\n  retries.\n"]


def test_a_criterion_whose_words_stand_nowhere_in_a_row_has_no_place() -> None:
    assert placed("## Acceptance criteria\n\n- an **urgent** one\n") == []


def test_a_call_without_files_is_told_how_it_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "IN OUT" in capsys.readouterr().err
    write(tmp_path / "in.jsonl", [{"id": "a", "issue": {"title": "Add retries", "body": None}}])
    main([str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl")])
    assert [(row["explicit"], row["inferred"]) for row in read(tmp_path / "out.jsonl")] == [(False, True)]
