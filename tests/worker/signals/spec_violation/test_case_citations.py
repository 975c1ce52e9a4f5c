"""Citations of moved files, of mode changes, and in diffs with other context."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.signals.samples import diff_of, plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation.case_citations import CitationError, FileStrings, find_wrong_citations

MOVED = "diff --git a/src/a.py b/lib/b.py\nsimilarity index 100%\nrename from src/a.py\nrename to lib/b.py\n"
MODE = "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n"
NUMBERED = "".join(f"x{number} = {number}\n" for number in range(12))
THREE_LINES = diff_of(
    {"mid.py": NUMBERED, "short.py": "f()\n"}, {"mid.py": NUMBERED.replace("x6 = 6", "x6 = 0"), "short.py": "g()\n"}
)
TWO_LINES = "diff --git a/z.py b/z.py\nindex 1111111..2222222 100644\n--- a/z.py\n+++ b/z.py\n@@ -5,5 +5,5 @@\n a\n b\n-c\n+d\n e\n f\n"
SURE_LINE = (CitationError.LINE, True)


def list_wrong_citations(diff: str, location: str, *absent: str) -> list[tuple[CitationError, bool]]:
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": location}]}
    files = [{"path": path, "exists": False} for path in absent] or None
    change = CodeChange(plain_dossier(diff, case=case, files=files))
    return [(wrong.kind, wrong.is_sure) for wrong in find_wrong_citations(change)]


@pytest.mark.parametrize(
    ("diff", "location", "absent", "expected"),
    [
        (MOVED, "src/a.py", ["src/a.py"], [(CitationError.FILE, False)]),
        (MODE, "a.sh:two", [], []),
        (THREE_LINES, "short.py:60", [], [SURE_LINE]),
        (THREE_LINES + TWO_LINES, "short.py:60", [], []),
        (TWO_LINES, "z.py:60", [], []),
    ],
    ids=["moved by this change", "nothing of it is shown", "three lines of context", "two and three", "two"],
)
def test_file_end_is_known_only_with_three_lines_of_context(
    diff: str, location: str, absent: list[str], expected: list[tuple[CitationError, bool]]
) -> None:
    assert list_wrong_citations(diff, location, *absent) == expected


def test_change_without_case_has_no_citations() -> None:
    assert find_wrong_citations(CodeChange(plain_dossier(THREE_LINES))) == ()


@given(st.text("abc/.:#> `[(1-9\n«é_T", max_size=60).filter(str.strip))
@settings(max_examples=settings().max_examples * 20 // 10, deadline=None)
def test_any_citation_is_checked_without_an_exception(location: str) -> None:
    list_wrong_citations(
        diff_of({}, {"setup.py": "a\n", "src/a.test.ts": "it('rejects empty keys', () => {})\n"}), location, "a.py"
    )


@given(st.text("ab '\"`$%{}\\\\s(),", max_size=200), st.text("ab '$%s(", max_size=60))
@settings(max_examples=settings().max_examples * 20 // 10, deadline=None)
def test_any_title_is_searched_without_an_exception(text: str, title: str) -> None:
    assert FileStrings.from_text(text).contains_title(title) in {True, False}
