"""The stage of every conversation: one GitHub, one Redis, one product for all that follow one another; a new world each test.

Invariant: a test that ends well left nothing behind (`World.ends`); one that failed is broken off, so that
the next one starts clean.
"""

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from pytest_httpserver import HTTPServer

from tests.world.changes import RETRY_AT
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.fake_github import FakeGitHub
from tests.world.product import Product, build_environment, run_assay
from tests.world.pull_requests import PullRequest
from tests.world.redis import RedisServer
from tests.world.replies import reject
from tests.world.world import World

HERE = Path(__file__).parent
COMMANDS = ("serve", "work")
SWEEP_REQUEST = "^GET /app/installations$"


@dataclass
class SharedProduct:
    """The product that the stories share. It looks for work all the time: it runs only while there are stories."""

    environment: Mapping[str, str]
    _running: Product | None = None

    def ensure_running(self) -> Product:
        self._running = self._running or Product.launch(self.environment)
        return self._running

    def close(self) -> None:
        if self._running is not None:
            self._running.stop()
        self._running = None


FAILED = pytest.StashKey[bool]()
STAGE = pytest.StashKey[SharedProduct]()


def mark_slow(*values: object) -> list[Any]:
    """Further values of a story that is told with another one already: slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


class OpenWorld(Protocol):
    """Opens a world whose product has *changes* in its settings, run by *commands*."""

    def __call__(self, changes: Mapping[str, str], commands: Iterable[str] = COMMANDS) -> World: ...


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    yield
    if STAGE in item.config.stash and not (nextitem and HERE in nextitem.path.parents):
        item.config.stash[STAGE].close()


@pytest.fixture(scope="session")
def github() -> Iterator[FakeGitHub]:
    bench = FakeGitHub.start()
    yield bench
    bench.stop()


@pytest.fixture(scope="session")
def anthropic_server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.fixture(scope="session")
def shared_product(
    pytestconfig: pytest.Config, github: FakeGitHub, anthropic_server: HTTPServer, redis: RedisServer
) -> Iterator[SharedProduct]:
    url = anthropic_server.url_for("").rstrip("/")
    stage = pytestconfig.stash[STAGE] = SharedProduct(build_environment(github.info, url, redis, {}))
    yield stage
    stage.close()


@pytest.fixture
def product(shared_product: SharedProduct) -> Product:
    return shared_product.ensure_running()


@pytest.fixture
def world(
    request: pytest.FixtureRequest,
    github: FakeGitHub,
    anthropic_server: HTTPServer,
    redis: RedisServer,
    product: Product,
) -> Iterator[World]:
    made = World(github, product, FakeAnthropic(anthropic_server), redis)
    yield made
    _close(made, request.node)


@pytest.fixture
def open_world(request: pytest.FixtureRequest, github: FakeGitHub, anthropic_server: HTTPServer) -> Iterator[OpenWorld]:
    """Opens a world whose product has other settings, and a Redis of its own: slower to start."""
    with ExitStack() as open_worlds:

        def open_world(changes: Mapping[str, str], commands: Iterable[str] = COMMANDS) -> World:
            made = open_worlds.enter_context(_world(github, FakeAnthropic(anthropic_server), changes, commands))
            open_worlds.callback(_close, made, request.node)
            return made

        yield open_world


@contextmanager
def _world(
    github: FakeGitHub, model: FakeAnthropic, changes: Mapping[str, str], commands: Iterable[str]
) -> Generator[World]:
    redis = RedisServer.launch()
    try:
        told = build_environment(github.info, model.url, redis, changes)
        product = Product.launch(told, commands)
        try:
            used = redis if "REDIS_URL" in told else RedisServer(redis.folder / "data", "assay.sock")
            yield World(github, product, model, used)
        finally:
            product.stop()
    finally:
        redis.end()


def _close(world: World, node: pytest.Item) -> None:
    try:
        if FAILED in node.stash:
            world.abort()
        else:
            world.assert_clean()
    finally:
        world.close()


@contextmanager
def pause_deliveries(world: World) -> Generator[None]:
    """GitHub delivers nothing meanwhile."""
    events = world.github.control("hooks")["events"]
    world.github.control("hooks", events=[])
    try:
        yield
    finally:
        world.github.control("hooks", events=events)


def wait_for_sweep(world: World) -> None:
    """A sweep went by: what is opened from now on was not there before Assay."""
    looked = len(world.github.traffic(SWEEP_REQUEST))
    world.wait_until(lambda: len(world.github.traffic(SWEEP_REQUEST)) > looked + 1, "the repository was looked at")


def open_rejected(world: World) -> PullRequest:
    """A pull request whose first verdict is a reject."""
    pull = world.open_and_judge(reject("weak_test", RETRY_AT))
    assert pull.check.conclusion == "failure"
    return pull


def read_wait_answer(world: World, repository: str, sha: str, seconds: str = "0") -> Any:
    """What `assay wait` answers about a commit, in JSON."""
    return json.loads(
        run_assay(world.product.environment, "wait", f"{repository}@{sha}", "--timeout", seconds, "--json").stdout
    )
