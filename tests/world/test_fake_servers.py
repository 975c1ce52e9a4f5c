"""The fake Anthropic, the private Redis, the JSON client and the choice of Node."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread

import httpx
import pytest
import redis
from pytest_httpserver import HTTPServer
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.world.changes import RETRY, RETRY_AT, STUB, STUB_LINES
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.json_client import LONGEST_IDLE_S, JsonClient
from tests.world.node import node
from tests.world.redis import RedisServer
from tests.world.replies import accept, cannot_tell, reject
from worker.judge.llm.reply import ReplyDocument


@pytest.fixture
def model(httpserver: HTTPServer) -> FakeAnthropic:
    return FakeAnthropic(httpserver)


@pytest.fixture
def store() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


def ask(model: FakeAnthropic, prompt: str = "Is it right?") -> httpx.Response:
    body = {"system": [{"type": "text", "text": "You judge."}], "messages": [{"role": "user", "content": prompt}]}
    return httpx.post(f"{model.url}/v1/messages", json=body, headers={"x-api-key": "k"}, timeout=5)


def test_scripted_replies_come_in_order(model: FakeAnthropic) -> None:
    model.reply_with_error(529).reply_with_error(429, retry_after=1).reply_with(
        {"decision": "accept"}, cache_read_input_tokens=7
    )

    overloaded, limited, good = [ask(model) for _ in range(3)]

    assert (overloaded.status_code, overloaded.json()["error"]["type"]) == (529, "overloaded_error")
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "1")
    assert good.json()["content"][0]["text"] == '{"decision": "accept"}'
    assert good.json()["usage"]["cache_read_input_tokens"] == 7
    assert model.requests[0].text == "You judge.\nIs it right?"
    model.assert_script_done()


def test_reply_function_answers_after_the_script(model: FakeAnthropic) -> None:
    model.reply_with("first").reply_by(lambda asked: asked.text.upper())

    assert [ask(model).json()["content"][0]["text"] for _ in range(2)] == ["first", "YOU JUDGE.\nIS IT RIGHT?"]
    model.assert_script_done()


def test_unexpected_model_request_fails_the_test(model: FakeAnthropic) -> None:
    assert ask(model).status_code == 400
    with pytest.raises(AssertionError, match="request 1 was not in the script"):
        model.assert_script_done()


def test_unused_scripted_reply_fails_the_test(model: FakeAnthropic) -> None:
    model.reply_with("never")
    with pytest.raises(AssertionError, match="1 scripted replies were never asked for"):
        model.assert_script_done()


def test_reply_can_break_the_connection_or_be_no_json(model: FakeAnthropic) -> None:
    model.break_connection().reply_with_html()
    with pytest.raises(httpx.RemoteProtocolError):
        ask(model)
    assert ask(model).text == "<html>502 Bad Gateway</html>"


@pytest.mark.slow
def test_redis_keeps_its_data_when_killed(store: RedisServer) -> None:
    with store.client as client:
        client.set("k", "v")
    store.kill()
    with store.client as client, pytest.raises(redis.ConnectionError):
        client.get("k")
    store.start()
    with store.client as client:
        assert client.get("k") == "v"


def test_frozen_redis_hangs_and_thaws(store: RedisServer) -> None:
    impatient = redis.Redis(unix_socket_path=str(store.socket), socket_timeout=0.1, retry=Retry(NoBackoff(), 0))
    with impatient, store.freeze(), pytest.raises(redis.TimeoutError):
        impatient.get("k")
    with store.client as client:
        assert client.get("k") is None


# The JSON client


class Server(ThreadingHTTPServer):
    daemon_threads = True
    meeting: Barrier | None = None

    hangs_up = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.callers: list[int] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride] - nothing else sets it

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.callers.append(self.client_address[1])
        if self.server.meeting:
            self.server.meeting.wait(10)
        self.send_response(404 if self.path == "/nothing" else 200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)
        self.close_connection = self.server.hangs_up

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - its own name


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        serving = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield made
        made.shutdown()
        serving.join()


@pytest.fixture
def client(server: Server) -> Iterator[JsonClient]:
    made = JsonClient(f"http://127.0.0.1:{server.server_port}", 10)
    yield made
    made.close()


def test_client_reuses_one_connection(server: Server, client: JsonClient) -> None:
    answers = [client.request("POST", "/", {"n": number}) for number in range(3)]
    assert [answer.json() for answer in answers] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len(server.callers) == 3
    assert len({*server.callers}) == 1


def test_error_response_keeps_the_connection(server: Server, client: JsonClient) -> None:
    assert client.request("POST", "/nothing", ["ä"]).status == 404
    assert client.request("POST", "/", ["ä"]).text == json.dumps(["ä"])
    assert len({*server.callers}) == 1


def test_client_replaces_a_closed_connection(server: Server, client: JsonClient) -> None:
    server.hangs_up = True
    assert client.request("POST", "/", 1).json() == 1
    [(connection, _)] = client.idle
    assert connection.sock.recv(1, socket.MSG_PEEK) == b"", "closed by the server"
    assert client.request("POST", "/", 2).json() == 2
    assert len({*server.callers}) == 2


def test_client_replaces_a_connection_that_was_idle_too_long(server: Server, client: JsonClient) -> None:
    assert client.request("POST", "/", 1).json() == 1
    [(connection, since)] = client.idle
    client.idle[0] = connection, since - LONGEST_IDLE_S
    assert client.request("POST", "/", 2).json() == 2
    assert len({*server.callers}) == 2


def test_each_thread_uses_its_own_connection(server: Server, client: JsonClient) -> None:
    server.meeting = Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        responses = [threads.submit(client.request, "POST", "/", number) for number in range(2)]
        assert [future.result().json() for future in responses] == [0, 1]
    assert len({*server.callers}) == 2


# Node


ROOT = Path(__file__).resolve().parents[2]
VERSIONS = """
import subprocess
from tests.world.node import environment, node, npm
for command in ([str(node())], npm()):
    print(subprocess.run([*command, "--version"], env=environment(), capture_output=True, text=True, check=True).stdout)
"""
WHICH = "from tests.world.node import node; print(node())"


def run_python(code: str, path: Path, *options: str) -> str:
    environ = {"PATH": str(path), "HOME": str(path)}
    command = [sys.executable, *options, "-c", code]
    process = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_installed_node_is_used_without_one_on_path(tmp_path: Path) -> None:
    versions = run_python(VERSIONS, tmp_path).split()
    assert versions[0].startswith("v")
    assert versions[1][0].isdigit()


def test_installed_node_is_preferred_to_the_one_on_path(tmp_path: Path) -> None:
    (tmp_path / "node").symlink_to(node())
    assert run_python(WHICH, tmp_path).strip() == str(node()) != str(tmp_path / "node")


def test_node_on_path_is_used_when_none_is_installed(tmp_path: Path) -> None:
    (tmp_path / "node").symlink_to(node())
    assert run_python(WHICH, tmp_path, "-S").strip() == str(tmp_path / "node")


# Scripted replies and the sample project


@pytest.mark.parametrize(
    "reply", [accept("a.py:1"), accept("a.py:1", criteria=3), reject("weak_test", "a.py:1"), cannot_tell()], ids=str
)
def test_built_reply_fits_the_schema(reply: object) -> None:
    ReplyDocument.model_validate_json(json.dumps(reply), strict=True)


def test_cited_lines_exist_in_the_sample_project() -> None:
    stub, retry = STUB["upload.py"].splitlines(), RETRY["upload.py"].splitlines()
    assert [stub[number - 1] for number in STUB_LINES][::2] == ["def retry(data: bytes) -> int:", "    pass"]
    path, line = RETRY_AT.split(":")
    assert (path, retry[int(line) - 1]) == ("upload.py", "    for _ in range(3):")
