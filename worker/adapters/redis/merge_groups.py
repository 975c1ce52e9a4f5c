"""Merge groups without an answer, and the lease of the job that judges one.

A group stays until it is `done`, even if a worker dies. An event that GitHub gave it up is not overwritten by pending
work, and a token admits one judge.
"""

import secrets
from datetime import datetime, timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text, whole
from worker.adapters.redis.intake import IntakeOutcome, lifetime_s, milliseconds
from worker.adapters.redis.keys import GROUPS
from worker.adapters.redis.pull_requests import MOST_SPARE_WORKERS
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json, read_json_or_none
from worker.domain.check.merge_group import MergeGroup
from worker.domain.ids import CheckRunId, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.model import Frozen
from worker.domain.request.judge_request import PullRef
from worker.domain.value import Value
from worker.errors import LeaseLost
from worker.settings import Timing

GROUP_QUEUE: Final = (GROUPS.order, GROUPS.texts, GROUPS.tries, keys.GROUP_HOLDS)


class QueuedGroup(Frozen):
    """A stored group. `waits`: its check run is published as waiting; `failed`: why its judging failed."""

    group: MergeGroup
    waits: bool = False
    failed: str = ""


class PendingGroup(Value):
    """A group to process; *attempt* counts from 1: crashes since its last postponement, without crashes of Redis itself."""

    queued: QueuedGroup
    attempt: int

    @property
    def group(self) -> MergeGroup:
        return self.queued.group


class GroupLease(Value):
    """The Lease of one group's judging."""

    groups: "RedisMergeGroups"
    group: MergeGroup
    token: str
    owner: str
    fence: int = 0

    def renew(self) -> None:
        self.groups.renew_lease(self)


class LeasedGroup(Value):
    """A judging that may start."""

    lease: GroupLease
    pending: PendingGroup


class RedisMergeGroups:
    """Merge groups in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def put(self, group: MergeGroup) -> IntakeOutcome:
        """Queue a group event; idempotent by delivery."""
        key = keys.received_group(group.delivery_id)
        group_key = keys.group(group.installation_id, group.repository_id, group.head_sha)
        text = QueuedGroup(group=group).model_dump_json()
        on = [key, GROUPS.order, GROUPS.texts, group_key]
        kept = group.model_dump_json()
        taken = run_script(
            self._wire, Script.GROUP_PUT, on, group.id, text, lifetime_s(key), kept, lifetime_s(group_key)
        )
        return IntakeOutcome.QUEUED if taken else IntakeOutcome.DUPLICATE

    def reopen(
        self, commit: tuple[InstallationId, RepositoryId, Sha], delivery_id: DeliveryId, at: datetime
    ) -> IntakeOutcome:
        """Requeue the group of this commit on a person's request. UNKNOWN: no current group."""
        queued = self._stored_group(commit)
        if queued is None or queued.ended is not None:
            return IntakeOutcome.UNKNOWN
        return self.put(queued.model_copy(update={"delivery_id": delivery_id, "at": at}))

    def requeue_orphaned(
        self, commit: tuple[InstallationId, RepositoryId, Sha], check: CheckRunId, at: datetime
    ) -> bool:
        """Requeue the group of an orphaned check run. False: deleted, or already requested."""
        queued = self._stored_group(commit)
        if queued is None:
            return False
        late = queued.model_copy(update={"delivery_id": DeliveryId(f"late-check-{check}"), "at": at})
        return self.put(late) is IntakeOutcome.QUEUED

    def find_group(self, commit: tuple[InstallationId, RepositoryId, Sha]) -> MergeGroup | None:
        """Find the group of this commit while it is unanswered or recently closed."""
        waits = self._wire.call("HGET", GROUPS.texts.name, ":".join(map(str, commit)))
        queued = read_json_or_none(QueuedGroup, text(waits)) if waits else None
        return self._stored_group(commit) if queued is None else queued.group

    def _stored_group(self, commit: tuple[InstallationId, RepositoryId, Sha]) -> MergeGroup | None:
        kept = self._wire.call("GET", keys.group(*commit).name)
        return read_json_or_none(MergeGroup, text(kept)) if kept else None

    def next(self) -> PendingGroup | None:
        """Take the longest waiting group for the hold."""
        hold = milliseconds(self._timing.open_hold)
        reply = items(run_script(self._wire, Script.GROUP_NEXT, GROUPS.keys, hold, MOST_SPARE_WORKERS))
        queued = read_json_or_none(QueuedGroup, text(reply[0])) if reply else None
        return PendingGroup(queued, whole(reply[1])) if queued else None

    def postpone(self, queued: QueuedGroup, delay: timedelta) -> None:
        """Postpone a group and reset its attempts: the caller has not crashed."""
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        run_script(
            self._wire, Script.GROUP_LATER, GROUP_QUEUE, *_name(queued.group), queued.model_dump_json(), delay_ms
        )

    def complete(self, group: MergeGroup) -> None:
        run_script(self._wire, Script.GROUP_DONE, GROUP_QUEUE, *_name(group))

    def settled_at(self, pull: PullRef) -> int | None:
        """Number of the last event of a pull request, 0 if there was none; None: it is due, dispatched, or leased."""
        state, seq = items(self._wire.call("HMGET", keys.pull(pull).name, "state", "seq"))
        if state:
            return None
        return int(text(seq)) if seq else 0

    # The job that judges a group

    def dispatch(self, group: MergeGroup) -> str | None:
        """Name of the job that may judge this group, for submission; None: the group was given up."""
        lease = milliseconds(self._timing.lease)
        return (
            text(run_script(self._wire, Script.GROUP_GIVE, GROUP_QUEUE, *_name(group), secrets.token_hex(16), lease))
            or None
        )

    def take_lease(self, group_id: str, token: str) -> LeasedGroup | None:
        """Take the lease that this token admits. None: already taken, or obsolete."""
        taker = secrets.token_hex(8)
        lease = milliseconds(self._timing.lease)
        reply = items(run_script(self._wire, Script.GROUP_TAKE, GROUP_QUEUE, group_id, token, taker, lease))
        if not reply:
            return None
        queued = read_json(QueuedGroup, text(reply[0]))
        return LeasedGroup(GroupLease(self, queued.group, token, taker), PendingGroup(queued, whole(reply[1])))

    def renew_lease(self, lease: GroupLease) -> None:
        """Renew a lease. Raises LeaseLost."""
        on = [GROUPS.order, GROUPS.texts, keys.GROUP_HOLDS]
        who = (*_name(lease.group), lease.token, lease.owner)
        if not run_script(self._wire, Script.GROUP_KEEP, on, *who, milliseconds(self._timing.lease)):
            raise LeaseLost

    def requeue_dead(self, group_id: str, token: str) -> bool:
        """Requeue the group of a dead job immediately. False: it was done."""
        return bool(run_script(self._wire, Script.GROUP_DIED, [GROUPS.order, keys.GROUP_HOLDS], group_id, token))


def _name(group: MergeGroup) -> tuple[str, str]:
    return group.id, group.delivery_id
