"""A fake GitHub server on loopback: starts `github/gh-bench.mjs`, which ends with this process."""

import json
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypedDict
from urllib.parse import urlencode

from tests.world.install import is_installed
from tests.world.json_client import Answer, JsonClient
from tests.world.node import GITHUB, node

REQUEST_TIMEOUT_S = 120.0
"""Generous: a pull request of 3,000 files takes long to create."""


class Output(TypedDict):
    title: str | None
    summary: str | None
    text: str | None
    annotations_count: int


class Annotation(TypedDict):
    path: str
    start_line: int
    end_line: int
    annotation_level: str
    title: str | None
    message: str


class AppView(TypedDict):
    id: int
    slug: str


class CheckRun(TypedDict):
    id: int
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    external_id: str
    output: Output
    annotations: list[Annotation]
    app: AppView


class Delivery(TypedDict):
    id: str
    event: str
    action: str | None
    repo: str | None
    status: int | None
    error: str | None
    answer: str
    body: str


class Exchange(TypedDict):
    """One recorded request and its response."""

    at: int
    name: str
    method: str
    path: str
    query: str
    sent: str
    status: int | None
    received: Any
    type: str
    operation: str | None
    repos: list[str]
    fault: str | None


class RepositoryState(TypedDict):
    """The content of one repository; `heard` counts the deliveries."""

    check_runs: list[CheckRun]
    deliveries: list[Delivery]
    heard: int
    comments: list[dict[str, Any]]
    reactions: list[dict[str, Any]]
    pulls: list[dict[str, Any]]
    statuses: list[dict[str, Any]]
    uploads: list[dict[str, Any]]
    alerts: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What the fake GitHub prints when it listens."""

    url: str
    port: int
    pid: int
    app_id: int
    app_slug: str
    private_key: str
    webhook_secret: str
    installation_id: int
    org: str
    tokens: dict[str, str]


class RequestRefused(AssertionError):
    """GitHub refused a request with `message`."""

    def __init__(self, request: str, answer: Answer) -> None:
        super().__init__(f"{request}: {answer.status} {answer.text}")
        self.status = answer.status
        self.message = str(answer.json().get("message", "")) if answer.text.startswith("{") else answer.text


@dataclass(frozen=True)
class FakeGitHub:
    """One running fake GitHub."""

    process: subprocess.Popen[str]
    info: ServerInfo
    client: JsonClient

    @classmethod
    def start(cls, others: Mapping[str, int] | None = None) -> Self:
        """*others*: further organizations that installed the App, and their installation ids."""
        assert is_installed(), "The fake GitHub is not installed. Run: python tests/world/install.py"
        command = [str(node()), str(GITHUB / "gh-bench.mjs"), "--port", "0", "--others", json.dumps(others or {})]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "The fake GitHub did not start; its errors are above."
        ready = ServerInfo(**json.loads(line))
        return cls(process, ready, JsonClient(ready.url, REQUEST_TIMEOUT_S))

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.communicate(timeout=10)

    @property
    def url(self) -> str:
        return self.info.url

    def control(self, name: str, /, **body: Any) -> Any:
        """A control request, such as a push, CI or a fault (github/gh/verbs.mjs)."""
        return self._request("POST", f"/_bench/{name}", body)

    def request_as(self, login: str, method: str, path: str, /, **body: Any) -> Any:
        """A REST request of a person."""
        return self._request(method, path, body or None, Authorization=f"token {self.info.tokens[login]}")

    def state(self, repository: str, *parts: str) -> RepositoryState:
        """All of *repository*, or only these *parts*, which is faster."""
        return self._query("state", repo=repository, part=parts)

    def requests(self, repository: str | None = None, *names: str | None) -> list[Exchange]:
        """Requests about *repository* by the credentials *names*; None is the installation."""
        own = f"installation:{self.info.installation_id}"
        about = {} if repository is None else {"repo": repository}
        return list(
            self._query("requests", name=[name or own for name in names] or [own], bodies="1", **about)["requests"]
        )

    def traffic(self, match: str) -> list[Exchange]:
        """Requests by any credentials whose "METHOD /path" matches."""
        return list(self._query("requests", match=match, bodies="1")["requests"])

    def redeliver_refused(self) -> int:
        """Redeliver what the product refused, and count it."""
        return int(self.control("redeliver/refused")["count"])

    def redeliver(self, repository: str, event: str) -> None:
        """Redeliver all deliveries of *event*, under their ids."""
        for delivery in self.state(repository)["deliveries"]:
            if delivery["event"] == event:
                self.control("redeliver", id=delivery["id"])

    def deliver_push(self, repository: str, head: str) -> Any:
        """Deliver the push to *head* while deliveries are paused, and return the product's answer."""
        [push] = [delivery for delivery in self.state(repository)["deliveries"] if _is_push_to(delivery, head)]
        return json.loads(self.control("release", id=push["id"])["answer"])

    def settle(self) -> None:
        """Wait until every delivery has been answered."""
        self.control("settle")

    def fault(self, match: str, /, **order: Any) -> None:
        """Make the next matching requests fail (github/gh/traffic.mjs)."""
        self.control("fault", match=match, **order)

    @contextmanager
    def hold_answers(self, match: str) -> Generator[Callable[[], str]]:
        """Hold the response to the next matching request until the block ends; the yielded function waits for that request."""
        self.control("trap/lay", match=match, after=True, wait=30_000, hold=60_000)
        try:
            yield lambda: str(self.control("trap/caught")["line"])
        finally:
            self.control("trap/open")

    def clear_faults(self) -> None:
        self._request("DELETE", "/_bench/fault")

    def deliveries_of(self, repository: str, event: str) -> list[dict[str, Any]]:
        """The payloads of this event about this repository, oldest first."""
        self.settle()
        return [
            json.loads(delivery["body"])
            for delivery in self.state(repository)["deliveries"]
            if delivery["event"] == event
        ]

    def _query(self, what: str, **query: Any) -> Any:
        return self._request("GET", f"/_bench/{what}?{urlencode(query, doseq=True)}")

    def _request(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        answer = self.client.request(method, path, body, headers)
        if not 200 <= answer.status < 300:
            raise RequestRefused(f"{method} {self.url}{path}", answer)
        return answer.json() if answer.content else None


def _is_push_to(delivery: Delivery, head: str) -> bool:
    """Of a pull request's branch."""
    is_push = (delivery["event"], delivery["action"]) == ("pull_request", "synchronize")
    return is_push and json.loads(delivery["body"])["after"] == head
