"""Cases that are joined are all still run, and what fails of them is named."""

from typing import Literal

import pytest

from tests.join_cases import is_reported, join_cases, run_cases

OUTCOMES: tuple[Literal["passed", "failed", "skipped"], ...] = ("passed", "failed", "skipped")
HALF = pytest.mark.parametrize("number", [1, 2, 3])


@pytest.fixture
def own() -> int:
    return 1


def test_what_fails_is_named_and_keeps_nothing_else_from_its_run() -> None:
    seen: list[int] = []

    def holds(number: int) -> None:
        seen.append(number)
        if number == 2:
            pytest.fail("is even")
        assert number != 3, "is three"

    with pytest.raises(BaseExceptionGroup) as told:
        run_cases(holds, [(str(number), {"number": number}) for number in (1, 2, 3, 4)])
    assert seen == [1, 2, 3, 4]
    assert "2 of 4 cases" in str(told.value)
    assert [failure.__notes__ for failure in told.value.exceptions] == [["[2]"], ["[3]"]]


def test_where_nothing_fails_nothing_is_told() -> None:
    run_cases(str, [("1", {"object": 1})])


def test_only_a_setting_up_or_taking_down_that_went_well_is_no_news() -> None:
    def told(when: Literal["setup", "call", "teardown"]) -> list[bool]:
        reports = [pytest.TestReport("a test", ("its file", 1, "its name"), {}, one, None, when) for one in OUTCOMES]
        return [is_reported(report) for report in reports]

    assert told("setup") == told("teardown") == [False, True, True]
    assert told("call") == [True, True, True]


@HALF
def test_a_case_that_asks_for_nothing(number: int) -> None:
    assert number


@HALF
def test_a_case_with_something_of_its_own(number: int, own: int) -> None:
    assert number >= own


def test_only_cases_that_ask_for_nothing_are_joined(request: pytest.FixtureRequest) -> None:
    module = request.node.parent
    assert isinstance(module, pytest.Module)
    items = [item for item in module.collect() if isinstance(item, pytest.Function)]
    names = [item.name for item in join_cases(items)]
    assert len(items) - len(names) == 2
    assert names.count("test_a_case_that_asks_for_nothing") == 1
    assert sum(name.startswith("test_a_case_with_something_of_its_own[") for name in names) == 3
    assert names[-1] == "test_only_cases_that_ask_for_nothing_are_joined"
