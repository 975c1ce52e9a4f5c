"""Every route with its methods, and the status, media type and JSON names of its answers."""

import io
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import httpx
import pytest
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from app.web.metrics import serve_metrics
from app.web.server import create_app
from tests.app.web.web_server import PATH, WebServer, launch_web_server, payload, settings, standard_headers
from tests.golden.golden import Golden
from tests.world.redis import RedisServer
from worker.adapters.redis.encryption_and_tokens import RedisTokens
from worker.adapters.redis.store import open_store
from worker.domain.model import InstallationId

TOPICS: Final = ("quality", "cost", "agreement", "backlog", "agents", "overrides", "nothing")
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


class RouteRequest(NamedTuple):
    """A request. `why` distinguishes requests of the same route."""

    method: str
    path: str
    why: str = ""
    headers: Mapping[str, str | None] = {}
    body: bytes = b""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}" + (f" ({self.why})" if self.why else "")


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


def test_web_server_with_an_app_answers(redis: RedisServer, golden: Golden) -> None:
    with launch_web_server(redis) as server, open_store(settings(redis_url=SecretStr(redis.url))) as store:
        token = RedisTokens(store.client).create("golden", [InstallationId(1)], datetime(2026, 11, 20, tzinfo=UTC))
        bearer = {"Authorization": f"Bearer {token}"}
        outlines = outline_answers(server, (*delivery_requests(), *api_requests(bearer), *other_requests()))
        with serve_metrics(("127.0.0.1", 0), CollectorRegistry()) as url:
            outlines["metrics address: GET /metrics"] = outline(httpx.get(url))
            outlines["metrics address: GET /"] = outline(httpx.get(url.removesuffix("metrics")))
            outlines["metrics address: POST /metrics"] = outline(httpx.post(url))
    golden.check_json("routes.json", {"routes": list_routes(redis, has_app=True), "answers": outlines})


def test_web_server_without_an_app_answers(redis: RedisServer, golden: Golden) -> None:
    requests = (
        RouteRequest("GET", "/setup"),
        RouteRequest("POST", "/setup", "wrong token", FORM, b"token=x&address=https://assay.example.org"),
        RouteRequest("GET", "/setup/callback", "wrong state"),
        RouteRequest("POST", PATH, "not set up"),
        RouteRequest("GET", "/api/verdicts/a/b/c"),
        *other_requests(),
    )
    with launch_web_server(redis, app=None) as server:
        outlines = outline_answers(server, requests)
    golden.check_json("routes_of_setup.json", {"routes": list_routes(redis, has_app=False), "answers": outlines})


def delivery_requests() -> Iterator[RouteRequest]:
    body = json.dumps(payload()).encode()
    headers = standard_headers("pull_request", body) | {"X-GitHub-Delivery": "golden"}
    yield RouteRequest("POST", PATH, "a pull request", headers, body)
    yield RouteRequest("POST", PATH, "the same again", headers, body)
    yield RouteRequest("POST", PATH, "not ours", headers | {"X-GitHub-Event": "star"}, body)
    yield RouteRequest("POST", PATH, "no signature", headers | {"X-Hub-Signature-256": None}, body)
    yield RouteRequest("POST", PATH, "wrong signature", headers | {"X-Hub-Signature-256": "sha256=" + "0" * 64}, body)
    yield RouteRequest("POST", PATH, "no event", headers | {"X-GitHub-Event": None}, body)
    yield RouteRequest("POST", PATH, "no JSON type", headers | {"Content-Type": "text/plain"}, body)
    yield RouteRequest("POST", PATH, "no JSON", standard_headers("pull_request", b"{"), b"{")
    yield RouteRequest("GET", PATH)


def api_requests(bearer: Mapping[str, str]) -> Iterator[RouteRequest]:
    for topic in TOPICS:
        yield RouteRequest("GET", f"/api/analytics/{topic}", "", bearer)
    yield RouteRequest("GET", "/api/analytics/quality", "no token")
    yield RouteRequest("GET", "/api/analytics/quality?min_confidence=high", "", bearer)
    yield RouteRequest("GET", "/api/pulls/acme/widgets/1", "not on record", bearer)
    yield RouteRequest("GET", "/api/pulls/acme/widgets/x", "no number", bearer)
    yield RouteRequest("GET", "/api/pulls/acme/widgets/1", "no token")
    yield RouteRequest("GET", f"/api/verdicts/acme/widgets/{'1' * 40}", "not on record", bearer)
    yield RouteRequest("GET", "/api/verdicts/acme/widgets/x", "no commit", bearer)
    yield RouteRequest("GET", f"/api/verdicts/acme/widgets/{'1' * 40}?wait=never", "", bearer)
    yield RouteRequest("GET", f"/api/verdicts/acme/widgets/{'1' * 40}", "no token")
    yield RouteRequest("POST", "/api/analytics/quality", "", bearer)


def other_requests() -> Iterator[RouteRequest]:
    for path in ("/livez", "/readyz", "/setup", "/setup/callback", "/", "/metrics"):
        yield RouteRequest("GET", path)
    yield RouteRequest("POST", "/livez")


def outline_answers(server: WebServer, requests: tuple[RouteRequest, ...]) -> dict[str, Any]:
    return {request.name: outline(send(server, request)) for request in requests}


def send(server: WebServer, request: RouteRequest) -> httpx.Response:
    headers = {name: value for name, value in request.headers.items() if value is not None}
    return server.http.request(request.method, request.path, headers=headers, content=request.body)


def outline(answer: httpx.Response) -> dict[str, Any]:
    """The answer without its texts, numbers and dates."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    names = {"names": sorted(answer.json())} if kind == "application/json" else {}
    return {"status": answer.status_code, "type": kind, **names}


def list_routes(redis: RedisServer, *, has_app: bool) -> list[str]:
    """All routes of the framework, including those without a request above."""
    configured = settings(redis_url=SecretStr(redis.url), **({} if has_app else {"app": None}))
    with open_store(configured) as store:
        web = create_app(configured, store, io.StringIO())
        return sorted(
            f"{method} {route.path_format}"
            for route in web.routes
            for method in (getattr(route, "methods", None) or "*")
        )
