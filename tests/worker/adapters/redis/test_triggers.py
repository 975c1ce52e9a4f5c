"""Requests, checks and edits decide when a pull request is judged; transitions are tested with the lifecycle."""

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
    require,
    start_judging,
    ttl_s,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import find_server_time, items, text, whole
from worker.adapters.redis.connection.transactions import Operation, Transaction, run
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.check.shared_head import CommitRef
from worker.domain.github_events import hash_issue
from worker.domain.judge_request import FirstSeen, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome, NamedHead, ShownPull
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead, LeasedJob, PendingCheckRun, QueuedDelivery
from worker.domain.model import BaseHash, CheckRunId, InstallationId, RepositoryId, Sha, hash_base
from worker.scheduling.jobs import request_after_ci
from worker.settings import WRITES_AN_HOUR, WRITES_EACH, Timing

NEWEST = "3" * 40
IDS = (InstallationId(100), RepositoryId(7))
MAIN, OWN = hash_base("main"), hash_base("agents-own")
QUIET = Timing(quiet_window=45, quiet_max=300, gather=2)
NOW = Timing(quiet_window=0, quiet_max=0)
WEEKS = timedelta(weeks=2)
ISSUE = ("acme/specs", 9)
MARK = hash_issue(*ISSUE)


def commit_ref(head_sha: str = HEAD) -> CommitRef:
    return CommitRef(installation_id=IDS[0], repository_id=IDS[1], head_sha=head_sha)


def request_judging(store: Store, by: NamedHead | None = None, **changes: Any) -> IntakeOutcome:
    return intake.request_judging(store.client, judge_request(**changes), QUIET, by).outcome


def complete_check_of(store: Store, head_sha: str = HEAD, *, is_green: bool = False) -> IntakeOutcome:
    return complete_check(store, commit_ref(head_sha), QUIET, is_green=is_green)


def due_in(store: Store) -> float | None:
    """Seconds until the pull request is due; None if it is not."""
    plan = store.pulls.find_plan(pull_ref())
    return None if plan is None else (plan.due_at - datetime.now(UTC)).total_seconds()  # noqa: TID251 - Redis' own clock


def field_of(store: Store, number: int, name: str) -> str:
    return text(store.client.call("HGET", keys.pull(pull_ref(number)).name, name))


def request_of(store: Store, number: int) -> JudgeRequest:
    return JudgeRequest.model_validate_json(field_of(store, number, "req"))


def finish_until_ci(store: Store, judging: LeasedJob, head: str | None = None) -> FinishResult:
    """Finish the judging, with a request for when CI moves."""
    later = request_after_ci(judging.request, judging.lease.fence, REQUESTED_AT)
    of = JudgedHead(head) if head else None
    return store.pulls.finish(judging.lease, Finish.JUDGED, later=later, of=of)


def about(seconds: float) -> Any:
    return pytest.approx(seconds, abs=1.5)


@pytest.mark.parametrize(("trigger", "seconds"), [(Trigger.PUSHED, 45), (Trigger.EDITED, 2), (Trigger.COMMAND, 0)])
def test_quiet_window_follows_the_trigger_and_has_a_maximum(store: Store, trigger: Trigger, seconds: float) -> None:
    request_judging(store, trigger=trigger)
    assert due_in(store) == about(seconds)
    started_at = find_server_time(store.client) - 280_000
    store.client.call("HSET", keys.pull(pull_ref()).name, "since", started_at, "due", started_at + 300_000)
    request_judging(store, head_sha=NEWER)
    assert due_in(store) == about(20), "pushes delay it by the longest window at most"


@pytest.mark.parametrize(("base", "seconds"), [(MAIN, 600), (OWN, 45), (None, 45)])
def test_quiet_window_of_a_base_is_its_own_until_unset(store: Store, base: str | None, seconds: float) -> None:
    intake.set_window(store.client, *IDS, MAIN, 600)
    request_judging(store, base=base)
    plan = require(store.pulls.find_plan(pull_ref()))
    assert (due_in(store), plan.window_s) == (about(seconds), seconds)
    intake.set_window(store.client, *IDS, MAIN, None)
    request_judging(store, base=base, head_sha=NEWER)
    assert due_in(store) == about(45)


def test_base_from_github_is_recorded_if_none_is_known(store: Store) -> None:
    assert store.pulls.record_base(pull_ref(), OWN) == OWN
    request_judging(store)
    assert [store.pulls.record_base(pull_ref(), base) for base in (MAIN, OWN)] == [MAIN, MAIN]
    request_judging(store, trigger=Trigger.BASE, base=OWN)
    assert store.pulls.record_base(pull_ref(), MAIN) == OWN


def test_edited_text_queues_a_pull_request_known_by_its_ledger_only(store: Store) -> None:
    record_verdict(store)
    assert request_judging(store, trigger=Trigger.TEXT) is IntakeOutcome.QUEUED
    assert (due_in(store), field_of(store, 1, "again")) == (about(45), "text_edited")


@pytest.mark.parametrize(
    ("first", "second", "judged_as"),
    [
        (Trigger.COMMAND, Trigger.PUSHED, Trigger.COMMAND),
        (Trigger.RERUN, Trigger.PUSHED, Trigger.COMMAND),
        (Trigger.COMMAND, Trigger.RERUN, Trigger.RERUN),
        (Trigger.FORCE, Trigger.RERUN, Trigger.FORCE),
        (Trigger.CONTEST, Trigger.CI, Trigger.CONTEST),
        (Trigger.REVIEW, Trigger.PUSHED, Trigger.PUSHED),
    ],
)
def test_manual_trigger_outranks_later_automatic_ones(
    store: Store, first: Trigger, second: Trigger, judged_as: Trigger
) -> None:
    request_judging(store, trigger=first)
    request_judging(store, trigger=second, head_sha=NEWER)
    assert start_judging(store, pull_ref()).request.trigger is judged_as


def test_arrival_of_a_head_is_kept_by_later_requests(store: Store) -> None:
    first_seen = FirstSeen(head_sha=HEAD, at=REQUESTED_AT)
    request_judging(store, arrived=first_seen)
    request_judging(store, trigger=Trigger.COMMAND, head_sha=None, requested_at=REQUESTED_AT + timedelta(minutes=3))
    assert start_judging(store, pull_ref()).request.arrived == first_seen


# Heads and checks


def push_from_another_commit(store: Store, **changes: Any) -> QueuedDelivery:
    """Push from an unknown commit to NEWER, while HEAD is known."""
    request_judging(store, NamedHead(), head_sha=HEAD, base=MAIN)
    changes = {"trigger": Trigger.PUSHED, "arrived": FirstSeen(head_sha=NEWER, at=REQUESTED_AT)} | changes
    assert request_judging(store, NamedHead(NEWEST), head_sha=NEWER, **changes) is IntakeOutcome.UNCONFIRMED
    return require(store.unconfirmed.next())


def confirm(
    store: Store, queued: QueuedDelivery, head: Sha, base: BaseHash = MAIN, *, draft: bool = False, is_last: bool = True
) -> IntakeOutcome:
    return store.unconfirmed.confirm(queued, ShownPull(head, base, draft), is_last=is_last)


def unconfirmed_count(store: Store) -> int:
    return whole(store.client.call("HLEN", keys.UNCONFIRMED.texts.name))


def pulls_with_head(store: Store, head: Sha) -> list[int]:
    return [whole(number) for number in items(store.client.call("SMEMBERS", keys.heads(*IDS, head).name))]


@pytest.mark.parametrize("shown", [NEWER, NEWEST])
def test_unconfirmed_delivery_counts_once_with_the_head_that_github_shows(store: Store, shown: Sha) -> None:
    queued = push_from_another_commit(store)
    assert queued.attempt == 1
    assert (require(store.pulls.find_request(pull_ref())).head_sha, pulls_with_head(store, NEWER)) == (HEAD, [])
    assert [confirm(store, queued, shown) for _ in range(2)] == [IntakeOutcome.COALESCED, IntakeOutcome.DUPLICATE]
    assert (unconfirmed_count(store), pulls_with_head(store, shown)) == (0, [1])
    request = require(store.pulls.find_request(pull_ref()))
    assert (request.head_sha, request.trigger, request.base) == (shown, Trigger.PUSHED, MAIN)
    assert (request.arrived is not None) is (shown == NEWER), "the other head was announced by no delivery"
    assert require(store.pulls.next_to_open()).head_sha == shown


def test_late_head_is_searched_and_then_recorded_as_one_of_its_pull_request(store: Store) -> None:
    queued = push_from_another_commit(store)
    assert confirm(store, queued, HEAD, is_last=False) is IntakeOutcome.LATE
    assert (unconfirmed_count(store), pulls_with_head(store, NEWER)) == (1, [])
    store.unconfirmed.postpone(queued.delivery, timedelta(0))
    assert require(store.unconfirmed.next()).attempt == 2
    assert confirm(store, queued, HEAD) is IntakeOutcome.LATE
    assert (unconfirmed_count(store), pulls_with_head(store, NEWER)) == (0, [1]), "`assay wait` finds the newer head"
    assert ttl_s(store, keys.heads(*IDS, NEWER)) > 0


@pytest.mark.parametrize("change", ["a push", "a close"])
def test_answer_of_github_is_not_used_after_a_later_event(store: Store, change: str) -> None:
    queued = push_from_another_commit(store)
    if change == "a push":
        request_judging(store, NamedHead(HEAD), head_sha=NEWEST)
    else:
        close_pull_request(store, pull_ref(), WEEKS)
    before = store.client.call("HGETALL", keys.pull(pull_ref()).name)
    assert confirm(store, queued, NEWER) is IntakeOutcome.UNCONFIRMED
    assert store.client.call("HGETALL", keys.pull(pull_ref()).name) == before


@pytest.mark.parametrize(
    ("was_draft", "shown_draft", "is_draft"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_unconfirmed_delivery_is_about_a_draft_if_github_shows_one_still(
    store: Store, *, was_draft: bool, shown_draft: bool, is_draft: bool
) -> None:
    queued = push_from_another_commit(store, draft=was_draft)
    confirm(store, queued, NEWER, draft=shown_draft)
    assert require(store.pulls.find_request(pull_ref())).draft is is_draft


def test_unconfirmed_edit_keeps_the_issues_that_it_depends_on(store: Store) -> None:
    request_judging(store, head_sha=HEAD)
    edit = judge_request(head_sha=NEWER, trigger=Trigger.TEXT)

    def receive(transaction: Transaction) -> Operation[intake.IntakeReceipt]:
        return (yield from intake.receive_request(transaction, edit, QUIET, NamedHead(), (MARK,)))

    assert run(store.client, receive).outcome is IntakeOutcome.UNCONFIRMED
    assert require(store.unconfirmed.next()).delivery.unless_judged_by == (MARK,)


def test_forgotten_repository_has_no_unconfirmed_delivery(store: Store) -> None:
    push_from_another_commit(store)
    store.records().forget_installation(IDS[0], REQUESTED_AT)
    assert unconfirmed_count(store) == 0


def test_judged_head_is_known_without_a_delivery(store: Store) -> None:
    request_judging(store)
    assert complete_check_of(store, NEWER) is IntakeOutcome.UNKNOWN
    assert finish_until_ci(store, start_judging(store, pull_ref()), NEWER) is FinishResult.CLOSED
    assert [request.pull.number for request in intake.find_requests_by_head(store.client, commit_ref(NEWER))] == [1]
    assert complete_check_of(store, NEWER) is IntakeOutcome.COALESCED


def test_head_finds_its_open_pull_requests(store: Store) -> None:
    for number, head in ((1, HEAD), (2, HEAD), (3, NEWER), (4, HEAD)):
        request_judging(store, number=number, head_sha=head)
    close_pull_request(store, pull_ref(4), WEEKS)
    requests = intake.find_requests_by_head(store.client, commit_ref())
    assert sorted(request.pull.number for request in requests) == [1, 2]
    request_judging(store, number=4, trigger=Trigger.REOPENED)
    assert len(intake.find_requests_by_head(store.client, commit_ref())) == 3


def test_green_ci_ends_the_quiet_window_of_its_head(store: Store) -> None:
    request_judging(store)
    assert [complete_check_of(store), complete_check_of(store, NEWER, is_green=True)] == [IntakeOutcome.UNKNOWN] * 2
    assert due_in(store) == about(45)
    assert complete_check_of(store, is_green=True) is IntakeOutcome.COALESCED
    assert due_in(store) == about(2)


def test_completed_check_ends_the_wait_for_ci_or_queues_another_judging(store: Store) -> None:
    request_judging(store)
    wait = timedelta(minutes=10)
    assert store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.WAIT, wait) is FinishResult.LATER
    assert [complete_check_of(store), complete_check_of(store)] == [IntakeOutcome.COALESCED] * 2
    assert due_in(store) == about(2)
    again = start_judging(store, pull_ref())
    assert again.waiting_since is not None
    assert finish_until_ci(store, again) is FinishResult.CLOSED
    assert due_in(store) is None
    assert complete_check_of(store) is IntakeOutcome.COALESCED
    assert due_in(store) == about(2)
    assert start_judging(store, pull_ref()).request.trigger is Trigger.CI


def test_closed_pull_request_is_due_only_with_an_open_check_run(store: Store) -> None:
    close_pull_request(store, pull_ref(), WEEKS)
    request_judging(store)
    store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.JUDGED)
    close_pull_request(store, pull_ref(), WEEKS)
    assert due_in(store) is None
    request_judging(store, draft=True)
    store.checks().record_waiting(pull_ref(), HEAD, CheckRunId(5), is_watched=False)
    close_pull_request(store, pull_ref(), WEEKS)
    assert due_in(store) == about(0)


def test_withdrawn_request_is_not_due(store: Store) -> None:
    request = judge_request()
    intake.request_judging(store.client, request, QUIET)
    assert store.pulls.withdraw(request)
    assert due_in(store) is None
    assert not store.pulls.withdraw(request)


# Bases and issues


def find_by_base(store: Store) -> list[int]:
    return [request.pull.number for request in intake.find_requests_by_base(store.client, *IDS, MAIN)]


def find_by_issue(store: Store, mark: str = MARK, installation: int = 100) -> list[PullRef]:
    requests = intake.find_requests_by_issue(store.client, InstallationId(installation), mark)
    return sorted((request.pull for request in requests), key=lambda ref: ref.repository_id)


def test_base_finds_the_open_pull_requests_among_many(store: Store) -> None:
    index = keys.judged_bases(*IDS, MAIN)
    for number in range(intake.MOST_OUTSIDE_WAITING + 50):
        store.client.call("ZADD", index.name, number, number)
    for number in (1, 3, 140):
        request_judging(store, number=number)
    assert find_by_base(store) == []
    for number in (1, 3, 140):
        store.client.call("HDEL", keys.pull(pull_ref(number)).name, "state")
    assert find_by_base(store) == [140, 3, 1]


def test_judged_pull_request_is_indexed_by_its_base_and_old_ones_are_deleted(store: Store) -> None:
    index = keys.judged_bases(*IDS, MAIN)
    store.client.call("ZADD", index.name, 1, 99)
    request_judging(store)
    store.pulls.finish(start_judging(store, pull_ref()).lease, Finish.JUDGED, of=JudgedHead(HEAD, MAIN))
    assert items(store.client.call("ZRANGE", index.name, 0, -1)) == [b"1"]
    assert ttl_s(store, index) > 0


def test_issue_finds_open_pull_requests_of_each_repository(store: Store) -> None:
    elsewhere = pull_ref(3, repository=8)
    for ref in (pull_ref(1), pull_ref(2), elsewhere):
        request_judging(store, pull=ref)
        store.outcomes.competing_pulls(ref, MARK)
    assert store.outcomes.competing_pulls(elsewhere, MARK) == (), "competing pull requests are of the same repository"
    close_pull_request(store, pull_ref(2), WEEKS)
    assert find_by_issue(store) == [pull_ref(), elsewhere]
    assert find_by_issue(store, "another") == find_by_issue(store, installation=101) == []


def test_first_submission_is_indexed_by_its_base_and_issues(store: Store) -> None:
    request_judging(store)
    for _ in range(2):
        store.outcomes.begin_submission(pull_ref(), "alice", MAIN, (("Acme/Specs", 9),))
    assert (find_by_issue(store), find_by_base(store)) == ([pull_ref()], [])
    start_judging(store, pull_ref())
    assert find_by_base(store) == [1], "it is indexed when its judging starts"
    for key in (keys.judged_bases(*IDS, MAIN), keys.issue_pulls(IDS[0], MARK)):
        assert ttl_s(store, key) > 0


def test_pull_request_competes_in_order_of_its_first_verdict(store: Store) -> None:
    for number in (1, 2):
        store.outcomes.begin_submission(pull_ref(number), "alice", MAIN, (ISSUE,))
    for _ in range(2):
        assert store.outcomes.competing_pulls(pull_ref(2), MARK) == ()
        assert store.outcomes.competing_pulls(pull_ref(1), MARK) == (pull_ref(2),)
        store.outcomes.begin_submission(pull_ref(2), "alice", MAIN, (ISSUE,))


# Pull requests from outside


def request_from_outside(store: Store, *numbers: int, outside: bool = True, **changes: Any) -> None:
    for number in numbers:
        intake.request_judging(store.client, judge_request(number, outside=outside, **changes), NOW)


def dispatch_numbers(store: Store, count: int, limits: DispatchLimits = NO_LIMITS) -> list[int | None]:
    jobs = [dispatch_next(store, limits) for _ in range(count)]
    return [job and job.request.pull.number for job in jobs]


def test_requests_from_outside_come_after_all_others(store: Store) -> None:
    request_from_outside(store, *range(1, 101))
    request_from_outside(store, 101, 102, outside=False)
    assert [store.pulls.next_to_open() for _ in range(2)] == [
        PendingCheckRun(HEAD, request_of(store, number), field_of(store, number, "seq")) for number in (101, 102)
    ]
    assert dispatch_numbers(store, 4) == [101, 102, 1, 2]


def test_requests_from_outside_have_their_own_limit(store: Store) -> None:
    request_from_outside(store, 1, 2, 3)
    limits, wider = (DispatchLimits(per_installation=1, total=1, outside=count) for count in (1, 2))
    assert dispatch_numbers(store, 2, limits) == [1, None]
    request_from_outside(store, 4, 5, outside=False)
    assert dispatch_numbers(store, 2, limits) == [4, None]
    assert dispatch_numbers(store, 2, wider) == [2, None]
    for number, follows in ((1, None), (2, 3), (4, 5)):
        assert store.pulls.requeue_dead(pull_ref(number), int(field_of(store, number, "fence")))
        store.pulls.withdraw(request_of(store, number))
        assert dispatch_numbers(store, 1, limits) == [follows]


def test_requeued_job_from_outside_stays_outside(store: Store) -> None:
    request_from_outside(store, 1)
    job = require(dispatch_next(store))
    assert job.is_outside
    assert store.pulls.requeue_dead(pull_ref(1), job.fence)
    request_from_outside(store, 2, outside=False)
    assert dispatch_numbers(store, 3) == [2, 1, None]


def test_check_runs_from_outside_are_limited(store: Store) -> None:
    request_from_outside(store, 1)
    assert store.pulls.next_to_open(0) is None
    request_from_outside(store, 2, outside=False)
    opened = [store.pulls.next_to_open(room) for room in (0, 0, 1)]
    assert [head and (head.request.pull.number, head.is_outside) for head in opened] == [(2, False), None, (1, True)]


def test_heads_from_outside_are_spaced_to_half_of_the_writes(store: Store) -> None:
    def comes_in(number: int) -> list[float]:
        queues = (keys.due_outside(IDS[0]), keys.pending_checks_outside(IDS[0]))
        at = [text(store.client.call("ZSCORE", queue.name, keys.pull(pull_ref(number)).name)) for queue in queues]
        return [(float(score) - find_server_time(store.client)) / 1000 for score in at]

    gap, last = NOW.outside_gap, intake.OUTSIDE_BURST
    assert WRITES_EACH * 3600 / gap == pytest.approx(WRITES_AN_HOUR / 2)
    request_from_outside(store, *range(1, last + 5))
    request_from_outside(store, last + 1, head_sha=NEWER)  # a push keeps its turn
    request_from_outside(store, last + 5)
    assert [comes_in(last + later) for later in range(6)] == [[pytest.approx(gap * n, abs=2)] * 2 for n in range(6)]
    request_from_outside(store, 100, outside=False)
    request_from_outside(store, last + 4, outside=False, trigger=Trigger.COMMAND, head_sha=None)
    order = [100, last + 4, *range(1, last + 1), None]
    assert dispatch_numbers(store, last + 3) == order
    opened = [store.pulls.next_to_open() for _ in range(last + 3)]
    assert [head and head.request.pull.number for head in opened] == order
