"""The stored form of an event. Invariant: no field of the event is lost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.ingest.event_types import (
    BranchPushed,
    CiChanged,
    CommandIssued,
    Event,
    FeedbackGiven,
    HeadRerunRequested,
    IssueChanged,
    MergeGroupChanged,
    PersonCommented,
    PullClosed,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    PullRequestEdit,
    RerunRequested,
    ReviewRequested,
    VisibleRepository,
)
from app.ingest.intake import (
    JudgeTriggerEvent,
    head_origin,
    rejudge_request,
    to_command_requests,
    to_inbox_delivery,
    to_merge_group,
    to_outcome_event,
    to_repository_added,
)
from tests.app.ingest.deliveries import OLD, PULL, REPOSITORY, SHA, SOMEWHERE
from worker.domain.check.merge_group import GroupEnd, MergeGroup
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, hash_base
from worker.domain.judge_request import (
    AuthorKind,
    CommandName,
    CommandRequest,
    FirstSeen,
    JudgeRequest,
    ReviewRef,
    Trigger,
)
from worker.domain.lifecycle.inbox import INBOX_DELIVERY, RequestDelivery
from worker.domain.lifecycle.intake import NO_HEAD, NamedHead
from worker.domain.pull_request_events import PullRequestEventKind, RepositoryAdded

DELIVERY = DeliveryId("d-1")
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
HEAD: dict[str, Any] = {**REPOSITORY, "head_sha": SHA}
BY_PERSON: dict[str, Any] = {"number": 3, "by_person": True}
COMMAND: dict[str, Any] = {**REPOSITORY, "comment_id": 55, "login": "alice"}


def stored_request(event: JudgeTriggerEvent, delivery_id: DeliveryId = DELIVERY) -> JudgeRequest:
    """The request that a worker reads from the inbox."""
    delivery = INBOX_DELIVERY.validate_json(to_inbox_delivery(event, delivery_id, AT).model_dump_json())
    assert isinstance(delivery, RequestDelivery)
    return delivery.request


@pytest.mark.parametrize(
    ("event", "trigger"),
    [
        (PullOpened(**HEAD), Trigger.OPENED),
        (PullOpened(**HEAD, has_case=True), Trigger.CASE),
        (PullPushed(**HEAD), Trigger.PUSHED),
        (PullReopened(**HEAD), Trigger.REOPENED),
        (PullReady(**HEAD), Trigger.READY),
        (PullDrafted(**HEAD), Trigger.EDITED),
        (ReviewRequested(**HEAD), Trigger.REVIEW),
        (PullEdited(**HEAD, edit=PullRequestEdit.CASE), Trigger.CASE),
        (PullEdited(**HEAD, edit=PullRequestEdit.BASE), Trigger.BASE),
        (PullEdited(**HEAD, edit=PullRequestEdit.LINKS), Trigger.EDITED),
        (PullEdited(**HEAD, edit=PullRequestEdit.TEXT), Trigger.TEXT),
        (RerunRequested(**HEAD), Trigger.RERUN),
        (RerunRequested(**REPOSITORY, head_sha=None), Trigger.RERUN),
    ],
)
def test_event_becomes_a_request_with_its_trigger(event: JudgeTriggerEvent, trigger: Trigger) -> None:
    request = stored_request(event)
    assert request.trigger is trigger
    expected = {"pull": PULL, "repository": "acme/widgets", "head_sha": event.head_sha}
    assert {name: getattr(request, name) for name in expected} == expected
    assert (request.delivery_id, request.requested_at) == (DELIVERY, AT)


def test_request_carries_author_and_draft() -> None:
    request = stored_request(PullReopened(**HEAD, author=AuthorKind.BOT, draft=True))
    assert (request.author, request.draft, request.arrived) == (AuthorKind.BOT, True, None)


def test_request_carries_the_base_if_known() -> None:
    request = stored_request(PullPushed(**HEAD, base_sha=OLD, base_ref="main"))
    assert (request.base_sha, request.base) == (OLD, hash_base("main"))
    unknown = stored_request(PullPushed(**HEAD))
    assert (unknown.base_sha, unknown.base) == (None, None)


@pytest.mark.parametrize("name", ["x" * 5000, "Ünter/ * weird\ud800", ""])
def test_base_name_is_hashed_to_a_fixed_length(name: str) -> None:
    request = stored_request(PullPushed(**HEAD, base_ref=name))
    assert request.base is not None
    assert len(request.base) == 32
    assert request.base != stored_request(PullPushed(**HEAD, base_ref=f"{name}/")).base


@pytest.mark.parametrize("event", [PullOpened(**HEAD, has_case=True), PullPushed(**HEAD)])
def test_new_head_carries_its_arrival_time(event: JudgeTriggerEvent) -> None:
    assert stored_request(event).arrived == FirstSeen(head_sha=SHA, at=AT)


@pytest.mark.parametrize(
    ("event", "origin"),
    [
        (PullOpened(**HEAD), NamedHead(NO_HEAD)),
        (PullPushed(**HEAD, before=OLD), NamedHead(OLD)),
        (PullPushed(**HEAD), NamedHead()),
        (PullPushed(**HEAD, before=OLD, has_case=True), NamedHead(OLD, has_case=True)),
        (PullReopened(**HEAD), NamedHead()),
        (PullEdited(**HEAD, edit=PullRequestEdit.BASE, left_base_ref="dev"), NamedHead(previous_base=hash_base("dev"))),
        (PullEdited(**HEAD, edit=PullRequestEdit.TEXT), NamedHead()),
        (RerunRequested(**HEAD), NamedHead()),
    ],
)
def test_head_origin_names_the_previous_head_and_base_if_known(event: JudgeTriggerEvent, origin: NamedHead) -> None:
    assert head_origin(event) == origin


def test_rejudge_request_gets_its_own_delivery_id() -> None:
    earlier = stored_request(PullPushed(**HEAD, author=AuthorKind.AGENT, draft=True), DeliveryId("d-0"))
    request = rejudge_request(earlier.model_copy(update={"outages": 2}), Trigger.CRITERIA, DELIVERY, AT)
    assert request == JudgeRequest(
        **REPOSITORY,
        head_sha=None,
        trigger=Trigger.CRITERIA,
        delivery_id=DeliveryId("d-1-7-3"),
        requested_at=AT,
        author=AuthorKind.AGENT,
        arrived=earlier.arrived,
    )


def test_command_request_carries_every_field() -> None:
    fields: dict[str, Any] = {"reason": "No", "is_bot": True, "misspelt": "overide", "head_sha": SHA, "in_review": True}
    event = CommandIssued(**COMMAND, command=CommandName.OVERRIDE, **fields)
    [request] = to_command_requests(event, DELIVERY, AT)
    assert request == CommandRequest(
        **COMMAND, command=CommandName.OVERRIDE, delivery_id=DELIVERY, asked_at=AT, **fields
    )


def test_review_with_command_and_decision_becomes_two_requests() -> None:
    review: dict[str, Any] = {**REPOSITORY, "comment_id": None, "login": "alice", "head_sha": SHA, "in_review": True}
    review["review"] = ReviewRef(id=7, login="alice")
    command: dict[str, Any] = {"command": CommandName.OVERRIDE, "reason": "Seen", "misspelt": "overide"}
    first, second = to_command_requests(CommandIssued(**review, **command, decides=CommandName.APPROVED), DELIVERY, AT)
    assert first == CommandRequest(**review, **command, delivery_id=DELIVERY, asked_at=AT)
    assert second == CommandRequest(
        **review, command=CommandName.APPROVED, delivery_id=DeliveryId("d-1-review"), asked_at=AT
    )


@pytest.mark.parametrize(("delay", "is_old"), [(timedelta(seconds=30), False), (timedelta(minutes=5), True)])
def test_late_command_keeps_the_time_it_was_written(delay: timedelta, *, is_old: bool) -> None:
    event = CommandIssued(
        **COMMAND, command=CommandName.OVERRIDE, reason="No", said_at=AT - delay, decides=CommandName.APPROVED
    )
    assert {request.asked_at for request in to_command_requests(event, DELIVERY, AT)} == {AT - delay if is_old else AT}


def test_merge_group_carries_its_delivery() -> None:
    fields: dict[str, Any] = {"head_ref": "h", "base_ref": "b", "base_sha": OLD, "ended": GroupEnd.MERGED}
    event = MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, **fields)
    expected = MergeGroup(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, **fields, delivery_id=DELIVERY, at=AT)
    assert to_merge_group(event, DELIVERY, AT) == expected


def test_added_repository_carries_time_and_delivery() -> None:
    repository = VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets")
    expected = RepositoryAdded(**SOMEWHERE, repository="acme/widgets", since=AT, delivery_id=DELIVERY)
    assert to_repository_added(InstallationId(1), repository, DELIVERY, AT) == expected


@pytest.mark.parametrize(
    ("event", "kind", "fields"),
    [
        (
            PullPushed(**HEAD, by_another=True, before=OLD),
            PullRequestEventKind.PUSHED_BY_ANOTHER,
            {**BY_PERSON, "head_sha": SHA, "before_sha": OLD},
        ),
        (PullReopened(**HEAD, by_person=True), PullRequestEventKind.REOPENED, {**BY_PERSON, "head_sha": SHA}),
        (PullReopened(**HEAD), PullRequestEventKind.REOPENED, {"number": 3, "head_sha": SHA}),
        (PersonCommented(**REPOSITORY), PullRequestEventKind.SPOKE, BY_PERSON),
        (CommandIssued(**COMMAND, command=CommandName.APPROVED), PullRequestEventKind.SPOKE, BY_PERSON),
        (FeedbackGiven(**HEAD, is_helpful=True), PullRequestEventKind.HELPFUL, {**BY_PERSON, "head_sha": SHA}),
        (FeedbackGiven(**REPOSITORY, head_sha=None, is_helpful=False), PullRequestEventKind.NOT_HELPFUL, BY_PERSON),
        (PullClosed(**HEAD, by_person=False), PullRequestEventKind.CLOSED, {"number": 3, "head_sha": SHA}),
        (
            PullClosed(**HEAD, by_person=True, merge_sha=OLD, mends=True, reverts=(2,)),
            PullRequestEventKind.MERGED,
            {**BY_PERSON, "head_sha": SHA, "merge_sha": OLD, "mends": True, "reverts": (2,)},
        ),
        (CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True), PullRequestEventKind.CI_FAILED, {"head_sha": SHA}),
        (
            BranchPushed(**SOMEWHERE, branch="main", reverted_commits=(SHA,)),
            PullRequestEventKind.REVERTED,
            {"reverted_shas": (SHA,)},
        ),
    ],
)
def test_outcome_event_holds_numbers_only(event: Event, kind: PullRequestEventKind, fields: dict[str, Any]) -> None:
    outcome = to_outcome_event(event, DELIVERY, AT)
    assert outcome is not None
    common = {**SOMEWHERE, "delivery_id": DELIVERY, "at": AT, "what": kind}
    assert outcome.model_dump(exclude_defaults=True) == {**common, **fields}


@pytest.mark.parametrize(
    "event",
    [
        PullOpened(**HEAD),
        PullPushed(**HEAD),
        PullReady(**HEAD),
        PullEdited(**HEAD, edit=PullRequestEdit.BASE),
        RerunRequested(**HEAD),
        CommandIssued(**COMMAND, command=CommandName.REJUDGE),
        CiChanged(**SOMEWHERE, head_sha=SHA),
        BranchPushed(**SOMEWHERE, branch="main", has_new_config=True, has_new_rules=True),
        HeadRerunRequested(**SOMEWHERE, head_sha=SHA),
        IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9),
    ],
)
def test_event_without_an_outcome_is_not_recorded(event: Event) -> None:
    assert to_outcome_event(event, DELIVERY, AT) is None
