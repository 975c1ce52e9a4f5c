"""Runs tests in forked processes, which share one collection, and joins the cases of a test without fixtures into one item.

Every case runs, and each failed case is named; cases with fixtures or marks of their own are not joined.
"""

import inspect
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, groupby, pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Any

import pytest
from _pytest import runner
from _pytest.capture import CaptureManager
from _pytest.terminal import TerminalReporter

from worker.process import die_with_parent

OF_EVERY_TEST = frozenset({"request", "system_certificates", "snapshot_check"})
"""Fixtures of every test."""

Case = tuple[str, Mapping[str, Any]]

PARENT = pytest.StashKey[Connection]()
"""Where a forked process sends its reports."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=2, help="run the tests in so many processes")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = join_cases(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """The first process takes the modules in their order, the others from the end."""
    if session.testsfailed or session.config.option.collectonly:
        return None
    context = get_context("fork")
    modules = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
    unclaimed = context.Array("i", (0, len(modules)))
    processes, readers = list[BaseProcess](), list[Connection]()
    for number in range(session.config.option.processes):
        reader, writer = context.Pipe(duplex=False)
        claimed = chain.from_iterable(modules[index] for index in _claim_indices(unclaimed, from_end=number > 0))
        process = context.Process(target=_run_items, args=(session, claimed, writer, os.getpid()))
        process.start()
        processes.append(process)
        writer.close()
        readers.append(reader)
    try:
        _report_all(session, readers)
    finally:
        for process in processes:
            if process.pid and process.is_alive():
                os.kill(process.pid, signal.SIGINT)
            process.join()
    return True


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Send only the reports that count, since sending takes longer than many tests."""
    config = item.config
    reports = filter(is_reported, runner.runtestprotocol(item, log=False, nextitem=nextitem))
    sent = [config.hook.pytest_report_to_serializable(config=config, report=report) for report in reports]
    config.stash[PARENT].send((item.nodeid, sent))
    return True


def is_reported(report: pytest.TestReport) -> bool:
    """Each call, and each failed setup or teardown."""
    return report.when == "call" or not report.passed


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
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)


def _claim_indices(unclaimed: "SynchronizedArray[int]", *, from_end: bool) -> Iterator[int]:
    """Take indices that no other process has taken, first to last or last to first."""
    while True:
        with unclaimed:
            start, end = unclaimed[:]
            if start == end:
                return
            unclaimed[:] = (start, end - 1) if from_end else (start + 1, end)
        yield end - 1 if from_end else start


def _run_items(session: pytest.Session, items: Iterable[pytest.Item], writer: Connection, parent: int) -> None:
    die_with_parent(parent, signal.SIGINT)
    capture = session.config.pluginmanager.get_plugin("capturemanager")
    assert isinstance(capture, CaptureManager)
    capture.stop_global_capturing()  # its files are the parent's
    capture.start_global_capturing()
    capture.suspend_global_capture()
    session.config.stash[PARENT] = writer
    with suppress(KeyboardInterrupt):
        try:
            for item, following in pairwise(chain(items, [None])):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            runner.pytest_sessionfinish(session)  # ends the fixtures


def _report_all(session: pytest.Session, readers: list[Connection]) -> None:
    """Report what the processes send until all have ended."""
    config = session.config
    items = {item.nodeid: item for item in session.items}
    unreported = dict(items)
    if isinstance(terminal := config.pluginmanager.get_plugin("terminalreporter"), TerminalReporter):
        terminal.showfspath = False  # modules take turns
    while readers:
        for reader in wait(readers):
            assert isinstance(reader, Connection)
            try:
                nodeid, sent = reader.recv()
            except EOFError:
                readers.remove(reader)
                continue
            reports = [config.hook.pytest_report_from_serializable(config=config, data=data) for data in sent]
            unreported.pop(nodeid, None)
            _report(items[nodeid], reports)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    for item in unreported.values():
        _report(item, [pytest.TestReport(item.nodeid, item.location, {}, "failed", "Its process died.", "call")])


def _report(item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


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
