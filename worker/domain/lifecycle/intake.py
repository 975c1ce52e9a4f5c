"""Event -> state: a judging is requested, other checks complete, the pull request is closed.

Deliveries come in any order and more than once. One that does not follow from the known head and base waits until GitHub is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from worker.domain.github_events import PullRequestEvent
from worker.domain.judge_request import (
    DRAFT_TRIGGERS,
    HEAD_TRIGGERS,
    OUTDATING_TRIGGERS,
    JudgeRequest,
    PullRef,
    Trigger,
)
from worker.domain.lifecycle.state import (
    Phase,
    PullRequestState,
    Retention,
    end_judging,
    make_due,
)
from worker.domain.model import BaseHash, DeliveryId, Frozen, InstallationId, RepositoryId, Sha

MOST_LOOKS: Final = 60
"""Limit of retriggers of one head by other checks after its verdict, over at least seven hours: an App could answer forever."""

MOST_DOUBLINGS: Final = 8
LOOKS_AT_ONE_PACE: Final = 3
OWN_TRIGGERS: Final = frozenset({Trigger.RESUMED, Trigger.LATE})
"""Assay's own requests: they don't show that a closed pull request was reopened."""

FORCE_FLAG: Final = "force"
ANEW_FLAG: Final = "anew"
CONTEST_FLAG: Final = "contest"
ASKED_FLAG: Final = "asked"
FLAGS: Final[Mapping[Trigger, tuple[str, ...]]] = MappingProxyType(
    {
        Trigger.COMMAND: (FORCE_FLAG,),
        Trigger.RERUN: (FORCE_FLAG,),
        Trigger.FORCE: (FORCE_FLAG, ANEW_FLAG),
        Trigger.CONTEST: (FORCE_FLAG, CONTEST_FLAG),
        Trigger.REVIEW: (ASKED_FLAG,),
        Trigger.CASE: (ASKED_FLAG,),
    }
)
"""Flags of a request by a person, which later pushes keep."""


class IntakeMode(StrEnum):
    """When a request starts a judging."""

    WINDOW = "window"
    """After the quiet window of the base."""
    SOON = "soon"
    """After a short wait, unless it is due already."""
    NOW = "now"
    MOVED = "moved"
    """With the quiet window of its new base if it is due, else immediately."""
    HOLD = "hold"
    """A draft: after another request."""
    ASKED = "asked"
    """Immediately if it waits for anything."""


MODES: Final[Mapping[Trigger, IntakeMode]] = MappingProxyType(
    {
        Trigger.OPENED: IntakeMode.WINDOW,
        Trigger.PUSHED: IntakeMode.WINDOW,
        Trigger.REOPENED: IntakeMode.WINDOW,
        Trigger.READY: IntakeMode.NOW,
        Trigger.REVIEW: IntakeMode.ASKED,
        Trigger.CASE: IntakeMode.NOW,
        Trigger.EDITED: IntakeMode.SOON,
        Trigger.TEXT: IntakeMode.WINDOW,
        Trigger.BASE: IntakeMode.MOVED,
        Trigger.CRITERIA: IntakeMode.SOON,
        Trigger.RULES: IntakeMode.SOON,
        Trigger.CI: IntakeMode.SOON,
        Trigger.COMMAND: IntakeMode.NOW,
        Trigger.FORCE: IntakeMode.NOW,
        Trigger.CONTEST: IntakeMode.NOW,
        Trigger.RERUN: IntakeMode.NOW,
        Trigger.SWEEP: IntakeMode.SOON,
        Trigger.RESUMED: IntakeMode.NOW,
        Trigger.DISMISSED: IntakeMode.NOW,
        Trigger.LATE: IntakeMode.NOW,
        Trigger.OUTAGE: IntakeMode.NOW,
        Trigger.LOCAL: IntakeMode.NOW,
    }
)


class IntakeOutcome(StrEnum):
    QUEUED = "queued"
    COALESCED = "coalesced"
    DUPLICATE = "duplicate"
    NOTED = "noted"
    UNKNOWN = "unknown"
    """Not about a judged pull request."""
    LATE = "late"
    """GitHub shows nothing that is not known: nothing starts for it."""
    UNCONFIRMED = "unconfirmed"
    """It does not follow from the known head and base: GitHub is asked before it counts."""


class NamedHead(NamedTuple):
    """A head named by a delivery, which may be old: GitHub delivers in any order, and repeatedly.

    `previous_sha`: the commit before a push; None: unknown, or no push. `previous_base`: unused, as earlier versions wrote it.
    `has_case`: the author has made the case for it, so there is no quiet window.
    """

    previous_sha: Sha | None = None
    previous_base: BaseHash | None = None
    has_case: bool = False


def find_mode(trigger: Trigger, *, is_draft: bool, has_case: bool = False) -> IntakeMode:
    """Mode of a request. A draft waits, unless a person asks."""
    if is_draft and trigger not in DRAFT_TRIGGERS:
        return IntakeMode.HOLD
    mode = MODES[trigger]
    return IntakeMode.NOW if has_case and mode is IntakeMode.WINDOW else mode


@dataclass(frozen=True, slots=True)
class JudgingRequested:
    """A request to judge. *request*: its JSON. *named_by*: the delivery that names head or base; None: there is none.

    *is_confirmed*: head and base are those that GitHub shows.
    """

    request: str
    trigger: Trigger
    mode: IntakeMode
    head: Sha | None
    base: BaseHash | None
    named_by: NamedHead | None
    is_confirmed: bool
    first_seen_at: str | None
    is_outside: bool
    quiet_ms: int
    quiet_max_ms: int
    outside_gap_ms: int
    outside_ahead_ms: int
    """How much earlier than its turn the head of an outsider may be judged."""


class IntakeContext(NamedTuple):
    """What else is stored about the pull request, read where the trigger needs it."""

    quiet_ms: int | None = None
    """Quiet window that the configuration of the base sets."""
    has_ledger: bool = False
    is_concluded: bool = False
    """The check run of the known head has its conclusion."""
    is_judged_by_issue: bool = False
    """An issue that the text closes states the criteria of the recorded verdict."""
    outside_turn_at: float = 0
    """Time up to which turns of outsiders' heads are taken."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The result of a request."""

    state: PullRequestState
    outcome: IntakeOutcome
    outside_turn_at: float | None = None
    """New end of the turns that are taken."""
    is_rebased: bool = False
    """Decisions of persons about another base no longer count."""
    is_reopened: bool = False
    """What would expire with the closed pull request stays."""


def request_judging(
    state: PullRequestState, event: JudgingRequested, context: IntakeContext, seq: int, now: float
) -> Intake:
    """The state after a request to judge. *seq* numbers it among all events."""
    is_text = event.trigger is Trigger.TEXT
    if context.is_judged_by_issue or (is_text and not state.request and not context.has_ledger):
        return Intake(state, IntakeOutcome.UNKNOWN)
    if event.named_by is not None and not event.is_confirmed and not _follows(state, event, event.named_by):
        return Intake(state, IntakeOutcome.UNCONFIRMED)
    head = event.head
    is_new = head is not None and head != state.head
    if event.mode is IntakeMode.ASKED and state.request and state.phase is not Phase.DUE and not state.is_idle_draft:
        return Intake(state, IntakeOutcome.UNKNOWN)
    is_waiting = is_text and state.phase is Phase.DUE and bool(state.request) and not state.outdated_by
    only_waits = is_waiting and not is_new and not context.is_concluded
    is_base_known = event.head is not None and event.base is not None and event.base == state.base
    is_rebased = event.trigger is Trigger.BASE and not is_base_known
    is_base_named = event.trigger is Trigger.BASE and bool(event.base) and event.head is not None
    after = state._replace(
        seq=seq,
        request=state.request if only_waits else event.request,
        closed_at=state.closed_at if event.trigger in OWN_TRIGGERS else None,
        expires_at=state.expires_at if event.trigger in OWN_TRIGGERS else None,
        flags=(*state.flags, *(flag for flag in FLAGS.get(event.trigger, ()) if flag not in state.flags)),
        base=event.base if is_base_named else state.base or event.base,
    )
    if is_new:
        after = after._replace(head=head, waiting_since=None, head_first_seen_at=None, looks=0)
    if event.trigger in FLAGS:  # not by an App that answers to our check run
        after = after._replace(looks=0)
    if event.first_seen_at and (is_new or not state.head_first_seen_at):
        after = after._replace(head_first_seen_at=event.first_seen_at)
    after = _with_backoff(state, _with_role(after, event, now), event, now)
    turn_at = None
    if after.is_outside and is_new and (after.not_before or 0) <= now:  # else its turn is yet to come
        turn = max(now, context.outside_turn_at)
        turn_at = turn + event.outside_gap_ms
        if (not_before := turn - event.outside_ahead_ms) > now:
            after = after._replace(not_before=not_before)
    is_known = not is_new or (is_text and not state.request)
    is_outdating = event.mode is not IntakeMode.HOLD and event.trigger in OUTDATING_TRIGGERS
    is_stale = is_outdating and is_known and not only_waits and bool(state.head or head)
    if is_stale:
        after = after._replace(outdated_by=event.trigger, is_reopening=False)
    is_shown = event.mode in (IntakeMode.HOLD, IntakeMode.MOVED) and head is not None
    if is_new or is_stale or only_waits or is_shown:
        after = after._replace(opening_at=max(now, after.not_before or 0) if after.is_outside else now)
    after, outcome = _schedule(state, after, event, context, now)
    return Intake(after, outcome, turn_at, is_rebased, is_reopened=event.trigger is Trigger.REOPENED)


def _follows(state: PullRequestState, event: JudgingRequested, by: NamedHead) -> bool:
    """Whether a delivery comes right after what is known. Of a change of base, its order never shows that."""
    if event.trigger is Trigger.BASE and state.base is not None:
        return False
    return event.head is None or state.head in (None, event.head, by.previous_sha)


def _with_role(state: PullRequestState, event: JudgingRequested, now: float) -> PullRequestState:
    """An outsider's pull request gives way to all others, until an account with write access asks for it."""
    is_outside = FORCE_FLAG not in state.flags and (state.is_outside or event.is_outside)
    if is_outside == state.is_outside:
        return state
    opening_at = None if state.opening_at is None else now
    return state._replace(is_outside=is_outside, opening_at=opening_at)


def _with_backoff(
    before: PullRequestState, state: PullRequestState, event: JudgingRequested, now: float
) -> PullRequestState:
    """A push or a person ends a wait for GitHub, a person the turn after a rate limit."""
    not_before, is_asked = before.not_before or 0, event.trigger in FLAGS
    if before.outage_count is not None and (is_asked or state.head != before.head):
        state = state._replace(not_before=None, outage_count=0)
    elif before.limit_until is not None and is_asked and not_before > before.limit_until:
        state = state._replace(not_before=before.limit_until)
    elif before.is_outside and not state.is_outside and not_before > now and before.limit_until is None:
        state = state._replace(not_before=None)
    else:
        return state
    if before.phase is not Phase.DUE:
        return state
    return state._replace(queued_at=max(now, before.due_at or 0, state.not_before or 0))


def _schedule(
    before: PullRequestState,
    state: PullRequestState,
    event: JudgingRequested,
    context: IntakeContext,
    now: float,
) -> tuple[PullRequestState, IntakeOutcome]:
    """Set when the judging starts."""
    outcome = IntakeOutcome.COALESCED if before.phase else IntakeOutcome.QUEUED
    if event.mode is IntakeMode.HOLD and not state.flags:
        return _hold_draft(before, state, now), outcome
    state = state._replace(retention=Retention.OPEN)
    if before.is_idle_draft or before.ci_request:
        state = state._replace(is_idle_draft=False, ci_request=None)
    due_at, is_due = before.due_at or 0, before.phase is Phase.DUE
    if due_at > 0 and (due_at <= now or (event.mode is IntakeMode.SOON and is_due)):
        return state, IntakeOutcome.COALESCED
    quiet_ms = event.quiet_ms
    if event.mode is IntakeMode.MOVED and not is_due:
        quiet_ms = 0
    elif event.mode in (IntakeMode.WINDOW, IntakeMode.MOVED):
        quiet_ms = quiet_ms if context.quiet_ms is None else context.quiet_ms
        state = state._replace(quiet_ms=quiet_ms)
    first_event_at = now if before.first_event_at is None else before.first_event_at
    due_at = min(now + quiet_ms, first_event_at + max(event.quiet_max_ms, quiet_ms))
    state = state._replace(due_at=due_at, first_event_at=first_event_at)
    if before.phase in (None, Phase.DUE):
        state = state._replace(phase=Phase.DUE, queued_at=max(now, due_at, state.not_before or 0))
    return state, outcome


def _hold_draft(before: PullRequestState, state: PullRequestState, now: float) -> PullRequestState:
    """A draft waits for another request. What is due stays due: the event may be late, and the judge asks GitHub."""
    is_new = state.head != before.head
    is_doubtful = is_new and not before.phase and bool(before.request) and not before.is_idle_draft
    state = state._replace(is_idle_draft=True, ci_request=None if is_new else state.ci_request)
    if is_doubtful:  # it was no draft a moment ago
        at = max(now, state.not_before or 0)
        state = state._replace(phase=Phase.DUE, due_at=now, first_event_at=now, queued_at=at)
    is_kept = before.phase is not None or is_doubtful
    return state._replace(retention=Retention.OPEN if is_kept else Retention.EXPIRING)


class CheckCompleted(NamedTuple):
    """Another check completed on a commit. `is_green`: a whole suite passed, which ends the quiet window of this head."""

    head: Sha
    gather_ms: int
    gathered_ms: int
    is_green: bool


def retrigger(  # noqa: PLR0911 - one return for each phase
    state: PullRequestState, event: CheckCompleted, seq: int, now: float
) -> PullRequestState | None:
    """The state after another check completed; None: this pull request does not wait for it.

    A burst of events counts once. Judgings after a verdict wait ever longer, since an App may answer to our own check run.
    """
    if state.head != event.head or state.is_closed:
        return None
    news_at = now if state.news_at is None else state.news_at
    gathered_at = min(now + event.gather_ms, news_at + event.gathered_ms)
    match state.phase:
        case Phase.DISPATCHED | Phase.JUDGING:
            state = state._replace(news_at=news_at)
            if state.looks >= MOST_LOOKS:
                return state
            return state._replace(look_at=max(gathered_at, now + _patience_ms(event, state.looks + 1)))
        case Phase.DUE if state.waiting_since is not None or state.news_at is not None:
            return _look_at(state, gathered_at, news_at, now)
        case Phase.DUE if state.first_event_at is not None and event.is_green:
            at = max(now + event.gather_ms, state.not_before or 0)
            return state if (state.due_at or 0) <= at else state._replace(due_at=at, queued_at=at)
        case None if state.ci_request and state.looks < MOST_LOOKS:
            looks = state.looks + 1
            due_at = now + _patience_ms(event, looks)
            request = state.ci_request
            state = state._replace(ci_request=None, looks=looks, seq=seq, request=request, news_at=now, due_at=due_at)
            return make_due(state._replace(retention=Retention.OPEN), now)
        case _:
            return None


def _patience_ms(event: CheckCompleted, looks: int) -> float:
    return event.gather_ms * 2.0 ** min(max(0, looks - LOOKS_AT_ONE_PACE), MOST_DOUBLINGS)


def _look_at(state: PullRequestState, at: float, news_at: float, now: float) -> PullRequestState:
    """Judge at this time, unless it is judged earlier anyway."""
    due_at = state.due_at or 0
    if state.waiting_since is None:
        at = max(at, due_at)
    if due_at <= now or (due_at <= at and state.news_at is None):
        return state
    return state._replace(news_at=news_at, due_at=at, queued_at=at)


def close_pull_request(
    state: PullRequestState, expires_at: float, seq: int, now: float, *, has_open_checks: bool
) -> PullRequestState:
    """The state after the close. What is under way completes, and open check runs are concluded by a judging."""
    if not state.request:
        return state
    state = state._replace(closed_at=now, expires_at=expires_at, ci_request=None, is_idle_draft=False)
    if not state.phase and not has_open_checks:
        return state._replace(retention=Retention.EXPIRING)
    state = state._replace(seq=seq, due_at=now, not_before=None, retention=Retention.OPEN)
    return make_due(state, now) if state.phase in (None, Phase.DUE) else state


def withdraw(state: PullRequestState, delivery_id: DeliveryId) -> PullRequestState | None:
    """The state without this delivery's request; None: another one superseded it, a person asks, or it is under way."""
    if state.phase is not Phase.DUE or state.flags or f'"delivery_id":"{delivery_id}"' not in (state.request or ""):
        return None
    return end_judging(state)._replace(queued_at=None)


class RequestDelivery(Frozen):
    """A request to judge. *unless_judged_by*: issues (`hash_issue`); a verdict that depends on one of them stays."""

    kind: Literal["request"] = "request"
    request: JudgeRequest
    named_by: NamedHead
    unless_judged_by: tuple[str, ...] = ()
    event: PullRequestEvent | None = None

    @property
    def delivery_id(self) -> DeliveryId | None:
        return self.request.delivery_id


class ShownPull(NamedTuple):
    """Head, base and draft state of an open pull request as GitHub shows them now."""

    head_sha: Sha
    base: BaseHash
    draft: bool


def may_lag(state: PullRequestState, request: JudgeRequest, shown: ShownPull) -> bool:
    """Whether GitHub shows only what is known, and not yet what the delivery announces."""
    is_base = request.trigger is Trigger.BASE
    is_known = shown.head_sha == state.head and (not is_base or shown.base == state.base)
    is_announced = request.head_sha == shown.head_sha and (not is_base or request.base == shown.base)
    return is_known and not is_announced


def is_overtaken(state: PullRequestState, request: JudgeRequest, shown: ShownPull) -> bool:
    """Whether GitHub shows nothing that a delivery announces but what is known, or judged."""
    if shown.head_sha != state.head:
        return False
    if request.trigger is Trigger.BASE:
        judged_base, _, _ = (state.judged_by or shown.base).partition(" ")
        return shown.base == state.base == judged_base and state.phase is not Phase.JUDGING
    return request.trigger in HEAD_TRIGGERS or (request.draft and not shown.draft)


class CloseDelivery(Frozen):
    """A pull request was merged or closed."""

    kind: Literal["close"] = "close"
    pull: PullRef
    event: PullRequestEvent

    @property
    def delivery_id(self) -> DeliveryId | None:
        return self.event.delivery_id


class CheckDelivery(Frozen):
    """Another App's check completed on a commit. It may count twice: it only asks for another look."""

    kind: Literal["check"] = "check"
    installation_id: InstallationId
    repository_id: RepositoryId
    head_sha: Sha
    is_green: bool
    event: PullRequestEvent | None = None

    @property
    def delivery_id(self) -> DeliveryId | None:
        return None


class EventDelivery(Frozen):
    """A person reacted to a verdict."""

    kind: Literal["event"] = "event"
    event: PullRequestEvent

    @property
    def delivery_id(self) -> DeliveryId | None:
        return self.event.delivery_id


InboxDelivery = RequestDelivery | CloseDelivery | CheckDelivery | EventDelivery
INBOX_DELIVERY: Final = TypeAdapter[InboxDelivery](Annotated[InboxDelivery, Field(discriminator="kind")])


class AppliedDelivery(NamedTuple):
    """A delivery, and what followed from it."""

    delivery: InboxDelivery
    outcome: IntakeOutcome
