"""A server in the form of the Messages API that answers by a rule. The row is known by `now`, or by the key of the request.

Does not stream and counts tokens roughly. Invariant: one reply a request, and whatever goes wrong is a 500 that is counted.
"""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import cast

from bench.scripted.models import MODELS, Label
from bench.scripted.requests import Json, read

BYTES_PER_TOKEN = 3.3
FIRST = "claude-haiku-5-5"
"""The model that is asked first."""


class Played(ThreadingHTTPServer):
    """*labels* by row; a key is `MODEL ROW`, and `now` goes before that of a request. *troubles*: what no reply could be made of; *corrections*: what was asked again."""

    daemon_threads = True

    def __init__(self, labels: Mapping[str, Label]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.labels = labels
        self.now: str | None = None
        self.troubles: list[str] = []
        self.corrections: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, key: str, body: Json) -> Json:
        """The reply of the model that the key names, about its row."""
        name, _, row = key.partition(" ")
        label, asked = self.labels[row], read(body)
        if body["model"] != FIRST:  # another model errs about other rows
            label = label._replace(seed=f"{label.seed} {body['model']}")
        turns: int = len(body["messages"])
        if turns > 1:
            self.corrections.append((key, body["messages"][-1]["content"]))
        text = json.dumps(MODELS[name](asked, label, Random(f"{name} {label.seed} {turns}")))  # noqa: S311 - played
        sent = sum(len(str(turn["content"])) for turn in body["messages"]) + len(str(body["system"]))
        return {
            "id": "msg_played", "type": "message", "role": "assistant", "model": body["model"],
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": int(sent / BYTES_PER_TOKEN), "output_tokens": int(len(text) / BYTES_PER_TOKEN)},
        }  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One question."""
        server = cast("Played", self.server)
        key = server.now or self.headers["authorization"].removeprefix("Bearer ")
        body: Json = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            status, said = 200, server.answer(key, body)
        except (LookupError, TypeError, ValueError) as error:
            server.troubles.append(f"{key}: {error!r}")
            status, said = 500, {"type": "error", "error": {"type": "api_error", "message": "played"}}
        raw = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
        """Say nothing."""


@contextmanager
def played(labels: Mapping[str, Label]) -> Generator[Played]:
    server = Played(labels)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
