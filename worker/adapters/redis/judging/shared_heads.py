"""States of the check runs that share a commit, by pull request, and the queue of commits to synchronize.

A state is recorded before it is published, so that other pull requests of the commit always include it; its texts are
encrypted. A commit stays queued until all of its check runs are up to date. Fields of a pull request: `N`: state, `N:own`: its own content,
`N:as`: hash of what GitHub shows, `N:left`: it has left the commit, `N:on`: a synchronization is writing its check run.
"""

from datetime import timedelta
from typing import Final

from pydantic import TypeAdapter

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, blob, items, text, whole
from worker.adapters.redis.connection.encryption import Codec, SealedPart
from worker.adapters.redis.connection.transactions import (
    Operation,
    Transaction,
    in_transaction,
    run,
    write_all,
)
from worker.adapters.redis.delayed_queue import DelayedQueue, removal
from worker.adapters.redis.judging.intake import queue_sync, request_sync
from worker.adapters.redis.judging.state import load, save
from worker.adapters.redis.keys import SHARED_HEADS
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
from worker.domain.lifecycle.state import PullRequestState
from worker.domain.model import Sha
from worker.settings import Timing

BACKSTOP_MS: Final = 5_000
"""Delay after which a commit is checked whose pending publication was never confirmed."""

CONTENT: Final = TypeAdapter(CheckContent)


class RedisSharedHeads(SealedPart):
    """The port of shared heads, and the queue of commits."""

    def __init__(self, client: RedisClient, codec: Codec, timing: Timing) -> None:
        super().__init__(client, codec)
        self._waiting = DelayedQueue(
            client, timing, CommitRef, SHARED_HEADS, lambda commit: _key(commit, commit.head_sha).name
        )

    def record_content(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> SharedHeadState:
        """Record the content of a pull request before it is published, and return the states of all at this head."""
        key, number = _key(pull, head_sha), pull.number
        sealed = self._codec.seal(dump_content(content), f"{key.name} {number}")
        is_cancelled = content.conclusion is Conclusion.CANCELLED

        def record(transaction: Transaction) -> Operation[SharedHeadState]:
            state = yield from load(transaction, pull)
            is_here = not is_cancelled and not state.is_closed and state.head in (None, head_sha)
            before = yield from _read(transaction, pull, head_sha)
            after = before.record(SharedHeadMember(number, check_state(content), is_here=is_here))
            left = (f"{number}:left", 1) if is_cancelled else ()
            fields = ("v", after.version, number, check_state(content), f"{number}:own", sealed, *left)
            transaction.write("HDEL", key.name, f"{number}:as", f"{number}:left")
            transaction.write("HSET", key.name, *fields)
            transaction.write("EXPIRE", key.name, key.seconds)
            yield from _move(transaction, pull, state, head_sha)
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
        name, number = _key(pull, head_sha).name, pull.number
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
        name = _key(pull, head_sha).name
        state = yield from load(transaction, pull)
        (is_listed,) = yield from transaction.read(("HEXISTS", name, pull.number))
        if is_listed:
            transaction.write("HDEL", name, f"{pull.number}:left")
            yield from request_sync(transaction, pull, head_sha)
            yield from _move(transaction, pull, state, head_sha)

    @in_transaction
    def leave(self, transaction: Transaction, pull: PullRef, head_sha: Sha | None = None) -> Operation[None]:
        """Remove a pull request from this commit, by default from its last published one."""
        state = yield from load(transaction, pull)
        head = head_sha or state.published_head
        if head is None:
            return
        name = _key(pull, head).name
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
        return run(self._client, lambda transaction: _read(transaction, commit, commit.head_sha))

    def own_content(self, pull: PullRef, head_sha: Sha) -> CheckContent:
        """This pull request's own content, without the others'."""
        name = _key(pull, head_sha).name
        sealed = blob(self._client.call("HGET", name, f"{pull.number}:own"))
        return CONTENT.validate_json(self._codec.open(sealed, f"{name} {pull.number}"))

    def mark_updating(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that new content is about to be published: until `record_written` the published content is unknown."""
        name = _key(pull, head_sha).name
        write_all(self._client, ("HSET", name, f"{pull.number}:on", 1), ("HDEL", name, f"{pull.number}:as"))

    @in_transaction
    def close_version(self, transaction: Transaction, commit: CommitRef, version: int) -> Operation[bool]:
        """Close a version after all check runs are up to date. False: superseded by a newer one."""
        name = _key(commit, commit.head_sha).name
        (current,) = yield from transaction.read(("HGET", name, "v"))
        if current is not None and whole(current) != version:
            return False
        transaction.write_each(removal(SHARED_HEADS, name))
        return True


def _read(transaction: Transaction, ref: PullRef | CommitRef, head_sha: Sha) -> Operation[SharedHeadState]:
    """The states at a commit, without texts. The transaction fails if their version changes."""
    name = _key(ref, head_sha).name
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


def _move(transaction: Transaction, pull: PullRef, state: PullRequestState, head_sha: Sha) -> Operation[None]:
    """Record the newest head as published; the others at the head before stay without this pull request."""
    if state.head == head_sha != state.published_head:
        save(transaction, pull, state, state._replace(published_head=head_sha))
        if state.published_head is not None:
            yield from request_sync(transaction, pull, state.published_head)


def _key(ref: PullRef | CommitRef, head_sha: Sha) -> keys.Key:
    return keys.shared_head_states(ref.installation_id, ref.repository_id, head_sha)
