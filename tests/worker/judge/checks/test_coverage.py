"""Every changed file is read in full, in part, or not at all, and is counted as such."""

from typing import Any

import pytest

from tests.worker.judge.making import DIFF, dossier, new_file
from worker.domain.dossier import Criterion, Issue, UnreadFile, UnreadReason
from worker.domain.verdict.verdict import Coverage
from worker.dossier.diff.parser import parse_diff
from worker.judge.checks.coverage import coverage_of, mentions_unread_as_missing

LOGO = "diff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/logo.png differ\n"
OLD_LOGO = "diff --git a/old.png b/old.png\ndeleted file mode 100644\nindex 1111111..0000000\nBinary files a/old.png and /dev/null differ\n"
MOVED = "diff --git a/a.png b/b.png\nsimilarity index 100%\nrename from a.png\nrename to b.png\n"
SUBMODULE = "diff --git a/lib b/lib\nindex 1111111..2222222 160000\n--- a/lib\n+++ b/lib\n@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n"


def read(diff: str, unread: tuple[UnreadFile, ...] = (), **kept_back: list[str]) -> Coverage:
    return coverage_of(dossier(diff=diff, files_unread=unread), parse_diff(diff.encode()), **kept_back)


def unread(path: str, reason: UnreadReason = UnreadReason.TOO_LARGE) -> UnreadFile:
    return UnreadFile(path=path, reason=reason)


def test_a_change_whose_lines_are_all_there_is_read() -> None:
    assert read(DIFF) == Coverage(read=("upload.py", "tests/test_upload.py"))


def test_what_was_shown_in_part_or_not_at_all_is_counted_so() -> None:
    coverage = read(DIFF, cut=["upload.py"], hidden=["tests/test_upload.py"])
    assert coverage == Coverage(partly=("upload.py",), unread=("tests/test_upload.py",))


def test_a_file_whose_text_was_kept_back_is_read_in_part_only() -> None:
    assert read(DIFF, (unread("upload.py"),)).partly == ("upload.py",)


def test_a_file_that_is_never_sent_is_not_read_at_all() -> None:
    assert read(DIFF, (unread("upload.py", UnreadReason.NEVER_SEND),)).unread == ("upload.py",)


def test_a_file_that_the_source_left_out_of_the_diff_is_unread() -> None:
    assert read(DIFF, (unread("huge.json", UnreadReason.OVER_LIMIT),)).unread == ("huge.json",)


def test_new_binary_content_and_a_submodules_commit_can_not_be_read() -> None:
    assert read(LOGO + SUBMODULE) == Coverage(unread=("logo.png", "lib"))
    assert read(LOGO, (unread("logo.png", UnreadReason.BINARY),)).unread == ("logo.png",)


def named(text: str, diff: str, **changes: Any) -> Coverage:
    """The coverage where the issue says so."""
    of = dossier(diff=diff, issues=(Issue(number=7, title="Look", body=text),), **changes)
    return coverage_of(of, parse_diff(diff.encode()))


def test_a_picture_is_read_where_the_issue_or_a_criterion_names_it() -> None:
    assert named("Replace Logo.PNG, please", LOGO).read == ("logo.png",)
    assert named("Replace it", LOGO, criteria=(Criterion(id="AC1", text="`logo.png` is new"),)).read == ("logo.png",)
    assert named("Replace my-logo.png", LOGO).unread == ("logo.png",)
    guessed = (Criterion(id="AC1", text="`logo.png` is new", inferred=True),)
    assert named("Replace it", LOGO, criteria=guessed).unread == ("logo.png",)
    kept_back = (unread("logo.png", UnreadReason.BINARY),)
    assert named("Replace logo.png", LOGO, files_unread=kept_back).read == ("logo.png",)


def test_a_picture_beside_documentation_is_read() -> None:
    assert read(LOGO.replace("logo.png", "docs/img/logo.png")).read == ("docs/img/logo.png",)


def test_what_can_run_is_unread_whoever_names_it() -> None:
    jar = LOGO.replace("logo.png", "lib.jar")
    assert named("Add lib.jar", jar).unread == ("lib.jar",)


def test_a_submodule_is_read_where_the_issue_names_its_new_commit() -> None:
    commit = "2f" * 20
    moved = SUBMODULE.replace("commit 2222222", f"commit {commit}")
    assert named(f"Move lib to {commit[:9]}", moved).read == ("lib",)
    assert named("Move lib to 1111111", moved).unread == ("lib",)
    assert named("Move lib", moved).unread == ("lib",)


def test_a_deletion_and_a_move_are_told_whole_by_the_diff() -> None:
    assert read(OLD_LOGO + MOVED) == Coverage(read=("old.png", "b.png"))


def test_a_path_that_stands_twice_in_a_diff_is_counted_once() -> None:
    became_link = DIFF.partition("diff --git a/tests")[0] + new_file("upload.py", "target", mode="120000")
    assert read(became_link, cut=["upload.py"]) == Coverage(partly=("upload.py",))


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
