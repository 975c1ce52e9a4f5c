"""The judging queue: which pull request is judged when, by one judge at a time and up to its newest head.

The rules are in `lua/`; this module adds names and types. A fence admits one judge, and a judge that lost its lease
learns it at its next write.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
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
from worker.errors import AssayError, LeaseLost
from worker.settings import Timing

RELEASED_AT_A_TIME: Final = 4
"""Pull requests released after each success during recovery from an outage: fast if it lasts, few failures if not."""


class AlreadyJudged(AssayError):
    """Another process on this machine is judging the same branch."""


@dataclass(frozen=True)
class DispatchedJob:
    """The dispatcher's next job. `is_outside`: opened from a fork by an outside contributor."""

    fence: int
    request: JudgeRequest
    is_outside: bool = False


@dataclass(frozen=True)
class PendingCheckRun:
    """A head that needs its check run. `seq`: number of the request. `is_outside`: from an outside contributor's fork."""

    head_sha: Sha
    request: JudgeRequest
    seq: str = ""
    is_outside: bool = False


@dataclass(frozen=True)
class DispatchLimits:
    """Concurrent judgings: of one installation, of all, and (`outside`) of those from forks of outside contributors."""

    per_installation: int
    total: int
    outside: int = 1

    @classmethod
    def of_workers(cls, workers: int) -> "DispatchLimits":
        """Reserve one worker for other installations and let two jobs wait; one of outside contributors, who have own workers."""
        return cls(per_installation=max(1, workers - 1), total=workers + 2, outside=workers_for_strangers(workers) + 1)


def workers_for_strangers(workers: int) -> int:
    """Number of workers, besides *workers*, that only judge pull requests from forks of outside contributors."""
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
    """State of the pull request after a judging."""

    CLOSED = "closed"
    AGAIN = "again"
    LATER = "later"
    LOST = "lost"


@dataclass(frozen=True)
class RateLimitWait:
    """Duration of a rate limit, and of this pull request's turn among all that wait for it."""

    limit: timedelta
    turn: timedelta


@dataclass(frozen=True)
class JudgedHead:
    """A judged head (the newest one unless an event came meanwhile), and its base."""

    head_sha: Sha
    base: BaseHash | None = None


@dataclass(frozen=True)
class PullRequestLease:
    """The Lease of one judging."""

    pulls: "RedisPullRequests"
    pull: PullRef
    token: str
    fence: int

    def renew(self) -> Trigger | None:
        return self.pulls.renew_lease(self)


@dataclass(frozen=True)
class LeasedJob:
    """A judging that may start. *attempt* counts from 1; `waiting_since`: start of this head's wait for CI.

    `outage_count`: consecutive ends by an outage of GitHub, which count as no attempt.
    """

    lease: PullRequestLease
    request: JudgeRequest
    attempt: int
    waiting_since: datetime | None
    outage_count: int = 0


class RedisPullRequests:
    """Pull requests in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def request_judging(self, request: JudgeRequest) -> IntakeReceipt:
        """Request the judging of a pull request."""
        return request_judging(self._wire, request, self._timing)

    # The dispatcher

    def claim_leadership(self, token: str) -> bool:
        """Become or stay the leading dispatcher."""
        return bool(self._run(Script.LEAD, [keys.LEADER], token, milliseconds(self._timing.leader)))

    def resign_leadership(self, token: str) -> None:
        self._run(Script.RESIGN, [keys.LEADER], token)

    def next_due(self, call: str, limits: DispatchLimits) -> DispatchedJob | None:
        """The next pull request to judge. Idempotent by *call*."""
        hold = milliseconds(self._timing.hold)
        arguments = (call, hold, limits.per_installation, limits.total, limits.outside)
        reply = items(self._run(Script.NEXT, [], "due", *arguments))
        return DispatchedJob(whole(reply[1]), _request(reply[2]), bool(text(reply[3]))) if reply else None

    def next_to_open(self, outside: int = 1) -> PendingCheckRun | None:
        """Take the next head that needs its check run. It returns after the hold, unless `mark_opened`.

        *outside*: limit of heads from forks of outside contributors.
        """
        hold = milliseconds(self._timing.open_hold)
        reply = items(self._run(Script.NEXT, [], "opening", "", hold, 0, 0, outside))
        return (
            PendingCheckRun(text(reply[1]), _request(reply[2]), text(reply[3]), bool(text(reply[4]))) if reply else None
        )

    def mark_opened(self, pull: PullRef, head_sha: Sha, seq: str = "") -> None:
        """Record that this head has its check run, or is refused for good. Requests after *seq*, if given, stay pending."""
        self._run(Script.OPENED, [keys.pull(pull)], head_sha, seq)

    def postpone_opening(self, pull: PullRef, head_sha: Sha, delay: timedelta) -> None:
        """Postpone the check run of this head: `next_to_open` returns it after *delay*."""
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        self._run(Script.OPEN_LATER, [keys.pull(pull)], head_sha, delay_ms)

    def requeue_lost(self, *queue_keys: str) -> int:
        """Requeue jobs lost on the way to the workers of these queues; return their number."""
        hold = milliseconds(self._timing.hold)
        return whole(
            self._run(Script.SWEEP, list(queue_keys), hold, lifetime_s(keys.pull(NO_PULL_REQUEST)), MOST_SPARE_WORKERS)
        )

    # The judge

    def take_lease(self, pull: PullRef, fence: int) -> LeasedJob | None:
        """Take the lease that this fence admits. None: superseded, already taken, or not due."""
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
        """Take a lease for a local judging immediately. Raises AlreadyJudged."""
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
        """Renew a lease. Return the trigger since its start that makes its verdict stale, if any. Raises LeaseLost."""
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
        """End a judging.

        *wait* is for RETRY, PUT_OFF, AWAY, WAIT and OUTAGE; *later* is the request to judge after OUTAGE.

        *of*: the judged head.
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
        """Number of an installation's pull requests that wait or are being judged."""
        out = self._wire.call("SCARD", keys.dispatched(installation).name)
        waiting = (keys.due(installation), keys.due_outside(installation))
        return sum(whole(self._wire.call("ZCARD", line.name)) for line in waiting) + whole(out)

    def release_waiting(self, installation: InstallationId) -> None:
        """Release some of the pull requests that wait for GitHub, after an answer to this installation."""
        gap_ms = milliseconds(self._timing.release_gap)
        self._run(Script.GITHUB_BACK, [keys.retries(installation)], RELEASED_AT_A_TIME, gap_ms)

    def request_correction(self, lease: PullRequestLease, request: JudgeRequest) -> None:
        """Request a correction of a write that may have come after a newer one."""
        delivery = DeliveryId(f"late-{lease.token}")
        self.request_judging(_correction_request(request, delivery))

    def requeue_dead(self, pull: PullRef, fence: int) -> bool:
        """Requeue the pull request of a dead process immediately. False: it was done.

        If another judge has taken over, the dead one may have written late; a correction is requested for it.
        """
        how = whole(self._run(Script.DIED, [keys.pull(pull)], fence))
        if how == OVERTAKEN_STATUS:
            self._request_check(pull, f"late-{fence}")
        return how > 0

    def requeue_orphaned(self, pull: PullRef, check: CheckRunId, why: str = "") -> bool:
        """Requeue the pull request of an orphaned check run. False: already requested once.

        *why*: distinguishes this request from an earlier one that may have been forgotten.
        """
        return self._request_check(pull, f"late-check-{check}{why}")

    def _request_check(self, pull: PullRef, delivery: str) -> bool:
        """Request a check of the last write, which may be wrong."""
        request = self.find_request(pull)
        if request is None:
            return False
        return (
            self.request_judging(_correction_request(request, DeliveryId(delivery))).outcome
            is not IntakeOutcome.DUPLICATE
        )

    def withdraw(self, request: JudgeRequest) -> bool:
        """Withdraw a request. False: superseded by another, or under way."""
        key = keys.pull(request.pull)
        return bool(self._run(Script.REST, [key], request.delivery_id, lifetime_s(key)))

    def find_plan(self, pull: PullRef) -> JudgingPlan | None:
        """When judging starts; None: nothing is due."""
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
        """Record the base: the first one seen, then each one that it is changed to.

        Without a record it is *base*, as GitHub shows it.
        """
        return text(self._run(Script.WENT_INTO, [keys.pull(pull)], base))

    def record_initial_head(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that the pull request, at this head, is published as older than Assay's installation."""
        self._wire.call("HSET", keys.first_seen(pull.installation_id, pull.repository_id).name, pull.number, head_sha)

    def find_initial_head(self, pull: PullRef) -> Sha | None:
        """The head last published as older than Assay's installation."""
        stored = self._wire.call("HGET", keys.first_seen(pull.installation_id, pull.repository_id).name, pull.number)
        return text(stored) if stored else None

    def _run(self, script: Script, on: list[keys.Key] | list[str], *arguments: Argument) -> Reply:
        return run_script(self._wire, script, on, *arguments)


def _wait_ms(wait: timedelta) -> int:
    return max(0, milliseconds(wait.total_seconds()))


OVERTAKEN_STATUS: Final = 2
"""Answer of `lua/died.lua` for a superseded judge."""

MOST_SPARE_WORKERS: Final = 9
"""Attempts of one judging that may be attributed to a restarted server."""

NO_PULL_REQUEST: Final = PullRef(installation_id=LOCAL_INSTALLATION, repository_id=RepositoryId(0), number=0)


def _correction_request(request: JudgeRequest, delivery: DeliveryId) -> JudgeRequest:
    """A request that asks GitHub for head and draft state: those of a delivery may be old."""
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
    """Keep a person's request that a later event superseded."""
    kept = next((trigger for flag, trigger in STRONGEST_FIRST if flag in flags), request.trigger)
    is_known = kept is Trigger.COMMAND and request.trigger in MANUAL_TRIGGERS
    if is_known or (kept is Trigger.REVIEW and not request.draft):
        return request
    return request.model_copy(update={"trigger": kept})


def _with_first_seen(request: JudgeRequest, head_sha: str, came: str) -> JudgeRequest:
    """Set when the newest head was first seen, whatever requested its judging since."""
    if not came:
        return request
    arrival = FirstSeen(head_sha=head_sha, at=datetime.fromisoformat(came))
    return request.model_copy(update={"arrived": arrival})
