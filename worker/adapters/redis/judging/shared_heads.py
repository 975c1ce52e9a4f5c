"""States of the check runs that share a commit, by pull request, and the queue of commits to synchronize.

A state is recorded before it is published, so that other pull requests of the commit always include it; its texts are
encrypted. A commit stays queued until all of its check runs are up to date.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, blob, items, text, whole
from worker.adapters.redis.connection.encryption import Codec
from worker.adapters.redis.connection.transactions import Operation, Transaction, run
from worker.adapters.redis.delayed_queue import DelayedQueue
from worker.adapters.redis.judging.intake import lifetime_s, queue_sync, request_sync
from worker.adapters.redis.judging.state import expect_state, load, parse_state, read_commands, save
from worker.adapters.redis.keys import SHARED_HEADS
from worker.domain.check.check_run import Button, CheckContent, Conclusion, StatusBlock
from worker.domain.check.shared_head import (
    CommitRef,
    OtherPull,
    SharedHeadMember,
    SharedHeadState,
    SharedHeadView,
    check_state,
    dump_content,
    hash_content,
)
from worker.domain.check.wait_status import WaitState
from worker.domain.ids import InstallationId, RepositoryId, Sha
from worker.domain.judge_request import PullRef
from worker.settings import Timing

BACKSTOP_MS: Final = 5_000
"""Delay after which a commit is checked whose pending publication was never confirmed."""


class RedisSharedHeads:
    """The port of shared heads, and the queue of commits."""

    def __init__(self, wire: RedisClient, codec: Codec, timing: Timing) -> None:
        self._wire = wire
        self._codec = codec
        self._waiting = DelayedQueue(wire, timing, CommitRef, SHARED_HEADS)

    def record_content(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> SharedHeadView:
        """Record the content of a pull request before it is published, and return the states of the others at this head."""
        key = _key(pull, head_sha)
        sealed = self._codec.seal(dump_content(content), _seal_of(key, pull.number))
        status, number = check_state(content), str(pull.number)
        is_cancelled = status == Conclusion.CANCELLED

        def record(transaction: Transaction) -> Operation[SharedHeadView]:
            current, *stored = yield from transaction.peek(("HGET", key.name, "v"), *read_commands(pull))
            transaction.expect(("HGET", key.name, "v"), current)
            expect_state(transaction, pull, stored[0])
            state, version = parse_state(pull, stored), whole(current) + 1  # each change raises the version
            shown = {} if current is None else (yield from _read_shown(transaction, key.name))
            transaction.write("HSET", key.name, "v", version, number, status, f"{number}:own", sealed)
            transaction.write("HDEL", key.name, f"{number}:as", *([] if is_cancelled else [f"{number}:left"]))
            if is_cancelled:
                transaction.write("HSET", key.name, f"{number}:left", 1)
            transaction.write("EXPIRE", key.name, lifetime_s(key))
            members = _members(shown) | {pull.number}
            if state.seq is not None and state.head == head_sha != state.published_head:  # its first content here
                save(transaction, pull, state, state._replace(published_head=head_sha))
                if state.published_head is not None:  # others at the head before stay without it
                    yield from request_sync(transaction, pull, state.published_head)
            if len(members) > 1:
                queue_sync(transaction, pull, head_sha, BACKSTOP_MS)
            others = list[OtherPull]()
            for other in sorted(members - {pull.number}):
                is_left = f"{other}:left" in shown
                if not is_left and (yield from _is_at(transaction, _with_number(pull, other), head_sha)):
                    others.append(OtherPull(other, shown[str(other)]))
            is_here = not is_cancelled and not state.is_closed and state.head in (None, head_sha)
            return SharedHeadView(version, is_here, tuple(others))

        return run(self._wire, record)

    def record_written(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent) -> None:
        self._record_published(pull, head_sha, version, content)

    def _record_published(
        self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent, *, is_synced: bool = False
    ) -> None:
        """Record what GitHub shows. After a change in between the commit is checked again, and so it is while a sync is under way."""
        name, number = _key(pull, head_sha).name, pull.number

        def record(transaction: Transaction) -> Operation[None]:
            current, is_syncing = yield from transaction.read(("HGET", name, "v"), ("HEXISTS", name, f"{number}:on"))
            if is_synced:
                transaction.write("HDEL", name, f"{number}:on")
            if current is None:
                return
            if whole(current) == version and (is_synced or not is_syncing):
                (queued,) = yield from transaction.peek(("ZSCORE", SHARED_HEADS.order.name, name))
                transaction.write("HSET", name, f"{number}:as", hash_content(content))
                if queued is not None:
                    transaction.write("ZADD", SHARED_HEADS.order.name, "LT", transaction.now, name)
                return
            transaction.write("HDEL", name, f"{number}:as")
            yield from request_sync(transaction, pull, head_sha)

        run(self._wire, record)

    def rejoin(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that this commit is the head of a pull request again."""
        name = _key(pull, head_sha).name

        def rejoin(transaction: Transaction) -> Operation[None]:
            state = yield from load(transaction, pull)
            (is_listed,) = yield from transaction.read(("HEXISTS", name, pull.number))
            if not is_listed:
                return
            transaction.write("HDEL", name, f"{pull.number}:left")
            yield from request_sync(transaction, pull, head_sha)
            if state.head == head_sha != state.published_head:
                save(transaction, pull, state, state._replace(published_head=head_sha))
                if state.published_head is not None:
                    yield from request_sync(transaction, pull, state.published_head)

        run(self._wire, rejoin)

    def leave(self, pull: PullRef, commit: CommitRef | None = None) -> None:
        """Remove a pull request from *commit*, by default its last published one."""

        def leave(transaction: Transaction) -> Operation[None]:
            state = yield from load(transaction, pull)
            head = state.published_head if commit is None else commit.head_sha
            if head is None:
                return
            name = _key(pull, head).name
            (is_listed,) = yield from transaction.read(("HEXISTS", name, pull.number))
            if is_listed:
                transaction.write("HSET", name, f"{pull.number}:left", 1)
                yield from request_sync(transaction, pull, head)

        run(self._wire, leave)

    # The synchronization

    def next(self) -> tuple[CommitRef, int] | None:
        """Take a commit to synchronize, and its attempt."""
        return self._waiting.next()

    def postpone(self, commit: CommitRef, delay: timedelta) -> None:
        self._waiting.postpone(_of(commit).name, delay)

    def find_state(self, commit: CommitRef) -> SharedHeadState:
        """States of all pull requests at a commit."""

        def find(transaction: Transaction) -> Operation[SharedHeadState]:
            shown = yield from _read_shown(transaction, _of(commit).name)
            members = list[SharedHeadMember]()
            for number in sorted(_members(shown)):
                pull = _ref(commit, number)
                is_here = f"{number}:left" not in shown and (yield from _is_at(transaction, pull, commit.head_sha))
                members.append(SharedHeadMember(number, shown[str(number)], is_here, shown.get(f"{number}:as", "")))
            return SharedHeadState(int(shown.get("v", "0")), tuple(members))

        return run(self._wire, find)

    def own_content(self, commit: CommitRef, number: int) -> CheckContent:
        """This pull request's own content, without the others'."""
        key = _of(commit)
        sealed = blob(self._wire.call("HGET", key.name, f"{number}:own"))
        return _content(self._codec.open(sealed, _seal_of(key, number)))

    def mark_updating(self, commit: CommitRef, number: int) -> None:
        """Record that new content is about to be published: until `record_shown` the published content is unknown."""
        self._wire.call("HSET", _of(commit).name, f"{number}:on", 1)
        self._wire.call("HDEL", _of(commit).name, f"{number}:as")

    def record_shown(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent) -> None:
        """Record the published content and its version."""
        self._record_published(pull, head_sha, version, content, is_synced=True)

    def close_version(self, commit: CommitRef, version: int) -> bool:
        """Close a version after all check runs are up to date. False: superseded by a newer one."""
        name = _of(commit).name

        def close(transaction: Transaction) -> Operation[bool]:
            (current,) = yield from transaction.read(("HGET", name, "v"))
            if current is not None and whole(current) != version:
                return False
            transaction.write("ZREM", SHARED_HEADS.order.name, name)
            transaction.write("HDEL", SHARED_HEADS.texts.name, name)
            transaction.write("HDEL", SHARED_HEADS.tries.name, name)
            return True

        return run(self._wire, close)


def _read_shown(transaction: Transaction, name: str) -> Operation[dict[str, str]]:
    """The published states of a commit by number, with its version, without texts."""
    (names,) = yield from transaction.peek(("HKEYS", name))
    fields = [text(field) for field in items(names) if not text(field).endswith(":own")]
    if not fields:
        return {}
    (values,) = yield from transaction.peek(("HMGET", name, *fields))
    return {field: text(value) for field, value in zip(fields, items(values), strict=True) if value is not None}


def _members(shown: Mapping[str, str]) -> set[int]:
    return {int(field) for field in shown if field.isdecimal()}


def _is_at(transaction: Transaction, pull: PullRef, head_sha: Sha) -> Operation[bool]:
    """Whether a pull request is open, as far as known, and this is its head."""
    (fields,) = yield from transaction.peek(("HMGET", keys.pull(pull).name, "head", "over"))
    head, closed_at = items(fields)
    return closed_at is None and text(head) in ("", head_sha)


def _with_number(pull: PullRef, number: int) -> PullRef:
    return pull.model_copy(update={"number": number})


def _ref(commit: CommitRef, number: int) -> PullRef:
    return PullRef(installation_id=commit.installation_id, repository_id=commit.repository_id, number=number)


def _key(pull: PullRef, head_sha: Sha) -> keys.Key:
    return keys.shared_head_states(pull.installation_id, pull.repository_id, head_sha)


def _of(commit: CommitRef) -> keys.Key:
    return keys.shared_head_states(
        InstallationId(commit.installation_id), RepositoryId(commit.repository_id), commit.head_sha
    )


def _seal_of(key: keys.Key, number: int) -> str:
    return f"{key.name} {number}"


def _content(text: bytes) -> CheckContent:
    fields: dict[str, Any] = json.loads(text)
    values: dict[str, Any] = {name: fields[name] for name in CheckContent.__match_args__ if name in fields}
    if values["conclusion"] is not None:
        values["conclusion"] = Conclusion(values["conclusion"])
    values["block"] = _block(values.get("block"))
    values["buttons"] = tuple(
        Button(button["label"], button["identifier"], button["description"]) for button in values["buttons"]
    )
    return CheckContent(**values)


def _block(fields: dict[str, Any] | None) -> StatusBlock | None:
    """Parse a status block without unknown fields. None: an earlier version wrote it, and the text has everything."""
    if fields is None:
        return None
    values: dict[str, Any] = {name: fields[name] for name in StatusBlock.__match_args__ if name in fields}
    values["state"] = WaitState(values["state"])
    return StatusBlock(**values)
