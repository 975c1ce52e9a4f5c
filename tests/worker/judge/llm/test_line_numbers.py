"""Lines are shown with the number that they have in the file."""

from tests.worker.judge.llm.changes import diff_of, edit
from worker.judge.llm.line_numbers import describe_file, render_stretches, stretch_of


def test_a_removed_line_has_its_number_in_the_base_and_every_other_that_in_the_head() -> None:
    file = diff_of(edit("a.py", "@@ -8,3 +9,3 @@ def f():\n one\n-two\n+2\n three\n")).files[0]
    assert render_stretches(map(stretch_of, file.hunks)) == "@@ def f():\n9  one\n9 -two\n10 +2\n11  three"


def test_what_hides_is_shown_and_an_end_without_newline_is_told() -> None:
    file = diff_of(edit("a.py", "@@ -1 +1 @@\n-a\n+b\u202e\r\n\\ No newline at end of file\n")).files[0]
    assert (
        render_stretches(map(stretch_of, file.hunks)) == "@@\n1 -a\n1 +b\\u202e\\r  [no newline at the end of the file]"
    )


def test_the_list_counts_lines_and_tells_moves_and_modes() -> None:
    moved = (
        "diff --git a/a.sh b/b.sh\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from a.sh\nrename to b.sh\n"
        "--- a/a.sh\n+++ b/b.sh\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"
    )
    line = describe_file(diff_of(moved).files[0], "shown")
    assert line == '"b.sh": renamed, was "a.sh", mode 100644 -> 100755, +2 -1, shown'
