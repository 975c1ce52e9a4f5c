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

from tests.world.anthropic import Anthropic
from tests.world.changes import RETRY_AT
from tests.world.github_bench import GitHub
from tests.world.product import Product, environment, run
from tests.world.pulls import Pull
from tests.world.redis import Redis
from tests.world.replies import reject
from tests.world.tester import World

HERE = Path(__file__).parent
NEEDS = ("serve", "work")
SWEEP = "^GET /app/installations$"


@dataclass
class Stage:
    """The product that the stories share. It looks for work all the time: it runs only while there are stories."""

    environment: Mapping[str, str]
    _running: Product | None = None

    def opened(self) -> Product:
        self._running = self._running or Product.started(self.environment)
        return self._running

    def close(self) -> None:
        if self._running is not None:
            self._running.stop()
        self._running = None


FAILED = pytest.StashKey[bool]()
STAGE = pytest.StashKey[Stage]()


def rare(*values: object) -> list[Any]:
    """Further values of a story that is told with another one already: slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


class Open(Protocol):
    """Opens a world whose product has *changes* in its settings, run by *commands*."""

    def __call__(self, changes: Mapping[str, str], commands: Iterable[str] = NEEDS) -> World: ...


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
def github() -> Iterator[GitHub]:
    bench = GitHub.start()
    yield bench
    bench.stop()


@pytest.fixture(scope="session")
def anthropic_server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    server = Redis.started()
    yield server
    server.end()


@pytest.fixture(scope="session")
def stage(pytestconfig: pytest.Config, github: GitHub, anthropic_server: HTTPServer, redis: Redis) -> Iterator[Stage]:
    url = anthropic_server.url_for("").rstrip("/")
    stage = pytestconfig.stash[STAGE] = Stage(environment(github.ready, url, redis, {}))
    yield stage
    stage.close()


@pytest.fixture
def product(stage: Stage) -> Product:
    return stage.opened()


@pytest.fixture
def world(
    request: pytest.FixtureRequest, github: GitHub, anthropic_server: HTTPServer, redis: Redis, product: Product
) -> Iterator[World]:
    made = World(github, product, Anthropic(anthropic_server), redis)
    yield made
    _close(made, request.node)


@pytest.fixture
def another_world(request: pytest.FixtureRequest, github: GitHub, anthropic_server: HTTPServer) -> Iterator[Open]:
    """Opens a world whose product has other settings, and a Redis of its own: slower to start."""
    with ExitStack() as open_worlds:

        def open_world(changes: Mapping[str, str], commands: Iterable[str] = NEEDS) -> World:
            made = open_worlds.enter_context(_world(github, Anthropic(anthropic_server), changes, commands))
            open_worlds.callback(_close, made, request.node)
            return made

        yield open_world


@contextmanager
def _world(github: GitHub, model: Anthropic, changes: Mapping[str, str], commands: Iterable[str]) -> Generator[World]:
    redis = Redis.started()
    try:
        told = environment(github.ready, model.url, redis, changes)
        product = Product.started(told, commands)
        try:
            used = redis if "REDIS_URL" in told else Redis(redis.folder / "data", "assay.sock")
            yield World(github, product, model, used)
        finally:
            product.stop()
    finally:
        redis.end()


def _close(world: World, node: pytest.Item) -> None:
    try:
        if FAILED in node.stash:
            world.breaks_off()
        else:
            world.ends()
    finally:
        world.close()


@contextmanager
def nothing_told(world: World) -> Generator[None]:
    """GitHub delivers nothing meanwhile."""
    events = world.github.verb("hooks")["events"]
    world.github.verb("hooks", events=[])
    try:
        yield
    finally:
        world.github.verb("hooks", events=events)


def is_seen(world: World) -> None:
    """A sweep went by: what is opened from now on was not there before Assay."""
    looked = len(world.github.traffic(SWEEP))
    world.until(lambda: len(world.github.traffic(SWEEP)) > looked + 1, "the repository was looked at")


def rejected(world: World) -> Pull:
    """A pull request whose first verdict is a reject."""
    pull = world.opened(reject("weak_test", RETRY_AT))
    assert pull.check.conclusion == "failure"
    return pull


def waited(world: World, repository: str, sha: str, seconds: str = "0") -> Any:
    """What `assay wait` answers about a commit, in JSON."""
    return json.loads(
        run(world.product.environment, "wait", f"{repository}@{sha}", "--timeout", seconds, "--json").stdout
    )
