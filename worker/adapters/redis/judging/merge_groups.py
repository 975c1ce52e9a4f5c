"""Merge groups without an answer, and the lease of the job that judges one.

A group stays until it is `done`, even if a worker dies. An event that GitHub gave it up is not overwritten by pending
work, and a token admits one judge.
"""

import json
import secrets
from datetime import datetime, timedelta

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    find_server_run,
    items,
    read_json,
    read_json_or_none,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import (
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    read_due,
    run,
)
from worker.adapters.redis.judging.intake import milliseconds
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.queues import receive, removal
from worker.domain.github_events import MergeGroup
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import MOST_SPARE_ATTEMPTS
from worker.domain.lifecycle.work import GroupLease, LeasedGroup, PendingGroup, QueuedGroup
from worker.domain.model import CommitKey, DeliveryId
from worker.errors import LeaseLost
from worker.settings import Timing

DISPATCHED, LEASED = "given", "held"
"""First parts of a value of `keys.GROUP_HOLDS`; the job's token follows, and the owner of a lease."""


class RedisMergeGroups(RedisPart):
    """Merge groups in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, client: RedisClient, timing: Timing) -> None:
        super().__init__(client)
        self._hold_ms = milliseconds(timing.open_hold)
        self._lease_ms = milliseconds(timing.lease)

    @in_transaction
    def put(self, transaction: Transaction, group: MergeGroup) -> Operation[IntakeOutcome]:
        """Queue a group event; idempotent by delivery."""
        marker = keys.received_group(group.delivery_id)
        key = keys.group(*group.commit)
        item = (group.id, QueuedGroup(group=group).model_dump_json())
        outcome = yield from receive(transaction, marker, GROUPS, item)
        if outcome is IntakeOutcome.QUEUED:
            transaction.write("SET", key.name, group.model_dump_json(), "EX", key.seconds)
        return outcome

    def reopen(
        self, commit: CommitKey, delivery_id: DeliveryId, at: datetime, *, is_orphaned: bool = False
    ) -> IntakeOutcome:
        """Requeue the group of this commit on a person's request or, *is_orphaned*, to conclude its check run.

        UNKNOWN: it is deleted or, on a person's request, ended.
        """
        queued = self._stored_group(commit)
        if queued is None or (queued.ended is not None and not is_orphaned):
            return IntakeOutcome.UNKNOWN
        return self.put(queued.model_copy(update={"delivery_id": delivery_id, "at": at}))

    def find_group(self, commit: CommitKey) -> MergeGroup | None:
        """Find the group of this commit while it is unanswered or recently closed."""
        waits = self._client.call("HGET", GROUPS.texts.name, ":".join(map(str, commit)))
        queued = read_json_or_none(QueuedGroup, text(waits)) if waits else None
        return self._stored_group(commit) if queued is None else queued.group

    def _stored_group(self, commit: CommitKey) -> MergeGroup | None:
        kept = self._client.call("GET", keys.group(*commit).name)
        return read_json_or_none(MergeGroup, text(kept)) if kept else None

    def next(self) -> PendingGroup | None:
        """Take the longest waiting group for the hold.

        A crash of Redis itself interrupts a judging without counting as an attempt, up to a limit: the group may cause it.
        """
        this_run = find_server_run(self._client) or ""

        def operation(transaction: Transaction) -> Operation[PendingGroup | None]:
            for name in (yield from read_due(transaction, GROUPS.order)):
                run_field, spared_field = _run_fields(name)
                written, tries = yield from transaction.read(
                    ("HGET", GROUPS.texts.name, name), ("HMGET", GROUPS.tries.name, name, run_field, spared_field)
                )
                attempt, last_run, spared = map(text, items(tries))
                is_spared = attempt and last_run not in ("", this_run) and int(spared or 0) < MOST_SPARE_ATTEMPTS
                transaction.write("HSET", GROUPS.tries.name, run_field, this_run)
                transaction.write("HINCRBY", GROUPS.tries.name, spared_field if is_spared else name, 1)
                transaction.write("ZADD", GROUPS.order.name, transaction.now + self._hold_ms, name)
                queued = read_json_or_none(QueuedGroup, text(written))
                return PendingGroup(queued, int(attempt or 0) + (not is_spared)) if queued else None
            return None

        return run(self._client, operation)

    @in_transaction
    def postpone(self, transaction: Transaction, queued: QueuedGroup, delay: timedelta) -> Operation[None]:
        """Postpone a group and reset its attempts: the caller has not crashed."""
        name, delay_ms = queued.group.id, max(0, milliseconds(delay.total_seconds()))
        if (yield from _is_newest(transaction, queued.group)):
            _reset_attempts(transaction, name)
            transaction.write("HSET", GROUPS.texts.name, name, queued.model_dump_json())
            transaction.write("HDEL", keys.GROUP_HOLDS.name, name)
            transaction.write("ZADD", GROUPS.order.name, transaction.now + delay_ms, name)

    @in_transaction
    def complete(self, transaction: Transaction, group: MergeGroup) -> Operation[None]:
        """Complete a group, unless a newer event is queued."""
        if (yield from _is_newest(transaction, group)):
            _reset_attempts(transaction, group.id)
            transaction.write("HDEL", keys.GROUP_HOLDS.name, group.id)
            transaction.write_each(removal(GROUPS, group.id))

    def settled_at(self, pull: PullRef) -> int | None:
        """Number of the last event of a pull request, 0 if there was none; None: it is due, dispatched, or leased."""
        state, seq = items(self._client.call("HMGET", keys.pull(pull).name, "state", "seq"))
        if state:
            return None
        return int(text(seq)) if seq else 0

    # The job that judges a group

    def dispatch(self, group: MergeGroup) -> str | None:
        """Name of the job that may judge this group, for submission; None: a newer event is queued.

        A job that still waits for its turn stays the one. The group returns after the lease, unless the job takes it.
        """
        new_token = secrets.token_hex(16)

        def operation(transaction: Transaction) -> Operation[str | None]:
            if not (yield from _is_newest(transaction, group)):
                return None
            (hold,) = yield from transaction.read(("HGET", keys.GROUP_HOLDS.name, group.id))
            state, _, token = text(hold).partition(" ")
            if state == DISPATCHED:
                _reset_attempts(transaction, group.id)
            else:
                token = new_token
                transaction.write("HSET", keys.GROUP_HOLDS.name, group.id, f"{DISPATCHED} {token}")
            transaction.write("ZADD", GROUPS.order.name, transaction.now + self._lease_ms, group.id)
            return token

        return run(self._client, operation)

    def take_lease(self, group_id: str, token: str) -> LeasedGroup | None:
        """Take the lease that this token admits. None: already taken, or obsolete."""
        leased = f"{token} {secrets.token_hex(8)}"

        def operation(transaction: Transaction) -> Operation[LeasedGroup | None]:
            written, hold, attempt = yield from transaction.read(
                ("HGET", GROUPS.texts.name, group_id),
                ("HGET", keys.GROUP_HOLDS.name, group_id),
                ("HGET", GROUPS.tries.name, group_id),
            )
            if not written or text(hold) not in (f"{DISPATCHED} {token}", f"{LEASED} {leased}"):
                return None
            queued = read_json(QueuedGroup, text(written))
            if queued.group.ended is not None:
                return None
            transaction.write("HSET", keys.GROUP_HOLDS.name, group_id, f"{LEASED} {leased}")
            transaction.write("ZADD", GROUPS.order.name, transaction.now + self._lease_ms, group_id)
            tries = 1 if attempt is None else whole(attempt)
            return LeasedGroup(queued, tries, GroupLease(self, queued.group, leased))

        return run(self._client, operation)

    @in_transaction
    def renew_lease(self, transaction: Transaction, lease: GroupLease) -> Operation[None]:
        """Renew a lease. Raises LeaseLost."""
        group = lease.group
        (hold,) = yield from transaction.read(("HGET", keys.GROUP_HOLDS.name, group.id))
        if text(hold) != f"{LEASED} {lease.token}" or not (yield from _is_newest(transaction, group)):
            raise LeaseLost
        transaction.write("ZADD", GROUPS.order.name, transaction.now + self._lease_ms, group.id)

    @in_transaction
    def requeue_dead(self, transaction: Transaction, group_id: str, token: str) -> Operation[bool]:
        """Requeue the group of a dead job immediately. False: it was done."""
        (hold,) = yield from transaction.read(("HGET", keys.GROUP_HOLDS.name, group_id))
        state, *tokens = text(hold).split(" ")
        if state not in (DISPATCHED, LEASED) or tokens[0] != token:
            return False
        transaction.write("HDEL", keys.GROUP_HOLDS.name, group_id)
        transaction.write("ZADD", GROUPS.order.name, transaction.now, group_id)
        return True


def _is_newest(transaction: Transaction, group: MergeGroup) -> Operation[bool]:
    """Whether no newer event of this group is queued, and it is not done."""
    (written,) = yield from transaction.read(("HGET", GROUPS.texts.name, group.id))
    return bool(written) and json.loads(text(written))["group"]["delivery_id"] == group.delivery_id


def _run_fields(name: str) -> tuple[str, str]:
    """Fields of a group in GROUPS.tries: the server's run in which it was taken last, and its crashes that did not count."""
    return f"{name} run", f"{name} spared"


def _reset_attempts(transaction: Transaction, name: str) -> None:
    transaction.write("HDEL", GROUPS.tries.name, name, *_run_fields(name))
