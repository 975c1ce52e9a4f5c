"""Transactions: a write applies only if what was read has not changed, else the operation runs again."""

import asyncio
from contextlib import closing

import pytest

from tests.world.redis import RedisServer
from worker.adapters.redis.connection import transactions
from worker.adapters.redis.connection.async_client import AsyncRedisClient
from worker.adapters.redis.connection.client import RedisClient, Reply, items, text, whole
from worker.adapters.redis.connection.transactions import MOST_ATTEMPTS, Operation, Transaction, commit_async, run
from worker.adapters.redis.store import Store
from worker.errors import Unavailable

READS = {
    "nothing": ("GET", "none"),
    "a string": ("GET", "string"),
    "a binary string": ("GET", "binary"),
    "a number": ("SCARD", "set"),
    "a list with an absent value": ("HMGET", "hash", "a", "none", "b"),
    "a list": ("ZRANGE", "zset", 0, -1, "WITHSCORES"),
    "a status": ("TYPE", "set"),
}


@pytest.mark.parametrize("command", READS.values(), ids=READS)
def test_write_applies_after_unchanged_reads(store: Store, command: tuple[str | int, ...]) -> None:
    store.client.pipeline(
        [
            ("SET", "string", "held"),
            ("SET", "binary", b"\xff\x00\r\n"),
            ("SADD", "set", "x"),
            ("HSET", "hash", "a", "1", "b", "2"),
            ("ZADD", "zset", 1.5, "m"),
        ]
    )
    replies = list[list[Reply]]()

    def operation(transaction: Transaction) -> Operation[None]:
        replies.append((yield from transaction.read(command)))
        transaction.write("INCR", "written")
        transaction.write("SET", "binary2", b"\xff\x00")

    run(store.client, operation)
    assert replies == [[store.client.call(*command)]]
    assert store.client.call("GET", "written") == b"1"
    assert store.client.call("GET", "binary2") == b"\xff\x00"


CHANGES = {
    "set": ("SET", "key", "other"),
    "gone": ("DEL", "key"),
    "longer": ("APPEND", "key", "x"),
    "added": ("SADD", "members", "b"),
    "field": ("HSET", "hash", "b", "2"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_read_repeats_the_operation(store: Store, change: tuple[str, ...]) -> None:
    store.client.pipeline([("SET", "key", "first"), ("SADD", "members", "a"), ("HSET", "hash", "a", "1")])
    attempts = list[object]()

    def operation(transaction: Transaction) -> Operation[None]:
        value, members, fields = yield from transaction.read(
            ("GET", "key"), ("SMEMBERS", "members"), ("HGETALL", "hash")
        )
        attempts.append((value, sorted(map(text, items(members))), fields))
        if len(attempts) == 1:
            store.client.call(*change)
        transaction.write("SET", "result", len(attempts))

    run(store.client, operation)
    assert store.client.call("GET", "result") == b"2"
    assert attempts[0] != attempts[1]


def test_peeked_value_may_change(store: Store) -> None:
    attempts = list[int]()

    def operation(transaction: Transaction) -> Operation[None]:
        yield from transaction.peek(("GET", "key"))
        attempts.append(whole(store.client.call("INCR", "key")))
        transaction.write("SET", "result", len(attempts))

    run(store.client, operation)
    assert attempts == [1]


def test_transaction_knows_the_servers_time_and_may_only_read(store: Store) -> None:
    def operation(transaction: Transaction) -> Operation[float]:
        yield from transaction.read(("GET", "key"))
        first = transaction.now
        yield from transaction.read(("GET", "key"))
        assert transaction.now == first
        return first

    seconds = whole(items(store.client.call("TIME"))[0])
    assert 0 <= run(store.client, operation) / 1000 - seconds < 60


def test_transaction_gives_up_after_repeated_conflicts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MOST_PAUSE_S", 0)

    def operation(transaction: Transaction) -> Operation[None]:
        yield from transaction.read(("GET", "key"))
        store.client.call("INCR", "key")
        transaction.write("SET", "result", 1)

    with pytest.raises(Unavailable, match="conflicting changes"):
        run(store.client, operation)
    assert store.client.call("GET", "key") == b"%d" % MOST_ATTEMPTS
    assert store.client.call("EXISTS", "result") == 0


def test_script_is_sent_again_to_a_server_without_it(store: Store) -> None:
    store.client.call("SCRIPT", "FLUSH")

    def operation(transaction: Transaction) -> Operation[None]:
        yield from transaction.read(("GET", "key"))
        transaction.write("SET", "result", "1")

    run(store.client, operation)
    assert store.client.call("GET", "result") == b"1"


def test_expected_value_decides_in_an_asynchronous_commit(store: Store, redis_server: RedisServer) -> None:
    store.client.call("SCRIPT", "FLUSH")

    async def add_once() -> bool:
        transaction = Transaction()
        transaction.expect(("EXISTS", "marker"), 0)
        transaction.write("SET", "marker", 1)
        transaction.write("RPUSH", "list", "entry")
        with closing(AsyncRedisClient(redis_server.url, 5)) as client:
            return await commit_async(client, transaction)

    assert [asyncio.run(add_once()) for _ in range(2)] == [True, False]
    assert store.client.call("LLEN", "list") == 1


def test_write_with_too_few_replicas_is_refused(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second attempt that finds the write of the first fails, too."""
    monkeypatch.setattr(transactions, "CONFIRMATION_MS", 10)

    def add_once(transaction: Transaction) -> Operation[None]:
        (marker,) = yield from transaction.read(("EXISTS", "marker"))
        if not marker:
            transaction.write("SET", "marker", 1)

    async def append_once() -> bool:
        transaction = Transaction()
        transaction.expect(("EXISTS", "entry"), 0)
        transaction.write("SET", "entry", 1)
        with closing(AsyncRedisClient(redis_server.url, 5, replicas=1)) as client:
            return await commit_async(client, transaction)

    for _ in range(2):
        with (
            closing(RedisClient(redis_server.url, 5, replicas=1)) as client,
            pytest.raises(Unavailable, match="0 of 1 replicas have the last write"),
        ):
            run(client, add_once)
        with pytest.raises(Unavailable, match="0 of 1 replicas have the last write"):
            asyncio.run(append_once())
