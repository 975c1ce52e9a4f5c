"""Which texts are read, and what a blob tells."""

import pytest

from worker.adapters.github.pull_request_texts import MOST_CHARACTERS, HeadTexts, batches, texts_to_read, to_head_file
from worker.adapters.github.responses import BlobResponse
from worker.domain.dossier import HeadFile, UnreadFile, UnreadReason
from worker.dossier.diff.parser import parse_diff

DIFF = b"""diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-a
+b
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/lib b/lib
index 1111111..2222222 160000
--- a/lib
+++ b/lib
@@ -1 +1 @@
-Subproject commit 1111111
+Subproject commit 2222222
diff --git "a/caf\\351.py" "b/caf\\351.py"
new file mode 100644
diff --git a/z.py b/z.py
new file mode 100644
"""


def test_only_what_has_a_text_at_the_head_is_asked_for() -> None:
    found = texts_to_read(parse_diff(DIFF))
    assert found.paths == ("a.py", "z.py")
    assert [(file.path, file.reason) for file in found.unread] == [
        ("logo.png", UnreadReason.BINARY),
        ("caf\ufffd.py", UnreadReason.NOT_UTF8),
    ]


def test_what_is_too_much_is_named() -> None:
    found = texts_to_read(parse_diff(DIFF), 1)
    assert found.paths == ("a.py",)
    assert UnreadFile(path="z.py", reason=UnreadReason.OVER_LIMIT) in found.unread


@pytest.mark.parametrize(
    ("blob", "expected"),
    [
        (BlobResponse(text="x", is_binary=False, is_truncated=False), HeadFile(path="p", text="x")),
        (BlobResponse(text="", is_binary=False, is_truncated=False), HeadFile(path="p", text="")),
        (BlobResponse(text=None, is_binary=True, is_truncated=False), UnreadReason.BINARY),
        (BlobResponse(text="cut", is_binary=False, is_truncated=True), UnreadReason.TOO_LARGE),
        (BlobResponse(text=None, is_binary=None, is_truncated=None), UnreadReason.TOO_LARGE),
        (None, UnreadReason.OVER_LIMIT),
    ],
)
def test_a_blob_is_a_text_or_a_reason(blob: BlobResponse | None, expected: HeadFile | UnreadReason) -> None:
    found = to_head_file("p", blob)
    assert (found.reason if isinstance(found, UnreadFile) else found) == expected


def test_a_full_shelf_says_so() -> None:
    shelf = HeadTexts([])
    shelf.put(["a"], [BlobResponse(text="x" * MOST_CHARACTERS)])
    assert shelf.is_full
    shelf.mark_unread(["b"])
    assert shelf.unread == [UnreadFile(path="b", reason=UnreadReason.OVER_LIMIT)]


def test_batches_hold_everything_once() -> None:
    assert batches("abcde", 2) == ["ab", "cd", "e"]
    assert batches("", 2) == []
