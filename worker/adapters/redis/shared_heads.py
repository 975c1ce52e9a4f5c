"""States of the check runs that share a commit, by pull request, and the queue of commits to synchronize.

A state is recorded before it is published, so that other pull requests of the commit always include it; its texts are
encrypted. A commit stays queued until all of its check runs are up to date.
"""

import json
from datetime import timedelta
from typing import Any, Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, items, text, whole
from worker.adapters.redis.delayed_queue import DelayedQueue
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import commit_prefix, lifetime_s, shared_head_prefix
from worker.adapters.redis.keys import SHARED_HEADS
from worker.adapters.redis.scripts import Script, run_script
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
from worker.domain.request.judge_request import PullRef
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
        on = [keys.pull(pull), _key(pull, head_sha), SHARED_HEADS.order, SHARED_HEADS.texts]
        sealed = self._codec.seal(dump_content(content), _seal_of(on[1], pull.number))
        pulls = keys.prefix("pull", pull.installation_id, pull.repository_id)
        times = (lifetime_s(on[1]), BACKSTOP_MS)
        arguments = (
            pull.number,
            head_sha,
            check_state(content),
            sealed,
            *times,
            pulls,
            shared_head_prefix(pull),
            commit_prefix(pull),
        )
        version, is_here, *others = items(run_script(self._wire, Script.SIBLING_SAYS, on, *arguments))
        pairs = zip(others[::2], others[1::2], strict=True)
        siblings = tuple(OtherPull(int(text(number)), text(state)) for number, state in pairs)
        return SharedHeadView(whole(version), bool(whole(is_here)), siblings)

    def record_written(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent) -> None:
        self._told(pull, head_sha, version, content)

    def _told(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent, *settled: int) -> None:
        on = [_key(pull, head_sha), SHARED_HEADS.order, SHARED_HEADS.texts]
        name = f'{commit_prefix(pull)}{head_sha}"}}'
        run_script(self._wire, Script.SIBLING_TOLD, on, pull.number, version, hash_content(content), name, *settled)

    def rejoin(self, pull: PullRef, head_sha: Sha) -> None:
        on = [keys.pull(pull), _key(pull, head_sha), SHARED_HEADS.order, SHARED_HEADS.texts]
        run_script(
            self._wire, Script.SIBLING_COMES, on, pull.number, head_sha, shared_head_prefix(pull), commit_prefix(pull)
        )

    def leave(self, pull: PullRef, commit: CommitRef | None = None) -> None:
        """Remove a pull request from *commit*, by default its last published one."""
        on = [keys.pull(pull), SHARED_HEADS.order, SHARED_HEADS.texts]
        name = commit_prefix(pull)
        if commit is not None:
            on.append(_of(commit))
            name = commit.model_dump_json()
        run_script(self._wire, Script.SIBLING_LEAVES, on, pull.number, shared_head_prefix(pull), name)

    # The synchronization

    def next(self) -> tuple[CommitRef, int] | None:
        """Take a commit to synchronize, and its attempt."""
        return self._waiting.next()

    def postpone(self, commit: CommitRef, delay: timedelta) -> None:
        self._waiting.postpone(_of(commit).name, delay)

    def find_state(self, commit: CommitRef) -> SharedHeadState:
        pulls = keys.prefix("pull", commit.installation_id, commit.repository_id)
        version, *fields = items(run_script(self._wire, Script.SIBLINGS, [_of(commit)], commit.head_sha, pulls))
        rows = zip(fields[::4], fields[1::4], fields[2::4], fields[3::4], strict=True)
        members = (
            SharedHeadMember(int(text(number)), text(state), bool(whole(here)), text(shown))
            for number, state, here, shown in rows
        )
        return SharedHeadState(whole(version), tuple(sorted(members, key=lambda member: member.number)))

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
        self._told(pull, head_sha, version, content, 1)

    def close_version(self, commit: CommitRef, version: int) -> bool:
        """Close a version after all check runs are up to date. False: superseded by a newer one."""
        return bool(run_script(self._wire, Script.SIBLINGS_DONE, [*SHARED_HEADS.keys, _of(commit)], version))


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
