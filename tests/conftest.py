"""Settings of a whole test run: hypothesis profiles, garbage collection, and the order of tests in parallel runs."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from tests.golden.golden import Golden
from tests.join_cases import is_reported, join_cases
from tests.world.product import AUTHORITY

HERE = Path(__file__).parent
SDK = """
adapters/anthropic evaluation wiring/test_delegate.py test_metis.py wiring/test_judge.py judge/llm/test_reply.py
"""
"""The tests in tests/worker that load the model's SDK, which takes more than a second."""
LOADING = (HERE / "conversations", *(HERE / "worker" / name for name in SDK.split()))

settings.register_profile("whole", deadline=None)  # timings decide no test
settings.register_profile("quick", settings.get_profile("whole"), max_examples=10)  # CI draws all
settings.load_profile("whole")

sys.dont_write_bytecode = False  # one process compiles a module for all


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files again")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collected tests live until the end, so the garbage collector skips them."""
    gc.disable()
    try:
        share_compiling(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000)  # a test leaves little garbage


def share_compiling(config: pytest.Config) -> None:
    """Each process of a full run imports other modules first and finds the rest compiled."""
    process = getattr(config, "workerinput", None)
    if process is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    modules = sorted(".".join(path.relative_to(HERE.parent).with_suffix("").parts) for path in HERE.rglob("test_*.py"))
    first = len(modules) * int(process["workerid"].removeprefix("gw")) // process["workercount"]
    for module in modules[first:] + modules[:first]:
        with suppress(Exception, pytest.skip.Exception):  # the collection reports it
            import_module(module)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Conversations run first in one process, then tests that load the SDK, so that few processes load it."""
    if hasattr(config, "workerinput"):
        items[:] = join_cases(items)
    items.sort(key=lambda item: position_of(item.path))


@cache
def position_of(module: Path) -> int:
    around = {module, *module.parents}
    return next((number for number, path in enumerate(LOADING) if path in around), len(LOADING))


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A process of a parallel run sends only the reports that count, since sending takes longer than many tests."""
    if not hasattr(item.config, "workerinput"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if is_reported(report):
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session", autouse=True)
def system_certificates() -> Iterator[dict[str, str]]:
    """The machine's own certificate variables, for tests that use the internet; all others trust the fake servers."""
    variables = {name: os.environ[name] for name in ("SSL_CERT_FILE",) if name in os.environ}  # noqa: TID251 - the machine's own value
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(AUTHORITY))
        yield variables


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    return Golden(is_updated=bool(pytestconfig.getoption("--update-golden")))
