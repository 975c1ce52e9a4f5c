"""What a change is turned into that means the same."""

from typing import Any

from bench.metamorphic import reformatted

DIFF = """\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ class A:
 def f():
-    return 1
+    return 2
--  x
diff --git a/b.md b/b.md
--- a/b.md
+++ b/b.md
@@ -1 +1 @@
-  - a
+  - b
"""


def test_a_change_is_indented_twice_as_deep_where_it_is_code() -> None:
    raw: dict[str, Any] = {
        "diff": DIFF,
        "files": [{"path": "a.py", "text": "def f():\n    return 2\n"}, {"path": "b.md", "text": "  - b\n"}],
    }
    told = reformatted(raw)
    assert told["diff"] == DIFF.replace("-    return 1", "-        return 1").replace("+    return", "+        return")
    assert [one["text"] for one in told["files"]] == ["def f():\n        return 2\n", "  - b\n"]


def test_a_removed_line_that_looks_like_a_header_is_indented_as_well() -> None:
    diff = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1 @@\n---  x\n \ty\n"
    assert reformatted({"diff": diff})["diff"] == diff.replace("\ty", "\t\ty")


def test_files_that_are_known_not_to_be_there_stay_so() -> None:
    raw = {"diff": "", "files": [{"path": "a.py", "text": None, "exists": False}]}
    assert reformatted(raw) == raw
