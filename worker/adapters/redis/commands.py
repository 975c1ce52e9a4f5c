"""Commands from comments that wait for their permission check and answer.

A command stays until it is `done`; its free text is encrypted.
"""

import base64
import logging
from datetime import timedelta
from typing import Final

from worker.adapters.redis.client import RedisClient
from worker.adapters.redis.delayed_queue import DelayedQueue
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import IntakeOutcome, queue_command
from worker.adapters.redis.keys import COMMANDS
from worker.domain.request.judge_request import CommandRequest
from worker.domain.value import Value
from worker.errors import Unreadable
from worker.settings import Timing

LOG: Final = logging.getLogger(__name__)


class QueuedCommand(Value):
    """A command to answer; *attempt* counts from 1."""

    command: CommandRequest
    attempt: int


class RedisCommandQueue:
    """The command queue in Redis."""

    def __init__(self, wire: RedisClient, codec: Codec, timing: Timing) -> None:
        self._wire = wire
        self._codec = codec
        self._waiting = DelayedQueue(wire, timing, CommandRequest, COMMANDS)

    def put(self, command: CommandRequest) -> IntakeOutcome:
        """Queue a command; idempotent by delivery."""
        return queue_command(self._wire, self._sealed(command))

    def next(self) -> QueuedCommand | None:
        entry = self._waiting.next()
        return QueuedCommand(self._opened(entry[0]), entry[1]) if entry else None

    def _sealed(self, command: CommandRequest) -> CommandRequest:
        if not command.reason:
            return command
        sealed = base64.b64encode(self._codec.seal(command.reason.encode(), COMMANDS.texts.name)).decode()
        return command.model_copy(update={"reason": "", "sealed": sealed})

    def _opened(self, command: CommandRequest) -> CommandRequest:
        """Decrypt the free text. If its key is gone, it counts as empty, and the answer asks for it."""
        if command.sealed is None:
            return command
        try:
            reason = self._codec.open(base64.b64decode(command.sealed), COMMANDS.texts.name).decode()
        except Unreadable as error:
            LOG.warning("the reason of a command can't be read: %s", error)
            reason = ""
        return command.model_copy(update={"reason": reason, "sealed": None})

    def postpone(self, command: CommandRequest, delay: timedelta) -> None:
        self._waiting.postpone(command.delivery_id, delay)

    def complete(self, command: CommandRequest) -> None:
        self._waiting.complete(command.delivery_id)
