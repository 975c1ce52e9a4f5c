"""The web process as a user starts it. Invariant: one line on standard output, a clean end, nothing heavy loaded."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from inline_snapshot import snapshot

from app.web.asgi import listen
from app.web.webhooks import DeliveryCounters, DeliveryOutcome
from tests.app.web.web_server import PATH, SECRET, SHA, WebServer, launch_web_server, payload, standard_headers
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.errors import SettingError

ROOT = Path(__file__).resolve().parents[3]
RUN = "from app.web.asgi import run_web; from worker.settings import read_settings; import json, sys; run_web(read_settings(json.loads(sys.argv[1])))"
LOADED = "import app.web.asgi, json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
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


@contextmanager
def running(redis: RedisServer) -> Generator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [sys.executable, "-c", RUN, json.dumps(environment(redis))]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_it_says_where_it_listens_serves_and_ends_cleanly_on_a_signal(
    redis_server: RedisServer, number: signal.Signals
) -> None:
    with running(redis_server) as (process, said):
        assert said.keys() == {"event", "url"}
        assert said["event"] == "listening"
        body = json.dumps(payload("labeled")).encode()
        answer = httpx.post(said["url"] + PATH, content=body, headers=standard_headers("pull_request", body))
        assert answer.status_code == 202
        process.send_signal(number)
        out, log = process.communicate(timeout=10)
        assert (process.returncode, out) == (0, "")
        assert [json.loads(line)["event"] for line in log.splitlines()] == ["delivery"]


def test_what_libraries_say_is_a_line_of_json_like_all_else(redis_server: RedisServer) -> None:
    with running(redis_server) as (process, said):
        host, port = said["url"].removeprefix("http://").split(":")
        for garbage in (
            b"\x16\x03\x01 no HTTP\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        ):
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(garbage)
                assert connection.recv(100)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=10)
        told = [json.loads(line) for line in log.splitlines()]
        assert {(one["level"], one["logger"]) for one in told} == {("warning", "uvicorn.error")}
        assert "Invalid HTTP request received." in {one["event"] for one in told}


def test_the_web_process_loads_nothing_that_judges() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, check=True, text=True)
    loaded = set(json.loads(done.stdout))
    assert loaded & HEAVY == set()
    assert {"litestar", "uvicorn"} <= loaded


def test_a_port_that_is_taken_is_told_with_its_variable() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(SettingError, match=r"ASSAY_PORT is .* can't be listened at"):
        listen("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "reason"),
    [("nonsense.invalid", "can't be listened at ("), ("192.0.2.1", "Cannot assign"), ("ä..b", "no host's")],
)
def test_a_host_that_is_none_is_told_with_its_variable(host: str, reason: str) -> None:
    with pytest.raises(SettingError, match=f'^ASSAY_HOST is "{re.escape(host)}"') as refused:
        listen(host, 0)
    assert reason in str(refused.value)
    assert "attempting" not in str(refused.value)


def test_an_address_of_version_6_may_be_listened_at() -> None:
    with listen("::1", 0) as listening:
        assert listening.family is socket.AF_INET6


PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)


@pytest.fixture
def fragile() -> Iterator[WebServer]:
    """A door with a Redis of its own, for breaking."""
    redis = RedisServer.launch()
    with launch_web_server(redis) as door:
        yield door
    redis.end()


def test_a_door_with_its_redis_is_live_and_ready(web_server: WebServer) -> None:
    live, ready = web_server.http.get("/livez"), web_server.http.get("/readyz")
    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


def test_while_redis_is_gone_deliveries_are_503_and_taken_again_afterwards(fragile: WebServer) -> None:
    fragile.redis.kill()
    refused = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert "Redis is unavailable" in refused.json()["error"]
    assert [(line["outcome"], line["status"]) for line in fragile.log_lines] == [("unavailable", 503)]
    ready = fragile.http.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
    assert "Redis is unavailable" in ready.json()["reason"]
    assert fragile.http.get("/livez").status_code == 200
    assert fragile.deliver("ping", {}).json() == {"ignored": "unhandled:ping"}

    fragile.redis.start()
    again = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (again.status_code, again.json()) == (202, {"outcome": "queued"})
    assert fragile.http.get("/readyz").status_code == 200


def test_a_store_key_that_is_missing_is_told_and_deliveries_are_taken(fragile: WebServer) -> None:
    key_id, now = "0a1b2c3d", int(time.time())
    fragile.redis_client.hset(keys.ENCRYPTION_KEYS.name, key_id, now)
    ready = fragile.http.get("/readyz")
    assert (ready.status_code, ready.json()) == snapshot(
        (
            200,
            {
                "status": "ready",
                "problem": "ASSAY_STORE_KEYS (embedded Redis: store.key) lacks a key that encrypts what is stored. See assay doctor.",
            },
        )
    )
    assert fragile.deliver("pull_request", payload()).status_code == 202
    fragile.redis_client.hset(keys.ENCRYPTION_KEYS.name, key_id, now - 91 * 24 * 3600)
    assert fragile.http.get("/readyz").json() == {"status": "ready"}, "nothing of it is kept so long"


def test_a_redis_whose_memory_is_full_is_503_and_nothing_is_lost(fragile: WebServer) -> None:
    with fragile.redis.client as redis:
        client: Any = redis
        client.config_set("maxmemory", 1)
        full = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
        assert (full.status_code, full.headers["Retry-After"]) == (503, "30")
        assert "OOM command not allowed" in full.json()["error"]
        assert fragile.http.get("/livez").status_code == 200
        client.config_set("maxmemory", 0)
    again = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (again.status_code, again.json()) == (202, {"outcome": "queued"})


def test_a_redis_that_hangs_is_503_within_its_timeout_and_nothing_is_lost(fragile: WebServer) -> None:
    with fragile.redis.freeze():
        assert fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"}).status_code == 503
        assert fragile.http.get("/readyz").status_code == 503
        assert fragile.http.get("/livez").status_code == 200
    again = fragile.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert again.json()["outcome"] in {"queued", "duplicate"}  # the first may have been heard, its answer not
    assert fragile.apply() == [IntakeOutcome.QUEUED]
    with fragile.redis.client as redis:
        assert redis.hget(keys.pull(PULL).name, "head") == SHA


@pytest.mark.parametrize("path", [PATH, f"{PATH}/"], ids=["shortcut", "through-the-framework"])
def test_a_bug_is_500_without_a_traceback_and_in_the_log_with_one(
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


def test_nobody_who_can_deliver_is_told_how_we_fare(web_server: WebServer) -> None:
    assert web_server.http.get("/metrics").status_code == 404


def test_a_tally_begins_at_zero_and_names_each_outcome() -> None:
    assert DeliveryCounters().counts == dict.fromkeys(DeliveryOutcome, 0)
    tally = DeliveryCounters()
    tally.count(DeliveryOutcome.QUEUED)
    assert tally.counts["queued"] == 1
