"""Lines of hunks and their bounded cache."""

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


def file_diff(number: int, body: bytes, *, at: int = 1) -> bytes:
    added, removed = body.count(b"\n+") + body.startswith(b"+"), body.count(b"\n-") + body.startswith(b"-")
    return HEADER % ((number,) * 4) + b"@@ -%d,%d +%d,%d @@\n" % (at, removed + 1, at, added + 1) + b" all\n" + body


def test_cache_evicts_the_oldest_items() -> None:
    cache = DiffCache(b"")
    first = cache.cached_items("first", lambda: (1,) * (CACHED_LINES // 2))
    last = cache.cached_items("last", lambda: (2,) * (CACHED_LINES // 2))
    assert cache.cached_items("first", tuple) is first
    cache.cached_items("one more", lambda: (3,))
    assert cache.cached_items("last", tuple) is last
    assert cache.cached_items("first", lambda: (4,)) == (4,)
    large = cache.cached_items("large", lambda: (5,) * (CACHED_LINES + 1))
    assert cache.cached_items("large", tuple) is large, "an item larger than the cache is kept alone"
    assert cache.cached_items("last", lambda: (6,)) == (6,)


def test_lines_of_diff_larger_than_the_cache_stay_the_same() -> None:
    body = b"-old\n" + b"+new\n" * 4_999
    diff = parse_diff(b"".join(file_diff(number, body) for number in range(5)))
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
def test_listed_texts_equal_those_of_the_lines(first: bytes, lines: list[tuple[bytes, bytes]]) -> None:
    body = first + b"first\n" + b"".join(mark + text + b"\n" for mark, text in lines)
    lines_of_body = number_lines(body, 1, 1)
    for kind in (LineKind.ADDED, LineKind.REMOVED):
        expected = tuple(line.text for line in lines_of_body if line.kind is kind)
        assert list_texts(b"@@\n" + body, [(3, 3 + len(body))], kind) == expected
        together = join_texts(b"@@\n" + body, [(3, 3 + len(body))], kind).decode("utf-8", "replace")
        assert together == "".join(f"{text}\n" for text in expected)


@given(st.sampled_from([b"+", b"-", b" ", b""]), st.lists(st.one_of(line, st.just((b"", b""))), max_size=8))
def test_head_side_equals_the_head_lines(first: bytes, lines: list[tuple[bytes, bytes]]) -> None:
    body = (first + b"first" if first else b"") + b"\n" + b"".join(mark + text + b"\n" for mark, text in lines)
    expected = [line.text for line in number_lines(body, 1, 1) if line.head_line is not None]
    assert join_head_lines(b"@@\n" + body, [(3, 3 + len(body))]).decode("utf-8", "replace") == "".join(
        f"{text}\n" for text in expected
    )


def test_lines_are_found_by_their_text() -> None:
    (file,) = parse_diff(file_diff(1, b"-two\n+two\n+three\n")).files
    assert (file.added_texts, file.removed_texts) == (("two", "three"), ("two",))
    assert ([*file.added_passages()], file.head_side) == (["two\nthree\n"], "all\ntwo\nthree\n")
    assert [line.head_line for line in file.added_lines_matching(lambda text: text.startswith("th"))] == [3]
    assert file.added_lines_matching(lambda text: text == "one") == ()
    assert file.hunks[0].texts(LineKind.ADDED) == ("two", "three")


def test_file_without_lines_has_no_texts() -> None:
    (file,) = parse_diff(b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n").files
    assert (file.added_lines, file.removed_lines, file.added_texts, file.removed_texts) == ((), (), (), ())
    assert ([*file.added_passages()], file.head_side) == ([], "")


def test_hunks_with_same_content_are_equal_in_any_file() -> None:
    hunk, other = (file.hunks[0] for file in parse_diff(file_diff(1, b"+a\n") + file_diff(2, b"+a\n")).files)
    elsewhere = parse_diff(file_diff(1, b"+a\n", at=7)).files[0].hunks[0]
    assert hunk == other
    assert len({hunk, other, elsewhere}) == 2
    assert hunk != elsewhere
    assert hunk != "a"


def make_long_body(line: bytes = b"+some words\n") -> bytes:
    return line * (LONG_HUNK_BYTES // len(line) + 2)


def test_long_hunk_in_pieces_equals_the_whole() -> None:
    (file,) = parse_diff(file_diff(1, b"-old\n" * 9_000 + make_long_body())).files
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


def test_iterating_a_longer_hunk_takes_no_more_memory() -> None:
    peaks: list[int] = []
    for times in (1, 2):
        (file,) = parse_diff(file_diff(1, make_long_body() * times)).files
        tracemalloc.start()
        count = sum(1 for _ in file.lines())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert count == file.hunks[0].head_count
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize("shift", range(-4, 5))
def test_line_without_newline_is_one_piece_with_its_mark(shift: int) -> None:
    first = b"+" + b"x" * (PIECE_BYTES - 2 + shift) + b"\n"
    body = first + b"\\ No newline at end of file\n-gone\n"
    raw = b"@@\n" + body
    assert tuple(iterate_lines(raw, 3, len(raw), 1, 1)) == number_lines(body, 1, 1)
    assert b"".join(raw[start:end] for start, end in split_pieces(raw, 3, len(raw))) == body
    assert list_texts(raw, [(3, len(raw))], LineKind.REMOVED) == ("gone",)


def test_listed_texts_of_many_lines_equal_those_of_the_lines() -> None:
    body = b"".join(b"+\xc3\xa9 %d\xff\n" % number for number in range(9_001))
    texts = list_texts(b"@@\n" + body, [(3, 3 + len(body))], LineKind.ADDED)
    assert texts == tuple(line.text for line in number_lines(body, 1, 1))


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
def test_hunk_has_the_head_text(counts: bytes, body: bytes, text: str) -> None:
    (file,) = parse_diff(HEADER % ((1,) * 4) + b"@@ " + counts + b" @@\n" + body).files
    assert file.hunks[0].head_text == text


def test_changed_line_is_hashed_with_its_mark() -> None:
    hashes = hash_changed_lines(diff_of(DIFF))
    assert hashes["upload.py"][0] == hash_line("+", "    for attempt in range(3):")
    assert hashes["upload.py"][-1] == hash_line("-", "    return post(data)")
    assert len(hashes["tests/test_upload.py"]) == 4


def test_file_without_lines_has_one_hash() -> None:
    def of(index: str) -> tuple[str, ...]:
        top = f"diff --git a/x.png b/x.png\nindex {index} 100644\n"
        return hash_changed_lines(diff_of(f"{top}Binary files a/x.png and b/x.png differ\n"))["x.png"]

    assert len(of("1111111..2222222")) == 1
    assert of("1111111..2222222") == of("11111111..22222222"), "however long git abbreviates"
    assert of("1111111..2222222") != of("1111111..3333333")


def test_file_that_became_a_symlink_has_hashes_of_both() -> None:
    gone = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
    assert hash_changed_lines(diff_of(gone + new_file("x", "target", mode="120000")))["x"] == (
        hash_line("-", "old"),
        hash_line("+", "target"),
    )


def test_change_with_too_many_lines_has_no_hashes() -> None:
    assert hash_changed_lines(diff_of(new_file("x.txt", *["line"] * HASHED_LINES)))
    assert hash_changed_lines(diff_of(new_file("x.txt", *["line"] * (HASHED_LINES + 1)))) == {}
