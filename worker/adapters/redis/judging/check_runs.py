"""Check runs by head, for all processes, and the expired and orphaned ones.

At most one process at a time creates the check run of a head, and an open check run has a deadline.
"""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, find_server_run, items, text, whole
from worker.adapters.redis.connection.transactions import Operation, Transaction, run
from worker.adapters.redis.connection.versioned_json import read_json
from worker.adapters.redis.delayed_queue import postpone_item
from worker.adapters.redis.judging.intake import lifetime_s, milliseconds, remembered_keys
from worker.adapters.redis.judging.state import load, save
from worker.adapters.redis.keys import GROUPS
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.ids import CheckRunId, Sha
from worker.domain.lifecycle.state import Phase, PullRequestState
from worker.domain.lifecycle.work import ExpiredCheckRun
from worker.domain.ports import OutdatedCheckRun
from worker.domain.request.judge_request import PullRef, Trigger
from worker.errors import Unavailable
from worker.settings import Timing

CREATING_MARK: Final = "making "
FIRST_MARK: Final = "first "
STARTED_SCORE: Final = 0
"""Placeholder for the id of a check run whose creation has started."""

REOPENING: Final = "reopening "
"""Prefix of an idle head whose check run is being rewritten without a judging."""

EXPIRED: Final = "expired "
"""Prefix of an idle head whose concluding write may be overwritten: by a watchdog that dies, or by a late reopening."""

MOST_EXPIRED: Final = 20
MOST_ORPHANED: Final = 1000
"""Check runs that are looked at in one sweep."""

LIST_TTL: Final = timedelta(minutes=10)
"""Maximum age of GitHub's list of open check runs when its last item is read."""

MAKING_SHARE: Final = 0.75
"""Share of the hold on an opening that the creation may take, so that the next process finds it released."""


class RedisCheckRegistry:
    """The CheckRegistry port, and the watchdog's queue."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing
        self._making_ms = max(1, milliseconds(timing.open_hold * MAKING_SHARE))
        self._token = CREATING_MARK + secrets.token_hex(16)
        self._firsts: set[tuple[PullRef, Sha]] = set()

    def claim(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """Return the existing check run, or None: the caller creates it and calls `record_opened`. A registry may claim again."""
        limit = time.monotonic() + 3 * self._making_ms / 1000
        while time.monotonic() < limit:
            claim = self._claimed(pull, head_sha)
            if claim == FIRST_MARK + self._token:
                self._firsts.add((pull, head_sha))
                return None
            self._firsts.discard((pull, head_sha))
            if not claim.startswith(CREATING_MARK):
                return CheckRunId(int(claim))
            if claim == self._token:
                return None
            time.sleep(self._timing.tick)
        raise Unavailable("GitHub", f"another process has not created the check run of {head_sha[:7]}")

    def is_claim_held(self, pull: PullRef, head_sha: Sha) -> bool:
        return text(self._wire.call("GET", keys.check(pull, head_sha).name)) == self._token

    def is_first(self, pull: PullRef, head_sha: Sha) -> bool:
        return (pull, head_sha) in self._firsts

    def _claimed(self, pull: PullRef, head_sha: Sha) -> str:
        """Our token, or the previous value. A creation that started is listed beside the open check runs: its process may die."""
        name, checks = keys.check(pull, head_sha).name, keys.checks(pull)

        def claim(transaction: Transaction) -> Operation[str]:
            claimed, listed = yield from transaction.read(("GET", name), ("HEXISTS", checks.name, head_sha))
            if claimed is not None:
                return text(claimed)
            transaction.write("SET", name, self._token, "PX", self._making_ms)
            transaction.write("HSETNX", checks.name, head_sha, STARTED_SCORE)
            transaction.write("EXPIRE", checks.name, lifetime_s(checks))
            return self._token if listed else FIRST_MARK + self._token

        return run(self._wire, claim)

    def record_opened(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> None:
        note = ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check)
        self._record_open(note, is_watched=True, is_idle=False)

    def record_waiting(
        self, pull: PullRef, head_sha: Sha, check: CheckRunId, *, is_watched: bool, is_deferred: bool = False
    ) -> None:
        note = ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check, is_put_off=is_deferred)
        self._record_open(note, is_watched=is_watched, is_idle=True)

    def record_still_waiting(self, pull: PullRef, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        note = ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check)
        is_watched = content.is_watched or not content.is_queued
        return self._record_open(note, is_watched=is_watched, is_idle=content.is_queued, only_idle=True)

    def _record_open(self, note: ExpiredCheckRun, *, is_watched: bool, is_idle: bool, only_idle: bool = False) -> bool:
        """Record an open check run. *only_idle*: unless a judging has started for it; False: one has."""
        idle = keys.idle_heads(note.pull).name

        def record(transaction: Transaction) -> Operation[bool]:
            if only_idle and not (yield from transaction.read(("SISMEMBER", idle, note.head_sha)))[0]:
                return False
            yield from transaction.peek()
            self._write_open(transaction, note, is_watched=is_watched)
            if is_idle:
                self._write_idle(transaction, note.pull, note.head_sha)
                transaction.write("SREM", idle, EXPIRED + note.head_sha)
            else:
                transaction.write("SREM", idle, note.head_sha, EXPIRED + note.head_sha)
            return True

        return run(self._wire, record)

    def _write_open(self, transaction: Transaction, note: ExpiredCheckRun, *, is_watched: bool) -> None:
        key, checks = keys.check(note.pull, note.head_sha), keys.checks(note.pull)
        transaction.write("SET", key.name, note.check, "EX", lifetime_s(key))
        transaction.write("HSET", checks.name, note.head_sha, note.check)
        transaction.write("EXPIRE", checks.name, lifetime_s(key))
        if is_watched:
            deadline = transaction.now + milliseconds(self._timing.check_deadline)
            transaction.write("ZADD", keys.DEADLINES.name, deadline, key.name)
            transaction.write("HSET", keys.DEADLINE_NOTES.name, key.name, note.model_dump_json())
        else:
            _write_unwatched(transaction, note.pull, note.head_sha)

    def _write_idle(self, transaction: Transaction, pull: PullRef, head_sha: Sha) -> None:
        idle = keys.idle_heads(pull)
        transaction.write("SADD", idle.name, head_sha)
        transaction.write("EXPIRE", idle.name, lifetime_s(idle))

    def find_outdated(self, pull: PullRef, head_sha: Sha) -> OutdatedCheckRun | None:
        """Take the check run of a stale verdict to reopen it.

        Not where a judge runs, who publishes himself, nor where it is open already. One that was cancelled is reopened if its head is the
        newest one again; one that was skipped is not.
        """
        check = self.find_check_run(pull, head_sha)
        if check is None:
            return None
        published = keys.shared_head_states(pull.installation_id, pull.repository_id, head_sha).name
        note = ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check)

        def find(transaction: Transaction) -> Operation[OutdatedCheckRun | None]:
            state = yield from load(transaction, pull)
            status, is_listed = yield from transaction.read(
                ("HGET", published, pull.number), ("HEXISTS", keys.checks(pull).name, head_sha)
            )
            if state.head != head_sha or state.is_closed:
                return None
            is_free = state.phase in (Phase.DUE, Phase.DISPATCHED)
            is_closed = not is_listed and text(status) != Conclusion.SKIPPED
            is_stale = state.outdated_by is not None and is_free and (state.is_reopening or is_closed)
            if not is_stale and (is_listed or text(status) != Conclusion.CANCELLED):
                return None
            if is_stale:
                save(transaction, pull, state, state._replace(is_reopening=True))
            self._write_open(transaction, note, is_watched=True)
            self._write_idle(transaction, pull, head_sha)
            return OutdatedCheckRun(check, Trigger(state.outdated_by) if is_stale else None)

        return run(self._wire, find)

    def record_outdated(self, pull: PullRef) -> None:
        """Record that the check run is marked outdated, unless a later event requires it again."""

        def record(transaction: Transaction) -> Operation[None]:
            state = yield from load(transaction, pull)
            if state.is_reopening:
                save(transaction, pull, state, state._replace(outdated_by=None, is_reopening=False))

        run(self._wire, record)

    def is_waiting(self, pull: PullRef, head_sha: Sha) -> bool:
        return bool(self._wire.call("SISMEMBER", keys.idle_heads(pull).name, head_sha))

    def mark_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that an existing check run is about to be rewritten without a judging.

        Its state is unknown until `clear_reopened`.
        """
        key = keys.idle_heads(pull)
        self._wire.call("SADD", key.name, REOPENING + head_sha)
        self._wire.call("EXPIRE", key.name, lifetime_s(key))

    def clear_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        self._wire.call("SREM", keys.idle_heads(pull).name, REOPENING + head_sha)

    def list_overwritten_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        """Heads whose reopening never completed and whose check run another process wrote since or meanwhile."""
        members = [text(member) for member in items(self._wire.call("SMEMBERS", keys.idle_heads(pull).name))]
        doubtful = [member.removeprefix(REOPENING) for member in members if member.startswith(REOPENING)]
        return tuple(head for head in doubtful if head not in members)

    def is_announced(self, pull: PullRef, head_sha: Sha) -> bool:
        note = self._noted_of(pull, head_sha)
        return note is not None and not note.is_put_off

    def is_deferred(self, pull: PullRef, head_sha: Sha) -> bool:
        note = self._noted_of(pull, head_sha)
        return note is not None and note.is_put_off

    def _noted_of(self, pull: PullRef, head_sha: Sha) -> ExpiredCheckRun | None:
        note = text(self._wire.call("HGET", keys.DEADLINE_NOTES.name, keys.check(pull, head_sha).name))
        return read_json(ExpiredCheckRun, note) if note else None

    def has_check_run(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether this head has a check run or is about to get it."""
        return bool(self._wire.call("EXISTS", keys.check(pull, head_sha).name))

    def stays(self, pull: PullRef, head_sha: Sha) -> bool:
        """Extend the retention of a head that GitHub shows with an open check run.

        False: it has no check run, the branch has moved on, or it counts as closed.

        What is stored of a pull request that counts as closed is kept, too: the close may be late, or a reopening was not delivered.
        """

        def prolong(transaction: Transaction) -> Operation[bool]:
            state = yield from load(transaction, pull)
            (check,) = yield from transaction.read(("GET", keys.check(pull, head_sha).name))
            is_idle, now = state.phase is None, transaction.now
            if state.closed_at is not None and is_idle and now - state.closed_at > LIST_TTL.total_seconds() * 1000:
                for key in remembered_keys(pull):
                    transaction.write("PERSIST", key.name)
                return False
            if check is None or (is_idle and state.head not in (None, head_sha)):
                return False
            if not text(check).startswith(CREATING_MARK):
                yield from self._prolong_all(transaction, pull, head_sha, state)
            return True

        return run(self._wire, prolong)

    def _prolong_all(
        self, transaction: Transaction, pull: PullRef, head_sha: Sha, state: PullRequestState
    ) -> Operation[None]:
        """Extend the retention of a head, and of the lists by which edits of its base and its issues find it."""
        installation, repository, now = pull.installation_id, pull.repository_id, transaction.now
        of_head = [make(installation, repository, head_sha) for make in (keys.shared_head_states, keys.heads)]
        month_s = lifetime_s(keys.check(pull, head_sha))
        about = [keys.check(pull, head_sha), keys.pull(pull), keys.checks(pull), keys.idle_heads(pull), *of_head]
        yield from _prolong(transaction, about, month_s)
        base, *issues = (state.judged_by or state.base or "").split() or [""]
        if not base:
            return
        bases = keys.judged_bases(installation, repository, base)
        (last,) = yield from transaction.peek(("ZSCORE", bases.name, pull.number))
        if state.judged_by is None and last is None:
            return  # it was never judged
        if last is None or now - float(text(last)) > lifetime_s(bases) * 1000 / 2:  # older entries are removed
            transaction.write("ZADD", bases.name, now, pull.number)
            transaction.write("EXPIRE", bases.name, lifetime_s(bases))
        yield from _prolong(transaction, [bases], lifetime_s(bases))
        of_issues = [keys.issue_pulls(installation, mark) for mark in issues]
        for key in of_issues:
            transaction.write("ZADD", key.name, "NX", 0, f"{repository}:{pull.number}")
            transaction.write("EXPIRE", key.name, lifetime_s(key), "NX")
        yield from _prolong(transaction, of_issues, lifetime_s(keys.issue_pulls(installation, "any")))

    def doubt(self, pull: PullRef, head_sha: Sha) -> str:
        """A token if GitHub has to be asked whether a recorded conclusion still holds, as after a restart of Redis; else ''.

        A restarted server may have lost the last writes. What it saw judged since then is certain, and so is what is due or watched.
        """
        return run(self._wire, lambda transaction: self._doubt(transaction, pull, head_sha))

    def _doubt(self, transaction: Transaction, pull: PullRef, head_sha: Sha) -> Operation[str]:
        server_run, arrival = (
            find_server_run(self._wire),
            keys.first_seen(pull.installation_id, pull.repository_id).name,
        )
        state = yield from load(transaction, pull)
        served, is_listed = yield from transaction.read(
            ("HGET", arrival, f"{pull.number} served"), ("HEXISTS", keys.checks(pull).name, head_sha)
        )
        is_certain = server_run in (None, state.served_run or text(served))
        if is_certain or state.phase is not None or is_listed:
            return ""
        return f"{server_run} {state.fence or 0} {state.seq or 0}"

    def is_as_known(self, pull: PullRef, head_sha: Sha, doubt: str) -> None:
        """Remove the doubt after GitHub shows the check run concluded. Any change of the pull request since *doubt* keeps it."""
        arrival = keys.first_seen(pull.installation_id, pull.repository_id).name
        server_run = doubt.partition(" ")[0]

        def remove(transaction: Transaction) -> Operation[None]:
            if (yield from self._doubt(transaction, pull, head_sha)) != doubt:
                return
            state = yield from load(transaction, pull)
            (is_seen,) = yield from transaction.read(("EXISTS", arrival))
            if state.seq is not None:
                save(transaction, pull, state, state._replace(served_run=server_run))
            elif is_seen:
                transaction.write("HSET", arrival, f"{pull.number} served", server_run)

        run(self._wire, remove)

    def find_check_run(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """Find the existing check run."""
        stored = text(self._wire.call("GET", keys.check(pull, head_sha).name))
        return CheckRunId(int(stored)) if stored and not stored.startswith(CREATING_MARK) else None

    def release(self, pull: PullRef, head_sha: Sha) -> None:
        """Let another process claim the creation."""
        name = keys.check(pull, head_sha).name

        def release(transaction: Transaction) -> Operation[None]:
            (claimed,) = yield from transaction.read(("GET", name))
            if text(claimed) == self._token:
                transaction.write("DEL", name)

        run(self._wire, release)

    def record_concluded(self, pull: PullRef, head_sha: Sha, check: CheckRunId | None = None) -> bool:
        """Record the conclusion. False: the watchdog closed the check run since it was opened, or was about to."""
        key, idle = keys.check(pull, head_sha), keys.idle_heads(pull).name

        def conclude(transaction: Transaction) -> Operation[bool]:
            (is_expired,) = yield from transaction.read(("SISMEMBER", idle, EXPIRED + head_sha))
            if check is not None:
                transaction.write("SET", key.name, check, "EX", lifetime_s(key))
            transaction.write("HDEL", keys.checks(pull).name, head_sha)
            _write_unwatched(transaction, pull, head_sha)
            transaction.write("SREM", idle, head_sha, EXPIRED + head_sha)
            return not is_expired

        return run(self._wire, conclude)

    def mark_expiring(self, pull: PullRef, head_sha: Sha) -> None:
        key = keys.idle_heads(pull)
        self._wire.call("SADD", key.name, EXPIRED + head_sha)
        self._wire.call("EXPIRE", key.name, lifetime_s(key))

    def record_expired(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> bool:
        """Record that the watchdog closed a check run. False: it was no longer open."""
        checks, idle = keys.checks(pull).name, keys.idle_heads(pull)

        def expire(transaction: Transaction) -> Operation[bool]:
            (listed,) = yield from transaction.read(("HGET", checks, head_sha))
            if text(listed) != str(check):
                return False
            transaction.write("HDEL", checks, head_sha)
            _write_unwatched(transaction, pull, head_sha)
            transaction.write("SREM", idle.name, head_sha)
            transaction.write("SADD", idle.name, EXPIRED + head_sha)  # its judge learns it at the conclusion
            transaction.write("EXPIRE", idle.name, lifetime_s(idle))
            return True

        return run(self._wire, expire)

    def mark_unwritable(self, pull: PullRef, head_sha: Sha) -> None:
        self.record_concluded(pull, head_sha)
        checks = keys.checks(pull)
        self._wire.call("HSET", checks.name, head_sha, STARTED_SCORE)
        self._wire.call("EXPIRE", checks.name, lifetime_s(checks))
        self._wire.call("DEL", keys.check(pull, head_sha).name)

    def open_checks(self, pull: PullRef) -> Mapping[Sha, CheckRunId]:
        return {head: CheckRunId(check) for head, check in self._unfinished(pull) if check != STARTED_SCORE}

    def list_unfinished_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        return tuple(head for head, check in self._unfinished(pull) if check == STARTED_SCORE)

    def newest_head(self, pull: PullRef) -> Sha | None:
        return text(self._wire.call("HGET", keys.pull(pull).name, "head")) or None

    def _unfinished(self, pull: PullRef) -> Iterator[tuple[Sha, int]]:
        flat = items(self._wire.call("HGETALL", keys.checks(pull).name))
        return zip(map(text, flat[::2]), map(whole, flat[1::2]), strict=True)

    def take_expired(self) -> tuple[ExpiredCheckRun, ...]:
        """Take expired check runs to conclude. They return after the hold, unless `record_concluded`.

        One whose pull request waits for GitHub or for CI is left to its next judging.
        """
        hold_ms = milliseconds(self._timing.open_hold)

        def take(transaction: Transaction) -> Operation[tuple[ExpiredCheckRun, ...]]:
            notes = yield from _notes_until(transaction, 0, MOST_EXPIRED)
            expired = list[ExpiredCheckRun]()
            for name, note in notes:
                if note is None:
                    transaction.write("ZREM", keys.DEADLINES.name, name)
                    continue
                state = yield from load(transaction, note.pull)
                (is_listed,) = yield from transaction.peek(("HEXISTS", keys.checks(note.pull).name, note.head_sha))
                if not is_listed:
                    _write_unwatched(transaction, note.pull, note.head_sha)
                    continue
                transaction.write("ZADD", keys.DEADLINES.name, transaction.now + hold_ms, name)
                is_waiting = state.outage_count is not None or state.waiting_since is not None
                if state.phase is None or not is_waiting:
                    expired.append(note)
            return tuple(expired)

        return run(self._wire, take)

    def postpone_expired(self, late: ExpiredCheckRun, delay: timedelta) -> None:
        """Postpone a check run that could not be concluded: `take_expired` returns it after *delay*."""
        name = keys.check(late.pull, late.head_sha).name
        postpone_item(self._wire, keys.DEADLINES, name, delay)

    def take_orphaned(self) -> tuple[ExpiredCheckRun, ...]:
        """Take orphaned open check runs for a while: neither their pull request nor their group (number 0) is queued."""
        grace_s = max(self._timing.open_hold, 2 * self._timing.lease)
        ahead_ms = milliseconds(self._timing.check_deadline) - milliseconds(grace_s)

        def take(transaction: Transaction) -> Operation[tuple[ExpiredCheckRun, ...]]:
            orphaned = list[ExpiredCheckRun]()
            for _, note in (yield from _notes_until(transaction, ahead_ms, MOST_ORPHANED)):
                if note is None:
                    continue
                if note.pull.number:
                    seq, phase = items(
                        (yield from transaction.peek(("HMGET", keys.pull(note.pull).name, "seq", "state")))[0]
                    )
                    if seq is not None and phase is None:
                        orphaned.append(note)
                else:
                    group = f"{note.pull.installation_id}:{note.pull.repository_id}:{note.head_sha}"
                    if (yield from transaction.peek(("ZSCORE", GROUPS.order.name, group)))[0] is None:
                        orphaned.append(note)
            return tuple(orphaned)

        return run(self._wire, take)


def _notes_until(
    transaction: Transaction, ahead_ms: int, most: int
) -> Operation[list[tuple[str, ExpiredCheckRun | None]]]:
    """Watched check runs whose deadline is past in *ahead_ms*, by the name of their key; None: nothing is known of one."""
    yield from transaction.peek()
    until = f"{transaction.now + ahead_ms:.3f}"
    (flat,) = yield from transaction.peek(("ZRANGE", keys.DEADLINES.name, 0, until, "BYSCORE", "LIMIT", 0, most))
    names = [text(name) for name in items(flat)]
    if not names:
        return []
    (notes,) = yield from transaction.peek(("HMGET", keys.DEADLINE_NOTES.name, *names))
    parsed = [read_json(ExpiredCheckRun, text(note)) if note else None for note in items(notes)]
    return list(zip(names, parsed, strict=True))


def _write_unwatched(transaction: Transaction, pull: PullRef, head_sha: Sha) -> None:
    name = keys.check(pull, head_sha).name
    transaction.write("ZREM", keys.DEADLINES.name, name)
    transaction.write("HDEL", keys.DEADLINE_NOTES.name, name)


def _prolong(transaction: Transaction, about: Sequence[keys.Key], keep_s: int) -> Operation[None]:
    """Renew the lifetime of keys that have less than half of it left."""
    if not about:
        return
    left = yield from transaction.peek(*(("TTL", key.name) for key in about))
    for key, seconds in zip(about, map(whole, left), strict=True):
        if 0 <= seconds < keep_s / 2:
            transaction.write("EXPIRE", key.name, keep_s)
