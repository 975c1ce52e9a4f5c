"""Connections to the door: one whose request does not come whole in time, or whose head grows too long, is closed.

Uvicorn waits for all of that for ever, so that as many silent connections as there are file descriptors would keep GitHub out. Does
not read a request, and does not answer it (`app.webhooks` refuses a body before it is closed here). Invariant: who sends no whole
head holds a connection for HEAD_SECONDS at most, and LARGEST_HEAD bytes of memory; and who sends no whole body, be it read by
anybody or not, for REST_SECONDS more.
"""

from asyncio import TimerHandle
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
REST_SECONDS: Final = 20.0
"""Longer than a body is waited for, so that its sender is told before."""

LARGEST_HEAD: Final = 64 * 1024
"""GitHub's heads take one or two thousand bytes."""


class Bounded(HttpToolsProtocol):
    """Uvicorn's protocol with an end to its patience. Between two requests of a connection it has one of its own."""

    head_seconds: ClassVar[float] = HEAD_SECONDS
    rest_seconds: ClassVar[float] = REST_SECONDS
    _in_head: bool = True
    _in_rest: bool = False
    _size: int = 0
    """How much came since the head that is awaited began."""
    _closing: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._closing = self.loop.call_later(self.head_seconds, self._give_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._size += len(data)
        if self._size > LARGEST_HEAD:
            self._give_up()
        elif self._closing is None and (self._in_head or self._in_rest):  # it did not come whole
            wait = self.head_seconds if self._in_head else self.rest_seconds
            self._closing = self.loop.call_later(wait, self._give_up)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        self._in_head, self._in_rest, self._size = False, True, 0
        self._wait_no_more()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_rest = False
        self._wait_no_more()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait_no_more(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def _give_up(self) -> None:
        self._closing = None
        self.transport.close()
