"""One defect each in the commits of a real history."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.inject import main
from tests.bench.test_mine import Workshop

PART = """\
def part{0}(first, second):
    if first:
        total = first
    else:
        total = second
    return total
"""
TEST = """\
import pytest


def test_part{0}():
    total = part{0}(1, 2)
    assert total == 1
    assert total != 2


def test_other{0}():
    total = part{0}(0, 2)
    assert total == 2
    assert total != 0
"""


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for whose in ("AUTHOR", "COMMITTER"):  # the injector draws a variant by the commit's id, which its date decides
        monkeypatch.setenv(f"GIT_{whose}_DATE", "2026-01-01T00:00:00Z")
    folder = tmp_path / "repository"
    folder.mkdir()
    made = Workshop(folder)
    made.commits("Begin", "package.json", '{"scripts": {"test": "jest"}}\n')
    for number in range(13):
        (folder / "tests").mkdir(exist_ok=True)
        (folder / f"tests/test_part{number}.py").write_text(TEST.format(number))
        made.commits(f"Add part {number}", f"lib/part{number}.py", PART.format(number))
    return folder


def injected(history: Path) -> list[dict[str, Any]]:
    out = history.parent / "out.jsonl.gz"
    assert main([str(history), str(out), "--name", "acme/widgets", "--limit", "13"]) == 0
    return [json.loads(line) for line in gzip.decompress(out.read_bytes()).split(b"\n") if line]


def test_each_seed_differs_from_its_twin_applies_to_its_base_and_names_its_defect(history: Path) -> None:
    rows = injected(history)
    twins = {row["id"]: row for row in rows if row["expect"]["decision"] == "accept"}
    seeds = [row for row in rows if row["expect"]["decision"] == "reject"]
    assert len(seeds) == len(twins) == 13
    assert {seed["expect"]["variant"] for seed in seeds} >= {
        "body_stubbed", "debug_left", "conflict_left", "arm_emptied", "new_test_skipped", "returns_early",
        "asks_for_test_run", "path_forbidden", "script_is_true", "scratch_file",
    }  # fmt: skip
    for seed in seeds:
        dossier, twin = seed["dossier"], twins[seed["expect"]["pair"]]["dossier"]
        assert (dossier["diff"], dossier.get("case"), dossier["guidance"]) != (
            twin["diff"], twin.get("case"), twin["guidance"],
        )  # fmt: skip
        paths = {file["path"] for file in dossier["files"]}
        assert all(place["path"] in dossier["diff"] or place["path"] in paths for place in seed["expect"]["where"])
        checked = subprocess.run(
            ["git", "apply", "--numstat", "-"],
            cwd=history,
            input=dossier["diff"].encode(),
            capture_output=True,
            check=True,
        )
        assert checked.stdout
