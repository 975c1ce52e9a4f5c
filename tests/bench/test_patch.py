"""Diffs that are edited and printed again."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.seeding.patch import folded, parse, print_diff
from bench.seeding.sheet import Edit, Sheet, open_sheet
from tests.bench.changes import change, rows

LINES = st.lists(st.sampled_from(["a", "b", "  c", "", "}"]), max_size=30)


def git_diff(folder: Path, base: str, head: str) -> str:
    """What git prints for one file, with the names that a repository would show."""
    (folder / "a").write_text(base)
    (folder / "b").write_text(head)
    done = subprocess.run(
        ["git", "diff", "--no-index", "a", "b"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.replace("a/a b/b", "a/x b/x").replace("--- a/a\n", "--- a/x\n").replace("+++ b/b\n", "+++ b/x\n")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_a_clean_diff_prints_as_it_was(row: dict[str, dict[str, str]]) -> None:
    assert print_diff(parse(row["dossier"]["diff"])) == row["dossier"]["diff"]


@settings(max_examples=settings().max_examples * 4 // 10, deadline=None)
@given(base=LINES, head=LINES, ends=st.booleans())
def test_what_git_prints_is_read_and_printed_and_folded_as_git_does(
    tmp_path_factory: pytest.TempPathFactory, base: list[str], head: list[str], *, ends: bool
) -> None:
    old = "".join(f"{line}\n" for line in base)
    new = "".join(f"{line}\n" for line in head)
    new = new if ends else new.removesuffix("\n")
    diff = git_diff(tmp_path_factory.mktemp("diff"), old, new)
    files = parse(diff)
    assert print_diff(files) == diff
    if not files or not new:
        return
    sheet = open_sheet(files[0], new)
    assert sheet is not None
    assert (sheet.text, sheet.base_text) == (new, old)
    assert folded(sheet.lines) == files[0].hunks


@settings(max_examples=settings().max_examples * 4 // 10, deadline=None)
@given(base=LINES, head=LINES, data=st.data())
def test_an_edited_file_keeps_its_base_and_its_diff_gives_the_edited_text(
    tmp_path_factory: pytest.TempPathFactory, base: list[str], head: list[str], data: st.DataObject
) -> None:
    old, new = "".join(f"{line}\n" for line in base), "".join(f"{line}\n" for line in [*head, "end"])
    folder = tmp_path_factory.mktemp("edit")
    files = parse(git_diff(folder, old, new))
    sheet = open_sheet(files[0], new) if files else None
    if sheet is None:
        return
    first = data.draw(st.integers(1, len(sheet.head)))
    last = data.draw(st.integers(first - 1, len(sheet.head)))
    edited = sheet.edited([Edit(first, last, tuple(data.draw(LINES)))])
    assert edited.base_text == old
    (folder / "x").write_text(old)
    printed = edited.printed()
    diff = print_diff([printed] if printed else [])
    if diff:
        subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=folder, input=diff, text=True, check=True)
    assert (folder / "x").read_text() == edited.text


def sheet_of(base: str, head: str) -> Sheet:
    row = change("t", {"x": (base, head)})
    sheet = open_sheet(parse(row["dossier"]["diff"])[0], head)
    assert sheet is not None
    return sheet


def test_a_line_put_back_is_context_again() -> None:
    sheet = sheet_of("a\nb\nc\n", "a\nB\nc\n")
    assert sheet.edited([Edit(2, 2, ("b",))]).printed() is None
    assert sheet.reverted(*sheet.runs()[0]).text == "a\nb\nc\n"


def test_lines_count_as_new_or_old_by_the_side_they_stand_on() -> None:
    sheet = sheet_of("a\nb\n", "a\nnew\nb\n")
    assert sheet.is_added(2, 2)
    assert not sheet.is_added(1, 2)
    assert sheet.is_old(1, 1)
    assert not sheet.is_old(1, 2)
    assert [sheet.base_line(line) for line in (1, 2, 3)] == [1, 2, 2]


def test_a_text_that_does_not_fit_the_diff_is_not_opened() -> None:
    row = change("t", {"x": ("a\n", "b\n")})
    assert open_sheet(parse(row["dossier"]["diff"])[0], "other\n") is None
    assert open_sheet(parse(row["dossier"]["diff"])[0], None) is None


def test_a_new_file_is_known_from_the_diff_alone() -> None:
    row = change("t", {"x": (None, "a\nb\n")})
    sheet = open_sheet(parse(row["dossier"]["diff"])[0], None)
    assert sheet is not None
    assert sheet.text == "a\nb\n"


def test_what_is_no_diff_is_refused() -> None:
    with pytest.raises(ValueError, match="not a diff"):
        parse("hello\n")
    with pytest.raises(ValueError, match="not a hunk"):
        parse("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nrest\n")


def test_removed_lines_stand_before_added_ones_as_git_prints_them() -> None:
    made = sheet_of("a\nb\nc\n", "a\nnew\nb\nc\n").edited([Edit(3, 3, ("other",))])
    assert [f"{line.mark}{line.text}" for line in made.lines] == [" a", "-b", "+new", "+other", " c"]
