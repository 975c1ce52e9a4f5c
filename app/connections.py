"""Connections to the door: one whose request's head does not come whole in time, or grows too long, is closed.

Uvicorn waits for both for ever, so that as many silent connections as there are file descriptors would keep GitHub out. Does not
read a request and does not bound its body (`app.webhooks` does). Invariant: who sends no whole head holds a connection for
HEAD_SECONDS at most, and LARGEST_HEAD bytes of memory.
"""

from asyncio import TimerHandle
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
LARGEST_HEAD: Final = 64 * 1024
"""GitHub's heads take one or two thousand bytes."""


class Bounded(HttpToolsProtocol):
    """Uvicorn's protocol with an end to its patience."""

    head_seconds: ClassVar[float] = HEAD_SECONDS
    _head: int | None = 0
    """How much came since the head that is awaited began; None: none is awaited."""
    _closing: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._closing = self.loop.call_later(self.head_seconds, self._give_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is None:
            return
        self._head += len(data)
        if self._head > LARGEST_HEAD:
            self._give_up()
        elif self._closing is None:  # a later head, which did not come whole
            self._closing = self.loop.call_later(self.head_seconds, self._give_up)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0

    def on_headers_complete(self) -> None:
        self._head = None
        self._rest()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def _rest(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def _give_up(self) -> None:
        self._closing = None
        self.transport.close()
