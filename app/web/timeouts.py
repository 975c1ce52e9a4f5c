"""Connections to the door: one whose request does not come whole in time, or whose head grows too long, is closed.

Uvicorn waits for all of that for ever, so that as many silent connections as there are file descriptors would keep GitHub out. Does
not read a request, and does not answer it (`app.web.webhooks` refuses a body before it is closed here). Invariant: who sends no whole
head holds a connection for HEADER_TIMEOUT_S at most, and MAX_HEADER_BYTES bytes of memory; and who sends no whole body, be it read by
anybody or not, for BODY_TIMEOUT_S more; each to CHECK_INTERVAL_S.
"""

import asyncio
from collections.abc import Iterable
from heapq import nsmallest
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEADER_TIMEOUT_S: Final = 10.0
BODY_TIMEOUT_S: Final = 20.0
"""Longer than a body is waited for, so that its sender is told before."""

CHECK_INTERVAL_S: Final = 1.0
"""All are looked at together so often: a timer for each request would cost a tenth of what a delivery does."""

MAX_CONNECTIONS: Final = 1_000
"""One takes 15 KB, whatever it sends."""

MAX_EVICTIONS: Final = 50
"""How many are closed together where there are more: to look for them takes as long as to answer some deliveries."""

MAX_HEADER_BYTES: Final = 64 * 1024
"""GitHub's heads take one or two thousand bytes."""


class TimedHttpProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with an end to a head, which tells what it waits for."""

    _header_bytes: int = 0
    """How much came since the head that is awaited began."""

    reading_since: float = 0.0
    """When the newest request began, else the connection."""

    @property
    def read_timeout(self) -> float | None:
        """How long to wait for what is awaited of who sends; None: nothing is, or uvicorn itself ends the wait between two requests."""
        if _is_reading_body(self.cycle):
            return BODY_TIMEOUT_S
        return HEADER_TIMEOUT_S if self._is_reading_header() else None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.reading_since = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            evict_connections(self.connections)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.reading_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._header_bytes = self._header_bytes + len(data) if self._is_reading_header() else 0
        if self._header_bytes > MAX_HEADER_BYTES:
            self.transport.close()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.cycle.more_body = False  # uvicorn leaves it where the answer was there before

    def _is_reading_header(self) -> bool:
        return _is_idle(self.cycle) and self.timeout_keep_alive_task is None


def evict_connections(connections: Iterable[object]) -> None:
    """Close those that were waited for longest: GitHub's requests come whole within moments."""
    waited_for = [
        connection
        for connection in connections
        if isinstance(connection, TimedHttpProtocol)
        and (_is_idle(connection.cycle) or _is_reading_body(connection.cycle))
    ]
    for connection in nsmallest(MAX_EVICTIONS, waited_for, key=lambda connection: connection.reading_since):
        connection.transport.close()


def _is_idle(last: RequestResponseCycle | None) -> bool:
    """None: there was no request on this connection yet."""
    return last is None or (last.response_complete and not last.more_body)


def _is_reading_body(last: RequestResponseCycle | None) -> bool:
    return last is not None and last.more_body


class ConnectionTimeouts:
    """Closes whoever was waited for long enough."""

    def __init__(self) -> None:
        self._since: dict[TimedHttpProtocol, tuple[object, float]] = {}

    def close_expired(self, connections: Iterable[object], now: float) -> None:
        """To be called every CHECK_INTERVAL_S with all connections there are; *now*: seconds of a clock that never goes back."""
        waits: dict[TimedHttpProtocol, tuple[object, float]] = {}
        for connection in connections:
            if not isinstance(connection, TimedHttpProtocol) or (patience := connection.read_timeout) is None:
                continue
            what = (connection.cycle, patience)
            before = self._since.get(connection, (None, now))
            since = before[1] if before[0] == what else now
            if now - since >= patience:
                connection.transport.close()
            else:
                waits[connection] = (what, since)
        self._since = waits
