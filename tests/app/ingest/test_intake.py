"""Event -> what is written down. Invariant: nothing of the event is lost on the way."""

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
COMMAND: dict[str, Any] = {**REPOSITORY, "comment_id": 55, "login": "alice"}


def requested(event: JudgeTriggerEvent, delivery_id: DeliveryId = DELIVERY) -> JudgeRequest:
    """What a judge takes up of what the door wrote."""
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
def test_an_event_becomes_a_request_that_names_its_trigger(event: JudgeTriggerEvent, trigger: Trigger) -> None:
    made = requested(event)
    assert made.trigger is trigger
    told = {"pull": PULL, "repository": "acme/widgets", "head_sha": event.head_sha}
    assert {name: getattr(made, name) for name in told} == told
    assert (made.delivery_id, made.requested_at) == (DELIVERY, AT)


def test_whose_it_is_and_whether_it_is_a_draft_go_along() -> None:
    made = requested(PullReopened(**HEAD, author=AuthorKind.BOT, draft=True))
    assert (made.author, made.draft, made.arrived) == (AuthorKind.BOT, True, None)


def test_the_base_goes_along_where_it_is_known() -> None:
    made = requested(PullPushed(**HEAD, base_sha=OLD, base_ref="main"))
    assert (made.base_sha, made.base) == (OLD, hash_base("main"))
    unknown = requested(PullPushed(**HEAD))
    assert (unknown.base_sha, unknown.base) == (None, None)


@pytest.mark.parametrize("name", ["x" * 5000, "Ünter/ * weird\ud800", ""])
def test_a_base_of_any_name_is_told_by_a_mark_of_one_length(name: str) -> None:
    made = requested(PullPushed(**HEAD, base_ref=name))
    assert made.base is not None
    assert len(made.base) == 32
    assert made.base != requested(PullPushed(**HEAD, base_ref=f"{name}/")).base


@pytest.mark.parametrize("event", [PullOpened(**HEAD, has_case=True), PullPushed(**HEAD)])
def test_what_says_that_a_head_came_says_when(event: JudgeTriggerEvent) -> None:
    assert requested(event).arrived == FirstSeen(head_sha=SHA, at=AT)


@pytest.mark.parametrize(
    ("event", "said"),
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
def test_what_names_a_head_says_as_far_as_it_knows_which_one_and_which_base_was_before(
    event: JudgeTriggerEvent, said: NamedHead
) -> None:
    assert head_origin(event) == said


def test_what_is_about_several_makes_a_request_of_its_own_for_each() -> None:
    known = requested(PullPushed(**HEAD, author=AuthorKind.AGENT, draft=True), DeliveryId("d-0"))
    made = rejudge_request(known.model_copy(update={"outages": 2}), Trigger.CRITERIA, DELIVERY, AT)
    assert made == JudgeRequest(
        **REPOSITORY,
        head_sha=None,
        trigger=Trigger.CRITERIA,
        delivery_id=DeliveryId("d-1-7-3"),
        requested_at=AT,
        author=AuthorKind.AGENT,
        arrived=known.arrived,
    )


def test_a_command_becomes_an_ask_with_all_that_was_said() -> None:
    said: dict[str, Any] = {"reason": "No", "is_bot": True, "misspelt": "overide", "head_sha": SHA, "in_review": True}
    given = CommandIssued(**COMMAND, command=CommandName.OVERRIDE, **said)
    [ask] = to_command_requests(given, DELIVERY, AT)
    assert ask == CommandRequest(**COMMAND, command=CommandName.OVERRIDE, delivery_id=DELIVERY, asked_at=AT, **said)


def test_a_review_that_commands_and_decides_does_both_each_by_itself() -> None:
    review: dict[str, Any] = {**REPOSITORY, "comment_id": None, "login": "alice", "head_sha": SHA, "in_review": True}
    review["review"] = ReviewRef(id=7, login="alice")
    said: dict[str, Any] = {"command": CommandName.OVERRIDE, "reason": "Seen", "misspelt": "overide"}
    first, second = to_command_requests(CommandIssued(**review, **said, decides=CommandName.APPROVED), DELIVERY, AT)
    assert first == CommandRequest(**review, **said, delivery_id=DELIVERY, asked_at=AT)
    assert second == CommandRequest(
        **review, command=CommandName.APPROVED, delivery_id=DeliveryId("d-1-review"), asked_at=AT
    )


@pytest.mark.parametrize(("late", "is_old"), [(timedelta(seconds=30), False), (timedelta(minutes=5), True)])
def test_what_is_told_late_counts_as_said_when_it_was(late: timedelta, *, is_old: bool) -> None:
    given = CommandIssued(
        **COMMAND, command=CommandName.OVERRIDE, reason="No", said_at=AT - late, decides=CommandName.APPROVED
    )
    assert {request.asked_at for request in to_command_requests(given, DELIVERY, AT)} == {AT - late if is_old else AT}


def test_a_merge_group_goes_on_with_its_delivery() -> None:
    told: dict[str, Any] = {"head_ref": "h", "base_ref": "b", "base_sha": OLD, "ended": GroupEnd.MERGED}
    event = MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, **told)
    expected = MergeGroup(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, **told, delivery_id=DELIVERY, at=AT)
    assert to_merge_group(event, DELIVERY, AT) == expected


def test_a_repository_that_is_new_to_us_says_since_when_and_by_which_delivery() -> None:
    seen = VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets")
    told = RepositoryAdded(**SOMEWHERE, repository="acme/widgets", since=AT, delivery_id=DELIVERY)
    assert to_repository_added(InstallationId(1), seen, DELIVERY, AT) == told


@pytest.mark.parametrize(
    ("event", "noted"),
    [
        (
            PullPushed(**HEAD, by_another=True, before=OLD),
            {
                "what": PullRequestEventKind.PUSHED_BY_ANOTHER,
                "number": 3,
                "by_person": True,
                "head_sha": SHA,
                "before_sha": OLD,
            },
        ),
        (
            PullReopened(**HEAD, by_person=True),
            {"what": PullRequestEventKind.REOPENED, "number": 3, "by_person": True, "head_sha": SHA},
        ),
        (PullReopened(**HEAD), {"what": PullRequestEventKind.REOPENED, "number": 3, "head_sha": SHA}),
        (PersonCommented(**REPOSITORY), {"what": PullRequestEventKind.SPOKE, "number": 3, "by_person": True}),
        (
            CommandIssued(**COMMAND, command=CommandName.APPROVED),
            {"what": PullRequestEventKind.SPOKE, "number": 3, "by_person": True},
        ),
        (
            FeedbackGiven(**HEAD, is_helpful=True),
            {"what": PullRequestEventKind.HELPFUL, "number": 3, "by_person": True, "head_sha": SHA},
        ),
        (
            FeedbackGiven(**REPOSITORY, head_sha=None, is_helpful=False),
            {"what": PullRequestEventKind.NOT_HELPFUL, "number": 3, "by_person": True},
        ),
        (PullClosed(**HEAD, by_person=False), {"what": PullRequestEventKind.CLOSED, "number": 3, "head_sha": SHA}),
        (
            PullClosed(**HEAD, by_person=True, merge_sha=OLD, mends=True, reverts=(2,)),
            {
                "what": PullRequestEventKind.MERGED,
                "number": 3,
                "by_person": True,
                "head_sha": SHA,
                "merge_sha": OLD,
                "mends": True,
                "reverts": (2,),
            },
        ),
        (
            CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True),
            {"what": PullRequestEventKind.CI_FAILED, "head_sha": SHA},
        ),
        (
            BranchPushed(**SOMEWHERE, branch="main", reverted_commits=(SHA,)),
            {"what": PullRequestEventKind.REVERTED, "reverted_shas": (SHA,)},
        ),
    ],
)
def test_what_may_be_an_outcome_is_noted_with_numbers_alone(event: Event, noted: Any) -> None:
    happening = to_outcome_event(event, DELIVERY, AT)
    assert happening is not None
    assert happening.model_dump(exclude_defaults=True) == {**SOMEWHERE, "delivery_id": DELIVERY, "at": AT, **noted}


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
def test_what_is_only_to_be_judged_is_not_noted(event: Event) -> None:
    assert to_outcome_event(event, DELIVERY, AT) is None
