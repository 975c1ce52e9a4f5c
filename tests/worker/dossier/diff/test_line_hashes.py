"""Hashes of what changed."""

from tests.worker.judge.making import DIFF, new_file
from worker.dossier.diff.line_hashes import HASHED_LINES, hash_changed_lines, hash_line
from worker.dossier.diff.parser import diff_of


def test_each_changed_line_has_a_hash_of_its_mark_and_its_text() -> None:
    hashes = hash_changed_lines(diff_of(DIFF))
    assert hashes["upload.py"][0] == hash_line("+", "    for attempt in range(3):")
    assert hashes["upload.py"][-1] == hash_line("-", "    return post(data)")
    assert len(hashes["tests/test_upload.py"]) == 4


def test_a_file_without_lines_has_one_hash_of_what_did_change() -> None:
    def of(index: str) -> tuple[str, ...]:
        top = f"diff --git a/x.png b/x.png\nindex {index} 100644\n"
        return hash_changed_lines(diff_of(f"{top}Binary files a/x.png and b/x.png differ\n"))["x.png"]

    assert len(of("1111111..2222222")) == 1
    assert of("1111111..2222222") == of("11111111..22222222"), "however long git abbreviates"
    assert of("1111111..2222222") != of("1111111..3333333")


def test_a_file_that_became_a_link_keeps_the_lines_of_both() -> None:
    gone = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
    assert hash_changed_lines(diff_of(gone + new_file("x", "target", mode="120000")))["x"] == (
        hash_line("-", "old"),
        hash_line("+", "target"),
    )


def test_a_change_too_large_is_one_surface() -> None:
    assert hash_changed_lines(diff_of(new_file("x.txt", *["line"] * HASHED_LINES)))
    assert hash_changed_lines(diff_of(new_file("x.txt", *["line"] * (HASHED_LINES + 1)))) == {}
