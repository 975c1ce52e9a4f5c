"""GitHub on loopback: starts `github/gh-bench.mjs` and speaks its verbs.

Does not know the product. Invariant: it ends with the process that started it, because the bench ends
when its standard input closes. The wire stays JSON here; `world.py` makes people and pull requests of it.
"""

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
"""Seconds for one verb. Generous: a pull request of 3,000 files takes a while to make."""


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
    """One request of the product and GitHub's answer."""

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
    """What there is in one repository. Reactions and comments are GitHub's own JSON; `heard` counts the deliveries."""

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
    """The line that the bench prints when it listens."""

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
    """GitHub said no; `message` is in its words."""

    def __init__(self, question: str, answer: Answer) -> None:
        super().__init__(f"{question}: {answer.status} {answer.text}")
        self.status = answer.status
        self.message = str(answer.json().get("message", "")) if answer.text.startswith("{") else answer.text


@dataclass(frozen=True)
class FakeGitHub:
    """One running bench."""

    process: subprocess.Popen[str]
    info: ServerInfo
    client: JsonClient

    @classmethod
    def start(cls, others: Mapping[str, int] | None = None) -> Self:
        """*others*: organizations beside the usual one that installed the App, and their installations' ids."""
        assert is_installed(), "The GitHub bench is not installed. Run: python tests/world/install.py"
        command = [str(node()), str(GITHUB / "gh-bench.mjs"), "--port", "0", "--others", json.dumps(others or {})]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "The GitHub bench ended at once; its errors are above."
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
        """What is not REST: pushes, CI, buttons, faults. The verbs are in github/gh/verbs.mjs."""
        return self._request("POST", f"/_bench/{name}", body)

    def request_as(self, login: str, method: str, path: str, /, **body: Any) -> Any:
        """What a person does through GitHub's own API."""
        return self._request(method, path, body or None, Authorization=f"token {self.info.tokens[login]}")

    def state(self, repository: str, *parts: str) -> RepositoryState:
        """All of *repository*, or these *parts* alone: what nobody looks at is not put together."""
        return self._query("state", repo=repository, part=parts)

    def requests(self, repository: str | None = None, *names: str | None) -> list[Exchange]:
        """Every request about *repository* under the installation's credentials, or those called *names* (None: its own)."""
        own = f"installation:{self.info.installation_id}"
        about = {} if repository is None else {"repo": repository}
        return list(
            self._query("requests", name=[name or own for name in names] or [own], bodies="1", **about)["requests"]
        )

    def traffic(self, match: str) -> list[Exchange]:
        """Every request, whoever made it, whose "METHOD /path" matches."""
        return list(self._query("requests", match=match, bodies="1")["requests"])

    def redeliver_refused(self) -> int:
        """Deliver again what the product did not take, as an App's owner may; how many deliveries that were."""
        return int(self.control("redeliver/refused")["count"])

    def redeliver(self, repository: str, event: str) -> None:
        """Deliver every one of these once more, under its own id, as GitHub may."""
        for one in self.state(repository)["deliveries"]:
            if one["event"] == event:
                self.control("redeliver", id=one["id"])

    def deliver_push(self, repository: str, head: str) -> Any:
        """Deliver the push to *head* before all else that is held back (`hooks`, paused); what the product answered."""
        [push] = [one for one in self.state(repository)["deliveries"] if _is_push_to(one, head)]
        return json.loads(self.control("release", id=push["id"])["answer"])

    def settle(self) -> None:
        """Wait until every delivery has been answered."""
        self.control("settle")

    def fault(self, match: str, /, **order: Any) -> None:
        """Let the next matching requests go wrong; see Faults in github/gh/traffic.mjs."""
        self.control("fault", match=match, **order)

    @contextmanager
    def hold_answers(self, match: str) -> Generator[Callable[[], str]]:
        """Hold the answer to the next request that matches, once it is made, until the end of this.

        What is given waits until it is held, and answers which request that is.
        """
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
        return [json.loads(one["body"]) for one in self.state(repository)["deliveries"] if one["event"] == event]

    def _query(self, what: str, **query: Any) -> Any:
        """A list in *query* is said one by one."""
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
