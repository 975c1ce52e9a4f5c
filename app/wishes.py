"""Event -> JudgeRequest: which pull request is to be judged, and why.

Pure. Does not know when that is (`scripts/want.lua` does). Invariant: who wrote it and whether it is a draft go along; and when
a head came is kept, whatever else asks for its judging afterwards.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, assert_never

from app.facts import (
    Edit,
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
from worker.domain.ids import DeliveryId, base_mark
from worker.domain.request import JudgeRequest, Trigger

Wished = PullOpened | PullPushed | PullReopened | PullReady | PullDrafted | PullEdited | ReviewAsked | RerunPressed


def to_request(event: Wished, delivery_id: DeliveryId, at: datetime) -> JudgeRequest:
    fields: dict[str, object] = {
        "pull": event.pull,
        "repository": event.repository,
        "head_sha": event.head_sha,
        "trigger": trigger(event),
        "delivery_id": delivery_id,
        "requested_at": at,
    }
    if isinstance(event, HeadFact):
        _tell_of(event, fields)
    if isinstance(event, (PullPushed, PullOpened)):
        fields["arrived"] = {"head_sha": event.head_sha, "at": at}
    return JudgeRequest.__pydantic_validator__.validate_python(
        fields
    )  # as `model_validate`, whose options cost as much


def _tell_of(event: HeadFact, fields: dict[str, object]) -> None:
    """Whose head it is, and what the delivery said of the change."""
    fields["author"], fields["draft"] = event.author, event.draft
    if event.base_sha is not None:
        fields["base_sha"] = event.base_sha
    if event.base_ref is not None:
        fields["base"] = base_mark(event.base_ref)
    if event.extent is not None:
        fields["extent"] = event.extent


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
