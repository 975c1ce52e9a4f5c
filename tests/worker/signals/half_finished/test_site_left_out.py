"""Sites that an edit of a change left out."""

from tests.worker.signals.samples import plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.site_left_out import site_left_out


def test_removed_line_after_added_lines_begins_a_new_edit() -> None:
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-x = old_name\n+x = new_name\n-y = old_name\n+y = new_name\n z = old_name\n"
    change = CodeChange(
        plain_dossier(diff, files=[{"path": "a.py", "text": "x = new_name\ny = new_name\nz = old_name\n"}])
    )
    assert [finding.line for finding in site_left_out.findings(change)] == [3]


def test_line_without_newline_counts_as_replaced() -> None:
    mark = "\\ No newline at end of file\n"
    diff = "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x = old_name\n{mark}+x = new_name\n{mark}"
        for name in ("a.py", "b.py")
    )
    change = CodeChange(plain_dossier(diff, files=[{"path": "c.py", "text": "z = old_name\n"}]))
    assert [(finding.path, finding.line) for finding in site_left_out.findings(change)] == [("c.py", 1)]
