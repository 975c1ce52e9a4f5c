"""Our connections to Redis, blocking and on the event loop, against a real server and against one that misbehaves."""

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TypeVar

import pytest

from tests.world.redis import RedisServer
from worker.adapters.redis.connection.async_client import AsyncRedisClient, AsyncRedisConnection
from worker.adapters.redis.connection.client import (
    Argument,
    RedisClient,
    RedisRefused,
    Reply,
    blob,
    encode_command,
    items,
    parse_address,
    parse_reply,
    text,
    whole,
)
from worker.adapters.redis.store import Store
from worker.errors import SettingError, Unavailable

T = TypeVar("T")


class OnALoop:
    """The client of the event loop, for callers that wait for each reply."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncRedisClient(url, timeout_s)

    def call(self, *command: Argument) -> Reply:
        return self._runner.run(self._client.call(*command))

    def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        return self._runner.run(self._client.pipeline(commands))

    def close(self) -> None:
        self._client.close()
        self._runner.close()


Client = RedisClient | OnALoop
Kind = type[RedisClient] | type[OnALoop]


@pytest.fixture(params=[RedisClient, OnALoop], ids=["blocking", "loop"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def url(store: Store) -> str:
    return store.url.get_secret_value()


@pytest.fixture
def client(kind: Kind, url: str) -> Iterator[Client]:
    with closing(kind(url, 1)) as made:
        yield made


# Both clients


def test_a_refusal_is_a_mistake_of_ours_and_the_connection_goes_on(client: Client) -> None:
    client.call("SET", "k", "v")
    first = client.call("CLIENT", "ID")
    with pytest.raises(RedisRefused, match="WRONGTYPE") as refused:
        client.call("LPUSH", "k", "v")
    assert refused.value.__cause__ is None  # itself, it once was: who looks for the first cause never ended
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        client.pipeline([("GET", "k"), ("LPUSH", "k", "v"), ("GET", "k")])
    assert (client.call("GET", "k"), client.call("CLIENT", "ID")) == (b"v", first)


@pytest.mark.parametrize(("setting", "problem"), [("maxmemory", "OOM"), ("maxclients", "")])
def test_an_outage_that_redis_names_is_an_outage(store: Store, client: Client, setting: str, problem: str) -> None:
    _, before = items(store.client.call("CONFIG", "GET", setting))
    store.client.call("CONFIG", "SET", setting, 1)
    try:
        with pytest.raises(Unavailable, match=f"Redis is unavailable: .*{problem}"):
            client.call("SET", "k", "v")
    finally:
        store.client.call("CONFIG", "SET", setting, text(before))


def test_a_server_that_became_another_ones_replica_is_not_held_on_to(store: Store, client: Client) -> None:
    first = client.call("CLIENT", "ID")
    store.client.call("REPLICAOF", "127.0.0.1", 1)
    try:
        with pytest.raises(Unavailable, match="READONLY"):
            client.call("SET", "k", "v")
    finally:
        store.client.call("REPLICAOF", "NO", "ONE")
    assert client.call("CLIENT", "ID") != first


def test_a_connection_that_redis_dropped_is_replaced_unnoticed(store: Store, client: Client) -> None:
    ours = whole(client.call("CLIENT", "ID"))
    store.client.call("CLIENT", "KILL", "ID", ours)
    assert client.call("PING") == b"PONG"
    assert client.call("CLIENT", "ID") != ours


def test_a_server_that_is_gone_is_unavailable_and_a_new_one_is_found(kind: Kind) -> None:
    redis = RedisServer.launch()
    try:
        with closing(kind(redis.url, 1)) as client:
            client.call("SET", "k", "v")
            redis.kill()
            with pytest.raises(Unavailable, match="Redis is unavailable"):
                client.call("GET", "k")
            redis.start()
            assert client.call("GET", "k") == b"v"
    finally:
        redis.end()


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_server_that_hangs_is_waited_for_once(kind: Kind, redis_server: RedisServer, *, is_connected: bool) -> None:
    with closing(kind(f"unix://{redis_server.socket}?db=3", 0.1)) as client:
        if is_connected:
            client.call("PING")
        with redis_server.freeze(), pytest.raises(Unavailable, match=r"no answer from .* in 0.1 s"):
            client.call("PING")
        assert client.call("PING") == b"PONG"


@contextmanager
def answering(raw: bytes) -> Generator[str]:
    """A server that says the same to everybody."""

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line:
                line.recv(1000)
                line.sendall(raw)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("raw", [b"", b"+PON", b"$10\r\nhalf", b"*2\r\n:1\r\n-ERR x\r\n", b"HTTP/1.1 400\r\n"])
def test_half_a_reply_is_no_reply(kind: Kind, raw: bytes) -> None:
    with answering(raw) as url, closing(kind(url, 1)) as client, pytest.raises(Unavailable):
        client.call("PING")


def test_a_password_and_a_database_are_used(kind: Kind, redis_server: RedisServer, store: Store) -> None:
    store.client.call("ACL", "SETUSER", "us", "on", ">pa/ss", "~*", "+@all")
    rest = f"{redis_server.socket}?db=3"
    try:
        with closing(kind(f"unix://us:pa%2Fss@{rest}", 1)) as client:
            client.call("SET", "k", "in 3")
            assert text(client.call("ACL", "WHOAMI")) == "us"
        with closing(kind(f"unix://us:wrong@{rest}", 1)) as client, pytest.raises(Unavailable, match="WRONGPASS"):
            client.call("PING")
        assert store.client.call("GET", "k") is None
    finally:
        store.client.call("ACL", "DELUSER", "us")


# The blocking one


def test_values_come_back_as_they_went_also_unread(store: Store) -> None:
    for value in (b"", b"\r\n$5\r\n", bytes(range(256)) * 10_000):
        store.client.call("SET", "k", value)
        assert store.client.call("GET", "k") == value
        store.client.call("RPUSH", "list", value)
        raw = store.client.call_raw("LRANGE", "list", 0, -1)
        assert parse_reply(raw) == store.client.call("LRANGE", "list", 0, -1)
    assert store.client.call("GET", "none") is None
    assert store.client.call("INCRBY", "n", 7) == 7
    assert store.client.call("EVAL", "return {1, {'a', false}, 'é'}", 0) == [1, [b"a", None], "é".encode()]
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.client.call_raw("GET", "list")
    assert store.client.call_raw("LRANGE", "none", 0, -1) == b"*0\r\n"


def test_threads_do_not_read_each_others_replies(store: Store) -> None:
    def asks(n: int) -> bool:
        return all(store.client.call("ECHO", f"{n}-{i}") == f"{n}-{i}".encode() for i in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(asks, range(8)))


def test_a_forked_child_speaks_on_a_connection_of_its_own(store: Store) -> None:
    ours = whole(store.client.call("CLIENT", "ID"))
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.write(writes, str(store.client.call("CLIENT", "ID")).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reads, 20)) != ours
    assert whole(store.client.call("CLIENT", "ID")) == ours
    os.close(reads)
    os.close(writes)


# The one on the event loop


def on(url: str, work: Callable[[AsyncRedisClient], Awaitable[T]], timeout_s: float = 1) -> T:
    """Do it on an event loop, with a client of its own."""

    async def run() -> T:
        with closing(AsyncRedisClient(url, timeout_s)) as client:
            return await work(client)

    return asyncio.run(run())


def test_all_that_ask_at_once_share_one_connection_and_get_their_own_answers(url: str) -> None:
    async def work(client: AsyncRedisClient) -> bool:
        ids = await asyncio.gather(*[client.call("CLIENT", "ID") for _ in range(20)])
        assert len({*map(whole, ids), whole(await client.call("CLIENT", "ID"))}) == 1
        asked = [f"{number}" * (1 + 5000 * (number % 3)) for number in range(200)]
        return list(map(text, await asyncio.gather(*[client.call("ECHO", word) for word in asked]))) == asked

    assert on(url, work)


async def all_wait(client: AsyncRedisClient) -> None:
    begun = asyncio.get_running_loop().time()
    asked = await asyncio.gather(*[client.call("PING") for _ in range(10)], return_exceptions=True)
    assert {str(error).partition(" from ")[0] for error in asked} == {"Redis is unavailable: no answer"}
    assert asyncio.get_running_loop().time() - begun < 0.5


def test_a_server_that_hangs_or_greets_nobody_is_waited_for_once_by_all_together(redis_server: RedisServer) -> None:
    async def work(client: AsyncRedisClient) -> None:
        await client.call("PING")
        with redis_server.freeze():
            await all_wait(client)

    on(redis_server.url, work, 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        on(f"redis://:secret@127.0.0.1:{silent.getsockname()[1]}", all_wait, 0.2)


def test_who_asks_on_a_connection_that_ended_waits_for_nothing(redis_server: RedisServer) -> None:
    async def work() -> None:
        loop, path = asyncio.get_running_loop(), str(redis_server.socket)
        _, talk = await loop.create_unix_connection(lambda: AsyncRedisConnection(1), path)
        assert await talk.send([("PING",)]) == [b"PONG"]
        talk.end(ConnectionResetError("first"))
        await asyncio.sleep(0.01)
        with pytest.raises(ConnectionResetError, match="closed"):
            await talk.send([("PING",)])

    asyncio.run(work())


def test_a_command_has_its_time_though_another_was_sent_before_it(url: str) -> None:
    async def work(client: AsyncRedisClient) -> list[object]:
        return [await client.call("BLPOP", "none", 0.3) for _ in range(2)]

    assert on(url, work, 0.5) == [None, None]


def test_who_stops_waiting_leaves_the_answers_of_others_where_they_belong(url: str) -> None:
    async def work(client: AsyncRedisClient) -> tuple[str, bool]:
        first = await client.call("CLIENT", "ID")
        gone = asyncio.create_task(client.call("ECHO", "gone"))
        there = asyncio.create_task(client.call("ECHO", "there"))
        await asyncio.sleep(0)
        gone.cancel()
        return text(await there), await client.call("CLIENT", "ID") == first

    assert on(url, work) == ("there", True)


# What is written and read


def test_a_command_is_written_in_the_servers_words() -> None:
    assert encode_command(("SET", b"\xff", 1, 0.5)) == b"*4\r\n$3\r\nSET\r\n$1\r\n\xff\r\n$1\r\n1\r\n$3\r\n0.5\r\n"


def test_an_address_is_read_as_redis_py_reads_it_and_shows_no_password() -> None:
    there = parse_address("rediss://us:pa%40ss@redis.example:6380/2")
    assert (str(there), there.database, there.user, there.password) == ("redis.example:6380", 2, "us", "pa@ss")
    assert there.is_encrypted
    assert "pa@ss" not in repr(there)
    assert parse_address("unix:///tmp/r.sock").path == "/tmp/r.sock"  # noqa: S108 - a name only
    assert parse_address("redis://").host == "localhost"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("redis://h/x", 'has the database "x"'),
        ("redis://h?ssl_cert_reqs=none", 'has the option "ssl_cert_reqs"'),
        ("redis://h/²", 'has the database "²"'),
        ("redis://[::1", "is no URL"),
        ("redis://h:port/0", "has a port that is none"),
    ],
)
def test_an_address_that_can_not_be_read_names_the_variable(url: str, found: str) -> None:
    with pytest.raises(SettingError, match=f"REDIS_URL {found}"):
        parse_address(url)


@pytest.mark.parametrize(("parse", "reply"), [(text, [b"a"]), (items, b"a"), (blob, None)])
def test_a_reply_of_another_kind_is_refused(parse: Callable[[Reply], object], reply: Reply) -> None:
    with pytest.raises(TypeError):
        parse(reply)
    assert (text(None), text(7), whole(b"7"), whole(None), items(None)) == ("", "7", 7, 0, [])
