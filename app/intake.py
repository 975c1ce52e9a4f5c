"""Event -> JudgeRequest or Ask -> one script in Redis. What the door does about an event, and all of it.

Does not judge, does not ask GitHub anything and does not start a job: a dispatcher takes it from here.
Invariant: each event becomes exactly one write, which may be sent twice; a delivery that was counted
before changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from app.events import (
    CommandGiven,
    Event,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    RerunPressed,
)
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
        at = self.clock.now()
        if isinstance(event, CommandGiven):
            return door.ask(self.store.wire, to_ask(event, delivery_id, at))
        return door.want(self.store.wire, to_request(event, delivery_id, at), self.store.timing).outcome

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
