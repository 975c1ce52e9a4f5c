"""Places that a change left as they were."""

from tests.worker.signals.made import change_of, diff_of, plain_dossier
from worker.domain.dossier.dossier import Dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.half_finished.missed_replacement import site_left_out

BEFORE = {"a.py": "x = old_name(1)\ny = 2\n", "b.py": "x = old_name(2)\ny = 2\n", "c.py": "y = 1\nx = old_name(3)\n"}
AFTER = {**BEFORE, "a.py": "x = new_name(1)\ny = 2\n", "b.py": "x = new_name(2)\ny = 2\n"}


def found(before: dict[str, str], after: dict[str, str], *, texts: bool = True) -> list[tuple[str | None, int | None]]:
    return [(finding.path, finding.line) for finding in site_left_out.findings(change_of(before, after, texts=texts))]


def test_the_last_place_of_a_word_that_was_replaced_elsewhere_is_suspected() -> None:
    assert found(BEFORE, AFTER) == [("c.py", 2)]


def test_a_truth_value_is_no_name_that_was_replaced() -> None:
    before, after = (
        {path: text.replace(word, "True") for path, text in texts.items()}
        for texts, word in ((BEFORE, "old_name"), (AFTER, "old_name"))
    )
    assert found(before, after) == []


def test_where_all_are_replaced_nothing_is_said() -> None:
    assert found(BEFORE, {**AFTER, "c.py": "y = 1\nx = new_name(3)\n"}) == []


def test_one_replacement_is_no_pattern() -> None:
    assert found(BEFORE, {**AFTER, "b.py": BEFORE["b.py"]}) == []


def test_a_word_that_still_stands_in_many_places_is_meant_to_stay() -> None:
    many = {"d.py": "old_name\n" * 3}
    assert found({**BEFORE, **many}, {**AFTER, **many}) == []


def test_a_word_that_the_change_also_adds_is_meant_to_stay() -> None:
    assert found(BEFORE, {**AFTER, "d.py": "x = old_name(4)\n"}) == []


def test_lines_that_differ_in_more_than_a_word_are_no_replacement() -> None:
    after = {**BEFORE, "a.py": "x = new_name(one)\ny = 2\n", "b.py": "z, more = 1, 2\ny = 2\nu = 3\n"}
    assert found(BEFORE, after) == []


def test_other_words_with_the_word_in_them_and_foreign_files_do_not_count() -> None:
    others = {"d.py": "old_names = 1\n", "vendor/e.py": "old_name = 1\n"}
    after = {**AFTER, "c.py": "y = 1\nx = new_name(3)\n"}
    assert found({**BEFORE, **others}, {**after, **others}) == []


def test_replacements_in_one_hunk_are_told_apart() -> None:
    before = {"a.py": "x = old_name\nkeep = 1\ny = old_name\nkeep = 2\nz = old_name\n"}
    after = {"a.py": "x = new_name\nkeep = 1\ny = new_name\nkeep = 2\nz = old_name\n"}
    assert found(before, after) == [("a.py", 5)]


def test_removed_lines_behind_added_ones_begin_a_new_run() -> None:
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-x = old_name\n+x = new_name\n-y = old_name\n+y = new_name\n z = old_name\n"
    change = CodeChange(
        plain_dossier(diff, files=[{"path": "a.py", "text": "x = new_name\ny = new_name\nz = old_name\n"}])
    )
    assert [finding.line for finding in site_left_out.findings(change)] == [3]


def asked(body: str, after: dict[str, str]) -> list[tuple[str | None, int | None]]:
    dossier = plain_dossier(diff_of(BEFORE, after), files=[{"path": p, "text": t} for p, t in after.items()])
    raw = {**dossier.model_dump(mode="json", exclude_unset=True), "issues": [{"number": 1, "title": "T", "body": body}]}
    return [(finding.path, finding.line) for finding in site_left_out.findings(CodeChange(Dossier.model_validate(raw)))]


def test_a_file_that_the_issue_lists_beside_others_and_that_alone_is_not_changed_is_suspected() -> None:
    after = {"a.py": "x = f(1)\ny = 2\n", "b.py": "z = g(2)\ny = 2\n", "c.py": BEFORE["c.py"]}
    assert asked("Drop `old_name` in `a.py`, `b.py` and `c.py`.", after) == [("c.py", 2)]
    assert asked("Clean a.py, b.py, c.py", after) == [("c.py", 1)]
    assert asked("Clean a.py and c.py", after) == []
    assert asked("Clean a.py and b.py", after) == []


def test_an_issue_that_names_both_words_asks_for_all_places() -> None:
    after = {**AFTER, "d.py": "x = old_name(4)\n"}
    assert asked("Use `new_name` in place of `old_name`.", after) == [("c.py", 2), ("d.py", 1)]


def test_the_places_of_one_file_are_told_in_one_finding() -> None:
    many = {"d.py": "old_name\n" * 3, "e.py": "old_name\n" * 2}
    change = change_of({**BEFORE, **many}, {**AFTER, **many}, issue="Call it new_name and not old_name")
    assert [(finding.path, finding.line) for finding in site_left_out.findings(change)] == [
        ("c.py", 2),
        ("d.py", 1),
        ("e.py", 1),
    ]
    assert [finding.note.partition(", but ")[2] for finding in site_left_out.findings(change)] == [
        "not here",
        "not here, and at 2 more places of this file",
        "not here, and at 1 more place of this file",
    ]


def test_a_line_without_its_newline_is_replaced_like_any_other() -> None:
    mark = "\\ No newline at end of file\n"
    diff = "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x = old_name\n{mark}+x = new_name\n{mark}"
        for name in ("a.py", "b.py")
    )
    change = CodeChange(plain_dossier(diff, files=[{"path": "c.py", "text": "z = old_name\n"}]))
    assert [(finding.path, finding.line) for finding in site_left_out.findings(change)] == [("c.py", 1)]
