"""The web's Redis client: one pipelined connection on the event loop.

`worker.adapters.redis.connection.client` blocks its thread, and a thread for each delivery costs more than the rest of it. As
there, a failed connection is dropped, no reply takes longer than the timeout, and every command may be sent twice.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from io import BytesIO
from typing import Final, TypeVar, cast

from msgspec import Struct

from worker.adapters.redis.connection.client import (
    ATTEMPTS,
    NOT_PRIMARY,
    PAUSE_S,
    Argument,
    RedisAddress,
    RedisRefused,
    Reply,
    TruncatedReply,
    connection_error,
    encode_command,
    handshake_commands,
    next_reply,
    parse_address,
    timeout_error,
    translate_refusal,
)

T = TypeVar("T")
CONNECTION_CLOSED: Final = "the connection was closed"


class PendingPipeline(Struct):
    """Sent commands with the replies so far."""

    answer: asyncio.Future[list[Reply]]
    count: int
    at: float
    replies: list[Reply | RedisRefused] = []


class AsyncRedisConnection(asyncio.Protocol):
    """One connection. Replies arrive in the order of their commands."""

    def __init__(self, timeout_s: float) -> None:
        self.is_open = True
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._asked = deque[PendingPipeline]()
        self._half = b""
        self._unsent = list[bytes]()
        self._alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own has all of its methods

    def send(self, commands: Sequence[tuple[Argument, ...]]) -> asyncio.Future[list[Reply]]:
        """Send commands together, at the end of this turn of the event loop; the future of their replies raises RedisRefused, OSError, or TimeoutError."""
        if not self.is_open:  # it closed right after it was opened: no reply would come
            raise ConnectionResetError(CONNECTION_CLOSED)
        answer: asyncio.Future[list[Reply]] = self._loop.create_future()
        if not commands:
            answer.set_result([])
            return answer
        self._asked.append(PendingPipeline(answer, len(commands), self._loop.time()))
        if self._alarm is None:
            self._alarm = self._loop.call_later(self._timeout_s, self._look)
        if not self._unsent:  # commands of one turn of the event loop leave in one write: each costs a system call
            self._loop.call_soon(self._flush)
        self._unsent.extend(map(encode_command, commands))
        return answer

    def _flush(self) -> None:
        if self.is_open:
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        received = self._half + data
        replies, whole = BytesIO(received), 0
        try:
            while self._asked and whole < len(received):
                self._answer(next_reply(replies))
                whole = replies.tell()
        except TruncatedReply:
            pass
        except ConnectionResetError as error:
            self.end(error)
            return
        self._half = received[whole:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(exc if isinstance(exc, OSError) else ConnectionResetError(CONNECTION_CLOSED))

    def end(self, error: OSError) -> None:
        """Drop the connection and fail all pending commands."""
        self.is_open = False
        self._transport.abort()
        if self._alarm is not None:
            self._alarm.cancel()
        while self._asked:
            asked = self._asked.popleft()
            if not asked.answer.done():
                asked.answer.set_exception(error)

    def _answer(self, reply: Reply | RedisRefused) -> None:
        asked = self._asked[0]
        asked.replies.append(reply)
        if len(asked.replies) < asked.count:
            return
        self._asked.popleft()
        if asked.answer.done():  # the caller was cancelled
            return
        refused = next((reply for reply in asked.replies if isinstance(reply, RedisRefused)), None)
        if refused is not None:
            asked.answer.set_exception(refused)
        else:
            asked.answer.set_result(cast("list[Reply]", asked.replies))

    def _look(self) -> None:
        """Fail the connection if its oldest command has timed out: all later ones would, too."""
        self._alarm = None
        if not self._asked:
            return
        left = self._asked[0].at + self._timeout_s - self._loop.time()
        if left <= 0:
            self.end(TimeoutError())
        else:
            self._alarm = self._loop.call_later(left, self._look)


class AsyncRedisClient:
    """Client of one Redis, for one event loop. *replicas*: as of `RedisClient`."""

    def __init__(self, url: str, timeout_s: float, replicas: int = 0) -> None:
        self.replicas = replicas
        self._address = parse_address(url)
        self._timeout_s = timeout_s
        self._talk: AsyncRedisConnection | None = None
        self._opening = asyncio.Lock()

    async def call(self, *command: Argument) -> Reply:
        """Send a command and wait for its reply.

        Raises Unavailable, or RedisRefused for an error that a retry does not change.
        """
        return (await self.pipeline([command]))[0]

    async def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        """Send commands together; their replies in order. Raises as `call` does."""
        return await self._with_retries(lambda connection: connection.send(commands))

    async def _with_retries(self, work: Callable[[AsyncRedisConnection], Awaitable[T]]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                talk = self._talk
                if talk is None or not talk.is_open:
                    talk = await self._open_connection()
                return await work(talk)
            except TimeoutError as error:
                raise timeout_error(self._address, self._timeout_s) from error
            except OSError as error:
                if attempt == ATTEMPTS:
                    raise connection_error(self._address, error) from error
                await asyncio.sleep(PAUSE_S * attempt)
            except RedisRefused as refused:
                if refused.line.startswith(NOT_PRIMARY):
                    self.close()
                if (translated := translate_refusal(refused)) is refused:
                    raise
                raise translated from refused
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def close(self) -> None:
        """Close the connection. A later call opens a new one."""
        if self._talk is not None:
            self._talk.end(ConnectionResetError(CONNECTION_CLOSED))
            self._talk = None

    async def _open_connection(self) -> AsyncRedisConnection:
        """The open connection. Concurrent callers share one attempt to open it, and each waits at most the timeout."""
        async with asyncio.timeout(self._timeout_s), self._opening:
            if self._talk is None or not self._talk.is_open:
                talk = await _connect(self._address, self._timeout_s)
                try:
                    await talk.send(handshake_commands(self._address))
                except BaseException:
                    talk.end(ConnectionResetError(CONNECTION_CLOSED))
                    raise
                self._talk = talk
            return self._talk


async def _connect(to: RedisAddress, timeout_s: float) -> AsyncRedisConnection:
    loop = asyncio.get_running_loop()
    if to.path is not None:
        _, talk = await loop.create_unix_connection(lambda: AsyncRedisConnection(timeout_s), to.path)
        return talk
    ssl = True if to.is_encrypted else None  # the standard library's own context, with its checks
    _, talk = await loop.create_connection(lambda: AsyncRedisConnection(timeout_s), to.host, to.port, ssl=ssl)
    return talk
