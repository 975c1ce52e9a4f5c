"""Event -> Happening: what may be an outcome of a verdict, as closed facts.

Pure. Does not know whether anything was judged (`adapters/redis/lua/happen.lua` does). Invariant: numbers, hashes and words of closed
sets alone.
"""

from datetime import datetime

from app.ingest.event_types import (
    BranchMoved,
    CiMoved,
    CommandGiven,
    Event,
    PersonSpoke,
    PullClosed,
    PullFact,
    PullPushed,
    PullReopened,
    Somewhere,
    ThumbGiven,
)
from worker.domain.ids import DeliveryId
from worker.domain.request.judge_request import CommandName
from worker.domain.request.pull_request_events import Happened, Happening

Facts = dict[str, object]


def to_happening(event: Event, delivery_id: DeliveryId, at: datetime) -> Happening | None:
    """What may be an outcome in this event; None: nothing."""
    found = _elsewhere(event) if isinstance(event, Somewhere) else _at_pull(event)
    if found is None or not isinstance(event, (PullFact, Somewhere)):
        return None
    return Happening.model_validate({**_where(event), "delivery_id": delivery_id, "at": at, **found})


def _at_pull(event: Event) -> Facts | None:
    match event:
        case PullPushed():  # first: nearly all that comes is one, and mostly nothing
            return _taken_over(event)
        case PullReopened():
            return {"what": Happened.REOPENED, "by_person": event.by_person, "head_sha": event.head_sha}
        case PersonSpoke() | CommandGiven(command=CommandName.APPROVED | CommandName.CHANGES):
            return {"what": Happened.SPOKE, "by_person": True}
        case ThumbGiven(is_helpful=is_helpful):
            thumb = Happened.HELPFUL if is_helpful else Happened.NOT_HELPFUL
            return {"what": thumb, "by_person": True, "head_sha": event.head_sha}
        case PullClosed():
            return _end(event)
        case _:
            return None


def _taken_over(event: PullPushed) -> Facts | None:
    if not event.by_another:
        return None
    pushed = {"head_sha": event.head_sha, "before_sha": event.before}
    return {"what": Happened.PUSHED_BY_ANOTHER, "by_person": True, **pushed}


def _elsewhere(event: Somewhere) -> Facts | None:
    match event:
        case CiMoved(has_failed=True):
            return {"what": Happened.CI_FAILED, "head_sha": event.head_sha}
        case BranchMoved(reverted=reverted) if reverted:
            return {"what": Happened.REVERTED, "reverted_shas": reverted}
        case _:
            return None


def _end(event: PullClosed) -> Facts:
    found: Facts = {"by_person": event.by_person, "head_sha": event.head_sha}
    if event.merge_sha is None:
        return {"what": Happened.CLOSED, **found}
    said = {"merge_sha": event.merge_sha, "mends": event.mends, "reverts": event.reverts}
    return {"what": Happened.MERGED, **found, **said}


def _where(event: PullFact | Somewhere) -> Facts:
    if isinstance(event, PullFact):
        return event.pull.model_dump()
    return {"installation_id": event.installation_id, "repository_id": event.repository_id}
