"""Pointers: what exists gets its quote, what does not is told in a sentence that a model can act on."""

from collections.abc import Sequence

import pytest

from worker.domain.dossier import Dossier
from worker.domain.verdict.verdict import EvidencePointer, Side
from worker.judge.checks.evidence import Places
from worker.judge.llm.fencing import NO_NEWLINE

DIFF = """\
diff --git a/src/up.py b/src/up.py
index 1111111..2222222 100644
--- a/src/up.py
+++ b/src/up.py
@@ -2,2 +2,3 @@ def up():
     context
-    old = 1
+    new = 1
+    newer = 2
diff --git a/gone.py b/gone.py
deleted file mode 100644
index 1111111..0000000
--- a/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-first
-last
diff --git a/was.py b/is.py
similarity index 90%
rename from was.py
rename to is.py
index 1111111..2222222 100644
--- a/was.py
+++ b/is.py
@@ -1,2 +1,2 @@
-a
+b
 c
diff --git a/fresh.py b/fresh.py
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/fresh.py
@@ -0,0 +1 @@
+x = 1
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/link b/link
new file mode 120000
index 0000000..2222222
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+src/up.py
\\ No newline at end of file
"""
TEXT = "def up():\n    context\n    new = 1\n    newer = 2\n    return new\n"
FILES = (
    {"path": "src/up.py", "text": TEXT},
    {"path": "AGENTS.md", "text": "No print.\n"},
    {"path": "no.py", "exists": False},
)


def places(files: Sequence[object] | None = FILES, diff: str = DIFF) -> Places:
    pull = {
        "repository": "acme/widgets",
        "number": 1,
        "title": "t",
        "body": "",
        "author": "alice",
        "base_sha": "a" * 40,
        "head_sha": "b" * 40,
    }
    return Places(Dossier.model_validate({"pull_request": pull, "diff": diff, "files": files}))


def pointer(path: str, line: int | None = None, side: Side = Side.HEAD, **more: object) -> EvidencePointer:
    return EvidencePointer.model_validate({"path": path, "line": line, "side": side, **more})


@pytest.mark.parametrize(
    ("path", "line", "side", "quote"),
    [
        ("src/up.py", 3, Side.HEAD, "    new = 1"),
        ("src/up.py", 1, Side.HEAD, "def up():"),
        ("src/up.py", 3, Side.BASE, "    old = 1"),
        ("src/up.py", 4, Side.BASE, "    return new"),
        ("AGENTS.md", 1, Side.HEAD, "No print."),
        ("AGENTS.md", 1, Side.BASE, "No print."),
        ("gone.py", 2, Side.BASE, "last"),
        ("was.py", 1, Side.BASE, "a"),
        ("is.py", 1, Side.BASE, "a"),
        ("is.py", 1, Side.HEAD, "b"),
        ("fresh.py", 1, Side.HEAD, "x = 1"),
    ],
)
def test_a_line_that_exists_is_quoted_as_it_stands(path: str, line: int, side: Side, quote: str) -> None:
    all_places = places()
    assert all_places.line(path, line, side) == quote
    checked = all_places.check(pointer(path, line, side, note="n"))
    assert checked == pointer(path, line, side, quote=quote, note="n")


def test_a_text_that_does_not_fit_the_diff_leaves_the_diffs_own_lines() -> None:
    odd = places([{"path": "src/up.py", "text": "other\n"}])
    assert (odd.line("src/up.py", 3, Side.BASE), odd.line("src/up.py", 1, Side.BASE)) == ("    old = 1", None)


@pytest.mark.parametrize(
    ("path", "line", "side", "says"),
    [
        ("src/up.py", 40, Side.HEAD, "`src/up.py` has 5 lines at the head commit, line 40 does not exist."),
        ("gone.py", 3, Side.BASE, "`gone.py` has 2 lines at the base commit, line 3 does not exist."),
        ("gone.py", 1, Side.HEAD, '`gone.py` is not there at the head commit: a line of it needs side "base".'),
        ("was.py", 1, Side.HEAD, '`was.py` is not there at the head commit: a line of it needs side "base".'),
        ("fresh.py", 1, Side.BASE, 'a line of it needs side "head".'),
        (
            "lib/up.py",
            3,
            Side.HEAD,
            "is neither changed by the diff nor among the files you were given. Did you mean `src/up.py`?",
        ),
        ("AGENT.md", None, Side.HEAD, "Did you mean `AGENTS.md`?"),
        ("zzz", 1, Side.HEAD, "among the files you were given."),
        ("no.py", None, Side.HEAD, "`no.py` does not exist at the head commit: name another place, or none."),
        ("logo.png", 1, Side.HEAD, "point at it by its path, without a line"),
        ("logo.png", 1, Side.BASE, "point at it by its path, without a line"),
        ("link", 1, Side.HEAD, "point at it by its path, without a line"),
    ],
)
def test_what_does_not_exist_is_told(path: str, line: int | None, side: Side, says: str) -> None:
    answer = places().check(pointer(path, line, side))
    assert isinstance(answer, str)
    assert says in answer


def test_without_texts_only_the_lines_of_the_diff_are_known() -> None:
    bare = places(None)
    assert bare.line("src/up.py", 1) is None
    assert bare.check(pointer("src/up.py", 1)) == (
        "Line 1 of `src/up.py` is not in the diff, and the text of the file was not given: "
        "known lines at the head commit are 2-4."
    )
    assert bare.check(pointer("src/up.py", 4)) == pointer("src/up.py", 4, quote="    newer = 2")
    assert bare.line("nowhere", 1) is None
    assert bare.line("AGENTS.md", 1, Side.BASE) is None
    assert bare.line("logo.png", 1) is None


def test_many_known_ranges_are_cut_and_none_is_said() -> None:
    hunks = "".join(f"@@ -{n},1 +{n},1 @@\n-a\n+b\n" for n in range(10, 200, 10))
    many = places(None, f"diff --git a/m b/m\n--- a/m\n+++ b/m\n{hunks}")
    answer = many.check(pointer("m", 1))
    assert isinstance(answer, str)
    assert answer.endswith("10-10, 20-20, 30-30, 40-40, 50-50, 60-60, 70-70, 80-80, ....")
    moved = places(None, "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n")
    assert "are none" in str(moved.check(pointer("n", 1)))


def test_the_end_of_a_range_must_exist_too() -> None:
    good = places().check(pointer("src/up.py", 3, end_line=5))
    assert good == pointer("src/up.py", 3, end_line=5, quote="    new = 1")
    assert "line 9 does not exist" in str(places().check(pointer("src/up.py", 3, end_line=9)))


@pytest.mark.parametrize("path", ["logo.png", "link", "src/up.py", "AGENTS.md"])
def test_a_path_alone_points_at_the_whole_file(path: str) -> None:
    assert places().check(pointer(path, quote="made up")) == pointer(path)


def test_a_path_alone_of_a_deleted_file_points_at_its_base_side() -> None:
    assert places().check(pointer("gone.py")) == pointer("gone.py", side=Side.BASE)
    assert places().check(pointer("fresh.py", side=Side.BASE)) == pointer("fresh.py", side=Side.HEAD)


@pytest.mark.parametrize(
    "quote", ["new = 1", "  new  =  1 ", "+    new = 1", "new = 1\n    newer = 2", None, "\tnew = 1\r"]
)
def test_a_quote_is_compared_without_white_space_and_replaced_by_the_real_line(quote: str | None) -> None:
    assert places().check(pointer("src/up.py", 3, quote=quote)) == pointer("src/up.py", 3, quote="    new = 1")


def test_a_removed_line_may_be_quoted_with_its_minus() -> None:
    base = pointer("src/up.py", 3, Side.BASE, quote="-    old = 1")
    assert places().check(base) == pointer("src/up.py", 3, Side.BASE, quote="    old = 1")


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (
            pointer("src/up.py", 5, quote="newer = 2"),
            (
                "Line 5 of `src/up.py` reads `return new`, not `newer = 2`. "
                "Line 4 of `src/up.py` (side head) reads `newer = 2`."
            ),
        ),
        (
            pointer("src/up.py", 5, quote="old = 1"),
            "Line 5 of `src/up.py` reads `return new`, not `old = 1`. Line 3 of `src/up.py` (side base) reads `old = 1`.",
        ),
        (
            pointer("src/up.py", 5, quote="No print."),
            (
                "Line 5 of `src/up.py` reads `return new`, not `No print.`. "
                "Line 1 of `AGENTS.md` (side head) reads `No print.`."
            ),
        ),
        (
            pointer("src/up.py", 50, quote="new = 1"),
            (
                "`src/up.py` has 5 lines at the head commit, line 50 does not exist. "
                "Line 3 of `src/up.py` (side head) reads `new = 1`."
            ),
        ),
        (
            pointer("zzz", 1, quote="x = 1"),
            (
                "`zzz` is neither changed by the diff nor among the files you were given. "
                "Line 1 of `fresh.py` (side head) reads `x = 1`."
            ),
        ),
        (
            pointer("src/up.py", 5, quote="never"),
            "Line 5 of `src/up.py` reads `return new`, not `never`. No line that you were given reads `never`.",
        ),
        (pointer("src/up.py", 5, quote=" "), "Line 5 of `src/up.py` is not quoted."),
    ],
    ids=["line", "side", "file", "no line", "no file", "nowhere", "unquoted"],
)
def test_a_wrong_quote_is_told_with_the_place_where_such_a_line_stands(where: EvidencePointer, says: str) -> None:
    assert places().check(where) == says


def test_a_part_of_a_line_is_no_quote_of_it_but_the_beginning_of_a_long_one_is() -> None:
    assert isinstance(places().check(pointer("src/up.py", 3, quote="new")), str)
    line = "x = " + "1 + " * 40 + "0"
    long = places([{"path": "a.py", "text": f"{line}\n"}])
    assert long.check(pointer("a.py", 1, quote=line[:100])) == pointer("a.py", 1, quote=line)
    assert isinstance(long.check(pointer("a.py", 1, quote=line[:40])), str)
    assert isinstance(long.check(pointer("a.py", 1, quote=line[5:120])), str)


def test_a_long_quote_is_repeated_in_part() -> None:
    assert "n" * 160 + " ...`" in (long := str(places().check(pointer("src/up.py", 5, quote="n" * 999))))
    assert len(long) < 500


def test_the_note_behind_a_last_line_is_no_part_of_it() -> None:
    text = f"x = 1{NO_NEWLINE}"
    assert places([{"path": "a.py", "text": "x = 1"}]).check(pointer("a.py", 1, quote=text)) == pointer(
        "a.py", 1, quote="x = 1"
    )


def test_a_blank_line_shows_nothing() -> None:
    blank = places([{"path": "a.py", "text": "x\n\ny\n"}])
    assert blank.check(pointer("a.py", 2, quote="")) == (
        "Line 2 of `a.py` is blank and shows nothing: point at a line that does."
    )
    assert blank.check(pointer("a.py", 2)) == pointer("a.py", 2, quote=""), "our own code may"


def test_what_hides_in_a_line_is_quoted_as_it_was_shown() -> None:
    hidden = places([{"path": "a.py", "text": "x = 1  # \u202e gone\n"}])
    assert hidden.check(pointer("a.py", 1, quote="x = 1  # \\u202e gone")) == pointer(
        "a.py", 1, quote="x = 1  # \u202e gone"
    )


def test_a_file_that_became_a_link_is_a_link_at_head_and_text_at_base() -> None:
    swap = (
        "diff --git a/s b/s\ndeleted file mode 100644\n--- a/s\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n"
        "diff --git a/s b/s\nnew file mode 120000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+t\n"
    )
    both = places(None, swap)
    assert both.line("s", 1, Side.BASE) == "text"
    assert "without a line" in str(both.check(pointer("s", 1)))


def test_a_pointer_is_set_anew_where_its_quote_stands_now() -> None:
    there = places()
    first = there.check(pointer("pkg/a.py", 1)) if "pkg/a.py" in there.paths else None
    result = first or next(
        other for path in sorted(there.paths) if isinstance(other := there.check(pointer(path, 1)), EvidencePointer)
    )
    assert isinstance(result, EvidencePointer)
    moved = result.model_copy(update={"line": 3, "end_line": 4})
    again = there.relocate(moved)
    assert again is not None
    assert (again.line, again.end_line) == (1, 2)


def test_a_pointer_whose_quote_stands_nowhere_is_lost() -> None:
    there = places()
    path = min(there.paths)
    assert there.relocate(pointer(path, 1, quote="nothing reads like this")) is None
    assert there.relocate(pointer(path, 1)) is None, "a line without its quote can't be found again"
    assert there.relocate(pointer("nowhere.py", 1, quote="x")) is None


def test_a_pointer_at_a_whole_file_stays_while_the_file_does() -> None:
    there = places()
    path = next(path for path in sorted(there.paths) if isinstance(there.check(pointer(path, 1)), EvidencePointer))
    assert there.relocate(pointer(path)) == pointer(path)
    assert there.relocate(pointer("nowhere.py")) is None
