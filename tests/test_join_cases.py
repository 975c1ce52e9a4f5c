"""All joined cases run, and failed ones are named."""

from typing import Literal

import pytest

from tests.join_cases import is_reported, join_cases, run_cases

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


def test_timeout_ends_the_cases() -> None:
    def run(number: int) -> None:
        if number == 2:
            pytest.fail("Timeout (>120.0s) from pytest-timeout.")
        assert number == 1, "not reached"

    with pytest.raises(BaseExceptionGroup, match="1 of 3 cases"):
        run_cases(run, [(str(number), {"number": number}) for number in (1, 2, 3)])


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
    assert names[-1] == "test_only_cases_without_fixtures_are_joined"
