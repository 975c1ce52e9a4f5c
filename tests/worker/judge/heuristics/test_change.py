"""What a signal may know of a file, and what it may not guess."""

from tests.worker.judge.heuristics.made import change_of, changed_file, file_diff, plain_dossier
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.functions import functions_of
from worker.judge.heuristics.syntax import text_of

FAR = "".join(f"x{n} = {n}\n" for n in range(20))


def test_both_texts_are_known_from_the_one_at_head_and_the_diff() -> None:
    file = changed_file("a.py", FAR, FAR + "y = 1\n")
    assert (file.head, file.base) == (FAR + "y = 1\n", FAR)


def test_without_the_text_a_changed_file_is_known_by_its_hunks_only() -> None:
    file = changed_file("a.py", FAR, FAR + "y = 1\n", texts=False)
    (source,) = file.sources
    assert (file.head, file.base, source.whole, source.first) == (None, None, False, 18)


def test_a_new_file_is_whole_in_its_own_diff() -> None:
    file = changed_file("a.py", None, "y = 1\n", texts=False)
    assert (file.head, file.base) == ("y = 1\n", "")


def test_a_deleted_file_has_no_head() -> None:
    (file,) = Change(plain_dossier(file_diff("a.py", "x\n", None))).files
    assert (file.head, file.base, file.sources) == (None, None, ())


def test_a_submodule_is_never_parsed() -> None:
    diff = "diff --git a/m.py b/m.py\nindex 1..2 160000\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n"
    (file,) = Change(plain_dossier(diff)).files
    assert file.sources == ()


def test_a_huge_file_is_parsed_by_its_hunks() -> None:
    huge = "x = 1\n" * 200_000
    assert [source.whole for source in changed_file("a.py", huge, huge + "y = 1\n").sources] == [False]


def test_what_is_huge_or_too_deep_is_not_parsed_at_all() -> None:
    assert changed_file("a.js", None, "x = 1\n" * 200_000).sources == ()
    assert changed_file("a.js", None, "f(" * 1000 + ")" * 1000 + "\n").sources == ()


def test_a_line_outside_of_what_is_known_is_not_quoted() -> None:
    file = changed_file("a.py", FAR, FAR + 'y = """\nz\n"""\n', texts=False)
    assert [file.is_quoted(line) for line in (1, 21, 22)] == [False, False, True]


def test_names_of_code_that_is_gone_leave_out_what_only_moved() -> None:
    change = change_of(
        {"a.py": "def load():\n    pass\n\ndef save():\n    pass\n"},
        {"a.py": "x = 1\n", "b.py": "def save():\n    pass\n"},
    )
    assert change.gone_code == {"load"}


def test_only_what_stands_right_above_a_function_belongs_to_it() -> None:
    (source,) = changed_file("a.go", None, "package a\n\n// far\n\n// near\nfunc F() {\n}\n").sources
    (function,) = functions_of(source)
    assert [text_of(note) for note in function.above] == ["// near"]
