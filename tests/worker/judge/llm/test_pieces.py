"""A file is taken apart into pieces that are all of its lines."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.judge.llm.changes import diff_of, edit
from tests.worker.judge.making import new_file
from worker.dossier.diff.parser import FileDiff, LineKind
from worker.judge.llm.line_numbers import render_stretches, size_of_hunk, stretch_of
from worker.judge.llm.pieces import PIECE_BYTES, pieces_of

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
