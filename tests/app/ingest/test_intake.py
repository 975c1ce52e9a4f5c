"""Events in Redis. Invariant: no field is lost, and every pull request that an event concerns is woken, by our own index if need be."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

import pytest
from msgspec import structs
from pydantic import SecretStr

from app.ingest.event_types import (
    BranchPushed,
    CiChanged,
    CommandIssued,
    Event,
    FeedbackGiven,
    HeadRerunRequested,
    InstallationChanged,
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
    EventIntake,
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
from tests.app.web.web_server import WebServer, launch_web_server, payload
from tests.worker.adapters.redis.store_samples import make_due
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.async_client import AsyncRedisClient
from worker.adapters.redis.connection.client import whole
from worker.adapters.redis.judging.intake import set_window
from worker.adapters.redis.keys import ADDED_REPOSITORIES, COMMANDS, PULL_REQUEST_EVENTS
from worker.adapters.redis.store import Store
from worker.domain.github_events import GroupEnd, MergeGroup, PullRequestEventKind, RepositoryAdded, hash_issue
from worker.domain.judge_request import (
    AuthorKind,
    CommandName,
    CommandRequest,
    FirstSeen,
    JudgeRequest,
    PullRef,
    ReviewRef,
    Trigger,
)
from worker.domain.lifecycle.intake import INBOX_DELIVERY, IntakeOutcome, NamedHead, RequestDelivery
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead
from worker.domain.model import DeliveryId, InstallationId, RepositoryId, hash_base
from worker.process import SystemClock

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
        (PullOpened(**HEAD), NamedHead()),
        (PullPushed(**HEAD, before=OLD), NamedHead(OLD)),
        (PullPushed(**HEAD), NamedHead()),
        (PullPushed(**HEAD, before=OLD, has_case=True), NamedHead(OLD, has_case=True)),
        (PullReopened(**HEAD), NamedHead()),
        (PullEdited(**HEAD, edit=PullRequestEdit.TEXT), NamedHead()),
        (RerunRequested(**HEAD), NamedHead()),
    ],
)
def test_head_origin_names_the_previous_head_of_a_push(event: JudgeTriggerEvent, origin: NamedHead) -> None:
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


def installation_changed(*, is_installed: bool = True, **fields: Any) -> InstallationChanged:
    return InstallationChanged(installation_id=InstallationId(1), is_installed=is_installed, **fields)


INSTALLED = installation_changed(
    added_repositories=(VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets"),)
)


@pytest.fixture
def intake(store: Store) -> EventIntake:
    store.client.call("FLUSHALL")
    return EventIntake(store, SystemClock(), AsyncRedisClient(store.url.get_secret_value(), 1))


def take_in(intake: EventIntake, event: Event, delivery: str = "d-1") -> IntakeOutcome:
    """The outcome of an event that is taken in and applied."""

    async def run() -> IntakeOutcome:
        with closing(intake.async_client):
            return await intake.take_in(event, DeliveryId(delivery))

    outcome, inbox = asyncio.run(run()), intake.store.inbox
    applied = [inbox.apply(entry) for entry in inbox.read(10)]
    return applied[-1].outcome if applied and applied[-1] else outcome


def open_pull_request(intake: EventIntake) -> None:
    assert take_in(intake, PullOpened(**REPOSITORY, head_sha=SHA), "opened") is IntakeOutcome.QUEUED


def stored_count(intake: EventIntake, key: keys.Key) -> int:
    command = {"hash": "HLEN", "zset": "ZCARD", "set": "SCARD", "string": "EXISTS"}[key.type]
    return whole(intake.store.client.call(command, key.name))


def latest_trigger(intake: EventIntake) -> Trigger | None:
    request = intake.store.pulls.find_request(PULL)
    return request and request.trigger


def test_command_is_queued_and_a_review_decision_is_also_recorded(intake: EventIntake) -> None:
    assert take_in(intake, CommandIssued(**COMMAND, command=CommandName.REJUDGE)) is IntakeOutcome.QUEUED
    assert (stored_count(intake, COMMANDS.order), stored_count(intake, PULL_REQUEST_EVENTS.order)) == (1, 0)
    intake.store.client.call("HSET", keys.watch(PULL).name, "pull", "x")
    assert take_in(intake, CommandIssued(**COMMAND, command=CommandName.APPROVED), "d-2") is IntakeOutcome.QUEUED
    assert (stored_count(intake, COMMANDS.order), stored_count(intake, PULL_REQUEST_EVENTS.order)) == (2, 1)


def test_review_with_command_and_decision_is_queued_once(intake: EventIntake) -> None:
    both = CommandIssued(**COMMAND, command=CommandName.REJUDGE, decides=CommandName.APPROVED)
    assert [take_in(intake, both), take_in(intake, both)] == [IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE]
    assert stored_count(intake, COMMANDS.order) == 2


def test_push_by_another_person_is_queued_and_recorded(intake: EventIntake) -> None:
    intake.store.client.call("HSET", keys.watch(PULL).name, "pull", "x")
    assert take_in(intake, PullPushed(**REPOSITORY, head_sha=SHA, by_another=True)) is IntakeOutcome.QUEUED
    assert (latest_trigger(intake), stored_count(intake, PULL_REQUEST_EVENTS.order)) == (Trigger.PUSHED, 1)


def test_comment_on_an_unjudged_pull_request_is_unknown(intake: EventIntake) -> None:
    assert take_in(intake, PersonCommented(**REPOSITORY)) is IntakeOutcome.UNKNOWN


class JumpingClock(SystemClock):
    """A clock that was set forwards or back."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return super().now() + self._by


@pytest.mark.parametrize("by", [timedelta(days=-2), timedelta(days=2)])
def test_clock_jump_neither_loses_nor_delays_a_push(intake: EventIntake, by: timedelta) -> None:
    open_pull_request(intake)
    before = intake.store.pulls.find_plan(PULL)
    take_in(
        EventIntake(intake.store, JumpingClock(by), intake.async_client),
        PullPushed(**REPOSITORY, head_sha=OLD, before=SHA),
        "pushed",
    )
    request, after = intake.store.pulls.find_request(PULL), intake.store.pulls.find_plan(PULL)
    assert request is not None
    assert request.head_sha == OLD
    assert before is not None
    assert after is not None
    assert abs(after.due_at - before.due_at) < timedelta(minutes=1), "Redis decides when it is due"


def test_close_is_visible_to_pending_judging(intake: EventIntake) -> None:
    open_pull_request(intake)
    assert take_in(intake, PullClosed(**REPOSITORY, head_sha=SHA, by_person=True)) is IntakeOutcome.UNKNOWN
    assert intake.store.client.call("HGET", keys.pull(PULL).name, "over") is not None


def test_close_sets_the_retention_and_reopening_clears_it(intake: EventIntake) -> None:
    open_pull_request(intake)
    name, store = keys.pull_request_cost(PULL).name, replace(intake.store, ledger_retention=timedelta(days=40))
    store.client.call("HSET", name, "spent", 1)
    take_in(
        EventIntake(store, intake.clock, intake.async_client), PullClosed(**REPOSITORY, head_sha=SHA, by_person=True)
    )
    assert store.client.call("TTL", name) == 40 * 86_400
    take_in(intake, PullReopened(**REPOSITORY, head_sha=SHA), "d-2")
    assert store.client.call("TTL", name) == -1


def test_rerun_all_wakes_every_pull_request_with_the_head(intake: EventIntake) -> None:
    assert take_in(intake, HeadRerunRequested(**SOMEWHERE, head_sha=SHA)) is IntakeOutcome.UNKNOWN
    open_pull_request(intake)
    assert take_in(intake, HeadRerunRequested(**SOMEWHERE, head_sha=SHA), "d-2") is IntakeOutcome.COALESCED
    assert latest_trigger(intake) is Trigger.RERUN
    assert take_in(intake, HeadRerunRequested(**SOMEWHERE, head_sha=SHA), "d-2") is IntakeOutcome.DUPLICATE


def test_text_edit_wakes_the_pull_request_unless_a_linked_issue_was_read(
    intake: EventIntake,
) -> None:
    """An issue that cannot be read is deleted, or belongs to a repository that the App does not see."""
    event = PullEdited(
        **REPOSITORY, head_sha=SHA, edit=PullRequestEdit.TEXT, closes=(("other/tracker", 12), ("acme/widgets", 9))
    )
    open_pull_request(intake)
    assert take_in(intake, event) is IntakeOutcome.COALESCED
    intake.store.outcomes.competing_pulls(PULL, hash_issue("acme/widgets", 9))
    assert take_in(intake, event, "d-2") is IntakeOutcome.UNKNOWN
    unread = structs.replace(event, closes=(("other/tracker", 12),))
    assert take_in(intake, unread, "d-3") is IntakeOutcome.COALESCED


def test_edited_issue_wakes_the_pull_request_judged_by_it(intake: EventIntake) -> None:
    event = IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9)
    open_pull_request(intake)
    assert take_in(intake, event) is IntakeOutcome.UNKNOWN
    intake.store.outcomes.competing_pulls(PULL, hash_issue("acme/widgets", 9))
    assert take_in(intake, event, "d-2") is IntakeOutcome.COALESCED
    assert latest_trigger(intake) is Trigger.CRITERIA


def test_edited_issue_wakes_pull_requests_in_every_repository_of_the_installation(
    intake: EventIntake,
) -> None:
    sibling = PULL.model_copy(update={"repository_id": RepositoryId(PULL.repository_id + 1)})
    for pull in (PULL, sibling):
        fields: dict[str, Any] = {**REPOSITORY, "pull": pull}
        take_in(intake, PullOpened(**fields, head_sha=SHA), f"opened-{pull.repository_id}")
        intake.store.outcomes.competing_pulls(pull, hash_issue("acme/specs", 9))
    issue_repository: dict[str, Any] = {**SOMEWHERE, "repository_id": RepositoryId(99)}
    assert (
        take_in(intake, IssueChanged(**issue_repository, repository="Acme/Specs", number=9)) is IntakeOutcome.COALESCED
    )
    requests = [intake.store.pulls.find_request(pull) for pull in (PULL, sibling)]
    assert [request and request.trigger for request in requests] == [Trigger.CRITERIA] * 2
    elsewhere: dict[str, Any] = {**issue_repository, "installation_id": InstallationId(2)}
    assert take_in(intake, IssueChanged(**elsewhere, repository="acme/specs", number=9), "d-2") is IntakeOutcome.UNKNOWN


def test_ci_failure_is_recorded_only_for_an_accepted_head(intake: EventIntake) -> None:
    event = CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True)
    assert take_in(intake, event) is IntakeOutcome.UNKNOWN
    commit = keys.commit(SOMEWHERE["installation_id"], SOMEWHERE["repository_id"], SHA)
    intake.store.client.call("SET", commit.name, 3)
    assert take_in(intake, event, "d-2") is IntakeOutcome.QUEUED
    assert stored_count(intake, PULL_REQUEST_EVENTS.order) == 1


NEW_CONFIG: dict[str, Any] = {"has_new_config": True, "has_new_rules": True}


def test_new_configuration_drops_the_cached_quiet_window(intake: EventIntake) -> None:
    ids = (InstallationId(1), RepositoryId(7), hash_base("main"))
    window = keys.window(*ids)
    set_window(intake.store.client, *ids, 600)
    assert take_in(intake, BranchPushed(**SOMEWHERE, branch="main", reverted_commits=(OLD,))) is IntakeOutcome.QUEUED
    assert take_in(intake, BranchPushed(**SOMEWHERE, branch="next", **NEW_CONFIG), "d-2") is IntakeOutcome.NOTED
    assert stored_count(intake, window) == 1
    assert take_in(intake, BranchPushed(**SOMEWHERE, branch="main", **NEW_CONFIG), "d-3") is IntakeOutcome.NOTED
    assert stored_count(intake, window) == 0


def judge_once(intake: EventIntake, number: int, base: str) -> PullRef:
    """A pull request with a verdict for *base* and no pending request."""
    pull = PULL.model_copy(update={"number": number})
    take_in(intake, PullPushed(pull=pull, repository="acme/widgets", head_sha=SHA), f"push-{number}")
    make_due(intake.store, pull)
    job = intake.store.pulls.next_due(f"call-{number}", DispatchLimits(9, 9))
    leased_job = intake.store.pulls.take_lease(pull, job.fence) if job else None
    assert leased_job is not None
    intake.store.pulls.finish(leased_job.lease, Finish.JUDGED, of=JudgedHead(SHA, hash_base(base)))
    return pull


def test_new_rules_rejudge_pull_requests_of_their_base_only(intake: EventIntake) -> None:
    current, closed, waiting, other_base = (
        judge_once(intake, *pull) for pull in ((1, "main"), (2, "main"), (3, "main"), (4, "next"))
    )
    take_in(intake, PullClosed(pull=closed, repository="acme/widgets", head_sha=SHA, by_person=True), "closed")
    take_in(intake, PullPushed(pull=waiting, repository="acme/widgets", head_sha=OLD, before=SHA), "pushed")
    pushed = BranchPushed(**SOMEWHERE, branch="main", has_new_rules=True)
    assert take_in(intake, pushed, "rules") is IntakeOutcome.QUEUED
    assert take_in(intake, pushed, "rules") is IntakeOutcome.UNKNOWN, "the request is pending already"
    requests = {pull.number: intake.store.pulls.find_request(pull) for pull in (current, closed, waiting, other_base)}
    assert {number: request.trigger for number, request in requests.items() if request} == {
        1: Trigger.RULES,
        2: Trigger.PUSHED,
        3: Trigger.PUSHED,
        4: Trigger.PUSHED,
    }
    other_branch = BranchPushed(**SOMEWHERE, branch="other", has_new_rules=True)
    assert take_in(intake, other_branch, "elsewhere") is IntakeOutcome.UNKNOWN


def test_force_push_rejudges_pull_requests_of_that_base(intake: EventIntake) -> None:
    current, moved = judge_once(intake, 1, "main"), judge_once(intake, 2, "main")
    pushed = PullPushed(pull=moved, repository="acme/widgets", head_sha=OLD, before=SHA, base_ref="next")
    take_in(intake, pushed, "moved")
    forced = BranchPushed(**SOMEWHERE, branch="main", is_rewritten=True)
    assert take_in(intake, forced, "forced") is IntakeOutcome.QUEUED
    requests = [intake.store.pulls.find_request(pull) for pull in (current, moved)]
    assert [request and request.trigger for request in requests] == [Trigger.BASE, Trigger.PUSHED]


def test_merge_group_is_queued_once(intake: EventIntake) -> None:
    refs: dict[str, Any] = {"head_ref": "refs/heads/x", "base_ref": "refs/heads/main"}
    event = MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, base_sha=OLD, **refs)
    assert take_in(intake, event) is IntakeOutcome.QUEUED
    assert take_in(intake, event) is IntakeOutcome.DUPLICATE


def test_new_permissions_delete_the_cached_token(intake: EventIntake) -> None:
    for installation in (1, 2):
        intake.store.vault.put(keys.token(InstallationId(installation)), b"ghs_old", timedelta(hours=1))
    event = installation_changed(has_new_permissions=True)
    assert [take_in(intake, event), take_in(intake, event)] == [IntakeOutcome.NOTED] * 2
    tokens = [intake.store.vault.get(keys.token(InstallationId(installation))) for installation in (1, 2)]
    assert tokens == [None, b"ghs_old"]
    assert stored_count(intake, ADDED_REPOSITORIES.order) == 0


def test_installation_changes_are_recorded(intake: EventIntake) -> None:
    assert take_in(intake, INSTALLED) is IntakeOutcome.NOTED
    assert stored_count(intake, ADDED_REPOSITORIES.order) == 1
    assert take_in(intake, installation_changed(is_installed=False), "d-2") is IntakeOutcome.NOTED
    assert stored_count(intake, keys.UNINSTALLATIONS) == 1
    assert intake.store.first_seen.seen_since(InstallationId(1), RepositoryId(7)) is not None
    removal = installation_changed(removed_repositories=(RepositoryId(7),))
    assert take_in(intake, removal, "d-4") is IntakeOutcome.NOTED
    assert intake.store.first_seen.seen_since(InstallationId(1), RepositoryId(7)) is None
    assert take_in(intake, installation_changed(has_new_permissions=True), "d-5") is IntakeOutcome.NOTED
    assert stored_count(intake, keys.UNINSTALLATIONS) == 1, "the notice arrived late"
    assert take_in(intake, INSTALLED, "d-3") is IntakeOutcome.NOTED
    assert stored_count(intake, keys.UNINSTALLATIONS) == 0


@pytest.fixture(scope="module")
def west() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.fixture
def web_server(redis_server: RedisServer, west: RedisServer) -> Iterator[WebServer]:
    cells = {"main": SecretStr(redis_server.url), "west": SecretStr(west.url)}
    with launch_web_server(redis_server, cells=cells) as server:
        server.reset()
        west.execute("FLUSHALL")
        yield server


def has_delivery(server: RedisServer) -> bool:
    return bool(server.execute("KEYS", "assay:delivery:*"))


@pytest.mark.parametrize(
    ("residence", "is_west"),
    [(None, False), ("main", False), ("main moved west", False), ("west", True), ("west moved main", True)],
)
def test_delivery_is_stored_in_the_cell_of_its_installation(
    web_server: WebServer, redis_server: RedisServer, west: RedisServer, residence: str | None, *, is_west: bool
) -> None:
    if residence:
        web_server.redis_client.hset(keys.CELLS.name, "1", residence)
    assert web_server.deliver("pull_request", payload()).status_code == HTTPStatus.ACCEPTED
    assert (has_delivery(redis_server), has_delivery(west)) == (not is_west, is_west)


@pytest.mark.parametrize(
    ("residence", "reason"),
    [
        ("west moving main", "installation 1 is being moved to the cell west"),
        ("main moving west", "installation 1 is being moved to the cell main"),
        ("east", "ASSAY_CELLS lacks the cell east of installation 1"),
    ],
)
def test_delivery_is_refused_with_retry_after_while_its_cell_is_unavailable(
    web_server: WebServer, redis_server: RedisServer, west: RedisServer, residence: str, reason: str
) -> None:
    web_server.redis_client.hset(keys.CELLS.name, "1", residence)
    for event, content in (
        ("pull_request", payload()),
        ("installation", {"action": "created", "installation": {"id": 1}}),
    ):
        answer = web_server.deliver(event, content)
        assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert int(answer.headers["Retry-After"]) > 0
        assert reason in answer.json()["error"]
    assert not has_delivery(redis_server)
    assert not has_delivery(west)


def test_move_of_one_installation_does_not_delay_another(web_server: WebServer, redis_server: RedisServer) -> None:
    web_server.redis_client.hset(keys.CELLS.name, "1", "west moving main")
    assert web_server.deliver("pull_request", payload(installation={"id": 2})).status_code == HTTPStatus.ACCEPTED
    assert has_delivery(redis_server)
