"""Optimistic transactions: read, decide in Python, and write if nothing that was read has changed.

    def claim(transaction: Transaction, key: str, token: str) -> Operation[str]:
        (holder,) = yield from transaction.read(("GET", key))
        if holder is None:
            transaction.write("SET", key, token)
        return token if holder is None else text(holder)

`run` drives an operation. It runs again from its start after a conflict, so it changes nothing but its transaction. `commit.lua` applies
the commands in one step. They may be applied although the connection fails before the reply, after which the operation runs again, or
although too few replicas have them, which raises Unavailable. A later attempt has to find out by what it reads.
"""

import hashlib
import random
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from worker.adapters.redis.connection.client import (
    Argument,
    RedisClient,
    RedisRefused,
    Reply,
    member_scores,
    parse_time,
    whole,
)
from worker.adapters.redis.keys import Key
from worker.errors import Unavailable

if TYPE_CHECKING:
    from worker.adapters.redis.connection.async_client import AsyncRedisClient

T = TypeVar("T")
A = ParamSpec("A")
Part = TypeVar("Part", bound="RedisPart")
Command = tuple[Argument, ...]
Operation = Generator[Sequence[Command], list[Reply], T]
"""Yields commands to send together and is sent their replies."""

SCRIPT: Final = (Path(__file__).parent / "commit.lua").read_bytes()
DIGEST: Final = hashlib.sha1(SCRIPT, usedforsecurity=False).hexdigest()
NOT_LOADED: Final = b"NOSCRIPT"
"""Refusal by a server that lacks the script: after its start, or before the first commit."""

CONFIRMATION_MS: Final = 1_000
"""Limit of the wait for replicas."""

MOST_ATTEMPTS: Final = 100
FIRST_PAUSE_S: Final = 0.0005
MOST_PAUSE_S: Final = 0.064


class Transaction:
    """What one attempt of an operation has read, and what it is going to write."""

    def __init__(self) -> None:
        self.now = 0.0
        """Time of the server at the first read, in milliseconds."""
        self._reads: list[tuple[Command, Reply]] = []
        self._writes: list[Command] = []

    def read(self, *commands: Command) -> Operation[list[Reply]]:
        """Replies of the commands. The transaction fails if one of them would have another reply at the end."""
        replies = yield from self.peek(*commands)
        for command, reply in zip(commands, replies, strict=True):
            self.expect(command, reply)
        return replies

    def expect(self, command: Command, reply: Reply) -> None:
        """Fail if the command has another reply at the end."""
        self._reads.append((command, reply))

    def peek(self, *commands: Command) -> Operation[list[Reply]]:
        """Send commands now. Their replies may change until the end, and what they write is not undone."""
        if self.now:
            return (yield commands)
        clock, *replies = yield (("TIME",), *commands)
        self.now = parse_time(clock)
        return replies

    def write(self, *command: Argument) -> None:
        """Apply the command at the end."""
        self._writes.append(command)

    def write_each(self, commands: Iterable[Command]) -> None:
        self._writes += commands

    def mark_once(self, marker: Key) -> Operation[bool]:
        """Set a marker. False: it is set already."""
        (is_set,) = yield from self.read(("EXISTS", marker.name))
        if not is_set:
            self.write("SET", marker.name, 1, "EX", marker.seconds)
        return not is_set

    @property
    def commit(self) -> tuple[Argument, ...] | None:
        """Arguments of the script; None: nothing is to be written."""
        if not self._writes:
            return None
        parts: list[Argument] = [0, len(self._reads)]
        for command, reply in self._reads:
            form = canonical(reply)
            parts += (len(command), *command, form.decode() if form.isascii() else form)  # text is encoded faster
        for command in self._writes:
            parts += (len(command), *command)
        return tuple(parts)


def read_due(transaction: Transaction, order: Key, count: int = 1) -> Operation[list[str]]:
    """The first members of a sorted set of times, at most *count*, whose time has come."""
    (first,) = yield from transaction.read(("ZRANGE", order.name, 0, count - 1, "WITHSCORES"))
    return [name for name, at in member_scores(first) if at <= transaction.now]


def write_all(client: RedisClient, *commands: Command) -> None:
    """Apply commands together, whatever is stored. Raises Unavailable."""
    transaction = Transaction()
    transaction.write_each(commands)
    if commit := transaction.commit:
        _apply(client, commit)


def canonical(reply: Reply) -> bytes:
    """A reply as one string, as `commit.lua` makes it; two different ones never share it."""
    if reply is None:
        return b"-"
    if isinstance(reply, int):
        return b":%d" % reply
    if isinstance(reply, bytes):
        return b"$%d %b" % (len(reply), reply)
    return b"*%d %b" % (len(reply), b"".join(map(canonical, reply)))


def run(client: RedisClient, operation: Callable[[Transaction], Operation[T]]) -> T:
    """Run an operation until it commits. Raises Unavailable."""
    for attempt in range(MOST_ATTEMPTS):
        transaction = Transaction()
        steps = operation(transaction)
        try:
            commands = next(steps)
            while True:
                commands = steps.send(client.pipeline(commands))
        except StopIteration as end:
            result: T = end.value
        commit = transaction.commit
        if commit is None:
            if client.replicas:  # an earlier attempt may have written what it has read
                _is_applied(client.pipeline([("PING",), *_confirmations(client.replicas)]), client.replicas)
            return result
        if _apply(client, commit):
            return result
        # A random pause, so that many at the same data let each other pass.
        time.sleep(random.uniform(0, min(FIRST_PAUSE_S * 2**attempt, MOST_PAUSE_S)))  # noqa: S311 - no secret
    raise Unavailable("Redis", f"{MOST_ATTEMPTS} conflicting changes of the same data in a row")


class RedisPart:
    """A part of the store. Its methods raise Unavailable and are idempotent."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def perform(self, operation: Callable[[Transaction], Operation[T]]) -> T:
        """Run an operation until it commits."""
        return run(self._client, operation)


def in_transaction(
    operation: Callable[Concatenate[Part, Transaction, A], Operation[T]],
) -> Callable[Concatenate[Part, A], T]:
    """The method that runs this operation until it commits. A value that has to stay the same meanwhile is an argument."""

    @wraps(operation)
    def method(part: Part, /, *args: A.args, **kwargs: A.kwargs) -> T:
        return part.perform(lambda transaction: operation(part, transaction, *args, **kwargs))

    return method


def _apply(client: RedisClient, commit: tuple[Argument, ...]) -> bool:
    try:
        replies = client.pipeline([("EVALSHA", DIGEST, *commit), *_confirmations(client.replicas)])
    except RedisRefused as refused:
        if not refused.line.startswith(NOT_LOADED):
            raise
        replies = client.pipeline([("EVAL", SCRIPT, *commit), *_confirmations(client.replicas)])
    return _is_applied(replies, client.replicas)


async def commit_async(client: "AsyncRedisClient", transaction: Transaction) -> bool:
    """Apply a transaction that has only expectations, on the event loop. False: one of them does not hold."""
    commit = transaction.commit or ()
    try:
        replies = await client.pipeline([("EVALSHA", DIGEST, *commit), *_confirmations(client.replicas)])
    except RedisRefused as refused:
        if not refused.line.startswith(NOT_LOADED):
            raise
        replies = await client.pipeline([("EVAL", SCRIPT, *commit), *_confirmations(client.replicas)])
    return _is_applied(replies, client.replicas)


def _confirmations(replicas: int) -> list[Command]:
    """What waits until so many replicas have the write."""
    return [("WAIT", replicas, CONFIRMATION_MS)] if replicas else []


def _is_applied(replies: list[Reply], replicas: int) -> bool:
    """Whether the commands were applied, now or by an attempt before.

    Raises Unavailable where too few replicas have all that was written: a failover could lose it.
    """
    applied, *confirmed = replies
    if confirmed and whole(confirmed[0]) < replicas:
        raise Unavailable("Redis", f"{whole(confirmed[0])} of {replicas} replicas have the last write")
    return applied == 1
