"""The web process: start, signals, readiness, outages of Redis and internal errors."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot

from app.web.server import listen
from app.web.webhooks import DeliveryCounters, DeliveryOutcome
from tests.app.web.web_server import PATH, SECRET, SHA, WebServer, launch_web_server, payload, standard_headers
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.model import InstallationId, RepositoryId
from worker.errors import SettingError

ROOT = Path(__file__).resolve().parents[3]
RUN = "from app.web.server import run_web; from worker.settings import read_settings; import json, sys; run_web(read_settings(json.loads(sys.argv[1])))"
LOADED = "import app.web.server, json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
HEAVY = {
    "rq",
    "githubkit",
    "anthropic",
    "cryptography",
    "redis",
    "httpx",
    "httpx2",
    "tree_sitter",
    "jinja2",
    "prometheus_client",
}


def environment(redis: RedisServer) -> dict[str, str]:
    return {
        "ASSAY_APP_ID": "4242",
        "ASSAY_APP_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----",
        "ASSAY_WEBHOOK_SECRET": SECRET,
        "ASSAY_STORE_KEYS": "a2" * 20 + "a2s=",
        "ASSAY_PORT": "0",
        "REDIS_URL": redis.url,
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_web_process_announces_its_url_logs_json_and_stops_on_a_signal(
    redis_server: RedisServer, number: signal.Signals
) -> None:
    command = [sys.executable, "-c", RUN, json.dumps(environment(redis_server))]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            event = json.loads(process.stdout.readline())
            assert (event.keys(), event["event"]) == ({"event", "url"}, "listening")
            body = json.dumps(payload("labeled")).encode()
            answer = httpx.post(event["url"] + PATH, content=body, headers=standard_headers("pull_request", body))
            assert answer.status_code == 202
            host, port = event["url"].removeprefix("http://").split(":")
            for malformed in (
                b"\x16\x03\x01 no HTTP\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
            ):
                with socket.create_connection((host, int(port)), timeout=10) as connection:
                    connection.sendall(malformed)
                    assert connection.recv(100)
            process.send_signal(number)
            out, log = process.communicate(timeout=10)
        finally:
            process.kill()
    assert (process.returncode, out) == (0, "")
    delivery, *library_lines = [json.loads(line) for line in log.splitlines()]
    assert delivery["event"] == "delivery"
    assert {(line["level"], line["logger"]) for line in library_lines} == {("warning", "uvicorn.error")}
    assert "Invalid HTTP request received." in {line["event"] for line in library_lines}


def test_web_process_loads_no_judging_module() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, check=True, text=True)
    loaded = set(json.loads(done.stdout))
    assert loaded & HEAVY == set()
    assert {"litestar", "uvicorn"} <= loaded


def test_used_port_is_refused_with_its_variable() -> None:
    with (
        listen("127.0.0.1", 0) as listening,
        pytest.raises(SettingError, match=r"ASSAY_PORT is .* can't be listened at"),
    ):
        listen("127.0.0.1", listening.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "reason"),
    [("nonsense.invalid", "can't be listened at ("), ("192.0.2.1", "Cannot assign"), ("ä..b", "no host's")],
)
def test_invalid_host_is_refused_with_its_variable(host: str, reason: str) -> None:
    with pytest.raises(SettingError, match=f'^ASSAY_HOST is "{re.escape(host)}"') as refused:
        listen(host, 0)
    assert reason in str(refused.value)
    assert "attempting" not in str(refused.value)


def test_ipv6_address_can_be_listened_at() -> None:
    with listen("::1", 0) as listening:
        assert listening.family is socket.AF_INET6


PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)


@pytest.fixture
def server_with_own_redis() -> Iterator[WebServer]:
    """A web server with its own Redis, which a test may break."""
    redis = RedisServer.launch()
    with launch_web_server(redis) as server:
        yield server
    redis.end()


def test_web_server_with_redis_is_live_and_ready(web_server: WebServer) -> None:
    live, ready = web_server.http.get("/livez"), web_server.http.get("/readyz")
    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


def test_delivery_is_503_while_redis_is_down_and_accepted_afterwards(server_with_own_redis: WebServer) -> None:
    server_with_own_redis.redis.kill()
    refused = server_with_own_redis.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert "Redis is unavailable" in refused.json()["error"]
    assert [(line["outcome"], line["status"]) for line in server_with_own_redis.log_lines] == [("unavailable", 503)]
    ready = server_with_own_redis.http.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
    assert "Redis is unavailable" in ready.json()["reason"]
    assert server_with_own_redis.http.get("/livez").status_code == 200
    assert server_with_own_redis.deliver("ping", {}).json() == {"ignored": "unhandled:ping"}

    server_with_own_redis.redis.start()
    again = server_with_own_redis.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (again.status_code, again.json()) == (202, {"outcome": "queued"})
    assert server_with_own_redis.http.get("/readyz").status_code == 200


def test_missing_store_key_is_reported_and_deliveries_are_accepted(server_with_own_redis: WebServer) -> None:
    key_id, now = "0a1b2c3d", int(time.time())
    server_with_own_redis.redis_client.hset(keys.ENCRYPTION_KEYS.name, key_id, now)
    ready = server_with_own_redis.http.get("/readyz")
    assert (ready.status_code, ready.json()) == snapshot(
        (
            200,
            {
                "status": "ready",
                "problem": "ASSAY_STORE_KEYS (embedded Redis: store.key) lacks a key that encrypts what is stored. See assay doctor.",
            },
        )
    )
    assert server_with_own_redis.deliver("pull_request", payload()).status_code == 202
    server_with_own_redis.redis_client.hset(keys.ENCRYPTION_KEYS.name, key_id, now - 91 * 24 * 3600)
    assert server_with_own_redis.http.get("/readyz").json() == {"status": "ready"}, (
        "no record under that key is retained so long"
    )


def test_delivery_is_503_while_redis_is_full_and_accepted_afterwards(server_with_own_redis: WebServer) -> None:
    with server_with_own_redis.redis.client as redis:
        client: Any = redis
        client.config_set("maxmemory", 1)
        full = server_with_own_redis.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
        assert (full.status_code, full.headers["Retry-After"]) == (503, "30")
        assert "OOM command not allowed" in full.json()["error"]
        assert server_with_own_redis.http.get("/livez").status_code == 200
        client.config_set("maxmemory", 0)
    again = server_with_own_redis.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (again.status_code, again.json()) == (202, {"outcome": "queued"})


def test_delivery_is_503_while_redis_hangs_and_accepted_once_afterwards(server_with_own_redis: WebServer) -> None:
    with server_with_own_redis.redis.freeze():
        assert server_with_own_redis.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"}).status_code == 503
        assert server_with_own_redis.http.get("/readyz").status_code == 503
        assert server_with_own_redis.http.get("/livez").status_code == 200
    again = server_with_own_redis.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert again.json()["outcome"] in {"queued", "duplicate"}  # the first may have been stored before its timeout
    assert server_with_own_redis.apply() == [IntakeOutcome.QUEUED]
    with server_with_own_redis.redis.client as redis:
        assert redis.hget(keys.pull(PULL).name, "head") == SHA


@pytest.mark.parametrize("path", [PATH, f"{PATH}/"], ids=["shortcut", "through-the-framework"])
def test_internal_error_is_500_and_its_traceback_is_only_logged(
    web_server: WebServer, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with web_server.redis.client as redis:
        redis.set(keys.INBOX.name, "not a list")
    body = json.dumps(payload()).encode()
    headers = {**standard_headers("pull_request", body), "X-GitHub-Delivery": "d-1"}
    response = web_server.http.post(path, content=body, headers=headers)
    assert (response.status_code, response.json()) == (500, {"error": "Assay itself failed. Its log says where."})
    [line] = web_server.log_lines
    assert (line["event"], line["level"], line["delivery_id"]) == ("failed", "error", "d-1")
    assert "Traceback" in line["exception"]
    assert SHA not in line["exception"]
    assert web_server.http.get("/livez").status_code == 200
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")], "and nowhere else"


def test_delivery_counters_begin_at_zero_for_each_outcome() -> None:
    assert DeliveryCounters().counts == dict.fromkeys(DeliveryOutcome, 0)
    counters = DeliveryCounters()
    counters.count(DeliveryOutcome.QUEUED)
    assert counters.counts["queued"] == 1
