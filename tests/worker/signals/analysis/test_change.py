"""Texts and sources of changed files, and findings of reverts."""

import pytest

from tests.worker.signals.samples import Texts, change_of, changed_file, dossier_of, file_diff, plain_dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import CodeChange, ParseDepth
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.syntax import text_of
from worker.signals.analysis.test_pairs import base_sources
from worker.signals.heuristic_opinion import SIGNALS

FAR = "".join(f"x{n} = {n}\n" for n in range(20))

WEAK = [signal for signal in SIGNALS if signal.category is Category.WEAK_TEST]
WRONG = [signal for signal in SIGNALS if signal.category is Category.TESTS_PASS_BUT_WRONG]


def test_base_text_is_rebuilt_from_head_text_and_diff() -> None:
    file = changed_file("a.py", FAR, FAR + "y = 1\n")
    assert (file.head_text, file.base_text) == (FAR + "y = 1\n", FAR)


def test_file_without_text_has_only_its_hunks() -> None:
    file = changed_file("a.py", FAR, FAR + "y = 1\n", texts=False)
    (source,) = file.sources
    assert (file.head_text, file.base_text, source.is_whole, source.first_line) == (None, None, False, 18)


def test_new_file_is_whole_in_its_diff() -> None:
    file = changed_file("a.py", None, "y = 1\n", texts=False)
    assert (file.head_text, file.base_text) == ("y = 1\n", "")


def test_deleted_file_has_no_head() -> None:
    (file,) = CodeChange(plain_dossier(file_diff("a.py", "x\n", None))).files
    assert (file.head_text, file.base_text, file.sources) == (None, None, ())


def test_submodule_is_not_parsed() -> None:
    diff = "diff --git a/m.py b/m.py\nindex 1..2 160000\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n"
    (file,) = CodeChange(plain_dossier(diff)).files
    assert file.sources == ()


def test_huge_file_is_parsed_by_its_hunks() -> None:
    huge = "x = 1\n" * 200_000
    assert [source.is_whole for source in changed_file("a.py", huge, huge + "y = 1\n").sources] == [False]


def test_huge_or_too_deep_new_file_is_not_parsed() -> None:
    assert changed_file("a.js", None, "x = 1\n" * 200_000).sources == ()
    assert changed_file("a.js", None, "f(" * 1000 + ")" * 1000 + "\n").sources == ()


def test_depth_counts_nested_brackets_only() -> None:
    assert [len(changed_file("a.js", None, text).sources) for text in ("f()\n" * 100, "f()\n" * 1000)] == [1, 1]
    at_most, too_deep = ("f(" * depth + ")" * depth + "\n" for depth in (150, 151))
    assert [len(changed_file("a.js", None, text).sources) for text in (at_most, too_deep)] == [1, 0]


def test_line_outside_the_hunks_is_not_quoted() -> None:
    file = changed_file("a.py", FAR, FAR + 'y = """\nz\n"""\n', texts=False)
    assert [file.is_quoted(line) for line in (1, 21, 22)] == [False, False, True]


def test_only_comments_directly_above_belong_to_the_function() -> None:
    (source,) = changed_file("a.go", None, "package a\n\n// far\n\n// near\nfunc F() {\n}\n").sources
    (function,) = find_functions(source)
    assert [text_of(note) for note in function.nodes_above] == ["// near"]


def commented(size: int, *, mark: str = "#") -> str:
    return f"{mark} {'x' * 97}\n" * (size // 100)


def test_whole_files_beyond_the_parse_budget_are_parsed_by_their_hunks() -> None:
    before = {path: commented(900_000) for path in ("a.py", "b.py")}
    change = change_of(before, {path: f"{text}y = 1\n" for path, text in before.items()})
    assert [[source.is_whole for source in file.sources] for file in change.files] == [[True], [False]]
    assert [[source.is_whole for source in base_sources(file)] for file in change.files] == [[True], [False]]
    assert change.unparsed_count == 0


def test_hunks_beyond_the_parse_budget_are_counted_as_unparsed() -> None:
    sizes = {"a.py": 150_000, "b.py": 300_000, "c.txt": 300_000, "examples/0.py": 60_000}
    change = change_of({}, {path: commented(size) for path, size in sizes.items()})
    assert [bool(file.sources) for file in change.files] == [True, False, False, False]
    assert [base_sources(file) for file in change.files if file.depth is ParseDepth.NOTHING] == [(), ()]
    assert change.unparsed_count == 2


def test_hunks_within_the_parse_budget_are_all_parsed() -> None:
    sizes = {"a.py": 180_000, "b.py": 300_000, "c.txt": 300_000}
    change = change_of({}, {path: commented(size) for path, size in sizes.items()})
    assert [bool(file.sources) for file in change.files] == [True, True, False]
    assert change.unparsed_count == 0


def test_file_can_match_a_pattern_whose_words_it_has() -> None:
    (file,) = change_of({"a.py": "x = 1\n"}, {"a.py": "x = 1\n# Straße\n"}).files
    street, crossing = pattern("strasse", needs=("strasse",)), pattern("kreuzung", needs=("kreuzung",))
    assert file.can_match(crossing, street)
    assert not file.can_match(crossing)
    assert not file.can_match()


def test_value_cached_for_a_signal_family_is_cleared_with_it() -> None:
    change, computed = CodeChange(plain_dossier(file_diff("a.py", None, "x\n"))), list[CodeChange]()

    def compute(change: CodeChange) -> int:
        computed.append(change)
        return len(computed)

    assert [change.cached_for_family(compute), change.cached_for_family(compute)] == [1, 1]
    change.clear_family()
    assert change.cached_for_family(compute) == 2


def test_extended_classes_include_whole_texts_and_added_lines() -> None:
    before = {"a.py": "x\n", "b.ts": "class B extends Other {}\n"}
    change = change_of(before, before | {"a.py": "x\n  class A(Base):\n"})
    assert change.extended_classes == {"Base", "Other"}
    anonymous = change_of({}, {"A.java": "Object o = new Adapter.Factory() {\n};\n"})
    assert anonymous.extended_classes == {"Adapter", "Factory"}


SHA = "c" * 40
KEPT = "def test_kept():\n    shape = draw('a')\n    assert shape == 1\n    assert shape.unit == 'cm'\n\n\n"
GONE = "def test_gone():\n    shape = render('b')\n    assert shape == 2\n"
BEFORE = {"tests/test_a.py": KEPT + GONE}
TAKEN_BACK = {
    "commented out": {"tests/test_a.py": KEPT + "".join(f"# {line}\n" for line in GONE.split("\n")[:-1])},
    "skipped": {"tests/test_a.py": f"{KEPT}@pytest.mark.skip\n{GONE}"},
    "a skipped test restored": {
        "tests/test_a.py": f"{KEPT}{GONE}\n\n@pytest.mark.skip\ndef test_old():\n    assert old() == 1\n"
    },
}
SUSPECTED = {
    "deleted": {"tests/test_a.py": KEPT},
    "an assertion dropped": {"tests/test_a.py": KEPT.replace("    assert shape == 1\n", "") + GONE},
    "an assertion loosened": {"tests/test_a.py": KEPT.replace("shape == 1", "shape is not None") + GONE},
}


def kinds(after: Texts, *, title: str = "Change", reverts: str | None = None) -> set[bool]:
    """Whether the findings are facts."""
    change = CodeChange(dossier_of(BEFORE, after, title=title, reverts=reverts))
    return {finding.fact for signal in (*WRONG, *WEAK) for finding in signal.findings(change)}


@pytest.mark.parametrize("after", TAKEN_BACK.values(), ids=TAKEN_BACK.keys())
def test_test_removed_by_a_revert_is_not_a_fact(after: Texts) -> None:
    assert kinds(after) == {True}
    assert kinds(after, title='Revert "Render shapes"') == {False}
    assert kinds(after, reverts=SHA) == {False}
    assert kinds(after, reverts=SHA, title='Revert "Render shapes"') == set()


@pytest.mark.parametrize("after", SUSPECTED.values(), ids=SUSPECTED.keys())
def test_suspicion_is_dropped_in_a_certain_revert(after: Texts) -> None:
    assert kinds(after) == {False}
    assert kinds(after, reverts=SHA, title='Revert "Render shapes"') == set()


def test_checking_call_removed_by_a_certain_revert_is_not_reported() -> None:
    before = {
        "tests/test_a.py": "def test_kept():\n    shape = draw('a')\n    check_shape(shape)\n    assert shape == 1\n"
    }
    after = {"tests/test_a.py": before["tests/test_a.py"].replace("    check_shape(shape)\n", "")}
    dossiers = [dossier_of(before, after, title=title, reverts=SHA) for title in ("Change", 'Revert "Sizes"')]
    signals = [
        [finding.signal for signal in WEAK for finding in signal.findings(CodeChange(dossier))] for dossier in dossiers
    ]
    assert signals == [["assertion_removed"], []]


def test_adjacent_changed_lines_are_one_edit() -> None:
    file = changed_file("a.txt", "a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\nf\n")
    edits = [([line.text for line in edit.removed], [line.text for line in edit.added]) for edit in file.edit_blocks]
    assert edits == [(["b"], ["B"]), (["d"], ["D"]), ([], ["f"])]
