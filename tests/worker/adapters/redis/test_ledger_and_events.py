"""The event stream: each started evaluation ends once, also when a process dies."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import (
    REQUESTED_AT,
    expire_lease,
    judge_request,
    ledger_entry_of,
    pull_ref,
    start_judging,
    start_judging_new,
)
from worker.adapters.redis import keys
from worker.adapters.redis.ledger_and_events import PAGE, RedisEvents
from worker.adapters.redis.store import Store
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import LeasedJob
from worker.domain.model import EvalId, InstallationId
from worker.domain.verdict.events import (
    EvalTrigger,
    EvaluationStarted,
    Event,
    EventKind,
    FailureMode,
    failed_event,
    started_event,
    terminal_event,
)
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import JudgeKind
from worker.errors import LeaseLost

INSTALLATION = InstallationId(100)
GONE = FailureMode.SUBJECT_NOT_FOUND


def evaluation_started(name: str) -> EvaluationStarted:
    return EvaluationStarted(name, ledger_entry_of(name, 1).verdict.subject, "default", "1", JudgeKind.HEURISTIC)


def ended_events(entry: LedgerEntry) -> tuple[Event, ...]:
    return (terminal_event(entry.verdict, EvalTrigger.BUS),)


def event_kinds(store: Store) -> list[str]:
    return [event.kind.decode() for event in store.events.read(INSTALLATION)]


def event_bodies(store: Store) -> list[dict[str, Any]]:
    return [json.loads(event.raw) for event in store.events.read(INSTALLATION)]


def expire_evaluation_deadlines(store: Store) -> None:
    for name in ("e", "f"):
        store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, "XX", 0, name)


def start_evaluation(store: Store) -> LeasedJob:
    judge = start_judging_new(store)
    store.events.record_started(pull_ref(), judge.lease.fence, evaluation_started("e"))
    return judge


def record_entry(
    store: Store, judge: LeasedJob, name: str = "e", *children: tuple[LedgerEntry, tuple[Event, ...]]
) -> None:
    entry = ledger_entry_of(name, judge.lease.fence)
    store.ledger.append(pull_ref(), entry, ended_events(entry), children)


def lose_judge(store: Store) -> None:
    expire_lease(store, pull_ref())
    expire_evaluation_deadlines(store)


def test_recorded_verdict_ends_its_evaluation(store: Store) -> None:
    judge = start_evaluation(store)
    for _ in range(2):  # each write may be sent twice
        store.events.record_started(pull_ref(), judge.lease.fence, evaluation_started("e"))
        record_entry(store, judge)
    assert event_kinds(store) == ["eval.started", "eval.completed"]
    assert not store.client.call("EXISTS", keys.OPEN_EVALUATIONS.name, keys.EVALUATION_DEADLINES.name)
    assert store.events.end_orphaned() == 0
    assert event_bodies(store)[1]["eval_id"] == "e"


ENDS: dict[str, tuple[Callable[[Store, LeasedJob], object], list[str]]] = {
    "retry": (lambda store, judge: store.pulls.finish(judge.lease, Finish.RETRY), ["eval.failed"]),
    "judged without a verdict": (lambda store, judge: store.pulls.finish(judge.lease, Finish.JUDGED), ["eval.failed"]),
    "requeued": (lambda store, judge: store.pulls.finish(judge.lease, Finish.AGAIN), ["eval.failed"]),
    "dead": (lambda store, judge: store.pulls.requeue_dead(pull_ref(), judge.lease.fence), ["eval.failed"]),
    "another starts": (
        lambda store, judge: store.events.record_started(pull_ref(), judge.lease.fence, evaluation_started("f")),
        ["eval.failed", "eval.started"],
    ),
    "recorded": (
        lambda store, judge: (record_entry(store, judge), store.pulls.finish(judge.lease, Finish.JUDGED)),
        ["eval.completed"],
    ),
    "subject gone": (
        lambda store, _: [
            store.events.record_ended(pull_ref(), failed_event(evaluation_started("e"), GONE)) for _ in range(2)
        ],
        ["eval.failed"],
    ),
    "the judge is alive": (lambda store, _: (expire_evaluation_deadlines(store), store.events.end_orphaned()), []),
}


@pytest.mark.parametrize("how", ENDS)
def test_end_of_a_judging_ends_its_evaluation(store: Store, how: str) -> None:
    judge = start_evaluation(store)
    end, kinds = ENDS[how]
    end(store, judge)
    assert event_kinds(store) == ["eval.started", *kinds]


def test_orphaned_evaluation_fails_and_accepts_no_verdict(store: Store) -> None:
    judge = start_evaluation(store)
    store.pulls.request_judging(judge_request(2))
    alive = start_judging(store, pull_ref(2))
    store.events.record_started(pull_ref(2), alive.lease.fence, evaluation_started("f"))
    lose_judge(store)
    kinds = ["eval.started", "eval.started", "eval.failed"]
    assert (store.events.end_orphaned(), event_kinds(store)) == (1, kinds)
    failed = event_bodies(store)[2]
    assert failed["eval_id"] == "e"
    assert failed["failure_mode"] == "judge_call_failed"
    assert failed["error_message"] == "the judging process ended without a word"
    with pytest.raises(LeaseLost):
        record_entry(store, judge)
    assert (store.events.end_orphaned(), event_kinds(store)) == (0, kinds)


def test_verdict_of_a_failed_evaluation_is_refused(store: Store) -> None:
    judge = start_evaluation(store)
    store.events.record_ended(pull_ref(), failed_event(evaluation_started("e"), FailureMode.JUDGE_CALL_FAILED))
    with pytest.raises(LeaseLost):
        record_entry(store, judge)
    assert store.ledger.entries(pull_ref()) == ()


def test_stale_lease_holder_cannot_start_an_evaluation(store: Store) -> None:
    first = start_judging_new(store)
    expire_lease(store, pull_ref())
    store.pulls.requeue_lost("rq:queue:none")
    second = start_judging(store)
    store.events.record_started(pull_ref(), second.lease.fence, evaluation_started("f"))
    with pytest.raises(LeaseLost):
        store.events.record_started(pull_ref(), first.lease.fence, evaluation_started("e"))
    assert event_kinds(store) == ["eval.started"]
    record_entry(store, second, "f")


def test_evaluation_of_a_forgotten_pull_request_cannot_start(store: Store) -> None:
    lease = start_judging_new(store).lease
    store.records().forget(store.records().find_holdings("acme/widgets"), REQUESTED_AT)
    with pytest.raises(LeaseLost):
        store.events.record_started(pull_ref(), lease.fence, evaluation_started("e"))
    assert event_kinds(store) == []
    assert store.client.call("EXISTS", keys.pull(pull_ref()).name) == 0


def test_foreign_entry_does_not_stop_a_reader(store: Store) -> None:
    store.client.call("XADD", keys.events(INSTALLATION).name, "*", "x", "y")
    store.events.publish(INSTALLATION, "d", Event(EventKind.OUTCOME, {"v": 1}))
    assert [(event.kind, event.raw) for event in store.events.read(INSTALLATION)] == [
        (b"", b""),
        (b"outcome.recorded", b'{"v":1}'),
    ]
    assert store.records().find_holdings("acme/widgets").events == 0


def test_concurrent_ends_end_an_evaluation_once(store: Store) -> None:
    start_evaluation(store)
    lose_judge(store)
    with ThreadPoolExecutor(8) as pool:
        ended = [
            pool.submit(store.events.record_ended, pull_ref(), failed_event(evaluation_started("e"), GONE))
            for _ in range(8)
        ]
        orphaned = [pool.submit(store.events.end_orphaned) for _ in range(8)]
        assert sum(future.result() for future in (*ended, *orphaned)) == 1
    assert event_kinds(store).count("eval.failed") == 1


def test_unreadable_open_evaluation_is_deleted(store: Store) -> None:
    store.client.call("HSET", keys.OPEN_EVALUATIONS.name, "e", "broken")
    store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, 0, "e")
    assert store.events.end_orphaned() == 0
    assert store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


def child_with_events(name: str, judge: LeasedJob) -> tuple[LedgerEntry, tuple[Event, ...]]:
    child = ledger_entry_of(name, judge.lease.fence, parent_eval_id=EvalId("e"))
    return child, (started_event(evaluation_started(name)), *ended_events(child))


def test_reevaluation_publishes_its_events_with_its_entry(store: Store) -> None:
    judge = start_judging_new(store)
    store.ledger.append(pull_ref(), ledger_entry_of("e", judge.lease.fence))
    store.ledger.append(pull_ref(), *child_with_events("f", judge))
    assert event_kinds(store) == ["eval.started", "eval.completed"]


def test_child_entries_are_recorded_once_with_their_parent(store: Store) -> None:
    judge = start_evaluation(store)
    for _ in range(2):
        record_entry(
            store,
            judge,
            "e",
            child_with_events("f", judge),
            (ledger_entry_of("g", judge.lease.fence), ()),
            child_with_events("h", judge),
        )
    assert sorted(entry.eval_id for entry in store.ledger.entries(pull_ref())) == ["e", "f", "g", "h"]
    assert event_kinds(store) == ["eval.started", "eval.completed"] * 3


def test_stale_lease_holder_cannot_record_a_child(store: Store) -> None:
    judge = start_evaluation(store)
    expire_lease(store, pull_ref())
    with pytest.raises(LeaseLost):
        record_entry(store, judge, "e", child_with_events("f", judge))
    assert (store.ledger.entries(pull_ref()), event_kinds(store)) == ((), ["eval.started"])


def test_repeated_event_is_published_once(store: Store) -> None:
    event = Event(EventKind.OUTCOME, {"v": 1, "outcome": "merged"})
    assert [store.events.publish(INSTALLATION, name, event) for name in ("d1", "d1", "d2")] == [True, False, True]
    assert event_kinds(store) == ["outcome.recorded"] * 2


def test_stream_is_read_in_pages_and_from_an_entry_on(store: Store) -> None:
    stream = keys.events(INSTALLATION).name
    push = "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'k', 'x', 'j', i) end"
    store.client.call("EVAL", push, 1, stream, 2 * PAGE)
    entries = list(store.events.read(INSTALLATION))
    assert [int(event.raw) for event in entries] == list(range(1, 2 * PAGE + 1))
    assert list(store.events.read(INSTALLATION, after=entries[-3].id)) == entries[-2:]
    assert list(store.events.read(INSTALLATION, until_ms=entries[0].at_ms - 1)) == []
    assert list(store.events.read(InstallationId(101))) == []


def test_foreign_keys_are_not_listed_as_installations(store: Store) -> None:
    event = Event(EventKind.OUTCOME, {"v": 1})
    for installation in (0, 100):
        store.events.publish(InstallationId(installation), "x", event)
    for name in (
        "assay:abc:events",
        "assay:007:events",
        b"assay:\xff:events",
        "assay:1:x:events",
        "assay:" + "9" * 30 + ":events",
    ):
        store.client.call("XADD", name, "*", "k", "x", "j", "{}")
    store.client.call("SET", "assay:8:events", "no stream")
    assert store.events.installations() == store.records().installations() == (0, 100)


def test_old_entries_are_trimmed_when_new_ones_arrive(store: Store) -> None:
    stream = keys.events(INSTALLATION).name
    for age in range(1, 301):
        store.client.call("XADD", stream, f"{age}-0", "k", "x", "j", "{}")
    events = RedisEvents(store.client, timedelta(days=1), timedelta(seconds=60))
    events.publish(INSTALLATION, "new", Event(EventKind.OUTCOME, {"v": 1}))
    assert len(list(events.read(INSTALLATION))) <= 101, "whole nodes of the stream are trimmed"
    RedisEvents(store.client, timedelta(0), timedelta(seconds=60)).publish(
        INSTALLATION, "kept", Event(EventKind.OUTCOME, {})
    )
    assert event_kinds(store)[-1] == "outcome.recorded"
