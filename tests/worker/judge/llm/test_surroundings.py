"""A change is shown with the functions that it is in."""

import difflib
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.judge.llm.changes import edit
from tests.worker.judge.making import dossier
from worker.domain.dossier.dossier import HeadFile
from worker.dossier.diff.parser import LineKind
from worker.judge.llm.line_numbers import Stretch, render_stretches
from worker.judge.llm.surroundings import FUNCTION_LINES, whole_file, with_functions
from worker.signals.analysis.change import AnalyzedFile, CodeChange


def changed(base: Sequence[str], head: Sequence[str], path: str = "a.py", context: int = 1) -> AnalyzedFile:
    rows = list(difflib.unified_diff([f"{line}\n" for line in base], [f"{line}\n" for line in head], n=context))
    text = "".join(f"{line}\n" for line in head)
    of = dossier(diff=edit(path, *rows[2:]), files=(HeadFile(path=path, text=text),))
    return CodeChange(of).files[0]


def shown(stretches: Sequence[Stretch] | None) -> list[str]:
    assert stretches is not None
    return render_stretches(stretches).split("\n")


CODE = [
    "import os",
    "",
    "@cache",
    "def first(a):",
    "    b = a",
    "    c = b",
    "    d = c",
    "    return d",
    "",
    "LIMIT = 1",
    "",
    "X = 2",
]


def test_a_change_inside_of_a_function_is_shown_with_all_of_it() -> None:
    after = [*CODE[:5], "    c = a", *CODE[6:]]
    assert shown(with_functions(changed(CODE, after)))[1:] == [
        "3  @cache", "4  def first(a):", "5      b = a", "6 -    c = b", "6 +    c = a", "7      d = c", "8      return d",
    ]  # fmt: skip


def test_of_a_long_function_its_first_line_is_shown() -> None:
    long = ["def first(a):", *(f"    b{n} = a" for n in range(2 * FUNCTION_LINES)), "    return a"]
    after = [*long[:80], "    b = 1", *long[81:]]
    rows = shown(with_functions(changed(long, after)))
    assert rows[:3] == ["@@", "1  def first(a):", "@@"]
    assert len(rows) == 7


def test_what_git_named_already_is_not_shown_again() -> None:
    long = ["def first(a):", *(f"    b{n} = a" for n in range(2 * FUNCTION_LINES)), "    return a"]
    text = "".join(f"{line}\n" for line in [*long[:80], "    b = 1", *long[81:]])
    hunk = f"@@ -80,2 +80,2 @@ def first(a):\n {long[79]}\n-{long[80]}\n+    b = 1\n"
    of = dossier(diff=edit("a.py", hunk), files=(HeadFile(path="a.py", text=text),))
    assert len(shown(with_functions(CodeChange(of).files[0]))) == 4


def test_changes_in_the_same_function_are_one_stretch() -> None:
    after = [*CODE[:4], "    b = 2", *CODE[5:7], "    return 4", *CODE[8:]]
    stretches = with_functions(changed(CODE, after, context=0))
    assert stretches is not None
    assert len(stretches) == 1


def test_what_stands_in_no_function_is_shown_as_it_is() -> None:
    after = [*CODE[:9], "LIMIT = 9", *CODE[10:]]
    assert shown(with_functions(changed(CODE, after, context=0))) == ["@@", "10 -LIMIT = 1", "10 +LIMIT = 9"]


def test_without_the_text_or_a_grammar_nothing_is_added() -> None:
    after = [*CODE[:9], "LIMIT = 9", *CODE[10:]]
    assert with_functions(changed(CODE, after, path="a.txt")) is None
    bare = CodeChange(dossier(diff=edit("a.py", "@@ -1 +1 @@\n-a\n+b\n"), files=None)).files[0]
    assert with_functions(bare) is None
    assert whole_file(bare) is None
    other = dossier(diff=edit("a.py", "@@ -1 +1 @@\n-a\n+b\n"), files=(HeadFile(path="a.py", text="c\n"),))
    assert whole_file(CodeChange(other).files[0]) is None
    huge = dossier(
        diff=edit("a.py", "@@ -1 +1 @@\n-a\n+b\n"), files=(HeadFile(path="a.py", text="b\n" + "c\n" * 300_000),)
    )
    assert whole_file(CodeChange(huge).files[0]) is None


LINES = st.lists(
    st.sampled_from(["a", "b", "def f():", "    return 1", "", "class C:", "    def g(self):", "        pass"])
)


@settings(max_examples=settings().max_examples * 15 // 10, deadline=None)
@given(LINES, LINES, st.integers(0, 3))
def test_every_line_of_the_diff_and_only_lines_of_the_file_are_shown_in_order(
    base: list[str], head: list[str], context: int
) -> None:
    if base == head or not base:
        return
    file = changed(base, head, context=context)
    for stretches in (whole_file(file), with_functions(file)):
        lines = [line for stretch in stretches or () for line in stretch.lines]
        if not lines:
            continue
        assert [line for line in lines if line.kind is not LineKind.CONTEXT] == [
            line for line in file.diff.lines() if line.kind is not LineKind.CONTEXT
        ]
        numbers = [line.head_line for line in lines if line.head_line is not None]
        assert numbers == sorted(set(numbers))
        assert all(line.text == head[(line.head_line or 0) - 1] for line in lines if line.head_line)
        assert all(line.text == base[(line.base_line or 0) - 1] for line in lines if line.base_line)
