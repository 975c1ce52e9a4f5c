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
    Edit,
    Fact,
    HeadFact,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    RerunPressed,
    ReviewAsked,
)
from worker.adapters.redis.intake import NO_HEAD, Named
from worker.domain.ids import BaseMark, DeliveryId, RepositoryName, Sha, base_mark
from worker.domain.request.judge_request import AuthorKind, PullRef, Trigger

Wished = PullOpened | PullPushed | PullReopened | PullReady | PullDrafted | PullEdited | ReviewAsked | RerunPressed


class Came(Fact, frozen=True, kw_only=True):
    """When we first heard of a head."""

    head_sha: Sha
    at: datetime


class Wish(Fact, frozen=True, kw_only=True):
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
    arrived: Came | None = None
    base_sha: Sha | None = None
    base: BaseMark | None = None
    outside: bool = False


def to_wish(event: Wished, delivery_id: DeliveryId, at: datetime) -> Wish:
    head_sha, why = event.head_sha, trigger(event)
    if not isinstance(event, HeadFact):
        return Wish(
            pull=event.pull,
            repository=event.repository,
            head_sha=head_sha,
            trigger=why,
            delivery_id=delivery_id,
            requested_at=at,
        )
    return Wish(
        pull=event.pull,
        repository=event.repository,
        head_sha=head_sha,
        trigger=why,
        delivery_id=delivery_id,
        requested_at=at,
        author=event.author,
        draft=event.draft,
        arrived=Came(head_sha=event.head_sha, at=at) if isinstance(event, (PullPushed, PullOpened)) else None,
        base_sha=event.base_sha,
        base=None if event.base_ref is None else base_mark(event.base_ref),
        outside=event.is_outside,
    )


def named(event: Wished) -> Named:
    """What the delivery says of when its head came, or of which base it left."""
    match event:
        case PullPushed():
            return Named(event.before, has_case=event.has_case)
        case PullOpened():
            return Named(NO_HEAD)
        case PullEdited(left_base_ref=str() as left):
            return Named(left=base_mark(left))
        case _:
            return Named()


def trigger(event: Wished) -> Trigger:
    match event:
        case PullPushed():
            return Trigger.PUSHED
        case PullOpened(has_case=True):
            return Trigger.CASE
        case PullOpened():
            return Trigger.OPENED
        case PullEdited():
            return EDITED[event.edit]
        case PullDrafted():
            return Trigger.EDITED
        case PullReopened() | PullReady() | ReviewAsked() | RerunPressed():
            return ALWAYS[type(event)]
        case _:
            assert_never(event)


EDITED: Final[Mapping[Edit, Trigger]] = MappingProxyType(
    {
        Edit.CASE: Trigger.CASE,
        Edit.BASE: Trigger.BASE,
        Edit.LINKS: Trigger.EDITED,
        Edit.TEXT: Trigger.TEXT,
    }
)

ALWAYS: Final[Mapping[type[Wished], Trigger]] = MappingProxyType(
    {
        PullReopened: Trigger.REOPENED,
        PullReady: Trigger.READY,
        ReviewAsked: Trigger.REVIEW,
        RerunPressed: Trigger.RERUN,
    }
)
