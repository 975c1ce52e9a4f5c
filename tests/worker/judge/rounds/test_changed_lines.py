"""Which lines are new since the change was judged: by what they say, not by where they stand."""

from tests.worker.judge.making import new_file
from worker.domain.verdict.verdict import EvidencePointer, Side
from worker.dossier.diff.line_hashes import hash_changed_lines
from worker.dossier.diff.parser import diff_of
from worker.judge.rounds.changed_lines import ChangedLines, find_changed_lines


def since(before: str, now: str) -> ChangedLines:
    return find_changed_lines(hash_changed_lines(diff_of(before)), diff_of(now))


def new(before: str, now: str) -> list[tuple[str, str, int]]:
    return [(path, side.value, line) for path, side, line in sorted(since(before, now).new_lines)]


def at(path: str, line: int | None, end: int | None = None, **changes: object) -> EvidencePointer:
    return EvidencePointer.model_validate({"path": path, "line": line, "end_line": end, "quote": "then", **changes})


def edit(path: str, old: str, *lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    top = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{top}@@ -5 +5,{len(lines)} @@\n-{old}\n{body}"


def test_a_line_that_was_not_there_is_new_and_the_others_are_not() -> None:
    assert new(new_file("a.py", "one", "two"), new_file("a.py", "one", "2", "two")) == [("a.py", "head", 2)]
    assert new(edit("a.py", "old", "one"), edit("a.py", "older", "one")) == [("a.py", "base", 5)]


def test_lines_that_moved_are_not_new() -> None:
    assert new(new_file("a.py", "one", "two", "three"), new_file("a.py", "three", "one", "two")) == []
    assert new(edit("a.py", "old", "one"), edit("a.py", "old", "one").replace("@@ -5 +5", "@@ -50 +50")) == []


def test_a_line_that_moved_to_another_file_is_not_new_but_a_copy_is() -> None:
    whole = new_file("a.py", "one", "two") + new_file("b.py", "three")
    assert new(whole, new_file("a.py", "one") + new_file("b.py", "two", "three")) == []
    assert new(whole, new_file("a.py", "one", "two") + new_file("b.py", "two", "three")) == [("b.py", "head", 1)]
    assert new(new_file("a.py", "one"), new_file("b.py", "one", "one")) == [("b.py", "head", 2)]


def test_of_lines_alike_the_one_out_of_the_old_order_is_new() -> None:
    before = new_file("a.py", "start", "}", "end")
    assert new(before, new_file("a.py", "start", "}", "end", "more", "}")) == [("a.py", "head", 4), ("a.py", "head", 5)]


def test_a_removed_line_of_a_renamed_file_is_found_under_both_names() -> None:
    top = "diff --git a/a.py b/b.py\nsimilarity index 90%\nrename from a.py\nrename to b.py\n--- a/a.py\n+++ b/b.py\n"
    assert new(new_file("x.py", "x"), f"{top}@@ -3 +2,0 @@\n-old\n") == [("a.py", "base", 3), ("b.py", "base", 3)]


def test_a_pointer_is_cut_to_its_first_new_lines() -> None:
    result = since(new_file("a.py", "1", "4", "7"), new_file("a.py", "1", "2", "3", "4", "5", "7"))
    cut = result.new_part(at("a.py", 1, 6))
    assert cut is not None
    assert (cut.line, cut.end_line, cut.quote) == (2, 3, "2")
    item = result.new_part(at("a.py", 4, 6))
    assert item is not None
    assert (item.line, item.end_line, item.quote) == (5, None, "5")
    assert result.new_part(at("a.py", 2, 3)) == at("a.py", 2, 3)
    assert result.new_part(at("a.py", 4)) is None
    assert result.new_part(at("a.py", 2, side=Side.BASE)) is None


def test_a_file_without_lines_is_new_when_its_content_is() -> None:
    def image(index: str) -> str:
        return f"diff --git a/x.png b/x.png\nindex {index} 100644\nBinary files a/x.png and b/x.png differ\n"

    same, other = image("1111111..2222222"), image("1111111..3333333")
    assert since(same, same).new_part(at("x.png", None, quote=None)) is None
    assert since(same, other).new_part(at("x.png", None, quote=None)) is not None


def test_what_is_gone_is_known_by_the_line_that_was_pointed_at() -> None:
    part = since(new_file("a.py", "guard", "body") + edit("b.py", "old", "x"), new_file("a.py", "body"))
    assert part.is_lost(at("a.py", 1, quote="guard"))
    assert part.is_lost(at("b.py", 5, quote="old", side=Side.BASE))
    assert not part.is_lost(at("a.py", 2, quote="body"))
    assert not part.is_lost(at("c.py", 2, quote="guard"))
    assert not part.is_lost(at("a.py", None, quote=None))
    moved = since(new_file("a.py", "guard", "body"), new_file("a.py", "body") + new_file("b.py", "guard"))
    assert not moved.is_lost(at("a.py", 1, quote="guard"))


def test_new_lines_are_told_as_ranges_per_file_and_side() -> None:
    result = since(new_file("a.py", "3"), new_file("a.py", "1", "2", "3", "4") + edit("b.py", "old", "x"))
    assert result.ranges() == {
        ("a.py", Side.HEAD): ("1-2", "4"),
        ("b.py", Side.BASE): ("5",),
        ("b.py", Side.HEAD): ("5",),
    }
