"""Queues in Redis: the inbox of deliveries, and delayed queues of commands, events and background tasks.

The web server appends a delivery to the inbox in one write, and the dispatcher applies deliveries in their order. An entry is removed in
the transaction that applies it, so it counts exactly once. What can't be applied is put aside, and tried again by the next process that
dispatches: it may be of a later version.

Items of a delayed queue are sorted by due time. A taken one returns after the hold unless it is done. An item of a later version stays
for a process that can read it. The free text of a command is encrypted.
"""

import base64
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Generic, TypeVar, assert_never

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    find_server_time,
    items,
    member_scores,
    parse_time,
    read_json_or_none,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import (
    Command,
    Operation,
    RedisPart,
    Transaction,
    commit_async,
    in_transaction,
    read_due,
    run,
    write_all,
)
from worker.adapters.redis.encryption_and_tokens import Codec
from worker.adapters.redis.judging import intake
from worker.adapters.redis.judging.intake import add_item, index_head, milliseconds, receive_request
from worker.adapters.redis.judging.state import load
from worker.adapters.redis.keys import (
    ADDED_REPOSITORIES,
    COMMANDS,
    COMMENT_JOBS,
    GROUPS,
    PULL_REQUEST_EVENTS,
    SCANS,
    SHARED_HEADS,
    UNCONFIRMED,
    QueueKeys,
)
from worker.domain.check.author_comment import VerdictTask
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind
from worker.domain.judge_request import CommandRequest, PullRef
from worker.domain.lifecycle.intake import (
    INBOX_DELIVERY,
    AppliedDelivery,
    CheckDelivery,
    CloseDelivery,
    EventDelivery,
    InboxDelivery,
    IntakeOutcome,
    RequestDelivery,
    ShownPull,
    is_overtaken,
    may_lag,
)
from worker.domain.lifecycle.work import (
    PendingWork,
    QueuedCommand,
    QueuedDelivery,
    QueuedFollowUp,
    QueuedPullRequestEvent,
)
from worker.domain.model import Frozen
from worker.errors import Unreadable
from worker.settings import Timing

if TYPE_CHECKING:
    from worker.adapters.redis.connection.async_client import AsyncRedisClient

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


def removal(queue: QueueKeys, name: str) -> tuple[Command, ...]:
    """Commands that remove an item, done or not."""
    return ("ZREM", queue.order.name, name), ("HDEL", queue.texts.name, name), ("HDEL", queue.tries.name, name)


def postpone_item(client: RedisClient, order: keys.Key, name: str, delay: timedelta) -> None:
    """Make an item due after a delay, if it is still queued. Raises Unavailable."""
    due_at = find_server_time(client) + max(0, milliseconds(delay.total_seconds()))
    client.call("ZADD", order.name, "XX", due_at, name)


class DelayedQueue(RedisPart, Generic[M]):
    """A queue of one kind of item. *name*: under which an item is stored. All methods raise Unavailable and are idempotent."""

    def __init__(
        self, client: RedisClient, timing: Timing, kind: type[M], queue: QueueKeys, name: Callable[[M], str]
    ) -> None:
        super().__init__(client)
        self._hold_ms = milliseconds(timing.open_hold)
        self._kind = kind
        self._queue = queue
        self._name = name

    def take(self) -> tuple[M, int, str] | None:
        """Take the longest due item for the hold: with its attempt, from 1, and its text, which another version may have written."""
        written, attempt = self._take()
        value = read_json_or_none(self._kind, written) if written else None
        return (value, attempt, written) if value else None

    @in_transaction
    def _take(self, transaction: Transaction) -> Operation[tuple[str, int]]:
        order, texts, tries = (key.name for key in self._queue.keys)
        for name in (yield from read_due(transaction, self._queue.order)):
            written, attempts = yield from transaction.read(("HGET", texts, name), ("HGET", tries, name))
            transaction.write("ZADD", order, transaction.now + self._hold_ms, name)
            transaction.write("HINCRBY", tries, name, 1)
            return text(written), whole(attempts) + 1
        return "", 0

    def postpone(self, item: M, delay: timedelta, /) -> None:
        """Postpone an item."""
        postpone_item(self._client, self._queue.order, self._name(item), delay)

    def complete(self, item: M, /) -> None:
        write_all(self._client, *removal(self._queue, self._name(item)))


WORK_KEYS: Final = (
    (PendingWork.JUDGE, keys.DUE_TURNS),
    (PendingWork.JUDGE, keys.DUE_OUTSIDE_TURNS),
    (PendingWork.OPEN_CHECK, keys.PENDING_CHECK_TURNS),
    (PendingWork.OPEN_CHECK, keys.PENDING_CHECK_OUTSIDE_TURNS),
    (PendingWork.ANSWER_COMMAND, COMMANDS.order),
    (PendingWork.ANSWER_GROUP, GROUPS.order),
    (PendingWork.WRITE_COMMENT, COMMENT_JOBS.order),
    (PendingWork.RECORD_OUTCOMES, PULL_REQUEST_EVENTS.order),
    (PendingWork.JUDGE_WHOLE, keys.LOOKAHEAD),
    (PendingWork.SYNC_SHARED_HEAD, SHARED_HEADS.order),
    (PendingWork.ADD_REPOSITORY, ADDED_REPOSITORIES.order),
    (PendingWork.UPLOAD_SARIF, SCANS.order),
    (PendingWork.CONFIRM_DELIVERY, UNCONFIRMED.order),
)
"""Kinds of pending work, and the keys that sort each."""


def find_pending_work(client: RedisClient, call: str) -> frozenset[PendingWork]:
    """Kinds of work that are due. *call* names the next dispatch: one that was already answered counts as due, too."""
    last, clock, *firsts = client.pipeline(
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


class RedisTaskQueue(RedisPart, Generic[F]):
    """A queue of background tasks in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, client: RedisClient, timing: Timing, kind: type[F], queue: QueueKeys) -> None:
        super().__init__(client)
        self._queue = queue
        self._waiting = DelayedQueue(client, timing, kind, queue, _task_name)

    @in_transaction
    def put(self, transaction: Transaction, follow_up: F) -> Operation[None]:
        """Queue a task; it replaces the pull request's earlier one, and its attempts."""
        yield from transaction.peek()
        transaction.write("HDEL", self._queue.tries.name, _task_name(follow_up))
        add_item(transaction, self._queue, _task_name(follow_up), follow_up.model_dump_json())

    def next(self) -> QueuedFollowUp[F] | None:
        task = self._waiting.take()
        return QueuedFollowUp(*task) if task else None

    def is_waiting(self, pull: PullRef) -> bool:
        """Whether a task of this pull request is not done yet; it may be under way."""
        return self._client.call("HEXISTS", self._queue.texts.name, keys.pull(pull).name) == 1

    def postpone(self, follow_up: F, delay: timedelta) -> None:
        self._waiting.postpone(follow_up, delay)

    @in_transaction
    def complete(self, transaction: Transaction, opened: QueuedFollowUp[F]) -> Operation[None]:
        """Complete a task, unless a newer one replaced it."""
        name = _task_name(opened.follow_up)
        (stored,) = yield from transaction.read(("HGET", self._queue.texts.name, name))
        if text(stored) == opened.text:
            transaction.write_each(removal(self._queue, name))


def _task_name(task: VerdictTask) -> str:
    return keys.pull(task.pull).name


class RedisPullRequestEventQueue(DelayedQueue[PullRequestEvent]):
    """The queue of pull request events in Redis."""

    def __init__(self, client: RedisClient, timing: Timing) -> None:
        super().__init__(client, timing, PullRequestEvent, PULL_REQUEST_EVENTS, attrgetter("delivery_id"))

    def put(self, event: PullRequestEvent) -> IntakeOutcome:
        """Queue an event; idempotent by delivery."""
        return self.perform(partial(receive_event, event=event))

    def next(self) -> QueuedPullRequestEvent | None:
        event = self.take()
        return QueuedPullRequestEvent(*event[:2]) if event else None


def receive_event(transaction: Transaction, event: PullRequestEvent) -> Operation[IntakeOutcome]:
    """Queue an event that may be an outcome of a judged pull request; idempotent by delivery."""
    marker, item = keys.received_event(event.delivery_id), (event.delivery_id, event.model_dump_json())
    return (yield from receive(transaction, marker, PULL_REQUEST_EVENTS, item, _about(event)))


def _about(event: PullRequestEvent) -> list[keys.Key]:
    """Keys of which one exists if the event is about a judged pull request; none: rare enough to queue always."""
    if event.what is PullRequestEventKind.CI_FAILED and event.head_sha:
        return [keys.commit(event.installation_id, event.repository_id, event.head_sha)]
    about = [event.pull, *(event.pull_with_number(number) for number in event.reverts)]
    return [keys.watch(pull) for pull in about if pull is not None]


class RedisUnconfirmedQueue(DelayedQueue[RequestDelivery]):
    """Deliveries of unknown order, which count once GitHub was asked for head and base."""

    def __init__(self, client: RedisClient, timing: Timing) -> None:
        super().__init__(client, timing, RequestDelivery, UNCONFIRMED, attrgetter("request.delivery_id"))
        self._timing = timing

    def next(self) -> QueuedDelivery | None:
        if (item := self.take()) is None:
            return None
        delivery, attempt, _ = item
        seq, head = items(self._client.call("HMGET", keys.pull(delivery.request.pull).name, "seq", "head"))
        return QueuedDelivery(delivery, attempt, (whole(seq) if seq else None, text(head) or None))

    @in_transaction
    def confirm(
        self, transaction: Transaction, queued: QueuedDelivery, shown: ShownPull, *, is_last: bool
    ) -> Operation[IntakeOutcome]:
        """Apply a delivery with the head and base that GitHub shows, and remove it.

        UNCONFIRMED: something has changed since it was taken, so GitHub has to be asked again. LATE: nothing follows from it; it is
        kept where GitHub's answer may lag, unless this one *is_last*.
        """
        delivery = queued.delivery
        request, pull = delivery.request, delivery.request.pull
        state = yield from load(transaction, pull)
        (is_queued,) = yield from transaction.read(("HEXISTS", UNCONFIRMED.texts.name, request.delivery_id))
        if not is_queued:
            return IntakeOutcome.DUPLICATE
        if (state.seq, state.head) != queued.known:
            return IntakeOutcome.UNCONFIRMED
        if may_lag(state, request, shown) and not is_last:
            return IntakeOutcome.LATE
        transaction.write_each(removal(UNCONFIRMED, request.delivery_id))
        if is_overtaken(state, request, shown):
            if request.head_sha is not None:  # `assay wait` finds the newer head
                index_head(transaction, pull, request.head_sha)
            return IntakeOutcome.LATE
        is_seen = request.arrived is not None and request.arrived.head_sha == shown.head_sha
        arrived = request.arrived if is_seen else None
        is_draft = request.draft and shown.draft
        changes = {"head_sha": shown.head_sha, "base": shown.base, "draft": is_draft, "arrived": arrived}
        confirmed, issues = request.model_copy(update=changes), delivery.unless_judged_by
        receipt = yield from receive_request(
            transaction, confirmed, self._timing, delivery.named_by, issues, is_confirmed=True
        )
        return receipt.outcome


class RedisCommandQueue(DelayedQueue[CommandRequest]):
    """The command queue in Redis."""

    def __init__(self, client: RedisClient, codec: Codec, timing: Timing) -> None:
        super().__init__(client, timing, CommandRequest, COMMANDS, attrgetter("delivery_id"))
        self._codec = codec

    def put(self, command: CommandRequest) -> IntakeOutcome:
        """Queue a command; idempotent by delivery."""
        sealed = self._seal_reason(command)
        marker, item = keys.received_command(command.delivery_id), (command.delivery_id, sealed.model_dump_json())
        return self.perform(partial(receive, marker=marker, queue=COMMANDS, item=item))

    def next(self) -> QueuedCommand | None:
        entry = self.take()
        return QueuedCommand(self._open_reason(entry[0]), entry[1]) if entry else None

    def _seal_reason(self, command: CommandRequest) -> CommandRequest:
        if not command.reason:
            return command
        sealed = base64.b64encode(self._codec.seal(command.reason.encode(), COMMANDS.texts.name)).decode()
        return command.model_copy(update={"reason": "", "sealed": sealed})

    def _open_reason(self, command: CommandRequest) -> CommandRequest:
        """Decrypt the free text. If its key is gone, it counts as empty, and the answer asks for it."""
        if command.sealed is None:
            return command
        try:
            reason = self._codec.open(base64.b64decode(command.sealed), COMMANDS.texts.name).decode()
        except Unreadable as error:
            LOG.warning("command reason unreadable: %s", error)
            reason = ""
        return command.model_copy(update={"reason": reason, "sealed": None})


async def append_delivery(client: "AsyncRedisClient", delivery: InboxDelivery) -> IntakeOutcome:
    """Append a delivery, unless it was received before. Raises Unavailable."""
    transaction, delivery_id = Transaction(), delivery.delivery_id
    if delivery_id is not None:
        marker = keys.delivery(delivery_id)
        transaction.expect(("EXISTS", marker.name), 0)
        transaction.write("SET", marker.name, 1, "EX", marker.seconds)
    transaction.write("RPUSH", keys.INBOX.name, delivery.model_dump_json())
    return IntakeOutcome.QUEUED if await commit_async(client, transaction) else IntakeOutcome.DUPLICATE


class RedisInbox:
    """The inbox as the dispatcher sees it. All methods raise Unavailable."""

    def __init__(self, client: RedisClient, timing: Timing, ledger_retention: timedelta) -> None:
        self._client = client
        self._timing = timing
        self._ledger_retention = ledger_retention

    def read(self, count: int) -> Sequence[str]:
        """The oldest entries, at most *count*."""
        return [text(entry) for entry in items(self._client.call("LRANGE", keys.INBOX.name, 0, count - 1))]

    def apply(self, entry: str) -> AppliedDelivery | None:
        """Apply the oldest entry and remove it. None: another process has done it.

        Raises any exception for an entry that can't be applied.
        """
        delivery = INBOX_DELIVERY.validate_json(entry, extra="ignore")

        def apply(transaction: Transaction) -> Operation[AppliedDelivery | None]:
            if not (yield from _take(transaction, entry)):
                return None
            return AppliedDelivery(delivery, (yield from self._apply(transaction, delivery)))

        return run(self._client, apply)

    def put_aside(self, entry: str) -> None:
        """Remove the oldest entry, and keep it for the next process that dispatches."""

        def put_aside(transaction: Transaction) -> Operation[None]:
            if (yield from _take(transaction, entry)):
                transaction.write("RPUSH", keys.INBOX_ASIDE.name, entry)
                transaction.write("EXPIRE", keys.INBOX_ASIDE.name, keys.INBOX_ASIDE.seconds)

        run(self._client, put_aside)

    def restore(self) -> None:
        """Append what was put aside."""
        while self._client.call("LMOVE", keys.INBOX_ASIDE.name, keys.INBOX.name, "LEFT", "RIGHT") is not None:
            pass

    def _apply(self, transaction: Transaction, delivery: InboxDelivery) -> Operation[IntakeOutcome]:
        match delivery:
            case RequestDelivery(request=request, named_by=by, unless_judged_by=issues, event=event):
                receipt = yield from receive_request(transaction, request, self._timing, by, issues)
                if event is not None:
                    yield from receive_event(transaction, event)
                return receipt.outcome
            case CloseDelivery(pull=pull, event=event):
                yield from intake.close_pull_request(transaction, pull, self._ledger_retention)
                return (yield from receive_event(transaction, event))
            case CheckDelivery(event=event):
                noted = IntakeOutcome.UNKNOWN if event is None else (yield from receive_event(transaction, event))
                outcome = yield from intake.retrigger_ci(
                    transaction, delivery, self._timing, is_green=delivery.is_green
                )
                return noted if outcome is IntakeOutcome.UNKNOWN else outcome
            case EventDelivery(event=event):
                return (yield from receive_event(transaction, event))
            case _:
                assert_never(delivery)


def _take(transaction: Transaction, entry: str) -> Operation[bool]:
    """Remove this entry. False: it is not the oldest one, since another process has removed it."""
    (oldest,) = yield from transaction.read(("LINDEX", keys.INBOX.name, 0))
    if text(oldest) != entry:
        return False
    transaction.write("LPOP", keys.INBOX.name)
    return True
