"""Close connections whose request is not complete in time, or whose head is too large.

Uvicorn has no such limits, so silent connections up to the limit of file descriptors would lock GitHub out. Without a whole head a
connection lasts HEADER_TIMEOUT_S, without a whole body BODY_TIMEOUT_S more, each up to CHECK_INTERVAL_S longer.
"""

import asyncio
from collections.abc import Iterable
from heapq import nsmallest
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEADER_TIMEOUT_S: Final = 10.0
BODY_TIMEOUT_S: Final = 20.0
"""Longer than the route waits for a body, so that its sender gets an answer first."""

CHECK_INTERVAL_S: Final = 1.0
"""How often all connections are checked; a timer for each would take a tenth of a delivery's time."""

MAX_CONNECTIONS: Final = 1_000
"""Each takes 15 KB of memory."""

MAX_EVICTIONS: Final = 50
"""How many are closed beyond that: finding them takes as long as answering some deliveries."""

MAX_HEADER_BYTES: Final = 64 * 1024
"""GitHub's have one or two thousand bytes."""


class TimedHttpProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with a limit on the head, and the state that the timeouts need."""

    _header_bytes: int = 0
    """Bytes since the awaited head began."""

    reading_since: float = 0.0
    """When the newest request began, or the connection."""

    @property
    def read_timeout(self) -> float | None:
        """How long to wait for the client; None: for nothing, or for its next request, which uvicorn limits."""
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
        self.cycle.more_body = False  # uvicorn leaves it set after an early response

    def _is_reading_header(self) -> bool:
        return _is_idle(self.cycle) and self.timeout_keep_alive_task is None


def evict_connections(connections: Iterable[object]) -> None:
    """Close those that have been incomplete longest: GitHub's requests are complete within moments."""
    incomplete = [
        connection
        for connection in connections
        if isinstance(connection, TimedHttpProtocol)
        and (_is_idle(connection.cycle) or _is_reading_body(connection.cycle))
    ]
    for connection in nsmallest(MAX_EVICTIONS, incomplete, key=lambda connection: connection.reading_since):
        connection.transport.close()


def _is_idle(last: RequestResponseCycle | None) -> bool:
    """Whether no request is open. None: there was none yet."""
    return last is None or (last.response_complete and not last.more_body)


def _is_reading_body(last: RequestResponseCycle | None) -> bool:
    return last is not None and last.more_body


class ConnectionTimeouts:
    """Closes connections at their timeout."""

    def __init__(self) -> None:
        self._since: dict[TimedHttpProtocol, tuple[object, float]] = {}

    def close_expired(self, connections: Iterable[object], now: float) -> None:
        """To be called every CHECK_INTERVAL_S with all connections; *now*: seconds of a monotonic clock."""
        waits: dict[TimedHttpProtocol, tuple[object, float]] = {}
        for connection in connections:
            if not isinstance(connection, TimedHttpProtocol) or (limit := connection.read_timeout) is None:
                continue
            awaited = (connection.cycle, limit)
            before = self._since.get(connection, (None, now))
            since = before[1] if before[0] == awaited else now
            if now - since >= limit:
                connection.transport.close()
            else:
                waits[connection] = (awaited, since)
        self._since = waits
