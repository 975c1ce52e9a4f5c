"""Many cases in one test item, and the option that runs one of them alone."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from tests.join_cases import run_cases

CaseRunner = Callable[[Callable[..., object], Iterable[tuple[str, Mapping[str, Any]]]], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--case", default="", help="run only the cases of signals whose name contains this text")


@pytest.fixture
def run_each(pytestconfig: pytest.Config) -> CaseRunner:
    """Call a check with the arguments of each named case, and report each case that fails by its name."""
    text = str(pytestconfig.getoption("--case", ""))

    def run(check: Callable[..., object], cases: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        selected = [(name, arguments) for name, arguments in cases if text in name]
        assert selected or text
        if not selected:
            pytest.skip(f"no case is called {text!r}")
        run_cases(check, selected)

    return run
