"""Event -> Happening: what may be an outcome of a verdict, as closed facts.

Pure. Does not know whether anything was judged (`adapters/redis/lua/happen.lua` does). Invariant: numbers, hashes and words of closed
sets alone.
"""

from datetime import datetime

from app.ingest.event_types import (
    BranchPushed,
    CiChanged,
    CommandIssued,
    Event,
    FeedbackGiven,
    PersonCommented,
    PullClosed,
    PullEvent,
    PullPushed,
    PullReopened,
    RepositoryEvent,
)
from worker.domain.ids import DeliveryId
from worker.domain.request.judge_request import CommandName
from worker.domain.request.pull_request_events import PullRequestEvent, PullRequestEventKind

EventFields = dict[str, object]


def to_outcome_event(event: Event, delivery_id: DeliveryId, at: datetime) -> PullRequestEvent | None:
    """What may be an outcome in this event; None: nothing."""
    fields = _from_repository(event) if isinstance(event, RepositoryEvent) else _from_pull_request(event)
    if fields is None or not isinstance(event, (PullEvent, RepositoryEvent)):
        return None
    return PullRequestEvent.model_validate({**_subject_fields(event), "delivery_id": delivery_id, "at": at, **fields})


def _from_pull_request(event: Event) -> EventFields | None:
    match event:
        case PullPushed():  # first: nearly all that comes is one, and mostly nothing
            return _from_push(event)
        case PullReopened():
            return {"what": PullRequestEventKind.REOPENED, "by_person": event.by_person, "head_sha": event.head_sha}
        case PersonCommented() | CommandIssued(command=CommandName.APPROVED | CommandName.CHANGES):
            return {"what": PullRequestEventKind.SPOKE, "by_person": True}
        case FeedbackGiven(is_helpful=is_helpful):
            thumb = PullRequestEventKind.HELPFUL if is_helpful else PullRequestEventKind.NOT_HELPFUL
            return {"what": thumb, "by_person": True, "head_sha": event.head_sha}
        case PullClosed():
            return _from_close(event)
        case _:
            return None


def _from_push(event: PullPushed) -> EventFields | None:
    if not event.by_another:
        return None
    pushed = {"head_sha": event.head_sha, "before_sha": event.before}
    return {"what": PullRequestEventKind.PUSHED_BY_ANOTHER, "by_person": True, **pushed}


def _from_repository(event: RepositoryEvent) -> EventFields | None:
    match event:
        case CiChanged(has_failed=True):
            return {"what": PullRequestEventKind.CI_FAILED, "head_sha": event.head_sha}
        case BranchPushed(reverted_commits=reverted) if reverted:
            return {"what": PullRequestEventKind.REVERTED, "reverted_shas": reverted}
        case _:
            return None


def _from_close(event: PullClosed) -> EventFields:
    fields: EventFields = {"by_person": event.by_person, "head_sha": event.head_sha}
    if event.merge_sha is None:
        return {"what": PullRequestEventKind.CLOSED, **fields}
    merge = {"merge_sha": event.merge_sha, "mends": event.mends, "reverts": event.reverts}
    return {"what": PullRequestEventKind.MERGED, **fields, **merge}


def _subject_fields(event: PullEvent | RepositoryEvent) -> EventFields:
    if isinstance(event, PullEvent):
        return event.pull.model_dump()
    return {"installation_id": event.installation_id, "repository_id": event.repository_id}
