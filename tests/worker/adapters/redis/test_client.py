"""The blocking and the asynchronous Redis client, on a real server and on one that misbehaves."""

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


class WaitingAsyncClient:
    """The asynchronous client, for callers that wait for each reply."""

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


Client = RedisClient | WaitingAsyncClient
NewClient = type[RedisClient] | type[WaitingAsyncClient]


@pytest.fixture(params=[RedisClient, WaitingAsyncClient], ids=["blocking", "loop"])
def new_client(request: pytest.FixtureRequest) -> NewClient:
    return request.param


@pytest.fixture
def url(store: Store) -> str:
    return store.url.get_secret_value()


@pytest.fixture
def client(new_client: NewClient, url: str) -> Iterator[Client]:
    with closing(new_client(url, 1)) as redis_client:
        yield redis_client


def test_refused_command_raises_and_keeps_the_connection(client: Client) -> None:
    client.call("SET", "k", "v")
    first = client.call("CLIENT", "ID")
    with pytest.raises(RedisRefused, match="WRONGTYPE") as refused:
        client.call("LPUSH", "k", "v")
    assert refused.value.__cause__ is None  # a cause that is the error itself makes an endless chain
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        client.pipeline([("GET", "k"), ("LPUSH", "k", "v"), ("GET", "k")])
    assert (client.call("GET", "k"), client.call("CLIENT", "ID")) == (b"v", first)


@pytest.mark.parametrize(("setting", "problem"), [("maxmemory", "OOM"), ("maxclients", "")])
def test_server_limit_raises_unavailable(store: Store, client: Client, setting: str, problem: str) -> None:
    _, before = items(store.client.call("CONFIG", "GET", setting))
    store.client.call("CONFIG", "SET", setting, 1)
    try:
        with pytest.raises(Unavailable, match=f"Redis is unavailable: .*{problem}"):
            client.call("SET", "k", "v")
    finally:
        store.client.call("CONFIG", "SET", setting, text(before))


def test_connection_to_a_replica_is_dropped(store: Store, client: Client) -> None:
    first = client.call("CLIENT", "ID")
    store.client.call("REPLICAOF", "127.0.0.1", 1)
    try:
        with pytest.raises(Unavailable, match="READONLY"):
            client.call("SET", "k", "v")
    finally:
        store.client.call("REPLICAOF", "NO", "ONE")
    assert client.call("CLIENT", "ID") != first


def test_dropped_connection_is_replaced(store: Store, client: Client) -> None:
    first = whole(client.call("CLIENT", "ID"))
    store.client.call("CLIENT", "KILL", "ID", first)
    assert client.call("PING") == b"PONG"
    assert client.call("CLIENT", "ID") != first


def test_client_reconnects_after_a_server_restart(new_client: NewClient, own_server: RedisServer) -> None:
    with closing(new_client(own_server.url, 1)) as client:
        client.call("SET", "k", "v")
        own_server.kill()
        with pytest.raises(Unavailable, match="Redis is unavailable"):
            client.call("GET", "k")
        own_server.start()
        assert client.call("GET", "k") == b"v"


@pytest.mark.parametrize("is_connected", [True, False])
def test_hanging_server_times_out_once(new_client: NewClient, redis_server: RedisServer, *, is_connected: bool) -> None:
    with closing(new_client(f"unix://{redis_server.socket}?db=3", 0.1)) as client:
        if is_connected:
            client.call("PING")
        with redis_server.freeze(), pytest.raises(Unavailable, match=r"no answer from .* in 0.1 s"):
            client.call("PING")
        assert client.call("PING") == b"PONG"


@contextmanager
def serve_bytes(raw: bytes) -> Generator[str]:
    """A server that sends the same bytes on each connection."""

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1000)
                connection.sendall(raw)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("raw", [b"", b"+PON", b"$10\r\nhalf", b"*2\r\n:1\r\n-ERR x\r\n", b"HTTP/1.1 400\r\n"])
def test_incomplete_reply_raises_unavailable(new_client: NewClient, raw: bytes) -> None:
    with serve_bytes(raw) as url, closing(new_client(url, 1)) as client, pytest.raises(Unavailable):
        client.call("PING")


def test_password_and_database_of_the_url_are_used(
    new_client: NewClient, redis_server: RedisServer, store: Store
) -> None:
    store.client.call("ACL", "SETUSER", "us", "on", ">pa/ss", "~*", "+@all")
    rest = f"{redis_server.socket}?db=3"
    try:
        with closing(new_client(f"unix://us:pa%2Fss@{rest}", 1)) as client:
            client.call("SET", "k", "in 3")
            assert text(client.call("ACL", "WHOAMI")) == "us"
        with closing(new_client(f"unix://us:wrong@{rest}", 1)) as client, pytest.raises(Unavailable, match="WRONGPASS"):
            client.call("PING")
        assert store.client.call("GET", "k") is None
    finally:
        store.client.call("ACL", "DELUSER", "us")


def test_values_are_read_back_unchanged_also_as_raw_replies(store: Store) -> None:
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


def test_threads_read_their_own_replies(store: Store) -> None:
    def echo(n: int) -> bool:
        return all(store.client.call("ECHO", f"{n}-{i}") == f"{n}-{i}".encode() for i in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(echo, range(8)))


def test_forked_child_opens_a_new_connection(store: Store) -> None:
    parent_id = whole(store.client.call("CLIENT", "ID"))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, str(store.client.call("CLIENT", "ID")).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reader, 20)) != parent_id
    assert whole(store.client.call("CLIENT", "ID")) == parent_id
    os.close(reader)
    os.close(writer)


def run_async(url: str, work: Callable[[AsyncRedisClient], Awaitable[T]], timeout_s: float = 1) -> T:

    async def run() -> T:
        with closing(AsyncRedisClient(url, timeout_s)) as client:
            return await work(client)

    return asyncio.run(run())


def test_concurrent_commands_share_one_connection(url: str) -> None:
    async def work(client: AsyncRedisClient) -> bool:
        ids = await asyncio.gather(*[client.call("CLIENT", "ID") for _ in range(20)])
        assert len({*map(whole, ids), whole(await client.call("CLIENT", "ID"))}) == 1
        messages = [f"{number}" * (1 + 5000 * (number % 3)) for number in range(200)]
        return (
            list(map(text, await asyncio.gather(*[client.call("ECHO", message) for message in messages]))) == messages
        )

    assert run_async(url, work)


async def assert_all_time_out(client: AsyncRedisClient) -> None:
    begun = asyncio.get_running_loop().time()
    errors = await asyncio.gather(*[client.call("PING") for _ in range(10)], return_exceptions=True)
    assert {str(error).partition(" from ")[0] for error in errors} == {"Redis is unavailable: no answer"}
    assert asyncio.get_running_loop().time() - begun < 0.5


def test_concurrent_commands_wait_once_for_a_hanging_server(redis_server: RedisServer) -> None:
    async def work(client: AsyncRedisClient) -> None:
        await client.call("PING")
        with redis_server.freeze():
            await assert_all_time_out(client)

    run_async(redis_server.url, work, 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run_async(f"redis://:secret@127.0.0.1:{silent.getsockname()[1]}", assert_all_time_out, 0.2)


def test_command_on_an_ended_connection_fails_immediately(redis_server: RedisServer) -> None:
    async def work() -> None:
        loop, path = asyncio.get_running_loop(), str(redis_server.socket)
        _, connection = await loop.create_unix_connection(lambda: AsyncRedisConnection(1), path)
        assert await connection.send([("PING",)]) == [b"PONG"]
        connection.end(ConnectionResetError("first"))
        await asyncio.sleep(0.01)
        with pytest.raises(ConnectionResetError, match="closed"):
            await connection.send([("PING",)])

    asyncio.run(work())


def test_each_command_has_its_own_timeout(url: str) -> None:
    async def work(client: AsyncRedisClient) -> list[object]:
        return [await client.call("BLPOP", "none", 0.3) for _ in range(2)]

    assert run_async(url, work, 0.5) == [None, None]


def test_cancelled_command_leaves_other_replies_in_order(url: str) -> None:
    async def work(client: AsyncRedisClient) -> tuple[str, bool]:
        first = await client.call("CLIENT", "ID")
        cancelled = asyncio.create_task(client.call("ECHO", "gone"))
        other = asyncio.create_task(client.call("ECHO", "there"))
        await asyncio.sleep(0)
        cancelled.cancel()
        return text(await other), await client.call("CLIENT", "ID") == first

    assert run_async(url, work) == ("there", True)


def test_command_is_encoded_in_the_redis_protocol() -> None:
    assert encode_command(("SET", b"\xff", 1, 0.5)) == b"*4\r\n$3\r\nSET\r\n$1\r\n\xff\r\n$1\r\n1\r\n$3\r\n0.5\r\n"


def test_address_is_parsed_and_hides_its_password() -> None:
    address = parse_address("rediss://us:pa%40ss@redis.example:6380/2")
    assert (str(address), address.database, address.user, address.password) == ("redis.example:6380", 2, "us", "pa@ss")
    assert address.is_encrypted
    assert "pa@ss" not in repr(address)
    assert parse_address("unix:///tmp/r.sock").path == "/tmp/r.sock"  # noqa: S108 - a name only
    assert parse_address("redis://").host == "localhost"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("redis://h/x", 'has the database "x"'),
        ("redis://h?ssl_cert_reqs=none", 'has the option "ssl_cert_reqs"'),
        ("redis://h/²", 'has the database "²"'),
        ("redis://[::1", "is no URL"),
        ("redis://h:port/0", "has a port that is none"),
    ],
)
def test_invalid_address_names_the_variable(url: str, problem: str) -> None:
    with pytest.raises(SettingError, match=f"REDIS_URL {problem}"):
        parse_address(url)


@pytest.mark.parametrize(("parse", "reply"), [(text, [b"a"]), (items, b"a"), (blob, None)])
def test_reply_of_another_type_is_refused(parse: Callable[[Reply], object], reply: Reply) -> None:
    with pytest.raises(TypeError):
        parse(reply)
    assert (text(None), text(7), whole(b"7"), whole(None), items(None)) == ("", "7", 7, 0, [])
