"""Check runs by head, for all processes, and their states by pull request where several share a commit.

The rules are in `worker/domain/lifecycle/check_runs.py`; this module reads the state, applies them and writes the result, and has the queue of
the expired and orphaned ones.

A state is recorded before it is published, so that other pull requests of the commit always include it; its texts are encrypted. A commit stays
queued until all of its check runs are up to date. Fields of a pull request: `N`: state, `N:own`: its own content, `N:as`: hash of what GitHub
shows, `N:left`: it has left the commit, `N:on`: a synchronization is writing its check run.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Final

from pydantic import TypeAdapter

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    blob,
    field_values,
    find_server_run,
    items,
    read_json,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import (
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    run,
    write_all,
)
from worker.adapters.redis.encryption_and_tokens import Codec, SealedPart
from worker.adapters.redis.judging.intake import milliseconds, queue_sync, remembered_keys, request_sync
from worker.adapters.redis.judging.state import load, save
from worker.adapters.redis.keys import GROUPS, SHARED_HEADS
from worker.adapters.redis.queues import DelayedQueue, postpone_item, removal
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.shared_head import (
    CommitRef,
    SharedHeadMember,
    SharedHeadState,
    check_state,
    dump_content,
    hash_content,
)
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle import check_runs as lifecycle
from worker.domain.lifecycle.check_runs import CREATION_STARTED, CheckRunState, OutdatedCheckRun
from worker.domain.lifecycle.state import PullRequestState
from worker.domain.lifecycle.work import ExpiredCheckRun
from worker.domain.model import CheckRunId, Sha
from worker.errors import Unavailable
from worker.settings import Timing

CREATING_MARK: Final = "making "
"""Prefix of the creator's token, where the id of the check run will be."""

IDLE_MARKS: Final = {"is_idle": "", "is_reopening": "reopening ", "is_expiring": "expired "}
"""Prefixes of a head among the idle heads of its pull request, by field of the state."""

MOST_EXPIRED: Final = 20
MOST_ORPHANED: Final = 1000
"""Check runs that are looked at in one sweep."""

CREATION_SHARE: Final = 0.75
"""Share of the hold on an opening that the creation may take, so that the next process finds it released."""


class RedisCheckRegistry(RedisPart):
    """The CheckRegistry port, and the watchdog's queue."""

    def __init__(self, client: RedisClient, timing: Timing) -> None:
        super().__init__(client)
        self._timing = timing
        self._creation_ms = max(1, milliseconds(timing.open_hold * CREATION_SHARE))
        self._deadline_ms = milliseconds(timing.check_deadline)
        self._token = CREATING_MARK + secrets.token_hex(16)
        self._firsts: set[tuple[PullRef, Sha]] = set()

    def find(self, pull: PullRef, head_sha: Sha) -> CheckRunState:
        return run(self._client, lambda transaction: _load(transaction, pull, head_sha))

    def claim(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """Return the existing check run, or None: the caller creates it and calls `record_opened`. A registry may claim again."""
        limit = time.monotonic() + 3 * self._creation_ms / 1000
        while time.monotonic() < limit:
            before = self._change(pull, head_sha, lambda state, _: lifecycle.claim(state, self._token))
            if not before.is_present and before.open_check is None:
                self._firsts.add((pull, head_sha))
                return None
            self._firsts.discard((pull, head_sha))
            if before.check is not None or before.creator in (None, self._token):
                return before.check
            time.sleep(self._timing.tick)
        raise Unavailable("GitHub", f"another process has not created the check run of {head_sha[:7]}")

    def is_claim_held(self, pull: PullRef, head_sha: Sha) -> bool:
        return self.find(pull, head_sha).creator == self._token

    def is_first(self, pull: PullRef, head_sha: Sha) -> bool:
        return (pull, head_sha) in self._firsts

    def release(self, pull: PullRef, head_sha: Sha) -> None:
        """Let another process claim the creation."""
        self._change(pull, head_sha, lambda state, _: lifecycle.release(state, self._token))

    def record_opened(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> None:
        self._change(pull, head_sha, lambda state, deadline: lifecycle.open_check_run(state, check, deadline))

    def record_waiting(
        self, pull: PullRef, head_sha: Sha, check: CheckRunId, *, is_watched: bool, is_deferred: bool = False
    ) -> None:
        def wait(state: CheckRunState, deadline: float) -> CheckRunState:
            until = deadline if is_watched else None
            return lifecycle.open_check_run(state, check, until, is_idle=True, is_deferred=is_deferred)

        self._change(pull, head_sha, wait)

    def record_still_waiting(self, pull: PullRef, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        return self._change(
            pull, head_sha, lambda state, deadline: lifecycle.rewrite_idle(state, check, content, deadline)
        ).is_idle

    def record_concluded(self, pull: PullRef, head_sha: Sha, check: CheckRunId | None = None) -> bool:
        """Record the conclusion. False: the watchdog closed the check run since it was opened, or was about to."""
        return not self._change(pull, head_sha, lambda state, _: lifecycle.conclude(state, check)).is_expiring

    def record_expired(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> bool:
        """Record that the watchdog closed a check run. False: it was no longer open."""
        before = self._change(pull, head_sha, lambda state, _: lifecycle.expire(state, check) or state)
        return before.open_check == check

    def mark_expiring(self, pull: PullRef, head_sha: Sha) -> None:
        self._change(pull, head_sha, lambda state, _: state._replace(is_expiring=True))

    def mark_unwritable(self, pull: PullRef, head_sha: Sha) -> None:
        self._change(pull, head_sha, lambda state, _: lifecycle.forget(state))

    def mark_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that an existing check run is about to be rewritten without a judging.

        Its state is unknown until `clear_reopened`.
        """
        self._change(pull, head_sha, lambda state, _: state._replace(is_reopening=True))

    def clear_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        self._change(pull, head_sha, lambda state, _: state._replace(is_reopening=False))

    @in_transaction
    def _change(
        self,
        transaction: Transaction,
        pull: PullRef,
        head_sha: Sha,
        change: Callable[[CheckRunState, float], CheckRunState],
    ) -> Operation[CheckRunState]:
        """Replace the state by what *change* makes of it and of the deadline of what opens now; return the one before."""
        before = yield from _load(transaction, pull, head_sha)
        self._save(transaction, pull, head_sha, before, change(before, transaction.now + self._deadline_ms))
        return before

    def _save(
        self, transaction: Transaction, pull: PullRef, head_sha: Sha, before: CheckRunState, after: CheckRunState
    ) -> None:
        """Write what differs. Each change renews the lifetime of what is recorded."""
        if after == before:
            return
        key, checks, idle = keys.check(pull, head_sha), keys.checks(pull), keys.idle_heads(pull)
        if after.check is not None:
            transaction.write("SET", key.name, after.check, "EX", key.seconds)
        elif after.creator is None:
            transaction.write("DEL", key.name)
        elif after.creator != before.creator:
            transaction.write("SET", key.name, after.creator, "PX", self._creation_ms)
        if after.open_check is None:
            transaction.write("HDEL", checks.name, head_sha)
        else:
            transaction.write("HSET", checks.name, head_sha, after.open_check)
            transaction.write("EXPIRE", checks.name, checks.seconds)
        if after.deadline is None or after.check is None:
            transaction.write("ZREM", keys.DEADLINES.name, key.name)
            transaction.write("HDEL", keys.DEADLINE_NOTES.name, key.name)
        else:
            note = ExpiredCheckRun(pull=pull, head_sha=head_sha, check=after.check, is_put_off=after.is_deferred)
            transaction.write("ZADD", keys.DEADLINES.name, after.deadline, key.name)
            transaction.write("HSET", keys.DEADLINE_NOTES.name, key.name, note.model_dump_json())
        for field, mark in IDLE_MARKS.items():
            if getattr(after, field) != getattr(before, field):
                transaction.write("SADD" if getattr(after, field) else "SREM", idle.name, mark + head_sha)
        transaction.write("EXPIRE", idle.name, idle.seconds)

    @in_transaction
    def find_outdated(
        self, transaction: Transaction, pull: PullRef, head_sha: Sha
    ) -> Operation[OutdatedCheckRun | None]:
        """Take the check run of a stale verdict to reopen it."""
        published = keys.shared_head_states(pull.installation_id, pull.repository_id, head_sha).name
        state, before = (yield from load(transaction, pull)), (yield from _load(transaction, pull, head_sha))
        (published_state,) = yield from transaction.read(("HGET", published, pull.number))
        outdated = lifecycle.find_outdated(state, before, head_sha, text(published_state))
        if outdated is not None:
            after = lifecycle.reopen(before, outdated.check, transaction.now + self._deadline_ms)
            self._save(transaction, pull, head_sha, before, after)
            if outdated.trigger is not None:
                save(transaction, pull, state, state._replace(is_reopening=True))
        return outdated

    # All heads of a pull request

    def open_checks(self, pull: PullRef) -> Mapping[Sha, CheckRunId]:
        return {head: CheckRunId(check) for head, check in self._list_unfinished(pull) if check != CREATION_STARTED}

    def list_unfinished_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        return tuple(head for head, check in self._list_unfinished(pull) if check == CREATION_STARTED)

    def _list_unfinished(self, pull: PullRef) -> Iterator[tuple[Sha, int]]:
        open_checks = field_values(self._client.call("HGETALL", keys.checks(pull).name))
        return ((head, whole(check)) for head, check in open_checks.items())

    def list_overwritten_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        """Heads whose reopening never completed and whose check run another process wrote since or meanwhile."""
        mark = IDLE_MARKS["is_reopening"]
        members = [text(member) for member in items(self._client.call("SMEMBERS", keys.idle_heads(pull).name))]
        reopening = [member.removeprefix(mark) for member in members if member.startswith(mark)]
        return tuple(head for head in reopening if head not in members)

    def newest_head(self, pull: PullRef) -> Sha | None:
        return text(self._client.call("HGET", keys.pull(pull).name, "head")) or None

    # What GitHub shows

    @in_transaction
    def stays(self, transaction: Transaction, pull: PullRef, head_sha: Sha) -> Operation[bool]:
        """Extend the retention of a head that GitHub shows with an open check run. False: nothing current is recorded of it."""
        state, check = (yield from load(transaction, pull)), (yield from _load(transaction, pull, head_sha))
        if lifecycle.is_long_closed(state, transaction.now):
            for key in remembered_keys(pull):
                transaction.write("PERSIST", key.name)
            return False
        is_current = lifecycle.is_current(state, check, head_sha)
        if is_current and check.check is not None:
            yield from _extend_retention(transaction, pull, head_sha, state)
        return is_current

    def doubt(self, pull: PullRef, head_sha: Sha) -> str:
        """A token if GitHub has to be asked whether a recorded conclusion still holds; else ''."""
        return run(self._client, lambda transaction: self._find_doubt(transaction, pull, head_sha))

    def _find_doubt(self, transaction: Transaction, pull: PullRef, head_sha: Sha) -> Operation[str]:
        first_seen, server_run = (
            keys.first_seen(pull.installation_id, pull.repository_id),
            find_server_run(self._client),
        )
        state, check = (yield from load(transaction, pull)), (yield from _load(transaction, pull, head_sha))
        (served,) = yield from transaction.read(("HGET", first_seen.name, f"{pull.number} served"))
        return lifecycle.find_doubt(state, check, text(served), server_run)

    @in_transaction
    def is_as_known(self, transaction: Transaction, pull: PullRef, head_sha: Sha, doubt: str) -> Operation[None]:
        """Remove the doubt after GitHub shows the check run concluded. Any change of the pull request since *doubt* keeps it."""
        first_seen = keys.first_seen(pull.installation_id, pull.repository_id)
        server_run = doubt.partition(" ")[0]
        if (yield from self._find_doubt(transaction, pull, head_sha)) != doubt:
            return
        state = yield from load(transaction, pull)
        (is_seen,) = yield from transaction.read(("EXISTS", first_seen.name))
        if state.seq is not None:
            save(transaction, pull, state, state._replace(served_run=server_run))
        elif is_seen:
            transaction.write("HSET", first_seen.name, f"{pull.number} served", server_run)

    # The watchdog

    @in_transaction
    def take_expired(self, transaction: Transaction) -> Operation[tuple[ExpiredCheckRun, ...]]:
        """Take expired check runs to conclude. They return after the hold, unless `record_concluded`."""
        hold_ms = milliseconds(self._timing.open_hold)
        expired = list[ExpiredCheckRun]()
        for name, note in (yield from _notes_until(transaction, 0, MOST_EXPIRED)):
            if note is None:
                transaction.write("ZREM", keys.DEADLINES.name, name)
                continue
            state = yield from load(transaction, note.pull)
            check = yield from _load(transaction, note.pull, note.head_sha)
            if check.open_check is None:
                self._save(transaction, note.pull, note.head_sha, check, check._replace(deadline=None))
                continue
            transaction.write("ZADD", keys.DEADLINES.name, transaction.now + hold_ms, name)
            if not lifecycle.is_left_to_judge(state):
                expired.append(note)
        return tuple(expired)

    def postpone_expired(self, late: ExpiredCheckRun, delay: timedelta) -> None:
        """Postpone a check run that could not be concluded: `take_expired` returns it after *delay*."""
        postpone_item(self._client, keys.DEADLINES, keys.check(late.pull, late.head_sha).name, delay)

    @in_transaction
    def take_orphaned(self, transaction: Transaction) -> Operation[tuple[ExpiredCheckRun, ...]]:
        """Take orphaned open check runs for a while: neither their pull request nor their group (number 0) is queued."""
        ahead_ms = self._deadline_ms - milliseconds(max(self._timing.open_hold, 2 * self._timing.lease))
        orphaned = list[ExpiredCheckRun]()
        for _, note in (yield from _notes_until(transaction, ahead_ms, MOST_ORPHANED)):
            if note is not None and (yield from _is_orphaned(transaction, note)):
                orphaned.append(note)
        return tuple(orphaned)


def _load(transaction: Transaction, pull: PullRef, head_sha: Sha) -> Operation[CheckRunState]:
    """Read the state; the transaction fails if it changes."""
    name = keys.check(pull, head_sha).name
    stored, listed, deadline, note, marks = yield from transaction.read(
        ("GET", name),
        ("HGET", keys.checks(pull).name, head_sha),
        ("ZSCORE", keys.DEADLINES.name, name),
        ("HGET", keys.DEADLINE_NOTES.name, name),
        ("SMISMEMBER", keys.idle_heads(pull).name, *(mark + head_sha for mark in IDLE_MARKS.values())),
    )
    is_creating = text(stored).startswith(CREATING_MARK)
    return CheckRunState(
        check=None if stored is None or is_creating else CheckRunId(whole(stored)),
        creator=text(stored) if is_creating else None,
        open_check=None if listed is None else CheckRunId(whole(listed)),
        deadline=None if deadline is None else float(text(deadline)),
        is_deferred=note is not None and read_json(ExpiredCheckRun, text(note)).is_put_off,
        **{field: bool(mark) for field, mark in zip(IDLE_MARKS, items(marks), strict=True)},
    )


def _is_orphaned(transaction: Transaction, note: ExpiredCheckRun) -> Operation[bool]:
    if note.pull.number:
        return lifecycle.is_orphaned((yield from load(transaction, note.pull)))
    group = f"{note.pull.installation_id}:{note.pull.repository_id}:{note.head_sha}"
    (queued_at,) = yield from transaction.peek(("ZSCORE", GROUPS.order.name, group))
    return queued_at is None


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


def _extend_retention(
    transaction: Transaction, pull: PullRef, head_sha: Sha, state: PullRequestState
) -> Operation[None]:
    """Extend the retention of a head, and of the lists by which edits of its base and its issues find it."""
    installation, repository, now = pull.installation_id, pull.repository_id, transaction.now
    of_head = [make(installation, repository, head_sha) for make in (keys.shared_head_states, keys.heads)]
    kept = [keys.check(pull, head_sha), keys.pull(pull), keys.checks(pull), keys.idle_heads(pull), *of_head]
    base, *issues = (state.judged_by or state.base or "").split() or [""]
    bases, of_issues = (
        keys.judged_bases(installation, repository, base),
        [keys.issue_pulls(installation, mark) for mark in issues],
    )
    (last,) = yield from transaction.peek(("ZSCORE", bases.name, pull.number))
    if base and (state.judged_by is not None or last is not None):  # it was judged
        kept += [bases, *of_issues]
        if last is None or now - float(text(last)) > bases.seconds * 1000 / 2:  # older entries are removed
            transaction.write("ZADD", bases.name, now, pull.number)
            transaction.write("EXPIRE", bases.name, bases.seconds)
        for key in of_issues:
            transaction.write("ZADD", key.name, "NX", 0, f"{repository}:{pull.number}")
            transaction.write("EXPIRE", key.name, key.seconds, "NX")
    left = yield from transaction.peek(*(("TTL", key.name) for key in kept))
    for key, seconds in zip(kept, map(whole, left), strict=True):
        if 0 <= seconds < key.seconds / 2:
            transaction.write("EXPIRE", key.name, key.seconds)


BACKSTOP_MS: Final = 5_000
"""Delay after which a commit is checked whose pending publication was never confirmed."""

CONTENT: Final = TypeAdapter(CheckContent)


class RedisSharedHeads(SealedPart):
    """The port of shared heads, and the queue of commits."""

    def __init__(self, client: RedisClient, codec: Codec, timing: Timing) -> None:
        super().__init__(client, codec)
        self._waiting = DelayedQueue(
            client, timing, CommitRef, SHARED_HEADS, lambda commit: _states_key(commit, commit.head_sha).name
        )

    def record_content(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> SharedHeadState:
        """Record the content of a pull request before it is published, and return the states of all at this head."""
        key, number = _states_key(pull, head_sha), pull.number
        sealed = self._codec.seal(dump_content(content), f"{key.name} {number}")
        is_cancelled = content.conclusion is Conclusion.CANCELLED

        def record(transaction: Transaction) -> Operation[SharedHeadState]:
            state = yield from load(transaction, pull)
            is_here = not is_cancelled and not state.is_closed and state.head in (None, head_sha)
            before = yield from _read_states(transaction, pull, head_sha)
            after = before.record(SharedHeadMember(number, check_state(content), is_here=is_here))
            left = (f"{number}:left", 1) if is_cancelled else ()
            fields = ("v", after.version, number, check_state(content), f"{number}:own", sealed, *left)
            transaction.write("HDEL", key.name, f"{number}:as", f"{number}:left")
            transaction.write("HSET", key.name, *fields)
            transaction.write("EXPIRE", key.name, key.seconds)
            yield from _move_head(transaction, pull, state, head_sha)
            if len(after.members) > 1:
                queue_sync(transaction, pull, head_sha, BACKSTOP_MS)
            return after

        return run(self._client, record)

    @in_transaction
    def record_written(
        self,
        transaction: Transaction,
        pull: PullRef,
        head_sha: Sha,
        version: int,
        content: CheckContent,
        *,
        is_sync: bool = False,
    ) -> Operation[None]:
        """Record what GitHub shows. After a change in between the commit is checked again, and so it is while a sync is under way."""
        name, number = _states_key(pull, head_sha).name, pull.number
        current, is_syncing = yield from transaction.read(("HGET", name, "v"), ("HEXISTS", name, f"{number}:on"))
        if is_sync:
            transaction.write("HDEL", name, f"{number}:on")
        if current is None:
            return
        if whole(current) == version and (is_sync or not is_syncing):
            transaction.write("HSET", name, f"{number}:as", hash_content(content))
            transaction.write("ZADD", SHARED_HEADS.order.name, "XX", "LT", transaction.now, name)
            return
        transaction.write("HDEL", name, f"{number}:as")
        yield from request_sync(transaction, pull, head_sha)

    @in_transaction
    def rejoin(self, transaction: Transaction, pull: PullRef, head_sha: Sha) -> Operation[None]:
        """Record that this commit is the head of a pull request again."""
        name = _states_key(pull, head_sha).name
        state = yield from load(transaction, pull)
        (is_listed,) = yield from transaction.read(("HEXISTS", name, pull.number))
        if is_listed:
            transaction.write("HDEL", name, f"{pull.number}:left")
            yield from request_sync(transaction, pull, head_sha)
            yield from _move_head(transaction, pull, state, head_sha)

    @in_transaction
    def leave(self, transaction: Transaction, pull: PullRef, head_sha: Sha | None = None) -> Operation[None]:
        """Remove a pull request from this commit, by default from its last published one."""
        state = yield from load(transaction, pull)
        head = head_sha or state.published_head
        if head is None:
            return
        name = _states_key(pull, head).name
        (is_listed,) = yield from transaction.read(("HEXISTS", name, pull.number))
        if is_listed:
            transaction.write("HSET", name, f"{pull.number}:left", 1)
            yield from request_sync(transaction, pull, head)

    # The synchronization

    def next(self) -> tuple[CommitRef, int] | None:
        """Take a commit to synchronize, and its attempt."""
        commit = self._waiting.take()
        return commit and commit[:2]

    def postpone(self, commit: CommitRef, delay: timedelta) -> None:
        self._waiting.postpone(commit, delay)

    def find_state(self, commit: CommitRef) -> SharedHeadState:
        """States of all pull requests at a commit."""
        return run(self._client, lambda transaction: _read_states(transaction, commit, commit.head_sha))

    def own_content(self, pull: PullRef, head_sha: Sha) -> CheckContent:
        """This pull request's own content, without the others'."""
        name = _states_key(pull, head_sha).name
        sealed = blob(self._client.call("HGET", name, f"{pull.number}:own"))
        return CONTENT.validate_json(self._codec.open(sealed, f"{name} {pull.number}"))

    def mark_updating(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that new content is about to be published: until `record_written` the published content is unknown."""
        name = _states_key(pull, head_sha).name
        write_all(self._client, ("HSET", name, f"{pull.number}:on", 1), ("HDEL", name, f"{pull.number}:as"))

    @in_transaction
    def close_version(self, transaction: Transaction, commit: CommitRef, version: int) -> Operation[bool]:
        """Close a version after all check runs are up to date. False: superseded by a newer one."""
        name = _states_key(commit, commit.head_sha).name
        (current,) = yield from transaction.read(("HGET", name, "v"))
        if current is not None and whole(current) != version:
            return False
        transaction.write_each(removal(SHARED_HEADS, name))
        return True


def _read_states(transaction: Transaction, ref: PullRef | CommitRef, head_sha: Sha) -> Operation[SharedHeadState]:
    """The states at a commit, without texts. The transaction fails if their version changes."""
    name = _states_key(ref, head_sha).name
    version, names = yield from transaction.peek(("HGET", name, "v"), ("HKEYS", name))
    transaction.expect(("HGET", name, "v"), version)
    numbers = sorted(int(field) for field in map(text, items(names)) if field.isdecimal())
    if not numbers:
        return SharedHeadState(whole(version), ())
    pulls = [f"{keys.prefix('pull', ref.installation_id, ref.repository_id)}{number}" for number in numbers]
    fields, *heads = yield from transaction.peek(
        ("HMGET", name, *(f"{number}{field}" for number in numbers for field in ("", ":as", ":left"))),
        *(("HMGET", pull, "head", "over") for pull in pulls),
    )
    values, members = list(map(text, items(fields))), list[SharedHeadMember]()
    for number, state, shown, left, stored in zip(numbers, values[::3], values[1::3], values[2::3], heads, strict=True):
        head, closed_at = map(text, items(stored))
        is_here = not left and not closed_at and head in ("", head_sha)
        members.append(SharedHeadMember(number, state, is_here=is_here, shown=shown))
    return SharedHeadState(whole(version), tuple(members))


def _move_head(transaction: Transaction, pull: PullRef, state: PullRequestState, head_sha: Sha) -> Operation[None]:
    """Record the newest head as published; the others at the head before stay without this pull request."""
    if state.head == head_sha != state.published_head:
        save(transaction, pull, state, state._replace(published_head=head_sha))
        if state.published_head is not None:
            yield from request_sync(transaction, pull, state.published_head)


def _states_key(ref: PullRef | CommitRef, head_sha: Sha) -> keys.Key:
    return keys.shared_head_states(ref.installation_id, ref.repository_id, head_sha)
