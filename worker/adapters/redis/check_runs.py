"""Check runs by head, for all processes, and the expired and orphaned ones.

At most one process at a time creates the check run of a head, and an open check run has a deadline.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, items, text, whole
from worker.adapters.redis.delayed_queue import postpone_item
from worker.adapters.redis.intake import lifetime_s, milliseconds, remembered_keys
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.check.check_run import CheckContent
from worker.domain.ids import CheckRunId, Sha
from worker.domain.model import Frozen
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

UNWATCHED_SCORE: Final = -1
"""Score of a check run without a deadline."""

LIST_TTL: Final = timedelta(minutes=10)
"""Maximum age of GitHub's list of open check runs when its last item is read."""

MAKING_SHARE: Final = 0.75
"""Share of the hold on an opening that the creation may take, so that the next process finds it released."""


class ExpiredCheckRun(Frozen):
    """A check run past its deadline. `is_put_off`: it explains why it can't be judged now."""

    pull: PullRef
    head_sha: Sha
    check: CheckRunId
    is_put_off: bool = False


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
        """Our token, or the previous value."""
        on = [keys.check(pull, head_sha), keys.checks(pull)]
        kept_s = lifetime_s(keys.checks(pull))
        return text(run_script(self._wire, Script.CHECK_CLAIM, on, self._token, self._making_ms, head_sha, kept_s))

    def record_opened(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> None:
        note = ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check)
        run_script(self._wire, Script.CHECK_OPENED, _on(pull, head_sha), *self._noted(note, is_watched=True))

    def record_waiting(
        self, pull: PullRef, head_sha: Sha, check: CheckRunId, *, is_watched: bool, is_deferred: bool = False
    ) -> None:
        note = ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check, is_put_off=is_deferred)
        run_script(self._wire, Script.CHECK_RESTS, _on(pull, head_sha), *self._noted(note, is_watched=is_watched))

    def record_still_waiting(self, pull: PullRef, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        script = Script.CHECK_RESTS if content.is_queued else Script.CHECK_OPENED
        note = self._noted(ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check), is_watched=content.is_watched)
        return bool(run_script(self._wire, script, _on(pull, head_sha), *note, "still"))

    def find_outdated(self, pull: PullRef, head_sha: Sha) -> OutdatedCheckRun | None:
        check = self.find_check_run(pull, head_sha)
        if check is None:
            return None
        shown = keys.shared_head_states(pull.installation_id, pull.repository_id, head_sha)
        note = self._noted(ExpiredCheckRun(pull=pull, head_sha=head_sha, check=check), is_watched=True)
        on = [*_on(pull, head_sha), keys.pull(pull), shown]
        reply = [text(part) for part in items(run_script(self._wire, Script.CHECK_AGAIN, on, *note, pull.number))]
        return OutdatedCheckRun(check, Trigger(reply[0]) if reply[0] else None) if reply else None

    def record_outdated(self, pull: PullRef) -> None:
        """Record that the check run is marked outdated."""
        run_script(self._wire, Script.AGAIN_DONE, [keys.pull(pull)])

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
        """
        installation, repository = pull.installation_id, pull.repository_id
        about = [keys.pull(pull), keys.checks(pull), keys.idle_heads(pull)]
        of_head = [make(installation, repository, head_sha) for make in (keys.shared_head_states, keys.heads)]
        key = keys.check(pull, head_sha)
        on, list_ms = [key, *about, *of_head, *remembered_keys(pull)], milliseconds(LIST_TTL.total_seconds())
        what = (lifetime_s(key), head_sha, list_ms, *_judged_by(pull))
        return bool(run_script(self._wire, Script.CHECK_STAYS, on, *what))

    def doubt(self, pull: PullRef, head_sha: Sha) -> str:
        """A token if GitHub has to be asked whether a recorded conclusion still holds, as after a restart of Redis; else ''."""
        return text(run_script(self._wire, Script.DOUBT, _doubted(pull), pull.number, head_sha))

    def is_as_known(self, pull: PullRef, head_sha: Sha, doubt: str) -> None:
        """Remove the doubt after GitHub shows the check run concluded. Any change of the pull request since *doubt* keeps it."""
        run_script(self._wire, Script.DOUBT, _doubted(pull), pull.number, head_sha, doubt)

    def _noted(self, note: ExpiredCheckRun, *, is_watched: bool) -> tuple[Argument, ...]:
        key = keys.check(note.pull, note.head_sha)
        deadline_ms = milliseconds(self._timing.check_deadline) if is_watched else UNWATCHED_SCORE
        return (note.check, note.head_sha, lifetime_s(key), deadline_ms, note.model_dump_json())

    def find_check_run(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """Find the existing check run."""
        stored = text(self._wire.call("GET", keys.check(pull, head_sha).name))
        return CheckRunId(int(stored)) if stored and not stored.startswith(CREATING_MARK) else None

    def release(self, pull: PullRef, head_sha: Sha) -> None:
        run_script(self._wire, Script.CHECK_RELEASE, [keys.check(pull, head_sha)], self._token)

    def record_concluded(self, pull: PullRef, head_sha: Sha, check: CheckRunId | None = None) -> bool:
        arguments = () if check is None else (check, lifetime_s(keys.check(pull, head_sha)))
        return bool(run_script(self._wire, Script.CHECK_CONCLUDED, _on(pull, head_sha), head_sha, *arguments))

    def mark_expiring(self, pull: PullRef, head_sha: Sha) -> None:
        key = keys.idle_heads(pull)
        self._wire.call("SADD", key.name, EXPIRED + head_sha)
        self._wire.call("EXPIRE", key.name, lifetime_s(key))

    def record_expired(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> bool:
        return bool(
            run_script(
                self._wire,
                Script.CHECK_EXPIRED,
                _on(pull, head_sha),
                head_sha,
                check,
                lifetime_s(keys.idle_heads(pull)),
            )
        )

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
        """Take expired check runs to conclude. They return after the hold, unless `record_concluded`."""
        hold = milliseconds(self._timing.open_hold)
        notes = items(run_script(self._wire, Script.OVERDUE, [keys.DEADLINES, keys.DEADLINE_NOTES], hold))
        return tuple(read_json(ExpiredCheckRun, text(note)) for note in notes)

    def postpone_expired(self, late: ExpiredCheckRun, delay: timedelta) -> None:
        """Postpone a check run that could not be concluded: `take_expired` returns it after *delay*."""
        name = keys.check(late.pull, late.head_sha).name
        postpone_item(self._wire, keys.DEADLINES, name, delay)

    def take_orphaned(self) -> tuple[ExpiredCheckRun, ...]:
        """Take orphaned open check runs for a while: neither their pull request nor their group (number 0) is queued."""
        grace_s = max(self._timing.open_hold, 2 * self._timing.lease)
        bounds = (milliseconds(self._timing.check_deadline), milliseconds(grace_s))
        notes = items(
            run_script(self._wire, Script.STRAY, [keys.DEADLINES, keys.DEADLINE_NOTES, GROUPS.order], *bounds)
        )
        return tuple(read_json(ExpiredCheckRun, text(note)) for note in notes)


def _on(pull: PullRef, head_sha: Sha) -> list[keys.Key]:
    return [
        keys.check(pull, head_sha),
        keys.checks(pull),
        keys.DEADLINES,
        keys.DEADLINE_NOTES,
        keys.idle_heads(pull),
    ]


def _doubted(pull: PullRef) -> list[keys.Key]:
    return [keys.pull(pull), keys.first_seen(pull.installation_id, pull.repository_id), keys.checks(pull)]


def _judged_by(pull: PullRef) -> tuple[Argument, ...]:
    """Names and lifetime of the sets by which an edit finds the pull requests that it affects, and this one's member name."""
    installation, repository = pull.installation_id, pull.repository_id
    rules, issues = keys.judged_bases(installation, repository, ""), keys.issue_pulls(installation, "")
    lists = (rules.name, lifetime_s(rules), issues.name, lifetime_s(issues))
    return (pull.number, f"{repository}:{pull.number}", *lists)
