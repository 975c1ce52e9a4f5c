import socket
from collections.abc import Iterator

import pytest
from inline_snapshot import snapshot
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.worker.adapters.anthropic.sdk import examine_key
from worker.settings import ModelAccess

KEY = "sk-ant-canary-0123456789"


@pytest.fixture(scope="module")
def played() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def server(played: HTTPServer) -> HTTPServer:
    played.clear()
    return played


def access(url: str) -> ModelAccess:
    return ModelAccess(SecretStr(KEY), url, "claude-haiku-5-5", 20, 1, 0, 8000)


def knows(server: HTTPServer, *names: str) -> None:
    models = [
        {"id": name, "type": "model", "display_name": name, "created_at": "2026-10-01T00:00:00Z"} for name in names
    ]
    answer = {"data": models, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    server.expect_request("/v1/models").respond_with_json(answer)


def test_a_key_that_is_accepted_and_a_model_that_exists_are_no_problem(server: HTTPServer) -> None:
    knows(server, "claude-opus-5-5", "claude-haiku-5-5")
    assert examine_key(access(server.url_for(""))) is None
    [(request, _)] = server.log
    assert KEY in str(request.headers)


def test_a_model_that_does_not_exist_is_named(server: HTTPServer) -> None:
    knows(server, "claude-opus-5-5")
    assert examine_key(access(server.url_for(""))) == snapshot(
        'there is no model "claude-haiku-5-5"; check ASSAY_MODEL'
    )


def test_a_key_that_is_refused_is_told_without_the_key(server: HTTPServer) -> None:
    error = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid {KEY}"}}
    server.expect_request("/v1/models").respond_with_json(error, status=401)
    assert examine_key(access(server.url_for(""))) == snapshot(
        "status 401: ANTHROPIC_API_KEY is not accepted; set a valid key"
    )


@pytest.mark.parametrize("status", [500, 429])
def test_a_server_that_fails_is_asked_once(server: HTTPServer, status: int) -> None:
    server.expect_request("/v1/models").respond_with_data("no", status=status)
    assert examine_key(access(server.url_for(""))) == f"status {status}: try again later"
    assert len(server.log) == 1


def test_a_server_that_is_not_there_is_told_by_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    problem = examine_key(access(f"http://127.0.0.1:{port}"))
    assert problem == f"http://127.0.0.1:{port} can't be reached; check the network and ANTHROPIC_BASE_URL"
