"""Fixtures of the tests of the fake servers."""

from collections.abc import Iterator

import pytest

from tests.world.fake_github import FakeGitHub


@pytest.fixture(scope="session")
def github() -> Iterator[FakeGitHub]:
    fake = FakeGitHub.start()
    yield fake
    fake.stop()
