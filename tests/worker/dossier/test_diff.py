"""parse_diff, base_text and head_text."""

import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import DIFF, new_file
from worker.dossier.diff import (
    CACHED_LINES,
    HASHED_LINES,
    LONG_HUNK_BYTES,
    PIECE_BYTES,
    ChangeKind,
    Diff,
    DiffCache,
    DiffError,
    DiffLine,
    FileDiff,
    LineKind,
    base_text,
    diff_of,
    hash_changed_lines,
    hash_line,
    head_text,
    iterate_lines,
    join_head_lines,
    join_texts,
    list_texts,
    number_lines,
    parse_diff,
    split_pieces,
    text_lines,
)

MODIFIED = b"""\
diff --git a/a.py b/a.py
index 1111111..2222222 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,4 @@ class A:
 one
-two
+zwei
+drei
 three
"""


def parse_file(raw: bytes) -> FileDiff:
    (file,) = parse_diff(raw).files
    return file


def header(*lines: bytes, names: bytes = b"a/x b/x") -> bytes:
    return b"diff --git " + names + b"\n" + b"".join(line + b"\n" for line in lines)


BOTH_SIDES, NEW, GONE = (b"--- a/x", b"+++ b/x"), (b"--- /dev/null", b"+++ b/x"), (b"--- a/x", b"+++ /dev/null")


def test_empty_diff_has_no_files() -> None:
    assert parse_diff(b"") == Diff(files=())


def test_same_text_is_parsed_once() -> None:
    text = MODIFIED.decode()
    assert diff_of(text) is diff_of(text)
    assert diff_of(text) == parse_diff(MODIFIED)
    with pytest.raises(DiffError):
        diff_of("no diff")


def test_last_line_without_newline_is_parsed() -> None:
    assert parse_diff(MODIFIED[:-1]) == parse_diff(MODIFIED)


def test_lines_are_numbered_on_both_sides() -> None:
    file = parse_file(MODIFIED)
    assert (file.path, file.old_path, file.change) == ("a.py", None, ChangeKind.MODIFIED)
    assert (file.old_mode, file.new_mode, file.blobs) == ("100644", "100644", ("1111111", "2222222"))
    assert [(line.kind.value, line.text, line.base_line, line.head_line) for line in file.lines()] == [
        (" ", "one", 1, 1),
        ("-", "two", 2, None),
        ("+", "zwei", None, 2),
        ("+", "drei", None, 3),
        (" ", "three", 3, 4),
    ]
    (hunk,) = file.hunks
    assert hunk.section == "class A:"
    assert hunk._replace(start=hunk.start + 5).section == "class A:"
    assert [line.text for line in file.added_lines] == ["zwei", "drei"]
    assert [line.text for line in file.removed_lines] == ["two"]


def test_omitted_hunk_count_is_one() -> None:
    (hunk,) = parse_file(header(b"--- a/x", b"+++ b/x", b"@@ -3 +3 @@", b"-a", b"+b")).hunks
    assert (hunk.base_start, hunk.base_count, hunk.head_start, hunk.head_count) == (3, 1, 3, 1)


@pytest.mark.parametrize(
    ("spans", "body", "removed", "added"),
    [
        (
            b"-1,3 +1,3",
            (b"--- a/y", b"-@@ -1 +1 @@", b"+++ b/y", b"+diff --git", b" c"),
            ["-- a/y", "@@ -1 +1 @@"],
            ["++ b/y", "diff --git"],
        ),
        (b"-0,0 +1,2", ("+a\x0cb\u2028c\r".encode(), b"+d\re"), [], ["a\x0cb\u2028c\r", "d\re"]),
        (b"-1 +1", (b"-caf\xe9", b"+ok"), ["caf\ufffd"], ["ok"]),
    ],
    ids=["lines like headers", "only a line feed ends a line", "invalid UTF-8"],
)
def test_content_lines_are_read_as_they_are(
    spans: bytes, body: tuple[bytes, ...], removed: list[str], added: list[str]
) -> None:
    file = parse_file(header(*BOTH_SIDES, b"@@ " + spans + b" @@", *body))
    assert [line.text for line in file.removed_lines] == removed
    assert [line.text for line in file.added_lines] == added


def test_missing_newline_mark_belongs_to_the_line_above() -> None:
    mark = b"\\ No newline at end of file"
    file = parse_file(header(b"--- a/x", b"+++ b/x", b"@@ -1 +1 @@", b"-a", mark, b"+a"))
    assert [(line.kind.value, line.has_newline) for line in file.lines()] == [("-", False), ("+", True)]
    assert (base_text("a\n", file), head_text("a", file)) == ("a", "a\n")


ADDED, DELETED, MODIFIED_KIND = ChangeKind.ADDED, ChangeKind.DELETED, ChangeKind.MODIFIED
ALL_ADDED, ALL_GONE = (b"@@ -0,0 +1 @@", b"+a"), (b"@@ -1 +0,0 @@", b"-a")


@pytest.mark.parametrize(
    ("lines", "change", "modes"),
    [
        ((b"new file mode 100755", b"index 0000000..1", *NEW, *ALL_ADDED), ADDED, (None, "100755")),
        ((b"deleted file mode 100644", *GONE, *ALL_GONE), DELETED, ("100644", None)),
        ((*NEW, *ALL_ADDED), ADDED, (None, None)),
        ((*GONE, *ALL_GONE), DELETED, (None, None)),
        ((b"new file mode 100644", b"index 0000000..e69de29"), ADDED, (None, "100644")),
        ((b"old mode 100644", b"new mode 100755"), MODIFIED_KIND, ("100644", "100755")),
    ],
    ids=["added", "deleted", "/dev/null before", "/dev/null behind", "an empty new file", "modes alone"],
)
def test_header_tells_kind_and_modes_of_the_change(
    lines: tuple[bytes, ...], change: ChangeKind, modes: tuple[str | None, str | None]
) -> None:
    file = parse_file(header(*lines))
    assert (file.path, file.change, (file.old_mode, file.new_mode)) == ("x", change, modes)
    assert len(file.hunks) == any(line.startswith(b"@@") for line in lines)


@pytest.mark.parametrize(("verb", "change"), [(b"rename", ChangeKind.RENAMED), (b"copy", ChangeKind.COPIED)])
def test_rename_or_copy_has_both_paths(verb: bytes, change: ChangeKind) -> None:
    raw = header(b"similarity index 100%", verb + b" from old name", verb + b" to new", names=b"a/old name b/new")
    file = parse_file(raw)
    assert (file.path, file.old_path, file.change) == ("new", "old name", change)


def test_rename_with_changes_keeps_its_paths() -> None:
    moved = (b"similarity index 90%", b"rename from o", b"rename to n", b"index 1..2 100644")
    file = parse_file(header(*moved, b"--- a/o", b"+++ b/n", b"@@ -1 +1 @@", b"-a", b"+b", names=b"a/o b/n"))
    assert (file.path, file.old_path, len(file.hunks)) == ("n", "o", 1)


@pytest.mark.parametrize(
    "body",
    [
        [b"Binary files a/x and b/x differ"],
        [b"GIT binary patch", b"literal 3", b"Kc${Nk", b"", b"delta 2", b"Jcmc", b""],
    ],
)
def test_binary_file_has_no_lines_and_next_file_is_read(body: list[bytes]) -> None:
    first, second = parse_diff(header(b"index 1..2 100644", *body) + MODIFIED).files
    assert (first.is_binary, first.hunks, second.path) == (True, (), "a.py")


def test_submodule_and_symlink_are_recognized_by_mode() -> None:
    module = parse_file(header(b"index 1..2 160000", *BOTH_SIDES, b"@@ -1 +1 @@", b"-Subproject commit 1", b"+S 2"))
    link = parse_file(header(b"new file mode 120000", *NEW, b"@@ -0,0 +1 @@", b"+target", b"\\ No"))
    assert (module.is_submodule, module.is_symlink) == (True, False)
    assert (link.is_submodule, link.is_symlink) == (False, True)


@pytest.mark.parametrize(
    ("quoted", "path"),
    [
        (rb'"\303\251.py"', "é.py"),
        (rb'"a\tb"', "a\tb"),
        (rb'"say \"hi\""', 'say "hi"'),
        (rb'"back\\slash"', "back\\slash"),
        (rb'"\377"', "\ufffd"),
        (rb'"new\nline\a\b\v\f\r"', "new\nline\a\b\v\f\r"),
    ],
)
def test_quoted_paths_are_unquoted(quoted: bytes, path: str) -> None:
    a, b = quoted.replace(b'"', b'"a/', 1), quoted.replace(b'"', b'"b/', 1)
    by_names = parse_file(header(b"old mode 100644", b"new mode 100755", names=a + b" " + b))
    by_headers = parse_file(header(b"--- " + a, b"+++ " + b, b"@@ -1 +1 @@", b"-a", b"+b", names=a + b" " + b))
    by_rename = parse_file(header(b"rename from o", b"rename to " + quoted, names=b"a/o " + b))
    assert [by_names.path, by_headers.path, by_rename.path] == [path] * 3


def test_paths_with_spaces_are_separated() -> None:
    assert parse_file(header(b"deleted file mode 100644", names=b"a/x b/y b/x b/y")).path == "x b/y"
    spaced = header(b"--- a/my file\t", b"+++ b/my file\t", b"@@ -1 +1 @@", b"-a", b"+b", names=b"a/my file b/my file")
    assert parse_file(spaced).path == "my file"


def test_file_that_became_a_symlink_is_two_entries() -> None:
    gone = header(b"deleted file mode 100644", b"--- a/x", b"+++ /dev/null", b"@@ -1 +0,0 @@", b"-a")
    link = header(b"new file mode 120000", b"--- /dev/null", b"+++ b/x", b"@@ -0,0 +1 @@", b"+t")
    diff = parse_diff(gone + link)
    assert len(diff.files) == 2
    assert diff.by_path["x"].is_symlink


def test_empty_line_is_empty_context() -> None:
    file = parse_file(header(b"--- a/x", b"+++ b/x", b"@@ -1,2 +1,3 @@", b" a", b"", b"+b"))
    assert [line.text for line in file.lines()] == ["a", "", "b"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"hello\n", 'line 1: expected "diff --git", found "hello"'),
        (b"diff --cc x\n", 'expected "diff --git"'),
        (MODIFIED[:-7], "line 10: the diff ends inside a hunk, 1 old and 1 new lines are missing"),
        (MODIFIED + b"+more\n", 'line 11: expected the next hunk or file, found "+more"'),
        (MODIFIED.replace(b",4", b",3"), "more lines than its header says"),
        (MODIFIED.replace(b" three", b"?three"), 'expected a line of the hunk, found "?three"'),
        (MODIFIED.replace(b"@@ -1,3", b"@@ -x"), "hunk header can't be read"),
        (MODIFIED.replace(b"-1,3", b"-0,3"), "starts at line 0"),
        (MODIFIED.replace(b"-1,3", b"-" + b"9" * 5000), "hunk header can't be read"),
        (MODIFIED + b"@@ -2 +2 @@\n a\n", "begins before the one above it ends"),
        (MODIFIED.replace(b"+++ b/a.py\n", b""), 'expected "+++" after "---"'),
        (MODIFIED.replace(b"--- a/a.py", b"--- a.py"), "let git print its own prefixes"),
        (header(b"--- /dev/null", b"+++ /dev/null"), "on neither side"),
        (header(b"rename from o", names=b"a/o b/n"), "both of its paths"),
        (
            MODIFIED.replace(b" one\n", b" one\n\\ No newline\n\\ No newline\n"),
            'a line of the hunk, found "\\ No newline"',
        ),
        (MODIFIED.replace(b" one\n", b"\\ No newline\n one\n"), 'a line of the hunk, found "\\ No newline"'),
        (MODIFIED.replace(b" one\n", b" one\n\\No newline\n"), 'a line of the hunk, found "\\No newline"'),
        (MODIFIED.replace(b"+drei\n", b"+drei\n\\ No newline\n+vier\n"), "more lines than its header says"),
        (header(names=b"a/o b/n"), "can't be told apart"),
        (header(names=b'"a/o" "b/n"'), "can't be told apart"),
        (header(names=b'"a/o'), "can't be told apart"),
        (header(names=b"a/ b/"), "can't be told apart"),
    ],
)
def test_malformed_diff_is_refused_with_its_line(raw: bytes, says: str) -> None:
    with pytest.raises(DiffError, match="Diff refused at line") as refusal:
        parse_diff(raw)
    assert says in str(refusal.value)


def test_text_that_does_not_match_the_diff_is_refused() -> None:
    file = parse_file(MODIFIED)
    with pytest.raises(DiffError, match="line 2 of the text is not the one in the diff"):
        base_text("one\nother\ndrei\nthree\n", file)
    with pytest.raises(DiffError, match="line 2 of the text"):
        base_text("one\n", file)
    far = parse_file(MODIFIED.replace(b"-1,3", b"-11,3").replace(b"+1,4", b"+11,4"))
    with pytest.raises(DiffError, match="a hunk starts at line 11, the text has 1 lines"):
        head_text("one\n", far)


def test_text_lines_counts_lines_like_git() -> None:
    assert text_lines("") == []
    assert text_lines("a\x0c\r\nb") == ["a\x0c\r", "b"]
    assert text_lines("a\n\n") == ["a", ""]


ODD = (b"@@ -0,0 +1,2 @@", b"@@ -1,999999999 +1 @@", b"\\ No newline", b"Binary files a/x and b/x differ", b"", b"--- ")
NAMES = (b"GIT binary patch", b"rename from a", b'rename to "\\303"', b'diff --git "a/\\', b"+++ /dev/null")
FRAGMENTS = st.sampled_from([*MODIFIED.split(b"\n"), *ODD, *NAMES, b"new file mode 100644"])


@given(st.lists(FRAGMENTS | st.binary(max_size=20)).map(b"\n".join))
def test_any_bytes_raise_only_diff_errors(raw: bytes) -> None:
    with suppress(DiffError):
        parse_diff(raw)


@given(st.integers(0, len(MODIFIED)), st.binary(max_size=3))
def test_damaged_diff_is_read_or_refused(at: int, junk: bytes) -> None:
    with suppress(DiffError):
        parse_diff(MODIFIED[:at] + junk + MODIFIED[at:])


def test_both_sides_are_rebuilt_from_several_hunks() -> None:
    before, after = "a\nb\nc\nd\ne\n", "a\nnew\nnewer\nb\nc\nd\nE\n"
    head = "diff --git a/a b/a\nindex 1111111..2222222 100644\n--- a/a\n+++ b/a\n"
    (file,) = parse_diff(f"{head}@@ -1,0 +2,2 @@\n+new\n+newer\n@@ -5 +7 @@\n-e\n+E\n".encode()).files
    assert (base_text(after, file), head_text(before, file)) == (before, after)


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
