"""Every changed file is read in full, in part, or not at all, and is counted as such."""

from typing import Any

import pytest

from tests.worker.judge.making import DIFF, dossier, new_file
from worker.domain.dossier import Criterion, Issue, UnreadFile, UnreadReason
from worker.domain.verdict.verdict import Coverage
from worker.dossier.diff.parser import diff_of
from worker.judge.checks.evidence import coverage_of, mentions_unread_as_missing

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
