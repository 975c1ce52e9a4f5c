"""Our connection to Redis, against a real server and against one that misbehaves."""

import os
import socket
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from tests.world.redis import Redis
from worker.adapters.redis.connection.client import (
    RedisClient,
    RedisRefused,
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


def test_values_come_back_as_they_went(store: Store) -> None:
    for value in (b"", b"\r\n$5\r\n", bytes(range(256)) * 1000):
        store.client.call("SET", "k", value)
        assert store.client.call("GET", "k") == value
    assert store.client.call("GET", "none") is None
    assert store.client.call("INCRBY", "n", 7) == 7
    assert store.client.call("EVAL", "return {1, {'a', false}, 'é'}", 0) == [1, [b"a", None], "é".encode()]


def test_a_command_is_written_in_the_servers_words() -> None:
    assert encode_command(("SET", b"\xff", 1, 0.5)) == b"*4\r\n$3\r\nSET\r\n$1\r\n\xff\r\n$1\r\n1\r\n$3\r\n0.5\r\n"


def test_a_refusal_is_a_mistake_of_ours_and_the_connection_goes_on(store: Store) -> None:
    store.client.call("SET", "k", "v")
    with pytest.raises(RedisRefused, match="WRONGTYPE") as refused:
        store.client.call("LPUSH", "k", "v")
    assert refused.value.__cause__ is None  # itself, it once was: who looks for the first cause never ended
    assert store.client.call("GET", "k") == b"v"


def test_a_reply_that_is_left_unread_reads_as_any_other(store: Store) -> None:
    for value in (b"", b"\r\n$5\r\n", bytes(range(256)) * 10_000):
        store.client.call("RPUSH", "list", value)
        raw = store.client.call_raw("LRANGE", "list", 0, -1)
        assert parse_reply(raw) == store.client.call("LRANGE", "list", 0, -1)
    assert store.client.call_raw("LRANGE", "none", 0, -1) == b"*0\r\n"
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        store.client.call_raw("GET", "list")
    assert store.client.call_raw("LLEN", "list") == b":3\r\n"


def test_an_outage_that_redis_names_is_an_outage(store: Store) -> None:
    store.client.call("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(Unavailable, match="Redis is unavailable: OOM"):
            store.client.call("SET", "k", "v")
    finally:
        store.client.call("CONFIG", "SET", "maxmemory", 0)


def test_a_server_that_is_full_is_an_outage(store: Store, redis_server: Redis) -> None:
    _, most = items(store.client.call("CONFIG", "GET", "maxclients"))
    store.client.call("CONFIG", "SET", "maxclients", 1)
    try:
        with closing(RedisClient(redis_server.url, 1)) as wire, pytest.raises(Unavailable):
            wire.call("PING")
    finally:
        store.client.call("CONFIG", "SET", "maxclients", text(most))


def test_a_server_that_became_another_ones_replica_is_not_held_on_to(store: Store, redis_server: Redis) -> None:
    with closing(RedisClient(redis_server.url, 1)) as wire:
        first = wire.call("CLIENT", "ID")
        store.client.call("REPLICAOF", "127.0.0.1", 1)
        try:
            with pytest.raises(Unavailable, match="READONLY"):
                wire.call("SET", "k", "v")
        finally:
            store.client.call("REPLICAOF", "NO", "ONE")
        assert wire.call("CLIENT", "ID") != first


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


def test_a_connection_that_redis_dropped_is_replaced_unnoticed(store: Store) -> None:
    ours = whole(store.client.call("CLIENT", "ID"))
    with closing(RedisClient(store.url.get_secret_value(), 1)) as other:
        other.call("CLIENT", "KILL", "ID", ours)
    assert store.client.call("PING") == b"PONG"


def test_a_server_that_is_gone_is_unavailable_and_a_new_one_is_found() -> None:
    redis = Redis.started()
    try:
        with closing(RedisClient(redis.url, 1)) as wire:
            wire.call("SET", "k", "v")
            redis.kill()
            with pytest.raises(Unavailable, match="Redis is unavailable"):
                wire.call("GET", "k")
            redis.start()
            assert wire.call("GET", "k") == b"v"
    finally:
        redis.end()


def test_a_server_that_hangs_is_waited_for_once(redis_server: Redis) -> None:
    with closing(RedisClient(redis_server.url, 0.1)) as wire:
        wire.call("PING")
        with redis_server.frozen(), pytest.raises(Unavailable, match=r"no answer from .* in 0.1 s"):
            wire.call("PING")
        assert wire.call("PING") == b"PONG"


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
def test_half_a_reply_is_no_reply(raw: bytes) -> None:
    with answering(raw) as url, closing(RedisClient(url, 1)) as wire, pytest.raises(Unavailable):
        wire.call("PING")


def test_a_password_and_a_database_are_used(redis_server: Redis, store: Store) -> None:
    store.client.call("ACL", "SETUSER", "us", "on", ">pa/ss", "~*", "+@all")
    rest = f"{redis_server.socket}?db=3"
    try:
        with closing(RedisClient(f"unix://us:pa%2Fss@{rest}", 1)) as wire:
            wire.call("SET", "k", "in 3")
            assert text(wire.call("ACL", "WHOAMI")) == "us"
        with closing(RedisClient(f"unix://us:wrong@{rest}", 1)) as wire, pytest.raises(Unavailable, match="WRONGPASS"):
            wire.call("PING")
        assert store.client.call("GET", "k") is None
    finally:
        store.client.call("ACL", "DELUSER", "us")


def test_an_address_is_read_as_redis_py_reads_it_and_shows_no_password() -> None:
    there = parse_address("rediss://us:pa%40ss@redis.example:6380/2")
    assert (there.host, there.port, there.database, there.user, there.password) == (
        "redis.example",
        6380,
        2,
        "us",
        "pa@ss",
    )
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


def test_a_reply_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError):
        text([b"a"])
    with pytest.raises(TypeError):
        items(b"a")
    with pytest.raises(TypeError):
        blob(None)
    assert (text(None), text(7), whole(b"7"), whole(None), items(None)) == ("", "7", 7, 0, [])
