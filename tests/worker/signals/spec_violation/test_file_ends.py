"""Citations of files of which only a diff is known, held against what that shows of their ends."""

import pytest

from tests.worker.signals.made import diff_of, plain_dossier
from tests.worker.signals.spec_violation.ruled import found
from worker.signals.analysis.change import CodeChange

LONG = "".join(f"x{n} = {n}\n" for n in range(30))
SHORT = "def f():\n    pass\n"
BEFORE = {"mid.py": LONG, "end.py": LONG, "short.py": SHORT}
AFTER = {
    "mid.py": LONG.replace("x15 = 15", "x15 = 0"),
    "end.py": LONG.replace("x28 = 28", "x28 = 0"),
    "short.py": SHORT + "\n\ndef g():\n    f()\n",
}
LINE, NAME, DOUBT = "cited_line_missing", "cited_name_missing", "citation_doubtful"


def cites(place: str, before: dict[str, str] = BEFORE, after: dict[str, str] = AFTER, *, diff: str = "") -> list[str]:
    case = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": place}]}
    return [name for name, *_ in found(CodeChange(plain_dossier(diff or diff_of(before, after), case=case)))]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("end.py:30", []),
        ("end.py:31", []),
        ("end.py:99", [LINE]),
        ("mid.py:99", []),
        ("short.py:6", []),
        ("short.py:60", [LINE]),
        ("short.py:g", []),
        ("short.py:h()", [NAME]),
        ("end.py:h", [DOUBT]),
    ],
)
def test_a_place_behind_an_end_that_the_diff_shows_is_not_there(place: str, expected: list[str]) -> None:
    assert cites(place) == expected


def test_where_no_hunk_shows_how_many_lines_were_asked_for_no_end_is_known() -> None:
    only = {"short.py": SHORT}
    assert cites("short.py:60", only, {"short.py": AFTER["short.py"]}) == []


def test_where_other_numbers_of_lines_were_asked_for_no_end_is_known() -> None:
    two = "diff --git a/{0} b/{0}\nindex 1111111..2222222 100644\n--- a/{0}\n+++ b/{0}\n@@ -5,5 +5,5 @@\n a\n b\n-c\n+d\n e\n f\n"
    three = diff_of(BEFORE, AFTER)
    assert cites("short.py:60", diff=three + two.format("z.py")) == []
    assert cites("z.py:60", diff=two.format("z.py")) == []


def test_a_file_that_is_emptied_has_no_end_that_is_shown() -> None:
    assert cites("short.py:60", BEFORE, {**AFTER, "short.py": ""}) == []


def test_a_file_of_several_hunks_is_not_shown_whole() -> None:
    before = {**BEFORE, "end.py": LONG}
    after = {**AFTER, "end.py": f"import a\n{AFTER['end.py']}"}
    assert cites("end.py:h", before, after) == [DOUBT]
    assert cites("end.py:99", before, after) == [LINE]
