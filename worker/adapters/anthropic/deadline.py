"""The end of a question's time, whatever its server does: also one that sends a byte now and then for ever.

Does not decide what is tried again (`worker.adapters.anthropic.model` does). Invariant: when the time is up, the connection that
is in use is shut down, and whoever waits for it gets an error at once.
"""

import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, Protocol, cast

import httpx2

OPENED_EVENTS: Final = ("connect_tcp.complete", "start_tls.complete")
"""What the client tells of a connection that it made; each comes with its stream."""


class _Stream(Protocol):
    def get_extra_info(self, info: str) -> socket.socket | None: ...


class RequestDeadline:
    """Over the connections of one client, which asks one question at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: socket.socket | None = None
        self._is_over = False

    def watch(self, request: httpx2.Request) -> None:
        """A hook of the client, for each request: have it tell which connections it makes."""
        request.extensions = {**request.extensions, "trace": self._trace_event}

    @contextmanager
    def within(self, seconds: float) -> Generator[None]:
        """Shut down what is still under way after so many seconds."""
        self._is_over = False
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _trace_event(self, event: str, info: Mapping[str, object]) -> None:
        if not event.endswith(OPENED_EVENTS):
            return
        stream = cast("_Stream", info["return_value"])
        with self._lock:
            self._open = stream.get_extra_info("socket")
            if self._is_over:
                self._close_connections()

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            self._close_connections()

    def _close_connections(self) -> None:
        if self._open is not None:
            with suppress(OSError):  # it is closed already
                self._open.shutdown(socket.SHUT_RDWR)
