"""Events in Redis. Invariant: an event wakes every pull request that it concerns, if need be through our own index."""

import asyncio
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from app.ingest.event_types import (
    BranchPushed,
    CiChanged,
    CommandIssued,
    Event,
    HeadRerunRequested,
    InstallationChanged,
    IssueChanged,
    MergeGroupChanged,
    PersonCommented,
    PullClosed,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReopened,
    PullRequestEdit,
    VisibleRepository,
)
from app.ingest.intake import EventIntake
from tests.app.ingest.deliveries import OLD, PULL, REPOSITORY, SHA, SOMEWHERE
from tests.worker.adapters.redis.store_samples import make_due
from worker.adapters.redis import keys
from worker.adapters.redis.connection.async_client import AsyncRedisClient
from worker.adapters.redis.connection.client import whole
from worker.adapters.redis.judging.intake import set_window
from worker.adapters.redis.keys import ADDED_REPOSITORIES, COMMANDS, PULL_REQUEST_EVENTS
from worker.adapters.redis.store import Store
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, hash_base
from worker.domain.judge_request import CommandName, PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead
from worker.domain.pull_request_events import hash_issue
from worker.process import SystemClock


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


COMMAND: dict[str, Any] = {**REPOSITORY, "comment_id": 5, "login": "alice"}


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
        PullPushed(**REPOSITORY, head_sha=OLD),
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
    take_in(intake, PullPushed(pull=waiting, repository="acme/widgets", head_sha=OLD), "pushed")
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
    take_in(intake, PullPushed(pull=moved, repository="acme/widgets", head_sha=OLD, base_ref="next"), "moved")
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
