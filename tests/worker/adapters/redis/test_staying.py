"""What is remembered of an open pull request stays for as long as GitHub shows it open, however long nothing happens to it."""

import pytest

from tests.worker.adapters.redis.played import HEAD, NEWER, becomes_due, close_pull, pull, wish
from tests.worker.adapters.redis.test_shared_heads import HERE, REJECTED, others, waits
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text, whole
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.ids import BaseHash, CheckRunId, hash_base
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead
from worker.domain.pull_request_events import hash_issue

MAIN, OTHER = hash_base("main"), hash_base("other")
ISSUE = ("acme/specs", 9)
MARK = hash_issue(*ISSUE)
ACCEPTED = CheckContent("Accepted", "Yes.", conclusion=Conclusion.SUCCESS)
DAYS = """
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('TTL', key)
  if left >= 0 then redis.call('EXPIRE', key, left - ARGV[1] * 86400) end
end
"""


def passes(store: Store, days: int) -> None:
    """As much of each lifetime is over."""
    store.client.call("EVAL", DAYS, 0, days)


def judged(store: Store, number: int, content: CheckContent) -> None:
    """HEAD is its head, and has this for its verdict."""
    store.pulls.request_judging(wish(number))
    becomes_due(store, pull(number))
    job = store.pulls.next_due(f"staying-{number}", DispatchLimits(10, 10))
    taken = store.pulls.take_lease(pull(number), job.fence) if job else None
    assert taken is not None
    store.shared_heads.record_content(pull(number), HEAD, content)
    store.checks().record_concluded(pull(number), HEAD, CheckRunId(number))
    store.pulls.finish(taken.lease, Finish.JUDGED, of=JudgedHead(HEAD))


@pytest.mark.parametrize("looks", [1, 3])
def test_who_shares_a_commit_is_seen_after_any_time(store: Store, looks: int) -> None:
    judged(store, 1, REJECTED)
    for _ in range(looks):
        passes(store, 20)
        assert store.checks().stays(pull(1), HEAD)
    passes(store, 20)
    assert others(store, 2, ACCEPTED) == [(1, "failure")]


def test_one_that_is_closed_after_any_time_holds_nobody_any_more(store: Store) -> None:
    judged(store, 1, REJECTED)
    judged(store, 2, ACCEPTED)
    store.shared_heads.close_version(HERE, store.shared_heads.find_state(HERE).version)
    passes(store, 20)
    assert all(store.checks().stays(pull(number), HEAD) for number in (1, 2))
    passes(store, 20)
    assert not waits(store)
    close_pull(store, pull(1), store.ledger_retention)
    assert waits(store)
    assert others(store, 2, ACCEPTED) == []


def test_what_was_asked_of_a_commit_is_found_by_it_after_any_time(store: Store) -> None:
    judged(store, 1, ACCEPTED)
    passes(store, 20)
    assert store.checks().stays(pull(1), HEAD)
    passes(store, 20)
    (asked,) = intake.find_requests_by_head(store.client, HERE)
    assert (asked.pull, asked.trigger) == (pull(1), Trigger.PUSHED)


def test_nothing_is_written_as_long_as_more_than_half_of_the_time_is_left(store: Store) -> None:
    judged(store, 1, ACCEPTED)
    passes(store, 10)
    assert store.checks().stays(pull(1), HEAD)
    left = whole(store.client.call("TTL", keys.check(pull(1), HEAD).name))
    assert left <= 20 * 86_400


def test_what_nobody_shows_open_goes_with_its_time(store: Store) -> None:
    judged(store, 1, REJECTED)
    passes(store, 31)
    assert not store.checks().stays(pull(1), HEAD), "and a head without a state gets one"
    assert others(store, 2, ACCEPTED) == []


def test_a_creation_that_was_begun_is_over_as_soon_as_ever(store: Store) -> None:
    store.checks().claim(pull(1), NEWER)
    assert store.checks().stays(pull(1), NEWER)
    assert whole(store.client.call("TTL", keys.check(pull(1), NEWER).name)) <= store.timing.open_hold


CLOSED = """
redis.call('HINCRBYFLOAT', KEYS[1], 'over', -ARGV[1] * 1000)
"""


def was_closed(store: Store, ref: PullRef, seconds: int) -> None:
    """So long ago."""
    close_pull(store, ref, store.ledger_retention)
    store.client.call("EVAL", CLOSED, 1, keys.pull(ref).name, seconds)


def over(store: Store, ref: PullRef) -> str:
    return text(store.client.call("HGET", keys.pull(ref).name, "over"))


def test_one_whose_close_was_told_after_it_was_reopened_is_open_again(store: Store) -> None:
    judged(store, 1, REJECTED)
    store.client.call("HSET", keys.ledger(pull(1)).name, "an", "entry")
    was_closed(store, pull(1), 3600)
    assert not store.checks().stays(pull(1), HEAD), "its checks may have been closed: somebody has to look"
    store.pulls.request_judging(wish(1, trigger=Trigger.SWEEP))
    assert not over(store, pull(1))
    assert whole(store.client.call("TTL", keys.ledger(pull(1)).name)) == -1
    assert store.checks().stays(pull(1), HEAD), "and once"
    assert others(store, 2, ACCEPTED) == [(1, "failure")]


def judged_by(store: Store, number: int, base: BaseHash = MAIN, *issues: tuple[str, int]) -> None:
    """HEAD got its verdict for this base and by these issues."""
    store.pulls.request_judging(wish(number, trigger=Trigger.COMMAND))
    becomes_due(store, pull(number))
    job = store.pulls.next_due(f"staying-{number}-{base}", DispatchLimits(10, 10))
    taken = store.pulls.take_lease(pull(number), job.fence) if job else None
    assert taken is not None
    assert store.outcomes.begin_submission(pull(number), "alice", base, issues)
    store.shared_heads.record_content(pull(number), HEAD, ACCEPTED)
    store.checks().record_concluded(pull(number), HEAD, CheckRunId(number))
    store.pulls.finish(taken.lease, Finish.JUDGED, of=JudgedHead(HEAD, base))
    for mark in (hash_issue(*one) for one in issues):
        store.outcomes.competing_pulls(pull(number), mark)


def into(base: BaseHash = MAIN) -> keys.Key:
    return keys.judged_bases(HERE.installation_id, HERE.repository_id, base)


def solving() -> keys.Key:
    return keys.issue_pulls(HERE.installation_id, MARK)


def ages(store: Store, days: int) -> None:
    """As much of each lifetime is over, also of who was judged for a base."""
    passes(store, days)
    aged = (
        "for _, one in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZINCRBY', KEYS[1], ARGV[1], one) end"
    )
    store.client.call("EVAL", aged, 1, into().name, -days * 86_400_000)


def told_of_rules(store: Store, base: BaseHash = MAIN) -> list[int]:
    return [
        one.pull.number
        for one in intake.find_requests_by_base(store.client, HERE.installation_id, HERE.repository_id, base)
    ]


def told_of_issue(store: Store) -> list[int]:
    return [one.pull.number for one in intake.find_requests_by_issue(store.client, HERE.installation_id, MARK)]


def test_rules_that_are_pushed_after_any_time_are_about_what_is_open(store: Store) -> None:
    judged_by(store, 1)
    for _ in range(3):
        ages(store, 20)
        assert store.checks().stays(pull(1), HEAD)
    judged_by(store, 2)
    assert told_of_rules(store) == [2, 1], "also where the verdict on another one has those go that are too old"


def test_an_issue_that_is_edited_after_any_time_is_about_what_is_open(store: Store) -> None:
    judged_by(store, 1, MAIN, ISSUE)
    for _ in range(6):
        ages(store, 20)
        assert store.checks().stays(pull(1), HEAD)
    assert told_of_issue(store) == [1]


def test_who_was_judged_first_by_an_issue_stays_the_first_however_long_it_is_open(store: Store) -> None:
    judged_by(store, 1, MAIN, ISSUE)
    judged_by(store, 2, MAIN, ISSUE)
    for _ in range(6):
        ages(store, 20)
        assert store.checks().stays(pull(1), HEAD)
    assert [one.number for one in store.outcomes.competing_pulls(pull(2), MARK)] == [1]
    assert store.outcomes.competing_pulls(pull(1), MARK) == ()


def test_what_it_is_judged_by_is_left_alone_while_more_than_half_of_the_time_is_left(store: Store) -> None:
    judged_by(store, 1, MAIN, ISSUE)
    ages(store, 10)
    left = [whole(store.client.call("TTL", one.name)) for one in (into(), solving())]
    noted = text(store.client.call("ZSCORE", into().name, 1))
    assert store.checks().stays(pull(1), HEAD)
    assert [whole(store.client.call("TTL", one.name)) for one in (into(), solving())] <= left
    assert text(store.client.call("ZSCORE", into().name, 1)) == noted


def test_what_it_was_judged_by_before_goes_with_its_time(store: Store) -> None:
    judged_by(store, 1, OTHER, ISSUE)
    judged_by(store, 1, MAIN)
    for _ in range(5):
        ages(store, 20)
        assert store.checks().stays(pull(1), HEAD)
    assert (told_of_rules(store), told_of_rules(store, OTHER), told_of_issue(store)) == ([1], [], [])


def test_one_that_was_judged_before_it_was_noted_by_what_stays_with_the_base_that_it_goes_into(store: Store) -> None:
    judged_by(store, 1)
    store.client.call("HDEL", keys.pull(pull(1)).name, "by")
    for _ in range(3):
        ages(store, 20)
        assert store.checks().stays(pull(1), HEAD)
    assert told_of_rules(store) == [1]


def test_of_one_that_nobody_judged_nothing_is_known_by_any_base(store: Store) -> None:
    store.pulls.request_judging(wish(1, base=MAIN))
    store.checks().record_opened(pull(1), HEAD, CheckRunId(1))
    ages(store, 20)
    assert store.checks().stays(pull(1), HEAD)
    assert not store.client.call("KEYS", "*:into:*")


def test_what_is_forgotten_while_it_is_judged_is_not_known_again_by_what_it_is_judged_by(store: Store) -> None:
    assert store.outcomes.begin_submission(pull(1), "alice", MAIN, (ISSUE,))
    assert not store.client.call("EXISTS", keys.pull(pull(1)).name)
