"""The web's own way to Redis: one connection on the event loop, on which all deliveries ask without waiting for each other.

`worker.adapters.redis.client` blocks its thread, and a thread for each delivery costs more than all the rest of it. Does not know a key or a
script's meaning. Invariant: as there: a reply belongs to the command that is waited for longest, after any failure the
connection is thrown away, nobody waits longer than the timeout for an answer, and every command may be sent twice.
"""

import asyncio
from collections import deque
from io import BytesIO
from typing import Final, cast

from msgspec import Struct

from worker.adapters.redis.client import (
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
from worker.adapters.redis.scripts import ScriptCall, is_unknown

CONNECTION_CLOSED: Final = "the connection was closed"


class PendingCommand(Struct, frozen=True):
    """A command that was sent, and nobody answered yet."""

    answer: asyncio.Future[Reply]
    at: float


class AsyncRedisConnection(asyncio.Protocol):
    """One connection. Commands go out at once; replies come in their order."""

    def __init__(self, timeout_s: float) -> None:
        self.is_open = True
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._asked = deque[PendingCommand]()
        self._half = b""
        self._alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own has all of its methods

    def send(self, command: bytes) -> asyncio.Future[Reply]:
        """What Redis says to this. It raises Refused, OSError, or TimeoutError."""
        if not self.is_open:  # it ended right after it was made: nobody would answer
            raise ConnectionResetError(CONNECTION_CLOSED)
        asked = PendingCommand(self._loop.create_future(), self._loop.time())
        self._asked.append(asked)
        if self._alarm is None:
            self._alarm = self._loop.call_later(self._timeout_s, self._look)
        self._transport.write(command)
        return asked.answer

    def data_received(self, data: bytes) -> None:
        heard = self._half + data
        replies, whole = BytesIO(heard), 0
        try:
            while self._asked and whole < len(heard):
                self._answer(next_reply(replies))
                whole = replies.tell()
        except TruncatedReply:
            pass
        except ConnectionResetError as error:
            self.end(error)
            return
        self._half = heard[whole:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(exc if isinstance(exc, OSError) else ConnectionResetError(CONNECTION_CLOSED))

    def end(self, error: OSError) -> None:
        """Throw the connection away: nobody gets an answer any more."""
        self.is_open = False
        self._transport.abort()
        if self._alarm is not None:
            self._alarm.cancel()
        while self._asked:
            asked = self._asked.popleft()
            if not asked.answer.done():
                asked.answer.set_exception(error)

    def _answer(self, reply: Reply | RedisRefused) -> None:
        answer = self._asked.popleft().answer
        if answer.done():  # whoever asked was stopped
            return
        if isinstance(reply, RedisRefused):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)

    def _look(self) -> None:
        """Whether the first in the row waits too long: then everybody behind it does."""
        self._alarm = None
        if not self._asked:
            return
        left = self._asked[0].at + self._timeout_s - self._loop.time()
        if left <= 0:
            self.end(TimeoutError())
        else:
            self._alarm = self._loop.call_later(left, self._look)


class AsyncRedisClient:
    """The way to one Redis, for one event loop."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._address = parse_address(url)
        self._timeout_s = timeout_s
        self._talk: AsyncRedisConnection | None = None
        self._opening = asyncio.Lock()

    async def run_script(self, call: ScriptCall) -> Reply:
        """Run a script. Raises Unavailable."""
        try:
            return await self.call(*call.by_digest)
        except RedisRefused as refused:
            if not is_unknown(refused):
                raise
        return await self.call(*call.with_source)

    async def call(self, *command: Argument) -> Reply:
        """Send a command and wait for its reply. Raises Unavailable, or Refused for what no retry can help."""
        raw = encode_command(command)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                talk = self._talk
                if talk is None or not talk.is_open:
                    talk = await self._opened()
                return await talk.send(raw)
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
        """Close the connection. The lane may be used again."""
        if self._talk is not None:
            self._talk.end(ConnectionResetError(CONNECTION_CLOSED))
            self._talk = None

    async def _opened(self) -> AsyncRedisConnection:
        """The connection; of all who find none at once, one makes it, and each waits for that no longer than the timeout."""
        async with asyncio.timeout(self._timeout_s), self._opening:
            if self._talk is None or not self._talk.is_open:
                talk = await _connected(self._address, self._timeout_s)
                try:
                    for command in handshake_commands(self._address):
                        await talk.send(encode_command(command))
                except BaseException:
                    talk.end(ConnectionResetError(CONNECTION_CLOSED))
                    raise
                self._talk = talk
            return self._talk


async def _connected(to: RedisAddress, timeout_s: float) -> AsyncRedisConnection:
    loop = asyncio.get_running_loop()
    if to.path is not None:
        _, talk = await loop.create_unix_connection(lambda: AsyncRedisConnection(timeout_s), to.path)
        return talk
    ssl = True if to.is_encrypted else None  # the standard library's own context, with its checks
    _, talk = await loop.create_connection(lambda: AsyncRedisConnection(timeout_s), to.host, to.port, ssl=ssl)
    return talk
