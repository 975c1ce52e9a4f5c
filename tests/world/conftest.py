"""Fixtures of the bench's own tests. Does not start the product (`tests/conversations` does).

Invariant: one GitHub for the whole run of a process, a new repository for each test.
"""

from collections.abc import Iterator

import pytest

from tests.world.fake_github import FakeGitHub


@pytest.fixture(scope="session")
def github() -> Iterator[FakeGitHub]:
    bench = FakeGitHub.start()
    yield bench
    bench.stop()
