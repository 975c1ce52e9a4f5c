"""The web process as a user starts it. Invariant: one line on standard output, a clean end, nothing heavy loaded."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.web.asgi import listen
from tests.app.web.served import PATH, SECRET, payload, standard_headers
from tests.world.redis import Redis
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


def environment(redis: Redis) -> dict[str, str]:
    return {
        "ASSAY_APP_ID": "4242",
        "ASSAY_APP_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----",
        "ASSAY_WEBHOOK_SECRET": SECRET,
        "ASSAY_STORE_KEYS": "a2" * 20 + "a2s=",
        "ASSAY_PORT": "0",
        "REDIS_URL": redis.url,
    }


@contextmanager
def running(redis: Redis) -> Generator[tuple[subprocess.Popen[str], dict[str, Any]]]:
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
    redis_server: Redis, number: signal.Signals
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


def test_what_libraries_say_is_a_line_of_json_like_all_else(redis_server: Redis) -> None:
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
