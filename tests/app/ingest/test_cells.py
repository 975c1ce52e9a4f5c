"""The door stores a delivery in its installation's cell."""

from collections.abc import Iterator
from http import HTTPStatus

import pytest
from pydantic import SecretStr

from tests.app.web.web_server import WebServer, launch_web_server, payload
from tests.world.redis import RedisServer
from worker.adapters.redis import keys


@pytest.fixture(scope="module")
def west() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.fixture
def web_server(redis_server: RedisServer, west: RedisServer) -> Iterator[WebServer]:
    cells = {"main": SecretStr(redis_server.url), "west": SecretStr(west.url)}
    with launch_web_server(redis_server, cells=cells) as door:
        door.reset()
        west.execute("FLUSHALL")
        yield door


def stored(server: RedisServer) -> bool:
    return bool(server.execute("KEYS", "assay:delivery:*"))


@pytest.mark.parametrize(
    ("residence", "is_west"),
    [(None, False), ("main", False), ("main moved west", False), ("west", True), ("west moved main", True)],
)
def test_a_delivery_goes_to_the_cell_of_the_table(
    web_server: WebServer, redis_server: RedisServer, west: RedisServer, residence: str | None, *, is_west: bool
) -> None:
    if residence:
        web_server.redis_client.hset(keys.CELLS.name, "1", residence)
    assert web_server.deliver("pull_request", payload()).status_code == HTTPStatus.ACCEPTED
    assert (stored(redis_server), stored(west)) == (not is_west, is_west)


@pytest.mark.parametrize(
    ("residence", "reason"),
    [
        ("west moving main", "installation 1 is being moved to the cell west"),
        ("main moving west", "installation 1 is being moved to the cell main"),
        ("east", "ASSAY_CELLS lacks the cell east of installation 1"),
    ],
)
def test_a_delivery_without_a_cell_is_to_come_again(
    web_server: WebServer, redis_server: RedisServer, west: RedisServer, residence: str, reason: str
) -> None:
    web_server.redis_client.hset(keys.CELLS.name, "1", residence)
    for event, content in (
        ("pull_request", payload()),
        ("installation", {"action": "created", "installation": {"id": 1}}),
    ):
        answer = web_server.deliver(event, content)
        assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert int(answer.headers["Retry-After"]) > 0
        assert reason in answer.json()["error"]
    assert not stored(redis_server)
    assert not stored(west)


def test_another_installation_is_not_held_up(web_server: WebServer, redis_server: RedisServer) -> None:
    web_server.redis_client.hset(keys.CELLS.name, "1", "west moving main")
    assert web_server.deliver("pull_request", payload(installation={"id": 2})).status_code == HTTPStatus.ACCEPTED
    assert stored(redis_server)
