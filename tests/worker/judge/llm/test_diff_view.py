"""What of a change is shown: pieces, generated files in one line, the selection, and the lines around."""

import difflib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.judge.llm.changes import binary, diff_of, edit
from tests.worker.judge.making import dossier, new_file
from worker.domain.dossier import Dossier, HeadFile
from worker.dossier.diff.parser import FileDiff, LineKind
from worker.judge.llm.diff_view import (
    FENCE_BYTES,
    FUNCTION_LINES,
    PIECE_BYTES,
    FileRank,
    FileView,
    file_views_of,
    is_shown,
    pieces_of,
    rank_of,
    render_files,
    select_pieces,
    summarize_generated,
    whole_file,
    with_functions,
)
from worker.judge.llm.fencing import Stretch, render_stretches, size_of_hunk, stretch_of
from worker.signals.analysis.change import AnalyzedFile, CodeChange

EVERYTHING = 1 << 40


def mixed(lines: list[tuple[str, str]]) -> FileDiff:
    """A file with one hunk of these marked lines."""
    body = "".join(f"{mark}{text}\n" for mark, text in lines)
    base = sum(mark != "+" for mark, _ in lines)
    head = sum(mark != "-" for mark, _ in lines)
    starts = (5 if base else 4, 7 if head else 6)
    return diff_of(edit("a.py", f"@@ -{starts[0]},{base} +{starts[1]},{head} @@ def f():\n{body}")).files[0]


@settings(max_examples=settings().max_examples * 6 // 10, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("+- "), st.sampled_from(["x", "y" * 900, "é" * 300, "\u202e", ""])), min_size=1)
)
def test_the_pieces_are_the_lines_of_the_file_with_their_numbers(lines: list[tuple[str, str]]) -> None:
    file = mixed(lines)
    pieces, is_all = pieces_of(file.hunks, EVERYTHING)
    assert is_all
    assert [line for piece in pieces for line in piece.hunk.lines] == list(file.lines())


@settings(max_examples=settings().max_examples * 6 // 10, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("+- "), st.sampled_from(["x", "y" * 900, "\x1b", "\u200b" * 9])), min_size=1))
def test_no_hunk_is_shown_in_more_bytes_than_were_counted(lines: list[tuple[str, str]]) -> None:
    for hunk in mixed(lines).hunks:
        assert len(render_stretches([stretch_of(hunk)]).encode()) + 1 <= size_of_hunk(hunk)


def test_a_note_on_the_missing_newline_stays_with_its_line() -> None:
    lines = "".join(f"+{'x' * 99}\n" for _ in range(80))
    last = f"+{'y' * 200}\n\\ No newline at end of file\n"
    file = diff_of(edit("a.py", f"@@ -0,0 +1,81 @@\n{lines}{last}")).files[0]
    pieces, _ = pieces_of(file.hunks, EVERYTHING)
    assert [line.has_newline for piece in pieces for line in piece.hunk.lines] == [True] * 80 + [False]
    assert sum(size_of_hunk(piece.hunk) for piece in pieces) >= len(file.hunks[0].body)


def test_a_note_behind_the_line_where_a_piece_ends_is_not_torn_off() -> None:
    removed = f"-{'x' * PIECE_BYTES}\n\\ No newline at end of file\n"
    file = diff_of(edit("a.py", f"@@ -1 +1,90 @@\n{removed}" + f"+{'y' * 99}\n" * 90)).files[0]
    pieces, _ = pieces_of(file.hunks, EVERYTHING)
    assert len(pieces) > 1
    assert [line.has_newline for line in pieces[0].hunk.lines] == [False]


def test_of_a_file_that_fits_nowhere_only_the_start_is_taken_apart() -> None:
    file = diff_of(new_file("a.py", *["x" * 100] * 5_000)).files[0]
    pieces, is_all = pieces_of(file.hunks, 3 * PIECE_BYTES)
    assert not is_all
    assert 1 <= len(pieces) <= 3
    assert next(iter(pieces[0].hunk.lines)).kind is LineKind.ADDED


def test_what_fits_exactly_is_shown_whole() -> None:
    file = diff_of(new_file("a.py", "x = 1")).files[0]
    size = size_of_hunk(file.hunks[0])
    assert [pieces_of(file.hunks, most)[1] for most in (size, size - 1)] == [True, False]


LOCKED = '@@ -1 +1 @@\n-"a": "1"\n+"a": "2", "resolved": "https://registry.example.org/a.tgz"\n'


def told(*parts: str) -> list[str | None]:
    files = diff_of(*parts).files
    return [summarize_generated(file, frozenset(file.path for file in files)) for file in files]


def test_a_lock_file_beside_its_manifest_is_told_in_a_line_with_where_it_loads_from() -> None:
    assert told(edit("web/package-lock.json", LOCKED), new_file("web/package.json", "{}")) == [
        'summarised: written by a tool, it follows "web/package.json"; its added lines load from registry.example.org',
        None,
    ]


@pytest.mark.parametrize(
    ("lock", "manifest", "is_told"),
    [
        ("Cargo.lock", "crates/one/Cargo.toml", True),
        ("go.sum", "go.mod", True),
        ("uv.lock", "pyproject.toml", True),
        ("web/yarn.lock", "package.json", False),
        ("yarn.lock", "pyproject.toml", False),
        ("yarn.lock", "src/index.ts", False),
    ],
)
def test_only_a_manifest_that_it_follows_explains_a_lock_file(lock: str, manifest: str, *, is_told: bool) -> None:
    line, _ = told(edit(lock, LOCKED), new_file(manifest, "x"))
    assert (line is not None) is is_told


def test_generated_code_is_told_in_a_line_if_it_is_signed_and_its_source_changes() -> None:
    signed = new_file("api/user.pb.go", "// Code generated by protoc. DO NOT EDIT.", "package api")
    bare = new_file("api/user.pb.go", "package api")
    source, other = new_file("api/user.proto", "message User {}"), new_file("api/group.proto", "message Group {}")
    assert told(signed, source)[0] == 'summarised: written by a tool, it follows "api/user.proto"'
    assert told(bare, source)[0] is None
    assert told(signed, other)[0] is None
    assert told(edit("api/user.pb.go", "@@ -90 +90 @@\n-// DO NOT EDIT\n+// DO NOT EDIT!\n"), source)[0] is None


def test_a_folder_called_dist_proves_nothing() -> None:
    assert told(new_file("dist/app.js", "// @generated"), new_file("src/app.ts", "x"))[0] is None


def test_what_shows_no_lines_or_is_gone_is_told_by_the_list_itself() -> None:
    gone = (
        "diff --git a/yarn.lock b/yarn.lock\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/yarn.lock\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-x\n"
    )
    assert told(gone, binary("bun.lock"), new_file("package.json", "{}")) == [None, None, None]


def test_many_addresses_are_counted_no_further() -> None:
    lines = "".join(f"+https://host{n}.example.org/x\n" for n in range(7))
    line = told(edit("yarn.lock", f"@@ -0,0 +1,7 @@\n{lines}"), new_file("package.json", "{}"))[0]
    assert line is not None
    assert line.endswith("host4.example.org, and more")


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


def changed(base: Sequence[str], head: Sequence[str], path: str = "a.py", context: int = 1) -> AnalyzedFile:
    rows = list(difflib.unified_diff([f"{line}\n" for line in base], [f"{line}\n" for line in head], n=context))
    text = "".join(f"{line}\n" for line in head)
    of = dossier(diff=edit(path, *rows[2:]), files=(HeadFile(path=path, text=text),))
    return CodeChange(of).files[0]


def shown(stretches: Sequence[Stretch] | None) -> list[str]:
    assert stretches is not None
    return render_stretches(stretches).split("\n")


CODE = [
    "import os",
    "",
    "@cache",
    "def first(a):",
    "    b = a",
    "    c = b",
    "    d = c",
    "    return d",
    "",
    "LIMIT = 1",
    "",
    "X = 2",
]


def test_a_change_inside_of_a_function_is_shown_with_all_of_it() -> None:
    after = [*CODE[:5], "    c = a", *CODE[6:]]
    assert shown(with_functions(changed(CODE, after)))[1:] == [
        "3  @cache", "4  def first(a):", "5      b = a", "6 -    c = b", "6 +    c = a", "7      d = c", "8      return d",
    ]  # fmt: skip


def test_of_a_long_function_its_first_line_is_shown() -> None:
    long = ["def first(a):", *(f"    b{n} = a" for n in range(2 * FUNCTION_LINES)), "    return a"]
    after = [*long[:80], "    b = 1", *long[81:]]
    rows = shown(with_functions(changed(long, after)))
    assert rows[:3] == ["@@", "1  def first(a):", "@@"]
    assert len(rows) == 7


def test_what_git_named_already_is_not_shown_again() -> None:
    long = ["def first(a):", *(f"    b{n} = a" for n in range(2 * FUNCTION_LINES)), "    return a"]
    text = "".join(f"{line}\n" for line in [*long[:80], "    b = 1", *long[81:]])
    hunk = f"@@ -80,2 +80,2 @@ def first(a):\n {long[79]}\n-{long[80]}\n+    b = 1\n"
    of = dossier(diff=edit("a.py", hunk), files=(HeadFile(path="a.py", text=text),))
    assert len(shown(with_functions(CodeChange(of).files[0]))) == 4


def test_changes_in_the_same_function_are_one_stretch() -> None:
    after = [*CODE[:4], "    b = 2", *CODE[5:7], "    return 4", *CODE[8:]]
    stretches = with_functions(changed(CODE, after, context=0))
    assert stretches is not None
    assert len(stretches) == 1


def test_what_stands_in_no_function_is_shown_as_it_is() -> None:
    after = [*CODE[:9], "LIMIT = 9", *CODE[10:]]
    assert shown(with_functions(changed(CODE, after, context=0))) == ["@@", "10 -LIMIT = 1", "10 +LIMIT = 9"]


def test_what_leaves_no_line_is_shown_between_the_lines_around_it() -> None:
    after = [*CODE[:9], *CODE[10:]]
    rows = shown(with_functions(changed(CODE, after, context=0)))
    assert [row.rstrip() for row in rows] == ["@@", "9", "10 -LIMIT = 1", "10"]


def test_without_the_text_or_a_grammar_nothing_is_added() -> None:
    after = [*CODE[:9], "LIMIT = 9", *CODE[10:]]
    assert with_functions(changed(CODE, after, path="a.txt")) is None
    bare = CodeChange(dossier(diff=edit("a.py", "@@ -1 +1 @@\n-a\n+b\n"), files=None)).files[0]
    assert with_functions(bare) is None
    assert whole_file(bare) is None
    other = dossier(diff=edit("a.py", "@@ -1 +1 @@\n-a\n+b\n"), files=(HeadFile(path="a.py", text="c\n"),))
    assert whole_file(CodeChange(other).files[0]) is None
    huge = dossier(
        diff=edit("a.py", "@@ -1 +1 @@\n-a\n+b\n"), files=(HeadFile(path="a.py", text="b\n" + "c\n" * 300_000),)
    )
    assert whole_file(CodeChange(huge).files[0]) is None


LINES = st.lists(
    st.sampled_from(["a", "b", "def f():", "    return 1", "", "class C:", "    def g(self):", "        pass"])
)


@settings(max_examples=settings().max_examples * 15 // 10, deadline=None)
@given(LINES, LINES, st.integers(0, 3))
def test_every_line_of_the_diff_and_only_lines_of_the_file_are_shown_in_order(
    base: list[str], head: list[str], context: int
) -> None:
    if base == head or not base:
        return
    file = changed(base, head, context=context)
    for stretches in (whole_file(file), with_functions(file)):
        lines = [line for stretch in stretches or () for line in stretch.lines]
        if not lines:
            continue
        assert [line for line in lines if line.kind is not LineKind.CONTEXT] == [
            line for line in file.diff.lines() if line.kind is not LineKind.CONTEXT
        ]
        numbers = [line.head_line for line in lines if line.head_line is not None]
        assert numbers == sorted(set(numbers))
        assert all(line.text == head[(line.head_line or 0) - 1] for line in lines if line.head_line)
        assert all(line.text == base[(line.base_line or 0) - 1] for line in lines if line.base_line)
