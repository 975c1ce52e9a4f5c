"""Functions that count figures of the code."""

import ast
from pathlib import Path

import pytest

from bench.entered import read
from bench.house import Figure, fullest, table, used_once


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("def _part(): ...\ndef whole(): _part()", (1, 1)),
        ("def _part(): ...\ndef whole(): _part(_part)", (0, 1)),
        ("class Whole:\n  def _part(self): ...\n  def run(self): self._part()", (1, 1)),
        ("def __len__(): ...\ndef part(): ...", (0, 0)),
    ],
)
def test_private_function_is_used_once_if_its_name_occurs_once_more(code: str, counts: tuple[int, int]) -> None:
    assert used_once([ast.parse(code)]) == counts


def test_fullest_folders_count_files_and_subfolders(tmp_path: Path) -> None:
    (tmp_path / "inner" / "__pycache__").mkdir(parents=True)
    for name in ("__init__.py", "a.py", "inner/b.py", "inner/c.py", "inner/d.py"):
        (tmp_path / name).write_text("")
    assert fullest([tmp_path]) == [(tmp_path / "inner", 3), (tmp_path, 2)]


def test_trace_is_grouped_by_process() -> None:
    calls = ["1\t/app/a.py\t3\trun", "1\t/app/a.py\t9\tstop", "2\t/app/b.py\t3\trun"]
    run, stop = ("/app/a.py", "3", "run"), ("/app/a.py", "9", "stop")
    assert read(calls) == {"1": {run, stop}, "2": {("/app/b.py", "3", "run")}}


def test_table_has_one_line_per_figure() -> None:
    assert table([Figure("Lua scripts", "106", "<= 14"), Figure("median", "4")]).splitlines() == [
        "figure      | found | goal",
        "Lua scripts | 106   | <= 14",
        "median      | 4     |",
    ]
