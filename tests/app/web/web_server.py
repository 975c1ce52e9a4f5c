"""The web server on loopback, served as in production, and a client that signs as GitHub does."""

import base64
import hmac
import io
import json
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast
from uuid import uuid4

import httpx
from pydantic import SecretStr

from app.web.server import create_app, listen, web_server
from tests.world.redis import RedisServer
from worker.adapters.redis.connection.client import RedisClient
from worker.adapters.redis.queues import RedisInbox
from worker.adapters.redis.store import Store, open_store
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.settings import AppCredentials, Settings, Timing

OUR_APP: Final = 4242
SECRET, NEXT_SECRET = "today's-secret", "tomorrow's-secret"
PATH: Final = "/github/webhooks"
SHA: Final = "1" * 40


def settings(**changes: Any) -> Settings:
    credentials = AppCredentials(OUR_APP, (SecretStr("no key"),), (SecretStr(SECRET), SecretStr(NEXT_SECRET)))
    standard: dict[str, Any] = {
        "data_dir": Path("/dev/null/nowhere"),
        "app": credentials,
        "store_keys": (SecretStr(base64.b64encode(b"k" * 32).decode()),),
        "timing": Timing(quiet_window=0, redis_timeout=0.3),
    }
    return Settings(**{**standard, **changes})


def signature(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()


def payload(action: str = "opened", **changes: Any) -> dict[str, Any]:
    """The smallest delivery about a pull request."""
    return {
        "action": action,
        "installation": {"id": 1},
        "repository": {"id": 7, "full_name": "acme/widgets"},
        "pull_request": {"number": 3, "draft": False, "head": {"sha": SHA}},
        **changes,
    }


def comment(body: str) -> dict[str, Any]:
    written = {"id": 55, "body": body, "user": {"login": "alice", "type": "User"}}
    issue = {"number": 3, "state": "open", "pull_request": {"url": "x"}}
    return payload("created", issue=issue, comment=written)


class WebServer:
    """A running web server, its client, its log and its Redis."""

    def __init__(self, url: str, log: io.StringIO, redis: RedisServer) -> None:
        self.redis = redis
        self.log = log
        self.redis_client = redis.client
        self.http = httpx.Client(base_url=url, timeout=10)

    def deliver(self, event_name: str, content: Any, headers: Mapping[str, str | None] | None = None) -> httpx.Response:
        """Send one delivery. A *content* that is no bytes becomes JSON; a header of None is left out."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.post(body, {**standard_headers(event_name, body), **(headers or {})})

    def post(self, body: bytes | Iterator[bytes], headers: Mapping[str, str | None]) -> httpx.Response:
        sent = {name: value for name, value in headers.items() if value is not None}
        return self.http.post(PATH, content=body, headers=sent)

    def apply(self) -> list[IntakeOutcome]:
        """Apply the deliveries of the inbox."""
        with closing(RedisClient(self.redis.url, 5)) as client:
            inbox = RedisInbox(client, Timing(), timedelta(days=1))
            return [applied.outcome for entry in inbox.read(100) if (applied := inbox.apply(entry))]

    @property
    def log_lines(self) -> list[dict[str, Any]]:
        """The log since the last reset."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def reset(self) -> None:
        self.log.seek(0)
        self.log.truncate()
        cast("Any", self.redis_client).flushall()


def standard_headers(event_name: str, body: bytes) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event_name,
        "X-GitHub-Delivery": str(uuid4()),
        "X-Hub-Signature-256": signature(body),
    }


@contextmanager
def serve_web(configured: Settings, log: io.StringIO) -> Generator[tuple[str, Store]]:
    """The web process in a thread. Yields its URL, and its store."""
    with open_store(configured) as store, listen("127.0.0.1", 0) as listening:
        server = web_server(create_app(configured, store, log))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", store
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def launch_web_server(redis: RedisServer, **changes: Any) -> Generator[WebServer]:
    log = io.StringIO()
    with serve_web(settings(redis_url=SecretStr(redis.url), **changes), log) as (url, _):
        server = WebServer(url, log, redis)
        try:
            yield server
        finally:
            server.http.close()
            server.redis_client.close()
