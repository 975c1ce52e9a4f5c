"""The model that answers by a rule, over real HTTP, and writes down what it billed.

Does not know what the product books. Invariant: what it says depends on the change alone that it is shown; every answer costs
the same, whether it is heard or not.
"""

import random
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final

from werkzeug import Request, Response

from bench.storm.people import WRONG
from tests.world.anthropic import DIFF, MODEL, ROW, Anthropic, Asked
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
class RuledModel(Anthropic):
    """Answers in many threads; `billed` counts the answers that cost something, heard or not."""

    billed: int = 0
    lost: int = 0
    free: int = 0
    _trap: Trap | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def meets(self, fault: str) -> None:
        """The next answer: `lost` (billed, and broken off on its way), or an error's number."""
        if fault == "lost":
            self.breaks()
        else:
            self.fails(int(fault))

    def clear(self) -> None:
        self._answers.clear()

    def trap(self) -> Trap:
        self._trap = Trap()
        return self._trap

    def _play(self, request: Request) -> Response:
        self._springs(int(request.environ.get("REMOTE_PORT", 0)))
        with self._lock:
            before = len(self._answers)
            response = super()._play(request)
            is_fault, is_free = len(self._answers) < before, response.status_code >= HTTPStatus.BAD_REQUEST
            self.billed += not is_free
            self.free += is_free
            self.lost += is_fault and not is_free
        return response

    def _springs(self, port: int) -> None:
        with self._lock:
            trap, self._trap = self._trap, None
        if trap is not None:
            trap.port = port
            trap.sprung.set()
            trap.go_on.wait(HELD_S * (1 + random.SystemRandom().random()))
