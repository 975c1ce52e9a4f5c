"""What is stored of a pull request lives while it is open and expires some time after its close."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    close_pull_request,
    judge_request,
    ledger_entry_of,
    pull_ref,
    start_judging,
    start_judging_new,
    ttl_s,
)
from tests.worker.adapters.redis.test_check_runs import COMMIT, REJECTED, is_waiting, list_others
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.overrides import Contest, Override
from worker.domain.github_events import hash_issue
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import JudgedHead, LeasedJob
from worker.domain.model import BaseHash, CheckRunId, EvalId, InstallationId, RepositoryId, hash_base
from worker.domain.verdict.budget import Caps
from worker.process import SystemClock

MAIN, OTHER = hash_base("main"), hash_base("other")
ISSUE = ("acme/specs", 9)
MARK = hash_issue(*ISSUE)
ACCEPTED = CheckContent("Accepted", "Yes.", conclusion=Conclusion.SUCCESS)
LIFETIME = timedelta(days=90)
REMEMBERED = (keys.ledger, keys.decisions, keys.pull_request_cost)
BASES = keys.judged_bases(COMMIT.installation_id, COMMIT.repository_id, MAIN)
ISSUES = keys.issue_pulls(COMMIT.installation_id, MARK)

# Open pull requests


def pass_days(store: Store, days: int) -> None:
    """Let days pass for each key that expires and for the judged bases."""
    for name in items(store.client.call("KEYS", "*")):
        left = store.client.call("TTL", text(name))
        assert isinstance(left, int)
        if left >= 0:
            store.client.call("EXPIRE", text(name), left - days * 86_400)
    for number in items(store.client.call("ZRANGE", BASES.name, 0, -1)):
        store.client.call("ZINCRBY", BASES.name, -days * 86_400_000, text(number))


def survives_sweeps(store: Store, number: int = 1, *, times: int = 1) -> bool:
    """Whether each of these sweeps, twenty days apart, finds the open pull request known."""
    for _ in range(times):
        pass_days(store, 20)
        if not store.checks().stays(pull_ref(number), HEAD):
            return False
    return True


def judge_head(
    store: Store, number: int, content: CheckContent, base: BaseHash | None = None, *issues: tuple[str, int]
) -> None:
    store.pulls.request_judging(judge_request(number, trigger=Trigger.PUSHED if base is None else Trigger.COMMAND))
    leased = start_judging(store, pull_ref(number))
    if base is not None:
        assert store.outcomes.begin_submission(pull_ref(number), "alice", base, issues)
    store.shared_heads.record_content(pull_ref(number), HEAD, content)
    store.checks().record_concluded(pull_ref(number), HEAD, CheckRunId(number))
    store.pulls.finish(leased.lease, Finish.JUDGED, of=JudgedHead(HEAD, base))
    for issue in issues:
        store.outcomes.competing_pulls(pull_ref(number), hash_issue(*issue))


def by_base(store: Store, base: BaseHash = MAIN) -> list[PullRef]:
    requests = intake.find_requests_by_base(store.client, COMMIT.installation_id, COMMIT.repository_id, base)
    return [request.pull for request in requests]


def by_issue(store: Store, number: int = 9) -> list[PullRef]:
    mark = hash_issue("acme/specs", number)
    return [request.pull for request in intake.find_requests_by_issue(store.client, COMMIT.installation_id, mark)]


@pytest.mark.parametrize("times", [1, 3])
def test_shared_head_is_known_however_long_it_is_open(store: Store, times: int) -> None:
    judge_head(store, 1, REJECTED)
    assert survives_sweeps(store, times=times)
    pass_days(store, 20)
    assert list_others(store, 2, ACCEPTED) == [(1, "failure")]
    (request,) = intake.find_requests_by_head(store.client, COMMIT)
    assert (request.pull, request.trigger) == (pull_ref(1), Trigger.PUSHED)


def test_closed_pull_request_leaves_the_shared_head_after_any_time(store: Store) -> None:
    judge_head(store, 1, REJECTED)
    judge_head(store, 2, ACCEPTED)
    store.shared_heads.close_version(COMMIT, store.shared_heads.find_state(COMMIT).version)
    assert survives_sweeps(store)
    assert store.checks().stays(pull_ref(2), HEAD)
    pass_days(store, 20)
    assert not is_waiting(store)
    close_pull_request(store, pull_ref(1), store.ledger_retention)
    assert is_waiting(store)
    assert list_others(store, 2, ACCEPTED) == []


def test_sweep_renews_nothing_in_the_first_half_of_a_lifetime(store: Store) -> None:
    judge_head(store, 1, ACCEPTED, MAIN, ISSUE)
    pass_days(store, 10)
    renewed_keys = (BASES, ISSUES, keys.check(pull_ref(1), HEAD))
    lifetimes, judged_at = [ttl_s(store, key) for key in renewed_keys], store.client.call("ZSCORE", BASES.name, 1)
    assert store.checks().stays(pull_ref(1), HEAD)
    assert [ttl_s(store, key) for key in renewed_keys] <= lifetimes
    assert store.client.call("ZSCORE", BASES.name, 1) == judged_at


def test_pull_request_without_a_sweep_expires(store: Store) -> None:
    judge_head(store, 1, REJECTED)
    pass_days(store, 31)
    assert not store.checks().stays(pull_ref(1), HEAD), "its state has expired"
    assert list_others(store, 2, ACCEPTED) == []


def test_sweep_does_not_prolong_a_claim(store: Store) -> None:
    store.checks().claim(pull_ref(1), NEWER)
    assert store.checks().stays(pull_ref(1), NEWER)
    assert ttl_s(store, keys.check(pull_ref(1), NEWER)) <= store.timing.open_hold


def test_late_close_of_a_reopened_pull_request_is_undone(store: Store) -> None:
    judge_head(store, 1, REJECTED)
    store.client.call("HSET", keys.ledger(pull_ref(1)).name, "an", "entry")
    close_pull_request(store, pull_ref(1), store.ledger_retention)
    store.client.call("HINCRBYFLOAT", keys.pull(pull_ref(1)).name, "over", -3_600_000)
    assert not store.checks().stays(pull_ref(1), HEAD), "its check runs may have been closed"
    store.pulls.request_judging(judge_request(1, trigger=Trigger.SWEEP))
    assert not store.client.call("HGET", keys.pull(pull_ref(1)).name, "over")
    assert ttl_s(store, keys.ledger(pull_ref(1))) == -1
    assert store.checks().stays(pull_ref(1), HEAD), "the close is undone"
    assert list_others(store, 2, ACCEPTED) == [(1, "failure")]


def test_edited_rules_and_issues_find_pull_requests_open_for_long(store: Store) -> None:
    judge_head(store, 1, ACCEPTED, MAIN, ISSUE)
    assert survives_sweeps(store, times=6)
    assert by_issue(store) == [pull_ref(1)]
    judge_head(store, 2, ACCEPTED, MAIN, ISSUE)
    assert by_base(store) == [pull_ref(2), pull_ref(1)], "also where another verdict deletes old entries"
    assert survives_sweeps(store, times=6)
    assert store.outcomes.competing_pulls(pull_ref(2), MARK) == (pull_ref(1),), "the order stays"
    assert store.outcomes.competing_pulls(pull_ref(1), MARK) == ()


def test_former_base_and_issue_expire(store: Store) -> None:
    judge_head(store, 1, ACCEPTED, OTHER, ISSUE)
    judge_head(store, 1, ACCEPTED, MAIN)
    assert survives_sweeps(store, times=5)
    assert (by_base(store), by_base(store, OTHER), by_issue(store)) == ([pull_ref(1)], [], [])


def test_pull_request_without_judged_bases_stays_with_its_base(store: Store) -> None:
    judge_head(store, 1, ACCEPTED, MAIN)
    store.client.call("HDEL", keys.pull(pull_ref(1)).name, "by")
    assert survives_sweeps(store, times=3)
    assert by_base(store) == [pull_ref(1)]


def test_unjudged_pull_request_is_in_no_base_index(store: Store) -> None:
    store.pulls.request_judging(judge_request(1, base=MAIN))
    store.checks().record_opened(pull_ref(1), HEAD, CheckRunId(1))
    assert survives_sweeps(store)
    assert not store.client.call("KEYS", "*:into:*")


# Edits between the reading and the judging of a pull request


def begin_submission(store: Store, *issues: tuple[str, int]) -> bool:
    return store.outcomes.begin_submission(pull_ref(), "alice", MAIN, issues)


@pytest.mark.parametrize("edit", [by_issue, by_base])
def test_edit_during_the_reading_repeats_it_once(store: Store, edit: Callable[[Store], list[PullRef]]) -> None:
    edit(store)  # an edit before the reading
    lease = start_judging_new(store).lease
    assert edit(store) == [], "it is not indexed yet"
    assert [begin_submission(store, ISSUE), begin_submission(store, ISSUE)] == [False, False], "also after a lost reply"
    store.pulls.finish(lease, Finish.AGAIN)
    again = start_judging_new(store).lease
    assert [begin_submission(store, ISSUE), begin_submission(store, ISSUE)] == [True, True]
    assert edit(store) == [pull_ref()], "it is indexed now"
    store.pulls.finish(again, Finish.JUDGED)
    start_judging_new(store)
    assert edit(store) == [pull_ref()]
    assert begin_submission(store, ISSUE), "a requeued pull request is not read again"


def test_edit_of_a_newly_closed_issue_repeats_the_reading(store: Store) -> None:
    lease = start_judging_new(store).lease
    assert begin_submission(store)
    store.pulls.finish(lease, Finish.JUDGED)
    start_judging_new(store)
    by_issue(store)
    assert not begin_submission(store, ISSUE)


def test_unrelated_edits_do_not_repeat_the_reading(store: Store) -> None:
    start_judging_new(store)
    by_issue(store, 8)
    by_base(store, OTHER)
    intake.find_requests_by_issue(store.client, InstallationId(101), MARK)
    intake.find_requests_by_base(store.client, COMMIT.installation_id, RepositoryId(8), MAIN)
    assert begin_submission(store, ISSUE)


def test_edit_time_expires_and_hides_the_issue(store: Store) -> None:
    by_issue(store)
    key = keys.last_change(COMMIT.installation_id, MARK)
    assert 0 < ttl_s(store, key) <= 86_400
    assert text(store.client.call("GET", key.name)).isdigit()
    assert "specs" not in key.name


def test_submission_of_a_forgotten_pull_request_stores_nothing(store: Store) -> None:
    assert begin_submission(store, ISSUE)
    assert not store.client.call("EXISTS", keys.pull(pull_ref(1)).name)


# Closed pull requests


def append_entry(store: Store, leased: LeasedJob, name: str) -> None:
    store.ledger.append(pull_ref(), ledger_entry_of(name, leased.lease.fence))


def reserve(store: Store, name: str) -> None:
    store.budget(Caps(), SystemClock()).reserve(name, pull_ref(), Decimal("0.01"))


def contest(store: Store) -> None:
    store.decisions.contest(
        pull_ref(), HEAD, Contest(login="bob", reason="It is there.", at=REQUESTED_AT, eval_id=EvalId("a"))
    )


def permanent_kinds(store: Store) -> set[str]:
    """The kinds of keys of the pull request that never expire."""
    suffix = f":{pull_ref().repository_id}:{pull_ref().number}"
    names = [text(name) for name in items(store.client.call("KEYS", "assay:*"))]
    return {name.split(":")[2] for name in names if suffix in name and store.client.call("TTL", name) == -1}


def days_left(store: Store) -> set[int]:
    """The days left to the ledger, decisions and cost; 0 if they never expire."""
    return {round(ttl_s(store, key(pull_ref())) / 86_400) for key in REMEMBERED}


def test_writes_after_the_close_expire(store: Store) -> None:
    leased = start_judging_new(store)
    append_entry(store, leased, "a")
    store.pulls.finish(leased.lease, Finish.JUDGED)
    close_pull_request(store, pull_ref(), LIFETIME)
    reserve(store, "after")
    contest(store)
    assert (permanent_kinds(store), days_left(store)) == (set(), {90})


def test_first_judging_that_ends_after_the_close_expires(store: Store) -> None:
    leased = start_judging_new(store)
    close_pull_request(store, pull_ref(), LIFETIME)
    reserve(store, "between")
    contest(store)
    assert permanent_kinds(store) == {"pull"}, "it is still being judged"
    append_entry(store, leased, "a")
    assert (permanent_kinds(store), days_left(store)) == ({"pull"}, {90})


def test_data_from_before_the_close_expire_despite_later_entries(store: Store) -> None:
    leased = start_judging_new(store)
    reserve(store, "before")
    contest(store)
    append_entry(store, leased, "a")
    assert permanent_kinds(store) == {"pull", "ledger", "decisions", "spent"}
    close_pull_request(store, pull_ref(), LIFETIME)
    append_entry(store, leased, "b")
    contest(store)
    store.ledger.append(pull_ref(), ledger_entry_of("c", leased.lease.fence, parent_eval_id=EvalId("a")))
    assert days_left(store) == {90}


def close_judged(store: Store) -> None:
    leased = start_judging_new(store)
    reserve(store, "before")
    contest(store)
    append_entry(store, leased, "a")
    close_pull_request(store, pull_ref(), LIFETIME)
    store.pulls.finish(leased.lease, Finish.JUDGED)
    assert days_left(store) == {90}


def test_reopened_pull_request_keeps_its_data_until_the_next_close(store: Store) -> None:
    close_judged(store)
    store.pulls.request_judging(judge_request(trigger=Trigger.REOPENED))
    assert days_left(store) == {0}
    reserve(store, "again")
    store.decisions.override(pull_ref(), HEAD, Override(login="bob", reason="fine", at=REQUESTED_AT, eval_id=None))
    assert days_left(store) == {0}
    leased = start_judging_new(store, head_sha=NEWER)
    close_pull_request(store, pull_ref(), timedelta(days=40))
    append_entry(store, leased, "b")
    assert days_left(store) == {40}


@pytest.mark.parametrize("is_announced", [True, False])
def test_judging_after_the_close_keeps_the_data(store: Store, *, is_announced: bool) -> None:
    close_judged(store)
    ends = text(store.client.call("HGET", keys.pull(pull_ref()).name, "ends"))
    if is_announced:
        store.pulls.request_judging(judge_request(trigger=Trigger.REOPENED))
    leased = start_judging_new(store, head_sha=NEWER)
    if is_announced:
        store.client.call("HSET", keys.pull(pull_ref()).name, "ends", ends)  # as an earlier version does
    append_entry(store, leased, "b")
    reserve(store, "again")
    contest(store)
    assert days_left(store) == {0}


def test_cost_of_a_late_reevaluation_expires_with_the_ledger(store: Store) -> None:
    close_judged(store)
    store.client.call("DEL", keys.pull(pull_ref()).name, keys.pull_request_cost(pull_ref()).name)
    reserve(store, "late")
    assert days_left(store) == {90}


@pytest.mark.parametrize("is_closed", [True, False])
def test_decisions_on_an_unjudged_pull_request_expire_after_its_close_only(store: Store, *, is_closed: bool) -> None:
    contest(store)
    if is_closed:
        close_pull_request(store, pull_ref(), LIFETIME)
        contest(store)
    assert ttl_s(store, keys.decisions(pull_ref())) == (LIFETIME.total_seconds() if is_closed else -1)
