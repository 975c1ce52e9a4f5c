"""Commands from comments that nobody has checked or answered yet.

Does not check who may give one. Invariant: a command stays until it is `done`; what its author wrote beside it waits encrypted.
"""

import base64
import logging
from datetime import timedelta
from typing import Final

from worker.adapters.redis.client import Wire
from worker.adapters.redis.delayed_queue import Waiting
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import Outcome, ask
from worker.adapters.redis.waiting_keys import ASKS
from worker.domain.request.judge_request import Ask
from worker.domain.value import Value
from worker.errors import Unreadable
from worker.settings import Timing

LOG: Final = logging.getLogger(__name__)


class OpenAsk(Value):
    """A command to answer; *attempt* counts from 1."""

    ask: Ask
    attempt: int


class Asks:
    """The commands in Redis."""

    def __init__(self, wire: Wire, codec: Codec, timing: Timing) -> None:
        self._wire = wire
        self._codec = codec
        self._waiting = Waiting(wire, timing, Ask, ASKS)

    def put(self, command: Ask) -> Outcome:
        """Take down a command; the same delivery again changes nothing."""
        return ask(self._wire, self._sealed(command))

    def next(self) -> OpenAsk | None:
        found = self._waiting.next()
        return OpenAsk(self._opened(found[0]), found[1]) if found else None

    def _sealed(self, command: Ask) -> Ask:
        if not command.reason:
            return command
        sealed = base64.b64encode(self._codec.seal(command.reason.encode(), ASKS.texts.name)).decode()
        return command.model_copy(update={"reason": "", "sealed": sealed})

    def _opened(self, command: Ask) -> Ask:
        """Words whose key is gone are as if nobody had written them: the command says what is missing then."""
        if command.sealed is None:
            return command
        try:
            reason = self._codec.open(base64.b64decode(command.sealed), ASKS.texts.name).decode()
        except Unreadable as error:
            LOG.warning("the reason of a command can't be read: %s", error)
            reason = ""
        return command.model_copy(update={"reason": reason, "sealed": None})

    def later(self, command: Ask, delay: timedelta) -> None:
        self._waiting.later(command.delivery_id, delay)

    def done(self, command: Ask) -> None:
        self._waiting.done(command.delivery_id)
