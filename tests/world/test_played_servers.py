"""What the scripted model and the private Redis promise."""

from collections.abc import Iterator

import httpx
import pytest
import redis
from pytest_httpserver import HTTPServer
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.world.anthropic import Anthropic
from tests.world.redis import Redis


@pytest.fixture
def model(httpserver: HTTPServer) -> Anthropic:
    return Anthropic(httpserver)


@pytest.fixture
def store() -> Iterator[Redis]:
    server = Redis.started()
    yield server
    server.end()


def ask(model: Anthropic, question: str = "Is it right?") -> httpx.Response:
    body = {"system": [{"type": "text", "text": "You judge."}], "messages": [{"role": "user", "content": question}]}
    return httpx.post(f"{model.url}/v1/messages", json=body, headers={"x-api-key": "k"}, timeout=5)


def test_replies_come_in_the_order_of_the_script(model: Anthropic) -> None:
    model.fails(529).fails(429, retry_after=1).answers({"decision": "accept"}, cache_read_input_tokens=7)

    overloaded, limited, good = [ask(model) for _ in range(3)]

    assert (overloaded.status_code, overloaded.json()["error"]["type"]) == (529, "overloaded_error")
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "1")
    assert good.json()["content"][0]["text"] == '{"decision": "accept"}'
    assert good.json()["usage"]["cache_read_input_tokens"] == 7
    assert model.asked[0].text == "You judge.\nIs it right?"
    model.check()


def test_a_function_of_the_question_speaks_when_the_script_is_over(model: Anthropic) -> None:
    model.answers("first").decides(lambda asked: asked.text.upper())

    assert [ask(model).json()["content"][0]["text"] for _ in range(2)] == ["first", "YOU JUDGE.\nIS IT RIGHT?"]
    model.check()


def test_a_question_outside_the_script_fails_the_test(model: Anthropic) -> None:
    assert ask(model).status_code == 400
    with pytest.raises(AssertionError, match="question 1 was not in the script"):
        model.check()


def test_a_reply_that_nobody_asked_for_fails_the_test(model: Anthropic) -> None:
    model.answers("never")
    with pytest.raises(AssertionError, match="1 scripted replies were never asked for"):
        model.check()


def test_a_broken_reply_is_a_broken_connection_or_no_json(model: Anthropic) -> None:
    model.breaks().garbles()
    with pytest.raises(httpx.RemoteProtocolError):
        ask(model)
    assert ask(model).text == "<html>502 Bad Gateway</html>"


@pytest.mark.slow
def test_redis_keeps_its_data_through_a_kill(store: Redis) -> None:
    with store.client as client:
        client.set("k", "v")
    store.kill()
    with store.client as client, pytest.raises(redis.ConnectionError):
        client.get("k")
    store.start()
    with store.client as client:
        assert client.get("k") == "v"


def test_a_frozen_redis_hangs_and_thaws(store: Redis) -> None:
    impatient = redis.Redis(unix_socket_path=str(store.socket), socket_timeout=0.1, retry=Retry(NoBackoff(), 0))
    with impatient, store.frozen(), pytest.raises(redis.TimeoutError):
        impatient.get("k")
    with store.client as client:
        assert client.get("k") is None
