"""Lines of hunks: the same whenever they are made, and no more of them kept than there is room for."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import DIFF, new_file
from worker.dossier.diff.lines import (
    CACHED_LINES,
    PIECE_BYTES,
    DiffCache,
    iterate_lines,
    join_head_lines,
    join_texts,
    list_texts,
    number_lines,
    split_pieces,
)
from worker.dossier.diff.parser import (
    HASHED_LINES,
    LONG_HUNK_BYTES,
    DiffLine,
    LineKind,
    diff_of,
    hash_changed_lines,
    hash_line,
    parse_diff,
)

HEADER = b"diff --git a/%d b/%d\n--- a/%d\n+++ b/%d\n"


def file_of(number: int, body: bytes, *, at: int = 1) -> bytes:
    added, removed = body.count(b"\n+") + body.startswith(b"+"), body.count(b"\n-") + body.startswith(b"-")
    return HEADER % ((number,) * 4) + b"@@ -%d,%d +%d,%d @@\n" % (at, removed + 1, at, added + 1) + b" all\n" + body


def test_what_was_made_first_makes_room() -> None:
    cache = DiffCache(b"")
    first = cache.cached_items("first", lambda: (1,) * (CACHED_LINES // 2))
    last = cache.cached_items("last", lambda: (2,) * (CACHED_LINES // 2))
    assert cache.cached_items("first", tuple) is first
    cache.cached_items("one more", lambda: (3,))
    assert cache.cached_items("last", tuple) is last
    assert cache.cached_items("first", lambda: (4,)) == (4,)
    large = cache.cached_items("large", lambda: (5,) * (CACHED_LINES + 1))
    assert cache.cached_items("large", tuple) is large, "kept alone, though it is larger than all the room"
    assert cache.cached_items("last", lambda: (6,)) == (6,)


def test_the_files_of_a_diff_that_is_too_large_to_be_kept_say_the_same_again_and_again() -> None:
    body = b"-old\n" + b"+new\n" * 4_999
    diff = parse_diff(b"".join(file_of(number, body) for number in range(5)))
    rounds = [
        [(file.added_lines[-1], file.removed_lines, len(file.hunks[0].lines)) for file in diff.files] for _ in range(2)
    ]
    assert rounds[0] == rounds[1]
    assert rounds[0][4] == (
        DiffLine(LineKind.ADDED, "new", None, 5_000),
        (DiffLine(LineKind.REMOVED, "old", 2, None),),
        5_001,
    )


line = st.tuples(
    st.sampled_from([b"+", b"-", b" ", b"\\ "]), st.binary(max_size=6).map(lambda b: b.replace(b"\n", b""))
)


@given(st.sampled_from([b"+", b"-", b" "]), st.lists(line, max_size=8))
def test_the_texts_are_those_of_the_lines(first: bytes, lines: list[tuple[bytes, bytes]]) -> None:
    body = first + b"first\n" + b"".join(mark + text + b"\n" for mark, text in lines)
    made = number_lines(body, 1, 1)
    for kind in (LineKind.ADDED, LineKind.REMOVED):
        wanted = tuple(line.text for line in made if line.kind is kind)
        assert list_texts(b"@@\n" + body, [(3, 3 + len(body))], kind) == wanted
        together = join_texts(b"@@\n" + body, [(3, 3 + len(body))], kind).decode("utf-8", "replace")
        assert together == "".join(f"{text}\n" for text in wanted)


@given(st.sampled_from([b"+", b"-", b" ", b""]), st.lists(st.one_of(line, st.just((b"", b""))), max_size=8))
def test_the_side_of_the_head_is_its_lines(first: bytes, lines: list[tuple[bytes, bytes]]) -> None:
    body = (first + b"first" if first else b"") + b"\n" + b"".join(mark + text + b"\n" for mark, text in lines)
    shown = [line.text for line in number_lines(body, 1, 1) if line.head_line is not None]
    assert join_head_lines(b"@@\n" + body, [(3, 3 + len(body))]).decode("utf-8", "replace") == "".join(
        f"{text}\n" for text in shown
    )


def test_lines_are_found_by_what_they_say() -> None:
    (file,) = parse_diff(file_of(1, b"-two\n+two\n+three\n")).files
    assert (file.added_texts, file.removed_texts) == (("two", "three"), ("two",))
    assert ([*file.added_passages()], file.head_side) == (["two\nthree\n"], "all\ntwo\nthree\n")
    assert [line.head_line for line in file.added_lines_matching(lambda text: text.startswith("th"))] == [3]
    assert file.added_lines_matching(lambda text: text == "one") == ()
    assert file.hunks[0].texts(LineKind.ADDED) == ("two", "three")


def test_a_file_without_lines_says_nothing() -> None:
    (file,) = parse_diff(b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n").files
    assert (file.added_lines, file.removed_lines, file.added_texts, file.removed_texts) == ((), (), (), ())
    assert ([*file.added_passages()], file.head_side) == ([], "")


def test_hunks_that_say_the_same_are_equal_wherever_they_stand() -> None:
    hunk, other = (file.hunks[0] for file in parse_diff(file_of(1, b"+a\n") + file_of(2, b"+a\n")).files)
    elsewhere = parse_diff(file_of(1, b"+a\n", at=7)).files[0].hunks[0]
    assert hunk == other
    assert len({hunk, other, elsewhere}) == 2
    assert hunk != elsewhere
    assert hunk != "a"


def long_body(line: bytes = b"+some words\n") -> bytes:
    return line * (LONG_HUNK_BYTES // len(line) + 2)


def test_a_long_hunk_says_the_same_piece_by_piece() -> None:
    (file,) = parse_diff(file_of(1, b"-old\n" * 9_000 + long_body())).files
    (hunk,) = file.hunks
    assert hunk.is_long
    assert tuple(hunk.iterate_lines()) == hunk.lines == number_lines(hunk.body, 1, 1)
    assert tuple(file.lines()) == hunk.lines
    assert "".join(hunk.passages()).encode() == hunk.body
    assert "".join(file.added_passages()) == "".join(f"{text}\n" for text in file.added_texts)
    assert max(map(len, file.added_passages())) < 2 * PIECE_BYTES
    assert [line.head_line for line in file.added_lines_matching(lambda text: text == "some words")][
        -1
    ] == hunk.head_count
    assert file.added_lines_matching(lambda text: text == "other words") == ()


def test_to_go_through_a_longer_hunk_takes_no_more_memory() -> None:
    peaks: list[int] = []
    for times in (1, 3):
        (file,) = parse_diff(file_of(1, long_body() * times)).files
        tracemalloc.start()
        count = sum(1 for _ in file.lines())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert count == file.hunks[0].head_count
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize("shift", range(-4, 5))
def test_a_line_without_a_newline_is_one_piece_with_what_says_so(shift: int) -> None:
    first = b"+" + b"x" * (PIECE_BYTES - 2 + shift) + b"\n"
    body = first + b"\\ No newline at end of file\n-gone\n"
    raw = b"@@\n" + body
    assert tuple(iterate_lines(raw, 3, len(raw), 1, 1)) == number_lines(body, 1, 1)
    assert b"".join(raw[start:end] for start, end in split_pieces(raw, 3, len(raw))) == body
    assert list_texts(raw, [(3, len(raw))], LineKind.REMOVED) == ("gone",)


def test_the_texts_of_many_lines_are_those_of_the_lines() -> None:
    body = b"".join(b"+\xc3\xa9 %d\xff\n" % number for number in range(9_001))
    made = list_texts(b"@@\n" + body, [(3, 3 + len(body))], LineKind.ADDED)
    assert made == tuple(line.text for line in number_lines(body, 1, 1))


@pytest.mark.parametrize(
    ("counts", "body", "text"),
    [
        (b"-0,0 +1,2", b"+a\n++b\n", "a\n+b\n"),
        (b"-0,0 +1,3", b"+\n+\n+b\n\\ No newline at end of file\n", "\n\nb"),
        (b"-0,0 +1,2", b"+a\n\\ No newline at end of file\n+b\n", "ab\n"),
        (b"-1,2 +1,2", b" a\n-b\n+c\n\\ No newline at end of file\n", "a\nc"),
        (b"-1 +0,0", b"-a\n", ""),
    ],
)
def test_a_hunk_shows_the_text_after_the_change(counts: bytes, body: bytes, text: str) -> None:
    (file,) = parse_diff(HEADER % ((1,) * 4) + b"@@ " + counts + b" @@\n" + body).files
    assert file.hunks[0].head_text == text


def test_each_changed_line_has_a_hash_of_its_mark_and_its_text() -> None:
    hashes = hash_changed_lines(diff_of(DIFF))
    assert hashes["upload.py"][0] == hash_line("+", "    for attempt in range(3):")
    assert hashes["upload.py"][-1] == hash_line("-", "    return post(data)")
    assert len(hashes["tests/test_upload.py"]) == 4


def test_a_file_without_lines_has_one_hash_of_what_did_change() -> None:
    def of(index: str) -> tuple[str, ...]:
        top = f"diff --git a/x.png b/x.png\nindex {index} 100644\n"
        return hash_changed_lines(diff_of(f"{top}Binary files a/x.png and b/x.png differ\n"))["x.png"]

    assert len(of("1111111..2222222")) == 1
    assert of("1111111..2222222") == of("11111111..22222222"), "however long git abbreviates"
    assert of("1111111..2222222") != of("1111111..3333333")


def test_a_file_that_became_a_link_keeps_the_lines_of_both() -> None:
    gone = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
    assert hash_changed_lines(diff_of(gone + new_file("x", "target", mode="120000")))["x"] == (
        hash_line("-", "old"),
        hash_line("+", "target"),
    )


def test_a_change_too_large_is_one_surface() -> None:
    assert hash_changed_lines(diff_of(new_file("x.txt", *["line"] * HASHED_LINES)))
    assert hash_changed_lines(diff_of(new_file("x.txt", *["line"] * (HASHED_LINES + 1)))) == {}
