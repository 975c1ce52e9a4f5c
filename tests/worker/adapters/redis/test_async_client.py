"""The web's way to Redis on the event loop, against a real server and against one that misbehaves."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing
from typing import TypeVar

import pytest

from tests.worker.adapters.redis.test_client import answering
from tests.world.redis import Redis
from worker.adapters.redis.connection.async_client import AsyncRedisClient, AsyncRedisConnection
from worker.adapters.redis.connection.client import RedisClient, RedisRefused, text, whole
from worker.adapters.redis.store import Store
from worker.errors import Unavailable

T = TypeVar("T")


def on(url: str, work: Callable[[AsyncRedisClient], Awaitable[T]], timeout_s: float = 1) -> T:
    """Do it on an event loop, with a lane of its own."""

    async def run() -> T:
        with closing(AsyncRedisClient(url, timeout_s)) as lane:
            return await work(lane)

    return asyncio.run(run())


@pytest.fixture
def url(store: Store) -> str:
    return store.url.get_secret_value()


def test_all_that_ask_at_once_share_one_connection_and_get_their_own_answers(url: str) -> None:
    async def work(lane: AsyncRedisClient) -> tuple[set[int], bool]:
        clients = {whole(one) for one in await asyncio.gather(*[lane.call("CLIENT", "ID") for _ in range(20)])}
        said = [f"{number}" * (1 + 5000 * (number % 3)) for number in range(200)]
        heard = await asyncio.gather(*[lane.call("ECHO", one) for one in said])
        return {*clients, whole(await lane.call("CLIENT", "ID"))}, [text(one) for one in heard] == said

    clients, is_right = on(url, work)
    assert len(clients) == 1
    assert is_right


def test_a_refusal_is_a_mistake_of_ours_and_the_connection_goes_on(store: Store, url: str) -> None:
    store.client.call("SET", "k", "v")

    async def work(lane: AsyncRedisClient) -> bool:
        first = await lane.call("CLIENT", "ID")
        with pytest.raises(RedisRefused, match="WRONGTYPE") as refused:
            await lane.call("LPUSH", "k", "v")
        assert refused.value.__cause__ is None
        with pytest.raises(RedisRefused, match="WRONGTYPE"):
            await lane.pipeline([("GET", "k"), ("LPUSH", "k", "v"), ("GET", "k")])
        return await lane.call("CLIENT", "ID") == first

    assert on(url, work)


def test_an_outage_that_redis_names_is_an_outage(store: Store, url: str) -> None:
    store.client.call("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(Unavailable, match="Redis is unavailable: OOM"):
            on(url, lambda lane: lane.call("SET", "k", "v"))
    finally:
        store.client.call("CONFIG", "SET", "maxmemory", 0)


def test_a_connection_that_redis_dropped_is_replaced_unnoticed(store: Store, url: str) -> None:
    async def work(lane: AsyncRedisClient) -> bool:
        ours = whole(await lane.call("CLIENT", "ID"))
        store.client.call("CLIENT", "KILL", "ID", ours)
        asked = await asyncio.gather(*[lane.call("PING") for _ in range(2)])
        return asked == [b"PONG"] * 2 and whole(await lane.call("CLIENT", "ID")) != ours

    assert on(url, work)


def test_a_server_that_is_gone_is_unavailable_and_a_new_one_is_found() -> None:
    redis = Redis.started()

    async def work(lane: AsyncRedisClient) -> bytes:
        await lane.call("SET", "k", "v")
        redis.kill()
        with pytest.raises(Unavailable, match="Redis is unavailable"):
            await lane.call("GET", "k")
        redis.start()
        return text(await lane.call("GET", "k")).encode()

    try:
        assert on(redis.url, work) == b"v"
    finally:
        redis.end()


def test_a_server_that_hangs_is_waited_for_once_by_all_together(redis_server: Redis) -> None:
    async def work(lane: AsyncRedisClient) -> float:
        await lane.call("PING")
        begun = asyncio.get_running_loop().time()
        with redis_server.frozen():
            asked = await asyncio.gather(*[lane.call("PING") for _ in range(5)], return_exceptions=True)
        took = asyncio.get_running_loop().time() - begun
        assert [str(one).startswith("Redis is unavailable: no answer from") for one in asked] == [True] * 5
        assert await lane.call("PING") == b"PONG"
        return took

    assert on(redis_server.url, work, 0.2) < 0.5


def test_a_server_that_takes_no_connection_is_waited_for_no_longer(redis_server: Redis) -> None:
    async def work(lane: AsyncRedisClient) -> None:
        with redis_server.frozen(), pytest.raises(Unavailable, match=r"no answer from .* in 0.2 s"):
            await lane.call("PING")

    rest = f"{redis_server.socket}?db=3"
    on(f"unix://{rest}", work, 0.2)


def test_a_server_that_greets_nobody_is_waited_for_once_by_all_together() -> None:
    async def work(lane: AsyncRedisClient) -> float:
        begun = asyncio.get_running_loop().time()
        asked = await asyncio.gather(*[lane.call("PING") for _ in range(10)], return_exceptions=True)
        assert {str(one).partition(" from ")[0] for one in asked} == {"Redis is unavailable: no answer"}
        return asyncio.get_running_loop().time() - begun

    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert on(f"redis://:secret@127.0.0.1:{silent.getsockname()[1]}", work, 0.2) < 0.5


def test_who_asks_on_a_connection_that_ended_waits_for_nothing() -> None:
    ping = [("PING",)]

    async def work(path: str) -> None:
        _, talk = await asyncio.get_running_loop().create_unix_connection(lambda: AsyncRedisConnection(1), path)
        assert await talk.send(ping) == [b"PONG"]
        talk.end(ConnectionResetError("first"))
        await asyncio.sleep(0.01)
        with pytest.raises(ConnectionResetError, match="closed"):
            await talk.send(ping)

    redis = Redis.started()
    try:
        asyncio.run(work(str(redis.socket)))
    finally:
        redis.end()


def test_a_server_that_became_another_ones_replica_is_not_held_on_to(store: Store, url: str) -> None:
    async def work(lane: AsyncRedisClient) -> bool:
        first = await lane.call("CLIENT", "ID")
        store.client.call("REPLICAOF", "127.0.0.1", 1)
        try:
            with pytest.raises(Unavailable, match="READONLY"):
                await lane.call("SET", "k", "v")
        finally:
            store.client.call("REPLICAOF", "NO", "ONE")
        return await lane.call("CLIENT", "ID") == first

    assert not on(url, work)


def test_a_command_has_its_time_though_another_was_sent_before_it(url: str) -> None:
    async def work(lane: AsyncRedisClient) -> list[object]:
        return [await lane.call("BLPOP", "none", 0.3) for _ in range(2)]

    assert on(url, work, 0.5) == [None, None]


def test_who_stops_waiting_leaves_the_answers_of_others_where_they_belong(url: str) -> None:
    async def work(lane: AsyncRedisClient) -> tuple[str, bool]:
        first = await lane.call("CLIENT", "ID")
        gone = asyncio.create_task(lane.call("ECHO", "gone"))
        there = asyncio.create_task(lane.call("ECHO", "there"))
        await asyncio.sleep(0)
        gone.cancel()
        return text(await there), await lane.call("CLIENT", "ID") == first

    assert on(url, work) == ("there", True)


@pytest.mark.parametrize("raw", [b"", b"$10\r\nhalf", b"*2\r\n:1\r\n-ERR x\r\n", b"HTTP/1.1 400\r\n"])
def test_half_a_reply_is_no_reply(raw: bytes) -> None:
    with answering(raw) as there, pytest.raises(Unavailable, match="Redis is unavailable"):
        on(there, lambda lane: lane.call("PING"))


@pytest.fixture
def user(redis_server: Redis) -> Generator[str]:
    with closing(RedisClient(redis_server.url, 1)) as wire:
        wire.call("ACL", "SETUSER", "us", "on", ">pa/ss", "~*", "+@all")
        yield f"{redis_server.socket}?db=3"
        wire.call("ACL", "DELUSER", "us")


def test_a_password_and_a_database_are_used(store: Store, user: str) -> None:
    async def work(lane: AsyncRedisClient) -> str:
        await lane.call("SET", "k", "in 3")
        return text(await lane.call("ACL", "WHOAMI"))

    assert on(f"unix://us:pa%2Fss@{user}", work) == "us"
    with pytest.raises(Unavailable, match="WRONGPASS"):
        on(f"unix://us:wrong@{user}", lambda lane: lane.call("PING"))
    assert store.client.call("GET", "k") is None
