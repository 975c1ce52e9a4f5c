"""The table of pains in tests/README.md is complete and names existing tests."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SECTION = "## Twenty-five pains"


def section() -> str:
    _, heading, rest = (TESTS / "README.md").read_text(encoding="utf-8").partition(SECTION)
    assert heading
    return rest.partition("\n## ")[0]


def test_tests_named_in_the_table_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", section())
    assert len(named) >= 25
    missing = [f"{path}::{name}" for path, name in named if f"\ndef {name}(" not in (TESTS / path).read_text("utf-8")]
    assert missing == []


def test_table_has_a_row_for_each_pain() -> None:
    rows = re.findall(r"^\| (\d+) [^|]+\| `", section(), re.MULTILINE)
    assert [int(number) for number in rows] == [*range(1, 26)]


def test_test_named_after_a_pain_is_in_its_row() -> None:
    rows = {int(row[0]): row[1] for row in re.findall(r"^\| (\d+) ([^\n]*)$", section(), re.MULTILINE)}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, number in re.findall(r"^def (test_pain_(\d\d)_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert f"`{path.relative_to(TESTS)}::{name}`" in rows[int(number)], name
