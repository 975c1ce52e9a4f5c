"""What holds for a whole run of the tests: how much is drawn of each property, and what a process need not do twice.

Invariant: nothing here changes what a test finds.
"""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.world.product import AUTHORITY

STORIES = Path(__file__).parent / "conversations"

settings.register_profile("quick", max_examples=50)  # CI draws twice as many beside it

sys.dont_write_bytecode = False  # the processes of a run import the same: one of them compiles it, for all


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All that is collected lives until the end: looking for garbage in it, again and again, takes longer than collecting."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The stories first, since they take longest: so they stay in one process, whose product serves them all."""
    items.sort(key=lambda item: STORIES not in item.path.parents)


@pytest.fixture(scope="session", autouse=True)
def machines_authorities() -> Iterator[dict[str, str]]:
    """What the machine itself says of certificates, for who speaks to the world; nothing else in the tests does."""
    said = {name: os.environ[name] for name in ("SSL_CERT_FILE",) if name in os.environ}  # noqa: TID251 - it is put aside
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(AUTHORITY))
        yield said
