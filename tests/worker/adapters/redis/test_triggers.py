"""What the door writes down decides when a pull request is judged, and what wakes it again.

What makes which state is in the tests of the lifecycle.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    NO_LIMITS,
    REQUESTED_AT,
    close_pull_request,
    complete_check,
    dispatch_next,
    judge_request,
    pull_ref,
    record_verdict,
    start_judging,
    ttl_s,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import find_server_time, items, text
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.ids import CheckRunId, InstallationId, RepositoryId, hash_base
from worker.domain.judge_request import FirstSeen, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import NO_HEAD, IntakeOutcome, NamedHead
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead, LeasedJob, PendingCheckRun
from worker.domain.pull_request_events import hash_issue
from worker.scheduling.jobs import request_after_ci
from worker.settings import WRITES_AN_HOUR, WRITES_EACH, Timing

HERE = (InstallationId(100), RepositoryId(7))
MAIN, OWN = hash_base("main"), hash_base("agents-own")
QUIET = Timing(quiet_window=45, quiet_max=300, gather=2)
NOW = Timing(quiet_window=0, quiet_max=0)
WEEKS = timedelta(weeks=2)
ISSUE = ("acme/specs", 9)
MARK = hash_issue(*ISSUE)


@dataclass(frozen=True)
class At:
    """A commit that something is heard of."""

    head_sha: str = HEAD
    installation_id: InstallationId = HERE[0]
    repository_id: RepositoryId = HERE[1]


def wanted(store: Store, by: NamedHead | None = None, **changes: Any) -> IntakeOutcome:
    return intake.request_judging(store.client, judge_request(**changes), QUIET, by).outcome


def nudged(store: Store, head_sha: str = HEAD, *, is_green: bool = False) -> IntakeOutcome:
    return complete_check(store, At(head_sha), QUIET, is_green=is_green)


def due_in(store: Store) -> float | None:
    """Seconds until it is judged; None: nothing is due."""
    plan = store.pulls.find_plan(pull_ref())
    return None if plan is None else (plan.due_at - datetime.now(UTC)).total_seconds()  # noqa: TID251 - Redis' own clock


def field_of(store: Store, number: int, name: str) -> str:
    return text(store.client.call("HGET", keys.pull(pull_ref(number)).name, name))


def wanted_of(store: Store, number: int) -> JudgeRequest:
    return JudgeRequest.model_validate_json(field_of(store, number, "req"))


def ends_held(store: Store, judging: LeasedJob, head: str | None = None) -> FinishResult:
    """It ends, to be judged again when CI moves."""
    later = request_after_ci(judging.request, judging.lease.fence, REQUESTED_AT)
    of = JudgedHead(head) if head else None
    return store.pulls.finish(judging.lease, Finish.JUDGED, later=later, of=of)


def about(seconds: float) -> Any:
    return pytest.approx(seconds, abs=1.5)


@pytest.mark.parametrize(("trigger", "seconds"), [(Trigger.PUSHED, 45), (Trigger.EDITED, 2), (Trigger.COMMAND, 0)])
def test_the_settings_say_how_long_a_request_waits(store: Store, trigger: Trigger, seconds: float) -> None:
    wanted(store, trigger=trigger)
    assert due_in(store) == about(seconds)
    started_at = find_server_time(store.client) - 280_000
    store.client.call("HSET", keys.pull(pull_ref()).name, "since", started_at, "due", started_at + 300_000)
    wanted(store, head_sha=NEWER)
    assert due_in(store) == about(20), "in all, no push puts it off beyond the longest window"


@pytest.mark.parametrize(("base", "seconds"), [(MAIN, 600), (OWN, 45), (None, 45)])
def test_the_quiet_window_of_one_base_is_no_others_until_it_forgets_it(
    store: Store, base: str | None, seconds: float
) -> None:
    intake.set_window(store.client, *HERE, MAIN, 600)
    wanted(store, base=base)
    plan = store.pulls.find_plan(pull_ref())
    assert plan is not None
    assert (due_in(store), plan.window_s) == (about(seconds), seconds)
    intake.set_window(store.client, *HERE, MAIN, None)
    wanted(store, base=base, head_sha=NEWER)
    assert due_in(store) == about(45)


def test_github_names_the_base_of_a_pull_request_of_which_none_is_known(store: Store) -> None:
    assert store.pulls.record_base(pull_ref(), OWN) == OWN
    wanted(store)
    assert [store.pulls.record_base(pull_ref(), base) for base in (MAIN, OWN)] == [MAIN, MAIN]
    wanted(store, trigger=Trigger.BASE, base=OWN)
    assert store.pulls.record_base(pull_ref(), MAIN) == OWN


def test_an_edited_text_is_judged_by_though_all_but_the_verdict_is_forgotten(store: Store) -> None:
    record_verdict(store)
    assert wanted(store, trigger=Trigger.TEXT) is IntakeOutcome.QUEUED
    assert (due_in(store), field_of(store, 1, "again")) == (about(45), "text_edited")


def test_a_push_with_a_case_waits_for_no_window(store: Store) -> None:
    wanted(store, NamedHead(has_case=True))
    assert due_in(store) == about(0)


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
    assert start_judging(store, pull_ref()).request.trigger is judged_as


def test_when_a_head_came_is_kept_whatever_asks_for_it_since(store: Store) -> None:
    came = FirstSeen(head_sha=HEAD, at=REQUESTED_AT)
    wanted(store, arrived=came)
    wanted(store, trigger=Trigger.COMMAND, head_sha=None, requested_at=REQUESTED_AT + timedelta(minutes=3))
    assert start_judging(store, pull_ref()).request.arrived == came


# Heads, and what completes at them


def test_a_late_commit_is_known_as_an_earlier_head(store: Store) -> None:
    for head, before in ((HEAD, NO_HEAD), ("3" * 40, NEWER)):
        wanted(store, NamedHead(before), head_sha=head)
    assert wanted(store, NamedHead(HEAD), head_sha=NEWER) is IntakeOutcome.LATE
    heads = keys.heads(*HERE, NEWER)
    assert items(store.client.call("SMEMBERS", heads.name)) == [b"1"], "`assay wait` for it learns of the newer one"
    assert ttl_s(store, heads) > 0


def test_a_head_that_no_delivery_named_is_known_by_its_verdict(store: Store) -> None:
    wanted(store)
    assert nudged(store, NEWER) is IntakeOutcome.UNKNOWN
    assert ends_held(store, start_judging(store, pull_ref()), NEWER) is FinishResult.CLOSED
    assert [request.pull.number for request in intake.find_requests_by_head(store.client, At(NEWER))] == [1]
    assert nudged(store, NEWER) is IntakeOutcome.COALESCED


def test_a_head_is_known_with_every_open_pull_request_that_it_is_of(store: Store) -> None:
    for number, head in ((1, HEAD), (2, HEAD), (3, NEWER), (4, HEAD)):
        wanted(store, number=number, head_sha=head)
    close_pull_request(store, pull_ref(4), WEEKS)
    known = intake.find_requests_by_head(store.client, At())
    assert sorted(request.pull.number for request in known) == [1, 2]
    wanted(store, number=4, trigger=Trigger.REOPENED)
    assert len(intake.find_requests_by_head(store.client, At())) == 3


def test_green_ci_ends_the_quiet_window_of_its_own_head(store: Store) -> None:
    wanted(store)
    assert [nudged(store), nudged(store, NEWER, is_green=True)] == [IntakeOutcome.UNKNOWN] * 2
    assert due_in(store) == about(45)
    assert nudged(store, is_green=True) is IntakeOutcome.COALESCED
    assert due_in(store) == about(2)


def test_what_waits_for_ci_and_what_ended_without_it_is_judged_again_when_it_moves(store: Store) -> None:
    wanted(store)
    wait = timedelta(minutes=10)
    assert store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.WAIT, wait) is FinishResult.LATER
    assert [nudged(store), nudged(store)] == [IntakeOutcome.COALESCED] * 2
    assert due_in(store) == about(2)
    again = start_judging(store, pull_ref())
    assert again.waiting_since is not None
    assert ends_held(store, again) is FinishResult.CLOSED
    assert due_in(store) is None
    assert nudged(store) is IntakeOutcome.COALESCED
    assert due_in(store) == about(2)
    assert start_judging(store, pull_ref()).request.trigger is Trigger.CI


def test_a_pull_request_that_is_closed_is_looked_at_if_something_of_it_is_unfinished(store: Store) -> None:
    close_pull_request(store, pull_ref(), WEEKS)
    wanted(store)
    store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.JUDGED)
    close_pull_request(store, pull_ref(), WEEKS)
    assert due_in(store) is None
    wanted(store, draft=True)
    store.checks().record_waiting(pull_ref(), HEAD, CheckRunId(5), is_watched=False)
    close_pull_request(store, pull_ref(), WEEKS)
    assert due_in(store) == about(0)


def test_what_is_left_alone_is_not_due_any_more(store: Store) -> None:
    request = judge_request()
    intake.request_judging(store.client, request, QUIET)
    assert store.pulls.withdraw(request)
    assert due_in(store) is None
    assert not store.pulls.withdraw(request)


# Bases and issues


def by_base(store: Store) -> list[int]:
    return [request.pull.number for request in intake.find_requests_by_base(store.client, *HERE, MAIN)]


def by_issue(store: Store, mark: str = MARK, installation: int = 100) -> list[PullRef]:
    requests = intake.find_requests_by_issue(store.client, InstallationId(installation), mark)
    return sorted((request.pull for request in requests), key=lambda ref: ref.repository_id)


def test_those_that_are_open_are_found_among_many_that_are_not(store: Store) -> None:
    index = keys.judged_bases(*HERE, MAIN)
    for number in range(intake.MOST_OUTSIDE_WAITING + 50):
        store.client.call("ZADD", index.name, number, number)
    for number in (1, 3, 140):
        wanted(store, number=number)
    assert by_base(store) == []
    for number in (1, 3, 140):
        store.client.call("HDEL", keys.pull(pull_ref(number)).name, "state")
    assert by_base(store) == [140, 3, 1]


def test_what_was_judged_for_a_base_is_known_there_for_a_while(store: Store) -> None:
    index = keys.judged_bases(*HERE, MAIN)
    store.client.call("ZADD", index.name, 1, 99)
    wanted(store)
    store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.JUDGED, of=JudgedHead(HEAD, MAIN))
    assert items(store.client.call("ZRANGE", index.name, 0, -1)) == [b"1"]
    assert ttl_s(store, index) > 0


def test_an_issue_is_known_with_the_open_pull_requests_of_every_repository_here(store: Store) -> None:
    beside = pull_ref(3, repository=8)
    for ref in (pull_ref(1), pull_ref(2), beside):
        wanted(store, pull=ref)
        store.outcomes.competing_pulls(ref, MARK)
    assert store.outcomes.competing_pulls(beside, MARK) == (), "a rival is one of the same repository"
    close_pull_request(store, pull_ref(2), WEEKS)
    assert by_issue(store) == [pull_ref(), beside]
    assert by_issue(store, "another") == by_issue(store, installation=101) == []


def test_what_is_judged_for_the_first_time_is_known_with_its_base_and_its_issues(store: Store) -> None:
    wanted(store)
    for _ in range(2):
        store.outcomes.begin_submission(pull_ref(), "alice", MAIN, (("Acme/Specs", 9),))
    assert (by_issue(store), by_base(store)) == ([pull_ref()], [])
    start_judging(store, pull_ref())
    assert by_base(store) == [1], "it waits for nothing else"
    for key in (keys.judged_bases(*HERE, MAIN), keys.issue_pulls(HERE[0], MARK)):
        assert ttl_s(store, key) > 0


def test_whose_first_verdict_is_still_to_come_is_nobodys_rival_and_keeps_its_place_after_it(store: Store) -> None:
    for number in (1, 2):
        store.outcomes.begin_submission(pull_ref(number), "alice", MAIN, (ISSUE,))
    for _ in range(2):
        assert store.outcomes.competing_pulls(pull_ref(2), MARK) == ()
        assert store.outcomes.competing_pulls(pull_ref(1), MARK) == (pull_ref(2),)
        store.outcomes.begin_submission(pull_ref(2), "alice", MAIN, (ISSUE,))


# Outsiders


def arrives(store: Store, *numbers: int, outside: bool = True, **changes: Any) -> None:
    for number in numbers:
        intake.request_judging(store.client, judge_request(number, outside=outside, **changes), NOW)


def numbers_of(store: Store, count: int, limits: DispatchLimits = NO_LIMITS) -> list[int | None]:
    """Of those that are dispatched next."""
    jobs = [dispatch_next(store, limits) for _ in range(count)]
    return [job and job.request.pull.number for job in jobs]


def test_a_hundred_strangers_delay_nobody_else(store: Store) -> None:
    arrives(store, *range(1, 101))
    arrives(store, 101, 102, outside=False)
    assert [store.pulls.next_to_open() for _ in range(2)] == [
        PendingCheckRun(HEAD, wanted_of(store, number), field_of(store, number, "seq")) for number in (101, 102)
    ]
    assert numbers_of(store, 4) == [101, 102, 1, 2]


def test_a_stranger_for_whom_somebody_asked_waits_no_longer_than_others(store: Store) -> None:
    arrives(store, 1, 2)
    arrives(store, 2, outside=False, trigger=Trigger.COMMAND, head_sha=None)
    arrives(store, 3, outside=False)
    assert numbers_of(store, 4) == [2, 3, 1, None]


def test_strangers_take_no_place_of_others_and_no_more_than_their_own(store: Store) -> None:
    arrives(store, 1, 2, 3)
    one, two = (DispatchLimits(per_installation=1, total=1, outside=count) for count in (1, 2))
    assert numbers_of(store, 2, one) == [1, None]
    arrives(store, 4, 5, outside=False)
    assert numbers_of(store, 2, one) == [4, None]
    assert numbers_of(store, 2, two) == [2, None]
    for number, follows in ((1, None), (2, 3), (4, 5)):
        assert store.pulls.requeue_dead(pull_ref(number), int(field_of(store, number, "fence")))
        store.pulls.withdraw(wanted_of(store, number))
        assert numbers_of(store, 1, one) == [follows]


def test_a_strangers_judging_that_died_waits_among_strangers_again(store: Store) -> None:
    arrives(store, 1)
    job = dispatch_next(store)
    assert job is not None
    assert job.is_outside
    assert store.pulls.requeue_dead(pull_ref(1), job.fence)
    arrives(store, 2, outside=False)
    assert numbers_of(store, 3) == [2, 1, None]


def test_of_strangers_no_more_check_runs_are_opened_than_there_is_room_for(store: Store) -> None:
    arrives(store, 1)
    assert store.pulls.next_to_open(0) is None
    arrives(store, 2, outside=False)
    opened = [store.pulls.next_to_open(room) for room in (0, 0, 1)]
    assert [head and (head.request.pull.number, head.is_outside) for head in opened] == [(2, False), None, (1, True)]


def test_heads_of_strangers_have_turns_that_leave_half_of_githubs_writes_to_others(store: Store) -> None:
    def comes_in(number: int) -> list[float]:
        queues = (keys.due_outside(HERE[0]), keys.pending_checks_outside(HERE[0]))
        at = [text(store.client.call("ZSCORE", queue.name, keys.pull(pull_ref(number)).name)) for queue in queues]
        return [(float(score) - find_server_time(store.client)) / 1000 for score in at]

    gap, last = NOW.outside_gap, intake.OUTSIDE_BURST
    assert WRITES_EACH * 3600 / gap == pytest.approx(WRITES_AN_HOUR / 2)
    arrives(store, *range(1, last + 5))
    arrives(store, last + 1, head_sha=NEWER)  # its turn is its, whatever it pushes
    arrives(store, last + 5)
    assert [comes_in(last + later) for later in range(6)] == [[pytest.approx(gap * n, abs=2)] * 2 for n in range(6)]
    arrives(store, 100, outside=False)
    arrives(store, last + 4, outside=False, trigger=Trigger.COMMAND, head_sha=None)
    order = [100, last + 4, *range(1, last + 1), None]
    assert numbers_of(store, last + 3) == order
    opened = [store.pulls.next_to_open() for _ in range(last + 3)]
    assert [head and head.request.pull.number for head in opened] == order
