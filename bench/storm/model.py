"""The model that answers by a rule, over real HTTP, and writes down what it billed.

Does not know what the product books. Invariant: what it says depends on the change alone that it is shown; every answer costs
the same, whether it is heard or not.
"""

import json
import random
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from bench.storm.people import WRONG
from tests.world.anthropic import DIFF, ERRORS, MODEL, ROW, Asked, message, quoting
from tests.world.replies import accept, reject
from worker.adapters.anthropic.prices import BilledTokens, cost_of
from worker.domain.verdict.budget import to_nano

IN_TOKENS, OUT_TOKENS = 812, 96
HELD_S: Final = 2.0


def cost_nano() -> int:
    """What each answer costs."""
    billed = BilledTokens(input=IN_TOKENS, output=OUT_TOKENS, write_5m=0, write_1h=0, cache_read=0)
    usd = cost_of(MODEL, billed)
    return to_nano(usd or Decimal(0))


def ruled(asked: Asked) -> dict[str, Any]:
    """Whoever tries once only did not solve it; everything else is fine."""
    places = [
        (block[1], row[1], row[3])
        for block in DIFF.finditer(asked.text)
        for row in ROW.finditer(block[2])
        if row[2] == "+"
    ]
    wrong = [f"{path}:{line}" for path, line, text in places if WRONG in text]
    if wrong:
        return reject("tests_pass_but_wrong", wrong[0])
    return accept(*(f"{path}:{line}" for path, line, _ in places[:1]))


@dataclass
class Trap:
    """The next question is held until somebody did something to whoever asks."""

    sprung: threading.Event = field(default_factory=threading.Event)
    port: int | None = None
    go_on: threading.Event = field(default_factory=threading.Event)


@dataclass
class RuledModel:
    """Answers in many threads; `billed` counts the answers that cost something, heard or not."""

    server: HTTPServer
    questions: int = 0
    billed: int = 0
    lost: int = 0
    free: int = 0
    _faults: list[str] = field(default_factory=list[str])
    _trap: Trap | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.server.clear()
        self.server.expect_request("/v1/messages", method="POST").respond_with_handler(self._play)

    @property
    def url(self) -> str:
        return self.server.url_for("").rstrip("/")

    def fails(self, how: str) -> None:
        """The next answer: `lost` (billed, and broken off on its way), or an error's number."""
        self._faults.append(how)

    def clear(self) -> None:
        self._faults.clear()

    def trap(self) -> Trap:
        self._trap = Trap()
        return self._trap

    def _play(self, request: Request) -> Response:
        asked = Asked(request.get_json())
        self._springs(int(request.environ.get("REMOTE_PORT", 0)))
        with self._lock:
            self.questions += 1
            how = self._faults.pop(0) if self._faults else ""
            self.billed += not how or how == "lost"
            self.lost += how == "lost"
            self.free += how.isdigit()
        if how.isdigit():
            return _refusal(int(how))
        if how == "lost":
            half = (part for part in [b'{"id": "msg_'])
            return Response(half, headers={"Content-Length": "5000"}, content_type="application/json")
        return _json(message(quoting(ruled(asked), asked.text), {}))

    def _springs(self, port: int) -> None:
        with self._lock:
            trap, self._trap = self._trap, None
        if trap is not None:
            trap.port = port
            trap.sprung.set()
            trap.go_on.wait(HELD_S * (1 + random.SystemRandom().random()))


def _refusal(status: int) -> Response:
    kind, words = ERRORS[status]
    return _json({"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_bench"}, status)


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(body), status, {"request-id": "req_bench"}, content_type="application/json")
