"""What `/metrics` tells is counted once, by whoever, and holds no names."""

from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import pytest

from tests.worker.adapters.redis.outcome_samples import pull_request_event
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    command_request,
    dispatch_next,
    expire_lease,
    judge_request,
    make_due,
    pull_ref,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text, whole
from worker.adapters.redis.connection.transactions import run
from worker.adapters.redis.records.metrics import add_counts
from worker.adapters.redis.store import Store
from worker.domain.ids import CheckRunId, InstallationId
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.metrics import BOUNDS_S, DurationMetric, EventCount
from worker.domain.pause import JudgingPause
from worker.domain.ports import RateLimit
from worker.domain.pull_request_events import PullRequestEventKind

HERE, THERE = InstallationId(100), InstallationId(200)
NOW = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def test_a_store_that_is_new_stands_at_nothing(store: Store) -> None:
    standing, figures = store.measures.read_gauges(), store.measures.read_totals(NOW)
    assert set(standing.waiting_tasks.values()) == {0}
    assert not any(one for name, one in vars(standing).items() if name != "waiting_tasks")
    assert (figures.verdicts, figures.spent_usd, set(figures.counts.values())) == ({}, {}, {0})
    assert figures.spans[DurationMetric.VERDICT].counts == (0,) * (len(BOUNDS_S) + 1)


def test_what_waits_is_counted_over_all_installations_and_the_latest_tells_for_how_long(store: Store) -> None:
    for number, installation in ((1, 100), (2, 100), (1, 200)):
        store.pulls.request_judging(judge_request(number, installation))
    make_due(store, pull_ref(1, 200))  # since 1970
    standing = store.measures.read_gauges()
    assert (standing.due, standing.due_now, standing.waiting_tasks["open_check"]) == (3, 3, 3)
    assert standing.age_s > 1_000_000_000


def test_what_is_out_is_given_or_held_and_an_installation_at_its_limit_is_not_left_out(store: Store) -> None:
    store.pulls.request_judging(judge_request(1))
    job = dispatch_next(store)
    assert job is not None
    assert (store.measures.read_gauges().dispatched, store.measures.read_gauges().leased) == (1, 0)
    assert store.pulls.take_lease(pull_ref(1), job.fence) is not None
    store.pulls.request_judging(judge_request(2))
    assert dispatch_next(store, DispatchLimits(1, 10)) is None, "it takes the installation's turn away"
    standing = store.measures.read_gauges()
    assert (standing.due, standing.dispatched, standing.leased) == (1, 0, 1)
    expire_lease(store, pull_ref(1))
    assert store.measures.read_gauges().leased == 1, "until it is brought back"


def test_errands_open_checks_the_leader_and_a_pause_of_everything_are_told(store: Store) -> None:
    store.commands.put(command_request())
    store.client.call("SET", keys.watch(pull_ref()).name, "x")
    store.pull_request_events.put(pull_request_event(PullRequestEventKind.SPOKE))
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(1))
    store.pulls.claim_leadership("token")
    store.pauses.pause_all(JudgingPause())
    store.client.call("RPUSH", keys.INBOX.name, "{}")
    standing = store.measures.read_gauges()
    assert standing.open_checks == 1
    assert {name for name, count in standing.waiting_tasks.items() if count} == {"command", "delivery", "happening"}
    assert (standing.has_dispatcher, standing.is_paused) == (True, True)


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0, 0), (-5, 0), (0.5, 0), (0.6, 1), (3600, len(BOUNDS_S) - 1), (4000, len(BOUNDS_S))]
)
def test_a_duration_falls_into_the_bucket_whose_bound_it_does_not_exceed(
    store: Store, seconds: float, bucket: int
) -> None:
    store.measures.record_duration(DurationMetric.FIRST_CHECK, seconds)
    found = store.measures.read_totals(NOW).spans[DurationMetric.FIRST_CHECK]
    assert [at for at, count in enumerate(found.counts) if count] == [bucket]
    assert found.sum_s == max(0, seconds)


def test_verdicts_are_counted_by_decision_and_reason_and_timed_where_that_says_something(store: Store) -> None:
    store.measures.count_verdict(HERE, "abstain", "paused", None)
    store.measures.count_verdict(HERE, "reject", "weak_test", 3)
    store.measures.count_verdict(THERE, "reject", "weak_test", 4)
    store.measures.count_verdict(THERE, "accept", "", 40)
    figures = store.measures.read_totals(NOW)
    assert figures.verdicts == {("abstain", "paused"): 1, ("accept", ""): 1, ("reject", "weak_test"): 2}
    assert (sum(figures.spans[DurationMetric.VERDICT].counts), figures.spans[DurationMetric.VERDICT].sum_s) == (3, 47)


def test_what_today_cost_is_told_of_each_installation_that_was_judged_lately(store: Store) -> None:
    for one in (HERE, THERE):
        store.measures.count_verdict(one, "accept", "", 1)
    store.client.call("HSET", keys.installation_budget(HERE, "2026-11-20").name, "spent", 12_300_000)
    assert store.measures.read_totals(NOW).spent_usd == {HERE: Decimal("0.0123"), THERE: Decimal(0)}
    store.client.call("ZADD", keys.MEASURED_INSTALLATIONS.name, 1, THERE)
    store.measures.count_verdict(HERE, "accept", "", 1)
    assert set(store.measures.read_totals(NOW).spent_usd) == {HERE}, "who was not judged for days is left out"


def test_what_github_still_grants_is_told_as_far_as_it_said_so(store: Store) -> None:
    store.measures.count_verdict(HERE, "accept", "", 1)
    store.rates.put(HERE, "core", RateLimit(4321, NOW))
    store.rates.put(HERE, 'x"} 1', RateLimit(1, NOW))
    assert store.measures.read_totals(NOW).left == {(HERE, "core"): 4321}


def test_what_happened_is_counted_and_an_answer_that_was_lost_counts_nothing_twice(store: Store) -> None:
    store.measures.count(EventCount.OVERDUE)
    store.measures.count(EventCount.OVERDUE)
    assert store.measures.read_totals(NOW).counts == {
        EventCount.OVERDUE: 2,
        EventCount.GIVEN_UP: 0,
        EventCount.KILLED: 0,
        EventCount.PASSED_OVER: 0,
    }
    marker = keys.counted_measure("killed")
    numbers = {f"count:{EventCount.KILLED}": 1}
    for _ in range(2):  # as a client that heard nothing
        run(store.client, partial(add_counts, marker=marker, numbers=numbers, installation=None))
    assert store.measures.read_totals(NOW).counts[EventCount.KILLED] == 1
    markers = [text(one) for one in items(store.client.call("KEYS", "assay:measured:*"))]
    assert len(markers) == 3
    assert all(0 < whole(store.client.call("TTL", one)) <= 60 for one in markers)
