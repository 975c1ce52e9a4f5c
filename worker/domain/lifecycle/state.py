"""The state of one pull request, and the changes that several events share.

Times are milliseconds of the server's clock. A transition is a pure function from a state and an event to the next state; the store reads and writes
the state, and derives the queues from it.
"""

from enum import StrEnum
from typing import NamedTuple

from worker.domain.model import BaseHash, EvalId, InstallationId, Sha


class Phase(StrEnum):
    """What a pull request that is to be judged waits for: its time, a worker, or its verdict."""

    DUE = "due"
    DISPATCHED = "given"
    JUDGING = "held"


class Retention(StrEnum):
    """What a transition does with the lifetime of the state."""

    UNCHANGED = "unchanged"
    OPEN = "open"
    EXPIRING = "expiring"


class PullRequestState(NamedTuple):
    """All that is known of a pull request between its events."""

    installation: InstallationId
    version: int = 0
    """Number of changes."""
    phase: Phase | None = None
    """None: nothing is to be judged."""
    seq: int | None = None
    """Number of the last event; None: no event was ever received."""
    read_seq: int | None = None
    """The same as the current judge started."""
    request: str | None = None
    """The newest JudgeRequest, as JSON."""
    head: Sha | None = None
    """The newest head that an event named, or that got a verdict since."""
    base: BaseHash | None = None
    flags: tuple[str, ...] = ()
    """What persons asked for, until a verdict."""
    quiet_ms: int | None = None
    due_at: float | None = None
    first_event_at: float | None = None
    """Start of the current quiet window."""
    not_before: float | None = None
    """End of a backoff."""
    limit_until: float | None = None
    """End of a rate limit; `not_before` is the turn of this pull request after it."""
    fence: int | None = None
    token: str | None = None
    attempts: int = 0
    server_run: str | None = None
    """Run of the Redis server in which the current judging started."""
    spared: int = 0
    """Attempts that did not count since the server itself was restarted."""
    served_run: str | None = None
    """Run of the server in which a judging started last, or GitHub was found as recorded."""
    outage_count: int | None = None
    """Consecutive judgings that an outage of GitHub ended; 0: a push or a person ended the wait."""
    waiting_since: float | None = None
    """Start of the wait for CI."""
    is_outside: bool = False
    """Opened from a fork by an outsider, without a request by an account with write access."""
    head_first_seen_at: str | None = None
    """ISO 8601."""
    is_idle_draft: bool = False
    closed_at: float | None = None
    expires_at: float | None = None
    """When what is stored of a closed pull request expires."""
    ci_request: str | None = None
    """The request to judge when another check completes, after a verdict that waits for none."""
    news_at: float | None = None
    """First event of a burst of completed checks."""
    look_at: float | None = None
    """When a judging that is under way is repeated because of completed checks."""
    looks: int = 0
    """Judgings of this head that completed checks caused."""
    eval_id: EvalId | None = None
    outdated_by: str | None = None
    """The trigger that made the published verdict stale."""
    is_reopening: bool = False
    """The check run is being reopened because of it."""
    known_outdated_by: str | None = None
    """The same as the current judge started."""
    judged_by: str | None = None
    """Base, then issues, that the verdict depends on."""
    author: str | None = None
    published_head: Sha | None = None
    """The newest head whose check run was written."""
    finished_token: str | None = None
    finish_result: str | None = None
    queued_at: float | None = None
    """Score in the queue of due judgings."""
    opening_at: float | None = None
    """Score in the queue of check runs to open."""
    lease_until: float | None = None
    """End of the dispatch or of the lease."""
    retention: Retention = Retention.UNCHANGED

    @property
    def is_closed(self) -> bool:
        return self.closed_at is not None

    @property
    def ends_at(self) -> float | None:
        """When all about a closed pull request expires; None: it is open."""
        return None if self.closed_at is None else self.expires_at

    def is_judged_by(self, token: str, now: float) -> bool:
        """Whether this judge has the lease."""
        return self.phase is Phase.JUDGING and self.token == token and self.has_lease(now)

    def has_lease(self, now: float) -> bool:
        return self.lease_until is not None and self.lease_until > now


def make_due(state: PullRequestState, now: float) -> PullRequestState:
    """Judge as soon as the quiet window and the backoff allow."""
    at = max(now, state.due_at or 0, state.not_before or 0)
    opening_at = now if state.outdated_by else state.opening_at  # what was published since may be older than the event
    return state._replace(phase=Phase.DUE, queued_at=at, opening_at=opening_at)


def keep_outdated(state: PullRequestState) -> PullRequestState:
    """A judging ended without a verdict: what was stale at its start still is."""
    return state if state.outdated_by else state._replace(outdated_by=state.known_outdated_by, is_reopening=False)


def end_judging(state: PullRequestState) -> PullRequestState:
    """Nothing is left to judge."""
    return state._replace(
        phase=None,
        token=None,
        read_seq=None,
        flags=(),
        due_at=None,
        first_event_at=None,
        not_before=None,
        limit_until=None,
        attempts=0,
        server_run=None,
        spared=0,
        outage_count=None,
        waiting_since=None,
        news_at=None,
        look_at=None,
        outdated_by=None,
        is_reopening=False,
        known_outdated_by=None,
        retention=Retention.EXPIRING,
    )
