"""An HTTP client for the tests' own servers: JSON over kept-alive connections, without TLS, redirects and retries."""

import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPMessage
from select import POLLIN, poll
from typing import Any, Final
from urllib.parse import urlsplit

CONNECTION_ERRORS: Final = (OSError, HTTPException)
"""Raised when a response is incomplete."""

LONGEST_IDLE_S: Final = 2.0
"""Node closes connections that were idle for five seconds."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: HTTPMessage
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class JsonClient:
    """A client of one server, ten times as fast as a general one."""

    url: str
    timeout: float
    idle: deque[tuple[HTTPConnection, float]] = field(default_factory=deque[tuple[HTTPConnection, float]])

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        sent = None if body is None else json.dumps(body).encode()
        named = {"User-Agent": "tests", **({"Content-Type": "application/json"} if sent else {}), **(headers or {})}
        connection = self._idle_connection()
        try:
            connection.request(method, path, sent, named)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        except BaseException:
            connection.close()
            raise
        self.idle.append((connection, time.monotonic()))
        return answer

    def close(self) -> None:
        while self.idle:
            self.idle.pop()[0].close()

    def _idle_connection(self) -> HTTPConnection:
        while self.idle:
            connection, since = self.idle.pop()
            if time.monotonic() - since < LONGEST_IDLE_S and _is_open(connection):
                return connection
            connection.close()
        return HTTPConnection(urlsplit(self.url).netloc, timeout=self.timeout)


def _is_open(connection: HTTPConnection) -> bool:
    """An idle server sends nothing until it closes."""
    if connection.sock is None:  # closed by the last response
        return False
    poller = poll()
    poller.register(connection.sock, POLLIN)
    return not poller.poll(0)
