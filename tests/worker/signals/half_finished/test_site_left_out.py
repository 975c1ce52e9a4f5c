"""Places that a change left as they were."""

from tests.worker.signals.samples import plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.site_left_out import site_left_out


def test_removed_lines_behind_added_ones_begin_a_new_run() -> None:
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-x = old_name\n+x = new_name\n-y = old_name\n+y = new_name\n z = old_name\n"
    change = CodeChange(
        plain_dossier(diff, files=[{"path": "a.py", "text": "x = new_name\ny = new_name\nz = old_name\n"}])
    )
    assert [finding.line for finding in site_left_out.findings(change)] == [3]


def test_a_line_without_its_newline_is_replaced_like_any_other() -> None:
    mark = "\\ No newline at end of file\n"
    diff = "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x = old_name\n{mark}+x = new_name\n{mark}"
        for name in ("a.py", "b.py")
    )
    change = CodeChange(plain_dossier(diff, files=[{"path": "c.py", "text": "z = old_name\n"}]))
    assert [(finding.path, finding.line) for finding in site_left_out.findings(change)] == [("c.py", 1)]
