"""Plain HTTP with a server of the tests, over connections that stay open.

No TLS, no redirects, no retry: a question is asked once. Invariant: two threads never speak over one connection, and none
that the server closed meanwhile is spoken over.
"""

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
"""What is raised where a question got no whole answer."""

LONGEST_IDLE_S: Final = 2.0
"""Node closes a connection that was idle for five seconds, perhaps just as the next question comes."""


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
    """To one server. A tenth of what a general client takes for a question, and hundreds are asked in a story."""

    url: str
    timeout: float
    idle: deque[tuple[HTTPConnection, float]] = field(default_factory=deque[tuple[HTTPConnection, float]])

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """*body* becomes JSON; None is none."""
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
        """The one that was used last, if it is still good for something."""
        while self.idle:
            connection, since = self.idle.pop()
            if time.monotonic() - since < LONGEST_IDLE_S and _is_open(connection):
                return connection
            connection.close()
        return HTTPConnection(urlsplit(self.url).netloc, timeout=self.timeout)


def _is_open(connection: HTTPConnection) -> bool:
    """An idle server says nothing, until it closes."""
    if connection.sock is None:  # it said that this answer is its last
        return False
    said = poll()
    said.register(connection.sock, POLLIN)
    return not said.poll(0)
