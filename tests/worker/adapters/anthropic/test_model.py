"""The Anthropic adapter over HTTP: replies, retries and timeouts, the check of a key, and the SDK's environment."""

import json
import socket
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.worker.adapters.anthropic.conftest import anthropic_model, examine_key
from tests.world.fake_anthropic import FakeAnthropic, build_message_body
from worker.domain.ports import ModelReply, Prompt, StopReason
from worker.domain.verdict.verdict import Tokens
from worker.errors import Unavailable
from worker.judge.llm.reply import reply_schema
from worker.settings import ModelAccess

if TYPE_CHECKING:
    from worker.adapters.anthropic import AnthropicModel

KEY = "sk-ant-canary-0123456789"
PROMPT = Prompt(
    "You judge.", ("The change.",), {"type": "object", "properties": {}, "additionalProperties": False}, "v"
)


class Waits(list[float]):
    """A sleep that only records its durations, and a clock that adds them."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)

    def clock(self) -> float:
        return time.monotonic() + sum(self)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def model(script: FakeAnthropic, waits: Waits) -> Iterator["AnthropicModel"]:
    adapter = anthropic_model(access(script.url), sleep=waits, clock=waits.clock)
    yield adapter
    adapter.close()


def access(url: str) -> ModelAccess:
    return ModelAccess(SecretStr(KEY), url, "claude-haiku-5-5", 60.0, 3, 1.0, 4_000)


def test_reply_has_text_tokens_and_cost(script: FakeAnthropic, model: "AnthropicModel") -> None:
    script.reply_with({"decision": "accept"}, cache_read_input_tokens=5_120, cache_creation_input_tokens=1_000)
    reply = model.ask(PROMPT)
    assert json.loads(reply.text) == {"decision": "accept"}
    assert reply.stop is StopReason.END
    assert reply.tokens == Tokens(input=812, output=96, cache_read=5_120, cache_write=1_000)
    cost = (812 * Decimal("0.10") + 96 * Decimal("0.50") + 5_120 * Decimal("0.01") + 1_000 * Decimal("0.125")) / 10**6
    assert (reply.cost_usd, reply.request_id) == (cost, "req_bench")
    assert (model.name, model.pricing_version) == ("claude-haiku-5-5", "2026-11")


def test_request_has_the_schema_and_caches_the_system_prompt(script: FakeAnthropic, model: "AnthropicModel") -> None:
    script.reply_with({})
    model.ask(replace(PROMPT, turns=("The change.", "{", "Correct it.")))
    body = script.requests[0].body
    assert body["system"] == [{"type": "text", "text": "You judge.", "cache_control": {"type": "ephemeral"}}]
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["output_config"] == {"effort": "medium", "format": {"type": "json_schema", "schema": PROMPT.schema}}
    assert not {"temperature", "top_p", "top_k", "tools", "tool_choice", "stream"} & body.keys()


@pytest.mark.parametrize(
    ("changes", "asked", "limit", "thinking"),
    [
        ({}, 690, 690, {"type": "disabled"}),
        ({"name": "claude-haiku-5-5-20261007"}, 690, 690, {"type": "disabled"}),
        ({}, 9_000, 4_000, {"type": "disabled"}),
        ({}, None, 4_000, {"type": "disabled"}),
        ({"name": "claude-sonnet-5-5"}, 690, 690, {"type": "between_tools"}),
        ({"name": "claude-opus-5-5"}, 690, 4_000, None),
        ({"has_thinking": True}, 690, 4_000, None),
    ],
)
def test_max_tokens_follow_the_reply_form_unless_the_model_thinks(
    script: FakeAnthropic, changes: dict[str, Any], asked: int | None, limit: int, thinking: object
) -> None:
    script.reply_with({})
    with closing(anthropic_model(replace(access(script.url), **changes))) as adapter:
        adapter.ask(replace(PROMPT, reply_tokens=asked))
    body = script.requests[0].body
    assert (body["max_tokens"], body.get("thinking")) == (limit, thinking)


@pytest.mark.parametrize(
    ("usage", "tokens", "dollars"),
    [
        pytest.param(
            {"cache_creation_input_tokens": 3_000, "input_tokens": 0, "output_tokens": 0,
             "cache_creation": {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 2_000}},
            Tokens(input=0, output=0, cache_write=3_000), 1_000 * Decimal("0.125") + 2_000 * Decimal("0.20"),
            id="cache writes of an hour at their own price"),
        pytest.param(
            {"input_tokens": 10, "output_tokens": 5, "cache_creation": None, "cache_read_input_tokens": None},
            Tokens(input=10, output=5), 10 * Decimal("0.10") + 5 * Decimal("0.50"), id="none without cache fields"),
    ],
)  # fmt: skip
def test_usage_is_billed_by_token_kind(
    script: FakeAnthropic, model: "AnthropicModel", usage: dict[str, object], tokens: Tokens, dollars: Decimal
) -> None:
    reply = ask_with_body(script, model, build_message_body("{}", {}) | {"usage": usage})
    assert (reply.tokens, reply.cost_usd) == (tokens, dollars / 10**6)


def test_thinking_blocks_are_not_part_of_the_text(script: FakeAnthropic, model: "AnthropicModel") -> None:
    body = build_message_body("{}", {})
    thinking = {"type": "thinking", "thinking": "hm", "signature": "x"}
    body["content"] = [thinking, {"type": "text", "text": "{"}, *body["content"]]
    assert ask_with_body(script, model, body).text == "{{}"


def ask_with_body(script: FakeAnthropic, model: "AnthropicModel", body: object) -> ModelReply:
    script.server.clear()
    script.server.expect_request("/v1/messages").respond_with_json(body)
    return model.ask(PROMPT)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_tokens", StopReason.TRUNCATED),
        ("refusal", StopReason.REFUSED),
        ("model_context_window_exceeded", StopReason.CONTEXT_EXCEEDED),
        ("pause_turn", StopReason.OTHER),
        ("something_new", StopReason.OTHER),
    ],
)
def test_reply_that_stopped_early_is_returned_with_its_tokens(
    script: FakeAnthropic, model: "AnthropicModel", reason: str, stop: StopReason
) -> None:
    script.reply_stopped(reason)
    reply = model.ask(PROMPT)
    assert (reply.stop, reply.text, reply.tokens.input) == (stop, "", 812)


def test_refusal_has_its_category(script: FakeAnthropic, model: "AnthropicModel") -> None:
    body = build_message_body("", {}, "refusal")
    body["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "no"}
    assert ask_with_body(script, model, body).stop_detail == "cyber"


@pytest.mark.parametrize("status", [429, 500, 529])
def test_temporary_error_is_retried(script: FakeAnthropic, model: "AnthropicModel", waits: Waits, status: int) -> None:
    script.reply_with_error(status).reply_with_error(status).reply_with({"decision": "accept"})
    assert json.loads(model.ask(PROMPT).text) == {"decision": "accept"}
    assert waits == [1.0, 2.0]


def test_too_long_retry_after_is_unavailable(script: FakeAnthropic, model: "AnthropicModel", waits: Waits) -> None:
    script.reply_with_error(429, retry_after=40).reply_with_error(429, retry_after=40)
    with pytest.raises(Unavailable, match="asks to wait 40 s"):
        model.ask(PROMPT)
    assert waits == [40.0], "the second wait would end after the 60 s of the question"


@pytest.mark.parametrize(
    ("value", "delay"),
    [
        ("7", 7.0),
        ("Fri, 20 Nov 2020 20:04:00 GMT", 1.0),
        ("Fri, 20 Nov 2099 20:05:09", 1.0),
        ("soon", 1.0),
        ("nan", 1.0),
        ("-5", 1.0),
    ],
)
def test_valid_retry_after_lengthens_the_default_delay(
    script: FakeAnthropic, model: "AnthropicModel", waits: Waits, value: str, delay: float
) -> None:
    assert ask_with_retry_after(script, model, value).text == "{}"
    assert waits == [delay]


def test_retry_after_accepts_a_date(script: FakeAnthropic, model: "AnthropicModel", waits: Waits) -> None:
    assert ask_with_retry_after(script, model, formatdate(time.time() + 20, usegmt=True)).text == "{}"
    assert 15 < waits[0] <= 20


def ask_with_retry_after(script: FakeAnthropic, model: "AnthropicModel", value: str) -> ModelReply:
    script.server.clear()
    script.server.expect_ordered_request("/v1/messages").respond_with_json(
        {"type": "error"}, 503, {"retry-after": value}
    )
    script.server.expect_ordered_request("/v1/messages").respond_with_json(build_message_body("{}", {}))
    return model.ask(PROMPT)


@pytest.mark.parametrize("outage", ["break_connection", "reply_with_html"])
def test_broken_reply_is_retried_then_unavailable(script: FakeAnthropic, model: "AnthropicModel", outage: str) -> None:
    for _ in range(3):
        getattr(script, outage)()
    with pytest.raises(Unavailable):
        model.ask(PROMPT)
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    "body", ["[]", "{}", '"text"', "null", '{"content": [], "stop_reason": null}', "\ufeff{", "<html>busy</html>", ""]
)
def test_malformed_body_is_unavailable(script: FakeAnthropic, model: "AnthropicModel", waits: Waits, body: str) -> None:
    script.server.clear()
    kind = "text/html" if body.startswith("<") or not body else "application/json"
    script.server.expect_request("/v1/messages").respond_with_data(body, content_type=kind)
    with pytest.raises(Unavailable, match="something that is no reply; check ANTHROPIC_BASE_URL"):
        model.ask(PROMPT)
    assert waits == [1.0, 2.0]


def test_model_that_does_not_answer_in_time_is_unavailable(script: FakeAnthropic, waits: Waits) -> None:
    script.reply_late(20)
    adapter = anthropic_model(replace(access(script.url), timeout_s=0.2, attempts=1), sleep=waits)
    with pytest.raises(Unavailable, match=r"did not answer within 0\.2 s"):
        adapter.ask(PROMPT)
    script.release()
    adapter.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n"


@contextmanager
def serve_endless_reply(start: bytes) -> Generator[str]:
    """A server that sends *start* and then spaces until the client disconnects."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(start)
                try:
                    while not over.wait(0.02):
                        connection.sendall(b" ")
                except OSError:
                    gone.set()

        over, gone = threading.Event(), threading.Event()
        served = threading.Thread(target=serve)
        served.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert gone.wait(10), "the client hung up"
        over.set()
        served.join()


@pytest.mark.parametrize("start", [HEAD, b"HTTP/1.1 200 OK\r\nx-slow: "], ids=["body", "headers"])
def test_endless_reply_ends_at_the_timeout(start: bytes) -> None:
    with (
        serve_endless_reply(start) as url,
        closing(anthropic_model(replace(access(url), timeout_s=0.4))) as adapter,
        pytest.raises(Unavailable, match=r"did not answer within 0\.4 s"),
    ):
        adapter.ask(PROMPT)


def test_timeout_covers_all_attempts(script: FakeAnthropic) -> None:
    script.reply_with_error(529).reply_late(20)
    model = anthropic_model(replace(access(script.url), timeout_s=0.6, retry_delay_s=0.3))
    with closing(model), pytest.raises(Unavailable, match=r"did not answer within 0\.6 s"):
        model.ask(PROMPT)
    script.release()


def test_each_question_has_its_own_timeout(script: FakeAnthropic) -> None:
    script.reply_late(20).reply_with({"decision": "accept"})
    model = anthropic_model(replace(access(script.url), timeout_s=0.3, attempts=1))
    with closing(model):
        with pytest.raises(Unavailable):
            model.ask(PROMPT)
        assert json.loads(model.ask(PROMPT).text) == {"decision": "accept"}
    script.release()


def test_reset_connection_is_unavailable(waits: Waits) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def reset() -> None:
            for _ in range(3):
                connection, _ = listener.accept()
                connection.recv(1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                connection.close()

        served = threading.Thread(target=reset)
        served.start()
        adapter = anthropic_model(access(f"http://127.0.0.1:{listener.getsockname()[1]}"), sleep=waits)
        with closing(adapter), pytest.raises(Unavailable, match="the connection failed"):
            adapter.ask(PROMPT)
        served.join()
    assert waits == [1.0, 2.0]


def test_unreachable_server_is_unavailable(waits: Waits) -> None:
    with (
        closing(anthropic_model(access("http://127.0.0.1:9"), sleep=waits)) as adapter,
        pytest.raises(Unavailable, match="the connection failed"),
    ):
        adapter.ask(PROMPT)
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (400, "check ASSAY_MODEL"),
        (401, "set a valid key"),
        (403, "may not use this model"),
        (404, "there is no such model"),
        (413, "too large"),
    ],
)
def test_permanent_error_is_not_retried_and_names_the_remedy(
    script: FakeAnthropic, model: "AnthropicModel", waits: Waits, status: int, remedy: str
) -> None:
    script.reply_with_error(status)
    with pytest.raises(Unavailable, match=remedy) as caught:
        model.ask(PROMPT)
    assert not waits
    assert f"status {status}" in caught.value.reason
    assert "request req_bench" in caught.value.reason


def test_error_does_not_reveal_the_key(script: FakeAnthropic, model: "AnthropicModel") -> None:
    script.server.clear()
    body = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid key {KEY}"}}
    script.server.expect_request("/v1/messages").respond_with_json(body, 401)
    with pytest.raises(Unavailable) as caught:
        model.ask(PROMPT)
    assert KEY not in str(caught.value)
    assert KEY not in repr(model)


def test_reply_schema_needs_no_transformation_for_the_api() -> None:
    """The SDK moves unsupported keywords into descriptions."""
    import anthropic  # noqa: PLC0415 - takes a second

    assert "description" not in json.dumps(anthropic.transform_schema(dict(reply_schema())))


# The check of a key, for `assay doctor`


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("claude-opus-5-5", "claude-haiku-5-5"), None),
        (("claude-opus-5-5",), 'there is no model "claude-haiku-5-5"; check ASSAY_MODEL'),
    ],
)
def test_check_key_names_an_unknown_model(httpserver: HTTPServer, names: tuple[str, ...], problem: str | None) -> None:
    models = [{"id": name, "type": "model", "display_name": "", "created_at": "2026-10-01T00:00:00Z"} for name in names]
    answer = {"data": models, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    httpserver.expect_request("/v1/models").respond_with_json(answer)
    assert examine_key(access(httpserver.url_for(""))) == problem
    [(request, _)] = httpserver.log
    assert KEY in str(request.headers)


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (401, "status 401: ANTHROPIC_API_KEY is not accepted; set a valid key"),
        (500, "status 500: try again later"),
        (429, "status 429: try again later"),
    ],
)
def test_check_key_asks_once_and_does_not_reveal_the_key(httpserver: HTTPServer, status: int, problem: str) -> None:
    error = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid {KEY}"}}
    httpserver.expect_request("/v1/models").respond_with_json(error, status=status)
    assert examine_key(access(httpserver.url_for(""))) == problem
    assert len(httpserver.log) == 1


def test_check_key_names_the_address_of_an_unreachable_server() -> None:
    problem = examine_key(access("http://127.0.0.1:9"))
    assert problem == "http://127.0.0.1:9 can't be reached; check the network and ANTHROPIC_BASE_URL"


# What the SDK takes from the environment


def sent_headers(script: FakeAnthropic, url: str | None = None) -> dict[str, str]:
    """The headers of one request, which came to *script*."""
    script.reply_with({})
    with closing(anthropic_model(access(url or script.url))) as model:
        model.ask(PROMPT)
    request, _ = script.server.log[-1]
    return {name.lower(): value for name, value in request.headers.items()}


def test_sdk_ignores_keys_and_addresses_in_environment(script: FakeAnthropic, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.setenv(name, "other")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    sent = sent_headers(script)
    keys = [sent[name] for name in ("x-api-key", "authorization") if name in sent]
    assert [key.removeprefix("Bearer ") for key in keys] == [KEY]
    assert not [name for name, value in sent.items() if "other" in value]


def test_sdk_takes_headers_and_proxy_from_environment(script: FakeAnthropic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-team: context")
    monkeypatch.setenv("HTTP_PROXY", script.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    assert sent_headers(script, "http://model.invalid")["x-team"] == "context"


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_CUSTOM_HEADERS", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "ANTHROPIC_LOG"]
)  # fmt: skip
def test_configuration_reference_names_each_sdk_variable(name: str) -> None:
    assert f"`{name}`" in (Path(__file__).resolve().parents[4] / "docs" / "configuration.md").read_text()
