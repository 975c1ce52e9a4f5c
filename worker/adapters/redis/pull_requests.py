"""Which pull request is judged when, and by whom: one judge at a time, newest head last, no event lost.

Does not carry jobs (`worker.scheduling.queue`) and does not judge. The rules are in `lua/`; this room gives them names and
types. Invariant: a fence admits one judge, and whoever lost its lease learns it before its next write.
"""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, Reply, items, text, whole
from worker.adapters.redis.intake import (
    ANEW_FLAG,
    ASKED_FLAG,
    CONTEST_FLAG,
    FORCE_FLAG,
    IntakeOutcome,
    IntakeReceipt,
    commit_prefix,
    lifetime_s,
    milliseconds,
    request_judging,
    shared_head_prefix,
)
from worker.adapters.redis.keys import SHARED_HEADS
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ids import BaseHash, CheckRunId, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.request.judge_request import (
    LOCAL_INSTALLATION,
    MANUAL_TRIGGERS,
    FirstSeen,
    JudgeRequest,
    JudgingPlan,
    PullRef,
    Trigger,
)
from worker.domain.value import Value
from worker.errors import AssayError, LeaseLost
from worker.settings import Timing

RELEASED_AT_A_TIME: Final = 4
"""How many that wait until GitHub is back follow each that it answers: all soon, if it is; few, if it fails at most."""


class AlreadyJudged(AssayError):
    """Somebody else on this machine judges the same branch right now."""


class DispatchedJob(Value):
    """The dispatcher's next job. `is_outside`: a stranger's fork opened it."""

    fence: int
    request: JudgeRequest
    is_outside: bool = False


class PendingCheckRun(Value):
    """A head that needs its check run. `seq`: which request of all that is. `is_outside`: a stranger's fork opened it."""

    head_sha: Sha
    request: JudgeRequest
    seq: str = ""
    is_outside: bool = False


class DispatchLimits(Value):
    """How many judgings may be out at a time: of one installation, and of all; and `outside`, of what strangers opened from forks."""

    per_installation: int
    total: int
    outside: int = 1

    @classmethod
    def of_workers(cls, workers: int) -> "DispatchLimits":
        """One worker is always left to the other installations, and two jobs wait ahead; one of strangers, who have their own workers."""
        return cls(per_installation=max(1, workers - 1), total=workers + 2, outside=workers_for_strangers(workers) + 1)


def workers_for_strangers(workers: int) -> int:
    """How many workers there are beside *workers* that judge nothing but what strangers opened from forks."""
    return max(1, workers // 2)


class Finish(StrEnum):
    """How a judging ended."""

    JUDGED = "judged"
    RETRY = "retry"
    PUT_OFF = "put_off"
    AWAY = "away"
    WAIT = "wait"
    AGAIN = "again"
    OUTAGE = "outage"


class FinishResult(StrEnum):
    """What becomes of the pull request then."""

    CLOSED = "closed"
    AGAIN = "again"
    LATER = "later"
    LOST = "lost"


class RateLimitWait(Value):
    """How long a rate limit lasts, and how long this pull request waits: for its turn among all that wait for that."""

    limit: timedelta
    turn: timedelta


class JudgedHead(Value):
    """What got a verdict: a head, which is the newest one unless something was heard meanwhile, and for which base."""

    head_sha: Sha
    base: BaseHash | None = None


class PullRequestLease(Value):
    """The Lease of one judging."""

    pulls: "RedisPullRequests"
    pull: PullRef
    token: str
    fence: int

    def renew(self) -> Trigger | None:
        return self.pulls.renew_lease(self)


class LeasedJob(Value):
    """A judging that may begin. *attempt* counts from 1; `waiting_since`: how long this head waits for CI.

    `outage_count`: how often in a row it ended because GitHub was away, which counts as no attempt.
    """

    lease: PullRequestLease
    request: JudgeRequest
    attempt: int
    waiting_since: datetime | None
    outage_count: int = 0


class RedisPullRequests:
    """The pull requests in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def request_judging(self, request: JudgeRequest) -> IntakeReceipt:
        """Have a pull request judged."""
        return request_judging(self._wire, request, self._timing)

    # The dispatcher

    def claim_leadership(self, token: str) -> bool:
        """Become or stay the one dispatcher that dispatches."""
        return bool(self._run(Script.LEAD, [keys.LEADER], token, milliseconds(self._timing.leader)))

    def resign_leadership(self, token: str) -> None:
        self._run(Script.RESIGN, [keys.LEADER], token)

    def next_due(self, call: str, limits: DispatchLimits) -> DispatchedJob | None:
        """Whom to judge next. The same *call* again gets the same answer."""
        hold = milliseconds(self._timing.hold)
        arguments = (call, hold, limits.per_installation, limits.total, limits.outside)
        reply = items(self._run(Script.NEXT, [], "due", *arguments))
        return DispatchedJob(whole(reply[1]), _request(reply[2]), bool(text(reply[3]))) if reply else None

    def next_to_open(self, outside: int = 1) -> PendingCheckRun | None:
        """Which head needs its check run next. It comes again after the hold, unless `mark_opened`.

        *outside*: of how many heads that strangers opened from forks it may be now.
        """
        hold = milliseconds(self._timing.open_hold)
        reply = items(self._run(Script.NEXT, [], "opening", "", hold, 0, 0, outside))
        return (
            PendingCheckRun(text(reply[1]), _request(reply[2]), text(reply[3]), bool(text(reply[4]))) if reply else None
        )

    def mark_opened(self, pull: PullRef, head_sha: Sha, seq: str = "") -> None:
        """The check run of this head is there, or is refused for good. What came after *seq*, if that is said, is still to be told."""
        self._run(Script.OPENED, [keys.pull(pull)], head_sha, seq)

    def postpone_opening(self, pull: PullRef, head_sha: Sha, delay: timedelta) -> None:
        """The check run of this head can't be opened now: `next_to_open` gives it again after *delay*."""
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        self._run(Script.OPEN_LATER, [keys.pull(pull)], head_sha, delay_ms)

    def requeue_lost(self, *queue_keys: str) -> int:
        """Bring back what was lost on the way to the workers of these queues; how many were."""
        hold = milliseconds(self._timing.hold)
        return whole(
            self._run(Script.SWEEP, list(queue_keys), hold, lifetime_s(keys.pull(NO_PULL_REQUEST)), MOST_SPARE_WORKERS)
        )

    # The judge

    def take_lease(self, pull: PullRef, fence: int) -> LeasedJob | None:
        """Begin the judging that this fence admits. None: it was overtaken, begun before, or is not due any more."""
        token = secrets.token_hex(16)
        reply = items(self._run(Script.TAKE, [keys.pull(pull)], fence, token, milliseconds(self._timing.lease)))
        if text(reply[0]) != "go":
            return None
        _, attempt, flags, request, waiting, came, head, aways = reply
        return LeasedJob(
            lease=PullRequestLease(self, pull, token, fence),
            request=_with_first_seen(
                _with_kept_trigger(_request(request), text(flags).split()), text(head), text(came)
            ),
            attempt=whole(attempt),
            waiting_since=datetime.fromtimestamp(float(text(waiting)) / 1000, UTC) if waiting else None,
            outage_count=whole(aways),
        )

    def take_local_lease(self, request: JudgeRequest) -> PullRequestLease:
        """Begin a laptop's judging at once. Raises AlreadyJudged."""
        token = secrets.token_hex(16)
        reply = items(
            self._run(
                Script.SEIZE,
                [keys.pull(request.pull)],
                request.pull.installation_id,
                token,
                milliseconds(self._timing.lease),
                request.model_dump_json(),
            )
        )
        if text(reply[0]) == "taken":
            raise AlreadyJudged(
                f"{request.repository} is being judged by another process right now. Wait for it, or, if it died, "
                f"for {self._timing.lease:g} s."
            )
        if request.head_sha is not None:  # `assay wait` finds the verdict by its commit
            heads = keys.heads(request.pull.installation_id, request.pull.repository_id, request.head_sha)
            self._wire.call("SADD", heads.name, request.pull.number)
            self._wire.call("EXPIRE", heads.name, lifetime_s(heads))
        return PullRequestLease(self, request.pull, token, fence=whole(reply[1]))

    def renew_lease(self, lease: PullRequestLease) -> Trigger | None:
        """Prolong a lease. What was told since it began that has a verdict count no more. Raises LeaseLost."""
        arguments = (lease.token, milliseconds(self._timing.lease))
        parts = [text(part) for part in items(self._run(Script.KEEP, [keys.pull(lease.pull)], *arguments))]
        if not parts:
            raise LeaseLost
        return Trigger(parts[0]) if parts[0] else None

    def finish(
        self,
        lease: PullRequestLease,
        how: Finish,
        wait: timedelta | RateLimitWait = timedelta(0),
        later: JudgeRequest | None = None,
        of: JudgedHead | None = None,
    ) -> FinishResult:
        """End a judging. *wait* matters to RETRY, PUT_OFF, AWAY, WAIT and OUTAGE; *later* is what OUTAGE has judged after it.

        *of*: what got a verdict.
        """
        key, retries = keys.pull(lease.pull), keys.retries(lease.pull.installation_id)
        limit, turn = (wait.limit, wait.turn) if isinstance(wait, RateLimitWait) else (wait, wait)
        request = later.model_dump_json() if later else ""
        gaps = (milliseconds(self._timing.retry_gap), RELEASED_AT_A_TIME, milliseconds(self._timing.release_gap))
        head, limit_ms = of.head_sha if of else "", _wait_ms(limit)
        arguments = (lease.token, how, _wait_ms(turn), lifetime_s(key), request, head, *gaps, limit_ms)
        if of is None:
            return FinishResult(text(self._run(Script.FINISH, [key, retries], *arguments)))
        pull = lease.pull
        heads = keys.heads(pull.installation_id, pull.repository_id, of.head_sha)
        on = [key, retries, heads, SHARED_HEADS.order, SHARED_HEADS.texts]
        on += [keys.judged_bases(pull.installation_id, pull.repository_id, of.base)] if of.base else []
        told_head = (pull.number, lifetime_s(heads), shared_head_prefix(pull), commit_prefix(pull))
        return FinishResult(text(self._run(Script.FINISH, on, *arguments, *told_head)))

    def count_waiting(self, installation: InstallationId) -> int:
        """How many of an installation's pull requests wait, or are judged right now."""
        out = self._wire.call("SCARD", keys.dispatched(installation).name)
        waiting = (keys.due(installation), keys.due_outside(installation))
        return sum(whole(self._wire.call("ZCARD", line.name)) for line in waiting) + whole(out)

    def release_waiting(self, installation: InstallationId) -> None:
        """GitHub answers this installation again: a few of those that wait for that are judged now."""
        gap_ms = milliseconds(self._timing.release_gap)
        self._run(Script.GITHUB_BACK, [keys.retries(installation)], RELEASED_AT_A_TIME, gap_ms)

    def request_correction(self, lease: PullRequestLease, request: JudgeRequest) -> None:
        """A judge that may have written too late asks for one that sets it right."""
        delivery = DeliveryId(f"late-{lease.token}")
        self.request_judging(_correction_request(request, delivery))

    def requeue_dead(self, pull: PullRef, fence: int) -> bool:
        """The process of this judging is dead: bring the pull request back now. False: it was done.

        Where another judge had taken over, whoever died may have written too late and can't ask any more for one that sets it
        right: that is asked for here.
        """
        how = whole(self._run(Script.DIED, [keys.pull(pull)], fence))
        if how == OVERTAKEN_STATUS:
            self._request_check(pull, f"late-{fence}")
        return how > 0

    def requeue_orphaned(self, pull: PullRef, check: CheckRunId, why: str = "") -> bool:
        """Nobody would conclude this check run: judge its pull request. False: that was asked for before, once is enough.

        *why*: what tells this time from others, where what was asked for before may have been forgotten.
        """
        return self._request_check(pull, f"late-check-{check}{why}")

    def _request_check(self, pull: PullRef, delivery: str) -> bool:
        """What was written last may be wrong: have somebody look again."""
        request = self.find_request(pull)
        if request is None:
            return False
        return (
            self.request_judging(_correction_request(request, DeliveryId(delivery))).outcome
            is not IntakeOutcome.DUPLICATE
        )

    def withdraw(self, request: JudgeRequest) -> bool:
        """Nothing is to be judged after all. False: something else was asked for since, or it is being judged."""
        key = keys.pull(request.pull)
        return bool(self._run(Script.REST, [key], request.delivery_id, lifetime_s(key)))

    def find_plan(self, pull: PullRef) -> JudgingPlan | None:
        """When judging begins; None: nothing is due."""
        state, due, quiet = items(self._wire.call("HMGET", keys.pull(pull).name, "state", "due", "quiet"))
        if text(state) != "due" or not due:
            return None
        window_s = float(text(quiet)) / 1000 if quiet else self._timing.quiet_window
        return JudgingPlan(datetime.fromtimestamp(float(text(due)) / 1000, UTC), window_s)

    def find_request(self, pull: PullRef) -> JudgeRequest | None:
        """The newest request of a pull request."""
        reply = self._wire.call("HGET", keys.pull(pull).name, "req")
        return _request(reply) if reply else None

    def record_base(self, pull: PullRef, base: BaseHash) -> BaseHash:
        """Which base we heard of: the first one, and from then on what it was told to go into.

        Where we heard of none it is this one, which GitHub shows.
        """
        return text(self._run(Script.WENT_INTO, [keys.pull(pull)], base))

    def record_initial_head(self, pull: PullRef, head_sha: Sha) -> None:
        """It was told that it is older than Assay here, at this head."""
        self._wire.call("HSET", keys.first_seen(pull.installation_id, pull.repository_id).name, pull.number, head_sha)

    def find_initial_head(self, pull: PullRef) -> Sha | None:
        """The head at which that was said last."""
        stored = self._wire.call("HGET", keys.first_seen(pull.installation_id, pull.repository_id).name, pull.number)
        return text(stored) if stored else None

    def _run(self, script: Script, on: list[keys.Key] | list[str], *arguments: Argument) -> Reply:
        return run_script(self._wire, script, on, *arguments)


def _wait_ms(wait: timedelta) -> int:
    return max(0, milliseconds(wait.total_seconds()))


OVERTAKEN_STATUS: Final = 2
"""What `lua/died.lua` answers of a judge that another one had taken over from."""

MOST_SPARE_WORKERS: Final = 9
"""How many tries of one judging may be put down to a server that was started anew."""

NO_PULL_REQUEST: Final = PullRef(installation_id=LOCAL_INSTALLATION, repository_id=RepositoryId(0), number=0)


def _correction_request(request: JudgeRequest, delivery: DeliveryId) -> JudgeRequest:
    """Whoever looks again asks GitHub for the head, and whether it is a draft: what a delivery said may be old."""
    changes = {"trigger": Trigger.LATE, "delivery_id": delivery, "head_sha": None, "draft": False}
    return request.model_copy(update=changes)


def _request(reply: Reply) -> JudgeRequest:
    return read_json(JudgeRequest, text(reply))


STRONGEST_FIRST: Final = (
    (ANEW_FLAG, Trigger.FORCE),
    (CONTEST_FLAG, Trigger.CONTEST),
    (FORCE_FLAG, Trigger.COMMAND),
    (ASKED_FLAG, Trigger.REVIEW),
)


def _with_kept_trigger(request: JudgeRequest, flags: Sequence[str]) -> JudgeRequest:
    """Keep what somebody asked for, though something else came after it."""
    kept = next((trigger for flag, trigger in STRONGEST_FIRST if flag in flags), request.trigger)
    is_known = kept is Trigger.COMMAND and request.trigger in MANUAL_TRIGGERS
    if is_known or (kept is Trigger.REVIEW and not request.draft):
        return request
    return request.model_copy(update={"trigger": kept})


def _with_first_seen(request: JudgeRequest, head_sha: str, came: str) -> JudgeRequest:
    """When the newest head came, whatever asked for its judging since."""
    if not came:
        return request
    arrival = FirstSeen(head_sha=head_sha, at=datetime.fromisoformat(came))
    return request.model_copy(update={"arrived": arrival})
