"""Every route with its methods, and the status, media type and JSON names of its answers."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import httpx
import pytest
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from app.web.asgi import create_app
from app.web.metrics import serve_metrics
from tests.app.web.web_server import PATH, WebServer, launch_web_server, payload, settings, standard_headers
from tests.golden.golden import Golden
from tests.world.redis import RedisServer
from worker.adapters.redis.store import open_store
from worker.adapters.redis.tokens import RedisTokens
from worker.domain.ids import InstallationId

TOPICS: Final = ("quality", "cost", "agreement", "backlog", "agents", "overrides", "nothing")
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


class Asked(NamedTuple):
    """One request. `why` distinguishes requests of the same route."""

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


def test_what_a_door_with_an_app_answers(redis: RedisServer, golden: Golden) -> None:
    with launch_web_server(redis) as door, open_store(settings(redis_url=SecretStr(redis.url))) as store:
        made = RedisTokens(store.client).create("golden", [InstallationId(1)], datetime(2026, 11, 20, tzinfo=UTC))
        bearer = {"Authorization": f"Bearer {made}"}
        outlines = answers(door, (*deliveries(), *figures(bearer), *others()))
        with serve_metrics(("127.0.0.1", 0), CollectorRegistry()) as url:
            outlines["metrics address: GET /metrics"] = outline(httpx.get(url))
            outlines["metrics address: GET /"] = outline(httpx.get(url.removesuffix("metrics")))
            outlines["metrics address: POST /metrics"] = outline(httpx.post(url))
    golden.holds_json("routes.json", {"routes": routes(redis, has_app=True), "answers": outlines})


def test_what_a_door_without_an_app_answers(redis: RedisServer, golden: Golden) -> None:
    with launch_web_server(redis, app=None) as door:
        outlines = answers(
            door, (*setup(), Asked("POST", PATH, "not set up"), Asked("GET", "/api/verdicts/a/b/c"), *others())
        )
    golden.holds_json("routes_of_setup.json", {"routes": routes(redis, has_app=False), "answers": outlines})


def deliveries() -> Iterator[Asked]:
    body = json.dumps(payload()).encode()
    headers = standard_headers("pull_request", body) | {"X-GitHub-Delivery": "golden"}
    yield Asked("POST", PATH, "a pull request", headers, body)
    yield Asked("POST", PATH, "the same again", headers, body)
    yield Asked("POST", PATH, "not ours", headers | {"X-GitHub-Event": "star"}, body)
    yield Asked("POST", PATH, "no signature", headers | {"X-Hub-Signature-256": None}, body)
    yield Asked("POST", PATH, "wrong signature", headers | {"X-Hub-Signature-256": "sha256=" + "0" * 64}, body)
    yield Asked("POST", PATH, "no event", headers | {"X-GitHub-Event": None}, body)
    yield Asked("POST", PATH, "no JSON type", headers | {"Content-Type": "text/plain"}, body)
    yield Asked("POST", PATH, "no JSON", standard_headers("pull_request", b"{"), b"{")
    yield Asked("GET", PATH)


def figures(bearer: Mapping[str, str]) -> Iterator[Asked]:
    for topic in TOPICS:
        yield Asked("GET", f"/api/analytics/{topic}", "", bearer)
    yield Asked("GET", "/api/analytics/quality", "no token")
    yield Asked("GET", "/api/analytics/quality?min_confidence=high", "", bearer)
    yield Asked("GET", "/api/pulls/acme/widgets/1", "not on record", bearer)
    yield Asked("GET", "/api/pulls/acme/widgets/x", "no number", bearer)
    yield Asked("GET", "/api/pulls/acme/widgets/1", "no token")
    yield Asked("GET", f"/api/verdicts/acme/widgets/{'1' * 40}", "not on record", bearer)
    yield Asked("GET", "/api/verdicts/acme/widgets/x", "no commit", bearer)
    yield Asked("GET", f"/api/verdicts/acme/widgets/{'1' * 40}?wait=never", "", bearer)
    yield Asked("GET", f"/api/verdicts/acme/widgets/{'1' * 40}", "no token")
    yield Asked("POST", "/api/analytics/quality", "", bearer)


def setup() -> Iterator[Asked]:
    yield Asked("GET", "/setup")
    yield Asked("POST", "/setup", "wrong token", FORM, b"token=x&address=https://assay.example.org")
    yield Asked("GET", "/setup/callback", "wrong state")


def others() -> Iterator[Asked]:
    for path in ("/livez", "/readyz", "/setup", "/setup/callback", "/", "/metrics"):
        yield Asked("GET", path)
    yield Asked("POST", "/livez")


def answers(door: WebServer, asked: tuple[Asked, ...]) -> dict[str, Any]:
    return {one.name: outline(ask(door, one)) for one in asked}


def ask(door: WebServer, one: Asked) -> httpx.Response:
    headers = {name: value for name, value in one.headers.items() if value is not None}
    return door.http.request(one.method, one.path, headers=headers, content=one.body)


def outline(answer: httpx.Response) -> dict[str, Any]:
    """Without words, numbers and dates."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    names = {"names": sorted(answer.json())} if kind == "application/json" else {}
    return {"status": answer.status_code, "type": kind, **names}


def routes(redis: RedisServer, *, has_app: bool) -> list[str]:
    """The framework's list, which also shows a route that no request above uses."""
    configured = settings(redis_url=SecretStr(redis.url), **({} if has_app else {"app": None}))
    with open_store(configured) as store:
        web = create_app(configured, store)
        return sorted(
            f"{method} {route.path_format}"
            for route in web.routes
            for method in (getattr(route, "methods", None) or "*")
        )
