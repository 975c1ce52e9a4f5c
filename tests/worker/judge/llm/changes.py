"""Changes for the tests of packing.

Does not pack. Invariant: every diff is one that git could have printed.
"""

from worker.dossier.diff.parser import Diff, parse_diff


def diff_of(*parts: str) -> Diff:
    return parse_diff("".join(parts).encode())


def edit(path: str, *hunks: str) -> str:
    return f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n{''.join(hunks)}"


def binary(path: str) -> str:
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..1111111\n"
    return f"{head}Binary files /dev/null and b/{path} differ\n"


def submodule(path: str, commit: str) -> str:
    return (
        f"diff --git a/{path} b/{path}\nindex 1111111..2222222 160000\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1 +1 @@\n-Subproject commit {'1' * 40}\n+Subproject commit {commit}\n"
    )
