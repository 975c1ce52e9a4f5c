"""The door stores a delivery in its installation's cell."""

from collections.abc import Iterator
from http import HTTPStatus

import pytest
from pydantic import SecretStr

from tests.app.web.served import ServedDoor, payload, served
from tests.world.redis import Redis
from worker.adapters.redis import keys


@pytest.fixture(scope="module")
def west() -> Iterator[Redis]:
    server = Redis.started()
    yield server
    server.end()


@pytest.fixture
def door(redis_server: Redis, west: Redis) -> Iterator[ServedDoor]:
    cells = {"main": SecretStr(redis_server.url), "west": SecretStr(west.url)}
    with served(redis_server, cells=cells) as door:
        door.forget()
        west.tell("FLUSHALL")
        yield door


def stored(server: Redis) -> bool:
    return bool(server.tell("KEYS", "assay:delivery:*"))


@pytest.mark.parametrize(
    ("residence", "is_west"),
    [(None, False), ("main", False), ("main moved west", False), ("west", True), ("west moved main", True)],
)
def test_a_delivery_goes_to_the_cell_of_the_table(
    door: ServedDoor, redis_server: Redis, west: Redis, residence: str | None, *, is_west: bool
) -> None:
    if residence:
        door.at_redis.hset(keys.CELLS.name, "1", residence)
    assert door.deliver("pull_request", payload()).status_code == HTTPStatus.ACCEPTED
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
    door: ServedDoor, redis_server: Redis, west: Redis, residence: str, reason: str
) -> None:
    door.at_redis.hset(keys.CELLS.name, "1", residence)
    for event, content in (
        ("pull_request", payload()),
        ("installation", {"action": "created", "installation": {"id": 1}}),
    ):
        answer = door.deliver(event, content)
        assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert int(answer.headers["Retry-After"]) > 0
        assert reason in answer.json()["error"]
    assert not stored(redis_server)
    assert not stored(west)


def test_another_installation_is_not_held_up(door: ServedDoor, redis_server: Redis) -> None:
    door.at_redis.hset(keys.CELLS.name, "1", "west moving main")
    assert door.deliver("pull_request", payload(installation={"id": 2})).status_code == HTTPStatus.ACCEPTED
    assert stored(redis_server)
