"""Joins the cases of a test without fixtures into one item in the processes of a parallel run.

Every case runs, and each failed case is named; cases with fixtures or marks of their own are not joined.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import pytest

OF_EVERY_TEST = frozenset({"request", "system_certificates", "snapshot_check"})
"""Fixtures of every test."""

Case = tuple[str, Mapping[str, Any]]


def join_cases(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The same tests in the same order, with one item for adjacent cases of a test."""
    joined: list[pytest.Item] = []
    for test, group in groupby(items, key=_test_of):
        members = list(group)
        joined.extend(members if test is None or len(members) == 1 else [_join_members(test[0], members)])
    return joined


def run_cases(test: Callable[..., object], cases: Sequence[Case]) -> None:
    """Call *test* with all *cases*, and raise all failures at the end with their case names."""
    failed: list[BaseException] = []
    for name, arguments in cases:
        try:
            test(**arguments)
        except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - as pytest itself takes it
            failure.add_note(f"[{name}]")
            failed.append(failure)
            if str(failure).startswith("Timeout"):  # the timer of a test goes off once
                break
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)


def is_reported(report: pytest.TestReport) -> bool:
    """Each call, and each failed setup or teardown."""
    return report.when == "call" or not report.passed


def _test_of(item: pytest.Item) -> tuple[pytest.Module, str] | None:
    """The test whose case this is, if it has no fixture."""
    if not isinstance(item, pytest.Function) or not isinstance(item.parent, pytest.Module):
        return None
    if not hasattr(item, "callspec"):
        return None
    arguments = set(_arguments(item))
    is_pure = _parameters(item.obj) == arguments and set(item.fixturenames) - arguments <= OF_EVERY_TEST
    is_plain = all(mark.name == "parametrize" and not mark.kwargs.get("indirect") for mark in item.iter_markers())
    return (item.parent, item.originalname) if is_pure and is_plain else None


@cache
def _parameters(test: Callable[..., object]) -> set[str]:
    return set(inspect.signature(test).parameters)


def _join_members(module: pytest.Module, members: Sequence[pytest.Item]) -> pytest.Item:
    functions = [member for member in members if isinstance(member, pytest.Function)]
    test, name = functions[0].obj, functions[0].originalname
    cases = [(member.name.partition("[")[2][:-1], _arguments(member)) for member in functions]
    return pytest.Function.from_parent(module, name=name, callobj=lambda: run_cases(test, cases))  # pyright: ignore[reportUnknownMemberType] - its **kw has no type


def _arguments(item: pytest.Function) -> Mapping[str, Any]:
    return getattr(item, "callspec").params  # noqa: B009 - pytest does not declare it
