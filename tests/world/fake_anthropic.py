"""A fake Anthropic server: scripted replies over HTTP, and a record of the requests."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from worker.judge.llm.sanitize import shown_path

MODEL = "claude-haiku-5-5"
ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "model: claude-unknown"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit"),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
HOLD_TIMEOUT_S = 60.0

Reply = Mapping[str, Any] | str
Answer = Callable[["ModelRequest"], Response]


@dataclass(frozen=True)
class ModelRequest:
    """One request to the model."""

    body: dict[str, Any]

    @property
    def text(self) -> str:
        """The whole prompt: system and all turns."""
        turns = [turn["content"] for turn in self.body["messages"]]
        return "\n".join(_text(part) for part in [self.body.get("system", ""), *turns])

    @property
    def schema(self) -> dict[str, Any]:
        return self.body["output_config"]["format"]["schema"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


@dataclass
class HeldReply:
    """A scripted reply that is sent only when the test releases it."""

    _asked: threading.Event = field(default_factory=threading.Event)
    _released: threading.Event = field(default_factory=threading.Event)

    def wait_for_request(self, seconds: float = 30.0) -> None:
        assert self._asked.wait(seconds), f"The model was not asked within {seconds:.0f} s."

    def release(self) -> None:
        self._released.set()

    def wait(self) -> None:
        self._asked.set()
        self._released.wait(HOLD_TIMEOUT_S)


@dataclass
class FakeAnthropic:
    """The script of one test: replies in order, then those of `reply_by`."""

    server: HTTPServer
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    unexpected: list[str] = field(default_factory=list[str])
    _script: list[Answer] = field(default_factory=list[Answer])
    _decide: Callable[[ModelRequest], Reply] | None = None
    _fallback: Answer | None = None
    _held: list[HeldReply] = field(default_factory=list[HeldReply])
    _hold: tuple[Callable[[ModelRequest], bool], HeldReply] | None = None
    _is_released: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.server.clear()
        self.server.expect_request("/v1/messages", method="POST").respond_with_handler(self._respond)

    @property
    def url(self) -> str:
        return self.server.url_for("").rstrip("/")

    # --- the script -----------------------------------------------------------------------------

    def reply_with(self, reply: Reply, **usage: int) -> Self:
        """A valid reply; a str is sent as it is."""
        return self._add(lambda request: _success(complete_reply(reply, request.text), usage))

    def reply_by(self, decide: Callable[[ModelRequest], Reply]) -> Self:
        """Answer requests outside the script with *decide*."""
        self._decide = decide
        return self

    def hold_reply(self, reply: Reply) -> HeldReply:
        """A valid reply that waits for its release."""
        held = HeldReply()
        self._held.append(held)

        def answer(request: ModelRequest) -> Response:
            held.wait()
            return _success(complete_reply(reply, request.text), {})

        self._add(answer)
        return held

    def hold_replies_to(self, which: Callable[[ModelRequest], bool]) -> HeldReply:
        """Hold the replies of `reply_by` to the requests that *which* selects."""
        held = HeldReply()
        self._held.append(held)
        self._hold = which, held
        return held

    def reply_stopped(self, reason: str, text: str = "") -> Self:
        """Stop with *reason*: `max_tokens` or `refusal`, both with status 200."""
        return self._add(lambda _: _json(build_message_body(text, {}, reason)))

    def reply_with_error(self, status: int, retry_after: float | None = None) -> Self:
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        return self._add(lambda _: _json(_error(status), status, headers))

    def fail_from_now_on(self, status: int = 529) -> Self:
        """Answer requests outside the script with this error."""
        self._fallback = lambda _: _json(_error(status), status)
        return self

    def delay_from_now_on(self, seconds: float) -> Self:
        """Answer requests outside the script this late."""
        self._fallback = lambda _: self._late_reply(seconds)
        return self

    def reply_late(self, seconds: float) -> Self:
        """Beyond the client's timeout, this is a timeout."""
        return self._add(lambda _: self._late_reply(seconds))

    def break_connection(self) -> Self:
        """Half a reply, then the connection closes."""
        half = (part for part in [b'{"id": "msg_'])
        return self._add(lambda _: Response(half, headers={"Content-Length": "5000"}, content_type="application/json"))

    def reply_with_html(self) -> Self:
        """Status 200 and no JSON, as a broken proxy sends it."""
        return self._add(lambda _: Response("<html>502 Bad Gateway</html>", content_type="application/json"))

    def assert_script_done(self) -> None:
        self.release()
        assert not self.unexpected, self.unexpected
        assert not self._script, f"{len(self._script)} scripted replies were never asked for"

    def release(self) -> None:
        """Release all held replies, so that no thread outlives the test."""
        self._is_released.set()
        for held in self._held:
            held.release()

    def _late_reply(self, seconds: float) -> Response:
        self._is_released.wait(seconds)
        return _success("too late", {})

    def _add(self, answer: Answer) -> Self:
        self._script.append(answer)
        return self

    def _respond(self, http_request: Request) -> Response:
        request = ModelRequest(http_request.get_json())
        self.requests.append(request)
        if not {"x-api-key", "authorization"} & {name.lower() for name, _ in http_request.headers}:
            self.unexpected.append(f"a request without credentials: {dict(http_request.headers)}")
        if self._script:
            return self._script.pop(0)(request)
        if self._decide is not None:
            if self._hold is not None and self._hold[0](request):
                self._hold[1].wait()
            return _success(complete_reply(self._decide(request), request.text), {})
        if self._fallback is not None:
            return self._fallback(request)
        self.unexpected.append(f"request {len(self.requests)} was not in the script")
        return _json(_error(400), 400)


def complete_reply(reply: Reply, text: str) -> Reply:
    """The reply with the quotes of its lines and a state for each closing condition of the prompt, as a real model gives them."""
    if isinstance(reply, str):
        return reply
    shown = {
        (block[1], row[2] == "-", int(row[1])): row[3]
        for block in DIFF.finditer(text)
        for row in ROW.finditer(block[2])
    }
    state = "resolved" if reply.get("decision") == "accept" else "open"
    conditions: list[dict[str, Any]] = [
        {"id": condition_id, "state": state, "evidence": []}
        for block in OPEN.findall(text)
        for condition_id in ID.findall(block)
    ]
    if UNASKED.search(text) and "criteria" in reply:
        reply = {**reply, "criteria": [{**criterion, "id": "description"} for criterion in reply["criteria"]]}
    return _add_quotes({"conditions": conditions, **reply} if "scores" in reply else reply, shown)


def _add_quotes(value: Any, shown: Mapping[tuple[str, bool, int], str]) -> Any:
    if isinstance(value, list):
        return [_add_quotes(item, shown) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(value, dict):
        return value
    pointer: dict[str, Any] = {name: _add_quotes(item, shown) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    if pointer.get("line") is None or pointer.get("quote"):
        return pointer
    key = shown_path(pointer["path"]), pointer["side"] == "base", pointer["line"]
    return {**pointer, "quote": shown.get(key, "")}


OPEN: Final = re.compile(r"begin: open conditions\]\]\n(.*?)\n\[\[", re.DOTALL)
UNASKED: Final = re.compile(r"begin: criteria\]\]\ndescription \(inferred\): ")
"""The prompt of a pull request without issue and criteria."""
ID: Final = re.compile(r"^(c\d+): ", re.MULTILINE)
DIFF: Final = re.compile(r'begin: diff of "([^\n]+)"[^\n]*\]\]\n(.*?)\n\[\[', re.DOTALL)
ROW: Final = re.compile(r"^(\d+) ([-+ ])(.*)$", re.MULTILINE)


def build_message_body(reply: Reply, usage: Mapping[str, int], stop_reason: str = "end_turn") -> dict[str, Any]:
    """The response body of POST /v1/messages without streaming."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return {
        "id": "msg_01Bench",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": text, "citations": None}] if text else [],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "container": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 812,
            "output_tokens": 96,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "server_tool_use": None,
            "service_tier": "standard",
            "inference_geo": "not_available",
            **usage,
        },
    }


def _success(reply: Reply, usage: Mapping[str, int]) -> Response:
    return _json(build_message_body(reply, usage))


def _json(body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    named = {"request-id": "req_bench", **(headers or {})}
    return Response(json.dumps(body), status, named, content_type="application/json")


def _error(status: int) -> dict[str, Any]:
    kind, message = ERRORS[status]
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_bench"}
