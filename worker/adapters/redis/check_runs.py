"""Which check run belongs to which head, for all processes, and which of them are overdue.

Does not talk to GitHub. Invariant: at most one process at a time creates the check run of a head; a check run that is
open has a deadline.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, items, text, whole
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
"""Stands for the id of a check run whose creation was begun, as long as nobody told its id."""

REOPENING: Final = "reopening "
"""Beside the heads whose check runs rest: of one that somebody is writing to who judges nothing."""

EXPIRED: Final = "expired "
"""The same of one that who concludes it may find written over: by the watchdog, who may die of it, or by who reopened it too late."""

UNWATCHED_SCORE: Final = -1
"""Stands for a deadline that never comes."""

LIST_TTL: Final = timedelta(minutes=10)
"""GitHub's list of what is open is no older than that when the last of it is looked at."""

MAKING_SHARE: Final = 0.75
"""How much of the hold on an opening the creation may take: who comes next finds the place free."""


class ExpiredCheckRun(Frozen):
    """A check run that nobody concluded in time. `is_put_off`: it says why it can't be judged now."""

    pull: PullRef
    head_sha: Sha
    check: CheckRunId
    is_put_off: bool = False


class RedisCheckRegistry:
    """The CheckRegistry port, and the watchdog's list."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing
        self._making_ms = max(1, milliseconds(timing.open_hold * MAKING_SHARE))
        self._token = CREATING_MARK + secrets.token_hex(16)
        self._firsts: set[tuple[PullRef, Sha]] = set()

    def claim(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """The known check run, or None: create it, and say `record_opened`. The same registry may claim again."""
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
        """Our token, or what was there before it."""
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
        """It says so now."""
        run_script(self._wire, Script.AGAIN_DONE, [keys.pull(pull)])

    def is_waiting(self, pull: PullRef, head_sha: Sha) -> bool:
        return bool(self._wire.call("SISMEMBER", keys.idle_heads(pull).name, head_sha))

    def mark_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        """A check run that is there is about to be written to, by nobody who judges. Until `clear_reopened` nobody knows what became of it."""
        key = keys.idle_heads(pull)
        self._wire.call("SADD", key.name, REOPENING + head_sha)
        self._wire.call("EXPIRE", key.name, lifetime_s(key))

    def clear_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        self._wire.call("SREM", keys.idle_heads(pull).name, REOPENING + head_sha)

    def list_overwritten_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        """Heads that somebody reopened who came to no end, and where somebody else wrote since or meanwhile."""
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
        """Whether this head has its check run, or is about to get it."""
        return bool(self._wire.call("EXISTS", keys.check(pull, head_sha).name))

    def stays(self, pull: PullRef, head_sha: Sha) -> bool:
        """GitHub shows it open at this head: what is remembered of both is kept for longer.

        False: it has no check run, that was left for another head, of which we heard last, or we took it for closed.
        """
        installation, repository = pull.installation_id, pull.repository_id
        about = [keys.pull(pull), keys.checks(pull), keys.idle_heads(pull)]
        of_head = [make(installation, repository, head_sha) for make in (keys.shared_head_states, keys.heads)]
        key = keys.check(pull, head_sha)
        on, list_ms = [key, *about, *of_head, *remembered_keys(pull)], milliseconds(LIST_TTL.total_seconds())
        what = (lifetime_s(key), head_sha, list_ms, *_judged_by(pull))
        return bool(run_script(self._wire, Script.CHECK_STAYS, on, *what))

    def doubt(self, pull: PullRef, head_sha: Sha) -> str:
        """Of a check that we take for ended: a word as long as Redis may have forgotten that it was opened again; '': it did not."""
        return text(run_script(self._wire, Script.DOUBT, _doubted(pull), pull.number, head_sha))

    def is_as_known(self, pull: PullRef, head_sha: Sha, doubt: str) -> None:
        """GitHub shows it ended, too. Whatever happened to the pull request since this doubt leaves it."""
        run_script(self._wire, Script.DOUBT, _doubted(pull), pull.number, head_sha, doubt)

    def _noted(self, note: ExpiredCheckRun, *, is_watched: bool) -> tuple[Argument, ...]:
        key = keys.check(note.pull, note.head_sha)
        deadline_ms = milliseconds(self._timing.check_deadline) if is_watched else UNWATCHED_SCORE
        return (note.check, note.head_sha, lifetime_s(key), deadline_ms, note.model_dump_json())

    def find_check_run(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """Its check run, if it is there already."""
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
        """Check runs to close. They come again after the hold, unless `record_concluded`."""
        hold = milliseconds(self._timing.open_hold)
        notes = items(run_script(self._wire, Script.OVERDUE, [keys.DEADLINES, keys.DEADLINE_NOTES], hold))
        return tuple(read_json(ExpiredCheckRun, text(note)) for note in notes)

    def postpone_expired(self, late: ExpiredCheckRun, delay: timedelta) -> None:
        """It could not be closed now: `take_expired` gives it again after *delay*."""
        name = keys.check(late.pull, late.head_sha).name
        run_script(self._wire, Script.ASK_LATER, [keys.DEADLINES], name, max(0, milliseconds(delay.total_seconds())))

    def take_orphaned(self) -> tuple[ExpiredCheckRun, ...]:
        """Open check runs that nobody will conclude, for a while: their pull request is not to be judged, nor their group (0) to be answered."""
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
    """What the lists are called, and how long they stay, by which an edit finds whom it is about; and what they call this one."""
    installation, repository = pull.installation_id, pull.repository_id
    rules, issues = keys.judged_bases(installation, repository, ""), keys.issue_pulls(installation, "")
    lists = (rules.name, lifetime_s(rules), issues.name, lifetime_s(issues))
    return (pull.number, f"{repository}:{pull.number}", *lists)
