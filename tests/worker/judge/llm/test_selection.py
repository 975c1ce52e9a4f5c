"""What of a change fits into the question."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.judge.llm.changes import diff_of
from tests.worker.judge.making import dossier, new_file
from worker.domain.dossier.dossier import Dossier, HeadFile
from worker.judge.llm.diff_view import FENCE_BYTES, FileRank, FileView, file_views_of, rank_of
from worker.judge.llm.rendering import render_files
from worker.judge.llm.selection import is_shown, select_pieces
from worker.signals.analysis.change import CodeChange

EVERYTHING = 1 << 40
PATHS = ("src/parser.py", "src/printer.py", "tests/test_parser.py", "docs/a.md", "data.json", "vendor/x.go", "a.pb.go")
FILES = st.lists(
    st.tuples(st.sampled_from(PATHS), st.integers(1, 400), st.sampled_from(["x = 1", "y" * 300, "é\u202e" * 40])),
    min_size=1,
    max_size=7,
    unique_by=lambda pair: pair[0],
)
ROOMS = st.integers(0, 60_000)


def change(files: Sequence[tuple[str, int, str]]) -> Dossier:
    return dossier(diff="".join(new_file(path, *[line] * count) for path, count, line in files), files=None)


def sheets(of: Dossier, suspected: tuple[str, ...] = ()) -> tuple[FileView, ...]:
    return file_views_of(diff_of(of.diff), suspected, (), EVERYTHING)


@settings(max_examples=settings().max_examples * 6 // 10, deadline=None)
@given(FILES, ROOMS)
def test_what_is_shown_never_takes_more_than_the_room(files: Any, room: int) -> None:
    of = change(files)
    laid = sheets(of)
    choice = select_pieces(laid, room)
    texts = render_files(laid, choice, CodeChange(of).files, room)
    assert choice.size <= room
    assert sum(len(text.label.encode()) + len(text.text.encode()) + FENCE_BYTES for text in texts) <= max(0, room)


@settings(max_examples=settings().max_examples * 6 // 10, deadline=None)
@given(FILES, ROOMS, st.randoms())
def test_the_order_of_the_files_does_not_change_what_is_read(files: Any, room: int, random: Any) -> None:
    shuffled = list(files)
    random.shuffle(shuffled)
    read: list[dict[str, int]] = []
    for each in (files, shuffled):
        laid = sheets(change(each))
        shown = select_pieces(laid, room).shown_pieces
        read.append({sheet.file.path: shown[sheet.position] for sheet in laid if sheet.position in shown})
    assert read[0] == read[1]


def test_of_files_that_are_alike_the_first_by_name_is_read_wherever_it_stands() -> None:
    alike = [("src/a.py", 200, "y" * 80), ("src/b.py", 200, "y" * 80)]
    for each in (alike, alike[::-1]):
        laid = sheets(change(each))
        choice = select_pieces(laid, 20_000)
        whole = [sheet.file.path for sheet in laid if is_shown(sheet, choice)]
        assert whole == ["src/a.py"]


def test_a_file_is_shown_in_part_where_a_piece_is_missing() -> None:
    laid = sheets(change([("a.py", 600, "y" * 80)]))
    choice = select_pieces(laid, 20_000)
    assert choice.shown_pieces == {0: 2}
    assert not is_shown(laid[0], choice)
    assert select_pieces(laid, 100).shown_pieces == {}


def test_lines_around_a_change_are_left_out_where_there_is_no_room_for_them() -> None:
    of = dossier()
    laid = sheets(of)
    need = select_pieces(laid, EVERYTHING).size
    tight, wide = (
        render_files(laid, select_pieces(laid, room), CodeChange(of).files, room) for room in (need, need + 10_000)
    )
    assert [text.label for text in wide] == ['diff of "tests/test_upload.py" in the whole file', 'diff of "upload.py"']
    assert len(tight) == 2
    assert sum(len(text.text) for text in tight) <= need
    body = "".join(f"def f{n}():\n    return {n}\n" for n in range(700))
    diff = "--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -100 +100 @@\n-x\n+    return 49\n"
    large = dossier(
        diff=f"diff --git a/tests/test_a.py b/tests/test_a.py\nindex 1111111..2222222 100644\n{diff}",
        files=(HeadFile(path="tests/test_a.py", text=body),),
    )
    laid = sheets(large)
    [text] = render_files(laid, select_pieces(laid, 10_000), CodeChange(large).files, 10_000)
    assert text.text.split("\n")[1:] == ["99  def f49():", "100 -x", "100 +    return 49"]
    bare = select_pieces(laid, 10_000).size
    [text] = render_files(laid, select_pieces(laid, bare), CodeChange(large).files, bare - 10)
    assert text.text.split("\n") == ["@@", "100 -x", "100 +    return 49"]


def test_tests_and_suspects_come_before_code_data_and_foreign_files() -> None:
    assert [rank_of(path) for path in PATHS] == [
        FileRank.CODE,
        FileRank.CODE,
        FileRank.TESTS_AND_SUSPECTS,
        FileRank.DATA,
        FileRank.DATA,
        FileRank.FOREIGN,
        FileRank.FOREIGN,
    ]
    laid = sheets(change([(path, 3, "x") for path in PATHS]), suspected=("vendor/x.go",))
    assert {sheet.file.path for sheet in laid[:2]} == {"tests/test_parser.py", "vendor/x.go"}


def test_a_lock_file_beside_its_manifest_takes_no_room_and_is_read() -> None:
    laid = sheets(change([("uv.lock", 4_000, "y" * 80), ("pyproject.toml", 1, "x")]))
    choice = select_pieces(laid, 1_000)
    assert all(is_shown(sheet, choice) for sheet in laid)
    suspect = sheets(change([("uv.lock", 4_000, "y" * 80), ("pyproject.toml", 1, "x")]), suspected=("uv.lock",))
    choice = select_pieces(suspect, 1_000)
    assert [sheet.file.path for sheet in suspect if not is_shown(sheet, choice)] == ["uv.lock"]
