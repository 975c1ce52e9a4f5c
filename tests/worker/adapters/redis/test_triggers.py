"""What the door writes down decides when a pull request is judged, and what wakes it again."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from tests.worker.adapters.redis.played import (
    AT,
    HEAD,
    NEWER,
    becomes_due,
    close_pull,
    complete_check,
    judged_once,
    pull,
    wish,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text, whole
from worker.adapters.redis.judging import intake
from worker.adapters.redis.keys import ADDED_REPOSITORIES
from worker.adapters.redis.records.records import add_repositories
from worker.adapters.redis.store import Store
from worker.domain.ids import CheckRunId, InstallationId, RepositoryId, hash_base
from worker.domain.judge_request import AuthorKind, FirstSeen, JudgeRequest, Trigger
from worker.domain.lifecycle.intake import NO_HEAD, IntakeOutcome, NamedHead
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead, LeasedJob
from worker.domain.pull_request_events import RepositoryAdded, hash_issue
from worker.scheduling.jobs import request_after_ci
from worker.settings import Timing

CALLS = count(1)
HERE = (InstallationId(100), RepositoryId(7))
MAIN, OWN = hash_base("main"), hash_base("agents-own")
QUIET = Timing(quiet_window=45, quiet_max=300, gather=2)
WEEKS = timedelta(weeks=2)


@dataclass(frozen=True)
class At:
    """A commit that something is heard of."""

    head_sha: str = HEAD
    installation_id: InstallationId = HERE[0]
    repository_id: RepositoryId = HERE[1]


def wanted(store: Store, **changes: Any) -> IntakeOutcome:
    return intake.request_judging(store.client, wish(**changes), QUIET).outcome


def nudged(store: Store, head_sha: str = HEAD) -> IntakeOutcome:
    return complete_check(store, At(head_sha), QUIET)


def due_in(store: Store) -> float | None:
    """Seconds until it is judged; None: nothing is due."""
    plan = store.pulls.find_plan(pull())
    return None if plan is None else (plan.due_at - datetime.now(UTC)).total_seconds()  # noqa: TID251 - Redis' own clock


def field_of(store: Store, number: int, name: str) -> str:
    return text(store.client.call("HGET", keys.pull(pull(number)).name, name))


def wanted_of(store: Store, number: int) -> JudgeRequest:
    return JudgeRequest.model_validate_json(field_of(store, number, "req"))


def taken(store: Store) -> LeasedJob:
    becomes_due(store, pull())
    given = store.pulls.next_due(f"call-{next(CALLS)}", DispatchLimits(3, 3))
    assert given is not None
    found = store.pulls.take_lease(pull(), given.fence)
    assert found is not None
    return found


def judged(store: Store) -> FinishResult:
    return store.pulls.finish(taken(store).lease, Finish.JUDGED)


def near(found: float | None, expected: float) -> bool:
    return found is not None and abs(found - expected) < 1.5


@pytest.mark.parametrize(("trigger", "seconds"), [(Trigger.PUSHED, 45), (Trigger.EDITED, 2), (Trigger.COMMAND, 0)])
def test_the_settings_say_how_long_a_request_waits(store: Store, trigger: Trigger, seconds: float) -> None:
    wanted(store, trigger=trigger)
    assert near(due_in(store), seconds)


def test_a_repository_may_set_its_own_quiet_window_and_forget_it_again(store: Store) -> None:
    intake.set_window(store.client, *HERE, MAIN, 600)
    wanted(store, base=MAIN)
    plan = store.pulls.find_plan(pull())
    assert near(due_in(store), 600)
    assert plan is not None
    assert plan.window_s == 600
    intake.set_window(store.client, *HERE, MAIN, None)
    wanted(store, base=MAIN, head_sha=NEWER)
    assert near(due_in(store), 45)


@pytest.mark.parametrize("base", [OWN, None])
def test_the_quiet_window_of_one_base_is_no_others(store: Store, base: str | None) -> None:
    intake.set_window(store.client, *HERE, MAIN, 600)
    wanted(store, base=base)
    plan = store.pulls.find_plan(pull())
    assert plan is not None
    assert (near(due_in(store), 45), plan.window_s) == (True, 45)


@pytest.mark.parametrize("trigger", [Trigger.EDITED, Trigger.CI, Trigger.CRITERIA])
def test_what_names_no_base_leaves_the_window_that_runs(store: Store, trigger: Trigger) -> None:
    intake.set_window(store.client, *HERE, MAIN, 600)
    wanted(store, base=MAIN)
    wanted(store, trigger=trigger)
    plan = store.pulls.find_plan(pull())
    assert plan is not None
    assert (near(due_in(store), 600), plan.window_s) == (True, 600)


def test_who_goes_into_another_base_while_it_waits_waits_as_that_one_says(store: Store) -> None:
    intake.set_window(store.client, *HERE, OWN, 86_400)
    wanted(store, base=OWN)
    store.pulls.mark_opened(pull(), HEAD)
    wanted(store, trigger=Trigger.BASE, base=MAIN)
    plan = store.pulls.find_plan(pull())
    assert plan is not None
    assert (near(due_in(store), 45), plan.window_s) == (True, 45)
    assert store.pulls.next_to_open() is not None, "its check says the new time"
    wanted(store, trigger=Trigger.BASE, base=OWN)
    assert near(due_in(store), 86_400)


def base(store: Store) -> str:
    """Which base is known."""
    return text(store.client.call("HGET", keys.pull(pull()).name, "base"))


def test_only_what_tells_of_another_base_changes_which_one_is_known(store: Store) -> None:
    wanted(store)
    assert base(store) == ""
    wanted(store, base=OWN)
    wanted(store, head_sha=NEWER, base=MAIN)
    assert base(store) == OWN, "that may be told late: whoever looks around asks GitHub"
    wanted(store, trigger=Trigger.BASE, head_sha=NEWER, base=MAIN)
    assert base(store) == MAIN
    judged(store)
    wanted(store, trigger=Trigger.LATE)
    assert base(store) == store.pulls.record_base(pull(), OWN) == MAIN


def test_an_edited_text_is_judged_by_though_all_but_the_verdict_is_forgotten(store: Store) -> None:
    judged_once(store)
    assert wanted(store, trigger=Trigger.TEXT) is IntakeOutcome.QUEUED
    assert near(due_in(store), 45)
    assert field_of(store, 1, "again") == "text_edited"


def test_a_late_word_of_a_draft_keeps_nobody_from_setting_a_check_right(store: Store) -> None:
    wanted(store)
    wanted(store, draft=True)
    found = taken(store)
    assert found.request.draft
    assert store.pulls.finish(found.lease, Finish.JUDGED, of=JudgedHead(HEAD)) is FinishResult.CLOSED
    store.pulls.request_correction(found.lease, found.request)
    assert near(due_in(store), 0)
    judged(store)
    assert store.pulls.requeue_orphaned(pull(), CheckRunId(5))
    assert near(due_in(store), 0)


def test_a_head_that_no_delivery_named_is_known_by_its_verdict(store: Store) -> None:
    wanted(store)
    assert nudged(store, NEWER) is IntakeOutcome.UNKNOWN
    found = taken(store)
    later = request_after_ci(found.request, found.lease.fence, AT)
    assert store.pulls.finish(found.lease, Finish.JUDGED, later=later, of=JudgedHead(NEWER)) is FinishResult.CLOSED
    assert [one.pull.number for one in intake.find_requests_by_head(store.client, At(NEWER))] == [1]
    assert nudged(store, NEWER) is IntakeOutcome.COALESCED


@pytest.mark.parametrize(
    ("asked", "then", "judged_as"),
    [
        (Trigger.COMMAND, Trigger.PUSHED, Trigger.COMMAND),
        (Trigger.RERUN, Trigger.PUSHED, Trigger.COMMAND),
        (Trigger.COMMAND, Trigger.RERUN, Trigger.RERUN),
        (Trigger.FORCE, Trigger.RERUN, Trigger.FORCE),
        (Trigger.CONTEST, Trigger.CI, Trigger.CONTEST),
        (Trigger.REVIEW, Trigger.PUSHED, Trigger.PUSHED),
    ],
)
def test_what_was_asked_for_by_hand_stays_asked_for(
    store: Store, asked: Trigger, then: Trigger, judged_as: Trigger
) -> None:
    wanted(store, trigger=asked)
    wanted(store, trigger=then, head_sha=NEWER)
    assert taken(store).request.trigger is judged_as


def test_when_a_head_came_is_kept_whatever_asks_for_it_since(store: Store) -> None:
    came = FirstSeen(head_sha=HEAD, at=AT)
    wanted(store, arrived=came)
    wanted(store, trigger=Trigger.COMMAND, head_sha=None, requested_at=AT + timedelta(minutes=3))
    assert taken(store).request.arrived == came
    wanted(store, trigger=Trigger.RERUN, head_sha=NEWER)
    assert field_of(store, 1, "came") == ""


def test_a_late_commit_is_known_as_an_earlier_head(store: Store) -> None:
    for head, before in ((HEAD, NO_HEAD), ("3" * 40, NEWER)):
        intake.request_judging(store.client, wish(head_sha=head), QUIET, NamedHead(before))
    late = intake.request_judging(store.client, wish(head_sha=NEWER), QUIET, NamedHead(HEAD))
    assert late.outcome is IntakeOutcome.LATE
    heads = keys.heads(*HERE, NEWER).name
    assert items(store.client.call("SMEMBERS", heads)) == [b"1"], "`assay wait` for it learns of the newer one"
    assert whole(store.client.call("TTL", heads)) > 0


# Other checks


def green(store: Store, head_sha: str = HEAD) -> IntakeOutcome:
    return complete_check(store, At(head_sha), QUIET, is_green=True)


def test_green_ci_ends_the_quiet_window_of_its_own_head(store: Store) -> None:
    wanted(store)
    assert green(store, NEWER) is IntakeOutcome.UNKNOWN
    assert near(due_in(store), 45)
    assert green(store) is IntakeOutcome.COALESCED
    assert near(due_in(store), 2)
    assert green(store) is IntakeOutcome.COALESCED
    found = due_in(store)
    assert found is not None
    assert found < 2, "a second one does not put it off"


def test_a_push_with_a_case_waits_for_no_window_and_a_drafts_still_rests(store: Store) -> None:
    by = NamedHead(has_case=True)
    intake.request_judging(store.client, wish(head_sha=HEAD, trigger=Trigger.PUSHED, draft=True), QUIET, by)
    assert due_in(store) is None
    intake.request_judging(store.client, wish(head_sha=NEWER, trigger=Trigger.PUSHED), QUIET, by)
    assert near(due_in(store), 0)


def waits_for_ci(store: Store, poll_s: float = 600) -> None:
    wanted(store)
    assert store.pulls.finish(taken(store).lease, Finish.WAIT, timedelta(seconds=poll_s)) is FinishResult.LATER


def test_who_waits_for_ci_looks_once_soon_after_the_last_of_a_burst(store: Store) -> None:
    waits_for_ci(store)
    assert [nudged(store), nudged(store)] == [IntakeOutcome.COALESCED] * 2
    assert near(due_in(store), 2)
    assert taken(store).waiting_since is not None


def ends_for_ci(store: Store) -> FinishResult:
    return ends_held(store, taken(store))


def test_a_verdict_that_ci_stood_in_the_way_of_is_made_again_when_it_moves(store: Store) -> None:
    wanted(store)
    assert ends_for_ci(store) is FinishResult.CLOSED
    assert due_in(store) is None
    assert nudged(store) is IntakeOutcome.COALESCED
    assert near(due_in(store), 2)
    assert taken(store).request.trigger is Trigger.CI


def ends_held(store: Store, found: LeasedJob) -> FinishResult:
    return store.pulls.finish(found.lease, Finish.JUDGED, later=request_after_ci(found.request, found.lease.fence, AT))


# Several pull requests, and closed ones


def test_a_head_is_known_with_every_pull_request_that_it_is_of(store: Store) -> None:
    wanted(store, number=1)
    wanted(store, number=2)
    wanted(store, number=3, head_sha=NEWER)
    assert sorted(one.pull.number for one in intake.find_requests_by_head(store.client, At())) == [1, 2]


def test_those_that_are_open_are_found_among_many_that_are_not(store: Store) -> None:
    index = keys.judged_bases(*HERE, MAIN)
    for number in range(intake.MOST_OUTSIDE_WAITING + 50):
        store.client.call("ZADD", index.name, number, number)
    for number in (1, 3, 140):
        intake.request_judging(store.client, wish(number), QUIET)
    assert [one.pull.number for one in intake.find_requests_by_base(store.client, *HERE, MAIN)] == []
    for number in (1, 3, 140):
        store.client.call("HDEL", keys.pull(pull(number)).name, "state")
    assert [one.pull.number for one in intake.find_requests_by_base(store.client, *HERE, MAIN)] == [140, 3, 1]


def test_who_was_judged_for_a_base_is_known_there_for_a_while(store: Store) -> None:
    index = keys.judged_bases(*HERE, MAIN)
    store.client.call("ZADD", index.name, 1, 99)
    wanted(store)
    store.pulls.finish(taken(store).lease, Finish.JUDGED, of=JudgedHead(HEAD, MAIN))
    assert [text(one) for one in items(store.client.call("ZRANGE", index.name, 0, -1))] == ["1"]
    assert whole(store.client.call("TTL", index.name)) > 0


def test_an_issue_is_known_with_the_open_pull_requests_that_were_judged_by_it(store: Store) -> None:
    for number in (1, 2):
        wanted(store, number=number)
        store.outcomes.competing_pulls(pull(number), "mark")
    close_pull(store, pull(2), WEEKS)
    assert [one.pull.number for one in intake.find_requests_by_issue(store.client, HERE[0], "mark")] == [1]
    assert intake.find_requests_by_issue(store.client, HERE[0], "another") == ()
    assert intake.find_requests_by_issue(store.client, InstallationId(101), "mark") == ()


def test_who_is_judged_for_the_first_time_is_known_with_its_base_and_its_issues(store: Store) -> None:
    wanted(store)
    mark = hash_issue("acme/specs", 9)
    for _ in range(2):
        store.outcomes.begin_submission(pull(), "alice", MAIN, (("Acme/Specs", 9),))
    assert [one.pull for one in intake.find_requests_by_issue(store.client, HERE[0], mark)] == [pull()]
    assert [one.pull for one in intake.find_requests_by_base(store.client, *HERE, MAIN)] == []
    taken(store)
    assert [one.pull for one in intake.find_requests_by_base(store.client, *HERE, MAIN)] == [pull()], (
        "it waits for nothing else"
    )
    for key in (keys.judged_bases(*HERE, MAIN), keys.issue_pulls(HERE[0], mark)):
        assert whole(store.client.call("TTL", key.name)) > 0


def test_whose_first_verdict_is_still_to_come_is_nobodys_rival_and_keeps_its_place_after_it(store: Store) -> None:
    issue, mark = ("acme/specs", 9), hash_issue("acme/specs", 9)
    store.outcomes.begin_submission(pull(1), "alice", MAIN, (issue,))
    store.outcomes.begin_submission(pull(2), "alice", MAIN, (issue,))
    assert store.outcomes.competing_pulls(pull(2), mark) == ()
    assert store.outcomes.competing_pulls(pull(1), mark) == (pull(2),)
    store.outcomes.begin_submission(pull(2), "alice", MAIN, (issue,))
    assert store.outcomes.competing_pulls(pull(2), mark) == ()
    assert store.outcomes.competing_pulls(pull(1), mark) == (pull(2),)


def test_who_closes_no_issue_is_known_with_its_base(store: Store) -> None:
    store.outcomes.begin_submission(pull(), "alice", MAIN, ())
    assert store.client.call("ZSCORE", keys.judged_bases(*HERE, MAIN).name, 1)


def test_an_issue_is_known_with_the_pull_requests_of_every_repository_here(store: Store) -> None:
    beside = pull(2, repository=8)
    for one in (pull(), beside):
        intake.request_judging(store.client, wish(pull=one), QUIET)
        assert store.outcomes.competing_pulls(one, "mark") == (), "a rival is one of the same repository"
    known = [one.pull for one in intake.find_requests_by_issue(store.client, HERE[0], "mark")]
    assert sorted(known, key=lambda one: one.repository_id) == [pull(), beside]


def test_a_pull_request_that_is_closed_is_looked_at_if_something_of_it_is_unfinished(store: Store) -> None:
    close_pull(store, pull(), WEEKS)
    wanted(store)
    judged(store)
    close_pull(store, pull(), WEEKS)
    assert due_in(store) is None
    wanted(store, draft=True)
    store.checks().record_waiting(pull(), HEAD, CheckRunId(5), is_watched=False)
    close_pull(store, pull(), WEEKS)
    assert near(due_in(store), 0)


def test_a_closed_one_in_its_quiet_window_is_looked_at_now_and_reopened_it_counts_again(store: Store) -> None:
    wanted(store)
    close_pull(store, pull(), WEEKS)
    assert near(due_in(store), 0)
    assert intake.find_requests_by_head(store.client, At()) == ()
    wanted(store, trigger=Trigger.REOPENED)
    assert len(intake.find_requests_by_head(store.client, At())) == 1


# What nobody judges after all


def test_what_is_left_alone_is_not_due_any_more_unless_something_else_was_asked(store: Store) -> None:
    request = wish(author=AuthorKind.PERSON)
    intake.request_judging(store.client, request, QUIET)
    assert store.pulls.withdraw(request)
    assert due_in(store) is None
    assert not store.pulls.withdraw(request)
    wanted(store, trigger=Trigger.COMMAND)
    assert not store.pulls.withdraw(request)
    assert near(due_in(store), 0)
    pushed = wish(author=AuthorKind.PERSON)
    intake.request_judging(store.client, pushed, QUIET)
    assert not store.pulls.withdraw(pushed)


# Repositories that are new to us


def greeting(repository: int = 7) -> RepositoryAdded:
    return RepositoryAdded(
        installation_id=HERE[0], repository_id=RepositoryId(repository), repository="acme/widgets", since=AT
    )


def test_a_repository_that_is_new_to_us_is_looked_at_until_it_is_done(store: Store) -> None:
    add_repositories(store.client, [])
    add_repositories(store.client, [greeting(number) for number in range(1, 103)])
    add_repositories(store.client, [greeting(1)])
    assert whole(store.client.call("ZCARD", ADDED_REPOSITORIES.order.name)) == 102
    found = store.added_repositories.next()
    assert found is not None
    store.added_repositories.complete(found.added)
    assert whole(store.client.call("ZCARD", ADDED_REPOSITORIES.order.name)) == 101


def test_what_is_left_of_a_repository_comes_after_a_while(store: Store) -> None:
    store.added_repositories.continue_later(greeting(), timedelta(minutes=1))
    assert store.added_repositories.next() is None
    store.added_repositories.postpone(greeting().model_copy(update={"page": 1}), timedelta(0))
    found = store.added_repositories.next()
    assert found is not None
    assert found.added.page == 1
