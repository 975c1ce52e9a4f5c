"""What holds for a whole run of the tests: how much is drawn of each property, and what a process need not do twice.

Invariant: nothing here changes what a test finds.
"""

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
STORIES = HERE / "conversations"
SDK = (
    "adapters/anthropic",
    "evaluation",
    "wiring/test_delegate.py",
    "test_metis.py",
    "wiring/test_judge.py",
    "judge/llm/test_reply.py",
)
"""Who in tests/worker loads the model's SDK, which takes more than a second."""
LOADING = (STORIES, *(HERE / "worker" / name for name in SDK))

settings.register_profile("whole", deadline=None)  # timings decide no test
settings.register_profile("quick", settings.get_profile("whole"), max_examples=20)  # CI draws all
settings.load_profile("whole")

sys.dont_write_bytecode = False  # the processes of a run import the same: one of them compiles it, for all


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files again")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """All that is collected lives until the end: looking for garbage in it, again and again, takes longer than collecting."""
    gc.disable()
    try:
        share_compiling(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000)  # a test leaves little: looking after every 700 things took a twenty-fifth of all


def share_compiling(config: pytest.Config) -> None:
    """The processes of a run of everything begin at different modules: each finds compiled what others came by first."""
    mine = getattr(config, "workerinput", None)
    if mine is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    modules = sorted(".".join(path.relative_to(HERE.parent).with_suffix("").parts) for path in HERE.rglob("test_*.py"))
    first = len(modules) * int(mine["workerid"].removeprefix("gw")) // mine["workercount"]
    for module in modules[first:] + modules[:first]:
        with suppress(Exception, pytest.skip.Exception):  # collecting it will tell
            import_module(module)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The stories first, since they take longest: so they stay in one process, whose product serves them all.

    After them who loads the SDK: so that few processes do.
    """
    if hasattr(config, "workerinput"):
        items[:] = join_cases(items)
    items.sort(key=lambda item: place(item.path))


@cache
def place(module: Path) -> int:
    """Whose turn it is."""
    around = {module, *module.parents}
    return next((number for number, path in enumerate(LOADING) if path in around), len(LOADING))


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """As pytest does it, but a process of a parallel run tells what is news: to send a report takes longer than many a test."""
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
    """What the machine itself says of certificates, for who speaks to the world; nothing else in the tests does."""
    said = {name: os.environ[name] for name in ("SSL_CERT_FILE",) if name in os.environ}  # noqa: TID251 - it is put aside
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(AUTHORITY))
        yield said


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    return Golden(is_updated=bool(pytestconfig.getoption("--update-golden")))
