"""Connections to the door: one whose request does not come whole in time, or whose head grows too long, is closed.

Uvicorn waits for all of that for ever, so that as many silent connections as there are file descriptors would keep GitHub out. Does
not read a request, and does not answer it (`app.web.webhooks` refuses a body before it is closed here). Invariant: who sends no whole
head holds a connection for HEAD_SECONDS at most, and LARGEST_HEAD bytes of memory; and who sends no whole body, be it read by
anybody or not, for REST_SECONDS more; each to LOOK_SECONDS.
"""

import asyncio
from collections.abc import Iterable
from heapq import nsmallest
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_SECONDS: Final = 10.0
REST_SECONDS: Final = 20.0
"""Longer than a body is waited for, so that its sender is told before."""

LOOK_SECONDS: Final = 1.0
"""All are looked at together so often: a timer for each request would cost a tenth of what a delivery does."""

MOST_CONNECTIONS: Final = 1_000
"""One takes 15 KB, whatever it sends."""

GIVE_WAY: Final = 50
"""How many are closed together where there are more: to look for them takes as long as to answer some deliveries."""

LARGEST_HEAD: Final = 64 * 1024
"""GitHub's heads take one or two thousand bytes."""


class Bounded(HttpToolsProtocol):
    """Uvicorn's protocol with an end to a head, which tells what it waits for."""

    _head: int = 0
    """How much came since the head that is awaited began."""

    since: float = 0.0
    """When the newest request began, else the connection."""

    @property
    def patience(self) -> float | None:
        """How long to wait for what is awaited of who sends; None: nothing is, or uvicorn itself ends the wait between two requests."""
        if _is_cut(self.cycle):
            return REST_SECONDS
        return HEAD_SECONDS if self._is_in_head() else None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            give_way(self.connections)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._head = self._head + len(data) if self._is_in_head() else 0
        if self._head > LARGEST_HEAD:
            self.transport.close()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.cycle.more_body = False  # uvicorn leaves it where the answer was there before

    def _is_in_head(self) -> bool:
        return _is_done(self.cycle) and self.timeout_keep_alive_task is None


def give_way(connections: Iterable[object]) -> None:
    """Close those that were waited for longest: GitHub's requests come whole within moments."""
    waited_for = [
        one for one in connections if isinstance(one, Bounded) and (_is_done(one.cycle) or _is_cut(one.cycle))
    ]
    for one in nsmallest(GIVE_WAY, waited_for, key=lambda one: one.since):
        one.transport.close()


def _is_done(last: RequestResponseCycle | None) -> bool:
    """None: there was no request on this connection yet."""
    return last is None or (last.response_complete and not last.more_body)


def _is_cut(last: RequestResponseCycle | None) -> bool:
    return last is not None and last.more_body


class Watch:
    """Closes whoever was waited for long enough."""

    def __init__(self) -> None:
        self._since: dict[Bounded, tuple[object, float]] = {}

    def look(self, connections: Iterable[object], now: float) -> None:
        """To be called every LOOK_SECONDS with all connections there are; *now*: seconds of a clock that never goes back."""
        waits: dict[Bounded, tuple[object, float]] = {}
        for one in connections:
            if not isinstance(one, Bounded) or (patience := one.patience) is None:
                continue
            what = (one.cycle, patience)
            before = self._since.get(one, (None, now))
            since = before[1] if before[0] == what else now
            if now - since >= patience:
                one.transport.close()
            else:
                waits[one] = (what, since)
        self._since = waits
