"""Event -> Redis. Invariant: whoever is meant is woken, through our own index where the delivery names nobody."""

import asyncio
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from app.ingest.event_types import (
    AppMoved,
    BranchMoved,
    CiMoved,
    CommandGiven,
    Edit,
    Event,
    GroupTold,
    HeadRerun,
    IssueChanged,
    PersonSpoke,
    PullClosed,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReopened,
    Seen,
)
from app.ingest.intake import Intake
from tests.app.ingest.deliveries import HERE, OLD, PULL, SHA, SOMEWHERE
from tests.worker.adapters.redis.played import becomes_due
from worker.adapters.redis import keys
from worker.adapters.redis.async_client import Lane
from worker.adapters.redis.client import whole
from worker.adapters.redis.intake import Outcome, set_window
from worker.adapters.redis.pull_requests import Ended, Finish, Limits
from worker.adapters.redis.store import Store
from worker.adapters.redis.waiting_keys import ASKS, GREETINGS, HAPPENINGS
from worker.clock import SystemClock
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, base_mark
from worker.domain.request.judge_request import CommandName, PullRef, Trigger
from worker.domain.request.pull_request_events import issue_mark
from worker.domain.value import replace

INSTALLED = AppMoved(
    installation_id=InstallationId(1),
    is_there=True,
    new=(Seen(repository_id=RepositoryId(7), repository="acme/widgets"),),
)


@pytest.fixture
def intake(store: Store) -> Intake:
    store.wire.call("FLUSHALL")
    return Intake(store, SystemClock(), Lane(store.url.get_secret_value(), 1))


def took(intake: Intake, event: Event, delivery: str = "d-1") -> Outcome:
    async def take() -> Outcome:
        with closing(intake.lane):
            return await intake.take_in(event, DeliveryId(delivery))

    return asyncio.run(take())


def opened(intake: Intake) -> None:
    assert took(intake, PullOpened(**HERE, head_sha=SHA), "opened") is Outcome.QUEUED


def kept(intake: Intake, key: keys.Key) -> int:
    command = {"hash": "HLEN", "zset": "ZCARD", "set": "SCARD", "string": "EXISTS"}[key.type]
    return whole(intake.store.wire.call(command, key.name))


def newest(intake: Intake) -> Trigger | None:
    found = intake.store.pulls.request(PULL)
    return found and found.trigger


COMMAND: dict[str, Any] = {**HERE, "comment_id": 5, "login": "alice"}


def test_a_command_is_taken_down_and_a_decision_in_a_review_is_noted_too(intake: Intake) -> None:
    assert took(intake, CommandGiven(**COMMAND, command=CommandName.REJUDGE)) is Outcome.QUEUED
    assert (kept(intake, ASKS.order), kept(intake, HAPPENINGS.order)) == (1, 0)
    intake.store.wire.call("HSET", keys.watch(PULL).name, "pull", "x")
    assert took(intake, CommandGiven(**COMMAND, command=CommandName.APPROVED), "d-2") is Outcome.QUEUED
    assert (kept(intake, ASKS.order), kept(intake, HAPPENINGS.order)) == (2, 1)


def test_both_of_a_review_that_commands_and_decides_are_taken_down_once(intake: Intake) -> None:
    both = CommandGiven(**COMMAND, command=CommandName.REJUDGE, decides=CommandName.APPROVED)
    assert [took(intake, both), took(intake, both)] == [Outcome.QUEUED, Outcome.DUPLICATE]
    assert kept(intake, ASKS.order) == 2


def test_a_push_by_somebody_else_is_wanted_and_noted(intake: Intake) -> None:
    intake.store.wire.call("HSET", keys.watch(PULL).name, "pull", "x")
    assert took(intake, PullPushed(**HERE, head_sha=SHA, by_another=True)) is Outcome.QUEUED
    assert (newest(intake), kept(intake, HAPPENINGS.order)) == (Trigger.PUSHED, 1)


def test_what_a_person_says_where_nothing_was_judged_is_about_nothing(intake: Intake) -> None:
    assert took(intake, PersonSpoke(**HERE)) is Outcome.UNKNOWN


class Jumping(SystemClock):
    """A clock that was set: it shows another time than a moment ago."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return super().now() + self._by


@pytest.mark.parametrize("by", [timedelta(days=-2), timedelta(days=2)])
def test_a_clock_that_jumps_loses_no_push_and_delays_none(intake: Intake, by: timedelta) -> None:
    opened(intake)
    before = intake.store.pulls.plan(PULL)
    took(Intake(intake.store, Jumping(by), intake.lane), PullPushed(**HERE, head_sha=OLD), "pushed")
    request, after = intake.store.pulls.request(PULL), intake.store.pulls.plan(PULL)
    assert request is not None
    assert request.head_sha == OLD
    assert before is not None
    assert after is not None
    assert abs(after.due_at - before.due_at) < timedelta(minutes=1), "when it is judged is Redis' matter"


def test_a_close_is_seen_by_what_waits_for_judging(intake: Intake) -> None:
    opened(intake)
    assert took(intake, PullClosed(**HERE, head_sha=SHA, by_person=True)) is Outcome.UNKNOWN
    assert intake.store.wire.call("HGET", keys.pull(PULL).name, "over") is not None


def test_what_is_remembered_goes_after_a_close_and_stays_after_it_was_reopened(intake: Intake) -> None:
    opened(intake)
    name, store = keys.spent(PULL).name, replace(intake.store, remembered=timedelta(days=40))
    store.wire.call("HSET", name, "spent", 1)
    took(Intake(store, intake.clock, intake.lane), PullClosed(**HERE, head_sha=SHA, by_person=True))
    assert store.wire.call("TTL", name) == 40 * 86_400
    took(intake, PullReopened(**HERE, head_sha=SHA), "d-2")
    assert store.wire.call("TTL", name) == -1


def test_rerun_all_wakes_every_pull_request_with_that_head(intake: Intake) -> None:
    assert took(intake, HeadRerun(**SOMEWHERE, head_sha=SHA)) is Outcome.UNKNOWN
    opened(intake)
    assert took(intake, HeadRerun(**SOMEWHERE, head_sha=SHA), "d-2") is Outcome.COALESCED
    assert newest(intake) is Trigger.RERUN
    assert took(intake, HeadRerun(**SOMEWHERE, head_sha=SHA), "d-2") is Outcome.DUPLICATE


def test_an_edited_text_is_nothing_where_an_issue_says_what_is_asked_for_and_else_it_is_judged_by(
    intake: Intake,
) -> None:
    """An issue that is named and can't be read says nothing: it is deleted, or of a repository that the App does not see."""
    event = PullEdited(**HERE, head_sha=SHA, edit=Edit.TEXT, closes=(("other/tracker", 12), ("acme/widgets", 9)))
    opened(intake)
    assert took(intake, event) is Outcome.COALESCED
    intake.store.outcomes.rivals(PULL, issue_mark("acme/widgets", 9))
    assert took(intake, event, "d-2") is Outcome.UNKNOWN
    unread = structs.replace(event, closes=(("other/tracker", 12),))
    assert took(intake, unread, "d-3") is Outcome.COALESCED


def test_an_edited_issue_wakes_who_was_judged_by_it(intake: Intake) -> None:
    event = IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9)
    opened(intake)
    assert took(intake, event) is Outcome.UNKNOWN
    intake.store.outcomes.rivals(PULL, issue_mark("acme/widgets", 9))
    assert took(intake, event, "d-2") is Outcome.COALESCED
    assert newest(intake) is Trigger.CRITERIA


def test_an_edited_issue_wakes_who_was_judged_by_it_in_another_repository_of_the_installation(intake: Intake) -> None:
    beside = PULL.model_copy(update={"repository_id": RepositoryId(PULL.repository_id + 1)})
    for pull in (PULL, beside):
        here: dict[str, Any] = {**HERE, "pull": pull}
        took(intake, PullOpened(**here, head_sha=SHA), f"opened-{pull.repository_id}")
        intake.store.outcomes.rivals(pull, issue_mark("acme/specs", 9))
    third: dict[str, Any] = {**SOMEWHERE, "repository_id": RepositoryId(99)}
    assert took(intake, IssueChanged(**third, repository="Acme/Specs", number=9)) is Outcome.COALESCED
    requests = [intake.store.pulls.request(pull) for pull in (PULL, beside)]
    assert [one and one.trigger for one in requests] == [Trigger.CRITERIA] * 2
    elsewhere: dict[str, Any] = {**third, "installation_id": InstallationId(2)}
    assert took(intake, IssueChanged(**elsewhere, repository="acme/specs", number=9), "d-2") is Outcome.UNKNOWN


def test_ci_about_nothing_is_nothing_and_a_failure_on_an_accepted_head_is_noted(intake: Intake) -> None:
    event = CiMoved(**SOMEWHERE, head_sha=SHA, has_failed=True)
    assert took(intake, event) is Outcome.UNKNOWN
    commit = keys.commit(SOMEWHERE["installation_id"], SOMEWHERE["repository_id"], SHA)
    intake.store.wire.call("SET", commit.name, 3)
    assert took(intake, event, "d-2") is Outcome.QUEUED
    assert kept(intake, HAPPENINGS.order) == 1


NEW_CONFIG: dict[str, Any] = {"has_new_config": True, "has_new_rules": True}


def test_a_new_configuration_drops_the_quiet_window_that_the_door_knew(intake: Intake) -> None:
    here = (InstallationId(1), RepositoryId(7), base_mark("main"))
    window = keys.window(*here)
    set_window(intake.store.wire, *here, 600)
    assert took(intake, BranchMoved(**SOMEWHERE, branch="main", reverted=(OLD,))) is Outcome.QUEUED
    assert took(intake, BranchMoved(**SOMEWHERE, branch="next", **NEW_CONFIG), "d-2") is Outcome.NOTED
    assert kept(intake, window) == 1
    assert took(intake, BranchMoved(**SOMEWHERE, branch="main", **NEW_CONFIG), "d-3") is Outcome.NOTED
    assert kept(intake, window) == 0


def was_judged(intake: Intake, number: int, base: str) -> PullRef:
    """It has a verdict for this base, and waits for nothing."""
    pull = PULL.model_copy(update={"number": number})
    took(intake, PullPushed(pull=pull, repository="acme/widgets", head_sha=SHA), f"push-{number}")
    becomes_due(intake.store, pull)
    job = intake.store.pulls.next_due(f"call-{number}", Limits(9, 9))
    taken = intake.store.pulls.take(pull, job.fence) if job else None
    assert taken is not None
    intake.store.pulls.finish(taken.lease, Finish.JUDGED, of=Ended(SHA, base_mark(base)))
    return pull


def test_new_rules_have_what_was_judged_by_the_old_ones_judged_again_in_their_base_alone(intake: Intake) -> None:
    here, closed, waits, elsewhere = (
        was_judged(intake, *one) for one in ((1, "main"), (2, "main"), (3, "main"), (4, "next"))
    )
    took(intake, PullClosed(pull=closed, repository="acme/widgets", head_sha=SHA, by_person=True), "closed")
    took(intake, PullPushed(pull=waits, repository="acme/widgets", head_sha=OLD), "pushed")
    pushed = BranchMoved(**SOMEWHERE, branch="main", has_new_rules=True)
    assert took(intake, pushed, "rules") is Outcome.QUEUED
    assert took(intake, pushed, "rules") is Outcome.UNKNOWN, "it waits for that already"
    requests = {one.number: intake.store.pulls.request(one) for one in (here, closed, waits, elsewhere)}
    assert {number: one.trigger for number, one in requests.items() if one} == {
        1: Trigger.RULES,
        2: Trigger.PUSHED,
        3: Trigger.PUSHED,
        4: Trigger.PUSHED,
    }
    nobody = BranchMoved(**SOMEWHERE, branch="other", has_new_rules=True)
    assert took(intake, nobody, "elsewhere") is Outcome.UNKNOWN


def test_a_merge_group_is_handed_on(intake: Intake) -> None:
    refs: dict[str, Any] = {"head_ref": "refs/heads/x", "base_ref": "refs/heads/main"}
    event = GroupTold(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, base_sha=OLD, **refs)
    assert took(intake, event) is Outcome.QUEUED
    assert took(intake, event) is Outcome.DUPLICATE


def test_permissions_that_were_given_take_the_token_that_has_the_old_ones(intake: Intake) -> None:
    for installation in (1, 2):
        intake.store.vault.put(keys.token(InstallationId(installation)), b"ghs_old", timedelta(hours=1))
    more = AppMoved(installation_id=InstallationId(1), is_there=True, may_more=True)
    assert [took(intake, more), took(intake, more)] == [Outcome.NOTED] * 2
    left = [intake.store.vault.get(keys.token(InstallationId(one))) for one in (1, 2)]
    assert left == [None, b"ghs_old"]
    assert kept(intake, GREETINGS.order) == 0


def test_repositories_that_are_new_to_us_are_greeted_and_who_leaves_is_remembered(intake: Intake) -> None:
    assert took(intake, INSTALLED) is Outcome.NOTED
    assert kept(intake, GREETINGS.order) == 1
    assert took(intake, AppMoved(installation_id=InstallationId(1), is_there=False), "d-2") is Outcome.NOTED
    assert kept(intake, keys.LEAVING) == 1
    assert intake.store.arrivals.since(InstallationId(1), RepositoryId(7)) is not None
    gone = AppMoved(installation_id=InstallationId(1), is_there=True, gone=(RepositoryId(7),))
    assert took(intake, gone, "d-4") is Outcome.NOTED
    assert intake.store.arrivals.since(InstallationId(1), RepositoryId(7)) is None
    assert (
        took(intake, AppMoved(installation_id=InstallationId(1), is_there=True, may_more=True), "d-5") is Outcome.NOTED
    )
    assert kept(intake, keys.LEAVING) == 1, "told late"
    assert took(intake, INSTALLED, "d-3") is Outcome.NOTED
    assert kept(intake, keys.LEAVING) == 0
