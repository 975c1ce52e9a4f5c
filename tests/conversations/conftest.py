"""Fixtures of the conversations: one GitHub, Redis and product for all of them, and a new world for each test."""

import json
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import pytest
from pytest_httpserver import HTTPServer

from tests.world.changes import RETRY_AT
from tests.world.fake_anthropic import FakeAnthropic, Reply
from tests.world.fake_github import FakeGitHub
from tests.world.product import Product, build_environment
from tests.world.pull_requests import PullRequest
from tests.world.redis import RedisServer
from tests.world.replies import accept, reject
from tests.world.world import World

HERE = Path(__file__).parent
COMMANDS = ("serve", "work")
SWEEP_REQUEST = "^GET /app/installations$"


@dataclass
class SharedProduct:
    """The product that all conversations share; it stops after the last one."""

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
    """Mark further parameter values as slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


class OpenWorld(Protocol):
    """Opens a world whose product runs *commands* with *changes* in its settings."""

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
    fake = FakeGitHub.start()
    yield fake
    fake.stop()


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
    shared = pytestconfig.stash[STAGE] = SharedProduct(build_environment(github.info, url, redis, {}))
    yield shared
    shared.close()


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
    """Opens worlds with their own product and Redis."""
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
        settings = build_environment(github.info, model.url, redis, changes)
        product = Product.launch(settings, commands)
        try:
            used = redis if "REDIS_URL" in settings else RedisServer(redis.folder / "data", "assay.sock")
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
    """Have GitHub deliver nothing during the block."""
    events = world.github.control("hooks")["events"]
    world.github.control("hooks", events=[])
    try:
        yield
    finally:
        world.github.control("hooks", events=events)


def wait_for_sweep(world: World) -> None:
    """Wait for a sweep, so that later pull requests are not older than Assay."""
    looked = len(world.github.traffic(SWEEP_REQUEST))
    world.wait_until(lambda: len(world.github.traffic(SWEEP_REQUEST)) > looked + 1, "the next sweep is done")


def wait_for_next_second(world: World, pull: PullRequest) -> None:
    """Wait until the second of its opening is over, because GitHub tells whole seconds."""
    opened = datetime.fromisoformat(pull.view["created_at"]).timestamp()
    world.wait_until(lambda: time.time() >= opened + 1)


def open_rejected(world: World, *later_replies: Reply, **proposal: Any) -> PullRequest:
    """Open a pull request that is rejected."""
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), *later_replies, **proposal)
    assert pull.check.conclusion == "failure"
    return pull


def open_accepted(world: World, **proposal: Any) -> PullRequest:
    """Open a pull request that is accepted."""
    pull = world.open_and_judge(accept(RETRY_AT), **proposal)
    assert pull.check.conclusion == "success"
    return pull


def read_wait_answer(world: World, repository: str, sha: str, seconds: str = "0") -> Any:
    """The JSON of `assay wait` about a commit."""
    return json.loads(world.run_assay("wait", f"{repository}@{sha}", "--timeout", seconds, "--json").stdout)
