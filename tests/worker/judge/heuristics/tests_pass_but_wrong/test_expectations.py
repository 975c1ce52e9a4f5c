"""Expected values that were changed although no code was."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.tests_pass_but_wrong.expectations import expectation_changed

BEFORE = {
    "tests/test_a.py": "def test_a():\n    x = run()\n    assert x == 3\n",
    "src/a.py": "def run():\n    return 3\n",
}


def lines(test: str, code: str = BEFORE["src/a.py"]) -> list[int | None]:
    change = change_of(BEFORE, {"tests/test_a.py": test, "src/a.py": code})
    return [found.line for found in expectation_changed.findings(change)]


def test_another_expected_value_without_a_change_of_code_is_suspected() -> None:
    assert lines(BEFORE["tests/test_a.py"].replace("3", "4")) == [3]


@pytest.mark.parametrize(
    ("old", "new"), [("x == 3", "y == 3"), ("run()", "run(1)"), ("x == 3", "x == 4\n    assert x == 5")]
)
def test_another_assertion_is_left_alone(old: str, new: str) -> None:
    assert lines(BEFORE["tests/test_a.py"].replace(old, new)) == []


def test_a_change_of_code_may_change_what_is_expected() -> None:
    assert lines(BEFORE["tests/test_a.py"].replace("3", "4"), "def run():\n    return 4\n") == []


def test_many_values_at_once_are_another_set_of_material() -> None:
    before = "def test_a():\n" + "".join(f"    assert run({n}) == {n}\n    x()\n" for n in range(6))
    after = before.replace("== ", "== 1")
    assert [*expectation_changed.findings(change_of({"tests/test_a.py": before}, {"tests/test_a.py": after}))] == []
