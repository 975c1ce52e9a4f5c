"""Merge groups that nobody has answered yet, and which job judges one that differs from what was judged.

Does not know what is answered (`worker.scheduling.merge_queue` does). Invariant: a group stays until it is `done`, whoever died over
it; what was told of it meanwhile (GitHub gave it up) outlives whatever was under way; and a token admits one judge.
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
    """A group as it is kept. `waits`: its check says that it waits; `failed`: why its judge could not judge it."""

    group: MergeGroup
    waits: bool = False
    failed: str = ""


class PendingGroup(Value):
    """A group to look at; *attempt* counts from 1: one more than died over it since somebody put it off, but with Redis itself."""

    queued: QueuedGroup
    attempt: int

    @property
    def group(self) -> MergeGroup:
        return self.queued.group


class GroupLease(Value):
    """The right to judge one group: a Lease."""

    groups: "RedisMergeGroups"
    group: MergeGroup
    token: str
    owner: str
    fence: int = 0

    def renew(self) -> None:
        self.groups.renew_lease(self)


class LeasedGroup(Value):
    """A judging that may begin."""

    lease: GroupLease
    pending: PendingGroup


class RedisMergeGroups:
    """The groups in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def put(self, group: MergeGroup) -> IntakeOutcome:
        """Take down what GitHub told of a group; the same delivery again changes nothing."""
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
        """Somebody asks for the check of the group at this commit once more. UNKNOWN: it is of none that still is one."""
        queued = self._stored_group(commit)
        if queued is None or queued.ended is not None:
            return IntakeOutcome.UNKNOWN
        return self.put(queued.model_copy(update={"delivery_id": delivery_id, "at": at}))

    def requeue_orphaned(
        self, commit: tuple[InstallationId, RepositoryId, Sha], check: CheckRunId, at: datetime
    ) -> bool:
        """Nobody would conclude this check run: have its group looked at. False: it is forgotten, or that was asked for before."""
        queued = self._stored_group(commit)
        if queued is None:
            return False
        late = queued.model_copy(update={"delivery_id": DeliveryId(f"late-check-{check}"), "at": at})
        return self.put(late) is IntakeOutcome.QUEUED

    def find_group(self, commit: tuple[InstallationId, RepositoryId, Sha]) -> MergeGroup | None:
        """The group at this commit, as long as it waits for its answer, or is not long over."""
        waits = self._wire.call("HGET", GROUPS.texts.name, ":".join(map(str, commit)))
        queued = read_json_or_none(QueuedGroup, text(waits)) if waits else None
        return self._stored_group(commit) if queued is None else queued.group

    def _stored_group(self, commit: tuple[InstallationId, RepositoryId, Sha]) -> MergeGroup | None:
        kept = self._wire.call("GET", keys.group(*commit).name)
        return read_json_or_none(MergeGroup, text(kept)) if kept else None

    def next(self) -> PendingGroup | None:
        """The group that was not looked at for longest, for a while."""
        hold = milliseconds(self._timing.open_hold)
        reply = items(run_script(self._wire, Script.GROUP_NEXT, GROUPS.keys, hold, MOST_SPARE_WORKERS))
        queued = read_json_or_none(QueuedGroup, text(reply[0])) if reply else None
        return PendingGroup(queued, whole(reply[1])) if queued else None

    def postpone(self, queued: QueuedGroup, delay: timedelta) -> None:
        """Look at it again after a while, as if for the first time: who says so has not died over it."""
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        run_script(
            self._wire, Script.GROUP_LATER, GROUP_QUEUE, *_name(queued.group), queued.model_dump_json(), delay_ms
        )

    def complete(self, group: MergeGroup) -> None:
        run_script(self._wire, Script.GROUP_DONE, GROUP_QUEUE, *_name(group))

    def settled_at(self, pull: PullRef) -> int | None:
        """The number of what was heard last of a pull request, 0 if nothing was; None: it is due, given to the queue, or held by a judge."""
        state, heard = items(self._wire.call("HMGET", keys.pull(pull).name, "state", "seq"))
        if state:
            return None
        return int(text(heard)) if heard else 0

    # The job that judges one

    def dispatch(self, group: MergeGroup) -> str | None:
        """The name of the job that may judge this group, to be submitted; None: it is given up meanwhile."""
        lease = milliseconds(self._timing.lease)
        return (
            text(run_script(self._wire, Script.GROUP_GIVE, GROUP_QUEUE, *_name(group), secrets.token_hex(16), lease))
            or None
        )

    def take_lease(self, group_id: str, token: str) -> LeasedGroup | None:
        """Begin the judging that this token admits. None: it was begun before, or is not wanted any more."""
        taker = secrets.token_hex(8)
        lease = milliseconds(self._timing.lease)
        reply = items(run_script(self._wire, Script.GROUP_TAKE, GROUP_QUEUE, group_id, token, taker, lease))
        if not reply:
            return None
        queued = read_json(QueuedGroup, text(reply[0]))
        return LeasedGroup(GroupLease(self, queued.group, token, taker), PendingGroup(queued, whole(reply[1])))

    def renew_lease(self, lease: GroupLease) -> None:
        """Prolong a lease. Raises LeaseLost."""
        on = [GROUPS.order, GROUPS.texts, keys.GROUP_HOLDS]
        who = (*_name(lease.group), lease.token, lease.owner)
        if not run_script(self._wire, Script.GROUP_KEEP, on, *who, milliseconds(self._timing.lease)):
            raise LeaseLost

    def requeue_dead(self, group_id: str, token: str) -> bool:
        """The process of this job is dead: look at its group again now. False: it was done."""
        return bool(run_script(self._wire, Script.GROUP_DIED, [GROUPS.order, keys.GROUP_HOLDS], group_id, token))


def _name(group: MergeGroup) -> tuple[str, str]:
    return group.id, group.delivery_id
