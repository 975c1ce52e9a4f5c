"""The folder of a run: never two runs in one, and whole whatever stopped it."""

from pathlib import Path

import pytest

from tests.worker.evaluation.bench.made import PLAN, row, written
from tests.worker.judge.courtroom import bench
from worker.errors import InputError
from worker.evaluation.bench.run_folder import (
    RUN_FILE,
    TRAITS_FILE,
    VERDICTS_FILE,
    make_plan,
    open_run_files,
    prepare_folder,
    read_json_lines,
)


def test_a_plan_follows_from_the_rubric_the_code_and_the_files(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", row("a"))
    plan = make_plan([path], bench(), "heuristic")
    assert plan == make_plan([path], bench(), "heuristic")
    written(path, row("b"))
    other = make_plan([path], bench(), "hybrid")
    assert {name for name, now in other if getattr(plan, name) != now} == {"files", "tier"}
    heavier = bench().rubric.model_copy(update={"version": "another"})
    assert make_plan([path], type(bench())(heavier, bench().prompt, 0.7), "heuristic").rubric != plan.rubric


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl can't be read: No such file"):
        make_plan([tmp_path / "nothing.jsonl"], bench(), "heuristic")


def test_a_folder_is_made_and_goes_on_with_the_same_run(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "out"
    prepare_folder(folder, PLAN)
    prepare_folder(folder, PLAN)
    assert [path.name for path in folder.iterdir()] == [RUN_FILE]


def test_another_run_in_the_folder_is_refused_by_what_differs(tmp_path: Path) -> None:
    prepare_folder(tmp_path, PLAN)
    with pytest.raises(InputError, match=r"holds a run with another rubric and code\. Give another folder with --out"):
        prepare_folder(tmp_path, PLAN.model_copy(update={"rubric": "sha256:x", "code": "sha256:y"}))


@pytest.mark.parametrize("said", [None, "", '{"tier": "heuristic"}', "[]"])
def test_a_run_that_nobody_can_tell_is_refused(tmp_path: Path, said: str | None) -> None:
    (tmp_path / VERDICTS_FILE).write_text("{}\n")
    if said is not None:
        (tmp_path / RUN_FILE).write_text(said)
    with pytest.raises(InputError, match=r"holds a run that nobody can tell\."):
        prepare_folder(tmp_path, PLAN)


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--out .*file/out can't be written: Not a directory"):
        prepare_folder(tmp_path / "file" / "out", PLAN)


def test_rows_are_added_to_both_files_and_stay(tmp_path: Path) -> None:
    with open_run_files(tmp_path) as book:
        assert book.truncate_partial() == 0
        book.append(b'{"id": "a"}\n', b'{"ms": 1}\n')
        assert list(read_json_lines(tmp_path / VERDICTS_FILE)) == [(1, {"id": "a"})]
    with open_run_files(tmp_path) as book:
        assert book.truncate_partial() == 1
        book.append(b'{"id": "b"}\n', b'{"ms": 2}\n')
    assert [line for _, line in read_json_lines(tmp_path / TRAITS_FILE)] == [{"ms": 1}, {"ms": 2}]


@pytest.mark.parametrize(
    ("verdicts", "traits"),
    [
        (b"1\n2\n3", b"1\n2\n"),
        (b"1\n2\n", b"1\n2\n{half"),
        (b"1\n2\n3\n", b"1\n2\n"),
        (b"1\n2\n", b"1\n2\n3\n4\n"),
        (b"1\n2\n{", b"1\n2\n3\n"),
    ],
)
def test_whatever_stopped_a_run_both_files_hold_the_same_rows(tmp_path: Path, verdicts: bytes, traits: bytes) -> None:
    (tmp_path / VERDICTS_FILE).write_bytes(verdicts)
    (tmp_path / TRAITS_FILE).write_bytes(traits)
    with open_run_files(tmp_path) as book:
        assert book.truncate_partial() == 2
        book.append(b"5\n", b"6\n")
    assert (tmp_path / VERDICTS_FILE).read_bytes() == b"1\n2\n5\n"
    assert (tmp_path / TRAITS_FILE).read_bytes() == b"1\n2\n6\n"


def test_nothing_but_half_a_row_is_no_row(tmp_path: Path) -> None:
    (tmp_path / VERDICTS_FILE).write_bytes(b'{"id": "a", "verd')
    with open_run_files(tmp_path) as book:
        assert book.truncate_partial() == 0
    assert (tmp_path / VERDICTS_FILE).read_bytes() == b""


def test_two_runs_never_write_into_one_folder(tmp_path: Path) -> None:
    with (
        open_run_files(tmp_path),
        pytest.raises(InputError, match=r"Another `assay bench` is writing to"),
        open_run_files(tmp_path),
    ):
        pass
    with open_run_files(tmp_path) as book:
        assert book.truncate_partial() == 0


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / VERDICTS_FILE).write_bytes(b"{}\n{")
    with pytest.raises(InputError, match=r"verdicts\.jsonl:2 is no line of a finished run"):
        list(read_json_lines(tmp_path / VERDICTS_FILE))
    with pytest.raises(
        InputError, match=r"traits\.jsonl can't be read: No such file or directory\. Expected the --out"
    ):
        list(read_json_lines(tmp_path / TRAITS_FILE))
