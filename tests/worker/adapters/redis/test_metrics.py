"""The gauges and totals of `/metrics`."""

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
    require,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text, whole
from worker.adapters.redis.connection.transactions import run
from worker.adapters.redis.metrics import add_counts
from worker.adapters.redis.store import Store
from worker.domain.github_events import PullRequestEventKind
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.metrics import BOUNDS_S, DurationMetric, EventCount
from worker.domain.model import CheckRunId, InstallationId
from worker.domain.ports import RateLimit
from worker.domain.time_range import JudgingPause

FIRST, SECOND = InstallationId(100), InstallationId(200)
NOW = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def test_new_store_reads_zero(store: Store) -> None:
    gauges, totals = store.measures.read_gauges(), store.measures.read_totals(NOW)
    assert set(gauges.waiting_tasks.values()) == {0}
    assert not any(value for name, value in vars(gauges).items() if name != "waiting_tasks")
    assert (totals.verdicts, totals.spent_usd, set(totals.counts.values())) == ({}, {}, {0})
    assert totals.spans[DurationMetric.VERDICT].counts == (0,) * (len(BOUNDS_S) + 1)


def test_waiting_requests_are_counted_with_the_age_of_the_oldest(store: Store) -> None:
    for number, installation in ((1, 100), (2, 100), (1, 200)):
        store.pulls.request_judging(judge_request(number, installation))
    make_due(store, pull_ref(1, 200))  # due since 1970
    gauges = store.measures.read_gauges()
    assert (gauges.due, gauges.due_now, gauges.waiting_tasks["open_check"]) == (3, 3, 3)
    assert gauges.age_s > 1_000_000_000


def test_dispatched_and_leased_jobs_are_counted(store: Store) -> None:
    store.pulls.request_judging(judge_request(1))
    job = require(dispatch_next(store))
    assert (store.measures.read_gauges().dispatched, store.measures.read_gauges().leased) == (1, 0)
    assert store.pulls.take_lease(pull_ref(1), job.fence) is not None
    store.pulls.request_judging(judge_request(2))
    assert dispatch_next(store, DispatchLimits(1, 10)) is None, "the installation is at its limit"
    gauges = store.measures.read_gauges()
    assert (gauges.due, gauges.dispatched, gauges.leased) == (1, 0, 1)
    expire_lease(store, pull_ref(1))
    assert store.measures.read_gauges().leased == 1, "until it is requeued"


def test_gauges_show_tasks_open_checks_leader_and_pause(store: Store) -> None:
    store.commands.put(command_request())
    store.client.call("SET", keys.watch(pull_ref()).name, "x")
    store.pull_request_events.put(pull_request_event(PullRequestEventKind.SPOKE))
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(1))
    store.pulls.claim_leadership("token")
    store.pauses.pause_all(JudgingPause())
    store.client.call("RPUSH", keys.INBOX.name, "{}")
    gauges = store.measures.read_gauges()
    assert gauges.open_checks == 1
    assert {name for name, count in gauges.waiting_tasks.items() if count} == {"command", "delivery", "happening"}
    assert (gauges.has_dispatcher, gauges.is_paused) == (True, True)


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0, 0), (-5, 0), (0.5, 0), (0.6, 1), (3600, len(BOUNDS_S) - 1), (4000, len(BOUNDS_S))]
)
def test_duration_is_counted_in_its_bucket(store: Store, seconds: float, bucket: int) -> None:
    store.measures.record_duration(DurationMetric.FIRST_CHECK, seconds)
    totals = store.measures.read_totals(NOW).spans[DurationMetric.FIRST_CHECK]
    assert [at for at, count in enumerate(totals.counts) if count] == [bucket]
    assert totals.sum_s == max(0, seconds)


def test_verdicts_are_counted_by_decision_and_reason_and_timed(store: Store) -> None:
    store.measures.count_verdict(FIRST, "abstain", "paused", None)
    store.measures.count_verdict(FIRST, "reject", "weak_test", 3)
    store.measures.count_verdict(SECOND, "reject", "weak_test", 4)
    store.measures.count_verdict(SECOND, "accept", "", 40)
    totals = store.measures.read_totals(NOW)
    assert totals.verdicts == {("abstain", "paused"): 1, ("accept", ""): 1, ("reject", "weak_test"): 2}
    assert (sum(totals.spans[DurationMetric.VERDICT].counts), totals.spans[DurationMetric.VERDICT].sum_s) == (3, 47)


def test_cost_of_the_day_is_read_for_recently_judged_installations(store: Store) -> None:
    for installation in (FIRST, SECOND):
        store.measures.count_verdict(installation, "accept", "", 1)
    store.client.call("HSET", keys.installation_budget(FIRST, "2026-11-20").name, "spent", 12_300_000)
    assert store.measures.read_totals(NOW).spent_usd == {FIRST: Decimal("0.0123"), SECOND: Decimal(0)}
    store.client.call("ZADD", keys.MEASURED_INSTALLATIONS.name, 1, SECOND)
    store.measures.count_verdict(FIRST, "accept", "", 1)
    assert set(store.measures.read_totals(NOW).spent_usd) == {FIRST}, (
        "an installation without recent verdicts is left out"
    )


def test_rate_limit_remainder_is_read(store: Store) -> None:
    store.measures.count_verdict(FIRST, "accept", "", 1)
    store.rates.put(FIRST, "core", RateLimit(4321, NOW))
    store.rates.put(FIRST, 'x"} 1', RateLimit(1, NOW))
    assert store.measures.read_totals(NOW).left == {(FIRST, "core"): 4321}


def test_events_are_counted_once_after_a_lost_reply(store: Store) -> None:
    store.measures.count(EventCount.OVERDUE)
    store.measures.count(EventCount.OVERDUE)
    assert store.measures.read_totals(NOW).counts == {**dict.fromkeys(EventCount, 0), EventCount.OVERDUE: 2}
    marker = keys.counted_measure("killed")
    numbers = {f"count:{EventCount.KILLED}": 1}
    for _ in range(2):  # as after a lost reply
        run(store.client, partial(add_counts, marker=marker, numbers=numbers, installation=None))
    assert store.measures.read_totals(NOW).counts[EventCount.KILLED] == 1
    markers = [text(name) for name in items(store.client.call("KEYS", "assay:measured:*"))]
    assert len(markers) == 3
    assert all(0 < whole(store.client.call("TTL", name)) <= 60 for name in markers)
