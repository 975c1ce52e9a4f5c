"""Evaluations on the stream: each that began ends once, whoever dies."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, expire_lease, judge_request, pull_ref, start_judging
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
from worker.adapters.redis import keys
from worker.adapters.redis.records.event_stream import PAGE, RedisEvents
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId, InstallationId
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import LeasedJob
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


def ends(made: LedgerEntry) -> tuple[Event, ...]:
    return (terminal_event(made.verdict, EvalTrigger.BUS),)


def event_kinds(store: Store) -> list[str]:
    return [event.kind.decode() for event in store.events.read(INSTALLATION)]


def event_bodies(store: Store) -> list[dict[str, Any]]:
    return [json.loads(event.raw) for event in store.events.read(INSTALLATION)]


def expire_evaluation_deadlines(store: Store) -> None:
    """As if it were time to look after the judges."""
    for name in ("e", "f"):
        store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, "XX", 0, name)


def started(store: Store) -> LeasedJob:
    """A judge whose evaluation `e` started."""
    judge = start_judging_new(store)
    store.events.record_started(pull_ref(), judge.lease.fence, evaluation_started("e"))
    return judge


def recorded(store: Store, judge: LeasedJob, name: str = "e", *children: tuple[LedgerEntry, tuple[Event, ...]]) -> None:
    made = ledger_entry_of(name, judge.lease.fence)
    store.ledger.append(pull_ref(), made, ends(made), children)


def dies(store: Store) -> None:
    expire_lease(store, pull_ref())
    expire_evaluation_deadlines(store)


def test_a_verdict_on_record_ends_its_evaluation_in_the_same_breath(store: Store) -> None:
    judge = started(store)
    for _ in range(2):  # everything may be sent twice
        store.events.record_started(pull_ref(), judge.lease.fence, evaluation_started("e"))
        recorded(store, judge)
    assert event_kinds(store) == ["eval.started", "eval.completed"]
    assert not store.client.call("EXISTS", keys.OPEN_EVALUATIONS.name, keys.EVALUATION_DEADLINES.name)
    assert store.events.end_orphaned() == 0
    assert event_bodies(store)[1]["eval_id"] == "e"


ENDS: dict[str, tuple[Callable[[Store, LeasedJob], object], list[str]]] = {
    "retry": (lambda store, judge: store.pulls.finish(judge.lease, Finish.RETRY), ["eval.failed"]),
    "judged without a verdict": (lambda store, judge: store.pulls.finish(judge.lease, Finish.JUDGED), ["eval.failed"]),
    "again": (lambda store, judge: store.pulls.finish(judge.lease, Finish.AGAIN), ["eval.failed"]),
    "dead": (lambda store, judge: store.pulls.requeue_dead(pull_ref(), judge.lease.fence), ["eval.failed"]),
    "another begins": (
        lambda store, judge: store.events.record_started(pull_ref(), judge.lease.fence, evaluation_started("f")),
        ["eval.failed", "eval.started"],
    ),
    "recorded": (
        lambda store, judge: (recorded(store, judge), store.pulls.finish(judge.lease, Finish.JUDGED)),
        ["eval.completed"],
    ),
    "it came to nothing": (
        lambda store, _: [
            store.events.record_ended(pull_ref(), failed_event(evaluation_started("e"), GONE)) for _ in range(2)
        ],
        ["eval.failed"],
    ),
    "its judge lives": (lambda store, _: (expire_evaluation_deadlines(store), store.events.end_orphaned()), []),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_judging_that_is_over_leaves_no_evaluation_open(store: Store, how: str) -> None:
    judge = started(store)
    end, told = ENDS[how]
    end(store, judge)
    assert event_kinds(store) == ["eval.started", *told]


def test_an_evaluation_whose_judge_is_dead_is_ended_by_the_watchdog_and_has_no_verdict_then(store: Store) -> None:
    judge = started(store)
    dies(store)
    assert (store.events.end_orphaned(), event_kinds(store)) == (1, ["eval.started", "eval.failed"])
    failed = event_bodies(store)[1]
    assert failed["failure_mode"] == "judge_call_failed"
    assert failed["error_message"] == "the judging process ended without a word"
    with pytest.raises(LeaseLost):
        recorded(store, judge)
    assert (store.events.end_orphaned(), event_kinds(store)) == (0, ["eval.started", "eval.failed"])


def test_what_was_given_up_for_lost_is_not_recorded_even_if_its_judge_holds_the_lease_again(store: Store) -> None:
    judge = started(store)
    store.events.record_ended(pull_ref(), failed_event(evaluation_started("e"), FailureMode.JUDGE_CALL_FAILED))
    with pytest.raises(LeaseLost):
        recorded(store, judge)
    assert store.ledger.entries(pull_ref()) == ()


def test_the_watchdog_ends_the_evaluations_of_the_dead_alone(store: Store) -> None:
    started(store)
    expire_lease(store, pull_ref())
    store.pulls.request_judging(judge_request(2))
    other = start_judging(store, pull_ref(2))
    store.events.record_started(pull_ref(2), other.lease.fence, evaluation_started("f"))
    expire_evaluation_deadlines(store)
    assert (store.events.end_orphaned(), store.events.end_orphaned()) == (1, 0)
    assert [(body["eval_id"], kind) for body, kind in zip(event_bodies(store), event_kinds(store), strict=True)] == [
        ("e", "eval.started"), ("f", "eval.started"), ("e", "eval.failed"),
    ]  # fmt: skip


def test_a_judge_that_was_overtaken_begins_nothing_and_ends_nobody_elses_evaluation(store: Store) -> None:
    first = start_judging_new(store)
    expire_lease(store, pull_ref())
    store.pulls.requeue_lost("rq:queue:none")
    second = start_judging(store)
    store.events.record_started(pull_ref(), second.lease.fence, evaluation_started("f"))
    with pytest.raises(LeaseLost):
        store.events.record_started(pull_ref(), first.lease.fence, evaluation_started("e"))
    assert event_kinds(store) == ["eval.started"]
    recorded(store, second, "f")


def test_nothing_begins_of_what_was_forgotten(store: Store) -> None:
    lease = start_judging_new(store).lease
    store.records().forget(store.records().find_holdings("acme/widgets"), REQUESTED_AT)
    with pytest.raises(LeaseLost):
        store.events.record_started(pull_ref(), lease.fence, evaluation_started("e"))
    assert event_kinds(store) == []
    assert store.client.call("EXISTS", keys.pull(pull_ref()).name) == 0


def test_what_somebody_else_wrote_on_the_stream_stops_no_reader(store: Store) -> None:
    store.client.call("XADD", keys.events(INSTALLATION).name, "*", "x", "y")
    store.events.publish(INSTALLATION, "d", Event(EventKind.OUTCOME, {"v": 1}))
    assert [(event.kind, event.raw) for event in store.events.read(INSTALLATION)] == [
        (b"", b""),
        (b"outcome.recorded", b'{"v":1}'),
    ]
    assert store.records().find_holdings("acme/widgets").events == 0


def test_many_that_end_one_at_once_end_it_once(store: Store) -> None:
    started(store)
    dies(store)
    with ThreadPoolExecutor(8) as pool:
        told = [
            pool.submit(store.events.record_ended, pull_ref(), failed_event(evaluation_started("e"), GONE))
            for _ in range(8)
        ]
        lost = [pool.submit(store.events.end_orphaned) for _ in range(8)]
        assert sum(future.result() for future in (*told, *lost)) == 1
    assert event_kinds(store).count("eval.failed") == 1


def test_a_note_that_nobody_can_read_is_put_away(store: Store) -> None:
    store.client.call("HSET", keys.OPEN_EVALUATIONS.name, "e", "broken")
    store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, 0, "e")
    assert store.events.end_orphaned() == 0
    assert store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


# Children of a verdict


def whole(name: str, judge: LeasedJob) -> tuple[LedgerEntry, tuple[Event, ...]]:
    """A child of `e`, and what is told of it."""
    child = ledger_entry_of(name, judge.lease.fence, parent_eval_id=EvalId("e"))
    return child, (started_event(evaluation_started(name)), *ends(child))


def test_a_judging_anew_is_told_whole_with_its_entry(store: Store) -> None:
    judge = start_judging_new(store)
    store.ledger.append(pull_ref(), ledger_entry_of("e", judge.lease.fence))
    store.ledger.append(pull_ref(), *whole("f", judge))
    assert event_kinds(store) == ["eval.started", "eval.completed"]


def test_what_came_of_a_verdict_is_on_record_with_it_once_whoever_dies_then(store: Store) -> None:
    judge = started(store)
    for _ in range(2):
        recorded(store, judge, "e", whole("f", judge), (ledger_entry_of("g", judge.lease.fence), ()), whole("h", judge))
    assert sorted(made.eval_id for made in store.ledger.entries(pull_ref())) == ["e", "f", "g", "h"]
    assert event_kinds(store) == ["eval.started", "eval.completed"] * 3


def test_a_judge_that_was_overtaken_leaves_no_child_either(store: Store) -> None:
    judge = started(store)
    expire_lease(store, pull_ref())
    with pytest.raises(LeaseLost):
        recorded(store, judge, "e", whole("f", judge))
    assert (store.ledger.entries(pull_ref()), event_kinds(store)) == ((), ["eval.started"])


# The stream


def test_the_same_happening_is_told_once(store: Store) -> None:
    event = Event(EventKind.OUTCOME, {"v": 1, "outcome": "merged"})
    assert [store.events.publish(INSTALLATION, name, event) for name in ("d1", "d1", "d2")] == [True, False, True]
    assert event_kinds(store) == ["outcome.recorded"] * 2


def test_a_stream_is_read_in_pages_and_from_where_somebody_stopped(store: Store) -> None:
    stream = keys.events(INSTALLATION).name
    push = "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'k', 'x', 'j', i) end"
    store.client.call("EVAL", push, 1, stream, 2 * PAGE)
    entries = list(store.events.read(INSTALLATION))
    assert [int(event.raw) for event in entries] == list(range(1, 2 * PAGE + 1))
    assert list(store.events.read(INSTALLATION, after=entries[-3].id)) == entries[-2:]
    assert list(store.events.read(INSTALLATION, until_ms=entries[0].at_ms - 1)) == []
    assert list(store.events.read(InstallationId(101))) == []


def test_what_somebody_else_put_under_a_name_like_a_streams_is_no_installation(store: Store) -> None:
    told = Event(EventKind.OUTCOME, {"v": 1})
    for installation in (0, 100):
        store.events.publish(InstallationId(installation), "x", told)
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


def test_old_entries_go_as_new_ones_come(store: Store) -> None:
    stream = keys.events(INSTALLATION).name
    for age in range(1, 301):
        store.client.call("XADD", stream, f"{age}-0", "k", "x", "j", "{}")
    short = RedisEvents(store.client, timedelta(days=1), timedelta(seconds=60))
    short.publish(INSTALLATION, "new", Event(EventKind.OUTCOME, {"v": 1}))
    assert len(list(short.read(INSTALLATION))) <= 101, "whole nodes of the stream go"
    RedisEvents(store.client, timedelta(0), timedelta(seconds=60)).publish(
        INSTALLATION, "kept", Event(EventKind.OUTCOME, {})
    )
    assert event_kinds(store)[-1] == "outcome.recorded"
