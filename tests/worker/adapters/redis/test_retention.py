"""What is remembered of a pull request stays as long as GitHub shows it open, goes some time after its close, and not before."""

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
    pull_ref,
    start_judging,
    ttl_s,
)
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of
from tests.worker.adapters.redis.test_shared_heads import HERE, REJECTED, is_waiting, list_others
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.overrides import Contest, Override
from worker.domain.ids import BaseHash, CheckRunId, EvalId, InstallationId, RepositoryId, hash_base
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import JudgedHead, LeasedJob
from worker.domain.pull_request_events import hash_issue
from worker.domain.verdict.budget import Caps

MAIN, OTHER = hash_base("main"), hash_base("other")
ISSUE = ("acme/specs", 9)
MARK = hash_issue(*ISSUE)
ACCEPTED = CheckContent("Accepted", "Yes.", conclusion=Conclusion.SUCCESS)
LEFT = timedelta(days=90)
REMEMBERED = (keys.ledger, keys.decisions, keys.pull_request_cost)
BASES = keys.judged_bases(HERE.installation_id, HERE.repository_id, MAIN)
ISSUES = keys.issue_pulls(HERE.installation_id, MARK)

# Open ones


def passes(store: Store, days: int) -> None:
    """As much of each lifetime is over, also of what was judged for a base."""
    for name in items(store.client.call("KEYS", "*")):
        left = store.client.call("TTL", text(name))
        assert isinstance(left, int)
        if left >= 0:
            store.client.call("EXPIRE", text(name), left - days * 86_400)
    for number in items(store.client.call("ZRANGE", BASES.name, 0, -1)):
        store.client.call("ZINCRBY", BASES.name, -days * 86_400_000, text(number))


def stays(store: Store, number: int = 1, *, times: int = 1) -> bool:
    """Whether GitHub shows it open so many times, twenty days after each other."""
    for _ in range(times):
        passes(store, 20)
        if not store.checks().stays(pull_ref(number), HEAD):
            return False
    return True


def judged(
    store: Store, number: int, content: CheckContent, base: BaseHash | None = None, *issues: tuple[str, int]
) -> None:
    """HEAD is its head, and has this for its verdict, for this base and by these issues."""
    store.pulls.request_judging(judge_request(number, trigger=Trigger.PUSHED if base is None else Trigger.COMMAND))
    taken = start_judging(store, pull_ref(number))
    if base is not None:
        assert store.outcomes.begin_submission(pull_ref(number), "alice", base, issues)
    store.shared_heads.record_content(pull_ref(number), HEAD, content)
    store.checks().record_concluded(pull_ref(number), HEAD, CheckRunId(number))
    store.pulls.finish(taken.lease, Finish.JUDGED, of=JudgedHead(HEAD, base))
    for issue in issues:
        store.outcomes.competing_pulls(pull_ref(number), hash_issue(*issue))


def by_base(store: Store, base: BaseHash = MAIN) -> list[PullRef]:
    requests = intake.find_requests_by_base(store.client, HERE.installation_id, HERE.repository_id, base)
    return [request.pull for request in requests]


def by_issue(store: Store, number: int = 9) -> list[PullRef]:
    mark = hash_issue("acme/specs", number)
    return [request.pull for request in intake.find_requests_by_issue(store.client, HERE.installation_id, mark)]


@pytest.mark.parametrize("times", [1, 3])
def test_what_shares_a_commit_is_seen_after_any_time(store: Store, times: int) -> None:
    judged(store, 1, REJECTED)
    assert stays(store, times=times)
    passes(store, 20)
    assert list_others(store, 2, ACCEPTED) == [(1, "failure")]
    (asked,) = intake.find_requests_by_head(store.client, HERE)
    assert (asked.pull, asked.trigger) == (pull_ref(1), Trigger.PUSHED)


def test_one_that_is_closed_after_any_time_holds_nobody_any_more(store: Store) -> None:
    judged(store, 1, REJECTED)
    judged(store, 2, ACCEPTED)
    store.shared_heads.close_version(HERE, store.shared_heads.find_state(HERE).version)
    assert stays(store)
    assert store.checks().stays(pull_ref(2), HEAD)
    passes(store, 20)
    assert not is_waiting(store)
    close_pull_request(store, pull_ref(1), store.ledger_retention)
    assert is_waiting(store)
    assert list_others(store, 2, ACCEPTED) == []


def test_nothing_is_written_as_long_as_more_than_half_of_the_time_is_left(store: Store) -> None:
    judged(store, 1, ACCEPTED, MAIN, ISSUE)
    passes(store, 10)
    kept = (BASES, ISSUES, keys.check(pull_ref(1), HEAD))
    left, judged_at = [ttl_s(store, key) for key in kept], store.client.call("ZSCORE", BASES.name, 1)
    assert store.checks().stays(pull_ref(1), HEAD)
    assert [ttl_s(store, key) for key in kept] <= left
    assert store.client.call("ZSCORE", BASES.name, 1) == judged_at


def test_what_nobody_shows_open_goes_with_its_time(store: Store) -> None:
    judged(store, 1, REJECTED)
    passes(store, 31)
    assert not store.checks().stays(pull_ref(1), HEAD), "and a head without a state gets one"
    assert list_others(store, 2, ACCEPTED) == []


def test_a_creation_that_was_begun_is_over_as_soon_as_ever(store: Store) -> None:
    store.checks().claim(pull_ref(1), NEWER)
    assert store.checks().stays(pull_ref(1), NEWER)
    assert ttl_s(store, keys.check(pull_ref(1), NEWER)) <= store.timing.open_hold


def test_one_whose_close_was_told_after_it_was_reopened_is_open_again(store: Store) -> None:
    judged(store, 1, REJECTED)
    store.client.call("HSET", keys.ledger(pull_ref(1)).name, "an", "entry")
    close_pull_request(store, pull_ref(1), store.ledger_retention)
    store.client.call("HINCRBYFLOAT", keys.pull(pull_ref(1)).name, "over", -3_600_000)
    assert not store.checks().stays(pull_ref(1), HEAD), "its checks may have been closed: somebody has to look"
    store.pulls.request_judging(judge_request(1, trigger=Trigger.SWEEP))
    assert not store.client.call("HGET", keys.pull(pull_ref(1)).name, "over")
    assert ttl_s(store, keys.ledger(pull_ref(1))) == -1
    assert store.checks().stays(pull_ref(1), HEAD), "and once"
    assert list_others(store, 2, ACCEPTED) == [(1, "failure")]


def test_rules_and_issues_that_are_edited_after_any_time_are_about_what_is_open(store: Store) -> None:
    judged(store, 1, ACCEPTED, MAIN, ISSUE)
    assert stays(store, times=6)
    assert by_issue(store) == [pull_ref(1)]
    judged(store, 2, ACCEPTED, MAIN, ISSUE)
    assert by_base(store) == [pull_ref(2), pull_ref(1)], "also where another verdict has those go that are too old"
    assert stays(store, times=6)
    assert store.outcomes.competing_pulls(pull_ref(2), MARK) == (pull_ref(1),), "the first stays the first"
    assert store.outcomes.competing_pulls(pull_ref(1), MARK) == ()


def test_what_it_was_judged_by_before_goes_with_its_time(store: Store) -> None:
    judged(store, 1, ACCEPTED, OTHER, ISSUE)
    judged(store, 1, ACCEPTED, MAIN)
    assert stays(store, times=5)
    assert (by_base(store), by_base(store, OTHER), by_issue(store)) == ([pull_ref(1)], [], [])


def test_one_that_was_judged_before_it_was_noted_by_what_stays_with_the_base_that_it_goes_into(store: Store) -> None:
    judged(store, 1, ACCEPTED, MAIN)
    store.client.call("HDEL", keys.pull(pull_ref(1)).name, "by")
    assert stays(store, times=3)
    assert by_base(store) == [pull_ref(1)]


def test_of_one_that_nobody_judged_nothing_is_known_by_any_base(store: Store) -> None:
    store.pulls.request_judging(judge_request(1, base=MAIN))
    store.checks().record_opened(pull_ref(1), HEAD, CheckRunId(1))
    assert stays(store)
    assert not store.client.call("KEYS", "*:into:*")


# What is edited between the reading of a pull request and its judging, when it is not known yet by what it is judged by


def dispatched(store: Store) -> LeasedJob:
    store.pulls.request_judging(judge_request())
    return start_judging(store, pull_ref())


def begins(store: Store, *issues: tuple[str, int]) -> bool:
    return store.outcomes.begin_submission(pull_ref(), "alice", MAIN, issues)


@pytest.mark.parametrize("edit", [by_issue, by_base])
def test_what_was_edited_while_it_was_read_is_read_again_and_once(
    store: Store, edit: Callable[[Store], list[PullRef]]
) -> None:
    edit(store)  # before: it is read as it is now
    lease = dispatched(store).lease
    assert edit(store) == [], "nobody is known by it yet"
    assert [begins(store, ISSUE), begins(store, ISSUE)] == [False, False], "also where the answer was lost"
    store.pulls.finish(lease, Finish.AGAIN)
    again = dispatched(store).lease
    assert [begins(store, ISSUE), begins(store, ISSUE)] == [True, True]
    assert edit(store) == [pull_ref()], "from now on it is woken"
    store.pulls.finish(again, Finish.JUDGED)
    dispatched(store)
    assert edit(store) == [pull_ref()]
    assert begins(store, ISSUE), "what was woken is not read again for it"


def test_an_issue_that_it_closes_only_since_its_last_verdict_is_looked_after_as_well(store: Store) -> None:
    lease = dispatched(store).lease
    assert begins(store)
    store.pulls.finish(lease, Finish.JUDGED)
    dispatched(store)
    by_issue(store)
    assert not begins(store, ISSUE)


def test_what_is_edited_elsewhere_is_nothing_to_it(store: Store) -> None:
    dispatched(store)
    by_issue(store, 8)
    by_base(store, OTHER)
    intake.find_requests_by_issue(store.client, InstallationId(101), MARK)
    intake.find_requests_by_base(store.client, HERE.installation_id, RepositoryId(8), MAIN)
    assert begins(store, ISSUE)


def test_that_something_was_edited_is_forgotten_after_a_while_and_tells_nothing_of_it(store: Store) -> None:
    by_issue(store)
    key = keys.last_change(HERE.installation_id, MARK)
    assert 0 < ttl_s(store, key) <= 86_400
    assert text(store.client.call("GET", key.name)).isdigit()
    assert "specs" not in key.name


def test_what_is_forgotten_while_it_is_judged_is_not_known_again_by_what_it_is_judged_by(store: Store) -> None:
    assert begins(store, ISSUE)
    assert not store.client.call("EXISTS", keys.pull(pull_ref(1)).name)


# Closed ones


def judging(store: Store, head_sha: str = HEAD) -> LeasedJob:
    store.pulls.request_judging(judge_request(head_sha=head_sha))
    return start_judging(store, pull_ref())


def recorded(store: Store, taken: LeasedJob, name: str) -> None:
    store.ledger.append(pull_ref(), ledger_entry_of(name, taken.lease.fence))


def pays(store: Store, name: str) -> None:
    store.budget(Caps(), SystemClock()).reserve(name, pull_ref(), Decimal("0.01"))


def contests(store: Store) -> None:
    store.decisions.contest(
        pull_ref(), HEAD, Contest(login="bob", reason="It is there.", at=REQUESTED_AT, eval_id=EvalId("a"))
    )


def without_end(store: Store) -> set[str]:
    """What stays for good of what is kept under the pull request's number."""
    of_pull = f":{pull_ref().repository_id}:{pull_ref().number}"
    names = [text(name) for name in items(store.client.call("KEYS", "assay:*"))]
    return {name.split(":")[2] for name in names if of_pull in name and store.client.call("TTL", name) == -1}


def days_left(store: Store) -> set[int]:
    """Of the ledger and what goes with it; 0: for good."""
    return {round(ttl_s(store, key(pull_ref())) / 86_400) for key in REMEMBERED}


def test_nothing_that_is_written_after_the_close_stays_for_good(store: Store) -> None:
    taken = judging(store)
    recorded(store, taken, "a")
    store.pulls.finish(taken.lease, Finish.JUDGED)
    close_pull_request(store, pull_ref(), LEFT)
    pays(store, "after")
    contests(store)
    assert (without_end(store), days_left(store)) == (set(), {90})


def test_nothing_of_a_first_judging_that_ends_after_the_close_stays_for_good(store: Store) -> None:
    taken = judging(store)
    close_pull_request(store, pull_ref(), LEFT)
    pays(store, "between")
    contests(store)
    assert without_end(store) == {"pull"}, "it is looked at once more"
    recorded(store, taken, "a")
    assert (without_end(store), days_left(store)) == ({"pull"}, {90})


def test_what_was_there_at_the_close_goes_whoever_judges_then(store: Store) -> None:
    taken = judging(store)
    pays(store, "before")
    contests(store)
    recorded(store, taken, "a")
    assert without_end(store) == {"pull", "ledger", "decisions", "spent"}
    close_pull_request(store, pull_ref(), LEFT)
    recorded(store, taken, "b")
    contests(store)
    store.ledger.append(pull_ref(), ledger_entry_of("c", taken.lease.fence, parent_eval_id=EvalId("a")))
    assert days_left(store) == {90}


def closed(store: Store) -> None:
    taken = judging(store)
    pays(store, "before")
    contests(store)
    recorded(store, taken, "a")
    close_pull_request(store, pull_ref(), LEFT)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    assert days_left(store) == {90}


def test_a_reopened_one_lives_on_with_all_that_was_known_of_it_until_the_next_close(store: Store) -> None:
    closed(store)
    store.pulls.request_judging(judge_request(trigger=Trigger.REOPENED))
    assert days_left(store) == {0}
    pays(store, "again")
    store.decisions.override(pull_ref(), HEAD, Override(login="bob", reason="fine", at=REQUESTED_AT, eval_id=None))
    assert days_left(store) == {0}
    taken = judging(store, NEWER)
    close_pull_request(store, pull_ref(), timedelta(days=40))
    recorded(store, taken, "b")
    assert days_left(store) == {40}


@pytest.mark.parametrize("is_announced", [True, False])
def test_one_that_is_judged_again_lives_on_as_it_was_reopened(store: Store, *, is_announced: bool) -> None:
    closed(store)
    ends = text(store.client.call("HGET", keys.pull(pull_ref()).name, "ends"))
    if is_announced:
        store.pulls.request_judging(judge_request(trigger=Trigger.REOPENED))
    taken = judging(store, NEWER)
    if is_announced:
        store.client.call("HSET", keys.pull(pull_ref()).name, "ends", ends)  # an older version left it there
    recorded(store, taken, "b")
    pays(store, "again")
    contests(store)
    assert days_left(store) == {0}


def test_money_for_what_is_judged_anew_long_after_the_close_goes_with_the_ledger(store: Store) -> None:
    closed(store)
    store.client.call("DEL", keys.pull(pull_ref()).name, keys.pull_request_cost(pull_ref()).name)
    pays(store, "anew")
    assert days_left(store) == {90}


@pytest.mark.parametrize("is_closed", [True, False])
def test_words_about_one_that_nobody_judged_go_after_its_close_alone(store: Store, *, is_closed: bool) -> None:
    contests(store)
    if is_closed:
        close_pull_request(store, pull_ref(), LEFT)
        contests(store)
    assert ttl_s(store, keys.decisions(pull_ref())) == (LEFT.total_seconds() if is_closed else -1)
