"""Settings of a whole test run: hypothesis profiles, garbage collection, and the order of tests."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.golden.golden import Golden
from tests.world.product import AUTHORITY

CONVERSATIONS = Path(__file__).parent / "conversations"
settings.register_profile("whole", deadline=None)  # timings decide no test
settings.register_profile("quick", settings.get_profile("whole"), max_examples=10)  # CI draws all
settings.load_profile("whole")

sys.dont_write_bytecode = False  # one process compiles a module for all


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files again")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collected tests live until the end, so the garbage collector skips them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000)  # a test leaves little garbage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Conversations, which mostly wait, run first."""
    items.sort(key=lambda item: CONVERSATIONS not in item.path.parents)


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
