"""The cell in which the web server stores a delivery."""

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
    with launch_web_server(redis_server, cells=cells) as server:
        server.reset()
        west.execute("FLUSHALL")
        yield server


def has_delivery(server: RedisServer) -> bool:
    return bool(server.execute("KEYS", "assay:delivery:*"))


@pytest.mark.parametrize(
    ("residence", "is_west"),
    [(None, False), ("main", False), ("main moved west", False), ("west", True), ("west moved main", True)],
)
def test_delivery_is_stored_in_the_cell_of_its_installation(
    web_server: WebServer, redis_server: RedisServer, west: RedisServer, residence: str | None, *, is_west: bool
) -> None:
    if residence:
        web_server.redis_client.hset(keys.CELLS.name, "1", residence)
    assert web_server.deliver("pull_request", payload()).status_code == HTTPStatus.ACCEPTED
    assert (has_delivery(redis_server), has_delivery(west)) == (not is_west, is_west)


@pytest.mark.parametrize(
    ("residence", "reason"),
    [
        ("west moving main", "installation 1 is being moved to the cell west"),
        ("main moving west", "installation 1 is being moved to the cell main"),
        ("east", "ASSAY_CELLS lacks the cell east of installation 1"),
    ],
)
def test_delivery_is_refused_with_retry_after_while_its_cell_is_unavailable(
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
    assert not has_delivery(redis_server)
    assert not has_delivery(west)


def test_move_of_one_installation_does_not_delay_another(web_server: WebServer, redis_server: RedisServer) -> None:
    web_server.redis_client.hset(keys.CELLS.name, "1", "west moving main")
    assert web_server.deliver("pull_request", payload(installation={"id": 2})).status_code == HTTPStatus.ACCEPTED
    assert has_delivery(redis_server)
