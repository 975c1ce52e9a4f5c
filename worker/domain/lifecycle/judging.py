"""Judging -> state: it is dispatched, a worker takes and renews its lease, it ends, or its worker is lost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.domain.dossier import Dossier
from worker.domain.lifecycle.state import (
    Phase,
    PullRequestState,
    Retention,
    end_judging,
    keep_outdated,
    make_due,
)
from worker.domain.model import BaseHash, Sha
from worker.domain.verdict.verdict import Abstain, Accept, Reject

MOST_SPARE_ATTEMPTS: Final = 9
"""Attempts of one judging that may be attributed to a restarted server."""


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


class LeaseRefusal(StrEnum):
    """Why a job may not start."""

    STALE = "stale"
    """Superseded, already taken, or not due."""
    EARLY = "early"
    """An event during its time in the queue extended the quiet window."""


def dispatch(state: PullRequestState, fence: int, hold_ms: float, now: float) -> PullRequestState:
    """The state after the job was queued under this fence."""
    return state._replace(
        phase=Phase.DISPATCHED,
        fence=fence,
        due_at=None,
        first_event_at=None,
        not_before=None,
        limit_until=None,
        queued_at=None,
        lease_until=now + hold_ms,
    )


def take_lease(
    state: PullRequestState, fence: int, token: str, run: str | None, *, lease_ms: float, now: float
) -> tuple[PullRequestState, LeaseRefusal | None]:
    """The state after a worker asked for the lease that this fence admits. *run*: of the Redis server."""
    if state.fence != fence or (state.phase is not Phase.DISPATCHED and not state.is_judged_by(token, now)):
        return state, LeaseRefusal.STALE
    if state.phase is not Phase.DISPATCHED:
        return state._replace(lease_until=now + lease_ms), None
    if (state.due_at or 0) > now:
        return make_due(state._replace(lease_until=None), now), LeaseRefusal.EARLY
    return start_judging(state, token, run, lease_ms, now), None


def start_judging(
    state: PullRequestState, token: str, run: str | None, lease_ms: float, now: float
) -> PullRequestState:
    """The state of a pull request with a judge."""
    return state._replace(
        phase=Phase.JUDGING,
        token=token,
        attempts=state.attempts + 1,
        read_seq=state.seq,
        known_outdated_by=state.outdated_by,
        outdated_by=None,
        is_reopening=False,
        due_at=None,
        first_event_at=None,
        news_at=None,
        look_at=None,
        server_run=run,
        served_run=run or state.served_run,
        lease_until=now + lease_ms,
    )


@dataclass(frozen=True, slots=True)
class JudgingEnded:
    """The end of a judging.

    *wait_ms* is for RETRY, PUT_OFF, WAIT and OUTAGE, *retry_at* for AWAY; *limit_ms*: rest of the rate limit of PUT_OFF. *later*: the request
    to judge after OUTAGE, or after JUDGED when other checks complete. *head*: the judged one; None: no verdict. *base*: of the verdict.
    """

    token: str
    how: Finish
    wait_ms: float = 0
    limit_ms: float = 0
    retry_at: float = 0
    later: str | None = None
    head: Sha | None = None
    base: BaseHash | None = None

    @property
    def has_verdict(self) -> bool:
        return self.how is Finish.JUDGED and self.head is not None

    @property
    def shows_github(self) -> bool:
        """Whether GitHub answered."""
        return self.how in (Finish.WAIT, Finish.AGAIN, Finish.OUTAGE) or self.has_verdict


def finish(state: PullRequestState, end: JudgingEnded, now: float) -> tuple[PullRequestState, FinishResult]:
    """The state after a judging. The same end may be reported twice."""
    if state.finished_token == end.token and state.finish_result:
        return state, FinishResult(state.finish_result)
    if not state.is_judged_by(end.token, now):
        return state, FinishResult.LOST
    has_news = state.seq != state.read_seq
    result, look_at = FinishResult.LATER, state.look_at
    state = state._replace(lease_until=None, eval_id=None, base=state.base or end.base)
    if end.how in (Finish.RETRY, Finish.PUT_OFF, Finish.AWAY):
        state = _postpone(state, end, now)
    else:
        state = state._replace(attempts=0, spared=0, outage_count=None)
        if end.how is Finish.WAIT:
            if not has_news:  # else the event has set `due_at`, and it may be about another head
                due_at = now + end.wait_ms
                due_at = due_at if look_at is None else min(due_at, max(now, look_at))
                waiting_since = now if state.waiting_since is None else state.waiting_since
                state = state._replace(waiting_since=waiting_since, due_at=due_at)
        elif end.how is Finish.OUTAGE and not has_news:
            state = state._replace(waiting_since=None, due_at=now + end.wait_ms, request=end.later)
        else:
            state = state._replace(waiting_since=None)
            result = FinishResult.AGAIN if has_news or end.how is Finish.AGAIN else FinishResult.CLOSED
            if end.has_verdict and not has_news:
                state = _confirm(state, end)
            if end.how is Finish.JUDGED and result is FinishResult.CLOSED and end.later:
                if look_at is None:
                    state = state._replace(ci_request=end.later)
                else:
                    due_at, looks = max(now, look_at), state.looks + 1
                    state, result = state._replace(looks=looks, request=end.later, due_at=due_at), FinishResult.AGAIN
    state = state._replace(news_at=None, look_at=None, finished_token=end.token, finish_result=result)
    return (end_judging(state) if result is FinishResult.CLOSED else make_due(state, now)), result


def _postpone(state: PullRequestState, end: JudgingEnded, now: float) -> PullRequestState:
    """Retry after a backoff. Only RETRY counts as an attempt."""
    is_outage = end.how is Finish.AWAY
    return keep_outdated(
        state._replace(
            attempts=state.attempts - (end.how is not Finish.RETRY),
            outage_count=(state.outage_count or 0) + 1 if is_outage else None,
            not_before=end.retry_at if is_outage else now + end.wait_ms,
            limit_until=now + end.limit_ms if end.how is Finish.PUT_OFF else state.limit_until,
        )
    )


def _confirm(state: PullRequestState, end: JudgingEnded) -> PullRequestState:
    """GitHub showed this head to the judge, whatever deliveries named last."""
    state = state._replace(is_idle_draft=False)
    if end.head is None or state.head == end.head:
        return state
    return state._replace(head=end.head, published_head=end.head, head_first_seen_at=None, looks=0)


def find_retry_slot(taken: Sequence[float], at: float, gap: float) -> float:
    """The first time from *at* on with this gap to all *taken* ones, which are sorted."""
    at = math.floor(at)
    for other in taken:
        if at - gap < other < at + gap:
            at = other + gap
    return at


def release(state: PullRequestState, at: float, now: float) -> PullRequestState:
    """Retry after GitHub has answered another pull request of the installation."""
    return make_due(state._replace(not_before=at), now)


def requeue_dead(state: PullRequestState, now: float) -> PullRequestState:
    """Judge again immediately: the worker is known to be dead."""
    return make_due(keep_outdated(state._replace(lease_until=None, eval_id=None)), now)


def requeue_lost(state: PullRequestState, run: str | None, now: float) -> PullRequestState:
    """Judge again after the lease ended. An attempt that the end of the server *run* cut short does not count, up to a limit."""
    is_spared = (
        state.phase is Phase.JUDGING
        and state.server_run is not None
        and state.server_run != run
        and state.spared < MOST_SPARE_ATTEMPTS
    )
    if is_spared:
        state = state._replace(attempts=state.attempts - 1, spared=state.spared + 1)
    return make_due(keep_outdated(state._replace(lease_until=None)), now)


def mark_opened(state: PullRequestState, head: Sha, seq: str, now: float) -> PullRequestState:
    """The state after *head* got its check run for the request numbered *seq* ('': any), or was refused for good.

    The opener holds its turn until later. An earlier time and another number show a later request that needs the check run, too.
    """
    if state.head != head or state.opening_at is None:
        return state
    is_same = not seq or seq == str(state.seq) or state.opening_at > now
    return state._replace(opening_at=None) if is_same else state


def postpone_opening(state: PullRequestState, head: Sha, at: float) -> PullRequestState:
    """The state after the check run of *head* could not be opened; it is tried again at that time."""
    is_pending = state.head == head and state.opening_at is not None
    return state._replace(opening_at=at) if is_pending else state


def mark_reopened(state: PullRequestState) -> PullRequestState:
    """The state after the check run shows that its verdict is stale, unless a later event requires it again."""
    return state._replace(outdated_by=None, is_reopening=False) if state.is_reopening else state


class LocalJob(NamedTuple):
    """A local judging, which no dispatcher numbered. *server_run*: of Redis."""

    token: str
    server_run: str | None
    request: str
    seq: int
    fence: int


def start_local_judging(state: PullRequestState, job: LocalJob, lease_ms: float, now: float) -> PullRequestState | None:
    """The state after a local judging took the lease, without a queue; None: another process has it."""
    if state.is_judged_by(job.token, now):
        return state
    if state.phase and state.has_lease(now):
        return None
    state = state._replace(attempts=0, request=job.request, seq=job.seq, fence=job.fence, retention=Retention.OPEN)
    return start_judging(state, job.token, job.server_run, lease_ms, now)


@dataclass(frozen=True)
class JudgingCompleted:
    """Recorded and published. `retry_in`: not judged because of an outage; it is retried after so long."""

    verdict: Accept | Reject | Abstain
    dossier: Dossier
    retry_in: timedelta | None = None
    decisions: HumanDecisions = NO_DECISIONS
    """Those of the head when it was judged."""


@dataclass(frozen=True)
class JudgingSuperseded:
    """The head moved: its check is cancelled, and the newer one has to be judged.

    `newer_head` None: another input of the judging changed. Its check is open, and it has to be judged again.
    """

    newer_head: Sha | None = None


@dataclass(frozen=True)
class WaitForCi:
    """Other checks still run: retry after `poll`."""

    poll: timedelta
    names: tuple[str, ...]


@dataclass(frozen=True)
class JudgingDiscarded:
    """The verdict is no longer needed."""

    reason: str


JudgingOutcome = JudgingCompleted | JudgingSuperseded | WaitForCi | JudgingDiscarded


@dataclass(frozen=True)
class CiWait:
    """The checks that judging waits for, and its deadline."""

    names: tuple[str, ...]
    until: datetime


FindHead = Callable[[], Sha | None]
"""A request to GitHub whose answer also names the newest head; None: it did not."""
