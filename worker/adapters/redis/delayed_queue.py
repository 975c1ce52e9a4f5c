"""Delayed queues in Redis: items sorted by due time, each kept until it is done.

A taken item returns after the hold unless it is done. An item of a later version stays for a process that can read it.
Queues of background tasks, added repositories and pull request events are built on it.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final, Generic, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text, whole
from worker.adapters.redis.intake import IntakeOutcome, add_repositories, milliseconds, queue_event
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
from worker.adapters.redis.records import RedisFirstSeen
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json_or_none
from worker.domain.check.author_comment import VerdictTask
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.model import Frozen
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pull_request_events import PullRequestEvent, RepositoryAdded
from worker.domain.value import Value
from worker.settings import Timing

M = TypeVar("M", bound=Frozen)


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
        reply = items(run_script(self.wire, Script.ASK_NEXT, self.queue_keys.keys, milliseconds(self.timing.open_hold)))
        written = text(reply[0]) if reply else ""
        value = read_json_or_none(self.kind, written) if written else None
        return (value, whole(reply[1]), written) if value else None

    def postpone(self, name: str, delay: timedelta) -> None:
        """Postpone an item."""
        run_script(
            self.wire, Script.ASK_LATER, [self.queue_keys.order], name, max(0, milliseconds(delay.total_seconds()))
        )

    def complete(self, name: str) -> None:
        run_script(self.wire, Script.ASK_DONE, self.queue_keys.keys, name)


class PendingWork(Enum):
    """Kinds of pending work, and the keys that sort each."""

    JUDGE = (keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS)
    OPEN = (keys.PENDING_CHECK_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS)
    ANSWER = (COMMANDS.order,)
    ANSWER_GROUP = (GROUPS.order,)
    WRITE = (COMMENT_JOBS.order,)
    FOLLOW = (PULL_REQUEST_EVENTS.order,)
    CONCLUDE = (keys.LOOKAHEAD,)
    SETTLE = (SHARED_HEADS.order,)
    GREET = (ADDED_REPOSITORIES.order,)
    SCAN = (SCANS.order,)


_FIRST, *_OTHERS = ((todo, key) for todo in PendingWork for key in todo.value)
_ASKED: Final = (_FIRST, (None, keys.LAST_DISPATCH), *_OTHERS)
_KEYS: Final = tuple(key for _, key in _ASKED)


def find_pending_work(wire: RedisClient, call: str) -> frozenset[PendingWork]:
    """Kinds of work that are due. *call* names the next dispatch: one that was already answered counts as due, too."""
    numbers = [whole(number) for number in items(run_script(wire, Script.DUE, _KEYS, call))]
    return frozenset(todo for number in numbers if (todo := _ASKED[number - 1][0]))


F = TypeVar("F", bound=VerdictTask)


@dataclass(frozen=True, slots=True)
class QueuedFollowUp(Generic[F]):
    """A task; *attempt* counts from 1. *text*: its stored text, which another version may write differently."""

    follow_up: F
    attempt: int
    text: str


class RedisTaskQueue(Generic[F]):
    """A queue of background tasks in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, wire: RedisClient, timing: Timing, kind: type[F], line: QueueKeys) -> None:
        self._waiting = DelayedQueue(wire, timing, kind, line)

    def put(self, follow_up: F) -> None:
        self._run(Script.FOLLOW_UP_PUT, follow_up, follow_up.model_dump_json())

    def next(self) -> QueuedFollowUp[F] | None:
        task = self._waiting.next_with_text()
        return QueuedFollowUp(*task) if task else None

    def is_waiting(self, pull: PullRef) -> bool:
        """Whether a task of this pull request is not done yet; it may be under way."""
        return self._waiting.wire.call("HEXISTS", self._waiting.queue_keys.texts.name, keys.pull(pull).name) == 1

    def postpone(self, follow_up: F, delay: timedelta) -> None:
        self._waiting.postpone(_name(follow_up), delay)

    def complete(self, opened: QueuedFollowUp[F]) -> None:
        self._run(Script.FOLLOW_UP_DONE, opened.follow_up, opened.text)

    def _run(self, script: Script, follow_up: F, written: str) -> None:
        run_script(self._waiting.wire, script, self._waiting.queue_keys.keys, _name(follow_up), written)


def _name(follow_up: VerdictTask) -> str:
    return keys.pull(follow_up.pull).name


class QueuedAddedRepository(Value):
    """An added repository; *attempt* counts from 1."""

    added: RepositoryAdded
    attempt: int


class AddedRepositoryQueue:
    """The queue of added repositories in Redis."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._waiting = DelayedQueue(wire, timing, RepositoryAdded, ADDED_REPOSITORIES)
        self._arrivals = RedisFirstSeen(wire)

    def repositories(self, installation: InstallationId) -> frozenset[RepositoryId]:
        """Waiting repositories of an installation."""
        entries = (
            read_json_or_none(RepositoryAdded, text(entry_text))
            for entry_text in items(self._wire.call("HVALS", ADDED_REPOSITORIES.texts.name))
        )
        return frozenset(entry.repository_id for entry in entries if entry and entry.installation_id == installation)

    def continue_later(self, greeting: RepositoryAdded, delay: timedelta) -> None:
        """Postpone the rest of a repository after a full batch."""
        rest = greeting.model_copy(update={"page": greeting.page + 1})
        add_repositories(self._wire, [rest])
        self.postpone(rest, delay)

    def next(self) -> QueuedAddedRepository | None:
        """Take the longest waiting repository, with the time since when the App sees it."""
        entry = self._waiting.next()
        if entry is None:
            return None
        greeting, attempt = entry
        since = self._arrivals.seen_since(greeting.installation_id, greeting.repository_id) or greeting.since
        return QueuedAddedRepository(greeting.model_copy(update={"since": since}), attempt)

    def postpone(self, greeting: RepositoryAdded, delay: timedelta) -> None:
        self._waiting.postpone(greeting.id, delay)

    def complete(self, greeting: RepositoryAdded) -> None:
        self._waiting.complete(greeting.id)


class QueuedPullRequestEvent(Value):
    """A pull request event; *attempt* counts from 1."""

    event: PullRequestEvent
    attempt: int


class RedisPullRequestEventQueue:
    """The queue of pull request events in Redis."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._waiting = DelayedQueue(wire, timing, PullRequestEvent, PULL_REQUEST_EVENTS)

    def put(self, happening: PullRequestEvent) -> IntakeOutcome:
        """Queue an event; idempotent by delivery."""
        return queue_event(self._wire, happening)

    def next(self) -> QueuedPullRequestEvent | None:
        event = self._waiting.next()
        return QueuedPullRequestEvent(*event) if event else None

    def postpone(self, happening: PullRequestEvent, delay: timedelta) -> None:
        self._waiting.postpone(happening.delivery_id, delay)

    def complete(self, happening: PullRequestEvent) -> None:
        self._waiting.complete(happening.delivery_id)
