"""Event -> JudgeRequest, Ask or Happening -> one script in Redis each. What the door does about an event, and all of it.

Does not judge, does not ask GitHub anything and does not start a job: a dispatcher takes it from here.
Invariant: each event becomes one write, or two where it is a request and a happening; each may be sent twice, and a
delivery that was counted before changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from app.events import (
    Afterwards,
    AppMoved,
    CiFailed,
    CommandGiven,
    CommitsReverted,
    Event,
    PersonSpoke,
    PullClosed,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    RerunPressed,
    ThumbGiven,
)
from worker.domain.happenings import Happened, Happening
from worker.domain.ids import DeliveryId
from worker.domain.request import Ask, JudgeRequest, Trigger
from worker.ports import Clock
from worker.store import door
from worker.store.connection import Store

Judgeable = PullOpened | PullPushed | PullReopened | PullReady | RerunPressed


@dataclass(frozen=True, slots=True)
class Intake:
    """Where events are written down. Its calls block: the door makes them in a thread."""

    store: Store
    clock: Clock

    def take_in(self, event: Event, delivery_id: DeliveryId) -> door.Outcome:
        """Write down what an event asks for. Raises Unavailable."""
        at, wire = self.clock.now(), self.store.wire
        if isinstance(event, CommandGiven):
            return door.ask(wire, to_ask(event, delivery_id, at))
        if isinstance(event, AppMoved):
            return self._move(event)
        happening = to_happening(event, delivery_id, at)
        if isinstance(event, Afterwards):
            return door.happen(wire, happening) if happening else door.Outcome.UNKNOWN
        taken = door.want(wire, to_request(event, delivery_id, at), self.store.timing).outcome
        if happening is not None:
            door.happen(wire, happening)
        return taken

    def _move(self, event: AppMoved) -> door.Outcome:
        """All about an installation that left is forgotten, unless it is back in time."""
        leaving = self.store.leaving()
        if event.is_there:
            leaving.is_back(event.installation_id)
        else:
            leaving.leaves(event.installation_id)
        return door.Outcome.NOTED

    def ping(self) -> None:
        """Raises Unavailable when nothing can be written down now."""
        self.store.ping()


def to_request(event: Judgeable, delivery_id: DeliveryId, at: datetime) -> JudgeRequest:
    return JudgeRequest(
        pull=event.pull,
        repository=event.repository,
        head_sha=event.head_sha,
        trigger=trigger(event),
        delivery_id=delivery_id,
        requested_at=at,
    )


def to_ask(event: CommandGiven, delivery_id: DeliveryId, at: datetime) -> Ask:
    return Ask(
        pull=event.pull,
        repository=event.repository,
        comment_id=event.comment_id,
        login=event.login,
        command=event.command,
        delivery_id=delivery_id,
        asked_at=at,
    )


def trigger(event: Judgeable) -> Trigger:
    match event:
        case PullOpened():
            return Trigger.OPENED
        case PullPushed():
            return Trigger.PUSHED
        case PullReopened():
            return Trigger.REOPENED
        case PullReady():
            return Trigger.READY
        case RerunPressed():
            return Trigger.RERUN
        case _:
            assert_never(event)


def to_happening(event: Judgeable | Afterwards, delivery_id: DeliveryId, at: datetime) -> Happening | None:
    """What may be an outcome in this event; None: only a reason to judge."""
    found: dict[str, object]
    match event:
        case PullOpened() | PullReady() | RerunPressed():
            return None
        case PullPushed():
            if not event.by_another:
                return None
            found = {"what": Happened.PUSHED_BY_ANOTHER, "by_person": True, "head_sha": event.head_sha}
        case PullReopened():
            found = {"what": Happened.REOPENED, "by_person": event.by_person, "head_sha": event.head_sha}
        case PersonSpoke():
            found = {"what": Happened.SPOKE, "by_person": True}
        case ThumbGiven(is_helpful=is_helpful):
            thumb = Happened.HELPFUL if is_helpful else Happened.NOT_HELPFUL
            found = {"what": thumb, "by_person": True, "head_sha": event.head_sha}
        case PullClosed():
            found = _end(event)
        case CiFailed():
            found = {"what": Happened.CI_FAILED, "head_sha": event.head_sha}
        case CommitsReverted():
            found = {"what": Happened.REVERTED, "reverted_shas": event.shas}
        case _:
            assert_never(event)
    return Happening.model_validate({**_where(event), "delivery_id": delivery_id, "at": at, **found})


def _end(event: PullClosed) -> dict[str, object]:
    found: dict[str, object] = {"by_person": event.by_person, "head_sha": event.head_sha}
    if event.merge_sha is None:
        return {"what": Happened.CLOSED, **found}
    said = {"merge_sha": event.merge_sha, "mends": event.mends, "reverts": event.reverts}
    return {"what": Happened.MERGED, **found, **said}


def _where(event: Judgeable | Afterwards) -> dict[str, object]:
    if isinstance(event, (CiFailed, CommitsReverted)):
        return {"installation_id": event.installation_id, "repository_id": event.repository_id}
    return event.pull.model_dump()
