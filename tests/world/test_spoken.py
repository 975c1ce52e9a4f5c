"""What a line to a server of the tests promises."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Barrier, Thread

import pytest

from tests.world.spoken import LONGEST_IDLE_S, Line


class Server(ThreadingHTTPServer):
    daemon_threads = True
    meeting: Barrier | None = None
    """What every question waits at."""

    hangs_up = False
    """After each answer, without a word."""

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
def line(server: Server) -> Iterator[Line]:
    made = Line(f"http://127.0.0.1:{server.server_port}", 10)
    yield made
    made.close()


def test_question_after_question_goes_over_one_connection(server: Server, line: Line) -> None:
    answers = [line.ask("POST", "/", {"n": number}) for number in range(3)]
    assert [answer.json() for answer in answers] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len(server.callers) == 3
    assert len({*server.callers}) == 1


def test_what_is_refused_is_an_answer_and_keeps_the_connection(server: Server, line: Line) -> None:
    assert line.ask("POST", "/nothing", ["ä"]).status == 404
    assert line.ask("POST", "/", ["ä"]).text == json.dumps(["ä"])
    assert len({*server.callers}) == 1


def test_another_connection_takes_the_place_of_one_that_the_server_closed(server: Server, line: Line) -> None:
    server.hangs_up = True
    assert line.ask("POST", "/", 1).json() == 1
    [(connection, _)] = line.idle
    assert connection.sock.recv(1, socket.MSG_PEEK) == b"", "it has closed it"
    assert line.ask("POST", "/", 2).json() == 2
    assert len({*server.callers}) == 2


def test_another_connection_takes_the_place_of_one_that_the_server_may_be_about_to_close(
    server: Server, line: Line
) -> None:
    assert line.ask("POST", "/", 1).json() == 1
    [(connection, since)] = line.idle
    line.idle[0] = connection, since - LONGEST_IDLE_S
    assert line.ask("POST", "/", 2).json() == 2
    assert len({*server.callers}) == 2


def test_two_threads_speak_at_the_same_time_each_over_its_own_connection(server: Server, line: Line) -> None:
    server.meeting = Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(line.ask, "POST", "/", number) for number in range(2)]
        assert [one.result().json() for one in asked] == [0, 1]
    assert len({*server.callers}) == 2
