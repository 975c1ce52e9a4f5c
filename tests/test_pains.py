"""The table of tests/README.md names tests that are there, and leaves no complaint out."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SECTION = "## Twenty-five pains"


def section() -> str:
    _, found, rest = (TESTS / "README.md").read_text(encoding="utf-8").partition(SECTION)
    assert found
    return rest.partition("\n## ")[0]


def test_every_test_that_the_table_names_is_there() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", section())
    assert len(named) >= 25
    missing = [f"{path}::{name}" for path, name in named if f"\ndef {name}(" not in (TESTS / path).read_text("utf-8")]
    assert missing == []


def test_the_table_has_a_row_for_each_of_the_twenty_five() -> None:
    rows = re.findall(r"^\| (\d+) [^|]+\| `", section(), re.MULTILINE)
    assert [int(one) for one in rows] == [*range(1, 26)]


def test_every_test_that_is_called_after_a_pain_stands_in_its_row() -> None:
    rows = {int(one[0]): one[1] for one in re.findall(r"^\| (\d+) ([^\n]*)$", section(), re.MULTILINE)}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, number in re.findall(r"^def (test_pain_(\d\d)_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert f"`{path.relative_to(TESTS)}::{name}`" in rows[int(number)], name
