"""Fixtures of the bench's own tests. Does not start the product (`tests/conversations` does).

Invariant: one GitHub for the whole run of a process, a new repository for each test.
"""

from collections.abc import Iterator

import pytest

from tests.world.github_bench import GitHub


@pytest.fixture(scope="session")
def github() -> Iterator[GitHub]:
    bench = GitHub.start()
    yield bench
    bench.stop()
