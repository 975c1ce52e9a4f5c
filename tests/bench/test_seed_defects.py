"""The defect generator: what it makes is one defect, well placed, and repeatable."""

import gzip
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.seed_defects import main
from bench.seeding.defect import Case, Difficulty, Made, Variant
from bench.seeding.opened import open_dossier
from bench.seeding.seeds import VARIANTS, Limits, chance, is_valid, seeded
from bench.seeding.sheet import Edit
from tests.bench.changes import rows
from worker.domain.dossier.dossier import Dossier
from worker.domain.verdict.verdict import Category
from worker.dossier.diff.parser import base_text, parse_diff

Row = dict[str, Any]
NEEDS_MORE = {
    "site_left_out",
    "dependency_moved",
    "foreign_file_nearby",
    "strictness_off",
    "foreign_file",
    "fenced_path",
}
"""They need a repository with more history than these few changes."""


def tried(variant: Variant) -> list[tuple[Row, Made]]:
    """The variant on each change, with several draws."""
    made: list[tuple[Row, Made]] = []
    changes = rows()
    for row in changes:
        others = [other for other in changes if other["id"] != row["id"]]
        for turn in range(4):
            found = variant.make(Case(open_dossier(row["dossier"]), others, chance(row["id"], str(turn))))
            if found is not None and is_valid(variant, found):
                made.append((row, found))
    return made


@pytest.mark.parametrize("variant", [one for one in VARIANTS if one.name not in NEEDS_MORE], ids=lambda one: one.name)
def test_a_variant_gives_a_well_formed_seed_that_keeps_the_base(variant: Variant) -> None:
    made = tried(variant)
    assert made
    must_be_read_by_git([one.seed.printed()["diff"] for _, one in made])
    for row, one in made:
        seed, twin = one.seed.printed(), one.twin.printed()
        Dossier.model_validate(seed)
        Dossier.model_validate(twin)
        assert twin["diff"] == row["dossier"]["diff"]
        before, after = bases(twin), bases(seed)
        assert {path: after[path] for path in before.keys() & after.keys()} == {
            path: before[path] for path in before.keys() & after.keys()
        }
        for place in one.where:
            texts = {file["path"]: file.get("text", "") for file in seed["files"]}
            assert place.side == "base" or 1 <= place.line <= len(texts[place.path].split("\n"))


def must_be_read_by_git(diffs: list[str]) -> None:
    """Each of them, and to its end: in one process, since starting one for each takes longer than all the rest."""
    assert all(diff.startswith("diff --git ") and diff.endswith("\n") for diff in diffs)
    command = ["git", "apply", "--numstat", "-"]
    told = subprocess.run(command, input="".join(diffs), text=True, check=True, capture_output=True).stdout
    assert len(told.splitlines()) == sum(
        diff.startswith("diff --git ") for all_of in diffs for diff in all_of.split("\n")
    )


def bases(dossier: Row) -> dict[str, str]:
    """The texts before the change, from diff and texts."""
    files = parse_diff(dossier["diff"].encode()).by_path
    texts = {file["path"]: file["text"] for file in dossier["files"] if file.get("text") is not None}
    return {path: base_text(text, files[path]) for path, text in texts.items() if path in files}


def test_seeds_and_twins_are_paired_and_differ_in_one_defect() -> None:
    made = list(seeded(rows(), 3, Limits(per_change=6)))
    twins = {row["id"]: row for row in made if row["expect"]["decision"] == "accept"}
    seeds = [row for row in made if row["expect"]["decision"] == "reject"]
    assert len(seeds) > 20
    for row in seeds:
        twin = twins[row["expect"]["pair"]]["dossier"]
        assert row["dossier"] != twin
        assert row["dossier"]["pull_request"] == twin["pull_request"]
        assert row["dossier"].get("guidance") == twin.get("guidance")
        assert row["dossier"].get("criteria") == twin.get("criteria")
        assert ("files" in row["dossier"]) == ("files" in twin)
    assert {row["expect"]["category"] for row in seeds} == {category.value for category in Category}


def test_the_same_seed_number_gives_the_same_rows_and_another_gives_others() -> None:
    limits = Limits(per_change=3)
    first, again, other = (list(seeded(rows(), number, limits)) for number in (5, 5, 6))
    assert first == again
    assert first != other


def test_a_defect_that_breaks_the_syntax_or_changes_nothing_is_no_seed() -> None:
    opened = open_dossier(rows()[0]["dossier"])
    broken = Made(opened, opened.edited("src/lib.py", [Edit(1, 1, ("import (",))]))
    variant = Variant("broken", Category.HALF_FINISHED, Difficulty.EASY, lambda _: broken)
    assert not is_valid(variant, broken)
    assert is_valid(replace(variant, is_code=False), broken)
    assert not is_valid(variant, Made(opened, opened))


def test_a_category_has_a_limit() -> None:
    made = [row for row in seeded(rows(), 1, Limits(per_change=9, per_category=2)) if "category" in row["expect"]]
    counts = [sum(row["expect"]["category"] == category for row in made) for category in Category]
    assert max(counts) == 2


def test_the_command_reads_and_writes_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "clean.jsonl", tmp_path / "seeded.jsonl.gz"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    assert main([str(source), str(out), "--seed", "2"]) == 0
    written = [json.loads(line) for line in gzip.decompress(out.read_bytes()).split(b"\n") if line]
    assert {row["expect"]["decision"] for row in written} == {"accept", "reject"}
    assert "twins" in capsys.readouterr().out
    before = out.read_bytes()
    main([str(source), str(out), "--seed", "2"])
    assert out.read_bytes() == before
