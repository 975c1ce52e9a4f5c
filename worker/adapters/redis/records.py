"""Records by eval id, by repository and by commit: find, delete and track them, with the sweep's progress.

Most methods scan all keys, so no judge uses them. After a deletion only a tombstone with its time is left. Of pull requests by commit
the caller decides which installations are visible.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    Argument,
    RedisClient,
    blob,
    find_server_time,
    items,
    pairs,
    read_json,
    read_json_or_none,
    scan_keys,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import (
    Command,
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    read_due,
    run,
    write_all,
)
from worker.adapters.redis.encryption_and_tokens import SealedPart
from worker.adapters.redis.judging.intake import stamp
from worker.adapters.redis.keys import ADDED_REPOSITORIES, COMMANDS, PULL_REQUEST_EVENTS, UNCONFIRMED
from worker.adapters.redis.ledger_and_events import RedisEvents as Stream
from worker.adapters.redis.pauses import RedisPauses
from worker.adapters.redis.queues import DelayedQueue, removal
from worker.domain.check.check_run import DueJudging, PullWithHead, find_wait_reason
from worker.domain.github_events import DeliveryAttempt, DeliveryCursor, Repository, RepositoryAdded
from worker.domain.judge_request import CommandRequest, JudgeRequest, PullRef
from worker.domain.lifecycle.work import QueuedAddedRepository
from worker.domain.model import EvalId, InstallationId, RepositoryId, Sha
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind, Verdict
from worker.settings import Timing

if TYPE_CHECKING:
    from worker.adapters.redis.store import Store

BATCH: Final = 1_000


@dataclass(frozen=True)
class RepositoryKeys:
    """Names of a repository's keys under one pair of ids, by kind.

    `events`: its entries on the installation's stream; `evals`: its open evaluations.
    """

    installation: InstallationId
    repository: RepositoryId
    names: Mapping[str, Sequence[str]]
    events: Sequence[str] = ()
    evals: Sequence[str] = ()


@dataclass(frozen=True)
class RepositoryHoldings:
    """All stored data of a repository. `forgotten_at`: time of an earlier deletion."""

    repository: str
    owned: tuple[RepositoryKeys, ...]
    commands: tuple[CommandRequest, ...]
    verdicts: int
    forgotten_at: datetime | None

    def count(self, what: str) -> int:
        return sum(len(owned.names[what]) for owned in self.owned)

    @property
    def events(self) -> int:
        return sum(len(owned.events) for owned in self.owned)

    @property
    def is_empty(self) -> bool:
        kept = any(names for owned in self.owned for names in (*owned.names.values(), owned.events, owned.evals))
        return not kept and not self.commands


class RedisRecords(SealedPart):
    """Reads and deletes records."""

    def find_entry(self, eval_id: EvalId) -> LedgerEntry | None:
        """Find an entry in any ledger."""
        for batch in self._scan(keys.any_pull_key("ledger")):
            for name, sealed in zip(
                batch, self._client.pipeline([("HGET", name, eval_id) for name in batch]), strict=True
            ):
                if sealed:
                    return self._open(LedgerEntry, sealed, name)
        return None

    def find_holdings(self, repository: str) -> RepositoryHoldings:
        """Find all stored data of a repository, under all ids that it was judged with."""
        numbers = sorted(self._numbers(repository))
        owned = tuple(self._find_owned_keys(*pair) for pair in numbers)
        forgotten_at = self._client.call("GET", keys.tombstone(repository).name)
        return RepositoryHoldings(
            repository,
            owned,
            commands=tuple(
                command
                for command in self._asks()
                if (command.pull.installation_id, command.pull.repository_id) in numbers
            ),
            verdicts=sum(whole(self._client.call("HLEN", name)) for part in owned for name in part.names["ledger"]),
            forgotten_at=datetime.fromisoformat(text(forgotten_at)) if forgotten_at else None,
        )

    def forget(self, holdings: RepositoryHoldings, at: datetime) -> None:
        """Delete the data, and write the tombstone. An active judge loses its lease."""
        on = (keys.DEADLINES, keys.DEADLINE_NOTES, keys.tombstone(holdings.repository))
        for owned in holdings.owned:
            self._delete(on, [name for names in owned.names.values() for name in names], owned.installation, at)
            self._delete_stream_entries(owned)
            self._unlink(owned)
        for ask in holdings.commands:
            write_all(self._client, *removal(COMMANDS, ask.delivery_id))
        for owned in holdings.owned:
            self._delete_events(f'"repository_id":{owned.repository},')
        last = keys.repository_numbers(holdings.repository)
        self._client.call("UNLINK", last.name)
        self._client.call("SET", keys.tombstone(holdings.repository).name, _stamp(at))

    def forget_installation(self, installation: InstallationId, at: datetime) -> int:
        """Delete all data of an installation, repository by repository; return the number of keys."""
        on = (keys.DEADLINES, keys.DEADLINE_NOTES, keys.tombstone(f"installation {installation}"))
        gone, repositories = 0, self._repositories(installation)
        for repository in repositories:
            owned = self._find_owned_keys(installation, repository)
            self._delete_stream_entries(owned)
            gone += self._delete(on, [name for names in owned.names.values() for name in names], installation, at)
        for ask in [command for command in self._asks() if command.pull.installation_id == installation]:
            write_all(self._client, *removal(COMMANDS, ask.delivery_id))
        self._delete_events(f'"installation_id":{installation},')
        for batch in self._scan(keys.any_installation_key(installation)):
            gone += self._delete(on, batch, installation, at)
        if pairs := [f"{installation}:{repository}" for repository in repositories]:
            for batch in self._scan(keys.EVERY_NAME):
                for name in batch:
                    self._client.call("SREM", name, *pairs)
        self._client.call("ZREM", keys.UNINSTALLATIONS.name, installation)
        return gone

    def installations(self) -> tuple[InstallationId, ...]:
        """Installations with a stream of events."""
        return self._stream().installations()

    def _repositories(self, installation: InstallationId) -> tuple[RepositoryId, ...]:
        """Repositories with any stored pull request."""
        kinds = {what.encode() for what in (*keys.PULL_KEY_KINDS, "kept")}
        numbers: set[int] = set()
        for batch in self._scan(keys.any_installation_key(installation)):
            parts = [name.encode().split(b":") for name in batch]
            numbers |= {int(part[3]) for part in parts if len(part) > 3 and part[2] in kinds}  # noqa: PLR2004 - assay:I:what:R
        return tuple(RepositoryId(number) for number in sorted(numbers))

    def _delete(self, on: Sequence[keys.Key], names: Sequence[str], installation: InstallationId, at: datetime) -> int:
        """Delete keys with what the dispatcher and the watchdog know of them, and write the tombstone; return their number."""
        deadlines, notes, tombstone = on
        client, gone = self._client, 0
        queues = [
            queue(installation).name
            for queue in (keys.due, keys.pending_checks, keys.due_outside, keys.pending_checks_outside)
        ]
        client.call("SET", tombstone.name, _stamp(at))
        for start in range(0, len(names), BATCH):
            page = names[start : start + BATCH]
            last = text(client.call("HGET", keys.LAST_DISPATCH.name, "pull"))
            *_, count = client.pipeline(
                [
                    *(("ZREM", name, *page) for name in (*queues, keys.DISPATCHED.name, keys.LOOKAHEAD.name)),
                    *(
                        ("SREM", name, *page)
                        for name in (keys.dispatched(installation).name, keys.DISPATCHED_OUTSIDE.name)
                    ),
                    *([("DEL", keys.LAST_DISPATCH.name)] if last in page else []),
                    ("ZREM", deadlines.name, *page),
                    ("HDEL", notes.name, *page),
                    ("UNLINK", *page),
                ]
            )
            gone += whole(count)
        return gone

    def _delete_events(self, mark: str) -> None:
        """Delete queued pull request events and unconfirmed deliveries."""
        for queue in (PULL_REQUEST_EVENTS, UNCONFIRMED):
            for name, note in pairs(self._client.call("HGETALL", queue.texts.name)):
                if mark in f"{text(note)},".replace("}", ","):
                    write_all(self._client, *removal(queue, text(name)))

    def _unlink(self, owned: RepositoryKeys) -> None:
        """Remove its pull requests from the sets of those that close an issue."""
        mine = f"{owned.repository}:"
        for batch in self._scan(keys.any_issue_pulls(owned.installation)):
            for name in batch:
                members = [text(member) for member in items(self._client.call("ZRANGE", name, 0, -1))]
                if closing := [member for member in members if member.startswith(mine)]:
                    self._client.call("ZREM", name, *closing)

    def _delete_stream_entries(self, owned: RepositoryKeys) -> None:
        """Remove its events from the stream. Open evaluations first: a watchdog would end them there."""
        for start in range(0, len(owned.evals), BATCH):
            evals = owned.evals[start : start + BATCH]
            self._client.call("HDEL", keys.OPEN_EVALUATIONS.name, *evals)
            self._client.call("ZREM", keys.EVALUATION_DEADLINES.name, *evals)
        for start in range(0, len(owned.events), BATCH):
            self._client.call("XDEL", keys.events(owned.installation).name, *owned.events[start : start + BATCH])
        outdated = (keys.events_generation(owned.installation), *keys.retired_rollups(owned.installation))
        self._client.call("UNLINK", *(key.name for key in outdated))  # the rest is counted again

    def _numbers(self, repository: str) -> set[tuple[InstallationId, RepositoryId]]:
        """Ids from ledgers, from queued judgings, and from pauses."""
        paused = RedisPauses(self._client).find_by_name(repository)
        waiting = (request for request in self._requests() if request.repository.lower() == repository.lower())
        return (
            paused
            | set(find_repositories(self._client, repository))
            | {(request.pull.installation_id, request.pull.repository_id) for request in waiting}
        )

    def _requests(self) -> Iterator[JudgeRequest]:
        for batch in self._scan(keys.any_pull_key("pull")):
            for name in batch:
                if request := self._client.call("HGET", name, "req"):
                    yield read_json(JudgeRequest, text(request))

    def _asks(self) -> Iterator[CommandRequest]:
        return (
            read_json(CommandRequest, text(stored)) for stored in items(self._client.call("HVALS", COMMANDS.texts.name))
        )

    def _find_owned_keys(self, installation: InstallationId, repository: RepositoryId) -> RepositoryKeys:
        names: dict[str, list[str]] = {what: [] for what in keys.PULL_KEY_KINDS}
        beginnings = {what: keys.prefix(what, installation, repository) for what in keys.PULL_KEY_KINDS}
        for batch in self._scan(keys.any_installation_key(installation)):
            for what, beginning in beginnings.items():
                names[what] += [name for name in batch if name.startswith(beginning)]
        unique = {what: sorted(set(keys_found)) for what, keys_found in names.items()}
        kept, stream = keys.archived_evals(installation, repository).name, self._stream()
        entered = [field for name in unique["ledger"] for field in items(self._client.call("HKEYS", name))]
        listed = items(self._client.call("ZRANGE", kept, 0, -1))
        ids = sorted({EvalId(text(eval_id)) for eval_id in (*listed, *entered)})
        blobs = {
            "dossier": self._there(keys.dossier(id_).name for id_ in ids),
            "audit": self._there(keys.audit(id_).name for id_ in ids),
            "kept": self._there(iter([kept])),
            "paused": self._there(iter([keys.pause(installation, repository).name])),
            "shelf": self._there(iter([keys.paused_heads(installation, repository).name])),
        }
        # An unreadable entry of the stream names no repository.
        is_named = re.compile(rb'"repository_id"\s*:\s*%d\s*[,}]' % repository).search
        published = tuple(entry.id for entry in stream.read(installation) if is_named(entry.raw))
        of_pulls = beginnings["pull"].encode()
        notes = pairs(self._client.call("HGETALL", keys.OPEN_EVALUATIONS.name))
        evals = tuple(text(name) for name, note in notes if blob(note).startswith(of_pulls))
        return RepositoryKeys(installation, repository, {**unique, **blobs}, published, evals)

    def _stream(self) -> Stream:
        return Stream(self._client, timedelta(0), timedelta(0))

    def _there(self, names: Iterator[str]) -> list[str]:
        return [name for name in names if whole(self._client.call("EXISTS", name))]

    def _scan(self, pattern: str) -> Iterator[list[str]]:
        return ([name.decode() for name in names] for names in scan_keys(self._client, pattern, BATCH))


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


SINCE, NAMED, GONE = "since", "named", "gone"
"""Fields of `keys.first_seen`."""


class RedisFirstSeen(RedisPart):
    """First-seen times in Redis. All methods raise Unavailable and are idempotent."""

    def record_seen(
        self, installation: InstallationId, repositories: Sequence[Repository], installed_at: datetime, now: datetime
    ) -> Mapping[RepositoryId, datetime]:
        """Record when each repository was first seen; existing records stay."""
        seen_keys = [keys.first_seen(installation, repository.id).name for repository in repositories]
        names = [keys.repository_numbers(repository.name).name for repository in repositories]
        members = [f"{installation}:{repository.id}" for repository in repositories]

        def operation(transaction: Transaction) -> Operation[Mapping[RepositoryId, datetime]]:
            stored = yield from transaction.read(*(("HMGET", key, SINCE, NAMED, GONE) for key in seen_keys))
            records = [tuple(map(text, items(record))) for record in stored]
            is_judged = yield from transaction.read(*map(_is_member, names, members))
            was_judged = yield from transaction.read(*map(_is_member, (last for _, last, _ in records), members))
            times = dict[RepositoryId, datetime]()
            for number, repository in enumerate(repositories):
                (since, last, gone), arrival, name = records[number], seen_keys[number], names[number]
                if not since:
                    # What was judged before the first record is seen since the installation, unless access was lost meanwhile.
                    since = stamp(installed_at if is_judged[number] and not gone else now)
                    transaction.write("HSET", arrival, SINCE, since)
                if last != name:
                    if was_judged[number]:
                        transaction.write("SADD", name, members[number])
                    transaction.write("HSET", arrival, NAMED, name)
                times[repository.id] = parse_stamp(since)
            return times

        return run(self._client, operation) if repositories else {}

    def remove(self, installation: InstallationId, repositories: Collection[RepositoryId]) -> None:
        """Record that the App lost access to them."""
        for repository in repositories:
            key = keys.first_seen(installation, repository).name
            write_all(self._client, ("DEL", key), ("HSET", key, GONE, 1))

    def seen_since(self, installation: InstallationId, repository: RepositoryId) -> datetime | None:
        stored = self._client.call("HGET", keys.first_seen(installation, repository).name, SINCE)
        return parse_stamp(text(stored)) if stored else None


def _is_member(key: str, member: str) -> Command:
    return ("SISMEMBER", key, member)


def parse_stamp(stamped: str) -> datetime:
    return datetime.fromtimestamp(int(stamped), UTC)


MOST_ADDED_TOGETHER: Final = 100


def add_repositories(client: RedisClient, added: Sequence[RepositoryAdded]) -> None:
    """Queue repositories that the App just got access to. Raises Unavailable."""
    for start in range(0, len(added), MOST_ADDED_TOGETHER):
        batch = added[start : start + MOST_ADDED_TOGETHER]
        now = find_server_time(client)
        write_all(client, *(command for repository in batch for command in _add_repository(repository, now)))


def _add_repository(repository: RepositoryAdded, now: float) -> tuple[Command, ...]:
    first_seen = keys.first_seen(repository.installation_id, repository.repository_id)
    return (
        ("HSET", ADDED_REPOSITORIES.texts.name, repository.id, repository.model_dump_json()),
        ("ZADD", ADDED_REPOSITORIES.order.name, now, repository.id),
        ("HSETNX", first_seen.name, SINCE, stamp(repository.since)),
    )


class AddedRepositoryQueue(DelayedQueue[RepositoryAdded]):
    """The queue of added repositories in Redis."""

    def __init__(self, client: RedisClient, timing: Timing) -> None:
        super().__init__(client, timing, RepositoryAdded, ADDED_REPOSITORIES, attrgetter("id"))

    def repositories(self, installation: InstallationId) -> frozenset[RepositoryId]:
        """Waiting repositories of an installation."""
        entries = (
            read_json_or_none(RepositoryAdded, text(entry_text))
            for entry_text in items(self._client.call("HVALS", ADDED_REPOSITORIES.texts.name))
        )
        return frozenset(entry.repository_id for entry in entries if entry and entry.installation_id == installation)

    def continue_later(self, added: RepositoryAdded, delay: timedelta) -> None:
        """Postpone the rest of a repository after a full batch."""
        rest = added.model_copy(update={"page": added.page + 1})
        add_repositories(self._client, [rest])
        self.postpone(rest, delay)

    def next(self) -> QueuedAddedRepository | None:
        """Take the longest waiting repository, with the time since when the App sees it."""
        entry = self.take()
        if entry is None:
            return None
        added, attempt, _ = entry
        seen_since = RedisFirstSeen(self._client).seen_since(added.installation_id, added.repository_id)
        return QueuedAddedRepository(added.model_copy(update={"since": seen_since or added.since}), attempt)


UNINSTALLATIONS_AT_A_TIME: Final = 10


class RedisUninstallations(RedisPart):
    """Uninstallations in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, client: RedisClient, grace: timedelta) -> None:
        super().__init__(client)
        self._grace_ms = int(grace.total_seconds() * 1000)

    def record_uninstalled(self, installation: InstallationId) -> None:
        """Record an uninstallation: data is deleted after the grace period, counted from the first record."""
        due_at = find_server_time(self._client) + self._grace_ms
        self._client.call("ZADD", keys.UNINSTALLATIONS.name, "NX", due_at, installation)

    def record_installed(self, installation: InstallationId) -> None:
        self._client.call("ZREM", keys.UNINSTALLATIONS.name, installation)

    def list_due(self) -> tuple[InstallationId, ...]:
        """Installations to delete now. Each stays listed until it is deleted."""
        due = run(self._client, partial(read_due, order=keys.UNINSTALLATIONS, count=UNINSTALLATIONS_AT_A_TIME))
        return tuple(InstallationId(int(installation)) for installation in due)


MOST_TIMES = 3
"""Redeliveries of one delivery: after as many failures another one is pointless."""

ARRIVED_MARK: Final = "arrived"
"""Marks a delivery of which another attempt came through."""


class RedisProgress(RedisPart):
    """The ports Progress and Pages."""

    def last_completed_at(self) -> datetime | None:
        stored = self._client.call("GET", keys.RECONCILED_AT.name)
        return datetime.fromtimestamp(int(text(stored)), UTC) if stored else None

    def complete(self, at: datetime) -> None:
        self._put(keys.RECONCILED_AT, int(at.timestamp()))
        self._client.call("DEL", keys.RECONCILE_PLACE.name)

    def load_position(self) -> DeliveryCursor | None:
        stored = self._client.call("GET", keys.RECONCILE_PLACE.name)
        return read_json(DeliveryCursor, text(stored)) if stored else None

    def save_position(self, position: DeliveryCursor) -> None:
        self._put(keys.RECONCILE_PLACE, position.model_dump_json())

    def pending(self) -> Sequence[DeliveryAttempt]:
        texts = items(self._client.call("HVALS", keys.MISSED_DELIVERIES.name))
        return [attempt for stored in texts if (attempt := read_json_or_none(DeliveryAttempt, text(stored)))]

    def add_pending(self, attempts: Iterable[DeliveryAttempt]) -> None:
        fields = [part for attempt in attempts for part in (attempt.guid, attempt.model_dump_json())]
        if fields:
            self._client.call("HSET", keys.MISSED_DELIVERIES.name, *fields)

    def remove_pending(self, guid: str) -> None:
        self._client.call("HDEL", keys.MISSED_DELIVERIES.name, guid)

    def mark_arrived(self, guid: str) -> None:
        write_all(self._client, *_add_attempt(guid, ARRIVED_MARK))
        self.remove_pending(guid)

    def is_settled(self, guid: str, attempt: int) -> bool:
        members = {text(member) for member in items(self._client.call("SMEMBERS", keys.redelivery_attempts(guid).name))}
        return ARRIVED_MARK in members or any(int(member) >= attempt for member in members)

    @in_transaction
    def may_redeliver(self, transaction: Transaction, guid: str, attempt: int) -> Operation[bool]:
        """Claim one of the redeliveries; idempotent by *attempt*."""
        (stored,) = yield from transaction.read(("SMEMBERS", keys.redelivery_attempts(guid).name))
        attempts = set(map(text, items(stored)))
        if str(attempt) not in attempts and len(attempts) >= MOST_TIMES:
            return False
        transaction.write_each(_add_attempt(guid, str(attempt)))
        return True

    def round(self) -> int:
        stored = self._client.call("GET", keys.RECONCILE_ROUND.name)
        return int(text(stored)) if stored else 1

    def goes_on(self, page: int) -> None:
        self._put(keys.RECONCILE_ROUND, page)

    def next_page(self, installation: InstallationId) -> int:
        stored = self._client.call("GET", keys.reconciled_page(installation).name)
        return int(text(stored)) if stored else 1

    def set_next_page(self, installation: InstallationId, page: int) -> None:
        self._put(keys.reconciled_page(installation), page)

    def _put(self, key: keys.Key, value: Argument) -> None:
        self._client.call("SET", key.name, value, "EX", key.seconds)


def _add_attempt(guid: str, mark: str) -> tuple[Command, Command]:
    key = keys.redelivery_attempts(guid)
    return ("SADD", key.name, mark), ("EXPIRE", key.name, key.seconds)


def find_repositories(client: RedisClient, name: str) -> list[tuple[InstallationId, RepositoryId]]:
    """Installation and repository ids of a name; several if another installation or repository had it before."""
    pairs = (text(entry).split(":") for entry in items(client.call("SMEMBERS", keys.repository_numbers(name).name)))
    return sorted(
        (InstallationId(int(installation)), RepositoryId(int(repository))) for installation, repository in pairs
    )


def find_seen_pulls(
    store: "Store", repository: str, sha: Sha, within: Collection[InstallationId] | None = None
) -> list[PullWithHead]:
    """Pull requests *within* these installations; None: all. Raises Unavailable.

    If an earlier installation of the App also had it, the newest counts: GitHub's ids grow.
    """
    refs = {
        number: PullRef(installation_id=installation, repository_id=repository_id, number=number)
        for installation, repository_id in find_repositories(store.client, repository)
        if within is None or installation in within
        for number in map(
            whole, items(store.client.call("SMEMBERS", keys.heads(installation, repository_id, sha).name))
        )
    }
    return [_read_head(store, ref, sha) for ref in refs.values()]


def _read_head(store: "Store", ref: PullRef, sha: Sha) -> PullWithHead:
    state, head, rests, over, *times = items(
        store.client.call("HMGET", keys.pull(ref).name, "state", "head", "rests", "over", *WAIT_TIMES)
    )
    is_begun = bool(state) and text(state) != "due"
    newest = None if is_begun else _newest_verdict(store, ref, sha)
    reason, override = None, None
    if state:
        now_ms = int(find_server_time(store.client))
        times_ms = {name: int(float(text(time))) for name, time in zip(WAIT_TIMES.values(), times, strict=True) if time}
        reason = find_wait_reason(DueJudging(is_started=is_begun, now=now_ms, **times_ms), newest)
    else:
        override = store.decisions.find_decisions(ref, sha).override
    return PullWithHead(
        number=ref.number,
        head=text(head) if head else None,
        pending_reason=reason,
        is_draft=bool(rests),
        verdict=None if state else newest,
        overridden_by=override and override.login,
        is_closed=bool(over),
    )


WAIT_TIMES: Final = {
    "due": "due_at",
    "since": "first_push_at",
    "waiting": "waiting_since",
    "limit": "rate_limit_until",
    "aways": "outage_count",
}
"""Fields of the pull request in Redis, and their names in DueJudging."""


def _newest_verdict(store: "Store", ref: PullRef, sha: Sha) -> Verdict | None:
    """The newest verdict on exactly this commit, without shadow evaluations."""
    of_it = [
        entry.verdict
        for entry in store.ledger.entries(ref)
        if entry.head_sha == sha
        and entry.verdict.parent_eval_id is None
        and entry.verdict.subject.kind is SubjectKind.SUBMISSION
    ]
    return of_it[-1] if of_it else None
