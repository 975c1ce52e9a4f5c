"""Many cases of one pure test as one item: setting up and reporting each would take longer than its call.

Only in the processes of a parallel run; in one process each case is an item, and can be picked. Nor is it reported from
there what went well before and after a call. Joins no case that has a fixture or a mark of its own. Invariant: every case runs, and each that fails is named.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import pytest

OF_EVERY_TEST = frozenset({"request", "system_certificates", "snapshot_check"})
"""What also a test that asks for nothing is given."""

Case = tuple[str, Mapping[str, Any]]


def join_cases(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The same tests in the same order, with one item for all cases that stand side by side."""
    joined: list[pytest.Item] = []
    for test, group in groupby(items, key=_test_of):
        members = list(group)
        joined.extend(members if test is None or len(members) == 1 else [_joined(test[0], members)])
    return joined


def run_cases(test: Callable[..., object], cases: Sequence[Case]) -> None:
    """Call *test* with all of *cases*. What fails is told at the end, by its name."""
    failed: list[BaseException] = []
    for name, arguments in cases:
        try:
            test(**arguments)
        except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - as pytest itself takes it
            failure.add_note(f"[{name}]")
            failed.append(failure)
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)


def is_reported(report: pytest.TestReport) -> bool:
    """What a run counts or shows: each call, and a setting up or taking down that did not go well."""
    return report.when == "call" or not report.passed


def _test_of(item: pytest.Item) -> tuple[pytest.Module, str] | None:
    """The test whose pure case this is."""
    if (
        not isinstance(item, pytest.Function)
        or not hasattr(item, "callspec")
        or not isinstance(item.parent, pytest.Module)
    ):
        return None
    given = set(_arguments(item))
    is_pure = _parameters(item.obj) == given and set(item.fixturenames) - given <= OF_EVERY_TEST
    is_plain = all(mark.name == "parametrize" and not mark.kwargs.get("indirect") for mark in item.iter_markers())
    return (item.parent, item.originalname) if is_pure and is_plain else None


@cache
def _parameters(test: Callable[..., object]) -> set[str]:
    return set(inspect.signature(test).parameters)


def _joined(module: pytest.Module, members: Sequence[pytest.Item]) -> pytest.Item:
    functions = [member for member in members if isinstance(member, pytest.Function)]
    test, name = functions[0].obj, functions[0].originalname
    cases = [(member.name.partition("[")[2][:-1], _arguments(member)) for member in functions]
    return pytest.Function.from_parent(module, name=name, callobj=lambda: run_cases(test, cases))  # pyright: ignore[reportUnknownMemberType] - its **kw has no type


def _arguments(item: pytest.Function) -> Mapping[str, Any]:
    return getattr(item, "callspec").params  # noqa: B009 - pytest does not declare it
