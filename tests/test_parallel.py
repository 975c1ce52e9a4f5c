"""All tests and all joined cases run, and what failed is named."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from tests.parallel import is_reported, join_cases, run_cases

ROOT = Path(__file__).resolve().parent.parent
OUTCOMES: tuple[Literal["passed", "failed", "skipped"], ...] = ("passed", "failed", "skipped")
HALF = pytest.mark.parametrize("number", [1, 2, 3])


@pytest.fixture
def fixture_value() -> int:
    return 1


def test_failed_cases_are_named() -> None:
    seen: list[int] = []

    def holds(number: int) -> None:
        seen.append(number)
        if number == 2:
            pytest.fail("is even")
        assert number != 3, "is three"

    with pytest.raises(BaseExceptionGroup) as error:
        run_cases(holds, [(str(number), {"number": number}) for number in (1, 2, 3, 4)])
    assert seen == [1, 2, 3, 4]
    assert "2 of 4 cases" in str(error.value)
    assert [failure.__notes__ for failure in error.value.exceptions] == [["[2]"], ["[3]"]]


def test_passing_cases_raise_nothing() -> None:
    run_cases(str, [("1", {"object": 1})])


def test_passed_setup_and_teardown_are_not_reported() -> None:
    def list_reported(when: Literal["setup", "call", "teardown"]) -> list[bool]:
        reports = [
            pytest.TestReport("a test", ("its file", 1, "its name"), {}, outcome, None, when) for outcome in OUTCOMES
        ]
        return [is_reported(report) for report in reports]

    assert list_reported("setup") == list_reported("teardown") == [False, True, True]
    assert list_reported("call") == [True, True, True]


@HALF
def test_case_without_a_fixture(number: int) -> None:
    assert number


@HALF
def test_case_with_a_fixture(number: int, fixture_value: int) -> None:
    assert number >= fixture_value


def test_only_cases_without_fixtures_are_joined(request: pytest.FixtureRequest) -> None:
    module = request.node.parent
    assert isinstance(module, pytest.Module)
    items = [item for item in module.collect() if isinstance(item, pytest.Function)]
    names = [item.name for item in join_cases(items)]
    assert len(items) - len(names) == 2
    assert names.count("test_case_without_a_fixture") == 1
    assert sum(name.startswith("test_case_with_a_fixture[") for name in names) == 3
    assert names[-2] == "test_only_cases_without_fixtures_are_joined"


MODULES = {
    "test_first.py": """
import pathlib, pytest

@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    yield
    pathlib.Path(__file__).with_name("ended").write_text("")

@pytest.mark.parametrize("number", [1, 2])
def test_joined(number):
    print("printed", number)
    assert number == 1

def test_last(folder):
    pass
""",
    "test_second.py": """
import os

def test_before():
    pass

def test_dies():
    os._exit(3)

def test_after():
    pass
""",
    "test_third.py": "def test_third(): pass",
}


def test_each_test_is_reported_even_if_its_process_died(tmp_path: Path) -> None:
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # noqa: TID251 - a child's environment
    options = ["-p", "tests.parallel", "-p", "no:cacheprovider"]
    run = subprocess.run([*command, *options], cwd=ROOT, env=alone, capture_output=True, text=True, check=False)

    assert "3 failed, 3 passed" in run.stdout
    assert "[2]" in run.stdout
    assert "printed 2" in run.stdout
    assert run.stdout.count("Its process died.") == 2
    assert (tmp_path / "ended").exists()
