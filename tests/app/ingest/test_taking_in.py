"""Event -> Redis. Invariant: whoever is meant is woken, through our own index where the delivery names nobody."""

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
from worker.clock import SystemClock
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, hash_base
from worker.domain.judge_request import CommandName, PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead
from worker.domain.pull_request_events import hash_issue

INSTALLED = InstallationChanged(
    installation_id=InstallationId(1),
    is_installed=True,
    added_repositories=(VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets"),),
)


@pytest.fixture
def intake(store: Store) -> EventIntake:
    store.client.call("FLUSHALL")
    return EventIntake(store, SystemClock(), AsyncRedisClient(store.url.get_secret_value(), 1))


def took(intake: EventIntake, event: Event, delivery: str = "d-1") -> IntakeOutcome:
    """Take an event in and apply it."""

    async def take() -> IntakeOutcome:
        with closing(intake.async_client):
            return await intake.take_in(event, DeliveryId(delivery))

    outcome, inbox = asyncio.run(take()), intake.store.inbox
    applied = [inbox.apply(entry) for entry in inbox.read(10)]
    return applied[-1].outcome if applied and applied[-1] else outcome


def opened(intake: EventIntake) -> None:
    assert took(intake, PullOpened(**REPOSITORY, head_sha=SHA), "opened") is IntakeOutcome.QUEUED


def kept(intake: EventIntake, key: keys.Key) -> int:
    command = {"hash": "HLEN", "zset": "ZCARD", "set": "SCARD", "string": "EXISTS"}[key.type]
    return whole(intake.store.client.call(command, key.name))


def newest(intake: EventIntake) -> Trigger | None:
    found = intake.store.pulls.find_request(PULL)
    return found and found.trigger


COMMAND: dict[str, Any] = {**REPOSITORY, "comment_id": 5, "login": "alice"}


def test_a_command_is_taken_down_and_a_decision_in_a_review_is_noted_too(intake: EventIntake) -> None:
    assert took(intake, CommandIssued(**COMMAND, command=CommandName.REJUDGE)) is IntakeOutcome.QUEUED
    assert (kept(intake, COMMANDS.order), kept(intake, PULL_REQUEST_EVENTS.order)) == (1, 0)
    intake.store.client.call("HSET", keys.watch(PULL).name, "pull", "x")
    assert took(intake, CommandIssued(**COMMAND, command=CommandName.APPROVED), "d-2") is IntakeOutcome.QUEUED
    assert (kept(intake, COMMANDS.order), kept(intake, PULL_REQUEST_EVENTS.order)) == (2, 1)


def test_both_of_a_review_that_commands_and_decides_are_taken_down_once(intake: EventIntake) -> None:
    both = CommandIssued(**COMMAND, command=CommandName.REJUDGE, decides=CommandName.APPROVED)
    assert [took(intake, both), took(intake, both)] == [IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE]
    assert kept(intake, COMMANDS.order) == 2


def test_a_push_by_somebody_else_is_wanted_and_noted(intake: EventIntake) -> None:
    intake.store.client.call("HSET", keys.watch(PULL).name, "pull", "x")
    assert took(intake, PullPushed(**REPOSITORY, head_sha=SHA, by_another=True)) is IntakeOutcome.QUEUED
    assert (newest(intake), kept(intake, PULL_REQUEST_EVENTS.order)) == (Trigger.PUSHED, 1)


def test_what_a_person_says_where_nothing_was_judged_is_about_nothing(intake: EventIntake) -> None:
    assert took(intake, PersonCommented(**REPOSITORY)) is IntakeOutcome.UNKNOWN


class Jumping(SystemClock):
    """A clock that was set: it shows another time than a moment ago."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return super().now() + self._by


@pytest.mark.parametrize("by", [timedelta(days=-2), timedelta(days=2)])
def test_a_clock_that_jumps_loses_no_push_and_delays_none(intake: EventIntake, by: timedelta) -> None:
    opened(intake)
    before = intake.store.pulls.find_plan(PULL)
    took(EventIntake(intake.store, Jumping(by), intake.async_client), PullPushed(**REPOSITORY, head_sha=OLD), "pushed")
    request, after = intake.store.pulls.find_request(PULL), intake.store.pulls.find_plan(PULL)
    assert request is not None
    assert request.head_sha == OLD
    assert before is not None
    assert after is not None
    assert abs(after.due_at - before.due_at) < timedelta(minutes=1), "when it is judged is Redis' matter"


def test_a_close_is_seen_by_what_waits_for_judging(intake: EventIntake) -> None:
    opened(intake)
    assert took(intake, PullClosed(**REPOSITORY, head_sha=SHA, by_person=True)) is IntakeOutcome.UNKNOWN
    assert intake.store.client.call("HGET", keys.pull(PULL).name, "over") is not None


def test_what_is_remembered_goes_after_a_close_and_stays_after_it_was_reopened(intake: EventIntake) -> None:
    opened(intake)
    name, store = keys.pull_request_cost(PULL).name, replace(intake.store, ledger_retention=timedelta(days=40))
    store.client.call("HSET", name, "spent", 1)
    took(EventIntake(store, intake.clock, intake.async_client), PullClosed(**REPOSITORY, head_sha=SHA, by_person=True))
    assert store.client.call("TTL", name) == 40 * 86_400
    took(intake, PullReopened(**REPOSITORY, head_sha=SHA), "d-2")
    assert store.client.call("TTL", name) == -1


def test_rerun_all_wakes_every_pull_request_with_that_head(intake: EventIntake) -> None:
    assert took(intake, HeadRerunRequested(**SOMEWHERE, head_sha=SHA)) is IntakeOutcome.UNKNOWN
    opened(intake)
    assert took(intake, HeadRerunRequested(**SOMEWHERE, head_sha=SHA), "d-2") is IntakeOutcome.COALESCED
    assert newest(intake) is Trigger.RERUN
    assert took(intake, HeadRerunRequested(**SOMEWHERE, head_sha=SHA), "d-2") is IntakeOutcome.DUPLICATE


def test_an_edited_text_is_nothing_where_an_issue_says_what_is_asked_for_and_else_it_is_judged_by(
    intake: EventIntake,
) -> None:
    """An issue that is named and can't be read says nothing: it is deleted, or of a repository that the App does not see."""
    event = PullEdited(
        **REPOSITORY, head_sha=SHA, edit=PullRequestEdit.TEXT, closes=(("other/tracker", 12), ("acme/widgets", 9))
    )
    opened(intake)
    assert took(intake, event) is IntakeOutcome.COALESCED
    intake.store.outcomes.competing_pulls(PULL, hash_issue("acme/widgets", 9))
    assert took(intake, event, "d-2") is IntakeOutcome.UNKNOWN
    unread = structs.replace(event, closes=(("other/tracker", 12),))
    assert took(intake, unread, "d-3") is IntakeOutcome.COALESCED


def test_an_edited_issue_wakes_who_was_judged_by_it(intake: EventIntake) -> None:
    event = IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9)
    opened(intake)
    assert took(intake, event) is IntakeOutcome.UNKNOWN
    intake.store.outcomes.competing_pulls(PULL, hash_issue("acme/widgets", 9))
    assert took(intake, event, "d-2") is IntakeOutcome.COALESCED
    assert newest(intake) is Trigger.CRITERIA


def test_an_edited_issue_wakes_who_was_judged_by_it_in_another_repository_of_the_installation(
    intake: EventIntake,
) -> None:
    beside = PULL.model_copy(update={"repository_id": RepositoryId(PULL.repository_id + 1)})
    for pull in (PULL, beside):
        here: dict[str, Any] = {**REPOSITORY, "pull": pull}
        took(intake, PullOpened(**here, head_sha=SHA), f"opened-{pull.repository_id}")
        intake.store.outcomes.competing_pulls(pull, hash_issue("acme/specs", 9))
    third: dict[str, Any] = {**SOMEWHERE, "repository_id": RepositoryId(99)}
    assert took(intake, IssueChanged(**third, repository="Acme/Specs", number=9)) is IntakeOutcome.COALESCED
    requests = [intake.store.pulls.find_request(pull) for pull in (PULL, beside)]
    assert [request and request.trigger for request in requests] == [Trigger.CRITERIA] * 2
    elsewhere: dict[str, Any] = {**third, "installation_id": InstallationId(2)}
    assert took(intake, IssueChanged(**elsewhere, repository="acme/specs", number=9), "d-2") is IntakeOutcome.UNKNOWN


def test_ci_about_nothing_is_nothing_and_a_failure_on_an_accepted_head_is_noted(intake: EventIntake) -> None:
    event = CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True)
    assert took(intake, event) is IntakeOutcome.UNKNOWN
    commit = keys.commit(SOMEWHERE["installation_id"], SOMEWHERE["repository_id"], SHA)
    intake.store.client.call("SET", commit.name, 3)
    assert took(intake, event, "d-2") is IntakeOutcome.QUEUED
    assert kept(intake, PULL_REQUEST_EVENTS.order) == 1


NEW_CONFIG: dict[str, Any] = {"has_new_config": True, "has_new_rules": True}


def test_a_new_configuration_drops_the_quiet_window_that_the_door_knew(intake: EventIntake) -> None:
    here = (InstallationId(1), RepositoryId(7), hash_base("main"))
    window = keys.window(*here)
    set_window(intake.store.client, *here, 600)
    assert took(intake, BranchPushed(**SOMEWHERE, branch="main", reverted_commits=(OLD,))) is IntakeOutcome.QUEUED
    assert took(intake, BranchPushed(**SOMEWHERE, branch="next", **NEW_CONFIG), "d-2") is IntakeOutcome.NOTED
    assert kept(intake, window) == 1
    assert took(intake, BranchPushed(**SOMEWHERE, branch="main", **NEW_CONFIG), "d-3") is IntakeOutcome.NOTED
    assert kept(intake, window) == 0


def was_judged(intake: EventIntake, number: int, base: str) -> PullRef:
    """It has a verdict for this base, and waits for nothing."""
    pull = PULL.model_copy(update={"number": number})
    took(intake, PullPushed(pull=pull, repository="acme/widgets", head_sha=SHA), f"push-{number}")
    make_due(intake.store, pull)
    job = intake.store.pulls.next_due(f"call-{number}", DispatchLimits(9, 9))
    taken = intake.store.pulls.take_lease(pull, job.fence) if job else None
    assert taken is not None
    intake.store.pulls.finish(taken.lease, Finish.JUDGED, of=JudgedHead(SHA, hash_base(base)))
    return pull


def test_new_rules_have_what_was_judged_by_the_old_ones_judged_again_in_their_base_alone(intake: EventIntake) -> None:
    here, closed, waits, elsewhere = (
        was_judged(intake, *one) for one in ((1, "main"), (2, "main"), (3, "main"), (4, "next"))
    )
    took(intake, PullClosed(pull=closed, repository="acme/widgets", head_sha=SHA, by_person=True), "closed")
    took(intake, PullPushed(pull=waits, repository="acme/widgets", head_sha=OLD), "pushed")
    pushed = BranchPushed(**SOMEWHERE, branch="main", has_new_rules=True)
    assert took(intake, pushed, "rules") is IntakeOutcome.QUEUED
    assert took(intake, pushed, "rules") is IntakeOutcome.UNKNOWN, "it waits for that already"
    requests = {one.number: intake.store.pulls.find_request(one) for one in (here, closed, waits, elsewhere)}
    assert {number: request.trigger for number, request in requests.items() if request} == {
        1: Trigger.RULES,
        2: Trigger.PUSHED,
        3: Trigger.PUSHED,
        4: Trigger.PUSHED,
    }
    nobody = BranchPushed(**SOMEWHERE, branch="other", has_new_rules=True)
    assert took(intake, nobody, "elsewhere") is IntakeOutcome.UNKNOWN


def test_a_force_push_has_what_is_compared_with_the_branch_judged_again(intake: EventIntake) -> None:
    here, moved = was_judged(intake, 1, "main"), was_judged(intake, 2, "main")
    took(intake, PullPushed(pull=moved, repository="acme/widgets", head_sha=OLD, base_ref="next"), "moved")
    forced = BranchPushed(**SOMEWHERE, branch="main", is_rewritten=True)
    assert took(intake, forced, "forced") is IntakeOutcome.QUEUED
    requests = [intake.store.pulls.find_request(pull) for pull in (here, moved)]
    assert [request and request.trigger for request in requests] == [Trigger.BASE, Trigger.PUSHED]


def test_a_merge_group_is_handed_on(intake: EventIntake) -> None:
    refs: dict[str, Any] = {"head_ref": "refs/heads/x", "base_ref": "refs/heads/main"}
    event = MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, base_sha=OLD, **refs)
    assert took(intake, event) is IntakeOutcome.QUEUED
    assert took(intake, event) is IntakeOutcome.DUPLICATE


def test_permissions_that_were_given_take_the_token_that_has_the_old_ones(intake: EventIntake) -> None:
    for installation in (1, 2):
        intake.store.vault.put(keys.token(InstallationId(installation)), b"ghs_old", timedelta(hours=1))
    more = InstallationChanged(installation_id=InstallationId(1), is_installed=True, has_new_permissions=True)
    assert [took(intake, more), took(intake, more)] == [IntakeOutcome.NOTED] * 2
    left = [intake.store.vault.get(keys.token(InstallationId(one))) for one in (1, 2)]
    assert left == [None, b"ghs_old"]
    assert kept(intake, ADDED_REPOSITORIES.order) == 0


def test_repositories_that_are_new_to_us_are_greeted_and_who_leaves_is_remembered(intake: EventIntake) -> None:
    assert took(intake, INSTALLED) is IntakeOutcome.NOTED
    assert kept(intake, ADDED_REPOSITORIES.order) == 1
    assert (
        took(intake, InstallationChanged(installation_id=InstallationId(1), is_installed=False), "d-2")
        is IntakeOutcome.NOTED
    )
    assert kept(intake, keys.UNINSTALLATIONS) == 1
    assert intake.store.first_seen.seen_since(InstallationId(1), RepositoryId(7)) is not None
    gone = InstallationChanged(
        installation_id=InstallationId(1), is_installed=True, removed_repositories=(RepositoryId(7),)
    )
    assert took(intake, gone, "d-4") is IntakeOutcome.NOTED
    assert intake.store.first_seen.seen_since(InstallationId(1), RepositoryId(7)) is None
    assert (
        took(
            intake,
            InstallationChanged(installation_id=InstallationId(1), is_installed=True, has_new_permissions=True),
            "d-5",
        )
        is IntakeOutcome.NOTED
    )
    assert kept(intake, keys.UNINSTALLATIONS) == 1, "told late"
    assert took(intake, INSTALLED, "d-3") is IntakeOutcome.NOTED
    assert kept(intake, keys.UNINSTALLATIONS) == 0
