"""Evaluations on the stream: each that began ends once, whoever dies."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, lease_runs_out, pull, wish
from tests.worker.adapters.redis.test_kept import entry, judging
from worker.adapters.redis import keys
from worker.adapters.redis.records.event_stream import PAGE, RedisEvents
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId, InstallationId
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
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


def begun(name: str) -> EvaluationStarted:
    return EvaluationStarted(name, entry(name, 1).verdict.subject, "default", "1", JudgeKind.HEURISTIC)


def ends(made: LedgerEntry) -> tuple[Event, ...]:
    return (terminal_event(made.verdict, EvalTrigger.BUS),)


def kinds(store: Store) -> list[str]:
    return [one.kind.decode() for one in store.events.read(INSTALLATION)]


def look_now(store: Store) -> None:
    """As if it were time to look after the judges."""
    for name in [
        text for text in ("e", "f") if store.client.call("ZSCORE", keys.EVALUATION_DEADLINES.name, text) is not None
    ]:
        store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, 0, name)


def test_a_verdict_on_record_ends_its_evaluation_in_the_same_breath(store: Store) -> None:
    fence = judging(store).lease.fence
    made = entry("e", fence)
    for _ in range(2):  # everything may be sent twice
        store.events.record_started(pull(), fence, begun("e"))
    for _ in range(2):
        store.ledger.append(pull(), made, ends(made))
    store.events.record_started(pull(), fence, begun("e"))  # sent again, and late
    assert kinds(store) == ["eval.started", "eval.completed"]
    assert (
        store.client.call("HLEN", keys.OPEN_EVALUATIONS.name)
        == store.client.call("ZCARD", keys.EVALUATION_DEADLINES.name)
        == 0
    )
    look_now(store)
    assert store.events.end_orphaned() == 0
    assert json.loads([*store.events.read(INSTALLATION)][1].raw)["eval_id"] == "e"


def test_an_evaluation_whose_judge_lives_goes_on(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    look_now(store)
    assert store.events.end_orphaned() == 0
    assert kinds(store) == ["eval.started"]


def test_an_evaluation_whose_judge_is_dead_is_ended_by_the_watchdog_and_has_no_verdict_then(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    lease_runs_out(store, pull())
    look_now(store)
    assert store.events.end_orphaned() == 1
    assert kinds(store) == ["eval.started", "eval.failed"]
    said = json.loads([*store.events.read(INSTALLATION)][1].raw)
    assert (said["failure_mode"], said["error_message"]) == (
        "judge_call_failed",
        "the judging process ended without a word",
    )
    with pytest.raises(LeaseLost):
        store.ledger.append(pull(), entry("e", fence), ends(entry("e", fence)))
    assert store.events.end_orphaned() == 0
    assert kinds(store) == ["eval.started", "eval.failed"]


def test_what_was_given_up_for_lost_is_not_recorded_even_if_its_judge_holds_the_lease_again(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    store.events.record_ended(pull(), failed_event(begun("e"), FailureMode.JUDGE_CALL_FAILED))
    with pytest.raises(LeaseLost):
        store.ledger.append(pull(), entry("e", fence), ends(entry("e", fence)))
    assert store.ledger.entries(pull()) == ()


def test_whoever_looks_after_judges_ends_the_evaluations_of_the_dead_alone(store: Store) -> None:
    first = judging(store)
    store.events.record_started(pull(), first.lease.fence, begun("e"))
    lease_runs_out(store, pull())
    look_now(store)
    store.pulls.request_judging(wish(2))
    other = store.pulls.next_due("other", DispatchLimits(2, 10))
    assert other is not None
    assert store.pulls.take_lease(pull(2), other.fence) is not None
    store.events.record_started(pull(2), other.fence, begun("f"))
    look_now(store)
    assert (store.events.end_orphaned(), store.events.end_orphaned()) == (1, 0)
    assert kinds(store) == ["eval.started", "eval.started", "eval.failed"]
    assert json.loads([*store.events.read(INSTALLATION)][2].raw)["eval_id"] == "e"


def test_a_judge_that_was_overtaken_begins_nothing_and_ends_nobody_elses_evaluation(store: Store) -> None:
    first = judging(store)
    lease_runs_out(store, pull())
    store.pulls.requeue_lost("rq:queue:none")
    second = store.pulls.next_due("again", DispatchLimits(1, 10))
    assert second is not None
    assert store.pulls.take_lease(pull(), second.fence) is not None
    store.events.record_started(pull(), second.fence, begun("f"))
    with pytest.raises(LeaseLost):
        store.events.record_started(pull(), first.lease.fence, begun("e"))
    assert kinds(store) == ["eval.started"]
    store.ledger.append(pull(), entry("f", second.fence), ends(entry("f", second.fence)))


def test_nothing_begins_of_what_was_forgotten(store: Store) -> None:
    lease = judging(store).lease
    store.records().forget(store.records().find_holdings("acme/widgets"), AT)
    with pytest.raises(LeaseLost):
        store.events.record_started(pull(), lease.fence, begun("e"))
    assert kinds(store) == []
    assert store.client.call("EXISTS", keys.pull(pull()).name) == 0


def test_what_somebody_else_wrote_on_the_stream_stops_no_reader(store: Store) -> None:
    store.client.call("XADD", keys.events(INSTALLATION).name, "*", "x", "y")
    store.events.publish(INSTALLATION, "d", Event(EventKind.OUTCOME, {"v": 1}))
    assert [(one.kind, one.raw) for one in store.events.read(INSTALLATION)] == [
        (b"", b""),
        (b"outcome.recorded", b'{"v":1}'),
    ]
    assert store.records().find_holdings("acme/widgets").events == 0


@pytest.mark.parametrize("how", [Finish.RETRY, Finish.JUDGED, Finish.AGAIN])
def test_a_judging_that_is_over_leaves_no_evaluation_open(store: Store, how: Finish) -> None:
    lease = judging(store).lease
    store.events.record_started(pull(), lease.fence, begun("e"))
    store.pulls.finish(lease, how)
    assert kinds(store) == ["eval.started", "eval.failed"]
    assert store.client.call("HGET", keys.pull(pull()).name, "eval") is None


def test_a_judge_that_is_known_to_be_dead_leaves_no_evaluation_open(store: Store) -> None:
    lease = judging(store).lease
    store.events.record_started(pull(), lease.fence, begun("e"))
    store.pulls.requeue_dead(pull(), lease.fence)
    assert kinds(store) == ["eval.started", "eval.failed"]


def test_a_judging_that_begins_again_ends_the_evaluation_before_it(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    store.events.record_started(pull(), fence, begun("f"))
    assert kinds(store) == ["eval.started", "eval.failed", "eval.started"]


def test_a_judging_that_recorded_its_verdict_ends_without_another_word(store: Store) -> None:
    lease = judging(store).lease
    store.events.record_started(pull(), lease.fence, begun("e"))
    store.ledger.append(pull(), entry("e", lease.fence), ends(entry("e", lease.fence)))
    store.pulls.finish(lease, Finish.JUDGED)
    assert kinds(store) == ["eval.started", "eval.completed"]


def test_an_evaluation_that_comes_to_nothing_ends_once(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    gone = failed_event(begun("e"), FailureMode.SUBJECT_NOT_FOUND)
    assert [store.events.record_ended(pull(), gone) for _ in range(2)] == [True, False]
    assert kinds(store) == ["eval.started", "eval.failed"]


def test_many_that_end_one_at_once_end_it_once(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    lease_runs_out(store, pull())
    look_now(store)
    gone = failed_event(begun("e"), FailureMode.SUBJECT_NOT_FOUND)
    with ThreadPoolExecutor(8) as pool:
        told = [pool.submit(store.events.record_ended, pull(), gone) for _ in range(8)]
        lost = [pool.submit(store.events.end_orphaned) for _ in range(8)]
        ended = sum(one.result() for one in told) + sum(one.result() for one in lost)
    assert ended == 1
    assert kinds(store).count("eval.failed") == 1


def test_a_note_that_nobody_can_read_is_put_away(store: Store) -> None:
    store.client.call("HSET", keys.OPEN_EVALUATIONS.name, "e", "broken")
    store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, 0, "e")
    assert store.events.end_orphaned() == 0
    assert store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


def test_a_judging_anew_is_told_whole_with_its_entry(store: Store) -> None:
    fence = judging(store).lease.fence
    store.ledger.append(pull(), entry("e", fence))
    child = entry("f", fence, parent_eval_id=EvalId("e"))
    store.ledger.append(pull(), child, (started_event(begun("f")), *ends(child)))
    assert kinds(store) == ["eval.started", "eval.completed"]


def whole(name: str, fence: int) -> tuple[LedgerEntry, tuple[Event, ...]]:
    """A child of `e`, and what is told of it."""
    child = entry(name, fence, parent_eval_id=EvalId("e"))
    return child, (started_event(begun(name)), *ends(child))


def test_what_came_of_a_verdict_is_on_record_with_it_once_whoever_dies_then(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    made = entry("e", fence)
    for _ in range(2):
        store.ledger.append(pull(), made, ends(made), (whole("f", fence), (entry("g", fence), ()), whole("h", fence)))
    assert sorted(one.eval_id for one in store.ledger.entries(pull())) == ["e", "f", "g", "h"]
    assert kinds(store) == ["eval.started", "eval.completed", *["eval.started", "eval.completed"] * 2]


def test_a_judge_that_was_overtaken_leaves_no_child_either(store: Store) -> None:
    fence = judging(store).lease.fence
    store.events.record_started(pull(), fence, begun("e"))
    lease_runs_out(store, pull())
    with pytest.raises(LeaseLost):
        store.ledger.append(pull(), entry("e", fence), ends(entry("e", fence)), (whole("f", fence),))
    assert store.ledger.entries(pull()) == ()
    assert kinds(store) == ["eval.started"]


def test_the_same_happening_is_told_once(store: Store) -> None:
    event = Event(EventKind.OUTCOME, {"v": 1, "outcome": "merged"})
    assert [store.events.publish(INSTALLATION, name, event) for name in ("d1", "d1", "d2")] == [True, False, True]
    assert kinds(store) == ["outcome.recorded"] * 2


def test_a_stream_is_read_in_pages_and_from_where_somebody_stopped(store: Store) -> None:
    event = Event(EventKind.OUTCOME, {"v": 1})
    for number in range(5):
        store.events.publish(INSTALLATION, str(number), event)
    entries = list(store.events.read(INSTALLATION))
    assert len(entries) == 5
    assert list(store.events.read(INSTALLATION, after=entries[2].id)) == entries[3:]
    assert list(store.events.read(INSTALLATION, until_ms=entries[0].at_ms - 1)) == []
    assert list(store.events.read(InstallationId(101))) == []


def test_more_than_a_page_is_read_whole(store: Store) -> None:
    stream = keys.events(INSTALLATION).name
    push = "for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'k', 'x', 'j', i) end"
    store.client.call("EVAL", push, 1, stream, 2 * PAGE)
    assert [int(one.raw) for one in store.events.read(INSTALLATION)] == list(range(1, 2 * PAGE + 1))


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
    assert kinds(store)[-1] == "outcome.recorded"
