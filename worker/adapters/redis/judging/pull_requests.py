"""The judging queue: which pull request is judged when, by one judge at a time and up to its newest head.

The rules are in `worker/domain/lifecycle`; this module reads the state, applies them and writes the result. A fence admits one
judge, and a judge that lost its lease learns it at its next write.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    find_server_run,
    find_server_time,
    items,
    member_scores,
    read_json,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import Operation, RedisPart, Transaction, in_transaction, run
from worker.adapters.redis.judging.intake import IntakeReceipt, index_head, milliseconds, request_judging, request_sync
from worker.adapters.redis.judging.state import CHECK_QUEUES, DUE_QUEUES, PULL_S, find_next, load, save
from worker.adapters.redis.ledger_and_events import lose_evaluation
from worker.domain.judge_request import (
    LOCAL_INSTALLATION,
    MANUAL_TRIGGERS,
    FirstSeen,
    JudgeRequest,
    JudgingPlan,
    PullRef,
    Trigger,
)
from worker.domain.lifecycle import judging as lifecycle
from worker.domain.lifecycle.intake import ANEW_FLAG, ASKED_FLAG, CONTEST_FLAG, FORCE_FLAG, IntakeOutcome
from worker.domain.lifecycle.intake import withdraw as withdraw_request
from worker.domain.lifecycle.judging import Finish, FinishResult, JudgingEnded, LocalJob
from worker.domain.lifecycle.state import Phase, PullRequestState, end_judging
from worker.domain.lifecycle.work import (
    RELEASED_AT_A_TIME,
    DispatchedJob,
    DispatchLimits,
    JudgedHead,
    LeasedJob,
    PendingCheckRun,
    PullRequestLease,
    RateLimitWait,
)
from worker.domain.model import BaseHash, CheckRunId, DeliveryId, InstallationId, Sha
from worker.errors import AssayError, LeaseLost
from worker.settings import Timing


class AlreadyJudged(AssayError):
    """Another process on this machine is judging the same branch."""


class RedisPullRequests(RedisPart):
    """Pull requests in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, client: RedisClient, timing: Timing) -> None:
        super().__init__(client)
        self._timing = timing

    def request_judging(self, request: JudgeRequest) -> IntakeReceipt:
        """Request the judging of a pull request."""
        return request_judging(self._client, request, self._timing)

    # The dispatcher

    @in_transaction
    def claim_leadership(self, transaction: Transaction, token: str) -> Operation[bool]:
        """Become or stay the leading dispatcher. Numbers of events go on growing, also if Redis lost some."""
        leader, count = yield from transaction.peek(("GET", keys.LEADER.name), ("GET", keys.COUNT.name))
        if leader is not None and text(leader) != token:
            return False
        transaction.expect(("GET", keys.LEADER.name), leader)
        transaction.write("SET", keys.LEADER.name, token, "PX", milliseconds(self._timing.leader))
        if whole(count) < transaction.now:
            transaction.expect(("GET", keys.COUNT.name), count)
            transaction.write("SET", keys.COUNT.name, f"{transaction.now:.0f}")
        return True

    @in_transaction
    def resign_leadership(self, transaction: Transaction, token: str) -> Operation[None]:
        (leader,) = yield from transaction.read(("GET", keys.LEADER.name))
        if text(leader) == token:
            transaction.write("DEL", keys.LEADER.name)

    @in_transaction
    def next_due(self, transaction: Transaction, call: str, limits: DispatchLimits) -> Operation[DispatchedJob | None]:
        """The next pull request to judge. Idempotent by *call*."""
        hold_ms = milliseconds(self._timing.hold)
        last, out, out_outside = yield from transaction.peek(
            ("HMGET", keys.LAST_DISPATCH.name, "call", "pull", "fence", "outside"),
            ("ZCARD", keys.DISPATCHED.name),
            ("SCARD", keys.DISPATCHED_OUTSIDE.name),
        )
        last_call, name, fence, outside = map(text, items(last))
        if last_call == call:
            (request,) = yield from transaction.peek(("HGET", name, "req"))
            return DispatchedJob(int(fence), read_json(JudgeRequest, text(request)), bool(outside))
        free_slots = (whole(out) - whole(out_outside) < limits.total, whole(out_outside) < limits.outside)
        candidate = yield from find_next(transaction, DUE_QUEUES, free_slots, limits.per_installation)
        if candidate is None:
            return None
        pull, state = candidate
        (number,) = yield from transaction.peek(("INCR", keys.COUNT.name))
        save(transaction, pull, state, lifecycle.dispatch(state, whole(number), hold_ms, transaction.now))
        fields = ("call", call, "pull", keys.pull(pull).name, "fence", whole(number))
        transaction.write("HSET", keys.LAST_DISPATCH.name, *fields, "outside", "1" if state.is_outside else "")
        return DispatchedJob(whole(number), read_json(JudgeRequest, state.request or ""), state.is_outside)

    @in_transaction
    def next_to_open(self, transaction: Transaction, outside: int = 1) -> Operation[PendingCheckRun | None]:
        """Take the next head that needs its check run. It returns after the hold, unless `mark_opened`.

        *outside*: limit of heads from forks of outside contributors.
        """
        hold_ms = milliseconds(self._timing.open_hold)
        candidate = yield from find_next(transaction, CHECK_QUEUES, (True, outside > 0), None)
        if candidate is None:
            return None
        pull, state = candidate
        save(transaction, pull, state, state._replace(opening_at=transaction.now + hold_ms))
        return PendingCheckRun(
            state.head or "", read_json(JudgeRequest, state.request or ""), str(state.seq or ""), state.is_outside
        )

    def mark_opened(self, pull: PullRef, head_sha: Sha, seq: str = "") -> None:
        """Record that this head has its check run, or is refused for good. Requests after *seq*, if given, stay pending."""
        self._change(pull, lambda state, now: lifecycle.mark_opened(state, head_sha, seq, now))

    def record_outdated(self, pull: PullRef) -> None:
        """Record that the check run shows that its verdict is outdated, unless a later event requires it again."""
        self._change(pull, lambda state, _: lifecycle.mark_reopened(state))

    def postpone_opening(self, pull: PullRef, head_sha: Sha, delay: timedelta) -> None:
        """Postpone the check run of this head: `next_to_open` returns it after *delay*."""
        self._change(pull, lambda state, now: lifecycle.postpone_opening(state, head_sha, now + _wait_ms(delay)))

    def requeue_lost(self, *queue_keys: str) -> int:
        """Requeue jobs lost on the way to the workers of these queues; return their number."""
        now_ms, server_run = find_server_time(self._client), find_server_run(self._client)
        overdue = self._client.call("ZRANGE", keys.DISPATCHED.name, 0, now_ms, "BYSCORE", "LIMIT", 0, MOST_LOST)
        return sum(
            self._requeue_if_lost(keys.parse_pull(text(name)), server_run, queue_keys) for name in items(overdue)
        )

    @in_transaction
    def _requeue_if_lost(
        self, transaction: Transaction, pull: PullRef, server_run: str | None, queue_keys: Sequence[str]
    ) -> Operation[bool]:
        hold_ms = milliseconds(self._timing.hold)
        state = yield from load(transaction, pull)
        now = transaction.now
        if state.lease_until is None or state.lease_until > now:
            return False
        if state.seq is None:
            transaction.write("ZREM", keys.DISPATCHED.name, keys.pull(pull).name)
            return False
        if pull.installation_id == LOCAL_INSTALLATION:  # its person judges again
            save(transaction, pull, state, end_judging(state._replace(lease_until=None)))
            return False
        if state.phase is Phase.DISPATCHED:
            job = f"judge-{state.fence}"
            indexes = yield from transaction.peek(*(("LPOS", queue, job) for queue in queue_keys))
            if any(index is not None for index in indexes):
                save(transaction, pull, state, state._replace(lease_until=now + hold_ms))
                return False
        save(transaction, pull, state, lifecycle.requeue_lost(state, server_run, now))
        return True

    # The judge

    def take_lease(self, pull: PullRef, fence: int) -> LeasedJob | None:
        """Take the lease that this fence admits. None: superseded, already taken, or not due."""
        token, server_run = secrets.token_hex(16), find_server_run(self._client)
        lease_ms = milliseconds(self._timing.lease)

        def take(transaction: Transaction) -> Operation[PullRequestState | None]:
            state = yield from load(transaction, pull)
            now = transaction.now
            after, refusal = lifecycle.take_lease(state, fence, token, server_run, lease_ms=lease_ms, now=now)
            save(transaction, pull, state, after)
            return None if refusal else after

        state = run(self._client, take)
        if state is None:
            return None
        return LeasedJob(
            lease=PullRequestLease(self, pull, token, fence),
            request=_judged_request(state),
            attempt=state.attempts,
            waiting_since=None
            if state.waiting_since is None
            else datetime.fromtimestamp(state.waiting_since / 1000, UTC),
            outage_count=state.outage_count or 0,
        )

    def take_local_lease(self, request: JudgeRequest) -> PullRequestLease:
        """Take a lease for a local judging immediately. Raises AlreadyJudged."""
        token, server_run, pull = secrets.token_hex(16), find_server_run(self._client), request.pull
        lease_ms = milliseconds(self._timing.lease)

        def take(transaction: Transaction) -> Operation[PullRequestState | None]:
            state = yield from load(transaction, pull)
            seq, fence = yield from transaction.peek(("INCR", keys.COUNT.name), ("INCR", keys.COUNT.name))
            job = LocalJob(token, server_run, request.model_dump_json(), whole(seq), whole(fence))
            after = lifecycle.start_local_judging(state, job, lease_ms, transaction.now)
            if after is not None:
                save(transaction, pull, state, after)
            return after

        state = run(self._client, take)
        if state is None or state.fence is None:
            raise AlreadyJudged(
                f"{request.repository} is being judged by another process right now. Wait for it, or, if it died, "
                f"for {self._timing.lease:g} s."
            )
        if request.head_sha is not None:  # `assay wait` finds the verdict by its commit
            heads = keys.heads(pull.installation_id, pull.repository_id, request.head_sha)
            self._client.call("SADD", heads.name, pull.number)
            self._client.call("EXPIRE", heads.name, heads.seconds)
        return PullRequestLease(self, pull, token, fence=state.fence)

    @in_transaction
    def renew_lease(self, transaction: Transaction, lease: PullRequestLease) -> Operation[Trigger | None]:
        """Renew a lease. Return the trigger since its start that makes its verdict stale, if any. Raises LeaseLost."""
        state = yield from load(transaction, lease.pull)
        if not state.is_judged_by(lease.token, transaction.now):
            raise LeaseLost
        lease_until = transaction.now + milliseconds(self._timing.lease)
        save(transaction, lease.pull, state, state._replace(lease_until=lease_until))
        return Trigger(state.outdated_by) if state.outdated_by else None

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
        limit, turn = (wait.limit, wait.turn) if isinstance(wait, RateLimitWait) else (wait, wait)
        end = JudgingEnded(
            token=lease.token,
            how=how,
            wait_ms=_wait_ms(turn),
            limit_ms=_wait_ms(limit),
            later=later.model_dump_json() if later else None,
            head=of.head_sha if of else None,
            base=of.base if of else None,
        )
        result, has_ended_outage = self._finish(lease.pull, end)
        if has_ended_outage:
            self.release_waiting(lease.pull.installation_id)
        return result

    @in_transaction
    def _finish(
        self, transaction: Transaction, pull: PullRef, end: JudgingEnded
    ) -> Operation[tuple[FinishResult, bool]]:
        """The operation of `finish`; with it, whether GitHub answered after an outage."""
        state = yield from load(transaction, pull)
        if not state.is_judged_by(end.token, transaction.now):
            return lifecycle.finish(state, end, transaction.now)[1], False
        if end.how is Finish.AWAY:
            end = replace(end, retry_at=(yield from self._take_retry_slot(transaction, pull, end.wait_ms)))
        after, result = lifecycle.finish(state, end, transaction.now)
        save(transaction, pull, state, after)
        if end.head is not None:
            index_head(transaction, pull, end.head)
        if end.base is not None:  # a push there may change the rules of this verdict
            bases = keys.judged_bases(pull.installation_id, pull.repository_id, end.base).name
            transaction.write("ZADD", bases, transaction.now, pull.number)
            transaction.write("ZREMRANGEBYSCORE", bases, "-inf", transaction.now - PULL_S * 1000)
            transaction.write("EXPIRE", bases, PULL_S)
        if state.eval_id is not None:
            yield from lose_evaluation(transaction, state.eval_id)
        if after.published_head and after.published_head != state.published_head:
            for head in {after.published_head, state.published_head or after.published_head}:
                yield from request_sync(transaction, pull, head)
        return result, state.outage_count is not None and end.shows_github

    def _take_retry_slot(self, transaction: Transaction, pull: PullRef, wait_ms: float) -> Operation[float]:
        """The time of the retry of a pull request whose judging an outage of GitHub ended, apart from the others'."""
        name, retries = keys.pull(pull).name, keys.retries(pull.installation_id).name
        (flat,) = yield from transaction.read(("ZRANGE", retries, 0, -1, "WITHSCORES"))
        now, gap_ms = transaction.now, milliseconds(self._timing.retry_gap)
        taken = [score for other, score in member_scores(flat) if other != name and score > now]
        at = lifecycle.find_retry_slot(taken, now + wait_ms, gap_ms)
        transaction.write("ZREMRANGEBYSCORE", retries, "-inf", now)
        transaction.write("ZADD", retries, at, name)
        transaction.write("EXPIRE", retries, PULL_S)
        return at

    def count_waiting(self, installation: InstallationId) -> int:
        """Number of an installation's pull requests that wait or are being judged."""
        out = self._client.call("SCARD", keys.dispatched(installation).name)
        waiting = (keys.due(installation), keys.due_outside(installation))
        return sum(whole(self._client.call("ZCARD", line.name)) for line in waiting) + whole(out)

    def release_waiting(self, installation: InstallationId) -> None:
        """Release some of the pull requests that wait for GitHub, after an answer to this installation.

        One that fails again waits as long as ever: so no more is tried too early than succeeds.
        """
        retries, now_ms = keys.retries(installation).name, find_server_time(self._client)
        waiting = self._client.call("ZRANGE", retries, f"({now_ms}", "+inf", "BYSCORE", "WITHSCORES")
        at, left = now_ms, RELEASED_AT_A_TIME
        for name, score in member_scores(waiting):
            if left == 0:
                return
            at_next = at + milliseconds(self._timing.release_gap)
            if score <= at_next:  # its time comes anyway
                at = at_next
            elif self._release(keys.parse_pull(name), at_next):
                at, left = at_next, left - 1

    @in_transaction
    def _release(self, transaction: Transaction, pull: PullRef, at: float) -> Operation[bool]:
        """Retry this pull request at that time. False: it no longer waits for GitHub."""
        name, retries = keys.pull(pull).name, keys.retries(pull.installation_id).name
        state = yield from load(transaction, pull)
        if state.phase is not Phase.DUE or state.outage_count is None:
            transaction.write("ZREM", retries, name)
            return False
        transaction.write("ZADD", retries, at, name)
        save(transaction, pull, state, lifecycle.release(state, at, transaction.now))
        return True

    def request_correction(self, lease: PullRequestLease, request: JudgeRequest) -> None:
        """Request a correction of a write that may have come after a newer one."""
        delivery = DeliveryId(f"late-{lease.token}")
        self.request_judging(_correction_request(request, delivery))

    def requeue_dead(self, pull: PullRef, fence: int) -> bool:
        """Requeue the pull request of a dead process immediately. False: it was done.

        If another judge has taken over, the dead one may have written late; a correction is requested for it.
        """

        def requeue(transaction: Transaction) -> Operation[int]:
            state = yield from load(transaction, pull)
            if state.fence is not None and state.fence != fence:
                return OVERTAKEN_STATUS
            if state.fence is None or state.phase not in (Phase.DISPATCHED, Phase.JUDGING):
                return 0
            save(transaction, pull, state, lifecycle.requeue_dead(state, transaction.now))
            if state.eval_id is not None:
                yield from lose_evaluation(transaction, state.eval_id)
            return 1

        how = run(self._client, requeue)
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

    @in_transaction
    def withdraw(self, transaction: Transaction, request: JudgeRequest) -> Operation[bool]:
        """Withdraw a request. False: superseded by another, or under way."""
        state = yield from load(transaction, request.pull)
        after = withdraw_request(state, request.delivery_id)
        if after is not None:
            save(transaction, request.pull, state, after)
        return after is not None

    def find_plan(self, pull: PullRef) -> JudgingPlan | None:
        """When judging starts; None: nothing is due."""
        state, due, quiet = items(self._client.call("HMGET", keys.pull(pull).name, "state", "due", "quiet"))
        if text(state) != "due" or not due:
            return None
        window_s = float(text(quiet)) / 1000 if quiet else self._timing.quiet_window
        return JudgingPlan(datetime.fromtimestamp(float(text(due)) / 1000, UTC), window_s)

    def find_request(self, pull: PullRef) -> JudgeRequest | None:
        """The newest request of a pull request."""
        reply = self._client.call("HGET", keys.pull(pull).name, "req")
        return read_json(JudgeRequest, text(reply)) if reply else None

    @in_transaction
    def record_base(self, transaction: Transaction, pull: PullRef, base: BaseHash) -> Operation[BaseHash]:
        """Record the base: the first one seen, then each one that it is changed to.

        Without a record it is *base*, as GitHub shows it.
        """
        state = yield from load(transaction, pull)
        if state.base is None and state.seq is not None:
            save(transaction, pull, state, state._replace(base=base))
        return state.base or base

    def record_initial_head(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that the pull request, at this head, is published as older than Assay's installation."""
        self._client.call("HSET", keys.first_seen(pull.installation_id, pull.repository_id).name, pull.number, head_sha)

    def find_initial_head(self, pull: PullRef) -> Sha | None:
        """The head last published as older than Assay's installation."""
        stored = self._client.call("HGET", keys.first_seen(pull.installation_id, pull.repository_id).name, pull.number)
        return text(stored) if stored else None

    @in_transaction
    def _change(
        self, transaction: Transaction, pull: PullRef, change: Callable[[PullRequestState, float], PullRequestState]
    ) -> Operation[None]:
        """Replace the state by what *change* makes of it and of the time."""
        state = yield from load(transaction, pull)
        save(transaction, pull, state, change(state, transaction.now))


def _wait_ms(wait: timedelta) -> int:
    return max(0, milliseconds(wait.total_seconds()))


OVERTAKEN_STATUS: Final = 2
"""Answer for a superseded judge."""

MOST_LOST: Final = 100
"""Lost jobs that are requeued at a time."""


def _correction_request(request: JudgeRequest, delivery: DeliveryId) -> JudgeRequest:
    """A request that asks GitHub for head and draft state: those of a delivery may be old."""
    changes = {"trigger": Trigger.LATE, "delivery_id": delivery, "head_sha": None, "draft": False}
    return request.model_copy(update=changes)


STRONGEST_FIRST: Final = (
    (ANEW_FLAG, Trigger.FORCE),
    (CONTEST_FLAG, Trigger.CONTEST),
    (FORCE_FLAG, Trigger.COMMAND),
    (ASKED_FLAG, Trigger.REVIEW),
)


def _judged_request(state: PullRequestState) -> JudgeRequest:
    """The newest request, with the trigger of a person's that it superseded, and when the newest head was first seen."""
    request = read_json(JudgeRequest, state.request or "")
    kept = next((trigger for flag, trigger in STRONGEST_FIRST if flag in state.flags), request.trigger)
    is_known = kept is Trigger.COMMAND and request.trigger in MANUAL_TRIGGERS
    changes = {} if is_known or (kept is Trigger.REVIEW and not request.draft) else {"trigger": kept}
    if state.head_first_seen_at:
        at = datetime.fromisoformat(state.head_first_seen_at)
        changes = {**changes, "arrived": FirstSeen(head_sha=state.head or "", at=at)}
    return request.model_copy(update=changes)
