"""Delayed queues in Redis: items sorted by due time, each kept until it is done.

A taken item returns after the hold unless it is done. An item of a later version stays for a process that can read it.
Queues of commands, pull request events and background tasks are built on it. The free text of a command is encrypted.
"""

import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, Generic, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    find_server_time,
    member_scores,
    parse_time,
    read_json_or_none,
    text,
    whole,
)
from worker.adapters.redis.connection.encryption import Codec, SealedPart
from worker.adapters.redis.connection.transactions import (
    Command,
    Operation,
    RedisPart,
    Transaction,
    read_due,
    run,
    write_all,
)
from worker.adapters.redis.judging.intake import milliseconds
from worker.adapters.redis.keys import (
    ADDED_REPOSITORIES,
    COMMANDS,
    COMMENT_JOBS,
    GROUPS,
    PULL_REQUEST_EVENTS,
    SCANS,
    SHARED_HEADS,
    QueueKeys,
)
from worker.domain.check.author_comment import VerdictTask
from worker.domain.judge_request import CommandRequest, PullRef
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.work import PendingWork, QueuedCommand, QueuedFollowUp, QueuedPullRequestEvent
from worker.domain.model import Frozen
from worker.domain.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.errors import Unreadable
from worker.settings import Timing

LOG: Final = logging.getLogger(__name__)
M = TypeVar("M", bound=Frozen)


def receive(
    transaction: Transaction, marker: keys.Key, queue: QueueKeys, item: tuple[str, str], about: Sequence[keys.Key] = ()
) -> Operation[IntakeOutcome]:
    """Queue an *item* (name and text), once for its delivery.

    *marker*: of the delivery. UNKNOWN: *about* names keys, and none of them exists.
    """
    subjects = [("EXISTS", *(key.name for key in about))] if about else []
    is_received, *count = yield from transaction.read(("EXISTS", marker.name), *subjects)
    if count == [0]:
        return IntakeOutcome.UNKNOWN
    if is_received:
        return IntakeOutcome.DUPLICATE
    transaction.write("SET", marker.name, 1, "EX", marker.seconds)
    add_item(transaction, queue, *item)
    return IntakeOutcome.QUEUED


def add_item(transaction: Transaction, queue: QueueKeys, name: str, text: str) -> None:
    """Queue an item, due now. It replaces the one of this name."""
    transaction.write("HSET", queue.texts.name, name, text)
    transaction.write("ZADD", queue.order.name, transaction.now, name)


def removal(queue: QueueKeys, name: str) -> tuple[Command, ...]:
    """Commands that remove an item, done or not."""
    return ("ZREM", queue.order.name, name), ("HDEL", queue.texts.name, name), ("HDEL", queue.tries.name, name)


def postpone_item(wire: RedisClient, order: keys.Key, name: str, delay: timedelta) -> None:
    """Make an item due after a delay, if it is still queued. Raises Unavailable."""
    due_at = find_server_time(wire) + max(0, milliseconds(delay.total_seconds()))
    wire.call("ZADD", order.name, "XX", due_at, name)


@dataclass(frozen=True, slots=True)
class DelayedQueue(Generic[M]):
    """A queue of one kind of item."""

    wire: RedisClient
    timing: Timing
    kind: type[M]
    queue_keys: QueueKeys

    def next(self) -> tuple[M, int] | None:
        """Take the longest due item for the hold, and its attempt, from 1."""
        entry = self.next_with_text()
        return entry and entry[:2]

    def next_with_text(self) -> tuple[M, int, str] | None:
        """Take as `next` does, with the stored text, which another version may have written."""
        written, attempt = run(self.wire, self._take)
        value = read_json_or_none(self.kind, written) if written else None
        return (value, attempt, written) if value else None

    def _take(self, transaction: Transaction) -> Operation[tuple[str, int]]:
        queue = self.queue_keys
        for name in (yield from read_due(transaction, queue.order)):
            written, tries = yield from transaction.read(
                ("HGET", queue.texts.name, name), ("HGET", queue.tries.name, name)
            )
            transaction.write("ZADD", queue.order.name, transaction.now + milliseconds(self.timing.open_hold), name)
            transaction.write("HINCRBY", queue.tries.name, name, 1)
            return text(written), whole(tries) + 1
        return "", 0

    def postpone(self, name: str, delay: timedelta) -> None:
        """Postpone an item."""
        postpone_item(self.wire, self.queue_keys.order, name, delay)

    def complete(self, name: str) -> None:
        write_all(self.wire, *removal(self.queue_keys, name))


WORK_KEYS: Final = (
    (PendingWork.JUDGE, keys.DUE_TURNS),
    (PendingWork.JUDGE, keys.DUE_OUTSIDE_TURNS),
    (PendingWork.OPEN, keys.PENDING_CHECK_TURNS),
    (PendingWork.OPEN, keys.PENDING_CHECK_OUTSIDE_TURNS),
    (PendingWork.ANSWER, COMMANDS.order),
    (PendingWork.ANSWER_GROUP, GROUPS.order),
    (PendingWork.WRITE, COMMENT_JOBS.order),
    (PendingWork.FOLLOW, PULL_REQUEST_EVENTS.order),
    (PendingWork.CONCLUDE, keys.LOOKAHEAD),
    (PendingWork.SETTLE, SHARED_HEADS.order),
    (PendingWork.GREET, ADDED_REPOSITORIES.order),
    (PendingWork.SCAN, SCANS.order),
)
"""Kinds of pending work, and the keys that sort each."""


def find_pending_work(wire: RedisClient, call: str) -> frozenset[PendingWork]:
    """Kinds of work that are due. *call* names the next dispatch: one that was already answered counts as due, too."""
    last, clock, *firsts = wire.pipeline(
        [
            ("HGET", keys.LAST_DISPATCH.name, "call"),
            ("TIME",),
            *(("ZRANGE", key.name, 0, 0, "WITHSCORES") for _, key in WORK_KEYS),
        ]
    )
    now = parse_time(clock)
    due = {
        work
        for (work, _), first in zip(WORK_KEYS, firsts, strict=True)
        if any(due_at <= now for _, due_at in member_scores(first))
    }
    return frozenset(due | ({PendingWork.JUDGE} if text(last) == call else set()))


F = TypeVar("F", bound=VerdictTask)


class RedisTaskQueue(Generic[F]):
    """A queue of background tasks in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, wire: RedisClient, timing: Timing, kind: type[F], line: QueueKeys) -> None:
        self._waiting = DelayedQueue(wire, timing, kind, line)

    def put(self, follow_up: F) -> None:
        """Queue a task; it replaces the pull request's earlier one, and its attempts."""
        queue, name = self._waiting.queue_keys, _name(follow_up)

        def operation(transaction: Transaction) -> Operation[None]:
            yield from transaction.peek()
            transaction.write("HDEL", queue.tries.name, name)
            add_item(transaction, queue, name, follow_up.model_dump_json())

        run(self._waiting.wire, operation)

    def next(self) -> QueuedFollowUp[F] | None:
        task = self._waiting.next_with_text()
        return QueuedFollowUp(*task) if task else None

    def is_waiting(self, pull: PullRef) -> bool:
        """Whether a task of this pull request is not done yet; it may be under way."""
        return self._waiting.wire.call("HEXISTS", self._waiting.queue_keys.texts.name, keys.pull(pull).name) == 1

    def postpone(self, follow_up: F, delay: timedelta) -> None:
        self._waiting.postpone(_name(follow_up), delay)

    def complete(self, opened: QueuedFollowUp[F]) -> None:
        """Complete a task, unless a newer one replaced it."""
        queue, name = self._waiting.queue_keys, _name(opened.follow_up)

        def operation(transaction: Transaction) -> Operation[None]:
            (stored,) = yield from transaction.read(("HGET", queue.texts.name, name))
            if text(stored) == opened.text:
                transaction.write_each(removal(queue, name))

        run(self._waiting.wire, operation)


def _name(follow_up: VerdictTask) -> str:
    return keys.pull(follow_up.pull).name


class RedisPullRequestEventQueue(RedisPart):
    """The queue of pull request events in Redis."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        super().__init__(wire)
        self._waiting = DelayedQueue(wire, timing, PullRequestEvent, PULL_REQUEST_EVENTS)

    def put(self, happening: PullRequestEvent) -> IntakeOutcome:
        """Queue an event; idempotent by delivery."""
        return run(self._wire, partial(receive_event, happening=happening))

    def next(self) -> QueuedPullRequestEvent | None:
        event = self._waiting.next()
        return QueuedPullRequestEvent(*event) if event else None

    def postpone(self, happening: PullRequestEvent, delay: timedelta) -> None:
        self._waiting.postpone(happening.delivery_id, delay)

    def complete(self, happening: PullRequestEvent) -> None:
        self._waiting.complete(happening.delivery_id)


def receive_event(transaction: Transaction, happening: PullRequestEvent) -> Operation[IntakeOutcome]:
    """Queue an event that may be an outcome of a judged pull request; idempotent by delivery."""
    marker, item = keys.received_event(happening.delivery_id), (happening.delivery_id, happening.model_dump_json())
    return (yield from receive(transaction, marker, PULL_REQUEST_EVENTS, item, _about(happening)))


def _about(happening: PullRequestEvent) -> list[keys.Key]:
    """Keys of which one exists if the event is about a judged pull request; none: rare enough to queue always."""
    if happening.what is PullRequestEventKind.CI_FAILED and happening.head_sha:
        return [keys.commit(happening.installation_id, happening.repository_id, happening.head_sha)]
    about = [happening.pull, *(happening.pull_with_number(number) for number in happening.reverts)]
    return [keys.watch(pull) for pull in about if pull is not None]


class RedisCommandQueue(SealedPart):
    """The command queue in Redis."""

    def __init__(self, wire: RedisClient, codec: Codec, timing: Timing) -> None:
        super().__init__(wire, codec)
        self._waiting = DelayedQueue(wire, timing, CommandRequest, COMMANDS)

    def put(self, command: CommandRequest) -> IntakeOutcome:
        """Queue a command; idempotent by delivery."""
        sealed = self._sealed(command)
        marker, item = keys.received_command(command.delivery_id), (command.delivery_id, sealed.model_dump_json())
        return run(self._wire, partial(receive, marker=marker, queue=COMMANDS, item=item))

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
