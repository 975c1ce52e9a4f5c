"""Pointers: what exists gets its quote, what does not is told. And every changed file is read in full, in part, or not at all."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.worker.judge.samples import DIFF, dossier, new_file
from worker.domain.dossier import Criterion, Dossier, Issue, UnreadFile, UnreadReason
from worker.domain.verdict.verdict import Coverage, EvidencePointer, Side
from worker.dossier.diff.parser import diff_of
from worker.judge.checks.coverage import coverage_of, mentions_unread_as_missing
from worker.judge.checks.evidence import Places
from worker.judge.llm.fencing import NO_NEWLINE

GIVEN_DIFF = """\
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


def places(files: Sequence[object] | None = FILES, diff: str = GIVEN_DIFF) -> Places:
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


PLACES = places()
QUOTES = ("new = 1", "  new  =  1 ", "+    new = 1", "new = 1\n    newer = 2", None, "\tnew = 1\r")


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
    assert PLACES.line(path, line, side) == quote
    checked = PLACES.check(pointer(path, line, side, note="n"))
    assert checked == pointer(path, line, side, quote=quote, note="n")


def test_a_text_that_does_not_fit_the_diff_leaves_the_diffs_own_lines() -> None:
    odd = places([{"path": "src/up.py", "text": "other\n"}])
    assert (odd.line("src/up.py", 3, Side.BASE), odd.line("src/up.py", 1, Side.BASE)) == ("    old = 1", None)


BINARY = "point at it by its path, without a line"


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (pointer("src/up.py", 40), "`src/up.py` has 5 lines at the head commit, line 40 does not exist."),
        (pointer("src/up.py", 3, end_line=9), "line 9 does not exist"),
        (pointer("gone.py", 3, Side.BASE), "`gone.py` has 2 lines at the base commit, line 3 does not exist."),
        (pointer("gone.py", 1), '`gone.py` is not there at the head commit: a line of it needs side "base".'),
        (pointer("was.py", 1), '`was.py` is not there at the head commit: a line of it needs side "base".'),
        (pointer("fresh.py", 1, Side.BASE), 'a line of it needs side "head".'),
        (pointer("lib/up.py", 3), "is neither changed by the diff nor among the files you were given. Did you mean `src/up.py`?"),
        (pointer("AGENT.md"), "Did you mean `AGENTS.md`?"),
        (pointer("zzz", 1), "among the files you were given."),
        (pointer("no.py"), "`no.py` does not exist at the head commit: name another place, or none."),
        (pointer("logo.png", 1), BINARY),
        (pointer("logo.png", 1, Side.BASE), BINARY),
        (pointer("link", 1), BINARY),
        (pointer("src/up.py", 3, quote="new"), "not `new`"),  # a part of a line is no quote of it
    ],
)  # fmt: skip
def test_what_does_not_exist_is_told(where: EvidencePointer, says: str) -> None:
    answer = PLACES.check(where)
    assert isinstance(answer, str)
    assert says in answer


def test_without_texts_only_the_lines_of_the_diff_are_known() -> None:
    bare = places(None)
    assert bare.check(pointer("src/up.py", 1)) == (
        "Line 1 of `src/up.py` is not in the diff, and the text of the file was not given: "
        "known lines at the head commit are 2-4."
    )
    assert bare.check(pointer("src/up.py", 4)) == pointer("src/up.py", 4, quote="    newer = 2")
    unknown = (("src/up.py", Side.HEAD), ("nowhere", Side.HEAD), ("AGENTS.md", Side.BASE), ("logo.png", Side.HEAD))
    assert [bare.line(path, 1, side) for path, side in unknown] == [None] * 4


def test_many_known_ranges_are_cut_and_none_is_said() -> None:
    hunks = "".join(f"@@ -{n},1 +{n},1 @@\n-a\n+b\n" for n in range(10, 200, 10))
    many = places(None, f"diff --git a/m b/m\n--- a/m\n+++ b/m\n{hunks}")
    assert str(many.check(pointer("m", 1))).endswith("10-10, 20-20, 30-30, 40-40, 50-50, 60-60, 70-70, 80-80, ....")
    moved = places(None, "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n")
    assert "are none" in str(moved.check(pointer("n", 1)))


@pytest.mark.parametrize(
    ("where", "real"),
    [
        (pointer("src/up.py", 3, end_line=5), pointer("src/up.py", 3, end_line=5, quote="    new = 1")),
        # a path alone points at the whole file; of a deleted one, at its base side
        *((pointer(path, quote="made up"), pointer(path)) for path in ("logo.png", "link", "src/up.py", "AGENTS.md")),
        (pointer("gone.py"), pointer("gone.py", side=Side.BASE)),
        (pointer("fresh.py", side=Side.BASE), pointer("fresh.py")),
        # a quote is compared without white space and replaced by the real line
        *((pointer("src/up.py", 3, quote=quote), pointer("src/up.py", 3, quote="    new = 1")) for quote in QUOTES),
        (pointer("src/up.py", 3, Side.BASE, quote="-    old = 1"), pointer("src/up.py", 3, Side.BASE, quote="    old = 1")),
    ],
)  # fmt: skip
def test_a_place_that_exists_is_completed(where: EvidencePointer, real: EvidencePointer) -> None:
    assert PLACES.check(where) == real


RETURNS = "Line 5 of `src/up.py` reads `return new`, not"


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (
            pointer("src/up.py", 5, quote="newer = 2"),
            f"{RETURNS} `newer = 2`. Line 4 of `src/up.py` (side head) reads `newer = 2`.",
        ),
        (
            pointer("src/up.py", 5, quote="old = 1"),
            f"{RETURNS} `old = 1`. Line 3 of `src/up.py` (side base) reads `old = 1`.",
        ),
        (
            pointer("src/up.py", 5, quote="No print."),
            f"{RETURNS} `No print.`. Line 1 of `AGENTS.md` (side head) reads `No print.`.",
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
        (pointer("src/up.py", 5, quote="never"), f"{RETURNS} `never`. No line that you were given reads `never`."),
        (pointer("src/up.py", 5, quote=" "), "Line 5 of `src/up.py` is not quoted."),
    ],
    ids=["line", "side", "file", "no line", "no file", "nowhere", "unquoted"],
)
def test_a_wrong_quote_is_told_with_the_place_where_such_a_line_stands(where: EvidencePointer, says: str) -> None:
    assert PLACES.check(where) == says


LONG = "x = " + "1 + " * 40 + "0"


@pytest.mark.parametrize(
    ("text", "quote", "is_it"),
    [
        (LONG, LONG[:100], True),  # the beginning of a long line is a quote of it
        (LONG, LONG[:40], False),
        (LONG, LONG[5:120], False),
        ("x = 1", f"x = 1{NO_NEWLINE}", True),
        ("x = 1  # \u202e gone", "x = 1  # \\u202e gone", True),  # as it was shown
        ("", None, True),  # our own code may
        ("", "", False),
    ],
)
def test_a_line_is_quoted_by_what_was_shown_of_it(text: str, quote: str | None, *, is_it: bool) -> None:
    answer = places([{"path": "a.py", "text": f"{text}\n"}]).check(pointer("a.py", 1, quote=quote))
    assert answer == pointer("a.py", 1, quote=text) if is_it else isinstance(answer, str)
    assert text or is_it or answer == "Line 1 of `a.py` is blank and shows nothing: point at a line that does."


def test_a_long_quote_is_repeated_in_part() -> None:
    assert "n" * 160 + " ...`" in (long := str(PLACES.check(pointer("src/up.py", 5, quote="n" * 999))))
    assert len(long) < 500


def test_a_file_that_became_a_link_is_a_link_at_head_and_text_at_base() -> None:
    swap = (
        "diff --git a/s b/s\ndeleted file mode 100644\n--- a/s\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n"
        "diff --git a/s b/s\nnew file mode 120000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+t\n"
    )
    both = places(None, swap)
    assert both.line("s", 1, Side.BASE) == "text"
    assert "without a line" in str(both.check(pointer("s", 1)))


@pytest.mark.parametrize(
    ("where", "now"),
    [
        (pointer("src/up.py", 4, end_line=5, quote="    new = 1"), pointer("src/up.py", 3, end_line=4, quote="    new = 1")),
        (pointer("src/up.py", 1, quote="nothing reads like this"), None),
        (pointer("src/up.py", 1), None),  # a line without its quote can't be found again
        (pointer("nowhere.py", 1, quote="x"), None),
        (pointer("src/up.py"), pointer("src/up.py")),
        (pointer("nowhere.py"), None),
    ],
)  # fmt: skip
def test_a_pointer_follows_its_quote_and_a_file_as_long_as_it_is_there(
    where: EvidencePointer, now: EvidencePointer | None
) -> None:
    assert PLACES.relocate(where) == now


# --- how much was read ----------------------------------------------------------------------------


LOGO = "diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/logo.png differ\n"
OLD_LOGO = "diff --git a/old.png b/old.png\ndeleted file mode 100644\nindex 1111111..0000000\nBinary files a/old.png and /dev/null differ\n"
MOVED = "diff --git a/a.png b/b.png\nsimilarity index 100%\nrename from a.png\nrename to b.png\n"
SUBMODULE = "diff --git a/lib b/lib\nindex 1111111..2222222 160000\n--- a/lib\n+++ b/lib\n@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n"


TABLE = LOGO.replace("logo.png", "docs/img/logo.png")
JAR = LOGO.replace("logo.png", "lib.jar")
COMMIT = "2f" * 20
MOVED_ON = SUBMODULE.replace("commit 2222222", f"commit {COMMIT}")
BECAME_LINK = DIFF.partition("diff --git a/tests")[0] + new_file("upload.py", "target", mode="120000")
BOTH = ("upload.py", "tests/test_upload.py")


def unread(path: str, reason: UnreadReason = UnreadReason.TOO_LARGE) -> dict[str, Any]:
    return {"files_unread": (UnreadFile(path=path, reason=reason),)}


def says(text: str, **changes: Any) -> dict[str, Any]:
    """An issue that says so."""
    return {"issues": (Issue(number=7, title="Look", body=text),), **changes}


def wants(*, inferred: bool) -> dict[str, Any]:
    return {"criteria": (Criterion(id="AC1", text="`logo.png` is new", inferred=inferred),)}


@pytest.mark.parametrize(
    ("diff", "changes", "expected"),
    [
        (DIFF, {}, Coverage(read=BOTH)),
        (DIFF, unread("upload.py"), Coverage(read=BOTH[1:], partly=BOTH[:1])),
        (DIFF, unread("upload.py", UnreadReason.NEVER_SEND), Coverage(read=BOTH[1:], unread=BOTH[:1])),
        (DIFF, unread("huge.json", UnreadReason.OVER_LIMIT), Coverage(read=BOTH, unread=("huge.json",))),
        # new binary content and a submodule's commit can't be read
        (LOGO + SUBMODULE, {}, Coverage(unread=("logo.png", "lib"))),
        (LOGO, unread("logo.png", UnreadReason.BINARY), Coverage(unread=("logo.png",))),
        # a picture is read where the issue or a criterion names it, or beside documentation
        (LOGO, says("Replace Logo.PNG, please"), Coverage(read=("logo.png",))),
        (LOGO, says("Replace it", **wants(inferred=False)), Coverage(read=("logo.png",))),
        (LOGO, says("Replace it", **wants(inferred=True)), Coverage(unread=("logo.png",))),
        (LOGO, says("Replace my-logo.png"), Coverage(unread=("logo.png",))),
        (LOGO, says("Replace logo.png", **unread("logo.png", UnreadReason.BINARY)), Coverage(read=("logo.png",))),
        (TABLE, {}, Coverage(read=("docs/img/logo.png",))),
        (JAR, says("Add lib.jar"), Coverage(unread=("lib.jar",))),  # it can run
        # a submodule is read where the issue names its new commit
        (MOVED_ON, says(f"Move lib to {COMMIT[:9]}"), Coverage(read=("lib",))),
        (MOVED_ON, says("Move lib to 1111111"), Coverage(unread=("lib",))),
        (MOVED_ON, says("Move lib"), Coverage(unread=("lib",))),
        (OLD_LOGO + MOVED, {}, Coverage(read=("old.png", "b.png"))),  # the diff tells all of it
    ],
)
def test_every_changed_file_is_read_or_not(diff: str, changes: dict[str, Any], expected: Coverage) -> None:
    assert coverage_of(dossier(diff=diff, **changes), diff_of(diff)) == expected


@pytest.mark.parametrize(
    ("diff", "cut", "hidden", "expected"),
    [
        (DIFF, BOTH[:1], BOTH[1:], Coverage(partly=BOTH[:1], unread=BOTH[1:])),
        (BECAME_LINK, BOTH[:1], (), Coverage(partly=BOTH[:1])),  # a path that stands twice is counted once
    ],
)
def test_what_was_shown_in_part_or_not_at_all_is_counted_so(
    diff: str, cut: tuple[str, ...], hidden: tuple[str, ...], expected: Coverage
) -> None:
    assert coverage_of(dossier(diff=diff), diff_of(diff), cut=cut, hidden=hidden) == expected


SEEN = Coverage(
    read=("src/index.js", "upload.py"), partly=("big.py",), unread=("data/table.bin", "lib/index.js", "Makefile")
)


@pytest.mark.parametrize(
    ("answer", "is_missed"),
    [
        ("The table of data/table.bin is absent.", True),
        ("`table.bin` does not contain the rows.", True),
        ("Missing: the rows in table.bin.", True),
        ("lib/index.js lacks the export.", True),
        ("index.js lacks the export.", False),  # of the one that was read, perhaps
        ("table.bin.txt is missing.", False),
        ("other/table.bin is missing.", False),
        ("table.bin-backup is missing.", False),
        ("big.py never defined it.", False),  # what was shown of it may show that
        ("A Makefile target is missing.", False),  # a word like others
        ("Nobody asked for table.bin.", False),
        ("The retry is missing.", False),
    ],
)
def test_only_what_misses_something_of_a_file_that_nobody_read_is_about_it(answer: str, *, is_missed: bool) -> None:
    assert mentions_unread_as_missing(answer, SEEN) is is_missed
    assert not mentions_unread_as_missing(answer, Coverage(read=SEEN.read))
