"""Event -> Wish: which pull request is to be judged, and why; what a JudgeRequest says, before it is written down.

Pure. Does not know when that is (`adapters/redis/lua/want.lua` does), and validates nothing again: that was done as it was read
(`app.ingest.payloads`), and is once more when a judge takes it up. Invariant: who wrote it and whether it is a draft go along; and when
a head came is kept, whatever else asks for its judging afterwards.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, assert_never

from app.ingest.event_types import (
    FrozenEvent,
    HeadEvent,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    PullRequestEdit,
    RerunRequested,
    ReviewRequested,
)
from worker.adapters.redis.intake import NO_HEAD, NamedHead
from worker.domain.ids import BaseHash, DeliveryId, RepositoryName, Sha, hash_base
from worker.domain.request.judge_request import AuthorKind, PullRef, Trigger

JudgeTriggerEvent = (
    PullOpened | PullPushed | PullReopened | PullReady | PullDrafted | PullEdited | ReviewRequested | RerunRequested
)


class HeadFirstSeen(FrozenEvent, frozen=True, kw_only=True):
    """When we first heard of a head."""

    head_sha: Sha
    at: datetime


class JudgeRequestRecord(FrozenEvent, frozen=True, kw_only=True):
    """A JudgeRequest with all of its fields, in their order. To make and write that one takes three times as long."""

    pull: PullRef
    repository: RepositoryName
    head_sha: Sha | None
    trigger: Trigger
    delivery_id: DeliveryId
    requested_at: datetime
    outages: int = 0
    author: AuthorKind | None = None
    draft: bool = False
    arrived: HeadFirstSeen | None = None
    base_sha: Sha | None = None
    base: BaseHash | None = None
    outside: bool = False


def to_judge_request(event: JudgeTriggerEvent, delivery_id: DeliveryId, at: datetime) -> JudgeRequestRecord:
    head_sha, why = event.head_sha, trigger_of(event)
    if not isinstance(event, HeadEvent):
        return JudgeRequestRecord(
            pull=event.pull,
            repository=event.repository,
            head_sha=head_sha,
            trigger=why,
            delivery_id=delivery_id,
            requested_at=at,
        )
    return JudgeRequestRecord(
        pull=event.pull,
        repository=event.repository,
        head_sha=head_sha,
        trigger=why,
        delivery_id=delivery_id,
        requested_at=at,
        author=event.author,
        draft=event.draft,
        arrived=HeadFirstSeen(head_sha=event.head_sha, at=at) if isinstance(event, (PullPushed, PullOpened)) else None,
        base_sha=event.base_sha,
        base=None if event.base_ref is None else hash_base(event.base_ref),
        outside=event.is_outside,
    )


def head_origin(event: JudgeTriggerEvent) -> NamedHead:
    """What the delivery says of when its head came, or of which base it left."""
    match event:
        case PullPushed():
            return NamedHead(event.before, has_case=event.has_case)
        case PullOpened():
            return NamedHead(NO_HEAD)
        case PullEdited(left_base_ref=str() as left):
            return NamedHead(previous_base=hash_base(left))
        case _:
            return NamedHead()


def trigger_of(event: JudgeTriggerEvent) -> Trigger:
    match event:
        case PullPushed():
            return Trigger.PUSHED
        case PullOpened(has_case=True):
            return Trigger.CASE
        case PullOpened():
            return Trigger.OPENED
        case PullEdited():
            return EDIT_TRIGGERS[event.edit]
        case PullDrafted():
            return Trigger.EDITED
        case PullReopened() | PullReady() | ReviewRequested() | RerunRequested():
            return EVENT_TRIGGERS[type(event)]
        case _:
            assert_never(event)


EDIT_TRIGGERS: Final[Mapping[PullRequestEdit, Trigger]] = MappingProxyType(
    {
        PullRequestEdit.CASE: Trigger.CASE,
        PullRequestEdit.BASE: Trigger.BASE,
        PullRequestEdit.LINKS: Trigger.EDITED,
        PullRequestEdit.TEXT: Trigger.TEXT,
    }
)

EVENT_TRIGGERS: Final[Mapping[type[JudgeTriggerEvent], Trigger]] = MappingProxyType(
    {
        PullReopened: Trigger.REOPENED,
        PullReady: Trigger.READY,
        ReviewRequested: Trigger.REVIEW,
        RerunRequested: Trigger.RERUN,
    }
)
